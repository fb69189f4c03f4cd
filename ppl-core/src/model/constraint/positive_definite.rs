//! Symmetric positive definite matrices, by way of their Cholesky factors.

use super::{layout::weighted_sum_last, lower_cholesky};
use crate::op::Var;
use std::f64::consts::LN_2;

/// Two elements that should be equal may differ by `2n u √(aᵢᵢ aⱼⱼ)` with `u = 2⁻²⁴`, as those of a product
/// `B Bᵀ` of `n` columns computed in `f32` may: each is off by up to `n u Σₖ |bᵢₖ bⱼₖ|`.
pub(super) fn tolerance(n: usize) -> f64 {
    2.0 * n as f64 * 2.0_f64.powi(-24)
}

fn symmetric(matrix: &[f64], n: usize) -> bool {
    let at = |i: usize, j: usize| matrix[i * n + j];
    let tolerance = tolerance(n);
    (0..n).all(|i| {
        (0..i)
            .all(|j| (at(i, j) - at(j, i)).abs() <= tolerance * at(i, i).abs().sqrt() * at(j, j).abs().sqrt())
    })
}

/// Whether a matrix is symmetric and has a Cholesky factor (of its lower triangle).
pub(super) fn holds(matrix: &[f64], n: usize) -> bool {
    symmetric(matrix, n) && {
        let mut factor = matrix.to_vec();
        (0..n).all(|j| {
            (j..n).all(|i| {
                let products: f64 = (0..j).map(|k| factor[i * n + k] * factor[j * n + k]).sum();
                let rest = matrix[i * n + j] - products;
                factor[i * n + j] = if i == j { rest.sqrt() } else { rest / factor[j * n + j] };
                i != j || rest > 0.0
            })
        })
    }
}

/// `A = L Lᵀ`
#[track_caller]
pub(super) fn constrain(u: Var<'_>, n: usize) -> Var<'_> {
    let l = lower_cholesky::constrain(u, n);
    l.matmul(l.matrix_transposed())
}

/// With respect to the lower triangle of `A`: `Πᵢ Lᵢᵢ` from the logarithms of the diagonal, and
/// `2ⁿ Πᵢ Lᵢᵢ^(n − i)`, `i = 0 … n − 1`, from the product (Muirhead, Aspects of Multivariate Statistical
/// Theory, 1982, theorem 2.1.9).
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>, n: usize) -> Var<'_> {
    let exponents = (0..n).map(|i| (n - i + 1) as f64);
    weighted_sum_last(lower_cholesky::log_diagonal(u, n), exponents) + n as f64 * LN_2
}

#[track_caller]
pub(super) fn unconstrain(a: Var<'_>) -> Var<'_> {
    lower_cholesky::unconstrain(a.cholesky())
}
