//! Logarithms near 1 and logarithms of the gamma function near 1, without their leading terms.

use crate::math::coefficients::LGAMMA_64;
use crate::math::real::{Real, polynomial, select};
use crate::math::{lgamma, ln1p};

/// ln(1 + x) − x; −∞ at −1, NaN below.
///
/// With s = x/(2 + x): ln(1 + x) = 2 atanh s and x − 2s = sx, so the difference is −sx + s³ R(s²), of which
/// the first term is more than ten times the second.
///
/// Relative error below 1e-15.
#[inline(always)]
pub fn log1p_minus_x<T: Real>(x: T) -> T {
    let s = x / (T::of(2.0) + x);
    let z = s * s;
    let near = s * (z * T::ln_rest(z) - x);
    let far = select(x < T::INFINITY, ln1p(x) - x, -x);
    select((x > T::of(-0.29)) & (x < T::of(0.41)), near, far)
}

/// ln |Γ(1 + x)|, relatively accurate near 0.
///
/// Relative error below 2e-15 for |x| < ½; that of `lgamma` elsewhere.
pub fn lgamma_of_1_plus(x: f64) -> f64 {
    if x.abs() < 0.5 {
        // ln Γ(2 + x) − ln(1 + x)
        x * polynomial(&LGAMMA_64, x) - ln1p(x)
    } else {
        lgamma(1.0 + x)
    }
}
