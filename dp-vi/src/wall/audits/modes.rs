//! Audits of what is not a flat clip: adaptive and per-site norms, record weights, the curvature, the private
//! start. With a canary present and absent, releases tell the two data sets apart as well as claimed, no
//! better and not much worse.

use crate::cost::pricing::choice_event;
use crate::cost::pricing::event;
use crate::guides::AutoNormal;
use crate::made_up;
use crate::objective::curvature::CurvatureShape;
use crate::objective::draws::DrawScheme;
use crate::objective::programs::{Objective, Options};
use crate::strategies;
use crate::wall::adder::NoiseOf;
use crate::wall::audits::steps::{STANDARD_ERRORS, separated_epsilon};
use crate::wall::bound::clip::{ClipNorm, Rule};
use crate::wall::bound::quantile::{Adaptive, Quantile};
use crate::wall::curvature::CurvatureRelease;
use crate::wall::gradient::PrivateGradient;
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use crate::wall::start::PaidChoices;
use crate::{PrivateStart, RecordWeights, StartPlan};
use dp_accountant::{Accountant, Budget, Certified, Ledger, Relation, Sampling};
use dp_sampler::{FullBatch, Poisson, Seed, Subsampling};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Graph, Record, RecordGradient, Records};
use ppl_distributions::{Bernoulli, Normal};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SIGMA: f64 = 1.0;

/// ε at δ = 1e-5 of one full-batch release of this multiplier.
fn stated(sigma: f64) -> Certified {
    let event = event(sigma, Sampling::None).unwrap();
    Accountant::new(Relation::AddRemove).compose(event, 1).epsilon(1e-5).unwrap()
}

/// Whether an audit leaves the claim possible.
fn holds((lower, upper): (f64, f64), claimed: &Certified) -> bool {
    lower <= claimed.upper && claimed.lower <= upper
}

/// Records of two columns whose gradients with respect to `a` and `b` are their own `x` and `y`; the canary
/// is far longer than any norm here.
pub(crate) fn records(canary: bool) -> Sensitive<Records> {
    let rows = if canary { 3 } else { 2 };
    let (mut x, mut y) = (Array2::zeros((rows, 2)), Array2::zeros((rows, 3)));
    if canary {
        (x[[2, 0]], y[[2, 1]]) = (40.0, -70.0);
    }
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

pub(crate) fn gradient(records: &Sensitive<Records>, groups: [usize; 2]) -> RecordGradient<f64> {
    let graph = Graph::new();
    let (a, b) = (graph.input("a", 2).unwrap(), graph.input("b", 3).unwrap());
    let record = Record::new(&graph, records.schema());
    let value = record.get("x").unwrap().dot(a) + record.get("y").unwrap().dot(b);
    RecordGradient::grouped(value, &[a, b], &groups).unwrap()
}

/// Releases of those gradients, bounded by a rule.
pub(crate) fn mechanism<'r, S: Subsampling>(
    (rule, clip): (Rule, ClipNorm),
    noise_multiplier: f64,
    noise: PrivacyNoise,
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    let groups = if matches!(rule, Rule::PerSite(_)) { [0, 1] } else { [0, 0] };
    let (gradient, seed) = (gradient(records, groups), Seed::for_tests(seed));
    let bound = (rule, clip);
    PrivateGradient::under_rule(gradient, bound, noise_multiplier, noise, subsampling, records, (&seed, &[]))
}

/// A norm that follows a quantile and hardly moves: of so large an expected batch, and with a target of ½,
/// around which it stays.
pub(crate) fn steady(expected: f64) -> (Rule, ClipNorm) {
    let (clip, quantile) = (ClipNorm::new(0.7, 5).unwrap(), Quantile { target: 0.5, rate: 1.0 });
    (Rule::Quantile(Adaptive::new(quantile, clip, 5, expected).unwrap()), clip)
}

