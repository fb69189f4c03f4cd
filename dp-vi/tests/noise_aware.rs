//! The corrected posterior holds the truth as often as it says, on full batches and on samples; the guide
//! alone does not.

use dp_accountant::{Budget, Relation};
use dp_sampler::{Poisson, Seed};
use dp_vi::guides::{AutoLaplace, AutoNormal};
use dp_vi::optimiser::Schedule;
use dp_vi::{Correction, DpVi, DrawScheme, FeatureNorms, Fit, Posterior, Sensitive};
use ppl_core::{Ctx, Records};

use crate::common::{Folder, in_a_square, logistic_near_zero as logistic};

const TRUTH: [f64; 2] = [1.0, -0.5];
const RECORDS: usize = 400;
const SETS: usize = 300;

fn people(set: usize) -> Sensitive<Records> {
    in_a_square(set, RECORDS, TRUTH)
}

fn fit(set: usize, rate: f64, steps: u64) -> Fit {
    DpVi::new(logistic, AutoNormal::new())
        .budget(Budget { epsilon: 0.7, delta: 1e-5, relation: Relation::AddRemove })
        .subsample(Poisson::rate(rate).unwrap())
        .steps(steps)
        .seed(Seed::for_tests(set as u64))
        .fit(&people(set))
        .unwrap()
}

/// The share of data sets whose 90 % interval holds the truth, for each weight.
fn covered<'f>(posteriors: impl Iterator<Item = &'f Posterior>) -> [f64; 2] {
    let mut counts = [0.0; 2];
    for posterior in posteriors {
        let (low, high) = posterior.interval("w", 0.9).unwrap();
        (0..2).for_each(|j| counts[j] += f64::from(u8::from(low[j] <= TRUTH[j] && TRUTH[j] <= high[j])));
    }
    counts.map(|count| count / SETS as f64)
}

/// n = 300 data sets; a share has standard error √(0.09/300) = 0.0173, and 5.2 of them are 0.09: four
/// comparisons at α = 2e-7.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for (rate, steps) in [(1.0, 200), (0.2, 500)] {
        let fits: Vec<Fit> = (0..SETS).map(|set| fit(set, rate, steps)).collect();
        let (corrected, guide) =
            (covered(fits.iter().map(Fit::posterior)), covered(fits.iter().map(Fit::uncorrected)));
        for j in 0..2 {
            assert!((corrected[j] - 0.9).abs() < 0.09, "rate {rate}: {corrected:?}");
            assert!(
                guide[j] < 0.81,
                "rate {rate}: the guide alone covers {guide:?}, so this test shows nothing"
            );
        }
    }
}

#[test]
fn the_correction_tells_covariances_and_can_be_switched_off() {
    let records = people(1);
    let at = |epsilon: f64| {
        DpVi::new(logistic, AutoNormal::new())
            .budget(Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove })
            .steps(100)
            .seed(Seed::for_tests(1))
    };
    let vi = || at(1.0);
    let fit = vi().fit(&records).unwrap();
    // With ε of 0.3 the noise has about the variance of the scores, with 50 hardly any.
    let (noisier, sharper) = (at(0.3).fit(&records).unwrap(), at(50.0).fit(&records).unwrap());
    let found = fit.noise_aware().unwrap();
    assert_eq!((found.sites.as_slice(), found.mean.len()), (&["w".to_owned()][..], 2));
    for j in 0..2 {
        assert_eq!(fit.posterior().mean("w").unwrap()[[j]], found.mean[j]);
        assert_eq!(fit.posterior().sd("w").unwrap()[[j]], found.covariance[3 * j].sqrt());
        assert!(noisier.posterior().sd("w").unwrap()[[j]] > 1.1 * sharper.posterior().sd("w").unwrap()[[j]]);
    }
    assert_eq!(found.covariance[1], found.covariance[2]);
    let plain = vi().correction(Correction::None).fit(&records).unwrap();
    assert!(plain.noise_aware().is_none() && plain.privacy().releases.len() == 1);
    // Nothing goes into the curvature, so the steps get less noise.
    assert!(plain.privacy().noise_multiplier < fit.privacy().noise_multiplier);
    let diagonal = vi().correction(Correction::Diagonal).fit(&records).unwrap();
    // Nothing is released of what is off the diagonal, so that it averages out.
    let covariance = &diagonal.noise_aware().unwrap().covariance;
    assert!(covariance[1].abs() < 0.2 * (covariance[0] * covariance[3]).sqrt(), "{covariance:?}");
    assert_eq!(diagonal.privacy().releases[0].what, "diagonal of the curvature");
}

