//! What quantiles have in common.

use ppl_core::Var;

/// A quantile; NaN of a number that is no probability.
#[track_caller]
pub(crate) fn of_probability<'g>(probability: Var<'g>, quantile: Var<'g>) -> Var<'g> {
    let sound = probability.greater_equal(0.0) * probability.less_equal(1.0);
    sound.select(quantile, f64::NAN)
}

/// The smallest integer whose distribution function is at least `probability`, given one that may be beside it since it
/// was found by way of the upper tail or of logarithms, which are rounded otherwise; NaN of what is no probability.
#[track_caller]
pub(crate) fn settled<'g>(
    probability: Var<'g>,
    found: Var<'g>,
    smallest: f64,
    cdf: impl Fn(Var<'g>) -> Option<Var<'g>>,
) -> Option<Var<'g>> {
    let inner = probability.greater(0.0) * probability.less(1.0);
    let too_high = found.greater(smallest) * cdf(found - 1.0)?.greater_equal(probability);
    let too_low = cdf(found)?.less(probability);
    let settled = found + inner.select(too_low - too_high, 0.0);
    Some(of_probability(probability, settled))
}