/// Values of the best statistic between the data sets when sites are clipped by themselves: the direction of
/// the canary's part.
fn per_site(actual: f64, canary: bool, n: u64) -> Vec<f64> {
    let (norm, sizes) = (0.7, [2, 3]);
    let records = records(canary);
    let bound = (Rule::per_site(norm, &sizes, 1).unwrap(), ClipNorm::new(norm, 5).unwrap());
    let seed = 70 + u64::from(canary);
    let mut mechanism = mechanism(bound, actual, PrivacyNoise::Continuous, &FullBatch, &records, seed);
    let mut out = [0.0; 5];
    let release = |_| {
        mechanism.release_unpaid(&mut out).unwrap();
        // The canary adds C√(2/5) along one axis and −C√(3/5) along another.
        ((0.4_f64).sqrt() * out[0] - (0.6_f64).sqrt() * out[3]) / (norm * SIGMA)
    };
    (0..n).map(release).collect()
}

#[test]
fn sites_clipped_by_themselves_cost_what_is_claimed() {
    let (claimed, n) = (stated(SIGMA), 45_000);
    let audit =
        |actual: f64| separated_epsilon(&per_site(actual, true, n), &per_site(actual, false, n), 0.5 / SIGMA);
    assert!(holds(audit(SIGMA), &claimed));
    assert!(!holds(audit(0.9 * SIGMA), &claimed), "too little noise went unnoticed");
    assert!(!holds(audit(1.1 * SIGMA), &claimed), "too much noise went unnoticed");
}

/// The best statistic of both releases of a step with an adaptive norm: the noisy sum in units of its norm,
/// and the count, which is read off from how the norm moved.
fn adaptive(actual: f64, canary: bool, n: u64) -> Vec<f64> {
    let (expected, records) = (1e5, records(canary));
    let seed = 80 + u64::from(canary);
    let mut mechanism =
        mechanism(steady(expected), actual, PrivacyNoise::Continuous, &FullBatch, &records, seed);
    let (gradient_noise, count_noise) = (Adaptive::gradient_multiplier(SIGMA), 5.0 * SIGMA);
    let direction = [40.0 / 6500.0_f64.sqrt(), -70.0 / 6500.0_f64.sqrt()];
    let mut out = [0.0; 5];
    let release = |_| {
        let before = mechanism.clip_norm();
        mechanism.release_unpaid(&mut out).unwrap();
        let after = mechanism.clip_norm();
        let count = -(after / before).ln() * expected;
        let along = (direction[0] * out[0] + direction[1] * out[3]) / before;
        // The canary adds (1, −½), the noise is (σ_grad, σ_b): project what is whitened on the difference, of
        // length 1/σ. The two other records add 1 to the count in either case.
        SIGMA * (along / gradient_noise.powi(2) - 0.5 * (count - 1.0) / count_noise.powi(2))
    };
    (0..n).map(release).collect()
}

#[test]
fn an_adaptive_norm_and_its_count_cost_one_release() {
    let (claimed, n) = (stated(SIGMA), 45_000);
    let audit =
        |actual: f64| separated_epsilon(&adaptive(actual, true, n), &adaptive(actual, false, n), 0.5 / SIGMA);
    assert!(holds(audit(SIGMA), &claimed));
    assert!(!holds(audit(0.9 * SIGMA), &claimed), "too little noise went unnoticed");
    assert!(!holds(audit(1.1 * SIGMA), &claimed), "too much noise went unnoticed");
}

/// The noise of a step with an adaptive norm: each element of the sum `σ_grad C`, the count `5σ`, all
/// independent.
///
/// n = 20,000; relative standard errors √(2/n) and 1/√n; 21 comparisons at α = 2e-7 each.
#[test]
fn adaptive_norms_get_all_their_noise_also_without_records() {
    let n = 20_000_u64;
    let (expected, sigma) = (1e5, 2.0);
    let records = Sensitive::new(
        Records::from_columns([
            ("x", Column::from(Array2::<f64>::zeros((0, 2)))),
            ("y", Column::from(Array2::<f64>::zeros((0, 3)))),
        ])
        .unwrap(),
    );
    let plan = Poisson::rate(0.5).unwrap();
    let mut mechanism = mechanism(steady(expected), sigma, PrivacyNoise::Continuous, &plan, &records, 9);
    let mut columns = vec![Vec::new(); 6];
    let mut out = [0.0; 5];
    for _ in 0..n {
        let before = mechanism.clip_norm();
        mechanism.release_unpaid(&mut out).unwrap();
        let moved = (mechanism.clip_norm() / before).ln();
        for (column, value) in columns.iter_mut().zip(out) {
            column.push(value * 0.5 / (before * Adaptive::gradient_multiplier(sigma)));
        }
        columns[5].push(moved * expected / (5.0 * sigma));
    }
    let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    for a in 0..6 {
        assert!((mean(&columns[a], &columns[a]) - 1.0).abs() < STANDARD_ERRORS * (2.0 / n as f64).sqrt());
        for b in 0..a {
            assert!(mean(&columns[a], &columns[b]).abs() < STANDARD_ERRORS / (n as f64).sqrt());
        }
    }
}

