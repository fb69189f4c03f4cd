//! Audits of the mechanism from outside: with a canary record present and absent, do many noisy sums tell the
//! two data sets apart exactly as well as the accountant says — no better, and not much worse?

use crate::cost::pricing::event;
use crate::guides::AutoNormal;
use crate::strategies;
use crate::wall::bound::clip::{ClipNorm, SMALLEST_CLIP_NORM};
use crate::wall::gradient::{GaussianSum, PrivateGradient};
use crate::wall::sensitive::Sensitive;
use crate::{DpVi, PrivacyNoise};
use dp_accountant::{Accountant, Mechanism, Relation, Sampling};
use dp_sampler::{FullBatch, Poisson, Scheme, Seed, Subsampling};
use ndarray::Array2;
use ppl_core::Distribution;
use ppl_core::{Column, Graph, Record, RecordGradient, Records};
use ppl_distributions::Normal;
use proptest::prelude::*;

const CLIP: f64 = 0.7;

/// Records whose gradient is their own `x`; the canary, if present, lies along one axis and is far longer
/// than the clip norm.
fn records(canary: Option<usize>) -> Sensitive<Records> {
    let mut x = Array2::zeros((3, 2));
    match canary {
        Some(axis) => x[[2, axis]] = 40.0,
        None => x = Array2::zeros((2, 2)),
    }
    Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap())
}

fn gradient(records: &Sensitive<Records>, width: usize) -> RecordGradient<f64> {
    let graph = Graph::new();
    let w = graph.input("w", width).unwrap();
    let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
    RecordGradient::new(value, &[w]).unwrap()
}

fn mechanism<'r, S: Subsampling>(
    noise_multiplier: f64,
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    let (gradient, seed) = (gradient(records, 2), Seed::for_tests(seed));
    PrivateGradient::new(gradient, CLIP, noise_multiplier, subsampling, records, seed).unwrap()
}

/// Noisy sums along an axis, in units of the clip norm, with or without a canary on that axis.
fn sums<S: Subsampling>(
    noise_multiplier: f64,
    subsampling: &S,
    rate: f64,
    (axis, canary): (usize, bool),
    n: u64,
    seed: u64,
) -> Vec<f64> {
    let records = records(canary.then_some(axis));
    let mut mechanism = mechanism(noise_multiplier, subsampling, &records, seed);
    let mut out = [0.0; 2];
    (0..n)
        .map(|_| {
            mechanism.release_unpaid(&mut out).unwrap();
            out[axis] * rate / CLIP
        })
        .collect()
}

