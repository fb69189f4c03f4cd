//! Records that mean harm: nothing that a record holds makes two of them differ by more than a plan states.

use super::mechanism::contributions;
use super::*;
use crate::conjugate::plan::{ConjugatePlan, Said, programs};
use crate::conjugate::{ConjugateVi, Curvature, ReplaceBound, logistic_sensitivity};
use dp_accountant::{Budget, Relation};
use ppl_core::conjugate::{Statistic, Statistics};
use ppl_core::{Graph, Scalar};
use ppl_distributions::{Beta, Poisson};

type AnyProgram = fn(&mut Ctx<'_>) -> Result<()>;

/// Log-odds with a term of the record's own, that no weight multiplies.
fn with_offset(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w) + record.get("o")?;
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

/// The same, known while tracing.
fn with_constant(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w) - 40.0;
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

/// Each record's log-odds times a number of its own.
fn stretched(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w) * record.get("o")?;
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

fn counted(ctx: &mut Ctx) -> Result<()> {
    let rate = ctx.sample("rate", Gamma::new(2.0, 3.0))?;
    ctx.each_record(|ctx, r| ctx.observe("y", Poisson::new(rate), r.get("y")?))
}

fn coins(ctx: &mut Ctx) -> Result<()> {
    let p = ctx.sample("p", Beta::new(2.0, 3.0))?;
    ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_probs(p), r.get("y")?))
}

fn line(ctx: &mut Ctx) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
    ctx.each_record(|ctx, r| ctx.observe("y", Normal::new(r.get("x")?.dot(w), 0.5), r.get("y")?))
}

fn one_topic(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v))?;
    ctx.each_record(|ctx, document| {
        let law = Words::mixed(ctx.constant(vec![1.0]), beta.reshape([1, v]));
        ctx.observe("words", law, document.get("counts")?)
    })
}

/// As in each model's columns, whatever their laws allow.
const STRANGE: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    5e-324,
    -1e-310,
    1e-160,
    1e-20,
    1e-8,
    40.0,
    -1e4,
    1e10,
    -1e19,
    1e30,
    1e38,
    1e153,
    -1e154,
    1.7e308,
];

/// So many records that there are more than 10⁵ pairs of them.
const RECORDS: usize = 450;

/// Rows of moderate numbers, of strange ones, of both, of one number throughout, and the row before it again,
/// times a factor and the other way round.
fn hostile(columns: usize, seed: u64) -> Array2<f64> {
    let draws = numbers(RECORDS * (columns + 2) * 2, seed);
    let mut next = draws.iter().map(|u| u + 0.5);
    let mut draw = move || next.next().unwrap();
    let strange = |u: f64| STRANGE[(u * STRANGE.len() as f64) as usize % STRANGE.len()];
    let mut rows = Array2::zeros((RECORDS, columns));
    for i in 0..RECORDS {
        let (one, factor) = (strange(draw()), [1.0, -1.0, 1e3, -1e-3, -1e60][i / 6 % 5]);
        for j in 0..columns {
            let (u, v) = (draw(), draw());
            rows[[i, j]] = match i % 6 {
                0 => 4.0 * u - 2.0,
                1 if i > 0 => factor * rows[[i - 1, j]],
                2 => strange(u),
                3 if v < 0.8 => 4.0 * u - 2.0,
                4 => one,
                5 => 200.0 * (u - 0.5).powi(3),
                _ => strange(u),
            };
        }
    }
    rows
}

fn records() -> Records {
    let counts = hostile(6, 3);
    let y = hostile(1, 4)
        .into_iter()
        .enumerate()
        .map(|(i, y)| if i % 3 == 0 { y } else { f64::from(i % 3 == 1) });
    Records::from_columns([
        ("x", Column::from(hostile(2, 1))),
        ("o", Column::from(hostile(1, 2).remove_axis(ndarray::Axis(1)))),
        ("counts", Column::from(counts.clone())),
        ("pixels", Column::from(counts)),
        ("y", Column::from(y.collect::<Vec<f64>>())),
    ])
    .unwrap()
}