fn logistic(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    let b = ctx.sample("b", Normal::new(0.0, 4.0))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w) + b), record.get("y")?)
    })
}

fn people(rows: &[[f64; 2]]) -> Sensitive<Records> {
    let x = Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i][j]);
    let y = Array1::from_shape_fn(rows.len(), |i| (i % 2) as f64);
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// With recognised weights: of features alone, or of residuals too, which are then at most half.
fn objective(records: &Sensitive<Records>, residual_bound: f64, clip_norm: f64) -> Objective {
    let weights = &RecordWeights::Recognised;
    let curvature = Some(CurvatureShape::Full);
    let options = Options {
        draws: DrawScheme::Antithetic,
        weights,
        residual_bound,
        clip_norm,
        curvature,
        ..made_up::options()
    };
    Objective::new(&logistic, &AutoNormal::new(), records.schema(), &options, &|_, _| Ok(())).unwrap()
}

/// The best statistic for a canary whose curvature is clipped to norm `K`: the inner product with it, in the
/// isometric form.
fn curvatures(actual: f64, shape: CurvatureShape, canary: bool, n: u64) -> Vec<f64> {
    let mut rows = vec![[0.0, 0.0], [0.0, 0.0]];
    if canary {
        rows.push([30.0, -40.0]);
    }
    let (records, norm) = (people(&rows), 0.3);
    let options = Options { curvature: Some(shape), ..made_up::options() };
    let mut objective =
        Objective::new(&logistic, &AutoNormal::new(), records.schema(), &options, &|_, _| Ok(())).unwrap();
    let program = objective.curvature.take().unwrap();
    let seed = Seed::for_tests(90 + u64::from(canary));
    let mut release = CurvatureRelease::new(
        program,
        (shape, 3),
        (norm, actual),
        PrivacyNoise::Continuous,
        (NoiseOf::Curvature, &seed),
    )
    .unwrap();
    release.set("unconstrained/w", &[0.0, 0.0]).unwrap();
    release.set("unconstrained/b", &[0.0]).unwrap();
    // d = (x, 1); its outer product, scaled to norm 1. On the diagonal the squares of d.
    let d = [30.0, -40.0, 1.0];
    let unit: Vec<f64> = match shape {
        CurvatureShape::Full => {
            let length: f64 = d.iter().map(|x| x * x).sum();
            (0..9).map(|k| d[k / 3] * d[k % 3] / length).collect()
        }
        CurvatureShape::Diagonal => {
            let length = d.iter().map(|x: &f64| x.powi(4)).sum::<f64>().sqrt();
            (0..9).map(|k| if k % 4 == 0 { d[k / 3] * d[k / 3] / length } else { 0.0 }).collect()
        }
    };
    let inner = |matrix: Vec<f64>| matrix.iter().zip(&unit).map(|(a, b)| a * b).sum::<f64>() / (norm * SIGMA);
    (0..n).map(|number| inner(release.noisy(&records, number).unwrap())).collect()
}

#[test]
fn a_released_curvature_costs_what_is_claimed() {
    let (claimed, n) = (stated(SIGMA), 45_000);
    for shape in [CurvatureShape::Full, CurvatureShape::Diagonal] {
        let audit = |actual: f64| {
            let (present, absent) = (curvatures(actual, shape, true, n), curvatures(actual, shape, false, n));
            // The two other records add a little, the same to both.
            let common = absent.iter().sum::<f64>() / n as f64;
            separated_epsilon(&present, &absent, common + 0.5 / SIGMA)
        };
        assert!(holds(audit(SIGMA), &claimed), "{shape:?}");
        assert!(!holds(audit(0.9 * SIGMA), &claimed), "{shape:?}: too little noise went unnoticed");
        assert!(!holds(audit(1.1 * SIGMA), &claimed), "{shape:?}: too much noise went unnoticed");
    }
}

