//! The difference of two Poisson variables.

use super::gamma_probabilities;
use crate::math::{deviance, exp, ln, log_factorial_remainder};
use std::f64::consts::PI;

/// `ln (mᵏ e^−m/k!)`
fn log_poisson(k: f64, mean: f64) -> f64 {
    -(deviance(k, mean) + log_factorial_remainder(k))
}

/// From here on the sum is the integral of the normal density that its terms are, to a unit in the last place.
const LARGE: f64 = 1e13;

/// The number of the largest term of `Σ_m μᵐ νᵐ/(m! (m + k)!)`, not rounded: `m (m + k) = μν`.
fn peak(k: f64, up: f64, down: f64) -> f64 {
    // The roots apart, for the product may overflow.
    let root = 2.0 * up.sqrt() * down.sqrt();
    let length = k.hypot(root);
    root * (root / (k + length)) * 0.5
}

/// `ln P(K₁ − K₂ = k)` of independent Poisson variables with means `up` and `down`.
///
/// Error below 2e-15 (1 + |ln P|).
pub fn skellam_log_prob(k: f64, up: f64, down: f64) -> f64 {
    if !(up >= 0.0 && down >= 0.0) || k.is_nan() || up.is_infinite() || down.is_infinite() {
        return f64::NAN;
    }
    if k.floor() != k || k.is_infinite() {
        return f64::NEG_INFINITY;
    }
    let (k, up, down) = if k < 0.0 { (-k, down, up) } else { (k, up, down) };
    let centre = peak(k, up, down);
    let first = if centre.is_finite() { centre.floor() } else { 0.0 };
    let largest = log_poisson(first + k, up) + log_poisson(first, down);
    if first > LARGE {
        let variance = 1.0 / (1.0 / first + 1.0 / (first + k));
        return largest + 0.5 * ln(2.0 * PI * variance);
    }
    // Terms by the largest, in both directions.
    let product = up * down;
    let mut sum = 1.0;
    let (mut term, mut m) = (1.0, first);
    while term > 1e-17 * sum {
        m += 1.0;
        term *= product / (m * (m + k));
        sum += term;
    }
    let (mut term, mut m) = (1.0, first);
    while m > 0.0 && term > 1e-17 * sum {
        term *= m * (m + k) / product;
        sum += term;
        m -= 1.0;
    }
    largest + ln(sum)
}

/// Largest number of terms of a distribution function.
const MOST: f64 = 4e6;

/// `P(K₁ − K₂ ≤ k)` of independent Poisson variables with means `up` and `down`: the sum over `K₂` of its
/// probability times `P(K₁ ≤ k + K₂)`, all of one sign; NaN where that takes more than a few million terms
/// (means above about 10¹⁰).
///
/// Relative error below 2e-13 for means up to 10⁴.
pub fn skellam_cdf(k: f64, up: f64, down: f64) -> f64 {
    if !(up >= 0.0 && down >= 0.0) || k.is_nan() || up.is_infinite() || down.is_infinite() {
        return f64::NAN;
    }
    if k.is_infinite() {
        return if k > 0.0 { 1.0 } else { 0.0 };
    }
    let k = k.floor();
    // Between the mean of K₂ and where the product of both probabilities is largest, and around.
    let bent = if k < 0.0 { peak(-k, down, up) - k } else { peak(k, up, down) };
    let spread = 12.0 * bent.max(down).sqrt() + 60.0;
    let from = (bent.min(down) - spread).max(-k).max(0.0).floor();
    let to = bent.max(down) + spread;
    if !(to - from <= MOST) {
        return f64::NAN;
    }
    let mut below = gamma_probabilities(k + from + 1.0, up).1;
    let mut sum = 0.0;
    // By their number, for beyond 2⁵³ adding 1 changes nothing.
    for step in 0..=(to - from) as u64 {
        let m = from + step as f64;
        sum += exp(log_poisson(m, down)) * below;
        below += exp(log_poisson(k + m + 1.0, up));
    }
    sum.min(1.0)
}