/// Expectations that a noisy release may come to: moderate ones, those of wide factors, all 0, huge ones, and
/// matrices that are not those of any moments.
fn expectations(plan: &ConjugatePlan, statistics: &Statistics<'_>, kind: u64) -> Vec<(String, Vec<f64>)> {
    let touched = statistics.blocks().iter().filter(|block| block.touched);
    touched
        .zip(&plan.blocks)
        .enumerate()
        .map(|(number, (block, (name, elements, scale)))| {
            let width = block.input.shape().dims().last().copied().unwrap_or(1);
            let each = numbers(*elements, 10 * kind + number as u64);
            let of = |k: usize| match (kind, block.statistic) {
                (0, Statistic::Outer) => {
                    2.0 * f64::from(k / width % width == k % width) + each[k % width] * 0.1
                }
                (0, Statistic::Square) => 0.5 + each[k],
                (0, _) => each[k],
                (1, Statistic::Outer) => 16.0 * f64::from(k / width % width == k % width),
                (1, Statistic::Log) => -5.0 + 9.0 * each[k],
                (1, _) => 16.0 * each[k],
                (2, _) => 0.0,
                (3, _) => 1e12 * each[k],
                (4, Statistic::Outer) => 50.0 * each[k],
                (4, _) => -1e4 * each[k],
                _ => [f64::NAN, 1e300, -1e300, 1e-300][k % 4],
            };
            (name.clone(), (0..*elements).map(|k| of(k) * scale).collect())
        })
        .collect()
}

/// The largest norm over `C` and, under either relation, distance over `Δ`, of all pairs of records at all
/// expectations.
fn worst<T: Scalar>(model: AnyProgram, said: &Said, records: &Records) -> (ReplaceBound, [f64; 3]) {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let said = Said { budget: Some(budget), ..said.clone() };
    let graph = Graph::new();
    let statistics = Statistics::new(&model, &graph, records.schema(), programs(&said)).unwrap();
    let plan = ConjugatePlan::new(&said, &statistics).unwrap();
    let bound = plan.replace_bound;
    let allowed = |relation| bound.sensitivity(relation, plan.clip_norm);
    assert_eq!(allowed(Relation::ReplaceOne), plan.sensitivity);
    let (mut norm, mut distance) = (0.0_f64, 0.0_f64);
    for kind in 0..6 {
        let at = expectations(&plan, &statistics, kind);
        let at: Vec<(&str, Vec<f64>)> =
            at.iter().map(|(name, values)| (name.as_str(), values.clone())).collect();
        let (all, _) = contributions::<T>(model, &said, records, &at);
        // A record that is no number counts for nothing.
        assert!(all.len() == records.len() && all.iter().flatten().all(|x| x.is_finite()));
        for (i, one) in all.iter().enumerate() {
            norm = norm.max(one.iter().map(|x| x * x).sum::<f64>().sqrt());
            for other in &all[..i] {
                let square = one.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
                distance = distance.max(square.sqrt());
            }
        }
    }
    let presence = norm / allowed(Relation::AddRemove);
    (bound, [norm / plan.clip_norm, presence, distance / allowed(Relation::ReplaceOne)])
}

