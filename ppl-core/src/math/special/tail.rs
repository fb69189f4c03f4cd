//! Quadrature of log-concave tails.

use super::nodes::NODES;
use crate::math::{exp, expm1, ln, ln1p};
use std::f64::consts::LN_2;

/// Where a tail is cut off: `e^−38` is less than half a unit in the last place of 1, weights included.
pub(super) const CUT: f64 = 38.0;

/// `ln(1 − eᵗ)` for `t ≤ 0`, by whichever of `eᵗ` and `1 − eᵗ` is small.
pub(super) fn log_of_rest(t: f64) -> f64 {
    if t > -LN_2 { ln(-expm1(t)) } else { ln1p(-exp(t)) }
}

/// `Σ weight · f(node)` over `[from, to]`.
#[inline(always)]
pub(super) fn panel(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let width = to - from;
    let mut values = [0.0; NODES.len()];
    for (value, (node, weight)) in values.iter_mut().zip(NODES) {
        *value = weight * f(from + width * node);
    }
    width * values.iter().sum::<f64>()
}

/// The `v > 0` with `h(v) = CUT`, or a little more, for a convex increasing `h` with `h(0) = 0`;
/// `h_and_slope` gives `h` and `h′`.
///
/// Newton's method on a convex function comes from above after its first step, wherever it starts.
#[inline(always)]
pub(super) fn reach(start: f64, h_and_slope: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut v = start;
    for _ in 0..60 {
        let (h, slope) = h_and_slope(v);
        let step = (h - CUT) / slope;
        v -= step;
        // Far to the right of the root h is all but straight there; a rough root will do.
        if step.abs() <= 0.02 * v || step.is_nan() {
            break;
        }
    }
    v
}
