//! The distribution function of the skew normal distribution, in logarithms.

use super::normal::{inverse_mills, log_ndtr};
use super::tail::{CUT, log_of_rest, panel, reach};
use crate::math::{exp, ln};
use std::f64::consts::{LN_2, TAU};

/// `ln ∫ 2 φ(t) Φ(αt) dt` for t from −∞ to z: Azzalini's distribution function, in both tails however far.
///
/// The density is log-concave, so it is the integral of the tail on the far side of z as seen from the mode. Error
/// below 1e-13 (1 + |ln F|), relative where F is near 1.
pub fn log_skew_normal_cdf(z: f64, alpha: f64) -> f64 {
    if z.is_nan() || !alpha.is_finite() {
        f64::NAN
    } else if z.is_infinite() {
        if z > 0.0 { 0.0 } else { z }
    } else if steepness(z, alpha) >= 0.0 {
        log_tail(z, alpha).min(0.0)
    } else {
        log_of_rest(log_tail(-z, -alpha).min(0.0))
    }
}

/// How fast the logarithm of the density grows at z.
fn steepness(z: f64, alpha: f64) -> f64 {
    alpha * inverse_mills(alpha * z) - z
}

/// The logarithm of the probability below a z left of the mode.
fn log_tail(z: f64, alpha: f64) -> f64 {
    let slope = steepness(z, alpha).max(0.0);
    // 2 CUT/(s + √(s² + 2 CUT)) is right of the root, for the fall is at least s v + v²/2.
    let start = 2.0 * CUT / (slope + (slope * slope + 2.0 * CUT).sqrt());
    if alpha * z > 0.0 {
        // Φ is near 1: nothing cancels.
        let log = log_ndtr(alpha * z);
        let fall = |v: f64| v * (0.5 * v - z) - (log_ndtr(alpha * (z - v)) - log);
        let to = reach(start, |v| (fall(v), v - z + alpha * inverse_mills(alpha * (z - v))));
        // It grows to 1 over a distance of its own, which may be short.
        let (first, second) = ((1.0 / alpha.abs()).min(to), (6.0 / alpha.abs()).min(to));
        let value = |v: f64| exp(-fall(v));
        let sum = panel(0.0, first, value) + panel(first, second, value) + panel(second, to, value);
        LN_2 - 0.5 * z * z - 0.5 * ln(TAU) + log + ln(sum)
    } else {
        // With the normal densities taken out of both, by Mills' ratio.
        let (spread, mills) = (1.0 + alpha * alpha, inverse_mills(alpha * z));
        let fall = |v: f64| spread * v * (0.5 * v - z) + ln(inverse_mills(alpha * (z - v)) / mills);
        let to = reach(start, |v| (fall(v), v - z + alpha * inverse_mills(alpha * (z - v))));
        let sum = panel(0.0, to, |v| exp(-fall(v)));
        LN_2 - 0.5 * spread * z * z - ln(TAU) - ln(mills) + ln(sum)
    }
}
