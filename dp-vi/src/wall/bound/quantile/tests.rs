//! The count that moves an adaptive norm has its noise, whatever kind of noise the sums get.
//!
//! An audit of both releases of a step together hardly sees the count: it carries one hundredth of the
//! squared distance between neighbours. So the count is audited by itself here.

use super::*;
use crate::PrivacyNoise;
use crate::cost::pricing::event;
use crate::wall::audits::modes::{self, records};
use crate::wall::audits::steps::{STANDARD_ERRORS, separated_epsilon};
use crate::wall::gradient::PrivateGradient;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Accountant, Relation, Sampling};
use dp_sampler::{FixedSize, FullBatch, GaussianNoise, NoiseSource, Poisson, Purpose, Seed, Subsampling};
use ndarray::Array2;
use ppl_core::{Column, Records};

/// So large an expected batch that the norm hardly moves, with a target around which it stays.
const EXPECTED: f64 = 1e5;

const KINDS: [PrivacyNoise; 2] = [PrivacyNoise::Continuous, PrivacyNoise::Exact];

fn mechanism<'r, S: Subsampling>(
    noise: PrivacyNoise,
    noise_multiplier: f64,
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    modes::mechanism(modes::steady(EXPECTED), noise_multiplier, noise, subsampling, records, seed)
}

/// Makes a release and returns the noisy centred count, read off from how the norm moved.
fn released_count<S: dp_sampler::Subsampler>(
    mechanism: &mut PrivateGradient<'_, S>,
    out: &mut [f64; 5],
) -> f64 {
    let before = mechanism.clip_norm();
    mechanism.release_unpaid(out).unwrap();
    -(mechanism.clip_norm() / before).ln() * EXPECTED
}

/// Counts of full batches with or without a canary, whose gradient is longer than the norm: it adds −½ to two
/// others' 1. In units of the noise `5σ` that is accounted for, and so that the canary makes them larger.
fn counts(noise: PrivacyNoise, (claimed, actual): (f64, f64), canary: bool, n: u64) -> Vec<f64> {
    let records = records(canary);
    let mut mechanism = mechanism(noise, actual, &FullBatch, &records, 60 + u64::from(canary));
    let mut out = [0.0; 5];
    (0..n).map(|_| (1.0 - released_count(&mut mechanism, &mut out)) / (COUNT_NOISE * claimed)).collect()
}

/// At σ = 0.1 a canary moves the count by one standard deviation of its noise: by itself the count is a
/// Gaussian mechanism of multiplier 1.
///
/// n = 60,000 releases a data set; the interval of ε holds with probability 1 − 2e-7 for each of six audits.
#[test]
fn the_count_by_itself_costs_what_is_claimed() {
    let (sigma, n) = (0.1, 60_000);
    let multiplier = 2.0 * COUNT_NOISE * sigma;
    let event = event(multiplier, Sampling::None).unwrap();
    let stated = Accountant::new(Relation::AddRemove).compose(event, 1).epsilon(1e-5).unwrap();
    for noise in KINDS {
        let holds = |actual: f64| {
            let of = |canary| counts(noise, (sigma, actual), canary, n);
            let (lower, upper) = separated_epsilon(&of(true), &of(false), 0.5 / multiplier);
            lower <= stated.upper && stated.lower <= upper
        };
        assert!(holds(sigma), "{noise:?}");
        assert!(!holds(0.9 * sigma), "{noise:?}: too little noise went unnoticed");
        assert!(!holds(1.1 * sigma), "{noise:?}: too much noise went unnoticed");
    }
}