/// The exponential mechanism by its outcomes: three candidates, one canary that only one of them fits.
///
/// n = 4,000 each; the logarithm of a share p has standard error √((1−p)/(pn)); nine comparisons at α = 2e-7
/// each. An ε that is 30 % too large is noticed: it is 7.1 standard errors away.
#[test]
fn a_private_start_costs_what_is_claimed() {
    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let m = ctx.sample("m", Normal::new(0.0, 10.0))?;
        ctx.each_record(|ctx, record| ctx.observe("v", Normal::new(m, 1.0), record.get("v")?))
    }
    let candidates =
        [0.0, 3.0, 50.0].map(|m| BTreeMap::from([("m".to_owned(), ndarray::arr0(m).into_dyn())]));
    let start = PrivateStart { candidates: candidates.to_vec(), range: (-10.0, -1.0), share: 0.5 };
    let epsilon = 1.6;
    let n = 4_000_u64;
    let shares = |epsilon: f64, values: Vec<f64>, relation: Relation, seed: u64| {
        let records = Sensitive::new(Records::from_columns([("v", values)]).unwrap());
        let mut counts = BTreeMap::new();
        for k in 0..n {
            let seed = Seed::for_tests(seed * 1_000_000 + k);
            let mut ledger = Ledger::new(Budget { epsilon: 4.0, delta: 1e-5, relation }).unwrap();
            let receipt = ledger.debit(choice_event(epsilon).unwrap(), 1).unwrap();
            let plan = StartPlan { epsilon, choices: 1, event: choice_event(epsilon).unwrap() };
            let paid = PaidChoices::new(vec![receipt], plan, relation);
            let chosen = start.choose(&model, &records, Some(paid), &seed).unwrap();
            *counts.entry(chosen["m"][[]].round() as i64).or_insert(0.0) += 1.0 / n as f64;
        }
        [0, 3, 50].map(|m| counts.get(&m).copied().unwrap_or(0.0))
    };
    let log_ratios = |a: [f64; 3], b: [f64; 3]| {
        [0, 1, 2].map(|k| {
            let error = ((1.0 - a[k]) / (a[k] * n as f64) + (1.0 - b[k]) / (b[k] * n as f64)).sqrt();
            ((a[k] / b[k]).ln(), STANDARD_ERRORS * error)
        })
    };
    // A record at 50 adds 1 to one utility and 0 to the others.
    let with = shares(epsilon, vec![1.0, 50.0], Relation::AddRemove, 1);
    let without = shares(epsilon, vec![1.0], Relation::AddRemove, 2);
    let found = log_ratios(with, without);
    assert!(found.iter().all(|(ratio, error)| ratio.abs() - error <= epsilon), "{found:?}");
    // Exactly: e^ε grows by one factor, and the sum of the weights with it.
    let expected = {
        let u = |v: f64, m: f64| {
            (((-0.5 * (v - m) * (v - m) - 0.918_938_533_204_672_8).clamp(-10.0, -1.0) + 10.0) / 9.0) * epsilon
        };
        let p = |values: &[f64]| {
            let weights = [0.0, 3.0, 50.0].map(|m| values.iter().map(|&v| u(v, m)).sum::<f64>().exp());
            let total: f64 = weights.iter().sum();
            weights.map(|weight| weight / total)
        };
        let (a, b) = (p(&[1.0, 50.0]), p(&[1.0]));
        [0, 1, 2].map(|k| (a[k] / b[k]).ln())
    };
    for ((ratio, error), expected) in found.iter().zip(expected) {
        assert!((ratio - expected).abs() <= *error, "{ratio} against {expected} ± {error}");
    }
    // A choice that costs more than is claimed shows.
    let dearer = 1.3 * epsilon;
    let with = shares(dearer, vec![1.0, 50.0], Relation::AddRemove, 5);
    let without = shares(dearer, vec![1.0], Relation::AddRemove, 6);
    let found = log_ratios(with, without);
    let differs = |((ratio, error), expected): (&(f64, f64), f64)| (ratio - expected).abs() > *error;
    assert!(found.iter().zip(expected).any(differs), "{found:?}");
    // Replacing the record moves one utility up and another down by 1.
    let here = shares(epsilon, vec![1.0, 50.0], Relation::ReplaceOne, 3);
    let there = shares(epsilon, vec![1.0, 0.0], Relation::ReplaceOne, 4);
    let found = log_ratios(here, there);
    assert!(found.iter().all(|(ratio, error)| ratio.abs() - error <= epsilon), "{found:?}");
}

