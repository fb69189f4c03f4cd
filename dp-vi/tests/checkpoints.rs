//! Runs that are stopped and resumed: the same result, no payment too few, and nothing resumed that is
//! another run.

use dp_accountant::{Budget, Event, FileLedger, Ledger, Mechanism, Relation, Sampling};
use dp_sampler::{BallsInBins, FullBatch, Poisson, Seed, Shuffle, Subsampling, WithReplacement};
use dp_vi::guides::{AutoLaplace, AutoNormal};
use dp_vi::optimiser::{AdaDp, Schedule, adam, momentum, yogi};
use dp_vi::{
    Checkpoint, Clipping, Correction, DpVi, DrawScheme, Error, Fit, InitialValues, PrivateStart, Progress,
    Quantile, RecordWeights, Release, Sensitive,
};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Records};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::common::{BUDGET, Folder, Run, STEPS, bits, location, logistic, people, run};

fn stop_at(step: u64) -> impl FnMut(Progress) -> ControlFlow<()> {
    move |progress| match progress.done < step {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

fn seeded() -> Run {
    run().seed(Seed::for_tests(9))
}

/// How many steps the ledger has seen.
fn uses(ledger: &Ledger) -> u64 {
    let steps = ledger.events().iter().filter(|(event, _)| event.sampling() != Sampling::None);
    steps.map(|(_, count)| count).sum()
}

#[test]
fn stopped_anywhere_and_resumed_a_run_is_the_uninterrupted_one() {
    let (records, folder) = (people(80, false), Folder::new());
    let whole = bits(&seeded().fit(&records).unwrap());
    for (every, stop) in [(7, 1), (7, 6), (7, 7), (7, 8), (20, 30), (60, 59), (1, 13), (1000, 5), (7, 60)] {
        let path = folder.file(&format!("{every}-{stop}"));
        let begun = seeded().checkpoint(&path, every).on_progress(stop_at(stop)).fit(&records).unwrap();
        assert_eq!(begun.privacy().steps_done, stop.min(STEPS));
        let stored = Checkpoint::read(&path).unwrap();
        assert_eq!((stored.done(), stored.is_secret()), (stop, false));
        assert!(stored.paid() >= stop && stored.paid() <= (stop.div_ceil(every) * every).min(STEPS));
        let resumed = run().checkpoint(&path, every).resume(&records).unwrap();
        assert_eq!(bits(&resumed), whole, "every {every}, stopped at {stop}");
        assert_eq!(resumed.privacy().steps_done, STEPS);
        // What was a test is still one.
        assert!(!resumed.privacy().is_private());
        // A complete run is not repeated, and its file has no seed any more.
        let again = run().checkpoint(&path, every).resume(&records).unwrap();
        assert_eq!(bits(&again), whole);
        assert!(!again.privacy().is_private());
    }
}

#[test]
fn resumed_twice_from_one_file_a_run_is_the_same() {
    let (records, folder) = (people(60, false), Folder::new());
    let path = folder.file("run");
    // With a seed that nobody knows.
    run().checkpoint(&path, 10).on_progress(stop_at(25)).fit(&records).unwrap();
    assert!(Checkpoint::read(&path).unwrap().is_secret());
    let kept = std::fs::read(&path).unwrap();
    let first = run().checkpoint(&path, 10).resume(&records).unwrap();
    assert!(first.privacy().is_private());
    std::fs::write(&path, kept).unwrap();
    // Stopping and resuming at other places changes nothing either.
    run().checkpoint(&path, 3).on_progress(stop_at(40)).resume(&records).unwrap();
    let second = run().checkpoint(&path, 4).resume(&records).unwrap();
    assert_eq!(bits(&first), bits(&second));
    assert!(second.privacy().is_private());
}

#[test]
fn all_optimisers_are_resumed() {
    type With = fn(Run) -> Run;
    let optimisers: [With; 5] = [
        |run| run.optimiser(momentum(0.9, Schedule::Constant(1e-4)).unwrap()),
        |run| run.optimiser(yogi(Schedule::HoldThenCosine(0.05)).unwrap()),
        |run| run.optimiser(AdaDp::new(1e-4, 0.5).unwrap()),
        |run| run.schedule(Schedule::WarmUpThenCosine { rate: 0.05, steps: 10 }),
        |run| {
            run.optimiser(adam(Schedule::Step { rate: 0.1, factor: 0.5, every: 9 }).unwrap())
                .average_tail(0.9)
        },
    ];
    let (records, folder) = (people(40, false), Folder::new());
    for (k, with) in optimisers.into_iter().enumerate() {
        let path = folder.file(&k.to_string());
        let whole = bits(&with(seeded()).fit(&records).unwrap());
        with(seeded()).checkpoint(&path, 8).on_progress(stop_at(31)).fit(&records).unwrap();
        assert_eq!(bits(&with(run()).checkpoint(&path, 8).resume(&records).unwrap()), whole, "{k}");
    }
}

/// Everything that a run may have learnt or released besides gradients.
#[test]
fn clip_norms_starts_and_corrections_are_resumed() {
    type With = fn(Run) -> Run;
    let candidates = || {
        let w = |x: f64| BTreeMap::from([("w".to_owned(), Array1::from(vec![x, -x, 0.5]).into_dyn())]);
        PrivateStart {
            candidates: (0..20).map(|k| w(f64::from(k) / 8.0)).collect(),
            range: (-3.0, 0.0),
            share: 0.2,
        }
    };
    type More = Box<dyn Fn(Run) -> Run>;
    let settings: [(With, More); 5] = [
        // The clip norm adapts, to a number of records that is released or stated.
        (|run| run.weights(RecordWeights::None), Box::new(|run| run.public_records(60))),
        (|run| run, Box::new(|run| run.correction(Correction::None))),
        (|run| run.correction(Correction::Diagonal), Box::new(|run| run)),
        (
            |run| {
                let run = run.weights(RecordWeights::None).correction(Correction::None).public_records(60);
                run.clipping(Clipping::Quantile(Quantile::default()))
            },
            Box::new(|run| run.clipping(Clipping::PerSite)),
        ),
        (|run| run.draw_scheme(DrawScheme::Single), Box::new(move |run| run.private_start(candidates()))),
    ];
    let (records, folder) = (people(60, false), Folder::new());
    for (k, (with, other)) in settings.into_iter().enumerate() {
        for (half, with) in
            [&with as &dyn Fn(Run) -> Run, &|run: Run| other(with(run))].into_iter().enumerate()
        {
            let path = folder.file(&format!("{k}-{half}"));
            let mut ledger = Ledger::new(BUDGET).unwrap();
            let whole = with(seeded()).fit(&records).unwrap();
            let begun = with(seeded()).checkpoint(&path, 8).on_progress(stop_at(31));
            let begun = begun.fit_from(&records, &mut ledger).unwrap();
            // The curvature is released once, and that is at the end.
            assert!(begun.noise_aware().is_none());
            let resumed = with(run()).checkpoint(&path, 8).resume_from(&records, &mut ledger).unwrap();
            assert_eq!(bits(&resumed), bits(&whole), "{k} {half}");
            assert_eq!(resumed.noise_aware().is_some(), whole.noise_aware().is_some());
            let again = with(run()).checkpoint(&path, 8).resume_from(&records, &mut ledger).unwrap();
            assert_eq!(bits(&again), bits(&whole), "{k} {half}");
            // All that was planned has been paid for, and nothing twice.
            for release in &resumed.privacy().releases {
                let paid = ledger.events().iter().find(|(event, _)| *event == release.event);
                assert_eq!(paid.map(|(_, count)| count), Some(release.count));
            }
            assert_eq!(resumed.privacy().ledger_spent.unwrap(), ledger.spent().unwrap());
        }
    }
    // Without a checkpoint, a run that is stopped releases its curvature there.
    let stopped = seeded().on_progress(stop_at(50)).fit(&records).unwrap();
    assert!(stopped.noise_aware().is_some());
}

#[test]
fn steps_are_paid_for_block_by_block_and_before_they_are_made() {
    let (records, folder) = (people(50, false), Folder::new());
    let (path, spent) = (folder.file("run"), folder.file("spent"));
    let paid_then = |stop: u64| {
        // What the file says while the run goes on, seen from the callback.
        let (seen, log) = (Rc::new(Cell::new(0)), folder.file("spent"));
        let told = Rc::clone(&seen);
        let callback = move |progress: Progress| {
            let known = uses(&FileLedger::read(&log).unwrap());
            assert!(known >= progress.done, "{known} paid at step {}", progress.done);
            told.set(known);
            stop_at(stop)(progress)
        };
        (seen, callback)
    };
    let mut ledger = FileLedger::create(&spent, BUDGET).unwrap();
    let (seen, callback) = paid_then(25);
    seeded().checkpoint(&path, 10).on_progress(callback).fit_from(&records, &mut ledger).unwrap();
    assert_eq!((seen.get(), uses(ledger.ledger())), (30, 30));
    drop(ledger);
    // Another process.
    let mut ledger = FileLedger::open(&spent, BUDGET).unwrap();
    let (_, callback) = paid_then(STEPS);
    let fit = run().checkpoint(&path, 10).on_progress(callback).resume_from(&records, &mut ledger).unwrap();
    assert_eq!(uses(ledger.ledger()), STEPS);
    assert!(ledger.ledger().spent().unwrap().upper <= 1.0);
    assert_eq!(bits(&fit), bits(&seeded().fit(&records).unwrap()));
}

/// Blocks end with epochs, and what is paid for an epoch too much is not paid for again.
#[test]
fn shuffled_runs_are_resumed() {
    let (records, folder) = (people(50, false), Folder::new());
    let budget = Budget { relation: Relation::ReplaceOne, ..BUDGET };
    fn with<S: Subsampling>(plan: S, budget: Budget) -> DpVi<crate::common::Written, AutoNormal, S> {
        let run = DpVi::new(logistic as crate::common::Written, AutoNormal::new());
        run.budget(budget).subsample(plan).steps(20)
    }
    fn check<S: Subsampling + Copy>(
        plan: S,
        budget: Budget,
        records: &Sensitive<Records>,
        path: &Path,
        events: u64,
    ) {
        let whole = with(plan, budget).seed(Seed::for_tests(4)).fit(records).unwrap();
        let mut ledger = Ledger::new(budget).unwrap();
        let begun = with(plan, budget).seed(Seed::for_tests(4)).checkpoint(path, 4).on_progress(stop_at(9));
        begun.fit_from(records, &mut ledger).unwrap();
        let resumed = with(plan, budget).checkpoint(path, 5).resume_from(records, &mut ledger).unwrap();
        assert_eq!(bits(&resumed), bits(&whole));
        let release =
            resumed.privacy().releases.iter().find(|release| release.what.contains("sums")).unwrap();
        assert_eq!(release.count, events);
        let paid = ledger.events().iter().find(|(event, _)| *event == release.event).unwrap().1;
        assert_eq!(paid, events);
        assert!(resumed.privacy().epsilon.unwrap().upper <= 1.0);
    }
    // 50 by 8: seven steps an epoch, so that 20 steps are three epochs.
    check(Shuffle::batch(8).unwrap(), budget, &records, &folder.file("shuffle"), 21);
    check(BallsInBins::bins(7).unwrap(), budget, &records, &folder.file("bins"), 3);
    check(BallsInBins::bins(7).unwrap().exact(), BUDGET, &records, &folder.file("bins too"), 3);
    let told = with(Shuffle::batch(8).unwrap(), BUDGET).fit(&records).unwrap_err().to_string();
    assert!(told.contains("shuffled epochs"), "{told}");
    // With replacement: paid for step by step, and only where the number of records is public.
    let fit = with(WithReplacement::batch(8).unwrap(), budget).steps(2).fit(&records).unwrap();
    assert_eq!(fit.privacy().releases.last().unwrap().count, 2);
    let told = with(WithReplacement::batch(8).unwrap(), BUDGET).fit(&records).unwrap_err().to_string();
    assert!(told.contains("sampling with replacement"), "{told}");
}

#[test]
fn another_ledger_is_noticed_and_left_alone() {
    let (records, folder) = (people(50, false), Folder::new());
    let path = folder.file("run");
    let mut ledger = Ledger::new(BUDGET).unwrap();
    seeded().checkpoint(&path, 10).on_progress(stop_at(25)).fit_from(&records, &mut ledger).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut other = Ledger::new(BUDGET).unwrap();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut other).unwrap_err();
    assert!(matches!(told, Error::CheckpointPaidFrom { .. }), "{told}");
    assert!(told.to_string().contains("this is not the ledger that was paid from"), "{told}");
    assert!(other.debits().is_empty());
    let mut other = Ledger::new(Budget { relation: Relation::ReplaceOne, ..BUDGET }).unwrap();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut other).unwrap_err().to_string();
    assert!(told.contains("different relations"), "{told}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // Nor does a run begin that the ledger could not see to its end.
    let mut poor = Ledger::new(Budget { epsilon: 0.5, ..BUDGET }).unwrap();
    let told =
        run().checkpoint(folder.file("poor"), 10).fit_from(&records, &mut poor).unwrap_err().to_string();
    assert!(told.contains("budget exceeded"), "{told}");
    assert!(poor.debits().is_empty() && !folder.file("poor").exists());
}

/// A run that others' ledger paid for is not gone on with for nothing: the rest of its steps would be made,
/// reported and never debited.
#[test]
fn a_run_that_a_shared_ledger_paid_for_goes_on_with_that_ledger_only() {
    let (records, folder) = (people(50, false), Folder::new());
    let path = folder.file("run");
    let steps = 300;
    let run = || run().steps(steps);
    let mut ledger = Ledger::new(Budget { epsilon: 5.0, ..BUDGET }).unwrap();
    let seeded = || run().seed(Seed::for_tests(9)).checkpoint(&path, 10);
    let begun = seeded().on_progress(stop_at(10)).fit_from(&records, &mut ledger).unwrap();
    assert_eq!((begun.privacy().steps_done, uses(&ledger)), (10, 10));
    assert!(Checkpoint::read(&path).unwrap().is_paid_from_a_shared_ledger());
    let (before, debits) = (std::fs::read(&path).unwrap(), ledger.debits().to_vec());

    let told = run().checkpoint(&path, 10).resume(&records).unwrap_err();
    assert!(matches!(told, Error::CheckpointPaidFrom { .. }), "{told}");
    let told = told.to_string();
    assert!(told.contains("DpVi::resume_from") && told.contains("DpVi::conclude"), "{told}");
    assert!(told.contains(&path.display().to_string()), "{told}");
    assert_eq!((std::fs::read(&path).unwrap(), ledger.debits()), (before.clone(), debits.as_slice()));

    // Ending it where it is needs no ledger.
    let early = run().checkpoint(&path, 10).conclude(&records).unwrap();
    assert_eq!(early.privacy().steps_done, 10);
    assert_eq!(std::fs::read(&path).unwrap(), before);

    // With its own ledger it goes on, and then everything has been paid.
    let fit = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap();
    assert_eq!((fit.privacy().steps_done, uses(&ledger)), (steps, steps));
    assert_eq!(ledger.spent().unwrap(), fit.privacy().ledger_spent.unwrap());
    // Nor is a complete run told to anyone who does not name the ledger.
    assert!(matches!(run().checkpoint(&path, 10).resume(&records), Err(Error::CheckpointPaidFrom { .. })));

    // The other way round: a ledger that knows nothing of the steps that were made.
    let path = folder.file("own");
    run().checkpoint(&path, 10).on_progress(stop_at(10)).fit(&records).unwrap();
    assert!(!Checkpoint::read(&path).unwrap().is_paid_from_a_shared_ledger());
    let debits = ledger.debits().len();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap_err().to_string();
    assert!(told.contains("from a ledger of its own") && told.contains("DpVi::resume"), "{told}");
    assert_eq!(ledger.debits().len(), debits);
    run().checkpoint(&path, 10).resume(&records).unwrap();
}

/// The ledger of another data set, with the same budget and the very same debits; an old copy of the right
/// one; and one that was spent from since it was copied.
#[test]
fn a_ledger_that_lacks_the_debits_is_refused() {
    let (records, folder) = (people(50, false), Folder::new());
    let (path, spent, others) = (folder.file("run"), folder.file("spent"), folder.file("others"));
    let wide = Budget { epsilon: 5.0, ..BUDGET };
    let mut empty = Vec::new();
    for (path, spent) in [(&folder.file("their run"), &others), (&path, &spent)] {
        let mut ledger = FileLedger::create(spent, wide).unwrap();
        empty = std::fs::read(spent).unwrap();
        seeded().checkpoint(path, 10).on_progress(stop_at(25)).fit_from(&records, &mut ledger).unwrap();
    }
    let right = std::fs::read(&spent).unwrap();
    let lines: Vec<&[u8]> = right.split_inclusive(|byte| *byte == b'\n').collect();
    // The first line, the curvature, three blocks.
    assert_eq!(lines.len(), 5);
    let resume = |spent: &Path| {
        // Somebody has taken the file as it is, whatever its head says.
        let mut ledger = FileLedger::accept(spent).unwrap();
        let before = (std::fs::read(spent).unwrap(), std::fs::read(&path).unwrap());
        let told = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).err();
        let unchanged = before == (std::fs::read(spent).unwrap(), std::fs::read(&path).unwrap());
        assert_eq!(told.is_some(), unchanged);
        told.map(|told| {
            assert!(matches!(told, Error::CheckpointPaidFrom { .. }), "{told}");
            told.to_string()
        })
    };
    let theirs = resume(&others).unwrap();
    assert!(theirs.contains("this is not the ledger that was paid from"), "{theirs}");
    std::fs::write(&spent, lines[..4].concat()).unwrap();
    let cut = FileLedger::open(&spent, wide).unwrap_err().to_string();
    assert!(cut.contains("no longer has the 4 debits"), "{cut}");
    for kept in 1..5 {
        std::fs::write(&spent, lines[..kept].concat()).unwrap();
        let told = resume(&spent).unwrap();
        assert!(told.contains("no longer has the 4 debits") && told.contains("an old copy"), "{told}");
    }
    // As many debits, of something else.
    std::fs::write(&spent, &empty).unwrap();
    let mut ledger = FileLedger::accept(&spent).unwrap();
    let other = dp_accountant::Event::new(dp_accountant::Mechanism::PureDp { epsilon: 0.01 }, Sampling::None)
        .unwrap();
    for _ in 0..4 {
        ledger.debit(other, 1).unwrap();
    }
    drop(ledger);
    assert!(resume(&spent).unwrap().contains("it has 4: it was restored from an old copy"));
    // A copy in memory of the right one has all debits, but what is debited from it is lost.
    std::fs::write(&spent, &right).unwrap();
    drop(FileLedger::accept(&spent).unwrap());
    let mut copy = FileLedger::read(&spent).unwrap();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut copy).unwrap_err().to_string();
    assert!(told.contains("FileLedger::open") && copy.debits().len() == 4, "{told}");
    // The right one, from which somebody else was paid meanwhile.
    FileLedger::open(&spent, wide).unwrap().debit(other, 1).unwrap();
    assert_eq!(resume(&spent), None);
    assert_eq!(uses(&FileLedger::read(&spent).unwrap()), STEPS);
}

