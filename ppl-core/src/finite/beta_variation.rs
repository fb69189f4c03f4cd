//! The total variation distance of two Beta distributions.

use super::conjugate::ln_gamma;
use super::{Beta, Divergence, Interval, TotalVariation};
use crate::math;

/// The difference of the distribution functions where the densities cross. It is stationary there, so that the
/// place need not be known to more than half of the digits. Distribution functions are wrong by about 10⁻¹⁴ and are
/// taken to be by 10⁻¹²; that is measured, not proven.
impl Divergence<Beta> for TotalVariation {
    fn between(p: &Beta, q: &Beta) -> Interval {
        let ((a, b), (c, d)) = (p.parameters(), q.parameters());
        if (a, b) == (c, d) {
            return Interval::ZERO;
        }
        let log_beta = |a: f64, b: f64| (ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)).estimate();
        let constant = log_beta(c, d) - log_beta(a, b);
        let (along, across) = (a - c, b - d);
        // ln p − ln q has at most one turning point, so at most one zero on each side of it.
        let log_ratio = |x: f64| {
            let term = |factor: f64, x: f64| if factor == 0.0 { 0.0 } else { factor * math::ln(x) };
            term(along, x) + term(across, 1.0 - x) + constant
        };
        let turn = along / (along + across);
        let turn = if turn > 0.0 && turn < 1.0 { turn } else { 1.0 };
        let difference = |x: Option<f64>| x.map_or(0.0, |x| math::beta_i(a, b, x) - math::beta_i(c, d, x));
        let below = zero(&log_ratio, 0.0, turn);
        let above = if turn < 1.0 { zero(&log_ratio, turn, 1.0) } else { None };
        let distance = (difference(below) - difference(above)).abs();
        Interval::between((distance - 1e-12).max(0.0), (distance + 1e-12).min(1.0))
    }
}

/// The place between two points where a monotone function changes its sign, by bisection.
fn zero(function: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> Option<f64> {
    let positive = function(low) > 0.0;
    if (function(high) > 0.0) == positive {
        return None;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if (function(middle) > 0.0) == positive { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}
