//! Weighted sums over the records of a tile, from rows of numbers: the one place that adds up over records.

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
        *sum += match rows.row(k, lanes) {
            Row::Lanes(row) => lane_product(weights, row),
            Row::One(value) => {
                let total: T = weights.iter().copied().sum();
                if total == T::zero() { T::zero() } else { total * value }
            }
        };
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
        match left.row(j, lanes) {
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
        direct(sums, scaled, right);
    }
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
