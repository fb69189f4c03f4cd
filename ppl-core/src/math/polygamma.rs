//! Derivatives of the digamma function of any order. Not branch-free: second derivatives of densities are
//! where it is used.

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

/// ψ⁽ⁿ⁾(x), the n-th derivative of digamma; at 0, ∞ for odd n and −∞ (+0) or ∞ (−0) for even n; at the
/// negative integers, ∞ for odd n and NaN for even n, where the two sides differ in sign.
///
/// ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x) (NIST DLMF 25.11.12), the Hurwitz zeta function by the formula of Euler
/// and Maclaurin (25.11.28) from n + 10 upwards and its recurrence (25.11.3) before; below 0 the reflection
/// (5.15.6).
pub fn polygamma(order: u8, x: f64) -> f64 {
    if order == 0 {
        return super::digamma(x);
    }
    let even = order.is_multiple_of(2);
    if x == 0.0 {
        return if even { -x.recip() } else { f64::INFINITY };
    }
    if x < 0.0 {
        // ψ⁽ⁿ⁾(x) = (−1)ⁿ ψ⁽ⁿ⁾(1 − x) − dⁿ/dxⁿ π cot πx
        let mirrored = polygamma(order, 1.0 - x);
        return if even { mirrored } else { -mirrored } - cotangent_derivative(order, x);
    }
    let size = scaled_zeta(order, x);
    if even { -size } else { size }
}

/// n! y⁻ⁿ⁻¹, by a product that neither overflows nor underflows before its value does.
fn pole(n: f64, y: f64) -> f64 {
    let inverse = y.recip();
    let mut product = inverse;
    let mut k = 1.0;
    while k <= n {
        product *= k * inverse;
        k += 1.0;
    }
    product
}

/// n! ζ(n + 1, x) for x > 0.
fn scaled_zeta(order: u8, x: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    let n = f64::from(order);
    let mut sum = 0.0;
    let mut y = x;
    while y < n + 10.0 {
        sum += pole(n, y);
        y += 1.0;
    }
    // n! y⁻ⁿ⁻¹ (y/n + ½ + Σₖ B₂ₖ/(2k)! · (n + 1)(n + 2)…(n + 2k − 1) y¹⁻²ᵏ)
    let inverse = y.recip();
    let mut series = 0.5;
    let mut factor = (n + 1.0) * inverse;
    let mut next = n + 2.0;
    for coefficient in BERNOULLI {
        series += coefficient * factor;
        factor *= (next * inverse) * ((next + 1.0) * inverse);
        next += 2.0;
    }
    let start = pole(n, y);
    sum + (start * (y / n) + start * series)
}

/// dⁿ/dxⁿ π cot πx = πⁿ⁺¹ Pₙ(cot πx) with P₀(c) = c and Pₙ₊₁(c) = −(1 + c²) Pₙ′(c), for x < 0.
fn cotangent_derivative(order: u8, x: f64) -> f64 {
    let n = usize::from(order);
    let fraction = x - x.round();
    if fraction == 0.0 {
        return if order.is_multiple_of(2) { f64::NAN } else { f64::NEG_INFINITY };
    }
    let cotangent = if fraction.abs() == 0.5 { 0.0 } else { (PI * fraction).tan().recip() };
    // The coefficients of πᵏ Pₖ / k!, which stay in range; all of one sign, so that the sum loses nothing.
    let mut polynomial = [0.0; 258];
    polynomial[1] = 1.0;
    for degree in 1..=n {
        let old = polynomial;
        for (i, slot) in polynomial.iter_mut().enumerate().take(degree + 2) {
            // Coefficient i of −(1 + c²) P′.
            let below = if i >= 2 { (i - 1) as f64 * old[i - 1] } else { 0.0 };
            *slot = -((i + 1) as f64 * old[i + 1] + below) * (PI / degree as f64);
        }
    }
    let value = polynomial[..=n + 1].iter().rev().fold(0.0, |sum, &p| sum * cotangent + p);
    (1..=n).fold(PI * value, |product, k| product * k as f64)
}
