//! Weighted sums over the records of a tile, from rows of numbers: the one place that adds up over records.

use crate::op::linear::lane_product;
use crate::op::{Operand, Row};
use crate::plan::{Matrix, multiply};
use crate::scalar::Scalar;
use crate::simd::{self, dispatch};

/// Multiply-adds for each record from which on a weighted sum of products is a matrix product.
const LARGE_PRODUCT: usize = 512;

/// `sums_k += Σ_i c_i v_ik`; a weight of zero silences even a shared value that is not finite.
pub(super) fn direct<T: Scalar>(sums: &mut [T], weights: &[T], rows: Operand<'_, T>) {
    if !weights.is_empty() {
        dispatch(Direct { sums, weights, rows });
    }
}

struct Direct<'a, T> {
    sums: &'a mut [T],
    weights: &'a [T],
    rows: Operand<'a, T>,
}

impl<T: Scalar> simd::Work for Direct<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { sums, weights, rows } = self;
        match rows {
            Operand::Rows(rows) => {
                for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
                    *sum += lane_product(weights, row);
                }
            }
            Operand::Shared(values) => {
                let total: T = weights.iter().copied().sum();
                for (sum, &value) in sums.iter_mut().zip(values) {
                    *sum += if total == T::zero() { T::zero() } else { total * value };
                }
            }
        }
    }
}

/// `sums_jk += Σ_i c_i l_ij r_ik`; `scratch` holds as many numbers as `left`.
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
    let (height, width) = (left.rows(lanes), right.rows(lanes));
    let scaled = &mut scratch[..height * lanes];
    for (j, scaled) in scaled.chunks_exact_mut(lanes).enumerate() {
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
    }
    match right {
        Operand::Rows(right) if height > 1 && height * width >= LARGE_PRODUCT => {
            let right = Matrix::row_major(&right[..width * lanes], width, lanes).transposed();
            multiply(true, Matrix::row_major(scaled, height, lanes), right, &mut sums[..height * width]);
        }
        _ => {
            for (sums, scaled) in sums.chunks_exact_mut(width.max(1)).zip(scaled.chunks_exact(lanes)) {
                direct(sums, scaled, right);
            }
        }
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
