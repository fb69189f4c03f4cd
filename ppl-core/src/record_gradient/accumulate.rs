//! Weighted sums over the records of a tile, from rows of numbers: the one place that adds up over records.

use super::contribution::Factor;
use crate::op::linear::lane_product;
use crate::op::{Operand, Row};
use crate::scalar::Scalar;

/// `sums_k += Σ_i c_i v_ik`; a weight of zero silences even a shared value that is not finite.
pub(super) fn direct<T: Scalar>(sums: &mut [T], weights: &[T], rows: Operand<'_, T>) {
    let lanes = weights.len();
    if lanes == 0 {
        return;
    }
    for (k, sum) in sums.iter_mut().enumerate() {
        add_up(sum, weights, rows.row(k, lanes));
    }
}

/// `sums_jk += Σ_i c_i l_ij r_ik`; `scratch` holds a number for each record.
pub(super) fn product<T: Scalar>(
    sums: &mut [T],
    weights: &[T],
    left: Operand<'_, T>,
    right: Operand<'_, T>,
    scratch: &mut [T],
) {
    let lanes = weights.len();
    if lanes == 0 {
        return;
    }
    let scaled = &mut scratch[..lanes];
    let width = right.rows(lanes).max(1);
    for (j, sums) in sums.chunks_exact_mut(width).enumerate() {
        weigh(scaled, weights, left.row(j, lanes));
        direct(sums, scaled, right);
    }
}

/// Where the elements of a sum over positions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strides {
    pub(super) positions: usize,
    pub(super) columns: usize,
    /// Steps from one element of a factor to the next, and from one position to the next.
    left: [usize; 2],
    right: [usize; 2],
}

impl Strides {
    pub(super) fn new(left: Factor<'_>, right: Factor<'_>) -> Self {
        let steps = |factor: Factor<'_>| {
            let [positions, length] = factor.sizes();
            if factor.positions_last { [positions, 1] } else { [1, length] }
        };
        let ([positions, _], [_, columns]) = (left.sizes(), right.sizes());
        Self { positions, columns, left: steps(left), right: steps(right) }
    }

    /// Element `j` of the left factor at position `t`.
    pub(super) fn left(&self, j: usize, t: usize) -> usize {
        j * self.left[0] + t * self.left[1]
    }

    /// Element `k` of the right factor at position `t`.
    pub(super) fn right(&self, k: usize, t: usize) -> usize {
        k * self.right[0] + t * self.right[1]
    }
}

/// `sums_jk += Σ_i c_i Σ_t l_itj r_itk`; `scratch` holds a number for each record.
pub(super) fn positions<T: Scalar>(
    sums: &mut [T],
    weights: &[T],
    left: Operand<'_, T>,
    right: Operand<'_, T>,
    strides: Strides,
    scratch: &mut [T],
) {
    let lanes = weights.len();
    if lanes == 0 {
        return;
    }
    let scaled = &mut scratch[..lanes];
    for (j, sums) in sums.chunks_exact_mut(strides.columns.max(1)).enumerate() {
        for t in 0..strides.positions {
            weigh(scaled, weights, left.row(strides.left(j, t), lanes));
            for (k, sum) in sums.iter_mut().enumerate() {
                add_up(sum, scaled, right.row(strides.right(k, t), lanes));
            }
        }
    }
}

/// `scaled_i = c_i l_i`
#[inline]
fn weigh<T: Scalar>(scaled: &mut [T], weights: &[T], left: Row<'_, T>) {
    match left {
        Row::Lanes(left) => {
            for ((scaled, &weight), &left) in scaled.iter_mut().zip(weights).zip(left) {
                *scaled = weight * left;
            }
        }
        Row::One(left) => {
            for (scaled, &weight) in scaled.iter_mut().zip(weights) {
                // A record that was taken out must stay out, whatever it would be multiplied with.
                *scaled = if weight == T::zero() { weight } else { weight * left };
            }
        }
    }
}

/// `sum += Σ_i c_i x_i`
#[inline]
fn add_up<T: Scalar>(sum: &mut T, weights: &[T], row: Row<'_, T>) {
    *sum += match row {
        Row::Lanes(row) => lane_product(weights, row),
        Row::One(value) => {
            let total: T = weights.iter().copied().sum();
            if total == T::zero() { T::zero() } else { total * value }
        }
    };
}

/// `sums += D ∘ part`, where a part of zero stays zero whatever it is multiplied with.
pub(super) fn rescale<T: Scalar>(sums: &mut [T], part: &[T], scale: Option<&[T]>) {
    match scale {
        None => sums.iter_mut().zip(part).for_each(|(sum, &part)| *sum += part),
        Some(scale) => {
            for ((sum, &part), &scale) in sums.iter_mut().zip(part).zip(scale) {
                *sum += if part == T::zero() { T::zero() } else { scale * part };
            }
        }
    }
}