/// Stops, kills between a debit and its checkpoint, and resumptions in any order: what was made has always
/// been debited.
#[test]
fn in_every_order_of_stops_and_kills_what_was_made_has_been_paid_for() {
    let (records, folder) = (people(30, false), Folder::new());
    let whole = bits(&seeded().fit(&records).unwrap());
    // A stop after this many more steps; whether the checkpoint of that stop is lost, as by a kill; the
    // length of blocks from there.
    type Turn = (u64, bool, u64);
    let orders: [&[Turn]; 5] = [
        &[(1, true, 1), (1, true, 1), (1, false, 7)],
        &[(10, false, 10), (1, true, 3), (5, true, 60), (5, false, 2)],
        &[(59, true, 60), (59, false, 60)],
        &[(7, true, 5), (3, true, 4), (2, false, 1), (40, true, 9)],
        &[(60, true, 60), (30, true, 8)],
    ];
    for (number, turns) in orders.into_iter().enumerate() {
        let path = folder.file(&number.to_string());
        let mut ledger = Ledger::new(Budget { epsilon: 20.0, ..BUDGET }).unwrap();
        let (mut furthest, mut blocks) = (0, 7);
        for (turn, &(more, killed, next)) in turns.iter().enumerate() {
            let kept = std::fs::read(&path).ok();
            let done = if turn == 0 { 0 } else { Checkpoint::read(&path).unwrap().done() };
            let begin = match turn {
                0 => seeded(),
                _ => run(),
            };
            let begin = begin.checkpoint(&path, blocks).on_progress(stop_at((done + more).min(STEPS)));
            let fit = match turn {
                0 => begin.fit_from(&records, &mut ledger),
                _ => begin.resume_from(&records, &mut ledger),
            };
            furthest = furthest.max(fit.unwrap().privacy().steps_done);
            assert!(uses(&ledger) >= furthest, "{number}.{turn}: {furthest} made, {} paid", uses(&ledger));
            // Without a checkpoint there is nothing to resume, so the first one stays.
            if let (true, Some(kept)) = (killed, kept) {
                std::fs::write(&path, kept).unwrap();
            }
            blocks = next;
        }
        let fit = run().checkpoint(&path, blocks).resume_from(&records, &mut ledger).unwrap();
        assert_eq!(bits(&fit), whole, "{number}");
        assert!(uses(&ledger) >= STEPS);
        assert!(ledger.spent().unwrap().lower >= fit.privacy().epsilon.unwrap().lower);
    }
}

