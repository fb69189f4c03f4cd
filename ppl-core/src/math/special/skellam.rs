//! The difference of two Poisson variables.

use super::{gamma_probabilities, log_gamma_p, log_gamma_q};
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

/// Below this the sum of a distribution function loses terms to underflow.
const SMALL: f64 = 1e-200;

/// The logarithm of [`skellam_cdf`], also where that is too small for a number: there the sum over `K₂ = m` is one of
/// products of both probabilities, by the largest, and of `P(K₁ ≤ n)/P(K₁ = n)` at `n = k + m`, which is
/// `1 + n/μ` times that at `n − 1`. NaN where that takes more than a few million terms.
///
/// Relative error below 1e-13 where the probability is small; near 1 that of the distribution function.
pub fn skellam_log_cdf(k: f64, up: f64, down: f64) -> f64 {
    let below = skellam_cdf(k, up, down);
    // NaN, too.
    if !(below < SMALL) || k.is_infinite() {
        return ln(below);
    }
    let k = k.floor();
    if down == 0.0 {
        return if k < 0.0 { f64::NEG_INFINITY } else { log_gamma_q(k + 1.0, up) };
    }
    if up == 0.0 {
        return if k < 0.0 { log_gamma_p(-k, down) } else { 0.0 };
    }
    // So far below the mean the terms fall off around the largest product at least as fast as a normal density of which
    // its number is the variance.
    let centre = (if k < 0.0 { peak(-k, down, up) - k } else { peak(k, up, down) }).floor().max(-k).max(0.0);
    let spread = 12.0 * centre.sqrt() + 60.0;
    let from = (centre - spread).max(-k).max(0.0).floor();
    let steps = centre + spread - from;
    if !(steps <= MOST) {
        return f64::NAN;
    }
    let product = |m: f64| log_poisson(m, down) + log_poisson(k + m, up);
    let largest = product(centre);
    let mut ratio = exp(log_gamma_q(k + from + 1.0, up) - log_poisson(k + from, up));
    let mut sum = 0.0;
    for step in 0..=steps as u64 {
        let m = from + step as f64;
        let weight = exp(product(m) - largest);
        if weight > 0.0 {
            sum += weight * ratio;
        } else if m > centre {
            break;
        }
        ratio = 1.0 + ratio * ((k + m + 1.0) / up);
    }
    largest + ln(sum)
}
