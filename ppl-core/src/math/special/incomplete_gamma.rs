//! Regularised incomplete gamma functions, their inverse, and how the inverse moves with the parameter.
//!
//! Everything is seen over l = ln x, where the gamma density D(l) = e^(al − eˡ)/Γ(a) is log-concave. From a
//! point below the mode (x < a) and above it,
//!
//! ```text
//! P = D ∫₀^∞ exp(−av + x(1 − e⁻ᵛ)) dv        Q = D ∫₀^∞ exp(av − x(eᵛ − 1)) dv
//! ```
//!
//! and derivatives with respect to a are the same integrals with the score ln t − ψ(a) as a weight. Below a =
//! 10 the first integral is the series of NIST DLMF 8.7.1.

use super::near_one::lgamma_of_1_plus;
use super::nodes::NODES;
use super::normal::{ndtri, ndtri_exp};
use super::tail::{CUT, log_of_rest, panel, reach};
use crate::math::{
    deviance, digamma, digamma_minus_log, exp, expm1, lgamma, ln, ln1p, stirling_error, trigamma,
};
use std::f64::consts::LN_2;

/// ½ ln 2π
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;
/// From here on Stirling's formula takes the large terms out of D, and the lower tail is integrated.
pub(super) const LARGE: f64 = 10.0;
/// Below this ln x the series is its first term, and the density is a power.
const POWER: f64 = -40.0;

/// The density D of ln X in logarithm, and the part of the distribution on the far side of x divided by D.
struct Tail {
    log_density: f64,
    side: Side,
}

enum Side {
    /// P/D
    Lower(f64),
    /// Q/D
    Upper(f64),
}

impl Tail {
    /// For finite a > 0, and x = eˡ, which may have underflowed to 0 or overflowed.
    fn new(a: f64, x: f64, l: f64) -> Self {
        let log_density = log_density(a, x, l);
        let side = if is_upper(a, x) {
            Side::Upper(upper_tail(a, x))
        } else if a < LARGE {
            Side::Lower(series(a, x).0 / a)
        } else {
            Side::Lower(lower_tail(a, x))
        };
        Self { log_density, side }
    }

    /// (ln P, ln Q)
    fn log_probabilities(&self, a: f64, x: f64, l: f64) -> (f64, f64) {
        match self.side {
            Side::Upper(ratio) => {
                let log_q = (self.log_density + ln(ratio)).min(0.0);
                (log_of_rest(log_q), log_q)
            }
            Side::Lower(ratio) => {
                let log_p = (self.log_density + ln(ratio)).min(0.0);
                if a < 1.0 && log_p > -LN_2 {
                    let q = small_upper(a, x, l);
                    (ln1p(-q), ln(q))
                } else {
                    (log_p, log_of_rest(log_p))
                }
            }
        }
    }

    /// (P, Q)
    fn probabilities(&self, a: f64, x: f64, l: f64) -> (f64, f64) {
        match self.side {
            Side::Upper(ratio) => {
                let q = exp(self.log_density + ln(ratio));
                (1.0 - q, q)
            }
            Side::Lower(ratio) => {
                let p = exp(self.log_density + ln(ratio));
                let q = if a < 1.0 && p > 0.5 { small_upper(a, x, l) } else { 1.0 - p };
                (p, q)
            }
        }
    }
}

/// Whether Q is integrated, and not P.
#[inline(always)]
pub(super) fn is_upper(a: f64, x: f64) -> bool {
    if a < LARGE { x > (a + 1.0).max(1.5) } else { x > a }
}

/// ln D = al − x − ln Γ(a)
fn log_density(a: f64, x: f64, l: f64) -> f64 {
    if a < LARGE {
        a * l - x - lgamma(a)
    } else {
        let fall = if x > 0.5 * a { deviance(a, x) } else { a * (ln(a) - l) + (x - a) };
        0.5 * ln(a) - HALF_LN_TWO_PI - stirling_error(a) - fall
    }
}

/// ln D for l = ln x, whether or not x can be represented: the log density of the logarithm of a gamma
/// variable.
///
/// Absolute error below 1e-15 (1 + |l| √a + |ln D|).
pub fn log_gamma_density(a: f64, l: f64) -> f64 {
    if a > 0.0 && a < f64::INFINITY { log_density(a, exp(l), l) } else { f64::NAN }
}

