//! Correlation matrices, by way of their Cholesky factors.

use super::correlation_cholesky::{self, log_sech};
use super::layout::{below_diagonal, weighted_sum_last};
use super::positive_definite;
use super::simplex::rounding;
use crate::op::Var;

/// How far from 1 an element of the diagonal may be: as far as the squared length of a row of a factor.
pub(super) fn tolerance(n: usize) -> f64 {
    2.0 * rounding(n)
}

pub(super) fn holds(matrix: &[f64], n: usize) -> bool {
    (0..n).all(|i| (matrix[i * (n + 1)] - 1.0).abs() <= tolerance(n)) && positive_definite::holds(matrix, n)
}

/// `R = L Lᵀ`
#[track_caller]
pub(super) fn constrain(u: Var<'_>, n: usize) -> Var<'_> {
    let l = correlation_cholesky::constrain(u, n);
    l.matmul(l.matrix_transposed())
}

/// With respect to the elements below the diagonal of `R`: that of the factor, times `Πᵢ Lᵢᵢ^(n − 1 − i)` from the
/// product, of whose logarithms each `sech(xᵢⱼ)` is in one. Together it is there `n − j` times.
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>, n: usize) -> Var<'_> {
    weighted_sum_last(log_sech(u), below_diagonal(n).map(|(_, j)| (n - j) as f64))
}

#[track_caller]
pub(super) fn unconstrain(r: Var<'_>) -> Var<'_> {
    correlation_cholesky::unconstrain(r.cholesky())
}
