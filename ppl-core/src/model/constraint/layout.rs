//! Elements of the last axis in other places: vectors as triangles of matrices, and back.

use crate::op::Var;
use ndarray::{Array1, ArrayD};

/// The places below the diagonal of an `n × n` matrix, row after row: (1, 0), (2, 0), (2, 1), …
pub(super) fn below_diagonal(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..n).flat_map(|row| (0..row).map(move |column| (row, column)))
}

/// `n` where `n (n − 1)/2 = elements`; that of no elements is 1.
pub(super) fn order_below_diagonal(elements: usize) -> Option<usize> {
    let guess = ((1.0 + (1.0 + 8.0 * elements as f64).sqrt()) / 2.0).round() as usize;
    (guess.checked_mul(guess.checked_sub(1)?)? == elements.checked_mul(2)?).then_some(guess)
}

/// `n` where `n (n + 1)/2 = elements`.
pub(super) fn order_of_triangle(elements: usize) -> Option<usize> {
    if elements == 0 {
        return Some(0);
    }
    order_below_diagonal(elements).map(|n| n - 1).filter(|n| n * (n + 1) / 2 == elements)
}

/// The matrix `[…, n, n]` whose elements below the diagonal are those of a vector `[…, n(n−1)/2]`, row after
/// row, and whose other elements are 0; where the vector has `n` elements more, they are the diagonal.
#[track_caller]
pub(super) fn lower_triangle_of(vector: Var<'_>, n: usize) -> Var<'_> {
    let (shape, below) = (vector.shape(), n * n.saturating_sub(1) / 2);
    let elements = shape.dims().last().copied().unwrap_or(0);
    // The place after the last element holds a 0.
    let mut places = vec![elements; n * n];
    below_diagonal(n).enumerate().for_each(|(from, (i, j))| places[i * n + j] = from);
    if elements == below + n {
        (0..n).for_each(|i| places[i * (n + 1)] = below + i);
    }
    let axis = shape.rank() - 1;
    let mut dims = shape.dims()[..axis].to_vec();
    dims.extend([n, n]);
    take_last(vector.pad(axis, 0, 1), &places).reshape(dims)
}

/// The vector `[…, n(n−1)/2]` of the elements below the diagonal of `[…, n, n]`, row after row.
#[track_caller]
pub(super) fn elements_below_diagonal(matrix: Var<'_>) -> Var<'_> {
    let shape = matrix.shape();
    let [leading @ .., n, _] = shape.dims() else { return matrix };
    let places: Vec<usize> = below_diagonal(*n).map(|(i, j)| i * n + j).collect();
    let flat: Vec<usize> = leading.iter().copied().chain([n * n]).collect();
    take_last(matrix.reshape(flat), &places)
}

/// `out[…, k] = x[…, places[k]]`
#[track_caller]
fn take_last<'g>(x: Var<'g>, places: &[usize]) -> Var<'g> {
    let (graph, shape) = (x.graph(), x.shape());
    let index: ArrayD<f64> = places.iter().map(|&place| place as f64).collect::<Array1<f64>>().into_dyn();
    let index = graph.array(&index);
    let [leading @ .., elements] = shape.dims() else { return x };
    if leading.is_empty() {
        return x.gather(index);
    }
    let rows: usize = leading.iter().product();
    let taken = x.reshape([rows, *elements]).transpose().gather(index).transpose();
    taken.reshape(leading.iter().copied().chain([places.len()]).collect::<Vec<_>>())
}

/// `0, x₀, x₀ + x₁, …`: sums of what stands before each element along the last axis, and as the last one the
/// sum of all.
#[track_caller]
pub(super) fn sums_before(x: Var<'_>) -> Var<'_> {
    let axis = x.shape().rank() - 1;
    x.cumsum(axis).pad(axis, 1, 0)
}

/// Sums of each element and what stands after it, along the last axis.
#[track_caller]
pub(super) fn sums_from(x: Var<'_>) -> Var<'_> {
    let axis = x.shape().rank() - 1;
    x.flip(axis).cumsum(axis).flip(axis)
}

/// `Σₖ weightsₖ xₖ` along the last axis.
#[track_caller]
pub(super) fn weighted_sum_last<'g>(x: Var<'g>, weights: impl Iterator<Item = f64>) -> Var<'g> {
    let weights = x.graph().array(&weights.collect::<Array1<f64>>().into_dyn());
    (x * weights).sum_axis(x.shape().rank() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_triangular_numbers() {
        for n in 1..200_usize {
            assert_eq!(order_below_diagonal(n * (n - 1) / 2), Some(n));
            assert_eq!(order_of_triangle(n * (n + 1) / 2), Some(n));
            if n > 2 {
                assert_eq!(
                    (order_below_diagonal(n * (n - 1) / 2 + 1), order_of_triangle(n * (n + 1) / 2 + 1)),
                    (None, None)
                );
            }
        }
        assert_eq!(order_of_triangle(0), Some(0));
        assert_eq!(order_below_diagonal(usize::MAX), None);
    }
}
