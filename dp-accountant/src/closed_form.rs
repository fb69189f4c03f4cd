//! Explicit formulas: the Gaussian mechanism, and one step of the Poisson-subsampled Gaussian mechanism.
//!
//! Every function returns an [`Interval`] that contains the true value: the formula's result, widened by a
//! first-order bound on its rounding with generous constants, in units of [`ROUNDOFF`].
//!
//! # References
//! Balle and Wang 2018, "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8 (the Gaussian
//! profile).

use crate::special::{ROUNDOFF, density, mills_ratio, upper_tail};

/// The two ends of a number that is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Interval {
    pub(crate) const ZERO: Self = Self { lower: 0.0, upper: 0.0 };

    pub(crate) fn around(value: f64, error: f64) -> Self {
        // The last term covers results in or below the subnormal range, where no relative bound holds.
        let lower = if value < 1e-290 { 0.0 } else { (value - error).max(0.0) };
        Self { lower, upper: (value + error + 1e-300).min(1.0) }
    }

    /// The interval of the larger of two numbers.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// What is known when both intervals hold.
    pub(crate) fn intersect(self, other: Self) -> Self {
        let lower = self.lower.max(other.lower);
        Self { lower, upper: self.upper.min(other.upper).max(lower) }
    }
}

/// `density(z) (R(z) - R(z + gap))`, with R the Mills ratio: the tail above `z` less a likelihood-ratio
/// multiple of the tail above `z + gap`. Requires `z + gap >= 0`; `slip` bounds the absolute error of `z` and
/// of `z + gap`.
fn difference_of_tails(z: f64, gap: f64, slip: f64) -> Interval {
    if z == f64::INFINITY {
        // Above the largest number, however well it is known; its slip has no difference with it.
        return Interval { lower: 0.0, upper: 1e-300 };
    }
    if slip.is_nan() || slip >= 1e-3 {
        // The position is not known; only the tail above the lowest possible one remains as a bound.
        // It is positive even where the tail underflows.
        let tail = upper_tail(z - 2.0 * slip);
        return Interval { lower: 0.0, upper: if tail.is_nan() { 1.0 } else { (tail + 1e-300).min(1.0) } };
    }
    let far = z + gap;
    let peak = density(z);
    let far_ratio = mills_ratio(far);
    let u = ROUNDOFF;
    if z >= 0.0 {
        let near_ratio = mills_ratio(z);
        let value = peak * (near_ratio - far_ratio);
        // The Mills ratio has a slope between -1 and 0; d density / dz = -z density.
        let error = value.abs() * (8.0 * u + 2.0 * u * z * z + 2.0 * z * slip)
            + peak * ((near_ratio + far_ratio) * 100.0 * u + 2.0 * slip * (1.0 / (1.0 + z * z)).min(1.0));
        Interval::around(value, error)
    } else {
        let value = upper_tail(z) - peak * far_ratio;
        let error = 8.0 * u
            + peak * (4.0 * slip + u * z * z)
            + peak * far_ratio * (100.0 * u + 2.0 * u * z * z + 2.0 * z.abs() * slip);
        Interval::around(value, error)
    }
}

/// delta(epsilon) between N(0, 1) and N(mu, 1), for `mu > 0` known to a relative error.
///
/// ```text
/// delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
/// ```
pub(crate) fn gaussian_delta(mu: f64, relative_error: f64, epsilon: f64) -> Interval {
    // e^epsilon density(z + mu) = density(z), which removes the exponential and its overflow. The relative
    // error of the gap mu is part of the slip of both ends.
    let (z, gap, slip) = gaussian_position(mu, relative_error, epsilon);
    difference_of_tails(z, gap, slip)
}

/// Where [`gaussian_delta`] stands between the tails: `z`, the gap, and a bound on the error of both.
pub(crate) fn gaussian_position(mu: f64, relative_error: f64, epsilon: f64) -> (f64, f64, f64) {
    let ratio = epsilon / mu;
    (ratio - 0.5 * mu, mu, (2.0 * ROUNDOFF + relative_error) * (ratio + 0.5 * mu))
}

