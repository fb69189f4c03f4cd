//! Audits of the mechanism from outside: with a canary record present and absent, do many noisy sums tell the two data
//! sets apart exactly as well as the accountant says — no better, and not much worse?

use crate::mechanism::{ClipNorm, GaussianSum, PrivateGradient, Protection, sampling};
use crate::sensitive::Sensitive;
use crate::strategies;
use dp_accountant::{Accountant, Event, Mechanism, Relation};
use dp_sampler::{FullBatch, GaussianNoise, Poisson, Scheme, Seed, Subsampler, Subsampling};
use ndarray::Array2;
use ppl_core::{Column, Graph, Record, RecordGradient, Records};
use proptest::prelude::*;

const CLIP: f64 = 0.7;

/// Records whose gradient is their own `x`; the canary, if present, is far longer than the clip norm.
fn records(with_canary: bool) -> Sensitive<Records> {
    let rows = if with_canary { vec![0.0, 0.0, 0.0, 0.0, 40.0, 0.0] } else { vec![0.0; 4] };
    let x = Array2::from_shape_vec((rows.len() / 2, 2), rows).unwrap();
    Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap())
}

fn mechanism<S: Subsampling>(
    noise_multiplier: f64,
    subsampling: &S,
    records: &Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<S::Sampler, GaussianNoise> {
    let graph = Graph::new();
    let w = graph.input("w", 2).unwrap();
    let schema = records.behind_the_wall().schema();
    let value = Record::new(&graph, schema).get("x").unwrap().dot(w);
    let gradient = RecordGradient::new(value, &[w]).unwrap();
    let seed = Seed::for_tests(seed);
    let sampler = subsampling.bind(records.behind_the_wall().len() as u64, &seed).unwrap();
    let clip = ClipNorm::new(CLIP, 2).unwrap();
    let protection = Protection::Gaussian(GaussianSum::new(clip, noise_multiplier).unwrap());
    PrivateGradient::new(gradient, protection, sampler, GaussianNoise::new(&seed)).unwrap()
}

/// Noisy sums in the canary's direction, in units of the clip norm.
fn sums<S: Subsampling>(
    noise_multiplier: f64,
    subsampling: &S,
    rate: f64,
    canary: bool,
    n: u64,
    seed: u64,
) -> Vec<f64> {
    let records = records(canary);
    let mut mechanism = mechanism(noise_multiplier, subsampling, &records, seed);
    mechanism.allow_for_tests(n);
    let mut out = [0.0; 2];
    (0..n)
        .map(|_| {
            mechanism.release(&records, &mut out).unwrap();
            out[0] * rate / CLIP
        })
        .collect()
}

fn share_above(values: &[f64], threshold: f64) -> f64 {
    values.iter().filter(|&&value| value > threshold).count() as f64 / values.len() as f64
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Two-sided false-alarm rate of a deviation this many standard errors wide: 2Φ(−5.2) = 2.0e-7.
const STANDARD_ERRORS: f64 = 5.2;

/// Without subsampling: are the two sets of sums `1/σ` apart? The interval of ε at δ = 1e-5 that the observed separation
/// leaves, at confidence 1 − 2e-7.
fn audited_epsilon(actual: f64, n: u64) -> (f64, f64) {
    let present = sums(actual, &FullBatch, 1.0, true, n, 11);
    let absent = sums(actual, &FullBatch, 1.0, false, n, 12);
    let (hits, alarms) = (share_above(&present, 0.5), share_above(&absent, 0.5));
    let (a, b) = (normal_quantile(hits), normal_quantile(alarms));
    // Delta method: sd of Φ⁻¹(p̂) is √(p(1−p)/n)/φ(Φ⁻¹(p)).
    let variance = |p: f64, z: f64| p * (1.0 - p) / n as f64 * (2.0 * std::f64::consts::PI) * (z * z).exp();
    let error = STANDARD_ERRORS * (variance(hits, a) + variance(alarms, b)).sqrt();
    let epsilon = |separation: f64| {
        let event = Event::new(
            Mechanism::Gaussian { noise_multiplier: 1.0 / separation },
            sampling(&FullBatch.scheme(3).unwrap()).unwrap(),
        );
        Accountant::new(Relation::AddRemove).compose(event.unwrap(), 1).epsilon(1e-5).unwrap()
    };
    (epsilon(a - b - error).lower, epsilon(a - b + error).upper)
}

#[test]
fn epsilon_of_a_full_batch_is_the_one_claimed() {
    let (claimed, n) = (1.0, 60_000);
    let event = mechanism(claimed, &FullBatch, &records(true), 1).event().unwrap().unwrap();
    let stated = Accountant::new(Relation::AddRemove).compose(event, 1).epsilon(1e-5).unwrap();
    let holds = |(lower, upper): (f64, f64)| lower <= stated.upper && stated.lower <= upper;
    assert!(holds(audited_epsilon(claimed, n)));
    // The audit has teeth: noise that is wrong by 10 % either way is found out.
    assert!(!holds(audited_epsilon(0.9 * claimed, n)), "too little noise went unnoticed");
    assert!(!holds(audited_epsilon(1.1 * claimed, n)), "too much noise went unnoticed");
    // And it is tight: the leeway it leaves is small.
    let (lower, upper) = audited_epsilon(claimed, n);
    assert!(lower > 0.93 * stated.lower && upper < 1.07 * stated.upper, "[{lower}, {upper}] around {stated}");
}

/// With Poisson subsampling: the best test between the two data sets at level ε, `P(S) − e^ε Q(S)` for the event `S` on
/// which the likelihood ratio exceeds `e^ε`. Returns the observed value and its standard error.
fn observed_delta(actual: f64, rate: f64, claimed: f64, epsilon: f64, n: u64) -> (f64, f64) {
    let plan = Poisson::rate(rate).unwrap();
    let present = sums(actual, &plan, rate, true, n, 21);
    let absent = sums(actual, &plan, rate, false, n, 22);
    let threshold = 0.5 + claimed * claimed * ((epsilon.exp() - 1.0 + RATE) / RATE).ln();
    let (p, q) = (share_above(&present, threshold), share_above(&absent, threshold));
    let variance = p * (1.0 - p) + (2.0 * epsilon).exp() * q * (1.0 - q);
    (p - epsilon.exp() * q, (variance / n as f64).sqrt())
}

const RATE: f64 = 0.3;

#[test]
fn delta_of_a_poisson_batch_is_the_one_claimed() {
    let (claimed, epsilon, n) = (0.8, 0.3, 200_000);
    let plan = Poisson::rate(RATE).unwrap();
    let event = mechanism(claimed, &plan, &records(true), 1).event().unwrap().unwrap();
    let stated = Accountant::new(Relation::AddRemove).compose(event, 1).delta(epsilon).unwrap();
    let holds = |(delta, error): (f64, f64)| {
        delta - STANDARD_ERRORS * error <= stated.upper && stated.lower <= delta + STANDARD_ERRORS * error
    };
    assert!(holds(observed_delta(claimed, RATE, claimed, epsilon, n)));
    assert!(
        !holds(observed_delta(0.9 * claimed, RATE, claimed, epsilon, n)),
        "too little noise went unnoticed"
    );
    assert!(
        !holds(observed_delta(1.1 * claimed, RATE, claimed, epsilon, n)),
        "too much noise went unnoticed"
    );
    // A sampler that takes records 10 % more often than it says is found out too.
    assert!(!holds(observed_delta(claimed, 1.1 * RATE, claimed, epsilon, n)), "a wrong rate went unnoticed");
}

#[test]
fn an_empty_batch_is_released_with_the_same_noise() {
    let n = 20_000;
    let absent = sums(2.0, &Poisson::rate(1e-6).unwrap(), 1e-6, true, n, 31);
    let variance: f64 = absent.iter().map(|x| x * x).sum::<f64>() / n as f64;
    // The variance of n squared normals has relative standard error √(2/n) = 1 %.
    assert!((variance / 4.0 - 1.0).abs() < STANDARD_ERRORS * (2.0 / n as f64).sqrt(), "{variance}");
}

#[test]
fn releases_must_be_paid_for_and_are_never_repeated() {
    let records = records(true);
    let mut mechanism = mechanism(1.0, &FullBatch, &records, 1);
    let mut out = [0.0; 2];
    assert!(mechanism.release(&records, &mut out).unwrap_err().to_string().contains("no release left"));
    let budget = |epsilon| dp_accountant::Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove };
    // σ = 1 costs ε ≈ 4.4 at δ = 1e-5: a smaller budget refuses, and nothing becomes available.
    let mut poor = dp_accountant::Ledger::new(budget(1.0)).unwrap();
    assert!(mechanism.pay(&mut poor, 1).is_err());
    assert!(mechanism.release(&records, &mut out).is_err());
    assert!(mechanism.allow_unprotected(1).is_err());
    let mut rich = dp_accountant::Ledger::new(budget(10.0)).unwrap();
    mechanism.pay(&mut rich, 2).unwrap();
    mechanism.release(&records, &mut out).unwrap();
    let first = out;
    mechanism.release(&records, &mut out).unwrap();
    assert_ne!(first, out, "two releases shared their noise");
    assert!(mechanism.release(&records, &mut out).is_err());
}

#[test]
fn the_divisor_is_the_expected_batch() {
    // Ten records of gradient 1, no noise to speak of: the release estimates 10 whatever the batch came to.
    let rows = Array2::from_shape_fn((10, 2), |(_, j)| if j == 0 { 0.5 } else { 0.0 });
    let records = Sensitive::new(Records::from_columns([("x", Column::from(rows))]).unwrap());
    let mut mechanism = mechanism(1e-9, &Poisson::rate(0.4).unwrap(), &records, 3);
    mechanism.allow_for_tests(50);
    let mut out = [0.0; 2];
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        mechanism.release(&records, &mut out).unwrap();
        // 0.5 a record, over the rate 0.4: the batch's size can be read off, so it did not cancel.
        let count = out[0] * 0.4 / 0.5;
        assert!((count - count.round()).abs() < 1e-6, "{count}");
        seen.insert(count.round() as i64);
    }
    assert!(seen.len() > 3);
    assert!(matches!(Subsampler::scheme(mechanism.sampler()), Scheme::Poisson { rate: 0.4, .. }));
}

