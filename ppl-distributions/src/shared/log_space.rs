//! Probabilities as logarithms, densities that are zero outside a set, and derivatives of draws that are found
//! by rejection or choice.

use crate::shared::helpers::log_of_rest;
use ppl_core::{Distribution, Error, Result, Var};

/// `ln(eᵃ − eᵇ)` for `a ≥ b`; −∞ where they are equal.
#[track_caller]
pub(crate) fn log_difference<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    let some = a.greater(b);
    let difference = some.select(b, -1.0) - some.select(a, 0.0);
    some.select(a + log_of_rest(difference), f64::NEG_INFINITY)
}

/// `ln(eᵃ + eᵇ)`, also where either is −∞.
#[track_caller]
pub(crate) fn log_sum<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    let (larger, smaller) = (a.max(b), a.min(b));
    let some = smaller.greater(f64::NEG_INFINITY);
    some.select(larger + (some.select(smaller, 0.0) - some.select(larger, 0.0)).exp().log1p(), larger)
}

/// Below it the logarithm of `t = −ln(1 − p)` is that of `p`: they are `t/2` apart.
const SMALL_LOG: f64 = -37.0;

/// `ln(1 − e^(−t))` of `ln t`, also where `t` is less than the least number.
#[track_caller]
pub(crate) fn log_cdf_of_log_hazard(log_hazard: Var<'_>) -> Var<'_> {
    let small = log_hazard.less(SMALL_LOG);
    small.select(log_hazard, log_of_rest(-small.select(0.0, log_hazard).exp()))
}

/// `ln t` of `ln(1 − e^(−t))`: the inverse of [`log_cdf_of_log_hazard`].
#[track_caller]
pub(crate) fn log_hazard_of_log_cdf(log_cdf: Var<'_>) -> Var<'_> {
    let small = log_cdf.less(SMALL_LOG);
    small.select(log_cdf, (-log_of_rest(small.select(-1.0, log_cdf))).log())
}

/// The logarithm of a probability that is near 1 by the rest to 1, which has its digits.
#[track_caller]
pub(crate) fn by_smaller<'g>(log: Var<'g>, rest: Var<'g>) -> Var<'g> {
    let near = rest.less(0.5);
    near.select((-near.select(rest, 0.0)).log1p(), log)
}

/// A log density of `value` where a condition holds, and −∞ elsewhere, where it is computed of a harmless number.
#[track_caller]
pub(crate) fn only_where<'g>(
    condition: Var<'g>,
    value: Var<'g>,
    harmless: f64,
    log_density: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    condition.select(log_density(condition.select(value, harmless)), f64::NEG_INFINITY)
}

/// A draw with the derivative that its distribution function says: `∂x/∂θ = −(∂F/∂θ)/p` (Figurnov, Mohamed and
/// Mnih 2018), however it was found.
pub(crate) fn implicit<'g>(distribution: &impl Distribution<'g>, drawn: Var<'g>) -> Result<Var<'g>> {
    let fixed = drawn.stop_gradient();
    let Some(cdf) = distribution.cdf(fixed) else {
        return Err(Error::Unsupported(format!("{} has no distribution function", distribution.name())));
    };
    let density = distribution.log_prob(fixed).stop_gradient().exp();
    // The difference is 0, and its derivative is not. Where the density is 0, so is the derivative of F.
    let moved = (cdf.stop_gradient() - cdf) / density.equal(0.0).select(1.0, density);
    Ok(fixed + moved)
}
