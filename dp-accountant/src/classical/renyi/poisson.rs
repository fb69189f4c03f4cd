//! The Poisson-subsampled Gaussian mechanism under add/remove, at any order.

use super::super::log_space::{LogSum, log_binomial, log_one_plus_exp};

/// Orders up to here that are not integers are integrated; above it the curve is interpolated from above.
const INTEGRATED: f64 = 128.0;

/// `log A(order)`, which is (order - 1) times the Rényi divergence, for `order > 1` and a rate in (0, 1).
///
/// ```text
/// A(order) = E over x ~ N(0, σ²) of (1 - q + q e^t)^order,    t = (2x - 1)/(2σ²)
/// ```
///
/// This direction (removal) costs at least as much as the other at every order. At integers the binomial
/// theorem gives A - 1 = Σ_k C(order, k) (1-q)^(order-k) q^k (e^(k(k-1)/(2σ²)) - 1), a sum of positive terms
/// without the 1 that would swallow their digits. log A is convex in the order, so that between far integers
/// a chord bounds it from above.
///
/// # References
/// Mironov, Talwar and Zhang 2019, "Rényi Differential Privacy of the Sampled Gaussian Mechanism".
pub(super) fn log_moment(multiplier: f64, rate: f64, order: f64) -> f64 {
    if order.fract() == 0.0 {
        return at_integer(multiplier, rate, order);
    }
    if order <= INTEGRATED && multiplier >= SMALLEST_INTEGRATED {
        return by_integration(multiplier, rate, order);
    }
    let (below, share) = (order.floor(), order.fract());
    let at = |order| if order == 1.0 { 0.0 } else { at_integer(multiplier, rate, order) };
    (1.0 - share) * at(below) + share * at(below + 1.0)
}

/// Noise multipliers below this need too many nodes.
const SMALLEST_INTEGRATED: f64 = 0.1;

fn at_integer(multiplier: f64, rate: f64, order: f64) -> f64 {
    let (log_rate, log_rest) = (rate.ln(), (-rate).ln_1p());
    let half_precision = 0.5 / multiplier / multiplier;
    let mut sum = LogSum::new();
    let mut k = 2.0;
    while k <= order {
        let exponent = k * (k - 1.0) * half_precision;
        let grown =
            if exponent > 1.0 { exponent + (-(-exponent).exp()).ln_1p() } else { exponent.exp_m1().ln() };
        sum.add(log_binomial(order, k) + k * log_rate + (order - k) * log_rest + grown);
        k += 1.0;
    }
    log_one_plus_exp(sum.value())
}

/// The trapezoid rule for A - 1, the mean of f(u) = (1 + u)^order - 1 - order u at u = q (e^t - 1), which is
/// never negative; the mean of u is 0.
///
/// # Accuracy
/// The integrand is analytic for |Im x| < πσ² and there at most e^((Im x)²/(2σ²)) times a majorant with |u|
/// <= q (e^t + 1). By the classical bound the error of a step h is e^(d²/(2σ²) - 2πd/h) of the majorant's
/// integral for any d in that strip; the step makes this e^-60, and the majorant exceeds the integral by a
/// factor of about 4σ² + 4, which the step covers too.
fn by_integration(multiplier: f64, rate: f64, order: f64) -> f64 {
    use std::f64::consts::PI;
    let variance = multiplier * multiplier;
    let target = 60.0 + (4.0 * variance + 4.0).ln();
    // The best d is 2πσ²/h if that is inside the strip, otherwise its edge (here 95 % of it).
    let edge = 0.95 * PI * variance;
    let free = multiplier * (2.0 * PI * PI / target).sqrt();
    let step = if 2.0 * PI * variance / free <= edge {
        free
    } else {
        2.0 * PI * edge / (target + 0.5 * edge * edge / variance)
    };
    let log_term =
        |x: f64| log_excess(rate, order, (2.0 * x - 1.0) / (2.0 * variance)) - 0.5 * x * x / variance;
    let mut sum = LogSum::new();
    // The mass lies within 14 standard deviations of some point between 0 and order.
    let last = ((order + 14.0 * multiplier) / step).ceil() as i64;
    let first = -((14.0 * multiplier) / step).ceil() as i64;
    for node in first..=last {
        sum.add(log_term(node as f64 * step));
    }
    let log_norm = (step / (multiplier * (2.0 * PI).sqrt())).ln();
    log_one_plus_exp(sum.value() + log_norm)
}

/// `log((1 + u)^order - 1 - order u)` at `u = q (e^t - 1)`.
fn log_excess(rate: f64, order: f64, t: f64) -> f64 {
    let log_base = if t < 30.0 {
        (rate * t.exp_m1()).ln_1p()
    } else {
        // 1 - q + q e^t, where e^t dominates 1 or overflows.
        let log_scaled = rate.ln() + t;
        log_scaled.max(0.0) + (-log_scaled.abs()).exp().ln_1p()
    };
    let power = order * log_base;
    if power > 40.0 {
        // u is below e^(power / order), so that 1 + order u is small beside (1 + u)^order unless order is
        // near 1.
        let linear = (order.ln() + log_base - power).exp();
        return if linear < 0.5 { power + (-linear).ln_1p() } else { power };
    }
    let u = log_base.exp_m1();
    if u.abs() * order.max(1.0) < 0.05 {
        // order (order-1)/2 u² (1 + (order-2)/3 u (1 + (order-3)/4 u (...))), whose terms fall by 0.05 each.
        let mut series = 1.0;
        for k in (3..=14).rev() {
            series = 1.0 + (order - f64::from(k - 1)) / f64::from(k) * u * series;
        }
        return (0.5 * order * (order - 1.0) * u * u * series).ln();
    }
    (power.exp_m1() - order * u).ln()
}
