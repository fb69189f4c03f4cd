//! Vectors of non-negative numbers that sum to 1.

use super::layout::{sums_before, sums_from, weighted_sum_last};
use crate::op::Var;

/// How far from 1 the sum of `n` elements may be: as far as rounding in `f32` (unit roundoff `u = 2⁻²⁴`)
/// takes it.
///
/// Of a vector that was divided by its sum that is `(n + 1)u` at most: `(n − 1)u` for the sum, `u` for the
/// division and `u` for a column. Of one that came from [`constrain`] it is more: the logarithm of an element
/// is a sum of up to `n` terms of one sign, each of a few units, so it is off by up to `(n + 4)u |ln x|`, and
/// `Σ x |ln x| ≤ ln n`; the exponential adds `2u`.
pub(super) fn rounding(n: usize) -> f64 {
    (n as f64 + 4.0) * (2.0 + (n as f64).ln()) * 2.0_f64.powi(-24)
}

pub(super) fn holds(vector: &[f64]) -> bool {
    let sum: f64 = vector.iter().sum();
    (sum - 1.0).abs() <= rounding(vector.len())
}

/// What is added to the unconstrained numbers: `−ln(n − k)`, `k = 0 … n − 1`, so that zeros are mapped to the
/// centre.
fn shift<'g>(like: Var<'g>) -> Var<'g> {
    let n = like.shape().dims().last().copied().unwrap_or(0);
    let values: ndarray::Array1<f64> = (0..n).map(|k| -((n - k) as f64).ln()).collect();
    like.graph().array(&values.into_dyn())
}

/// `xₖ = zₖ Π_{j<k} (1 − zⱼ)` with `zₖ = 1/(1 + e^−vₖ)`, `vₖ = uₖ − ln(n − k)`, and what is left for the last
/// element: in logarithms, so that an element is 0 only where it is too small for a number.
#[track_caller]
pub(super) fn constrain(u: Var<'_>) -> Var<'_> {
    let axis = u.shape().rank() - 1;
    let v = u + shift(u);
    (v.log_sigmoid().pad(axis, 0, 1) + sums_before(-v.softplus())).exp()
}

/// `∂x/∂u` is triangular with `xₖ (1 − zₖ)` on its diagonal: `−Σₖ (softplus(−vₖ) + (n − k) softplus(vₖ))`.
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>) -> Var<'_> {
    let n = u.shape().dims().last().copied().unwrap_or(0);
    let v = u + shift(u);
    -((-v).softplus().sum_axis(u.shape().rank() - 1)
        + weighted_sum_last(v.softplus(), (0..n).map(|k| (n - k) as f64)))
}

/// `uₖ = ln xₖ − ln Σ_{j>k} xⱼ + ln(n − k)`; where nothing is left to divide, 0.
#[track_caller]
pub(super) fn unconstrain(x: Var<'_>) -> Var<'_> {
    let shape = x.shape();
    let (axis, n) = (shape.rank() - 1, shape.dims().last().copied().unwrap_or(0));
    let (head, rest) = (x.slice(axis, ..n.saturating_sub(1)), sums_from(x).slice(axis, 1.min(n)..));
    let nothing = (head + rest).equal(0.0);
    let u = nothing.select(1.0, head).log() - nothing.select(1.0, rest).log();
    u - shift(u)
}