/// As after a kill between payment and checkpoint, with a ledger that has room for nothing but the run.
#[test]
fn a_block_that_was_paid_for_twice_costs_the_last_one_and_no_more() {
    let (records, folder) = (people(50, false), Folder::new());
    let path = folder.file("run");
    let mut ledger = Ledger::new(BUDGET).unwrap();
    let begun =
        seeded().checkpoint(&path, 10).on_progress(stop_at(25)).fit_from(&records, &mut ledger).unwrap();
    let early = run().checkpoint(&path, 10).conclude(&records).unwrap();
    assert_eq!(bits(&early), bits(&begun));
    let step = begun.privacy().releases.last().unwrap().event;
    ledger.debit(step, 10).unwrap();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap_err().to_string();
    assert!(told.contains("budget exceeded"), "{told}");
    assert_eq!((uses(&ledger), Checkpoint::read(&path).unwrap().done()), (60, 50));
    // What has been found is not lost, costs nothing more, and is what a run stopped there finds.
    let before = std::fs::read(&path).unwrap();
    let fit = run().checkpoint(&path, 10).conclude(&records).unwrap();
    assert_eq!((fit.privacy().steps_done, fit.noise_aware().is_none()), (50, true));
    let other = seeded().checkpoint(folder.file("other"), 10).on_progress(stop_at(50)).fit(&records).unwrap();
    assert_eq!(bits(&fit), bits(&other));
    assert_eq!((uses(&ledger), std::fs::read(&path).unwrap()), (60, before));
    let told = run().conclude(&records).unwrap_err().to_string();
    assert!(told.contains("the checkpoint is missing"), "{told}");
}

