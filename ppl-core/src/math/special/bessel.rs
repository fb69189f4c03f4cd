//! Modified Bessel functions of orders 0 and 1, with their growth taken off.

use std::f64::consts::TAU;

/// From here on the asymptotic series (NIST DLMF 10.40.1) reaches its best term below one unit in the last
/// place.
const LARGE: f64 = 20.0;

/// The series Σ tₖ with t₀ = 1 and tₖ = tₖ₋₁ ((2k − 1)² − 4ν²)/(8kx), of which I_ν(x) is e^x/√(2πx) times,
/// and that of order 0 less that of order 1.
fn asymptotic(x: f64) -> (f64, f64, f64) {
    let (mut zero, mut one) = (1.0, 1.0);
    let (mut sum_zero, mut sum_one, mut difference) = (1.0, 1.0, 0.0);
    for k in 1..40 {
        let k = f64::from(k);
        let odd = (2.0 * k - 1.0) * (2.0 * k - 1.0);
        zero *= odd / (8.0 * k * x);
        one *= (odd - 4.0) / (8.0 * k * x);
        sum_zero += zero;
        sum_one += one;
        difference += zero - one;
        if zero.abs() < 1e-18 {
            break;
        }
    }
    (sum_zero, sum_one, difference)
}

/// (Σ (x²/4)ᵏ/k!², Σ (x²/4)ᵏ/(k! (k + 1)!)): I₀(x), and I₁(x) less a factor x/2.
fn series(x: f64) -> (f64, f64) {
    let z = 0.25 * x * x;
    let (mut zero, mut one) = (1.0, 1.0);
    let (mut sum_zero, mut sum_one) = (1.0, 1.0);
    for k in 1..80 {
        let k = f64::from(k);
        zero *= z / (k * k);
        one *= z / (k * (k + 1.0));
        sum_zero += zero;
        sum_one += one;
        if zero < 1e-17 * sum_zero {
            break;
        }
    }
    (sum_zero, sum_one)
}

/// e^(−|x|) I₀(x). Relative error below 3e-15.
pub fn i0e(x: f64) -> f64 {
    let a = x.abs();
    if a == f64::INFINITY {
        0.0
    } else if a > LARGE {
        asymptotic(a).0 / (TAU * a).sqrt()
    } else {
        crate::math::exp(-a) * series(a).0
    }
}

/// e^(−|x|) I₁(x). Relative error below 3e-15.
pub fn i1e(x: f64) -> f64 {
    let a = x.abs();
    if a == f64::INFINITY {
        0.0_f64.copysign(x)
    } else if a > LARGE {
        (asymptotic(a).1 / (TAU * a).sqrt()).copysign(x)
    } else {
        crate::math::exp(-a) * (0.5 * x) * series(a).1
    }
}

/// I₁(x)/I₀(x). Relative error below 3e-15.
pub fn bessel_ratio(x: f64) -> f64 {
    let a = x.abs();
    if a == f64::INFINITY {
        1.0_f64.copysign(x)
    } else if a > LARGE {
        let (zero, one, _) = asymptotic(a);
        (one / zero).copysign(x)
    } else {
        let (zero, one) = series(a);
        0.5 * x * one / zero
    }
}

/// 1 − I₁(x)/I₀(x) for x ≥ 0, where it is small as well. Relative error below 3e-14.
pub fn bessel_ratio_complement(x: f64) -> f64 {
    if x > LARGE && x < f64::INFINITY {
        let (zero, _, difference) = asymptotic(x);
        difference / zero
    } else {
        1.0 - bessel_ratio(x)
    }
}
