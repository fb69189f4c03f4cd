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
    let (below, found, [low, high], probability, finite) =
        halved(probability, [low, high], discrete, |half, fixed| Some(cdf(half)?.greater_equal(fixed)))?;
    let found = if discrete {
        // At 0 everything reaches the probability.
        found.max(low)
    } else {
        let found = found.stop_gradient();
        let density = log_density(found).stop_gradient().exp();
        let steep = density.greater(0.0) * density.is_finite();
        let distance = probability - cdf(found)?;
        let moved = found + steep.select(distance / steep.select(density, 1.0), 0.0);
        kept_between(below, moved, found)
    };
    let at_end = probability.less(0.5).select(low, high);
    let within = probability.greater_equal(0.0) * probability.less_equal(1.0);
    Some(within.select(finite.select(found, at_end), f64::NAN))
}

/// Of a continuous distribution the outcome below which (above which, for an upper tail) lies a probability of this
/// logarithm; `log_tail` is that of the probability below (above) an outcome. Otherwise as [`quantile_between`].
pub(crate) fn quantile_of_log_between<'g>(
    log_probability: Var<'g>,
    [low, high]: [Var<'g>; 2],
    upper: bool,
    log_tail: impl Fn(Var<'g>) -> Option<Var<'g>>,
    log_density: impl Fn(Var<'g>) -> Var<'g>,
) -> Option<Var<'g>> {
    let (below, found, [low, high], log_probability, finite) =
        halved(log_probability, [low, high], false, |half, fixed| {
            let log = log_tail(half)?;
            Some(if upper { log.less_equal(fixed) } else { log.greater_equal(fixed) })
        })?;
    let found = found.stop_gradient();
    let log = log_tail(found)?;
    // How far an outcome is moved by the logarithm of its tail.
    let slope = (log - log_density(found)).stop_gradient().exp();
    let sound = slope.greater(0.0) * slope.is_finite() * log.is_finite();
    let distance = sound.select(log_probability - log, 0.0) * sound.select(slope, 0.0);
    let moved = if upper { found - distance } else { found + distance };
    let found = kept_between(below, moved, found);
    let lower_half = log_probability.less(-std::f64::consts::LN_2);
    let at_end = if upper { lower_half.select(high, low) } else { lower_half.select(low, high) };
    let within = log_probability.less_equal(0.0);
    Some(within.select(finite.select(found, at_end), f64::NAN))
}

/// Of counts the smallest outcome whose lower tail has at least a probability of this logarithm, or whose upper tail
/// has at most that. Otherwise as [`quantile_of_log_between`].
pub(crate) fn count_of_log_between<'g>(
    log_probability: Var<'g>,
    ends: [Var<'g>; 2],
    upper: bool,
    log_tail: impl Fn(Var<'g>) -> Option<Var<'g>>,
) -> Option<Var<'g>> {
    let (_, found, [low, high], log_probability, finite) =
        halved(log_probability, ends, true, |half, fixed| {
            let log = log_tail(half)?;
            Some(if upper { log.less_equal(fixed) } else { log.greater_equal(fixed) })
        })?;
    let lower_half = log_probability.less(-std::f64::consts::LN_2);
    let at_end = if upper { lower_half.select(high, low) } else { lower_half.select(low, high) };
    let within = log_probability.less_equal(0.0);
    Some(within.select(finite.select(found.max(low), at_end), f64::NAN))
}

/// Where a last step leads out of the interval, because the density is so small, the end of that; the derivative is the
/// step's.
fn kept_between<'g>(below: Var<'g>, moved: Var<'g>, found: Var<'g>) -> Var<'g> {
    let kept = moved.max(below.stop_gradient()).min(found).stop_gradient();
    kept + (moved - moved.stop_gradient())
}

/// An interval halved until nothing is left of it: its ends, where it began and what was looked for in the shape of
/// all, and whether it had ends that are numbers. `reached` says of an outcome whether what is looked for lies no
/// higher.
#[allow(clippy::type_complexity, reason = "both callers take it apart at once")]
fn halved<'g>(
    target: Var<'g>,
    [low, high]: [Var<'g>; 2],
    discrete: bool,
    reached: impl Fn(Var<'g>, Var<'g>) -> Option<Var<'g>>,
) -> Option<(Var<'g>, Var<'g>, [Var<'g>; 2], Var<'g>, Var<'g>)> {
    let graph = target.graph();
    let shape = target.shape().broadcast(&low.shape())?;
    let (low, high, target) = (
        low.stop_gradient().broadcast_to(shape.clone()),
        high.stop_gradient().broadcast_to(shape.clone()),
        target.broadcast_to(shape),
    );
    // At 0 and 1 an end may be infinite.
    let finite = low.is_finite() * high.is_finite();
    let fixed = target.stop_gradient();
    let start = finite.select(if discrete { low - 1.0 } else { low }, 0.0);
    let end = finite.select(high, 1.0);
    let step = |(below, above): (Var<'g>, Var<'g>)| -> Result<((Var<'g>, Var<'g>), Vec<Var<'g>>)> {
        let half = below + 0.5 * (above - below);
        let half = if discrete { half.floor() } else { half };
        let unknown = || {
            Error::Unsupported("a quantile of a distribution that has no distribution function".to_owned())
        };
        let reached = reached(half, fixed).ok_or_else(unknown)?;
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
    Some((below, found, [low, high], target, finite))
}