/// S = Σ xᵏ/((a + 1)…(a + k)), with P = D S/a, and its first two derivatives with respect to a.
fn series(a: f64, x: f64) -> (f64, f64, f64) {
    let (mut term, mut harmonic, mut squares) = (1.0, 0.0, 0.0);
    let (mut sum, mut slope, mut curvature) = (1.0, 0.0, 0.0);
    let mut k = a;
    for _ in 0..400 {
        k += 1.0;
        let inverse = k.recip();
        term *= x * inverse;
        harmonic += inverse;
        squares += inverse * inverse;
        sum += term;
        slope -= term * harmonic;
        curvature += term * (harmonic * harmonic + squares);
        if term * (1.0 + harmonic) * (1.0 + harmonic) <= 1e-17 * sum {
            break;
        }
    }
    (sum, slope, curvature)
}

/// A tail integral: ∫ exp(s a v − x(e^(s v) − 1)) dv from 0 to `to`, with s = −1 for the lower tail and 1 for the
/// upper one. Most of the work of this file is done here, by vectors of the machine at hand; the order of the sum
/// does not depend on them.
struct TailIntegral {
    a: f64,
    x: f64,
    side: f64,
    to: f64,
}

impl pulp::NullaryFnOnce for TailIntegral {
    type Output = f64;
    #[inline(always)]
    fn call(self) -> f64 {
        let Self { a, x, side, to } = self;
        let mut values = [0.0; NODES.len()];
        // Not a closure, which would not be compiled for the instruction set.
        for (value, (node, weight)) in values.iter_mut().zip(NODES) {
            let v = to * node;
            *value = weight * exp(side * a * v - x * expm1(side * v));
        }
        to * values.iter().sum::<f64>()
    }
}

/// A struct of its own, because a closure would be called through a function that is not inlined.
struct ByVectors(TailIntegral);

impl pulp::WithSimd for ByVectors {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        simd.vectorize(self.0)
    }
}

/// Where the lower tail ends.
#[inline(always)]
fn lower_reach(a: f64, x: f64) -> f64 {
    let distance = a - x;
    let start = 2.0 * CUT / (distance + (distance * distance + 2.0 * CUT * x).sqrt());
    reach(start, |v| {
        let fall = expm1(-v);
        (distance * v + x * (v + fall), distance - x * fall)
    })
}

/// Where the upper tail ends.
#[inline(always)]
fn upper_reach(a: f64, x: f64) -> f64 {
    let distance = x - a;
    let start = 2.0 * CUT / (distance + (distance * distance + 2.0 * CUT * x).sqrt());
    reach(start, |v| {
        let rise = expm1(v);
        (x * rise - a * v, distance + x * rise)
    })
}

/// ∫₀^∞ exp(−av + x(1 − e⁻ᵛ)) dv for x ≤ a
fn lower_tail(a: f64, x: f64) -> f64 {
    pulp::Arch::new().dispatch(ByVectors(TailIntegral { a, x, side: -1.0, to: lower_reach(a, x) }))
}

/// ∫₀^∞ exp(av − x(eᵛ − 1)) dv for x ≥ a, and x of 1 or more
fn upper_tail(a: f64, x: f64) -> f64 {
    pulp::Arch::new().dispatch(ByVectors(TailIntegral { a, x, side: 1.0, to: upper_reach(a, x) }))
}

/// ∫₀^∞ exp(−av + x(1 − e⁻ᵛ)) w(v) dv for x ≤ a
#[inline(always)]
fn lower(a: f64, x: f64, weight: impl Fn(f64) -> f64) -> f64 {
    let to = lower_reach(a, x);
    panel(0.0, to, |v| exp(-a * v - x * expm1(-v)) * weight(v))
}

/// ∫₀^∞ exp(av − x(eᵛ − 1)) w(v) dv for x ≥ a, and x of 1 or more
#[inline(always)]
fn upper(a: f64, x: f64, weight: impl Fn(f64) -> f64) -> f64 {
    let to = upper_reach(a, x);
    panel(0.0, to, |v| exp(a * v - x * expm1(v)) * weight(v))
}

