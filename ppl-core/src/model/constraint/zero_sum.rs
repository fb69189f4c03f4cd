//! Vectors that sum to 0.

use super::simplex::rounding;
use crate::op::Var;

/// Whether a vector sums to 0 up to the rounding of `f32`: each element of size `|x|` may be off by as much as one of
/// a simplex is in proportion.
pub(super) fn holds(vector: &[f64]) -> bool {
    let sum: f64 = vector.iter().sum();
    let size: f64 = vector.iter().map(|x| x.abs()).sum();
    sum.abs() <= rounding(vector.len()) * size
}

/// `√n + n`, for `n` elements of a value.
fn divisor(n: usize) -> f64 {
    (n as f64).sqrt() + n as f64
}

/// `xₖ = uₖ − s/(n + √n)` for `k < n − 1` and `x₍ₙ₋₁₎ = −s/√n`, with `s = Σ uₖ`: an isometry onto the plane of vectors
/// that sum to 0.
#[track_caller]
pub(super) fn constrain(u: Var<'_>) -> Var<'_> {
    let (axis, shape) = (u.shape().rank() - 1, u.shape());
    let n = shape.dims()[axis] + 1;
    if n == 1 {
        return u.pad(axis, 0, 1);
    }
    let mut one = shape.dims().to_vec();
    one[axis] = 1;
    let sum = u.sum_axis(axis).reshape(one);
    u.graph().concat(&[u - sum / divisor(n), -sum / (n as f64).sqrt()], axis)
}

/// `uₖ = xₖ + s/(n + √n)` with `s = −√n x₍ₙ₋₁₎`.
#[track_caller]
pub(super) fn unconstrain(x: Var<'_>) -> Var<'_> {
    let axis = x.shape().rank() - 1;
    let n = x.shape().dims()[axis];
    if n == 1 {
        return x.slice(axis, ..0);
    }
    let sum = -(n as f64).sqrt() * x.slice(axis, n - 1..);
    x.slice(axis, ..n - 1) + sum / divisor(n)
}