#[test]
fn no_pair_of_hostile_records_differs_by_more_than_a_plan_states() {
    let fixed = |said: Said| Said { curvature: Some(Curvature::Fixed), ..said };
    let norm = |said: Said| Said { clip_norm: Some(1.5), ..said };
    // One count is all that there is of a coin.
    let short = |said: Said| Said { clip_norm: Some(0.9), ..said };
    let same = |said: Said| said;
    let dense = |said: Said| Said { with_zeros: true, ..said };
    let scaled = |said: Said| Said { scales: vec![("w".to_owned(), 0.1)], ..said };
    type More = fn(Said) -> Said;
    use ReplaceBound::{Any, Logistic, OneSign};
    let all: [(&str, AnyProgram, More, ReplaceBound); 21] = [
        ("logistic", logistic, same, Logistic),
        ("logistic, fixed", logistic, fixed, Logistic),
        ("logistic, clipped", logistic, norm, Any),
        ("logistic, scaled", logistic, scaled, Any),
        ("stretched", stretched, same, Logistic),
        ("offset", with_offset, same, Any),
        ("offset, fixed", with_offset, fixed, Any),
        ("constant", with_constant, same, Any),
        ("constant, fixed", with_constant, fixed, Any),
        ("lda", lda, same, OneSign),
        ("lda with zeros", lda, dense, OneSign),
        ("lda, norm", lda, norm, OneSign),
        ("one topic", one_topic, same, OneSign),
        ("mixture", mixture, same, Any),
        ("sbn", sbn, norm, Any),
        ("sbn, fixed", sbn, fixed, Any),
        ("precision", precision, norm, Any),
        ("hierarchical", hierarchical, norm, Any),
        ("coins", coins, short, OneSign),
        ("counted", counted, norm, Any),
        ("line", line, same, Any),
    ];
    let (records, single) =
        (records(), Records::from_columns([("x", hostile(1, 6).into_raw_vec_and_offset().0)]).unwrap());
    for (name, model, more, expected) in all {
        let said = more(Said::default());
        let records = if name == "precision" { &single } else { &records };
        let (bound, [clipped, presence, replaced]) = worst::<f64>(model, &said, records);
        assert_eq!(bound, expected, "{name}");
        assert!(
            clipped <= 1.0 && presence <= 1.0 && replaced <= 1.0,
            "{name}: {clipped} {presence} {replaced}"
        );
        // Not for want of trying: some are about as long as they may be.
        assert!(clipped > 0.9, "{name}: {clipped}");
        // Fits compute with 64 bits; with 32 the same holds up to their rounding.
        let (_, found) = worst::<f32>(model, &said, records);
        assert!(found.iter().all(|over| *over <= 1.0 + 1e-5), "{name}, 32 bits: {found:?}");
    }
}

/// An offset turns the first statistic of a logistic regression over: with `ξ o x` beside `(y − ½) x`,
/// weights of rows bound nothing. Such a model is clipped, and two of its records may differ by 2C.
#[test]
fn a_logistic_regression_with_an_offset_has_no_exact_bound() {
    let x = Array2::from_elem((2, 2), 1.0);
    let records = Records::from_columns([
        ("x", Column::from(x)),
        ("o", Column::from(vec![1e6, -1e6])),
        ("y", Column::from(vec![0.0, 1.0])),
    ])
    .unwrap();
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let at = [("E[w]", vec![0.0; 2]), ("E[w wᵀ]", vec![1.0, 0.0, 0.0, 1.0])];
    for curvature in [Curvature::Optimal, Curvature::Fixed] {
        let said = Said { budget: Some(budget), curvature: Some(curvature), ..Said::default() };
        // The directions of the two are opposite, and only their length is clipped.
        let clipped = Said { clip_norm: Some(0.7), ..said.clone() };
        let (all, _) = contributions::<f64>(with_offset, &clipped, &records, &at);
        let distance = all[0].iter().zip(&all[1]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let exact = logistic_sensitivity(Relation::ReplaceOne, 2.0).unwrap();
        assert!(distance > 1.39 && distance <= 1.4 && distance > 1.2 * exact, "{distance} {exact}");
        let (_, plan) = contributions::<f64>(with_offset, &said, &records, &at);
        assert_eq!((plan.replace_bound, plan.feature_norm), (ReplaceBound::Any, None));
        assert_eq!(plan.sensitivity, 2.0 * plan.clip_norm);
        assert!(plan.explain().contains("at most 2C"), "{}", plan.explain());
        let asked = ConjugateVi::new(with_offset).budget(budget).curvature(curvature).feature_norm(1.0);
        let told = asked.plan(records.schema()).unwrap_err().to_string();
        assert!(told.contains("offset") && told.contains("clip_norm"), "{told}");
        // Without the offset, the same columns have the exact bound.
        let (_, plan) = contributions::<f64>(logistic, &said, &records, &at);
        assert_eq!(plan.replace_bound, ReplaceBound::Logistic);
    }
}

/// An empty document says nothing of the topics.
#[test]
fn empty_documents_contribute_nothing() {
    let records = Records::from_columns([("counts", Array2::<u8>::zeros((3, 8)))]).unwrap();
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    for with_zeros in [false, true] {
        let said = Said { budget: Some(budget), with_zeros, ..Said::default() };
        let (all, _) = contributions::<f64>(lda, &said, &records, &[("E[ln beta]", vec![-1.0; 24])]);
        assert!(all.len() == 3 && all.iter().flatten().all(|x| *x == 0.0), "{all:?}");
    }
}