/// What sums that are noise alone, as without a canary, would be with this much of it.
fn of_noise(sums: &[f64], times: f64) -> Vec<f64> {
    sums.iter().map(|sum| times * sum).collect()
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
pub(crate) const STANDARD_ERRORS: f64 = 5.2;

/// Two sets of values of a normal statistic with standard deviation 1: the interval of ε at δ = 1e-5 that
/// their observed separation leaves, at confidence 1 − 2e-7. `threshold` lies about in the middle.
pub(crate) fn separated_epsilon(present: &[f64], absent: &[f64], threshold: f64) -> (f64, f64) {
    let n = present.len().min(absent.len()) as f64;
    let (hits, alarms) = (share_above(present, threshold), share_above(absent, threshold));
    let (a, b) = (normal_quantile(hits), normal_quantile(alarms));
    // Delta method: sd of Φ⁻¹(p̂) is √(p(1−p)/n)/φ(Φ⁻¹(p)).
    let variance = |p: f64, z: f64| p * (1.0 - p) / n * (2.0 * std::f64::consts::PI) * (z * z).exp();
    let error = STANDARD_ERRORS * (variance(hits, a) + variance(alarms, b)).sqrt();
    let epsilon = |separation: f64| {
        let event = event(1.0 / separation, Sampling::None);
        Accountant::new(Relation::AddRemove).compose(event.unwrap(), 1).epsilon(1e-5).unwrap()
    };
    (epsilon(a - b - error).lower, epsilon(a - b + error).upper)
}

/// Without subsampling: are the two sets of sums `1/σ` apart?
fn audited_epsilon(actual: f64, axis: usize, n: u64) -> (f64, f64) {
    let present = sums(actual, &FullBatch, 1.0, (axis, true), n, 11);
    let absent = sums(actual, &FullBatch, 1.0, (axis, false), n, 12);
    separated_epsilon(&present, &absent, 0.5)
}

#[test]
fn epsilon_of_a_full_batch_is_the_one_claimed() {
    let (claimed, n) = (1.0, 45_000);
    let event = mechanism(claimed, &FullBatch, &records(Some(0)), 1).event().unwrap();
    let stated = Accountant::new(Relation::AddRemove).compose(event, 1).epsilon(1e-5).unwrap();
    let holds = |(lower, upper): (f64, f64)| lower <= stated.upper && stated.lower <= upper;
    for axis in 0..2 {
        let (lower, upper) = audited_epsilon(claimed, axis, n);
        assert!(holds((lower, upper)), "axis {axis}: [{lower}, {upper}] against {stated}");
        // The audit is tight: the leeway it leaves is small.
        assert!(
            lower > 0.93 * stated.lower && upper < 1.07 * stated.upper,
            "[{lower}, {upper}] around {stated}"
        );
        // And it has teeth: noise that is wrong by 10 % either way is found out.
        assert!(
            !holds(audited_epsilon(0.9 * claimed, axis, n)),
            "too little noise went unnoticed on axis {axis}"
        );
        assert!(
            !holds(audited_epsilon(1.1 * claimed, axis, n)),
            "too much noise went unnoticed on axis {axis}"
        );
    }
}

/// With Poisson subsampling: the best test between the two data sets at level ε, `P(S) − e^ε Q(S)` for the
/// event `S` on which the likelihood ratio exceeds `e^ε`. Returns the observed value and its standard error.
fn observed_delta(actual: f64, rate: f64, absent: &[f64], (claimed, epsilon): (f64, f64)) -> (f64, f64) {
    let (plan, n) = (Poisson::rate(rate).unwrap(), absent.len() as u64);
    let present = sums(actual, &plan, rate, (1, true), n, 21);
    let threshold = 0.5 + claimed * claimed * ((epsilon.exp() - 1.0 + RATE) / RATE).ln();
    let (p, q) = (share_above(&present, threshold), share_above(absent, threshold));
    let variance = p * (1.0 - p) + (2.0 * epsilon).exp() * q * (1.0 - q);
    (p - epsilon.exp() * q, (variance / n as f64).sqrt())
}

const RATE: f64 = 0.3;

#[test]
fn delta_of_a_poisson_batch_is_the_one_claimed() {
    let (claimed, epsilon, n) = (0.8, 0.3, 200_000);
    let plan = Poisson::rate(RATE).unwrap();
    let event = mechanism(claimed, &plan, &records(Some(1)), 1).event().unwrap();
    let stated = Accountant::new(Relation::AddRemove).compose(event, 1).delta(epsilon).unwrap();
    let holds = |(delta, error): (f64, f64)| {
        delta - STANDARD_ERRORS * error <= stated.upper && stated.lower <= delta + STANDARD_ERRORS * error
    };
    let absent = sums(claimed, &plan, RATE, (1, false), n, 22);
    let observed = |times: f64, rate: f64| {
        observed_delta(times * claimed, rate, &of_noise(&absent, times), (claimed, epsilon))
    };
    assert!(holds(observed(1.0, RATE)));
    assert!(!holds(observed(0.9, RATE)), "too little noise went unnoticed");
    assert!(!holds(observed(1.1, RATE)), "too much noise went unnoticed");
    // A sampler that takes records 10 % more often than it says is found out too.
    assert!(!holds(observed(1.0, 1.1 * RATE)), "a wrong rate went unnoticed");
}

/// Moments of many releases on no data to speak of: `1/n Σ a_k b_k`.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64
}