fn adversarial() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-300.0..300.0_f64, any::<bool>()).prop_map(|(e, minus)| e.exp2() * if minus { -1.0 } else { 1.0 }),
        4 => -5.0..5.0_f64,
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::MAX),
        1 => Just(5e-324),
    ]
}

/// The length of a vector, computed without overflow or loss.
fn length(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 { 0.0 } else { largest * v.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What one record adds has norm at most `C`, whatever it holds, with each rule and in both number types.
    #[test]
    fn no_record_adds_more_than_the_norm(
        norm in strategies::clip_norm(),
        x in proptest::collection::vec(adversarial(), 5),
    ) {
        prop_assume!(norm >= 0.01);
        let rules = || [
            Rule::Flat(ClipNorm::new(norm, 5).unwrap()),
            Rule::per_site(norm, &[2, 3], 1).unwrap(),
            Rule::Quantile(Adaptive::new(Quantile::default(), ClipNorm::new(norm, 5).unwrap(), 5, 10.0).unwrap()),
        ];
        macro_rules! check {
            ($number:ty) => {
                let all: Vec<$number> = x.iter().map(|&x| x as $number).collect();
                let (a, b) = (all[..2].to_vec(), all[2..].to_vec());
                let records = Records::from_columns([
                    ("x", Column::from(Array2::from_shape_vec((1, 2), a).unwrap())),
                    ("y", Column::from(Array2::from_shape_vec((1, 3), b).unwrap())),
                ]).unwrap();
                for rule in rules() {
                    let graph = Graph::new();
                    let (a, b) = (graph.input("a", 2).unwrap(), graph.input("b", 3).unwrap());
                    let record = Record::new(&graph, records.schema());
                    let value = record.get("x").unwrap().dot(a) + record.get("y").unwrap().dot(b);
                    let groups = if matches!(rule, Rule::PerSite(_)) { [0, 1] } else { [0, 0] };
                    let mut gradient = RecordGradient::<$number>::grouped(value, &[a, b], &groups).unwrap();
                    let mut sum = [<$number>::NAN; 5];
                    rule.sum(&mut gradient, &records, &[0], &mut sum).unwrap();
                    let sum = sum.map(f64::from);
                    prop_assert!(sum.iter().all(|x| x.is_finite()), "{rule:?}: {sum:?}");
                    prop_assert!(length(&sum) <= norm, "{rule:?}: {} exceeds {norm}", length(&sum));
                }
            };
        }
        check!(f64);
        check!(f32);
    }

    /// A recognised weight keeps the stacked gradient of a pair of draws within `C`, without any clipping, up
    /// to rounding; and it does not depend on the outcome.
    #[test]
    fn weights_bound_the_gradient_by_themselves(
        norm in 0.05..20.0_f64,
        x in proptest::collection::vec(-1e3..1e3_f64, 2),
        at in proptest::collection::vec(-3.0..3.0_f64, 6),
        residual_bound in proptest::sample::select(vec![0.5, 1.0]),
    ) {
        // Two records that differ in the outcome only.
        let records = people(&[[x[0], x[1]], [x[0], x[1]]]);
        let mut gradient = objective(&records, residual_bound, norm).gradient;
        for (k, draw) in ["unconstrained", "mirrored"].into_iter().enumerate() {
            gradient.set(&format!("{draw}/w"), &at[3 * k..3 * k + 2]).unwrap();
            gradient.set(&format!("{draw}/b"), &at[3 * k + 2..3 * k + 3]).unwrap();
        }
        let rows = gradient.keep(records.behind_the_wall(), &[0, 1]).unwrap();
        let weight = (norm / residual_bound / (x[0] * x[0] + x[1] * x[1] + 1.0).sqrt()).min(1.0);
        for (y, row) in rows.rows().into_iter().enumerate() {
            let row = row.to_vec();
            prop_assert!(length(&row) <= norm * (1.0 + 1e-12));
            for draw in 0..2 {
                let eta = x[0] * at[3 * draw] + x[1] * at[3 * draw + 1] + at[3 * draw + 2];
                let p = 1.0 / (1.0 + (-eta).exp());
                let residual = (y as f64 - p) * if residual_bound < 1.0 { 0.5 / p.max(1.0 - p) } else { 1.0 };
                // Order of the frontier: w, b at the first draw, then at the second.
                for (k, feature) in [x[0], x[1], 1.0].into_iter().enumerate() {
                    let expected = weight * residual * feature * std::f64::consts::FRAC_1_SQRT_2;
                    prop_assert!((row[3 * draw + k] - expected).abs() <= 1e-12 * norm.max(1.0));
                }
            }
        }
    }

    /// One record's curvature is the weighted second derivative, and never longer than `K` once clipped; the
    /// form in which it is released keeps lengths.
    #[test]
    fn no_record_adds_more_curvature_than_the_norm(
        x in proptest::collection::vec(adversarial(), 2),
        at in proptest::collection::vec(-3.0..3.0_f64, 3),
        bound in 0.01..10.0_f64,
        residual_bound in proptest::sample::select(vec![0.5, 1.0]),
    ) {
        let records = people(&[[x[0], x[1]]]);
        let mut objective = objective(&records, residual_bound, 1.5);
        let mut program = objective.curvature.take().unwrap();
        program.set("unconstrained/w", &at[..2]).unwrap();
        program.set("unconstrained/b", &at[2..]).unwrap();
        // Weighted records have a row more, for the trace of their score's covariance.
        let clip = ClipNorm::new(bound, 16).unwrap();
        let mut sum = [0.0; 16];
        program.weighted_sum(records.behind_the_wall(), &[0], |n, w| clip.weigh(n, w), &mut sum).unwrap();
        prop_assert!(length(&sum) <= bound);
        let released: Vec<f64> = (0..16).filter(|k| k / 4 <= k % 4)
            .map(|k| if k % 5 == 0 { sum[k] } else { 2.0_f64.sqrt() * sum[k] }).collect();
        prop_assert!(length(&released) <= bound * (1.0 + 1e-12));
        prop_assert!((length(&released) - length(&sum)).abs() <= 1e-9 * bound);
        if x.iter().all(|x| x.abs() < 10.0) {
            let d = [x[0], x[1], 1.0];
            let eta = x[0] * at[0] + x[1] * at[1] + at[2];
            let p = 1.0 / (1.0 + (-eta).exp());
            let squared: f64 = d.iter().map(|x| x * x).sum();
            let weight = (1.5 / residual_bound / squared.sqrt()).min(1.0)
                * if residual_bound < 1.0 { 0.5 / p.max(1.0 - p) } else { 1.0 };
            let score = 0.3 * weight;
            let scale = (bound / (weight * p * (1.0 - p) * squared * score.hypot(1.0))).min(1.0);
            for (k, got) in sum.iter().enumerate() {
                let of = match (k / 4, k % 4) {
                    (3, 3) => score * squared,
                    (3, _) | (_, 3) => 0.0,
                    (j, k) => d[j] * d[k],
                };
                let expected = scale * weight * p * (1.0 - p) * of;
                // Two contributions may cancel, so their norm counts for up to 0.02 % more, and they are clipped
                // by as much more.
                prop_assert!(
                    (got - expected).abs() <= 2e-4 * expected.abs() + 1e-6 * bound.max(1.0),
                    "{got} {expected}"
                );
            }
        }
    }

    /// The ratio of every candidate's probability between neighbours, from the formula itself.
    #[test]
    fn a_choice_is_differentially_private(
        before in proptest::collection::vec(0.0..50.0_f64, 2..8),
        moved in proptest::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 8),
        epsilon in 0.01..3.0_f64,
    ) {
        let probabilities = |utilities: &[f64], slope: f64| {
            let weights: Vec<f64> = utilities.iter().map(|u| (slope * (u - 50.0)).exp()).collect();
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|weight| weight / total).collect::<Vec<f64>>()
        };
        let added: Vec<f64> = before.iter().zip(&moved).map(|(u, (one, _))| u + one).collect();
        let other: Vec<f64> = before.iter().zip(&moved).map(|(u, (_, other))| u + other).collect();
        let worst = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
        prop_assert!(worst(probabilities(&added, epsilon), probabilities(&before, epsilon)) <= epsilon * (1.0 + 1e-9));
        prop_assert!(worst(probabilities(&added, 0.5 * epsilon), probabilities(&other, 0.5 * epsilon)) <= epsilon * (1.0 + 1e-9));
    }
}
