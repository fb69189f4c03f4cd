//! Quantiles of distributions that have a distribution function and no formula for its inverse.

use ppl_core::{Error, Result, Var};

/// Halvings of an interval. Of continuous distributions the last step is Newton's, so half as many would do in the
/// middle; in tails, where the ends are far apart, they are needed.
const HALVINGS: usize = 80;

/// The smallest outcome whose distribution function is at least `probability`, which lies from `low` to `high`.
///
/// Of continuous distributions it can be differentiated (implicitly), by a last step of Newton's method.
pub(crate) fn quantile_between<'g>(
    probability: Var<'g>,
    [low, high]: [Var<'g>; 2],
    discrete: bool,
    cdf: impl Fn(Var<'g>) -> Option<Var<'g>>,
    log_density: impl Fn(Var<'g>) -> Var<'g>,
) -> Option<Var<'g>> {
    let graph = probability.graph();
    let shape = probability.shape().broadcast(&low.shape())?;
    let (low, high, probability) = (
        low.stop_gradient().broadcast_to(shape.clone()),
        high.stop_gradient().broadcast_to(shape.clone()),
        probability.broadcast_to(shape),
    );
    // At 0 and 1 an end may be infinite.
    let finite = low.is_finite() * high.is_finite();
    let fixed = probability.stop_gradient();
    let start = finite.select(if discrete { low - 1.0 } else { low }, 0.0);
    let end = finite.select(high, 1.0);
    let step = |(below, above): (Var<'g>, Var<'g>)| -> Result<((Var<'g>, Var<'g>), Vec<Var<'g>>)> {
        let half = below + 0.5 * (above - below);
        let half = if discrete { half.floor() } else { half };
        let unknown = || {
            Error::Unsupported("a quantile of a distribution that has no distribution function".to_owned())
        };
        let reached = cdf(half).ok_or_else(unknown)?.greater_equal(fixed);
        Ok(((reached.select(below, half), reached.select(half, above)), Vec::new()))
    };
    let (below, found) = match graph.scan_steps(HALVINGS, (start, end), step) {
        Ok((ends, _)) => ends,
        // Numbers that are computed at once have no loops; they take the steps one by one.
        Err(_) if fixed.known().is_some() => {
            let mut ends = (start, end);
            for _ in 0..HALVINGS {
                (ends, _) = step(ends).ok()?;
            }
            ends
        }
        Err(_) => return None,
    };
    let found = if discrete {
        // At 0 everything reaches the probability.
        found.max(low)
    } else {
        let found = found.stop_gradient();
        let density = log_density(found).stop_gradient().exp();
        let steep = density.greater(0.0) * density.is_finite();
        let distance = probability - cdf(found)?;
        let moved = found + steep.select(distance / steep.select(density, 1.0), 0.0);
        // Where the density is so small that the step leads out of the interval, the end of that; the derivative is the
        // step's.
        let kept = moved.max(below.stop_gradient()).min(found).stop_gradient();
        kept + (moved - moved.stop_gradient())
    };
    let at_end = probability.less(0.5).select(low, high);
    let within = probability.greater_equal(0.0) * probability.less_equal(1.0);
    Some(within.select(finite.select(found, at_end), f64::NAN))
}