proptest! {
    #[test]
    fn clipped_contributions_never_exceed_the_clip_norm(
        norm in strategies::clip_norm(),
        x in proptest::collection::vec((-300.0..300.0_f64, any::<bool>()), 4),
    ) {
        prop_assume!(norm >= crate::mechanism::SMALLEST_CLIP_NORM);
        // Elements over 260 orders of magnitude, of both signs.
        let x: Vec<f64> = x.into_iter().map(|(e, minus)| (0.5 * e).exp() * if minus { -1.0 } else { 1.0 }).collect();
        let records = Records::from_columns([("x", Column::from(Array2::from_shape_vec((1, 4), x.clone()).unwrap()))]).unwrap();
        let graph = Graph::new();
        let w = graph.input("w", 4).unwrap();
        let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
        let mut gradient = RecordGradient::<f64>::new(value, &[w]).unwrap();
        let clip = ClipNorm::new(norm, 4).unwrap();
        let mut sum = [0.0; 4];
        gradient.weighted_sum(&records, &[0], |norms, weights| clip.weigh(norms, weights), &mut sum).unwrap();
        // The length of the result, computed without overflow or loss: scaled by the largest element.
        let largest = sum.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        prop_assert!(largest <= norm);
        if largest > 0.0 {
            let length = largest * sum.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
            prop_assert!(length <= norm, "{length} exceeds {norm}");
            // Clipping keeps the direction, and leaves short vectors alone.
            let before = x.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
            for (after, x) in sum.iter().zip(&x) {
                prop_assert!((after / largest - x / before).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn weights_are_between_zero_and_one(norm in strategies::clip_norm(), squared in strategies::squared_norm()) {
        prop_assume!(norm >= crate::mechanism::SMALLEST_CLIP_NORM);
        let clip = ClipNorm::new(norm, 1000).unwrap();
        let mut weight = [f64::NAN];
        clip.weigh(&[squared], &mut weight);
        prop_assert!((0.0..=1.0).contains(&weight[0]));
        prop_assert!(weight[0] * squared.sqrt() <= norm);
    }

    #[test]
    fn noise_scale_and_event_follow_from_the_multiplier(sigma in strategies::noise_multiplier(), budget in strategies::budget()) {
        let clip = ClipNorm::new(2.0, 3).unwrap();
        let mechanism = GaussianSum::new(clip, sigma).unwrap();
        prop_assert_eq!(mechanism.noise_scale(), 2.0 * sigma);
        let event = mechanism.event(&Poisson::rate(0.25).unwrap().scheme(10).unwrap()).unwrap();
        let Mechanism::Gaussian { noise_multiplier } = event.mechanism() else { panic!("a Gaussian event") };
        prop_assert_eq!(noise_multiplier, sigma);
        prop_assert!(budget.validate().is_ok());
    }
}
