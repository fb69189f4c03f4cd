//! What a density is outside its support, and a distribution function beside its ends.

use ppl_core::{Constraint, Shape, Value, Var};

/// The log density of values in a set; −∞ outside, where `log_prob` is given a harmless value in the place of
/// one that it may not be defined at.
#[track_caller]
pub(crate) fn within<'g>(
    set: Constraint,
    value: Var<'g>,
    harmless: impl Into<Value<'g>>,
    log_prob: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    unless(set.outside(value), value, harmless, log_prob)
}

/// The same with what is outside given: not 0 there, in the shape of the values.
#[track_caller]
pub(crate) fn unless<'g>(
    outside: Option<Var<'g>>,
    value: Var<'g>,
    harmless: impl Into<Value<'g>>,
    log_prob: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    match outside.filter(|outside| outside.known() != Some(0.0)) {
        Some(outside) => outside.select(f64::NEG_INFINITY, log_prob(outside.select(harmless, value))),
        None => log_prob(value),
    }
}

/// As [`within`] for a log density that is a number at every number, so that nothing has to be given in the
/// place of values outside.
#[track_caller]
pub(crate) fn only_within<'g>(set: Constraint, value: Var<'g>, log_prob: Var<'g>) -> Var<'g> {
    match set.outside(value).filter(|outside| outside.known() != Some(0.0)) {
        Some(outside) => outside.select(f64::NEG_INFINITY, log_prob),
        None => log_prob,
    }
}

/// A density of positive numbers that are also observed at 0, where its formula may be of the kind 0 · ∞: its
/// logarithm is `log_prob` above 0, `at_zero` there and −∞ below.
#[track_caller]
pub(crate) fn from_zero<'g>(
    value: Var<'g>,
    at_zero: impl FnOnce() -> Var<'g>,
    log_prob: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    if Constraint::Positive.outside(value).is_none() {
        return log_prob(value);
    }
    let edge = value.less_equal(0.0);
    let there = value.less(0.0).select(f64::NEG_INFINITY, at_zero());
    edge.select(there, log_prob(edge.select(1.0, value)))
}

/// The log density at an end of the support where the density is a power of the distance with this exponent:
/// `inner` where the exponent is 0, else −∞ or ∞. Only `inner` has derivatives.
#[track_caller]
pub(crate) fn at_end<'g>(exponent: Var<'g>, inner: Var<'g>) -> Var<'g> {
    let sign = exponent.greater(0.0);
    exponent.equal(0.0).select(inner, sign.select(f64::NEG_INFINITY, f64::INFINITY))
}

/// A draw that rounding took to an end of its support, or beyond, as the nearest number inside, in the type that the
/// program runs in. Draws of integers are left as they are.
#[track_caller]
pub(crate) fn kept_inside<'g>(support: Constraint, drawn: Var<'g>) -> Var<'g> {
    match support.interior() {
        Constraint::Positive => drawn.clamp_positive(),
        Constraint::UnitInterval => drawn.clamp_unit(),
        Constraint::Real | Constraint::Dependent => drawn.clamp_finite(),
        Constraint::GreaterThan(low) => drawn.clamp_finite().at_least(low.next_up()),
        Constraint::LessThan(high) => drawn.clamp_finite().at_most(high.next_down()),
        Constraint::Interval(low, high) => drawn.at_least(low).at_most(high),
        _ => drawn,
    }
}

/// The least and the largest number of a set of numbers.
pub(crate) fn ends_of(set: Constraint) -> (f64, f64) {
    match set {
        Constraint::Positive | Constraint::NonNegative | Constraint::NonNegativeInteger => {
            (0.0, f64::INFINITY)
        }
        Constraint::UnitInterval | Constraint::Boolean => (0.0, 1.0),
        Constraint::GreaterThan(low) | Constraint::AtLeast(low) => (low, f64::INFINITY),
        Constraint::LessThan(high) | Constraint::AtMost(high) => (f64::NEG_INFINITY, high),
        Constraint::Interval(low, high) | Constraint::IntegerInterval(low, high) => (low, high),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// A distribution function of values above 0: 0 below, without a derivative.
#[track_caller]
pub(crate) fn cdf_above_zero<'g>(value: Var<'g>, cdf: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
    let outside = value.less_equal(0.0);
    outside.select(0.0, cdf(outside.select(1.0, value)))
}

/// A distribution function of values between 0 and 1: 0 and 1 beside, without a derivative.
#[track_caller]
pub(crate) fn cdf_in_unit<'g>(value: Var<'g>, cdf: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
    let (below, above) = (value.less_equal(0.0), value.greater_equal(1.0));
    let outside = below + above;
    outside.select(above, cdf(outside.select(0.5, value)))
}

/// As [`unless`] for outcomes that have `rank` axes of their own, with a number that is harmless in the place
/// of each element.
#[track_caller]
pub(crate) fn unless_event<'g>(
    outside: Option<Var<'g>>,
    value: Var<'g>,
    rank: usize,
    harmless: impl Into<Value<'g>>,
    log_prob: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    match outside.filter(|outside| outside.known() != Some(0.0)) {
        Some(outside) => {
            let beside = outside.reshape(outside.shape().concat(&Shape::from(vec![1; rank])));
            let shape = value.shape().broadcast(&beside.shape()).unwrap_or_else(|| value.shape());
            let safe = beside.broadcast_to(shape).select(harmless, value);
            outside.select(f64::NEG_INFINITY, log_prob(safe))
        }
        None => log_prob(value),
    }
}