#[test]
fn two_fits_share_one_ledger() {
    let records = people(50, false);
    let mut ledger = Ledger::new(Budget { epsilon: 1.5, ..BUDGET }).unwrap();
    let first = run().fit_from(&records, &mut ledger).unwrap();
    let second = run().fit_from(&records, &mut ledger).unwrap();
    // Together they cost more than one and less than the sum; a third one is refused, and nothing is debited
    // for it.
    let both = ledger.spent().unwrap();
    assert!(both.lower > 1.2 && both.upper < 1.5, "{both}");
    assert!([&first, &second].iter().all(|fit| fit.privacy().epsilon.unwrap().upper <= 1.0));
    assert_ne!(bits(&first), bits(&second));
    assert!(run().fit_from(&records, &mut ledger).is_err());
    // Each has paid for its curvature and for its steps.
    assert_eq!(ledger.debits().len(), 4);
}

/// Every way to hand over a checkpoint that is another run's.
#[test]
fn only_the_same_run_is_resumed() {
    let (records, folder) = (people(60, false), Folder::new());
    let path = folder.file("run");
    let mut ledger = Ledger::new(BUDGET).unwrap();
    seeded().checkpoint(&path, 10).on_progress(stop_at(20)).fit_from(&records, &mut ledger).unwrap();
    let before = (std::fs::read(&path).unwrap(), ledger.debits().len());

    let mut told = |run: Run, records: &Sensitive<Records>| {
        let error = run.checkpoint(&path, 10).resume_from(records, &mut ledger).unwrap_err();
        assert!(matches!(error, Error::CheckpointOfAnother { .. }), "{error}");
        assert_eq!((std::fs::read(&path).unwrap(), ledger.debits().len()), before);
        error.to_string()
    };
    assert!(
        told(run(), &people(60, true))
            .contains("records was others, here it is not the same in number or values")
    );
    // Behind the path, which may hold any number.
    let count = told(run(), &people(61, false));
    let count = count.split("it is of another run").last().unwrap();
    assert!(
        count.contains("records was others") && !count.contains("61") && !count.contains("60 "),
        "{count}"
    );
    assert!(told(run().steps(61), &records).contains("steps was 60, here it is 61"));
    assert!(told(run().clip_norm(1.0), &records).contains("clip norm was"));
    // In words: neither the fields of a type nor a fingerprint.
    let event = Event::new(Mechanism::Gaussian { noise_multiplier: 50.0 }, Sampling::None).unwrap();
    let scale = told(run().released_before([Release::new("sum of scales", event, 2)]), &records);
    assert!(scale.contains("released before was nothing, here it is 2 of the sum of scales"), "{scale}");
    let curvature = told(run().correction(Correction::Diagonal), &records);
    let start = told(run().initial_values(InitialValues::PriorMedian), &records);
    for told in [&scale, &curvature, &start] {
        assert!(!told.contains('{') && !told.contains("Some("), "{told}");
    }
    let bound = told(run().bound_to("survey", "7"), &records);
    assert!(bound.contains("survey"), "{bound}");
    assert!(told(run().average_tail(0.25), &records).contains("average was 0.5, here it is 0.25"));
    let slower = told(run().schedule(Schedule::Constant(0.01)), &records);
    assert!(slower.contains("optimiser was") && slower.contains("Constant(0.01)"), "{slower}");
    assert!(
        told(run().budget(Budget { epsilon: 0.9, ..BUDGET }), &records).contains("budget was epsilon 1 at")
    );
    assert!(
        told(run().subsample(Poisson::rate(0.3).unwrap()), &records).contains("sampling was each record")
    );

    // Another model, guide, or start.
    fn wider(ctx: &mut ppl_core::Ctx) -> ppl_core::Result<()> {
        use ppl_core::Distribution;
        use ppl_distributions::{Bernoulli, Normal};
        let d = ctx.records().dim("x")?;
        let w = ctx.sample("w", Normal::new(0.0, 5.0).iid(d))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
        })
    }
    let other = |model: fn(&mut ppl_core::Ctx) -> ppl_core::Result<()>, guide| {
        DpVi::new(model, guide).budget(BUDGET).subsample(Poisson::rate(0.2).unwrap()).steps(STEPS)
    };
    assert!(told(other(wider, AutoNormal::new()), &records).contains("programs of model and guide was"));
    let guide = AutoNormal::new().initial_scale(0.2).unwrap();
    assert!(told(other(logistic, guide), &records).contains("first parameters was"));
    let unlike = Records::from_columns([("x", vec![0.0; 60]), ("y", vec![0.0; 60])]).unwrap();
    // A scalar x is no vector: the model itself does not fit.
    let fit = run().checkpoint(&path, 10).resume_from(&Sensitive::new(unlike), &mut ledger);
    assert!(fit.is_err());
    assert_eq!((std::fs::read(&path).unwrap(), ledger.debits().len()), before);
    // And the right one goes on as if nothing had been.
    let fit = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap();
    assert_eq!(bits(&fit), bits(&seeded().fit(&records).unwrap()));
}