/// The noise of a step with an adaptive norm, without any records: each element of the sum `σ_grad C`, the
/// count `5σ`, all independent of each other and of the step before.
///
/// n = 20,000 releases for each kind of noise; relative standard errors √(2/n) and 1/√n; 27 comparisons each
/// at α = 2e-7.
#[test]
fn the_count_has_noise_of_its_own_also_without_records() {
    let (n, sigma, rate) = (20_000_u64, 2.0, 0.5);
    let columns =
        [("x", 2), ("y", 3)].map(|(name, width)| (name, Column::from(Array2::<f64>::zeros((0, width)))));
    let records = Sensitive::new(Records::from_columns(columns).unwrap());
    for noise in KINDS {
        let mut mechanism = mechanism(noise, sigma, &Poisson::rate(rate).unwrap(), &records, 9);
        let mut columns = vec![Vec::new(); 6];
        let mut out = [0.0; 5];
        for _ in 0..n {
            let scale = mechanism.clip_norm() * Adaptive::gradient_multiplier(sigma);
            let count = released_count(&mut mechanism, &mut out);
            columns.iter_mut().zip(out).for_each(|(column, value)| column.push(value * rate / scale));
            columns[5].push(count / (COUNT_NOISE * sigma));
        }
        let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n as f64;
        let product_error = STANDARD_ERRORS / (n as f64).sqrt();
        for a in 0..6 {
            let square = mean(&columns[a], &columns[a]);
            assert!((square - 1.0).abs() < product_error * 2.0_f64.sqrt(), "{noise:?}: {a} has {square}");
            assert!(mean(&columns[a][1..], &columns[a]).abs() < product_error, "{noise:?}: {a}");
            for b in 0..a {
                assert!(mean(&columns[a], &columns[b]).abs() < product_error, "{noise:?}: {a} and {b}");
            }
        }
    }
}

#[test]
fn the_two_releases_make_up_one() {
    for sigma in [0.3, 1.0, 64.0] {
        let (gradient, count) = (Adaptive::gradient_multiplier(sigma), COUNT_NOISE * sigma);
        let joint = (gradient.powi(-2) + (2.0 * count).powi(-2)).powf(-0.5);
        assert!((joint / sigma - 1.0).abs() < 1e-14, "{joint} {sigma}");
    }
}

#[test]
fn the_norm_moves_towards_the_quantile() {
    let first = ClipNorm::new(1.0, 2).unwrap();
    let mut rule = Adaptive::new(Quantile::default(), first, 2, 100.0).unwrap();
    // 50 of 100 below where 90 should be: C grows by exp(0.2 · 0.4).
    *rule.below.get_mut() = 50;
    rule.adapt(100, 1.0, 0.0).unwrap();
    assert!((rule.clip().norm() - 0.08_f64.exp()).abs() < 1e-12);
    *rule.below.get_mut() = 100;
    rule.adapt(100, 1.0, 0.0).unwrap();
    assert!((rule.clip().norm() - 0.06_f64.exp()).abs() < 1e-12);
    assert!(Quantile { target: 1.0, ..Quantile::default() }.validate().is_err());
    assert!(Quantile { rate: f64::NAN, ..Quantile::default() }.validate().is_err());
}

/// What suits a run of all records at each step.
fn suited_to_all((sigma, steps): (f64, u64), records: f64, elements: usize) -> Suited {
    Quantile::suited_to((sigma, 1.0, steps), (records, &Scheme::Full), elements)
}

/// A million records whose norms are exponential, without noise: the norm arrives at their quantile, ln 1000, and
/// stays.
#[test]
fn a_norm_settles_with_many_records() {
    let suited = Suited { margin: 1.0, ..suited_to_all((90.6, 600), 1e6, 3) };
    let mut rule = Adaptive::new(Quantile::default(), ClipNorm::new(1.0, 3).unwrap(), 3, 1.0).unwrap();
    rule.expect(1e6, Some(suited));
    for step in 0..600 {
        let norm = rule.clip().norm();
        assert!(step < 100 || (norm / 1e3_f64.ln() - 1.0).abs() < 0.02, "{step}: {norm}");
        rule.follow(1e6 * (0.5 - (-norm).exp())).unwrap();
    }
}

