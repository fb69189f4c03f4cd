//! What distributions of counts up to a total have in common.

use crate::shared::support::{unless, unless_event};
use ndarray::ArrayD;
use ppl_core::{Constraint, Distribution, Graph, Shape, Value, Var};

/// Largest known total for which sums over the support are written out.
const MOST: f64 = 256.0;

/// Largest known total for which a log probability is made of logarithms of factorials: up to it they lose
/// less than two digits to each other, for ln 32! is 81.
const MOST_BY_FACTORIALS: f64 = 32.0;

/// The total, if it is one number known while tracing, and small.
pub(crate) fn known_total(total: Value<'_>) -> Option<f64> {
    total.known().filter(|&total| (0.0..=MOST).contains(&total) && total.fract() == 0.0)
}

/// Whether logarithms of factorials of counts up to this total do not cancel much.
pub(crate) fn by_factorials(total: Value<'_>) -> bool {
    known_total(total).is_some_and(|total| total <= MOST_BY_FACTORIALS)
}

/// Counts up to a total.
pub(crate) fn total_support(total: Value<'_>) -> Constraint {
    match total.known() {
        Some(total) => Constraint::IntegerInterval(0.0, total),
        None => Constraint::DependentInteger,
    }
}

/// Counts along the last axis that sum to a total.
pub(crate) fn counts_support(total: Value<'_>) -> Constraint {
    match total.known() {
        Some(total) => Constraint::Counts(total),
        None => Constraint::NonNegativeInteger,
    }
}

/// The log probability of counts along the last axis; −∞ where they are no counts, or do not sum to the total.
#[track_caller]
pub(crate) fn if_total<'g>(
    total: Value<'g>,
    counts: Var<'g>,
    log_prob: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let axis = counts.shape().rank().saturating_sub(1);
    let outside = match total.known() {
        Some(total) => Constraint::Counts(total).outside(counts),
        None => Constraint::NonNegativeInteger
            .outside(counts)
            .map(|broken| broken.sum_axis(axis) + counts.sum_axis(axis).not_equal(total)),
    };
    unless_event(outside, counts, 1, 0.0, log_prob)
}

/// A log probability of `value` given it and the rest to the total; −∞ where it is no count, and above the
/// total.
#[track_caller]
pub(crate) fn by_support<'g>(
    total: Value<'g>,
    value: Var<'g>,
    log_prob: impl FnOnce(Var<'g>, Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let whole = total.on(value.graph());
    let outside = match total.known() {
        Some(total) => Constraint::IntegerInterval(0.0, total).outside(value),
        None => Constraint::NonNegativeInteger.outside(value).map(|broken| broken + value.greater(whole)),
    };
    unless(outside, value, 0.0, |value| log_prob(value, whole - value))
}

/// The outcomes 0, 1, …, `total` along a new first axis before those of `batch`.
#[track_caller]
pub(crate) fn outcomes<'g>(total: f64, batch: &Shape, graph: &'g Graph) -> Var<'g> {
    let numbers = ArrayD::from_shape_fn(vec![total as usize + 1], |index| index[0] as f64);
    let mut dims = vec![1; batch.rank() + 1];
    dims[0] = total as usize + 1;
    graph.array(&numbers).reshape(dims)
}

/// The log probabilities of all outcomes, along a new first axis.
#[track_caller]
pub(crate) fn log_probs<'g>(
    distribution: &impl Distribution<'g>,
    total: f64,
    graph: &'g Graph,
) -> Option<Var<'g>> {
    let batch = distribution.batch_shape().ok()?;
    let all = distribution.log_prob(outcomes(total, &batch, graph));
    Some(all.broadcast_to(Shape::from(total as usize + 1).concat(&batch)))
}

/// `−Σ_k p(k) ln p(k)` over the outcomes 0, 1, …, `total`.
#[track_caller]
pub(crate) fn entropy_by_support<'g>(
    distribution: &impl Distribution<'g>,
    total: f64,
    graph: &'g Graph,
) -> Option<Var<'g>> {
    let log_probs = log_probs(distribution, total, graph)?;
    Some(-(log_probs.exp() * log_probs.max(-1e30)).sum_axis(0))
}

/// The probability of the outcomes of which something holds beside `value`, from the log probabilities of the
/// outcomes 0, 1, … along the first axis.
#[track_caller]
pub(crate) fn sum_where<'g>(
    log_probs: Var<'g>,
    value: Var<'g>,
    holds: impl FnOnce(Var<'g>, Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let (outcomes, log_probs, value) = side_by_side(log_probs, value);
    (holds(outcomes, value) * log_probs.exp()).sum_axis(0).min(1.0)
}

/// The logarithm of that probability.
#[track_caller]
pub(crate) fn log_sum_where<'g>(
    log_probs: Var<'g>,
    value: Var<'g>,
    holds: impl FnOnce(Var<'g>, Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let (outcomes, log_probs, value) = side_by_side(log_probs, value);
    holds(outcomes, value).select(log_probs, f64::NEG_INFINITY).log_sum_exp_axis(0)
}

/// The smallest outcome whose probability together with those below it is at least `probability`.
#[track_caller]
pub(crate) fn quantile_by_support<'g>(log_probs: Var<'g>, probability: Var<'g>) -> Var<'g> {
    let last = log_probs.shape().dims()[0] - 1;
    let (_, log_probs, probability) = side_by_side(log_probs, probability);
    // The last sum is 1, whatever rounding made of it.
    log_probs.exp().cumsum(0).less(probability).sum_axis(0).min(last as f64)
}

/// The smallest outcome above which the probability is at most that of this logarithm, to its digits where it is small.
#[track_caller]
pub(crate) fn quantile_from_above<'g>(log_probs: Var<'g>, log_probability: Var<'g>) -> Var<'g> {
    let (_, log_probs, probability) = side_by_side(log_probs, log_probability.exp());
    // P(X ≥ 0), P(X ≥ 1), …, of which the first is 1, whatever rounding made of it.
    let from_here = log_probs.exp().flip(0).cumsum(0).flip(0);
    (from_here.greater(probability).sum_axis(0) - 1.0).max(0.0)
}

/// The outcomes 0, 1, … and their log probabilities along a first axis, and one other value for all of them.
#[track_caller]
fn side_by_side<'g>(log_probs: Var<'g>, value: Var<'g>) -> (Var<'g>, Var<'g>, Var<'g>) {
    let (table, shape) = (log_probs.shape(), value.shape());
    let rank = shape.rank().max(table.rank() - 1);
    let with_axis = |first: usize, dims: &[usize]| {
        let mut all = vec![1; 1 + rank];
        all[0] = first;
        all[1 + rank - dims.len()..].copy_from_slice(dims);
        all
    };
    let count = table.dims()[0];
    let numbers = log_probs.graph().array(&ArrayD::from_shape_fn(vec![count], |index| index[0] as f64));
    (
        numbers.reshape(with_axis(count, &[])),
        log_probs.reshape(with_axis(count, &table.dims()[1..])),
        value.reshape(with_axis(1, shape.dims())),
    )
}