#[test]
fn every_byte_that_is_altered_or_cut_is_a_clear_error_and_the_ledger_unharmed() {
    let (records, folder) = (people(30, false), Folder::new());
    let path = folder.file("run");
    let mut ledger = Ledger::new(BUDGET).unwrap();
    seeded().checkpoint(&path, 10).on_progress(stop_at(20)).fit_from(&records, &mut ledger).unwrap();
    let (whole, debits) = (std::fs::read(&path).unwrap(), ledger.debits().len());
    let mut told = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }), "{error}");
        assert_eq!(ledger.debits().len(), debits);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        error.to_string()
    };
    // Where the version, the length and the counts are, and a part of what follows.
    for at in (0..whole.len()).filter(|at| *at < 100 || at % 5 == 0) {
        let mut altered = whole.clone();
        altered[at] ^= 1 << (at % 8);
        let message = told(&altered);
        let clear = ["not a checkpoint", "format version", "does not match its checksum"];
        assert!(clear.iter().any(|words| message.contains(words)), "byte {at}: {message}");
        if at % 7 == 0 {
            assert!(told(&whole[..at]).contains(&path.display().to_string()));
        }
    }
    assert!(told(b"not a checkpoint at all").contains("this is not a checkpoint"));
}

/// CRC-64/XZ, bit by bit.
fn checksum(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(!0_u64, |state, byte| {
        (0..8).fold(state ^ u64::from(*byte), |value, _| match value & 1 {
            1 => (value >> 1) ^ 0xC96C_5795_D787_0F42,
            _ => value >> 1,
        })
    })
}

