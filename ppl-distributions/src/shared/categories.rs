//! Mode and skewness of outcomes that are numbered 0, 1, … along a last axis.

use crate::shared::arrays::{column, counting, sum_last};
use ppl_core::Var;

/// The first of the outcomes with the greatest weight.
#[track_caller]
pub(crate) fn likeliest(weights: Var<'_>) -> Var<'_> {
    let axis = weights.shape().rank().saturating_sub(1);
    let reached = weights.greater_equal(column(weights.max_axis(axis))).cumsum(axis);
    sum_last(reached.less(0.5), 1)
}

/// The third central moment over the third power of the standard deviation, of probabilities.
#[track_caller]
pub(crate) fn skewness_of(probs: Var<'_>) -> Var<'_> {
    let numbers = counting(probs.graph(), probs.shape().dims().last().copied().unwrap_or(0));
    let from_mean = numbers - column(sum_last(probs * numbers, 1));
    let variance = sum_last(probs * from_mean.square(), 1);
    sum_last(probs * (from_mean * from_mean.square()), 1) / (variance * variance.sqrt())
}
