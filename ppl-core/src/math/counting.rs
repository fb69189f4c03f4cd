//! What densities of counts are made of beside remainders of Stirling's formula (`stirling`): x ln(x/m)
//! without its leading terms, which cancel where counts are large.
//!
//! `ln p(k) = −ln k! + k ln λ − λ` subtracts numbers of size k ln k from each other. Taken apart as C. Loader
//! did ("Fast and accurate computation of binomial probabilities", 2000), into what is left of ln k! and a
//! deviance, no part is larger than the result needs.

use super::logarithm::{ln, quotient_parts};
use super::real::{Real, select};
use super::stirling::log_factorial_remainder;

/// `ln [Γ(k + c)/(k! Γ(c)) (m/(m + c))ᵏ (c/(m + c))ᶜ]` for a count `k`, a mean `m > 0` and a concentration `c > 0`, by
/// deviances: `ln(c/N) + R(N) − R(k) − R(c) − D(k, Nm/(m + c)) − D(c, Nc/(m + c))` with `N = k + c`.
pub fn negative_binomial_by_mean(k: f64, mean: f64, concentration: f64) -> f64 {
    let all = k + concentration;
    let ratio = all / (mean + concentration);
    let left =
        log_factorial_remainder(all) - log_factorial_remainder(k) - log_factorial_remainder(concentration);
    let deviances = deviance(k, mean * ratio) + deviance(concentration, concentration * ratio);
    ln(concentration / all) + left - deviances
}

/// x ln(x/m) + m − x ≥ 0 for x, m ≥ 0: how far a count x lies from its expectation m. It is m at x = 0, ∞ at
/// m = 0 < x, and NaN beyond these.
///
/// With x/m = 2ᵏ (1 + v)/(1 − v) and |v| ≤ 0.1716, it is (x − m) v + 2x v³ (1/3 + v²/5 + …) where k = 0, whose first
/// factor is exact, and x (k ln 2 + 2 atanh v) − (x − m) elsewhere.
///
/// Measured maximum error: 14 ulp in `f64`, 16 ulp in `f32`, beside the ends of that interval.
#[inline(always)]
pub fn deviance<T: Real>(x: T, m: T) -> T {
    let zero = T::of(0.0);
    let difference = x - m;
    let (v, k) = quotient_parts(x, m);
    let square = v * v;
    let rest = v * square * T::ln_rest(square);
    let near = difference * v + x * rest;
    let log = k * T::LN_2_HIGH + ((v + v) + (rest + k * T::LN_2_LOW));
    let result = select(k == zero, near, x * log - difference);
    let result = select((x == zero) | (m == T::INFINITY), m, result);
    let result = select((m == zero) & (x > zero), T::INFINITY, result);
    let inside = (x >= zero) & (x < T::INFINITY) & (m >= zero);
    select(inside, result, T::NAN)
}
