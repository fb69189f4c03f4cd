//! Owen's function, the probability of a wedge under the bivariate normal density.

use super::log_ndtr;
use super::tail::panel;
use crate::math::exp;
use std::f64::consts::PI;

/// `T(h, a) = (1/2π) ∫₀ᵃ e^(−h²(1 + x²)/2)/(1 + x²) dx`: the probability of `X > h` and `0 < Y < aX` for
/// independent standard normal variables.
///
/// Absolute error below 3e-16, and relative error below 4e-15 for |a| ≤ 1.
pub fn owens_t(h: f64, a: f64) -> f64 {
    if h.is_nan() || a.is_nan() {
        return f64::NAN;
    }
    // Even in h, odd in a.
    let (h, sign, a) = (h.abs(), if a < 0.0 { -1.0 } else { 1.0 }, a.abs());
    if a <= 1.0 {
        return sign * narrow(h, a);
    }
    // T(h, a) = ½ Q(h) + ½ Q(ah) − Q(h) Q(ah) − T(ah, 1/a), in upper tails (Owen 1956).
    let upper = |x: f64| exp(log_ndtr(-x));
    let (one, other) = (upper(h), if h == 0.0 { 0.5 } else { upper(a * h) });
    let turned = if a.is_infinite() || h == f64::INFINITY { 0.0 } else { narrow(a * h, 1.0 / a) };
    // At h = 0 the wedge is an angle.
    if h == 0.0 {
        return sign * a.atan() / (2.0 * PI);
    }
    sign * (0.5 * one + 0.5 * other - one * other - turned)
}

/// The same for `h ≥ 0` and `0 ≤ a ≤ 1`, by quadrature over the part of the interval that counts.
fn narrow(h: f64, a: f64) -> f64 {
    // e^−(hx)²/2 is below half a unit in the last place of what lies before.
    let end = if h * a > 9.0 { 9.0 / h } else { a };
    let integrand = |x: f64| exp(-0.5 * h * h * x * x) / (1.0 + x * x);
    let sum = if h * end > 3.0 || end > 0.5 {
        let parts = 3.0;
        let width = end / parts;
        panel(0.0, width, integrand)
            + panel(width, 2.0 * width, integrand)
            + panel(2.0 * width, end, integrand)
    } else {
        panel(0.0, end, integrand)
    };
    exp(-0.5 * h * h) * sum / (2.0 * PI)
}
