//! Posteriors corrected with a curvature that is read off the run's own gradients.

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{Correction, DpVi, Error, Fit, Gradients, PrivacyNoise, Sensitive};
use ppl_core::{Ctx, Records, Result, Schema, Shape};
use std::ops::ControlFlow;

use crate::common::{Folder, in_a_square, logistic_near_zero as logistic};

const TRUTH: [f64; 2] = [1.0, -0.5];
const RECORDS: usize = 1000;

fn people(set: usize) -> Sensitive<Records> {
    in_a_square(set, RECORDS, TRUTH)
}

type Run = DpVi<fn(&mut Ctx) -> Result<()>, AutoNormal, FullBatch>;

fn run(epsilon: f64, correction: Correction) -> Run {
    DpVi::new(logistic as fn(&mut Ctx) -> Result<()>, AutoNormal::new())
        .budget(Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove })
        .subsample(FullBatch)
        .steps(300)
        .correction(correction)
}

/// n = 60 data sets: of a share of 0.9 at most 40 hold the truth with probability 8e-7.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    const SETS: usize = 60;
    let (mut covered, mut corrected) = ([0.0; 2], 0.0);
    for set in 0..SETS {
        let fit = run(6.0, Correction::TraceRegression)
            .steps(200)
            .seed(Seed::for_tests(set as u64))
            .fit(&people(set))
            .unwrap();
        if fit.noise_aware().is_none() {
            continue;
        }
        corrected += 1.0;
        let (low, high) = fit.posterior().interval("w", 0.9).unwrap();
        (0..2).for_each(|j| covered[j] += f64::from(u8::from(low[j] <= TRUTH[j] && TRUTH[j] <= high[j])));
    }
    let shares = covered.map(|covered| covered / corrected);
    assert!(corrected > 54.0, "corrected {corrected} of {SETS}, covered {shares:?}");
    assert!(shares.iter().all(|share| *share > 0.67), "covered {shares:?} of {corrected}");
}

#[test]
fn with_little_noise_it_is_the_released_curvature_and_it_takes_no_budget() {
    let records = people(7);
    let fit = |correction| run(100.0, correction).seed(Seed::for_tests(3)).fit(&records).unwrap();
    let (trace, released, none) =
        (fit(Correction::TraceRegression), fit(Correction::Full), fit(Correction::None));
    let sd = |fit: &Fit| fit.posterior().sd("w").unwrap();
    for (a, b) in sd(&trace).iter().zip(&sd(&released)) {
        // The curvature at the last mean, and over all draws of the last 225 steps.
        assert!((a / b - 1.0).abs() < 0.1, "{a} {b}");
    }
    assert!(trace.noise_aware().is_some());
    assert_eq!(trace.privacy().releases, none.privacy().releases);
    assert_eq!(trace.privacy().noise_multiplier, none.privacy().noise_multiplier);
    let plan = run(1.0, Correction::TraceRegression).plan(records.schema()).unwrap();
    assert!(plan.trace_regression && plan.curvature.is_none() && plan.explain().contains("no budget"));
}

#[test]
fn resumed_bit_for_bit_and_refused_with_a_reason() {
    let (records, folder) = (people(3), Folder::new());
    let path = folder.file("run");
    let exact = || run(20.0, Correction::TraceRegression).noise(PrivacyNoise::Exact).steps(80);
    let bits = |fit: &Fit| -> Vec<u64> {
        let found = fit.noise_aware().unwrap();
        found.mean.iter().chain(&found.covariance).map(|x| x.to_bits()).collect()
    };
    let whole = exact().seed(Seed::for_tests(5)).fit(&records).unwrap();
    let stop = |progress: dp_vi::Progress| match progress.done < 50 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    exact().seed(Seed::for_tests(5)).checkpoint(&path, 10).on_progress(stop).fit(&records).unwrap();
    let other = run(20.0, Correction::None).noise(PrivacyNoise::Exact).steps(80).checkpoint(&path, 10);
    assert!(matches!(other.resume(&records), Err(Error::CheckpointOfAnother { .. })));
    let resumed = exact().checkpoint(&path, 10).resume(&records).unwrap();
    assert_eq!(bits(&resumed), bits(&whole));
    // A complete run is read again, without a seed.
    let again = exact().checkpoint(&path, 10).resume(&records).unwrap();
    assert_eq!(bits(&again), bits(&whole));

    let wide = Schema::new([("x", Shape::from(65)), ("y", Shape::scalar())]).unwrap();
    let told = run(1.0, Correction::TraceRegression).plan(&wide).unwrap_err().to_string();
    assert!(told.contains("at most 64") && told.contains("65"), "{told}");
    let vanilla = run(1.0, Correction::TraceRegression).gradients(Gradients::Vanilla);
    assert!(vanilla.plan(records.schema()).unwrap_err().to_string().contains("correction"));
}
