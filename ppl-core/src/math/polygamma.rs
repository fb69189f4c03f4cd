//! Derivatives of the digamma function of any order. Not branch-free: second derivatives of densities are where it is used.

use std::f64::consts::PI;

/// B₂ₖ/(2k)! for k = 1, 2, …, 10 (NIST DLMF table 24.2.3).
const BERNOULLI: [f64; 10] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
];

/// Highest order with a value: the next factorial overflows.
const HIGHEST: usize = 169;

/// ψ⁽ⁿ⁾(x), the n-th derivative of digamma, for 1 ≤ n ≤ 169; NaN for other orders.
///
/// At 0 and at the negative integers: ∞ for odd n, NaN for even n (the two sides differ in sign), −∞ at +0.
///
/// ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x) (NIST DLMF 25.11.12), the Hurwitz zeta function by the formula of Euler and Maclaurin
/// (25.11.5) from n + 10 upwards, and the reflection (5.15.6) below 0.
pub(crate) fn polygamma(order: u8, x: f64) -> f64 {
    let n = usize::from(order);
    if n == 0 || n > HIGHEST || x.is_nan() {
        return f64::NAN;
    }
    let even = n % 2 == 0;
    if x < 0.0 {
        let reflected = cotangent_derivative(n, x);
        // ψ⁽ⁿ⁾(x) = (−1)ⁿ ψ⁽ⁿ⁾(1 − x) − dⁿ/dxⁿ π cot πx
        let mirrored = polygamma(order, 1.0 - x);
        return if even { mirrored - reflected } else { -mirrored - reflected };
    }
    if x == 0.0 {
        return if !even {
            f64::INFINITY
        } else if x.is_sign_negative() {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        };
    }
    let size = scaled_zeta(n, x);
    if even { -size } else { size }
}

/// n! ζ(n + 1, x) for x > 0.
fn scaled_zeta(n: usize, x: f64) -> f64 {
    let power = n as i32 + 1;
    let factorial: f64 = (1..=n).map(|k| k as f64).product();
    let mut sum = 0.0;
    let mut y = x;
    while y < n as f64 + 10.0 {
        sum += y.powi(-power);
        y += 1.0;
    }
    let start = y.powi(-power);
    if start == 0.0 && x.is_infinite() {
        return 0.0;
    }
    // y⁻ⁿ/n + y⁻ⁿ⁻¹/2 + Σ B₂ₖ/(2k)! · (n + 1)(n + 2)…(n + 2k − 1) · y^(−n − 2k)
    sum += start * y / n as f64 + 0.5 * start;
    let mut rising = n as f64 + 1.0;
    let mut falling = start / y;
    for (k, coefficient) in BERNOULLI.iter().enumerate() {
        sum += coefficient * rising * falling;
        let next = (n + 2 * k + 2) as f64;
        rising *= next * (next + 1.0);
        falling /= y * y;
    }
    factorial * sum
}

/// dⁿ/dxⁿ π cot πx = πⁿ⁺¹ Pₙ(cot πx), where P₀(c) = c and Pₙ₊₁(c) = −(1 + c²) Pₙ′(c); for x that is not an integer.
fn cotangent_derivative(n: usize, x: f64) -> f64 {
    let fraction = x - x.round();
    if fraction == 0.0 {
        return if n % 2 == 0 { f64::NAN } else { f64::NEG_INFINITY };
    }
    let cotangent = if fraction.abs() == 0.5 { 0.0 } else { 1.0 / (PI * fraction).tan() };
    let mut polynomial = [0.0; HIGHEST + 2];
    polynomial[1] = 1.0;
    for degree in 1..=n {
        // From degree `degree` to `degree + 1`, in place from the top: coefficient i of −(1 + c²)P′ is −((i + 1)p₍ᵢ₊₁₎ + (i − 1)p₍ᵢ₋₁₎).
        let old = polynomial;
        for (i, slot) in polynomial.iter_mut().enumerate().take(degree + 2) {
            let above = if i < degree { (i + 1) as f64 * old[i + 1] } else { 0.0 };
            let below = if i >= 2 { (i - 1) as f64 * old[i - 1] } else { 0.0 };
            *slot = -(above + below);
        }
    }
    let value = polynomial[..=n + 1].iter().rev().fold(0.0, |sum, &p| sum * cotangent + p);
    value * PI.powi(n as i32 + 1)
}