/// The same with noise and in samples of a random size: the walk has the deviation that the rate was made for.
#[test]
fn the_size_of_samples_does_not_move_the_norm() {
    // 1,000 of 100,000 records, 5,000 steps: the count's noise is 5/1000, and the sizes of samples move it by three
    // times as much.
    let (sigma, batch, records, steps) = (1.0, 1e3, 1e5, 5_000);
    let scheme = Poisson::rate(batch / records).unwrap().scheme(100_000).unwrap();
    let suited = Quantile::suited_to((sigma, batch / records, steps), (records, &scheme), 3);
    let mut rule = Adaptive::new(Quantile::default(), ClipNorm::new(6.0, 3).unwrap(), 3, 1.0).unwrap();
    rule.expect(batch, Some(Suited { margin: 1.0, ..suited }));
    let seed = Seed::for_tests(8);
    let normals = GaussianNoise::with_purpose(&seed, Purpose::Custom("counts"));
    let mut squares = 0.0;
    for step in 0..steps {
        let norm = rule.clip().norm();
        squares += (norm / 1e3_f64.ln()).ln().powi(2);
        let mut z = [0.0; 2];
        normals.fill(step, &mut z);
        let above = (-norm).exp();
        // Those below less those above, halved: of a sample whose size varies by its root.
        let count = batch * (0.5 - above) + 0.5 * (batch * (1.0 - batch / records)).sqrt() * z[0];
        rule.follow(count + COUNT_NOISE * sigma * z[1]).unwrap();
    }
    let deviation = (squares / steps as f64).sqrt();
    assert!((0.03..0.2).contains(&deviation), "{deviation}");
}

/// The formulas, at values computed by hand, and their limits.
#[test]
fn the_quantile_follows_from_noise_and_records() {
    // σ = 64 and 300 steps on 3,300 records: s = 64/(3300 √300) = 1.1197e-3.
    let suited = |sigma: f64, records: f64, elements| suited_to_all((sigma, 300), records, elements);
    let of = |sigma, records, elements| suited(sigma, records, elements).quantile;
    let usual = of(64.0, 3_300.0, 12);
    assert!((1.0 - usual.target - 0.033_592).abs() < 1e-6, "{usual:?}");
    // rate = 0.033592/(8 (5 · 64/3300)²)
    assert!((usual.rate - 0.446_55).abs() < 1e-4, "{usual:?}");
    // Half of the records at each step, with half of the noise multiplier, are the same but for what the sample adds:
    // (1 − q)/q = 1, of m of 3,300 records in batches of a fixed size and of a quarter in others.
    let half = |sampling: &dyn Fn() -> Scheme| {
        Quantile::suited_to((32.0, 0.5, 300), (3_300.0, &sampling()), 12).quantile
    };
    let fixed = half(&|| FixedSize::batch(1650).unwrap().scheme(3_300).unwrap());
    let random = half(&|| Poisson::rate(0.5).unwrap().scheme(3_300).unwrap());
    for (found, of_records) in [(fixed, 1.0 - usual.target), (random, 0.25)] {
        let slower = 1.0 + of_records / 3_300.0 / (320.0_f64 / 3_300.0).powi(2);
        assert_eq!(found.target, usual.target);
        assert!((found.rate * slower / usual.rate - 1.0).abs() < 1e-12, "{found:?}");
    }
    // With many records it is found at once, and a step moves it by a factor of e.
    let many = of(64.0, 1e6, 12);
    assert!((many.target, (many.rate - 100.0).abs() < 1e-9) == (0.999, true), "{many:?}");
    let mut rule = Adaptive::new(Quantile::default(), ClipNorm::new(1.0, 2).unwrap(), 2, 1.0).unwrap();
    rule.expect(1e6, Some(Suited { quantile: many, margin: 1.0 }));
    rule.follow(-5e5).unwrap();
    assert!((rule.clip().norm() - 1.0_f64.exp()).abs() < 1e-12);
    assert!(of(64.0, 10.0, 12).target == 0.7 && of(64.0, -5.0, 12).target == 0.7);
    // Many elements: 0.4 s √D is more than 30 s.
    assert!((1.0 - of(64.0, 1e5, 40_000).target - 80.0 * 64.0 / (1e5 * 300_f64.sqrt())).abs() < 1e-12);
}

/// Beside plain ascent a norm goes up to a multiple of its first and no further, also where it goes on; and down as
/// before.
#[test]
fn a_norm_that_is_bounded_stays_below() {
    let first = ClipNorm::new(2.0, 2).unwrap();
    let rule = || Adaptive::new(Quantile { target: 0.9, rate: 1.0 }, first, 2, 1.0).unwrap();
    let mut bounded = rule().at_most(MOST_GROWTH * 2.0);
    let mut free = rule();
    for _ in 0..5 {
        // No gradient is below the norm.
        bounded.follow(-0.5).unwrap();
        free.follow(-0.5).unwrap();
    }
    assert_eq!(bounded.clip().norm(), 12.0);
    assert!(free.clip().norm() > 100.0);
    bounded.go_on(free.state()).unwrap();
    bounded.follow(-0.5).unwrap();
    assert_eq!(bounded.clip().norm(), 12.0);
    bounded.follow(0.5).unwrap();
    assert!(bounded.clip().norm() < 12.0);
}