/// Q for a < 1 and x up to about 2, where it may be as small as a: P = e^w (1 + aσ) with e^w = xᵃ/Γ(1 + a)
/// and σ = Σ (−x)ⁿ/((a + n) n!), n ≥ 1.
fn small_upper(a: f64, x: f64, l: f64) -> f64 {
    let w = a * l - lgamma_of_1_plus(a);
    let (mut term, mut sum) = (1.0, 0.0);
    for n in 1..60 {
        let n = f64::from(n);
        term *= -x / n;
        sum += term / (a + n);
        if term.abs() < 1e-18 {
            break;
        }
    }
    -expm1(w) - exp(w) * a * sum
}

/// P and Q at the edges; nothing inside.
fn edge(a: f64, x: f64) -> Option<(f64, f64)> {
    if !(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) {
        Some((f64::NAN, f64::NAN))
    } else if x == 0.0 {
        Some((0.0, 1.0))
    } else if a == 0.0 {
        Some((1.0, 0.0))
    } else if a == f64::INFINITY {
        Some(if x == f64::INFINITY { (f64::NAN, f64::NAN) } else { (0.0, 1.0) })
    } else if x == f64::INFINITY {
        Some((1.0, 0.0))
    } else {
        None
    }
}

/// (P(a, x), Q(a, x))
pub(crate) fn gamma_probabilities(a: f64, x: f64) -> (f64, f64) {
    edge(a, x).unwrap_or_else(|| {
        let l = ln(x);
        Tail::new(a, x, l).probabilities(a, x, l)
    })
}

/// (ln P(a, x), ln Q(a, x)), also where a probability is too small for a number.
pub(crate) fn log_gamma_probabilities(a: f64, x: f64) -> (f64, f64) {
    if let Some((p, q)) = edge(a, x) {
        return (ln(p), ln(q));
    }
    let l = ln(x);
    Tail::new(a, x, l).log_probabilities(a, x, l)
}

/// ln P(a, x), see [`gamma_p`].
///
/// Relative error below 1e-14 right of the mode; left of it an absolute one of 1e-15 (1 + |ln x| √a + |ln P|).
pub fn log_gamma_p(a: f64, x: f64) -> f64 {
    log_gamma_probabilities(a, x).0
}

/// ln Q(a, x), see [`gamma_q`].
pub fn log_gamma_q(a: f64, x: f64) -> f64 {
    log_gamma_probabilities(a, x).1
}

/// P(a, x) = γ(a, x)/Γ(a), the lower regularised incomplete gamma function (NIST DLMF 8.2.4).
pub fn gamma_p(a: f64, x: f64) -> f64 {
    gamma_probabilities(a, x).0
}

/// Q(a, x) = Γ(a, x)/Γ(a) = 1 − P(a, x).
pub fn gamma_q(a: f64, x: f64) -> f64 {
    gamma_probabilities(a, x).1
}

/// The derivative of ∂ ln x/∂a at constant P with respect to a, at constant x = eˡ.
///
/// −∂P/∂a = D · (∂ ln x/∂a), where D is the density of ln X, so neither the density nor the probability has to be
/// representable.
fn curvature(a: f64, l: f64) -> f64 {
    if !(a > 0.0 && a < f64::INFINITY && l < f64::INFINITY && l > f64::NEG_INFINITY) {
        return f64::NAN;
    }
    let x = exp(l);
    if x == f64::INFINITY {
        return 0.0;
    }
    if a < LARGE && !is_upper(a, x) {
        // That of −(D S/a)ₐ/D with Dₐ/D = l − ψ(a) and ψ(a) = ψ(a + 1) − 1/a
        let score = l - digamma(a + 1.0);
        let (sum, first, next) = series(a, x);
        let value = -(score * sum + first) / a;
        return (trigamma(a + 1.0) * sum - score * first - next - value) / a;
    }
    // l − ψ(a), the digits of which cancel for large a if x is near a
    let near = (x - a) / a;
    let ratio = if near > -0.5 && near < 1.0 { ln1p(near) } else { l - ln(a) };
    let score = ratio - digamma_minus_log(a);
    let trigamma = trigamma(a);
    match is_upper(a, x) {
        true => upper(a, x, |v| v * (score + v) - trigamma),
        false => lower(a, x, |v| trigamma - v * (v - score)),
    }
}

/// The derivative of [`gamma_slope`](super::gamma_slope) with respect to a, at constant l.
pub fn gamma_curvature(a: f64, l: f64) -> f64 {
    curvature(a, l)
}

