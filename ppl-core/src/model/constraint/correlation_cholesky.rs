//! Cholesky factors of correlation matrices: lower triangular, positive diagonal, rows of length 1.

use super::layout::{
    below_diagonal, elements_below_diagonal, lower_triangle_of, sums_before, sums_from, weighted_sum_last,
};
use super::lower_cholesky;
use super::simplex::rounding;
use crate::op::Var;
use ndarray::Array2;
use std::f64::consts::LN_2;

/// How far from 1 the squared length of a row of an `n × n` factor may be: as far as rounding in `f32` takes
/// it. The squares are the elements of a simplex, made like those, with logarithms that are doubled and
/// hyperbolic tangents of up to two units squared.
pub(super) fn tolerance(n: usize) -> f64 {
    2.0 * rounding(n)
}

pub(super) fn holds(matrix: &[f64], n: usize) -> bool {
    let squared = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>();
    lower_cholesky::holds(matrix, n)
        && matrix.chunks_exact(n.max(1)).all(|row| (squared(row) - 1.0).abs() <= tolerance(n))
}

/// `ln(1/cosh x)`
#[track_caller]
pub(super) fn log_sech(x: Var<'_>) -> Var<'_> {
    LN_2 - x - (-2.0 * x).softplus()
}

/// A stick of length 1 broken for each row, in squares: `Lᵢⱼ = tanh(xᵢⱼ) Π_{k<j} sech(xᵢₖ)` below the
/// diagonal, `Lᵢᵢ = Π_{k<i} sech(xᵢₖ)`, where `x` is `u` laid out below the diagonal, row after row.
#[track_caller]
pub(super) fn constrain(u: Var<'_>, n: usize) -> Var<'_> {
    let axis = u.shape().rank();
    let left = sums_before(lower_triangle_of(log_sech(u), n)).slice(axis, ..n).exp();
    (lower_triangle_of(u.tanh(), n) + u.graph().array(&Array2::eye(n).into_dyn())) * left
}

/// With respect to the elements below the diagonal. The derivative is triangular with
/// `sech²(xᵢⱼ) Π_{k<j} sech(xᵢₖ)` on its diagonal, so each `sech(xᵢⱼ)` is there `i − j + 1` times.
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>, n: usize) -> Var<'_> {
    weighted_sum_last(log_sech(u), below_diagonal(n).map(|(i, j)| (i - j + 1) as f64))
}

/// `sinh xᵢⱼ = Lᵢⱼ / √(Σ_{k>j} Lᵢₖ²)`: sums from the diagonal on lose no digits where differences from 1
/// would.
#[track_caller]
pub(super) fn unconstrain(l: Var<'_>) -> Var<'_> {
    let axis = l.shape().rank() - 1;
    let n = l.shape().dims()[axis];
    let after = sums_from(l.square()).slice(axis, 1.min(n)..).pad(axis, 0, 1.min(n));
    asinh(elements_below_diagonal(l) / elements_below_diagonal(after).sqrt())
}

/// The inverse of the hyperbolic sine: of numbers up to 1 by `½ ln((1 + r)/(1 − r))` with `r = a/√(1 + a²)`,
/// which keeps the digits of small ones; of larger ones by `ln(|a| + √(1 + a²))`.
#[track_caller]
fn asinh(a: Var<'_>) -> Var<'_> {
    let small = a.abs().less_equal(1.0);
    let (near, far) = (small.select(a, 0.0), small.select(1.0, a));
    let r = near / (1.0 + near.square()).sqrt();
    let length = far.abs();
    let of_far = far.sign() * (length + (1.0 + far.square()).sqrt()).log();
    small.select(0.5 * (r.log1p() - (-r).log1p()), of_far)
}