/// A checksum is no signature. What a forged file claims is still checked where it can be: against the
/// ledger, the plan and itself.
#[test]
fn forged_files_cannot_claim_more_than_was_paid_for() {
    let (records, folder) = (people(30, false), Folder::new());
    // Where numbers are: after the first line, the length, the seed with its kind, and whether it is secret.
    let (seed, done) = ("dp-vi checkpoint 5\n".len() + 8, "dp-vi checkpoint 5\n".len() + 8 + 34 + 1);
    let paid = done + 8;
    let forge = |path: &Path, changes: &[(usize, &[u8])]| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(bytes.len() - 8);
        changes.iter().for_each(|(at, change)| bytes[*at..at + change.len()].copy_from_slice(change));
        let sum = checksum(&bytes).to_le_bytes();
        std::fs::write(path, [bytes.as_slice(), &sum].concat()).unwrap();
    };
    let word = |number: u64| number.to_le_bytes();
    let begin = |name: &str, ledger: Option<&mut Ledger>| {
        let path = folder.file(name);
        let run = seeded().checkpoint(&path, 10).on_progress(stop_at(20));
        match ledger {
            Some(ledger) => run.fit_from(&records, ledger).unwrap(),
            None => run.fit(&records).unwrap(),
        };
        path
    };

    // The test's own checksum and places are right: a file that says the same is resumed.
    let path = begin("same", None);
    forge(&path, &[(done, &word(20)), (paid, &word(20))]);
    assert_eq!(Checkpoint::read(&path).unwrap().paid(), 20);
    run().checkpoint(&path, 10).resume(&records).unwrap();

    // Steps that no ledger has been debited for: those of others, and more than the budget of its own allows.
    let mut ledger = Ledger::new(Budget { epsilon: 5.0, ..BUDGET }).unwrap();
    let path = begin("shared", Some(&mut ledger));
    forge(&path, &[(paid, &word(STEPS))]);
    let debits = ledger.debits().len();
    let told = run().checkpoint(&path, 10).resume_from(&records, &mut ledger).unwrap_err();
    assert!(matches!(told, Error::ForeignLedger { recorded: 20, paid: STEPS, .. }), "{told}");
    assert_eq!(ledger.debits().len(), debits);
    let path = begin("own", None);
    forge(&path, &[(paid, &word(10 * STEPS))]);
    let told = run().checkpoint(&path, 10).resume(&records).unwrap_err().to_string();
    assert!(told.contains("budget exceeded"), "{told}");

    // More steps than there are; a complete run that is not; a kind of ledger that a run with a budget cannot
    // have.
    let path = begin("further", None);
    forge(&path, &[(done, &word(STEPS + 1)), (paid, &word(STEPS + 1))]);
    let told = run().checkpoint(&path, 10).resume(&records).unwrap_err().to_string();
    assert!(told.contains("61 steps are done of 60"), "{told}");
    let path = begin("complete", None);
    forge(&path, &[(seed, &[0; 34])]);
    let told = run().checkpoint(&path, 10).resume(&records).unwrap_err().to_string();
    assert!(told.contains("not complete and yet has no seed"), "{told}");
    let path = begin("nobody", None);
    forge(&path, &[(paid + 8, &[0])]);
    let told = run().checkpoint(&path, 10).resume(&records).unwrap_err().to_string();
    assert!(told.contains("does not go with its budget"), "{told}");
}

