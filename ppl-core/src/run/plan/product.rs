//! Matrix products, by the library that `ndarray` uses (blocked, packed, and compiled for the instruction set
//! at hand).

use crate::machine::Scalar;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// Multiply-adds for each record from which on products of arrays, and weighted sums of them, go to the
/// library.
pub(crate) const LARGE_PRODUCT: usize = 512;

/// A matrix in a slice: lengths and strides of rows and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) shape: (usize, usize),
    pub(crate) strides: (usize, usize),
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix whose rows follow each other.
    pub(crate) fn row_major(values: &'a [T], rows: usize, columns: usize) -> Self {
        Self { values, shape: (rows, columns), strides: (columns, 1) }
    }

    /// The same numbers, rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let ((rows, columns), (row, column)) = (self.shape, self.strides);
        Self { values: self.values, shape: (columns, rows), strides: (column, row) }
    }

    fn view(self) -> Option<ArrayView2<'a, T>> {
        ArrayView2::from_shape(self.shape.strides(self.strides), self.values).ok()
    }
}

/// `out ← keep · out + left · right` for a row-major `out`; `keep` is 0 or 1.
///
/// A multiplication by zero is a multiplication: what is not finite shows in the result. If the shapes do not
/// go together, which no plan lets happen, the result is NaN.
pub(crate) fn multiply<T: Scalar>(keep: bool, left: Matrix<'_, T>, right: Matrix<'_, T>, out: &mut [T]) {
    let shape = (left.shape.0, right.shape.1);
    if shape.0 * shape.1 == 0 {
        return;
    }
    if left.shape.1 == 0 {
        // An empty sum.
        if !keep {
            out.fill(T::zero());
        }
        return;
    }
    let views = (left.view(), right.view(), ArrayViewMut2::from_shape(shape, &mut *out).ok());
    if let (Some(left), Some(right), Some(mut out)) = views
        && left.ncols() == right.nrows()
    {
        let keep = if keep { T::one() } else { T::zero() };
        general_mat_mul(T::one(), &left, &right, keep, &mut out);
    } else {
        out.fill(T::nan());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sums of products in f64, and the sums of their sizes, which bound the rounding error.
    fn slow(left: Matrix<'_, f32>, right: Matrix<'_, f32>) -> Vec<(f64, f64)> {
        let at =
            |m: Matrix<'_, f32>, i: usize, j: usize| f64::from(m.values[i * m.strides.0 + j * m.strides.1]);
        let ((rows, depth), columns) = (left.shape, right.shape.1);
        let entry = |index: usize| {
            let (i, j) = (index / columns, index % columns);
            let terms = (0..depth).map(|k| at(left, i, k) * at(right, k, j));
            terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
        };
        (0..rows * columns).map(entry).collect()
    }

    proptest! {
        #[test]
        fn products_are_what_they_are_defined_to_be(
            (rows, depth, columns) in (1..40usize, 0..70usize, 1..40usize),
            (left_transposed, right_transposed, keep) in (any::<bool>(), any::<bool>(), any::<bool>()),
            seed in any::<u32>(),
        ) {
            let number = |k: usize| ((k as f32 + 1.0) * (1.0 + seed as f32 / 1e9) * 12.9898).sin();
            let numbers = |count: usize, from: usize| -> Vec<f32> { (0..count).map(|k| number(k + from)).collect() };
            let (left, right) = (numbers(rows * depth, 0), numbers(depth * columns, 9999));
            let left = match left_transposed {
                true => Matrix::row_major(&left, depth, rows).transposed(),
                false => Matrix::row_major(&left, rows, depth),
            };
            let right = match right_transposed {
                true => Matrix::row_major(&right, columns, depth).transposed(),
                false => Matrix::row_major(&right, depth, columns),
            };
            let mut out = vec![0.5; rows * columns];
            multiply(keep, left, right, &mut out);
            for (out, (sum, size)) in out.iter().zip(slow(left, right)) {
                let expected = sum + if keep { 0.5 } else { 0.0 };
                let bound = (depth as f64 + 2.0) * f64::from(f32::EPSILON) * (size + 0.5);
                prop_assert!((f64::from(*out) - expected).abs() <= bound, "{out} against {expected}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_not_lost() {
        let left = [0.0, 0.0, 1.0, 2.0];
        let right = [f64::NAN, 1.0, 1.0, f64::INFINITY];
        let mut out = [0.0; 4];
        multiply(false, Matrix::row_major(&left, 2, 2), Matrix::row_major(&right, 2, 2), &mut out);
        assert!(out[0].is_nan() && out[1].is_nan() && out[2].is_nan() && out[3] == f64::INFINITY);
    }
}