/// Each element of the noise has the stated size, whatever the batch came to, and is independent of all
/// others.
///
/// n = 20,000; a mean square of normals has relative standard error √(2/n), a mean product 1/√n. Twelve
/// comparisons at α = 2e-7 each.
#[test]
fn noise_is_independent_over_elements_steps_and_batches() {
    let n = 20_000_u64;
    let (square_error, product_error) =
        (STANDARD_ERRORS * (2.0 / n as f64).sqrt(), STANDARD_ERRORS / (n as f64).sqrt());
    // A rate at which practically every batch is empty, and no record at all.
    let none = Records::from_columns([("x", Column::from(Array2::<f64>::zeros((0, 3))))]).unwrap();
    let some = Records::from_columns([("x", Column::from(Array2::<f64>::zeros((4, 3))))]).unwrap();
    for (records, rate) in [(none, 0.5), (some, 1e-7)] {
        let records = Sensitive::new(records);
        let plan = Poisson::rate(rate).unwrap();
        let mut mechanism =
            PrivateGradient::new(gradient(&records, 3), CLIP, 2.0, &plan, &records, Seed::for_tests(31))
                .unwrap();
        let mut elements = vec![Vec::new(); 3];
        let mut out = [0.0; 3];
        for _ in 0..n {
            mechanism.release_unpaid(&mut out).unwrap();
            elements.iter_mut().zip(out).for_each(|(all, x)| all.push(x * rate / (2.0 * CLIP)));
        }
        for a in 0..3 {
            assert!((correlation(&elements[a], &elements[a]) - 1.0).abs() < square_error);
            assert!(correlation(&elements[a][1..], &elements[a]).abs() < product_error);
            for b in 0..a {
                assert!(correlation(&elements[a], &elements[b]).abs() < product_error);
            }
        }
    }
}

#[test]
fn the_draw_of_the_guide_is_not_the_noise_of_the_sum() {
    let x = Array2::from_shape_fn((6, 2), |(i, j)| (i + j) as f64 / 5.0);
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap());
    let model = |ctx: &mut ppl_core::Ctx<'_>| {
        let m = ctx.sample("m", Normal::new(0.0, 1.0).iid(2))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(m, 1.0), record.get("x")?))
    };
    let n = 20_000;
    for kind in [PrivacyNoise::Exact, PrivacyNoise::Continuous] {
        let mut training = DpVi::new(model, AutoNormal::new())
            .budget(dp_accountant::Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
            .subsample(FullBatch)
            .noise(kind)
            .steps(n)
            .seed(Seed::for_tests(3))
            .start(&records)
            .unwrap();
        let (mut draws, mut noise) = (vec![Vec::new(); 2], vec![Vec::new(); 2]);
        for _ in 0..n {
            training.step().unwrap();
            let (draw, added) = training.last_noise();
            for k in 0..2 {
                draws[k].push(draw[k]);
                noise[k].push(added[k]);
            }
        }
        // α = 2e-7 for each of eight comparisons and kind, at the same step and one step apart.
        let bound = STANDARD_ERRORS / (n as f64).sqrt();
        for added in &noise {
            // There is noise to compare with, of standard deviation 1.
            assert!((correlation(added, added) - 1.0).abs() < bound * 2.0_f64.sqrt());
            for draw in &draws {
                assert!(correlation(draw, added).abs() < bound);
                assert!(correlation(&draw[1..], added).abs() < bound);
            }
        }
    }
}

#[test]
fn releases_must_be_paid_for_and_are_never_repeated() {
    let records = records(Some(0));
    let mut mechanism = mechanism(1.0, &FullBatch, &records, 1);
    assert!(!mechanism.is_secret());
    let mut out = [0.0; 2];
    let budget = |epsilon| dp_accountant::Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove };
    // σ = 1 costs ε ≈ 4.4 at δ = 1e-5: a smaller budget refuses, and nothing becomes available.
    let mut poor = dp_accountant::Ledger::new(budget(1.0)).unwrap();
    assert!(mechanism.pay(&mut poor, 1).is_err() && poor.debits().is_empty());
    let mut rich = dp_accountant::Ledger::new(budget(10.0)).unwrap();
    let mut permits = mechanism.pay(&mut rich, 3).unwrap();
    // A wrong buffer is refused before anything is drawn or written.
    let mut short = [0.0; 1];
    assert!(mechanism.release(permits.next().unwrap(), &mut short).is_err() && short == [0.0]);
    mechanism.release(permits.next().unwrap(), &mut out).unwrap();
    let first = out;
    mechanism.release(permits.next().unwrap(), &mut out).unwrap();
    assert_ne!(first, out, "two releases shared their noise");
    assert_eq!((permits.left(), permits.next()), (0, None));
}