#[test]
fn what_cannot_be_is_refused() {
    let (records, folder) = (people(30, false), Folder::new());
    let path = folder.file("run");
    let told = |fit: dp_vi::Result<Fit>| fit.unwrap_err().to_string();
    assert!(
        told(run().checkpoint(&path, 0).fit(&records))
            .contains("between checkpoints must be at least 1, got 0")
    );
    assert!(told(run().resume(&records)).contains("the checkpoint is missing"));
    assert!(told(run().checkpoint(&path, 5).resume(&records)).contains(&path.display().to_string()));
    assert!(told(run().checkpoint(folder.file("a/b"), 5).fit(&records)).contains("a/b"));
    run().checkpoint(&path, 5).on_progress(stop_at(5)).fit(&records).unwrap();
    assert!(told(run().checkpoint(&path, 5).fit(&records)).contains("the file exists already"));
    assert!(told(seeded().checkpoint(&path, 5).resume(&records)).contains("name none"));
    let both = run().schedule(Schedule::Constant(0.1)).optimiser(adam(Schedule::Constant(0.1)).unwrap());
    assert!(told(both.fit(&records)).contains("another optimiser brings its own rate"));
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let (records, folder) = (people(30, false), Folder::new());
    let path = folder.file("run");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    run().checkpoint(&path, 5).on_progress(stop_at(12)).fit(&records).unwrap();
    assert_eq!(mode(&path), 0o600);
    // Nor does a complete run's file hold the seed: its place is filled with zeros.
    run().checkpoint(&path, 5).resume(&records).unwrap();
    assert_eq!(mode(&path), 0o600);
    let bytes = std::fs::read(&path).unwrap();
    let start = b"dp-vi checkpoint 5\n".len() + 8;
    assert_eq!(bytes[start..start + 34], [0; 34]);
    // Nor the number of records and their fingerprint, behind secrecy, steps and payment.
    let records = start + 34 + 1 + 16 + 33;
    assert_eq!(bytes[records..records + 24], [0; 24]);
}

