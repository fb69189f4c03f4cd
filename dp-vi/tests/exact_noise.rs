//! Fits with exact noise on a grid: the same price, the same quality, nothing left to rounding, and runs that
//! can be resumed.

use dp_accountant::{Budget, Relation};
use dp_sampler::{BallsInBins, FullBatch, Poisson, Seed, WithReplacement};
use dp_vi::guides::AutoNormal;
use dp_vi::{
    Clipping, Correction, DpVi, Fit, PrivacyNoise, PrivateStart, Quantile, RecordWeights, Sensitive,
};
use ndarray::Array1;
use ppl_core::Records;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::common::{BUDGET, Folder, Run, STEPS, bits, logistic, people, run};

fn exact() -> Run {
    run().noise(PrivacyNoise::Exact).seed(Seed::for_tests(9))
}

#[test]
fn exact_noise_costs_what_continuous_noise_costs_and_the_report_says_what_it_covers() {
    let records = people(80, false);
    let continuous = run().noise(PrivacyNoise::Continuous).seed(Seed::for_tests(9));
    let (fast, exact) = (continuous.fit(&records).unwrap(), exact().fit(&records).unwrap());
    // The default is exact noise.
    assert_eq!(bits(&run().seed(Seed::for_tests(9)).fit(&records).unwrap()), bits(&exact));
    let told = |fit: &Fit| {
        let report = fit.privacy();
        (report.epsilon, report.noise_multiplier, report.releases.clone(), report.clip_norm)
    };
    assert_eq!(told(&fast), told(&exact));
    assert_eq!(exact.privacy().noise, Some(PrivacyNoise::Exact));
    let open = |fit: &Fit| fit.privacy().to_string().contains("rounding is not covered");
    assert!(open(&fast) && !open(&exact));
    assert!(exact.privacy().to_string().contains("exact noise on sums rounded to a grid"));
    // The caveat stands in the headline, before the words that explain it.
    let headline = |fit: &Fit| fit.privacy().to_string().split("In words").next().unwrap().to_owned();
    assert!(headline(&fast).contains("digit of what was released can break the guarantee"));
    assert!(!headline(&exact).contains("break"));
    // Nor does a private start add anything that is left to rounding.
    let w = |x: f64| BTreeMap::from([("w".to_owned(), Array1::from(vec![x, -x, 0.5]).into_dyn())]);
    let start = PrivateStart { candidates: vec![w(0.0), w(1.0)], range: (-3.0, 0.0), share: 0.2 };
    assert!(!open(&self::exact().private_start(start).fit(&records).unwrap()));
    let plan = self::exact().plan(records.schema()).unwrap();
    assert!(plan.noise == PrivacyNoise::Exact && plan.explain().contains("noise: exact"));
}

/// With hardly any noise both kinds find the same posterior, whatever is switched on.
#[test]
fn with_little_noise_both_kinds_find_the_same() {
    let records = people(400, false);
    type With = fn(Run) -> Run;
    let settings: [With; 4] = [
        |run| run,
        |run| run.weights(RecordWeights::None).clipping(Clipping::PerSite),
        |run| {
            run.weights(RecordWeights::None)
                .public_records(400)
                .clipping(Clipping::Quantile(Quantile::default()))
        },
        |run| run.correction(Correction::Diagonal),
    ];
    for (number, with) in settings.into_iter().enumerate() {
        let fit = |noise: PrivacyNoise| {
            let budget = Budget { epsilon: 100.0, ..BUDGET };
            let vi = with(run().budget(budget)).subsample(FullBatch).noise(noise);
            vi.seed(Seed::for_tests(4)).fit(&records).unwrap()
        };
        let (fast, exact) = (fit(PrivacyNoise::Continuous), fit(PrivacyNoise::Exact));
        let sigma = fast.privacy().noise_multiplier.unwrap();
        let (a, b) = (fast.uncorrected().mean("w").unwrap(), exact.uncorrected().mean("w").unwrap());
        for (a, b) in a.iter().zip(&b) {
            // The optimiser sees gradients that differ by noise of σC, C = √3, in sums of hundreds; its steps
            // are 0.05.
            assert!((a - b).abs() < 0.05, "setting {number}, sigma {sigma}: {a} {b}");
        }
    }
}

#[test]
fn runs_with_exact_noise_are_resumed_bit_for_bit_and_not_with_another() {
    let (records, folder) = (people(80, false), Folder::new());
    let quantile = |run: Run| {
        let run = run.weights(RecordWeights::None).correction(Correction::None).public_records(80);
        run.clipping(Clipping::Quantile(Quantile::default()))
    };
    for (number, with) in [(0, (|run| run) as fn(Run) -> Run), (1, quantile)] {
        let path = folder.file(&format!("run-{number}"));
        let whole = bits(&with(exact()).fit(&records).unwrap());
        let stop = |progress: dp_vi::Progress| match progress.done < 25 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        with(exact()).checkpoint(&path, 10).on_progress(stop).fit(&records).unwrap();
        let other = with(run().noise(PrivacyNoise::Continuous))
            .checkpoint(&path, 10)
            .resume(&records)
            .unwrap_err()
            .to_string();
        assert!(other.contains("protection"), "{other}");
        let resumed = with(run()).checkpoint(&path, 10).resume(&records).unwrap();
        assert_eq!(bits(&resumed), whole);
        assert_eq!(resumed.privacy().steps_done, STEPS);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Large enough batches that threads are asked for.
    let records = people(15_000, false);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let fit =
                exact().subsample(FullBatch).steps(3).correction(Correction::None).fit(&records).unwrap();
            bits(&fit)
        })
    };
    let one = on(1);
    assert!([2, 3].into_iter().all(|threads| on(threads) == one));
}

#[test]
fn every_scheme_and_relation_can_have_exact_noise() {
    let records = people(60, false);
    let vi = || {
        let vi = DpVi::new(logistic, AutoNormal::new()).noise(PrivacyNoise::Exact).steps(12);
        vi.seed(Seed::for_tests(2))
    };
    let replace = Budget { relation: Relation::ReplaceOne, ..BUDGET };
    let finite = |fit: Fit| assert!(fit.posterior().mean("w").unwrap().iter().all(|x| x.is_finite()));
    for budget in [BUDGET, replace] {
        finite(vi().budget(budget).fit(&records).unwrap());
        finite(vi().budget(budget).subsample(Poisson::rate(0.3).unwrap()).fit(&records).unwrap());
        finite(vi().budget(budget).subsample(BallsInBins::bins(4).unwrap().exact()).fit(&records).unwrap());
    }
    finite(vi().budget(replace).subsample(WithReplacement::batch(7).unwrap()).fit(&records).unwrap());
    // Nobody is there, and without privacy nothing is rounded.
    let nobody: Sensitive<Records> = people(0, false);
    finite(vi().budget(BUDGET).fit(&nobody).unwrap());
    let bare = vi().without_privacy().fit(&records).unwrap();
    assert!(bare.privacy().noise.is_none());
}