/// What is expected of a batch, and the quantile, are part of what an interrupted run goes on with.
#[test]
fn a_norm_goes_on_where_it_was() {
    let adaptive = || Adaptive::new(Quantile::default(), ClipNorm::new(1.0, 2).unwrap(), 2, 1.0).unwrap();
    let mut first = adaptive();
    first.expect(250.0, Some(Suited { quantile: Quantile { target: 0.97, rate: 0.4 }, margin: 1.5 }));
    first.follow(-30.0).unwrap();
    let mut second = adaptive();
    second.go_on(first.state()).unwrap();
    first.follow(50.0).unwrap();
    second.follow(50.0).unwrap();
    assert_eq!(first.state(), second.state());
    for bad in [
        [0.0, 10.0, 0.9, 0.2, 1.0, 1e9],
        [1.0, 0.0, 0.9, 0.2, 1.0, 1e9],
        [1.0, f64::NAN, 0.9, 0.2, 1.0, 1e9],
        [1.0, 10.0, 1.0, 0.2, 1.0, 1e9],
        [1.0, 10.0, 0.9, 0.2, 0.9, 1e9],
        [1.0, 10.0, 0.9, 0.2, 1.0, f64::NAN],
        // Below the smallest norm, a checkpoint that was forged ended the program.
        [1.0, 10.0, 0.9, 0.2, 1.0, 3.9e-71],
    ] {
        assert!(adaptive().go_on(bad).is_err(), "{bad:?}");
    }
}

/// With `κ` the norm that is counted below is the quantile, and the one that is clipped to lies above it: by an
/// exponential tail, so that `4 s √D` of the norms are clipped in the end.
#[test]
fn a_norm_keeps_its_margin_above_the_quantile() {
    // s = 1.1197e-3 as above: m = 0.033592 and 4 s √12 = 0.015515, ln(m/0.015515)/ln(1/m) = 0.77249/3.39345.
    let suited = suited_to_all((64.0, 300), 3_300.0, 12);
    assert!((suited.margin - 1.227_64).abs() < 1e-4, "{suited:?}");
    // m^κ of an exponential tail.
    let clipped = (1.0 - suited.quantile.target).powf(suited.margin);
    assert!((clipped - 0.015_515).abs() < 1e-6, "{clipped}");
    // Where more than the quantile leaves may be clipped there is none.
    assert_eq!(suited_to_all((64.0, 300), 1e5, 40_000).margin, 1.0);
    let mut rule = Adaptive::new(Quantile::default(), ClipNorm::new(2.0, 2).unwrap(), 2, 4.0).unwrap();
    rule.expect(4.0, Some(Suited { margin: 2.0, ..suited }));
    rule.begin();
    let (squares, mut weights) = ([0.81, 1.21, 3.61, 16.0], [0.0; 4]);
    rule.weigh(&squares, &mut weights);
    assert_eq!((rule.quantile(), *rule.below.get_mut()), (1.0, 1));
    assert_eq!(weights[..3], [1.0; 3]);
    assert!((weights[3] - 0.5_f64).abs() < 1e-7, "{weights:?}");
}

/// A norm that is held goes no further up.
#[test]
fn a_norm_that_is_held_grows_no_more() {
    let first = ClipNorm::new(3.0, 2).unwrap();
    let mut rule = Adaptive::new(Quantile { target: 0.9, rate: 1.0 }, first, 2, 1.0).unwrap();
    rule.margin = 1.5;
    rule.hold(2.0);
    for _ in 0..5 {
        rule.follow(-0.5).unwrap();
    }
    assert_eq!(rule.clip().norm(), 6.0);
    let mut again = Adaptive::new(Quantile::default(), first, 2, 1.0).unwrap();
    again.go_on(rule.state()).unwrap();
    again.follow(-0.5).unwrap();
    assert_eq!(again.clip().norm(), 6.0);
}