#[test]
fn without_privacy_runs_are_resumed_too() {
    let (records, folder) = (people(50, false), Folder::new());
    let path = folder.file("run");
    let run = || DpVi::new(logistic, AutoNormal::new()).without_privacy().subsample(FullBatch).steps(40);
    let whole = bits(&run().seed(Seed::for_tests(2)).fit(&records).unwrap());
    run().seed(Seed::for_tests(2)).checkpoint(&path, 6).on_progress(stop_at(15)).fit(&records).unwrap();
    let fit = run().checkpoint(&path, 6).resume(&records).unwrap();
    assert_eq!(bits(&fit), whole);
    assert!(fit.privacy().to_string().starts_with("NOT PRIVATE"));
}

#[test]
fn progress_tells_rate_and_time_left() {
    let records = people(50, false);
    let last = Rc::new(Cell::new(None));
    let told = Rc::clone(&last);
    run().on_progress(move |progress| told.set(Some(progress))).fit(&records).unwrap();
    let progress = last.get().unwrap();
    assert_eq!((progress.done, progress.steps, progress.time_left), (STEPS, STEPS, Duration::ZERO));
    assert!(progress.steps_per_second > 0.0 && progress.steps_per_second.is_finite());
}

#[test]
fn a_value_that_is_not_a_number_is_an_error_that_names_the_column() {
    let mut x = Array2::from_elem((20, 3), 0.5);
    x[[7, 1]] = f64::NAN;
    let columns = [("x", Column::from(x)), ("y", Column::from(vec![0.0; 20]))];
    let records = Sensitive::new(Records::from_columns(columns).unwrap());
    let mut ledger = Ledger::new(BUDGET).unwrap();
    let told = run().fit_from(&records, &mut ledger).unwrap_err().to_string();
    assert!(told.starts_with("column 'x' has a value that is not a number") && !told.contains('7'), "{told}");
    assert!(ledger.debits().is_empty());
}

/// A guarantee that leaves something out leaves it out wherever the run is ended.
#[test]
fn a_resumed_run_states_what_the_run_stated_as_public() {
    let (records, folder) = (people(60, false), Folder::new());
    let path = folder.file("run");
    let stated = || run().treat_as_public("towns were read").checkpoint(&path, 10);
    stated().on_progress(stop_at(25)).fit(&records).unwrap();
    for other in [run(), run().treat_as_public("streets were read")] {
        let told = other.checkpoint(&path, 10).resume(&records).unwrap_err();
        assert!(matches!(told, Error::CheckpointOfAnother { .. }), "{told}");
    }
    assert!(stated().resume(&records).unwrap().privacy().to_string().contains("towns were read"));
    // Complete, it is the same.
    assert!(run().checkpoint(&path, 10).resume(&records).is_err());
}

/// Second derivatives are taken at the end of each run, resumed or not: of the records that it was made with.
#[test]
fn a_complete_laplace_run_knows_its_records() {
    let folder = Folder::new();
    let path = folder.file("run");
    let run = || {
        let vi = DpVi::new(location, AutoLaplace::new()).without_privacy().draw_scheme(DrawScheme::Single);
        vi.subsample(FullBatch).steps(200).checkpoint(&path, 50)
    };
    let of = |n| Sensitive::new(Records::from_columns([("y", vec![1.0; n])]).unwrap());
    let sd = |fit: Fit| fit.posterior().sd("m").unwrap()[[]];
    let whole = sd(run().fit(&of(9)).unwrap());
    assert!((whole - 9.01_f64.sqrt().recip()).abs() < 1e-6, "{whole}");
    assert!(matches!(run().resume(&of(900)), Err(Error::CheckpointOfAnother { .. })));
    assert_eq!(sd(run().resume(&of(9)).unwrap()), whole);
    assert_eq!(sd(run().conclude(&of(9)).unwrap()), whole);
}
