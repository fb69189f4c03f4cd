//! Runs that stop and go on, states of records, threads, and counts without zeros.

use super::*;
use crate::conjugate::ConjugateVi;
use crate::conjugate::fit::ConjugateTraining;
use crate::conjugate::plan::Said;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;

/// A run that is stopped and goes on gives the bits of one that was not.
#[test]
fn resumed_is_uninterrupted() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let start = || ConjugateVi::new(lda).budget(budget).steps(7);
    let records = Sensitive::new(documents());
    let whole = start().seed(Seed::for_tests(4)).fit(&records).unwrap();
    let file = std::env::temp_dir().join(format!("dp-vi-conjugate-{}.checkpoint", std::process::id()));
    // Stopped after four steps.
    let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
    let said = Said { budget: Some(budget), steps: Some(7), ..Said::default() };
    let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
    let seed = Seed::for_tests(4);
    let mut training =
        ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
    (0..4).for_each(|_| training.step().unwrap());
    let print = crate::wall::fingerprint::fingerprint_of_records(&records, &seed);
    let settings = training.description(records.schema());
    let own = crate::run::checkpoint::PaidFrom::Own;
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    let resumed = start().checkpoint(&file, 2).resume(&records).unwrap();
    assert_eq!(whole.parameters().collect::<Vec<_>>(), resumed.parameters().collect::<Vec<_>>());
    assert_eq!(resumed.privacy().steps_done, 7);
    // Complete, it is not repeated; over other records, or with other settings, it is refused.
    let again = start().checkpoint(&file, 2).resume(&records).unwrap();
    assert_eq!(whole.parameters().collect::<Vec<_>>(), again.parameters().collect::<Vec<_>>());
    // Its file holds no seed any more, and still says that the one of this run was known.
    assert!(!again.privacy().is_private());
    let stored = crate::Checkpoint::read(&file).unwrap();
    assert!(!stored.is_secret());
    // A file without a seed whose run is not over would go on over any records, with noise of another seed.
    training.checkpoint(None, own, &settings, [0; 3]).write(&file).unwrap();
    let refused = start().checkpoint(&file, 2).resume(&records).unwrap_err().to_string();
    assert!(refused.contains("not complete and yet has no seed"), "{refused}");
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    let others = Sensitive::new(Records::from_columns([("counts", Array2::<u16>::ones((30, 8)))]).unwrap());
    assert!(start().checkpoint(&file, 2).resume(&others).is_err());
    assert!(start().clip_norm(3.0).checkpoint(&file, 2).resume(&records).is_err());
    assert!(start().checkpoint(&file, 2).fit(&records).is_err(), "a checkpoint is not overwritten");
    assert!(start().checkpoint(&file, 2).resume_from(&records, &mut ledger).is_err());
    std::fs::remove_file(&file).unwrap();
    // While it runs, a checkpoint holds the documents' own factors; a complete one says nothing of single documents.
    let numbers = |training: &ConjugateTraining<'_>| {
        training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).numbers.len()
    };
    let during = numbers(&training);
    (4..7).for_each(|_| training.step().unwrap());
    assert_eq!(during - numbers(&training), 30 * 3);
}

/// What is kept of a document depends on that document alone, given what was released: the same document among others
/// has the same factors, bit for bit.
#[test]
fn what_is_kept_of_a_record_depends_on_no_other_record() {
    let here = documents();
    let counts = Array2::from_shape_fn((30, 8), |(i, v)| match i {
        7 => u16::from(v % 3 == 1) * (3 + (7 * v) % 5) as u16,
        _ => ((i * v) % 4) as u16,
    });
    let others = Records::from_columns([("counts", counts)]).unwrap();
    let state_after_one_step = |records: Records| {
        let records = Sensitive::new(records);
        let said = Said { without_privacy: true, ..Said::default() };
        let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
        let seed = Seed::for_tests(3);
        let mut training = ConjugateTraining::new(&model, &said, &records, &seed, None, false).unwrap();
        training.step().unwrap();
        training.states().unwrap().values().row(7).to_owned()
    };
    let state = state_after_one_step(here);
    assert_eq!(state, state_after_one_step(others));
    assert!(state.iter().any(|x| *x > 1.0), "{state}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let counts = Array2::from_shape_fn((3000, 20), |(i, v)| ((i * 7 + v * v) % 5) as u8);
    let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool
            .install(|| ConjugateVi::new(lda).budget(budget).steps(3).seed(Seed::for_tests(1)).fit(&records));
        fit.unwrap().parameters().map(|(name, values)| (name.to_owned(), values.to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(fit(1), fit(3));
}

/// A fit passes over the words that documents do not have, which changes nothing but the last digits.
#[test]
fn a_fit_without_zeros_is_that_with_them() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let counts = Array2::from_shape_fn((700, 40), |(i, v)| match (i * 7 + v * v) % 9 {
        0 => ((i + v) % 4) as u8,
        _ => 0,
    });
    let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
    let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
    for without_privacy in [false, true] {
        let run = |with_zeros: bool| {
            let scales = vec![("beta".to_owned(), 2.0)];
            let budget = Some(budget);
            let said =
                Said { budget, without_privacy, steps: Some(4), with_zeros, scales, ..Said::default() };
            let mut ledger = dp_accountant::Ledger::new(said.budget.unwrap()).unwrap();
            let (seed, purse) = (Seed::for_tests(3), Some(&mut ledger as &mut dyn dp_accountant::Purse));
            let mut training = ConjugateTraining::new(&model, &said, &records, &seed, purse, false).unwrap();
            (0..4).for_each(|_| training.step().unwrap());
            let settings = training.description(records.schema());
            assert_eq!(settings.contains("without zeros"), !with_zeros, "{settings}");
            let states: Vec<f64> = training.states().unwrap().values().iter().copied().collect();
            [training.released().to_vec(), states]
        };
        for (with, without) in run(true).iter().zip(&run(false)) {
            for (a, b) in with.iter().zip(without) {
                // A step of the grid of the noise is 6e-9 here.
                assert!((a - b).abs() <= 1e-7 * (1.0 + a.abs()), "{a} {b}");
            }
        }
    }
}
