//! ln |Γ| and its first two derivatives. `f32` goes through `f64`.
//!
//! From 8 upwards the asymptotic series serve (NIST DLMF 5.11.1, 5.11.2 and its derivative), below 8 the
//! recurrence (5.5.1, 5.5.2), and below 0 the reflection (5.5.3, 5.5.4). All of it is computed for every
//! argument and selected at the end.

use super::coefficients::{DIGAMMA, LGAMMA_64, STIRLING, TRIGAMMA};
use super::logarithm::ln;
use super::real::{Real, polynomial, select};
use super::trigonometric::sin_cos_reduced;
use std::f64::consts::PI;

/// ½ ln 2π − ½
const HALF_LN_TWO_PI_LESS_HALF: f64 = 0.418_938_533_204_672_7;

/// (sin πa, cos πa) up to a common sign, for a ≥ 0. Exact at multiples of ½.
#[inline(always)]
fn sin_cos_pi(a: f64) -> (f64, f64) {
    let doubled = a + a;
    let n = nearest_of_any(doubled);
    let even = nearest_of_any(n * 0.5) * 2.0 == n;
    let (sine, cosine) = sin_cos_reduced((a - n * 0.5) * PI, 0.0);
    (select(even, sine, cosine), select(even, cosine, -sine))
}

/// The nearest integer to any v ≥ 0.
#[inline(always)]
fn nearest_of_any(v: f64) -> f64 {
    const SHIFT: f64 = 4_503_599_627_370_496.0; // 2⁵², from where on every number is an integer
    select(v < SHIFT, (v + SHIFT) - SHIFT, v)
}

/// ln Γ(x) for x ≥ 0.
///
/// Below 8 the argument is brought to 2 + z with |z| ≤ ½, where ln Γ = z P(z); z is exact near the roots 1
/// and 2.
#[inline(always)]
fn lgamma_positive(x: f64) -> f64 {
    let mut y = x;
    let mut product = 1.0;
    for _ in 0..6 {
        let step = y >= 2.5;
        y = select(step, y - 1.0, y);
        product = select(step, product * y, product);
    }
    let (below_half, below_three_halves) = (x < 0.5, x < 1.5);
    let z = select(below_half, x, select(below_three_halves, x - 1.0, y - 2.0));
    let factor = select(below_half, x * (1.0 + x), select(below_three_halves, x, product));
    let large = x >= 8.0;
    let log = ln(select(large, x, factor));
    let centre = z * polynomial(&LGAMMA_64, z);
    let below_eight = select(below_three_halves, centre - log, centre + log);
    let inverse = 1.0 / x;
    let series = inverse * polynomial(&STIRLING, inverse * inverse);
    let stirling = (x - 0.5) * (log - 1.0) + (HALF_LN_TWO_PI_LESS_HALF + series);
    select(large, stirling, below_eight)
}

/// ln |Γ(x)|; ∞ at 0, at the negative integers and at ±∞.
///
/// Measured maximum error: 5.4 in `f64`, in ulp and, where the result is below 1 in magnitude, in units of
/// 2⁻⁵²; 0.51 ulp in `f32` against the `f64` result.
#[inline(always)]
pub fn lgamma<T: Real>(x: T) -> T {
    let x = x.wide();
    let a = x.abs();
    let positive = lgamma_positive(a);
    // Γ(a) Γ(−a) = −π/(a sin πa); so close to 0 that Γ(x) = 1/x, neither the product nor this is needed.
    let reflect = x < -1e-18;
    let (sine, _) = sin_cos_pi(a);
    let reflected = ln(PI / (a * sine.abs())) - positive;
    let result = select(reflect, reflected, positive);
    T::of(select(x == f64::NEG_INFINITY, f64::INFINITY, result))
}

/// ψ(x) = d ln Γ(x)/dx; ∓∞ at ±0, NaN at the negative integers.
///
/// Measured maximum error: 9.2 in `f64`, in ulp and, where the result is below 1 in magnitude, in units of
/// 2⁻⁵²; 0.51 ulp in `f32` against the `f64` result.
#[inline(always)]
pub fn digamma<T: Real>(x: T) -> T {
    let x = x.wide();
    let negative = x < 0.0;
    let positive = digamma_of_positive(select(negative, 1.0 - x, x));
    let (sine, cosine) = sin_cos_pi(x.abs());
    // ψ(x) = ψ(1 − x) − π cot πx
    let reflected = select(sine == 0.0, f64::NAN, positive + PI * cosine / sine);
    T::of(select(negative, reflected, positive))
}

/// ψ(x) for x ≥ 0.
#[inline(always)]
pub(crate) fn digamma_of_positive(start: f64) -> f64 {
    // Σ 1/(start + i) as one fraction
    let (mut numerator, mut denominator) = (1.0, start);
    for i in 1..8 {
        let factor = start + f64::from(i);
        numerator = numerator * factor + denominator;
        denominator *= factor;
    }
    let small = start < 8.0;
    let y = select(small, start + 8.0, start);
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    let asymptotic = ln(y) - (0.5 * inverse + z * polynomial(&DIGAMMA, z));
    asymptotic - select(small, numerator / denominator, 0.0)
}

/// ψ′(x), the derivative of [`digamma`]; ∞ at 0 and at the negative integers.
///
/// Measured maximum error: 4.4 ulp in `f64`, 0.51 ulp in `f32` against the `f64` result.
#[inline(always)]
pub fn trigamma<T: Real>(x: T) -> T {
    let x = x.wide();
    let negative = x < 0.0;
    let start = select(negative, 1.0 - x, x);
    // Σ 1/(start + i)², i ≥ 1, as one fraction; the first term alone, for its square may overflow
    let (mut numerator, mut denominator) = (0.0, 1.0);
    for i in 1..8 {
        let factor = start + f64::from(i);
        let square = factor * factor;
        numerator = numerator * square + denominator;
        denominator *= square;
    }
    let first = 1.0 / start;
    let small = start < 8.0;
    let y = select(small, start + 8.0, start);
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    let asymptotic = inverse + (0.5 * z + inverse * z * polynomial(&TRIGAMMA, z));
    let positive = asymptotic + select(small, first * first + numerator / denominator, 0.0);
    // ψ′(x) + ψ′(1 − x) = (π/sin πx)²
    let (sine, _) = sin_cos_pi(x.abs());
    let ratio = PI / sine;
    T::of(select(negative, ratio * ratio - positive, positive))
}