/// The l with P(a, eˡ) = p; −∞ at p = 0, ∞ at 1, NaN outside.
pub fn log_gamma_p_inverse(a: f64, p: f64) -> f64 {
    inverse(a, p, 1.0 - p)
}

/// The l with Q(a, eˡ) = q; ∞ at q = 0, −∞ at 1, NaN outside.
pub fn log_gamma_q_inverse(a: f64, q: f64) -> f64 {
    inverse(a, 1.0 - q, q)
}

/// The l with ln P(a, eˡ) = log_p ≤ 0, also where that is the logarithm of no number.
pub fn log_gamma_p_inverse_of_log(a: f64, log_p: f64) -> f64 {
    inverse_of_logs(a, log_p, log_of_rest(log_p))
}

/// The l with ln Q(a, eˡ) = log_q ≤ 0.
pub fn log_gamma_q_inverse_of_log(a: f64, log_q: f64) -> f64 {
    inverse_of_logs(a, log_of_rest(log_q), log_q)
}

fn inverse_of_logs(a: f64, log_p: f64, log_q: f64) -> f64 {
    if !(a > 0.0 && a < f64::INFINITY && log_p <= 0.0 && log_q <= 0.0) {
        return f64::NAN;
    }
    if log_p == f64::NEG_INFINITY || log_q == f64::NEG_INFINITY {
        return if log_p < log_q { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let upper_half = log_q < log_p;
    let (normal, target) = if upper_half { (-ndtri_exp(log_q), log_q) } else { (ndtri_exp(log_p), log_p) };
    inverse_by_newton(a, log_p, || normal, (upper_half, target))
}

/// The l with P(a, eˡ) = p and Q(a, eˡ) = q = 1 − p, of which the smaller is exact.
fn inverse(a: f64, p: f64, q: f64) -> f64 {
    if !(a > 0.0 && a < f64::INFINITY && p >= 0.0 && q >= 0.0) {
        return f64::NAN;
    }
    if p == 0.0 || q == 0.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let log_p = if p < 0.5 { ln(p) } else { ln1p(-q) };
    let normal = || if p < 0.5 { ndtri(p) } else { -ndtri(q) };
    inverse_by_newton(a, log_p, normal, if p > 0.5 { (true, ln(q)) } else { (false, ln(p)) })
}

/// The same by ln P, the normal quantile, and what is to be reached: whether it is ln Q, and its value.
fn inverse_by_newton(
    a: f64,
    log_p: f64,
    normal: impl FnOnce() -> f64,
    (upper_half, target): (bool, f64),
) -> f64 {
    // P = e^(al)/Γ(a + 1) where x is small, and less everywhere.
    let power = (log_p + lgamma_of_1_plus(a)) / a;
    if power < POWER {
        return power;
    }
    let mut l = start(a, normal(), power);
    let unit = a.max(1.0).sqrt();
    for _ in 0..200 {
        let x = exp(l);
        let tail = Tail::new(a, x, l);
        // ln P or ln Q, its derivative, and the second divided by the first.
        let (value, slope) = match (&tail.side, upper_half) {
            (Side::Lower(ratio), false) => (tail.log_density + ln(*ratio), ratio.recip()),
            (Side::Upper(ratio), true) => (tail.log_density + ln(*ratio), -ratio.recip()),
            (_, true) => {
                let q = tail.probabilities(a, x, l).1;
                (ln(q), -exp(tail.log_density) / q)
            }
            (_, false) => {
                let p = tail.probabilities(a, x, l).0;
                (ln(p), exp(tail.log_density) / p)
            }
        };
        let newton = (value - target) / slope;
        let bend = 1.0 - 0.5 * newton * ((a - x) - slope);
        // Both functions are concave: Newton's method converges from anywhere, unless it is thrown far out
        // where they are flat.
        let step = (newton / bend.max(0.5)).clamp(-1.0, 3.0);
        l -= step;
        if !(step.abs() * unit > 3e-6) {
            break;
        }
    }
    l
}

/// A first guess, good to a few thousandths for moderate a: the normal approximation to the cube root of
/// Wilson and Hilferty.
fn start(a: f64, normal: f64, power: f64) -> f64 {
    if a < 0.7 {
        return power;
    }
    let spread = (9.0 * a).recip();
    let root = 1.0 - spread + normal * spread.sqrt();
    if root > 0.1 { (ln(a) + 3.0 * ln(root)).max(power) } else { power }
}
