//! The corrected posterior holds the truth as often as it says, on full batches and on samples; the guide
//! alone does not.

use dp_accountant::{Budget, Relation};
use dp_sampler::{Poisson, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{Correction, DpVi, Fit, Posterior, Sensitive};
use ppl_core::Records;

use crate::common::{in_a_square, logistic_near_zero as logistic};

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
    let vi = || {
        DpVi::new(logistic, AutoNormal::new())
            .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
            .steps(100)
            .seed(Seed::for_tests(1))
    };
    let fit = vi().fit(&records).unwrap();
    let found = fit.noise_aware().unwrap();
    assert_eq!((found.sites.as_slice(), found.mean.len()), (&["w".to_owned()][..], 2));
    for j in 0..2 {
        assert_eq!(fit.posterior().mean("w").unwrap()[[j]], found.mean[j]);
        assert_eq!(fit.posterior().sd("w").unwrap()[[j]], found.covariance[3 * j].sqrt());
        assert!(fit.posterior().sd("w").unwrap()[[j]] > fit.uncorrected().sd("w").unwrap()[[j]]);
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