type Logistic = fn(&mut Ctx<'_>) -> ppl_core::Result<()>;

/// A logistic regression at a point of its own at each step, whose steps are as long as the noise allows.
fn noise_limited(seed: usize) -> DpVi<Logistic, AutoLaplace, Poisson> {
    DpVi::new(logistic as Logistic, AutoLaplace::new())
        .draw_scheme(DrawScheme::Single)
        .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
        .noise_limited_steps()
        .steps(100)
        .seed(Seed::for_tests(seed as u64))
}

#[test]
fn noise_limited_steps_count_the_records_and_keep_the_budget() {
    let records = people(1);
    let fit = noise_limited(1).fit(&records).unwrap();
    let report = fit.privacy();
    let released: Vec<&str> = report.releases.iter().map(|release| release.what).collect();
    let all =
        ["number of records", "curvature", "curvature during the run", "noisy sums of clipped gradients"];
    assert_eq!(released, all);
    let epsilon = report.epsilon.as_ref().unwrap();
    assert!(epsilon.upper <= 1.0 && epsilon.upper > 0.999, "{epsilon:?}");
    // A stated number is not released, and the steps have less noise.
    let stated = noise_limited(1).public_records(1000).fit(&records).unwrap();
    assert_eq!(stated.privacy().releases.len(), 3);
    assert!(stated.privacy().noise_multiplier < report.noise_multiplier);
    assert_eq!(noise_limited(1).fit(&records).unwrap().noise_aware(), fit.noise_aware());
}

/// n = 300 data sets; a share has standard error √(0.09/300) = 0.0173, and 5.2 of them are 0.09. Intervals
/// may cover more, where the curvature is uncertain.
#[test]
fn noise_limited_steps_lead_to_intervals_that_hold_the_truth() {
    let fits: Vec<Fit> = (0..SETS).map(|set| noise_limited(set).fit(&people(set)).unwrap()).collect();
    let covered = covered(fits.iter().map(Fit::posterior));
    assert!(covered.iter().all(|share| *share > 0.81), "{covered:?}");
}

#[test]
fn an_interrupted_run_of_noise_limited_steps_goes_on_bit_for_bit() {
    let (records, folder) = (people(3), Folder::new());
    let path = folder.file("run.checkpoint");
    let whole = noise_limited(4).fit(&records).unwrap();
    // Before the curvature is released, which is before step 20, just before it, and after.
    for stopped in [10, 20, 40] {
        let stop = move |progress: dp_vi::Progress| match progress.done < stopped {
            true => std::ops::ControlFlow::Continue(()),
            false => std::ops::ControlFlow::Break(()),
        };
        noise_limited(4).checkpoint(&path, 10).on_progress(stop).fit(&records).unwrap();
        let again = DpVi::new(logistic as Logistic, AutoLaplace::new())
            .draw_scheme(DrawScheme::Single)
            .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
            .noise_limited_steps()
            .steps(100)
            .checkpoint(&path, 10)
            .resume(&records)
            .unwrap();
        assert_eq!(again.noise_aware(), whole.noise_aware());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_does_not_go_with_noise_limited_steps_is_refused() {
    let records = people(1);
    let message = |error: dp_vi::Error| error.to_string();
    let refused = noise_limited(1).schedule(Schedule::Constant(0.1)).fit(&records).unwrap_err();
    assert!(message(refused).contains("name no schedule and no optimiser"));
    let refused = noise_limited(1).correction(Correction::None).fit(&records).unwrap_err();
    assert!(message(refused).contains("weights and a correction"));
    for (typical, largest) in [(2.0, 1.0), (0.0, 1.0), (1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)] {
        let norms = FeatureNorms { typical, largest };
        let refused = noise_limited(1).feature_norms(norms).fit(&records).unwrap_err();
        assert!(message(refused).contains("norm of features"), "{typical} {largest}");
    }
}