#[test]
fn a_permit_is_for_one_mechanism() {
    let records = records(Some(0));
    let budget = dp_accountant::Budget { epsilon: 10.0, delta: 1e-5, relation: Relation::AddRemove };
    let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
    // Two mechanisms with the same event, the same records and the same seed.
    let mut one = mechanism(1.0, &FullBatch, &records, 1);
    let mut other = mechanism(1.0, &FullBatch, &records, 1);
    let mut permits = one.pay(&mut ledger, 2).unwrap();
    let mut out = [0.0; 2];
    let refused = other.release(permits.next().unwrap(), &mut out).unwrap_err();
    assert!(refused.to_string().contains("another mechanism") && out == [0.0; 2], "{refused}");
    assert!(permits.append(other.pay(&mut ledger, 1).unwrap()).is_err());
    permits.append(one.pay(&mut ledger, 1).unwrap()).unwrap();
    assert_eq!(permits.left(), 2);
    permits.for_each(|permit| one.release(permit, &mut out).unwrap());
}

#[test]
fn the_divisor_is_the_expected_batch() {
    // Ten records of gradient 1, no noise to speak of: the release estimates 10 whatever the batch came to.
    let rows = Array2::from_shape_fn((10, 2), |(_, j)| if j == 0 { 0.5 } else { 0.0 });
    let records = Sensitive::new(Records::from_columns([("x", Column::from(rows))]).unwrap());
    let mut mechanism = mechanism(1e-9, &Poisson::rate(0.4).unwrap(), &records, 3);
    let mut out = [0.0; 2];
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        mechanism.release_unpaid(&mut out).unwrap();
        // 0.5 a record, over the rate 0.4: the batch's size can be read off, so it did not cancel.
        let count = out[0] * 0.4 / 0.5;
        assert!((count - count.round()).abs() < 1e-6, "{count}");
        seen.insert(count.round() as i64);
    }
    assert!(seen.len() > 3);
    assert!(matches!(mechanism.scheme(), Scheme::Poisson { rate: 0.4, .. }));
}

/// A public constant that overflows in the program must not make the sum NaN just when a certain record is in
/// the batch.
#[test]
fn an_overflowing_shared_value_does_not_show_who_is_there() {
    let records = records(Some(0));
    let graph = Graph::new();
    let (s, w, z) =
        (graph.input("s", 2).unwrap(), graph.input("w", 2).unwrap(), graph.input("z", 2).unwrap());
    let x = Record::new(&graph, records.schema()).get("x").unwrap();
    let value = x.dot(s) - w.dot(z).exp();
    let gradient = RecordGradient::new(value, &[s, w]).unwrap();
    let seed = Seed::for_tests(5);
    let mut mechanism =
        PrivateGradient::new(gradient, CLIP, 1.0, &Poisson::rate(0.5).unwrap(), &records, seed).unwrap();
    mechanism.set("w", &[400.0, 400.0]).unwrap();
    mechanism.set("z", &[1.0, 1.0]).unwrap();
    let mut out = [0.0; 4];
    for _ in 0..100 {
        mechanism.release_unpaid(&mut out).unwrap();
        assert!(out.iter().all(|x| x.is_finite()), "{out:?}");
    }
}

proptest! {
    #[test]
    fn clipped_contributions_never_exceed_the_clip_norm(
        norm in strategies::clip_norm(),
        x in proptest::collection::vec((-300.0..300.0_f64, any::<bool>()), 4),
    ) {
        prop_assume!(norm >= SMALLEST_CLIP_NORM);
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
        prop_assume!(norm >= SMALLEST_CLIP_NORM);
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
