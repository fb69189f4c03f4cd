//! Lower triangular matrices with a positive diagonal: the Cholesky factors of positive definite matrices.

use super::layout::{elements_below_diagonal, lower_triangle_of};
use crate::op::Var;

pub(super) fn holds(matrix: &[f64], n: usize) -> bool {
    let at = |i: usize, j: usize| matrix[i * n + j];
    (0..n).all(|i| at(i, i) > 0.0 && (i + 1..n).all(|j| at(i, j) == 0.0))
}

/// The elements below the diagonal, row after row, as they are, then `n` logarithms of the diagonal.
#[track_caller]
pub(super) fn constrain(u: Var<'_>, n: usize) -> Var<'_> {
    let (axis, below) = (u.shape().rank() - 1, n * n.saturating_sub(1) / 2);
    let elements = [u.slice(axis, ..below), u.slice(axis, below..).exp()];
    lower_triangle_of(u.graph().concat(&elements, axis), n)
}

/// `Σᵢ ln Lᵢᵢ`
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>, n: usize) -> Var<'_> {
    log_diagonal(u, n).sum_axis(u.shape().rank() - 1)
}

/// The logarithms of the diagonal.
#[track_caller]
pub(super) fn log_diagonal(u: Var<'_>, n: usize) -> Var<'_> {
    u.slice(u.shape().rank() - 1, n * n.saturating_sub(1) / 2..)
}

#[track_caller]
pub(super) fn unconstrain(l: Var<'_>) -> Var<'_> {
    let axis = l.shape().rank() - 2;
    l.graph().concat(&[elements_below_diagonal(l), l.diagonal().log()], axis)
}