/// delta(epsilon) of one Poisson-subsampled step under add/remove, the larger of its two directions
/// (removal).
///
/// With x the outcome whose loss is epsilon, t = (x - 1/2)/sigma², q e^t = e^epsilon - 1 + q:
///
/// ```text
/// delta = q Phi(-(x - 1)/sigma) - (e^epsilon - 1 + q) Phi(-x/sigma)
///       = q density((x - 1)/sigma) (R((x - 1)/sigma) - R(x/sigma))
/// ```
///
/// Adding a record costs no more. With alpha = e^epsilon and H the hockey-stick divergence of N(0, σ²) and
/// N(1, σ²), which is symmetric in them, removal costs q H(alpha') with alpha' = (alpha - 1 + q)/q. Addition
/// costs nothing if alpha (1-q) >= 1, and otherwise (1 - alpha (1-q)) H(beta) with beta = alpha q / (1 -
/// alpha (1-q)). Its factor is at most q; and beta >= alpha', because (q + x)(q - x (1-q)) = (1 + x) q² - x²
/// (1-q) for x = alpha - 1. H decreases.
pub(crate) fn subsampled_step_delta(noise_multiplier: f64, rate: f64, epsilon: f64) -> Interval {
    let (near, gap, slip) = subsampled_step_position(noise_multiplier, rate, epsilon);
    let unscaled = difference_of_tails(near, gap, slip);
    Interval {
        lower: unscaled.lower * rate * (1.0 - 2.0 * ROUNDOFF),
        upper: (unscaled.upper * rate * (1.0 + 2.0 * ROUNDOFF)).min(1.0),
    }
}

/// Where [`subsampled_step_delta`] stands between the tails: `z`, the gap, and a bound on the error of both.
pub(crate) fn subsampled_step_position(noise_multiplier: f64, rate: f64, epsilon: f64) -> (f64, f64, f64) {
    let sigma = noise_multiplier;
    // log(1 + (e^epsilon - 1)/q), without overflow.
    let exponent = if epsilon > 30.0 {
        epsilon - rate.ln() + (-(1.0 - rate) * (-epsilon).exp()).ln_1p()
    } else {
        (epsilon.exp_m1() / rate).ln_1p()
    };
    let near = sigma * exponent - 0.5 / sigma;
    let gap = 1.0 / sigma;
    let slip = 8.0 * ROUNDOFF * (sigma * (exponent + rate.ln().abs().min(exponent)) + gap);
    (near, gap, slip)
}

/// epsilon(delta) from a function that encloses delta(epsilon).
///
/// The upper end is a point where even the upper end of delta does not exceed the target, the lower end one
/// where even the lower end does; both are evaluated, so no monotonicity of the rounded curve is assumed.
pub(crate) fn invert(curve: impl Fn(f64) -> Interval, delta: f64) -> Interval {
    let upper = if curve(0.0).upper <= delta { 0.0 } else { last_where(|e| curve(e).upper > delta).1 };
    let lower = if curve(0.0).lower <= delta { 0.0 } else { last_where(|e| curve(e).lower > delta).0 };
    Interval { lower: lower.min(upper), upper }
}

/// Neighbouring points, the first of which satisfies a condition that holds at 0 and not at infinity.
///
/// Brent's method of the crate `roots` 0.0.8 needs 16 to 64 evaluations where this needs about 55, returns
/// one point instead of one on each side, and for a delta of 1e-50 takes the far end of the bracket for a
/// root.
fn last_where(holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut inside, mut outside) = (0.0, 1.0);
    while holds(outside) && outside < 1e300 {
        inside = outside;
        outside *= 4.0;
    }
    // Halving the gap 200 times resolves any value above 1e-60; the loop usually ends earlier, at adjacent
    // numbers.
    for _ in 0..200 {
        let middle = 0.5 * (inside + outside);
        if !(middle > inside && middle < outside) {
            break;
        }
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
        if outside - inside <= 1e-15 * outside {
            break;
        }
    }
    (inside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_that_underflows_is_not_said_to_be_zero() {
        // Positions near 1e208, known to within 1e192: all that is left is a bound from above.
        // The last one lies beyond all numbers.
        for (mu, epsilon) in [(1e100, 1e308), (1.0, 100.0), (1e-100, 1e300)] {
            let interval = gaussian_delta(mu, 0.0, epsilon);
            assert!(interval.lower == 0.0 && interval.upper > 0.0 && interval.upper < 1e-250, "{interval:?}");
        }
    }

    #[test]
    fn a_delta_near_one_is_enclosed_although_it_is_no_number() {
        // One less the delta is a sum of two positive terms, hence known to a relative 1e-13, far below the
        // spacing of numbers near one: an interval without a width misses it.
        for step in 0..=100 {
            let mu = 8.0 + 0.1 * f64::from(step);
            for epsilon in [0.0, 0.3, 1.7] {
                let (z, gap, _) = gaussian_position(mu, 0.0, epsilon);
                let missing = upper_tail(-z) + density(z) * mills_ratio(z + gap);
                let interval = gaussian_delta(mu, 0.0, epsilon);
                assert!(
                    1.0 - interval.upper <= missing * (1.0 + 1e-13)
                        && 1.0 - interval.lower >= missing * (1.0 - 1e-13),
                    "mu {mu}, epsilon {epsilon}: 1 - {missing:e}, {interval:?}"
                );
                assert!(interval.upper - interval.lower <= 1e-13, "mu {mu}: {interval:?}");
            }
        }
    }
}
