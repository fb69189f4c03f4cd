//! What is left of logarithms and gamma functions when their leading terms cancel.

use crate::math::coefficients::{DIGAMMA, LGAMMA_64, STIRLING};
use crate::math::real::{Real, polynomial, select};
use crate::math::{digamma, lgamma, ln, ln1p};

/// ½ ln 2π
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// ln(1 + x) − x; −∞ at −1, NaN below.
///
/// With s = x/(2 + x): ln(1 + x) = 2 atanh s and x − 2s = sx, so the difference is −sx + s³ R(s²), of which the first term
/// is more than ten times the second.
///
/// Relative error below 1e-15.
#[inline(always)]
pub(crate) fn log1p_minus_x<T: Real>(x: T) -> T {
    let s = x / (T::of(2.0) + x);
    let z = s * s;
    let near = s * (z * T::ln_rest(z) - x);
    let far = select(x < T::INFINITY, ln1p(x) - x, -x);
    select((x > T::of(-0.29)) & (x < T::of(0.41)), near, far)
}

/// δ(x) = ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π), the error of Stirling's formula (NIST DLMF 5.11.1), for x > 0; ∞ at 0.
///
/// Relative error below 2e-14.
pub(crate) fn stirling_error(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    if x < 2.5 {
        return lgamma(x) - ((x - 0.5) * ln(x) - x + HALF_LN_TWO_PI);
    }
    // δ(x) − δ(x + 1) = (x + ½) ln(1 + 1/x) − 1 = atanh(s)/s − 1 with s = 1/(2x + 1)
    let (mut sum, mut y) = (0.0, x);
    while y < 8.0 {
        let s = (2.0 * y + 1.0).recip();
        let z = s * s;
        sum += 0.5 * z * f64::ln_rest(z);
        y += 1.0;
    }
    let inverse = y.recip();
    sum + inverse * polynomial(&STIRLING, inverse * inverse)
}

/// ψ(x) − ln x for x > 0; −∞ at 0.
///
/// Relative error below 2e-14.
pub(crate) fn digamma_minus_log(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    if x < 2.5 {
        return digamma(x) - ln(x);
    }
    // ψ(x) − ln x = ψ(x + 1) − ln(x + 1) + ln(1 + 1/x) − 1/x
    let (mut sum, mut y) = (0.0, x);
    while y < 8.0 {
        sum += log1p_minus_x(y.recip());
        y += 1.0;
    }
    let inverse = y.recip();
    let z = inverse * inverse;
    sum - (0.5 * inverse + z * polynomial(&DIGAMMA, z))
}

/// ln |Γ(1 + x)|, relatively accurate near 0.
///
/// Relative error below 2e-15 for |x| < ½; that of `lgamma` elsewhere.
pub(crate) fn lgamma_of_1_plus(x: f64) -> f64 {
    if x.abs() < 0.5 {
        // ln Γ(2 + x) − ln(1 + x)
        x * polynomial(&LGAMMA_64, x) - ln1p(x)
    } else {
        lgamma(1.0 + x)
    }
}
