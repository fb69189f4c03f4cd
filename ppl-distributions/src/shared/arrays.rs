//! Array programs that several distributions share: sums over events, matrices applied to vectors of a batch.

use ppl_core::{Distribution, Error, Graph, Result, Shape, Source, Var};

/// `ln 2π`
pub(crate) const LOG_2PI: f64 = 1.837_877_066_409_345_5;

/// Sums over the last `axes` axes.
#[track_caller]
pub(crate) fn sum_last(x: Var<'_>, axes: usize) -> Var<'_> {
    let shape = x.shape();
    // A value of lower rank stands for an operation that has failed.
    let Some(kept) = shape.rank().checked_sub(axes) else { return x };
    let mut dims = shape.dims().to_vec();
    dims[kept..].fill(1);
    x.sum_to(dims.clone()).reshape(&dims[..kept])
}

/// A new last axis of length 1.
#[track_caller]
pub(crate) fn column(x: Var<'_>) -> Var<'_> {
    x.reshape(x.shape().concat(&Shape::from(1)))
}

/// The last two axes exchanged.
#[track_caller]
pub(crate) fn transposed(matrix: Var<'_>) -> Var<'_> {
    let rank = matrix.shape().rank();
    let order: Vec<usize> = (0..rank.saturating_sub(2)).chain((rank.saturating_sub(2)..rank).rev()).collect();
    matrix.permute(order)
}

/// `0, 1, …, n − 1`
pub(crate) fn counting(graph: &Graph, n: usize) -> Var<'_> {
    constants(graph, (0..n).map(|k| k as f64))
}

/// A vector of numbers known while tracing.
pub(crate) fn constants(graph: &Graph, values: impl Iterator<Item = f64>) -> Var<'_> {
    // `gather` and broadcasts of an array need its values and nothing of where they come from.
    graph.array(&values.collect::<ndarray::Array1<f64>>().into_dyn())
}

/// The identity of order `n`.
pub(crate) fn identity(graph: &Graph, n: usize) -> Var<'_> {
    graph.array(&ndarray::Array2::eye(n).into_dyn())
}

/// All axes but the last `axes`; all of them if there are fewer.
pub(crate) fn leading(shape: &Shape, axes: usize) -> Shape {
    Shape::from(&shape.dims()[..shape.rank().saturating_sub(axes)])
}

/// The last `axes` axes; nothing if there are fewer.
pub(crate) fn last(shape: &Shape, axes: usize) -> Shape {
    Shape::from(&shape.dims()[shape.rank().checked_sub(axes).unwrap_or(shape.rank())..])
}

/// `xᵀ M` for each vector `x`: `[…, n]` and `[batch…, n, m]` give `[…, m]`.
#[track_caller]
pub(crate) fn vectors_times<'g>(x: Var<'g>, matrix: Var<'g>) -> Var<'g> {
    if matrix.shape().rank() <= 2 {
        return x.matmul(matrix);
    }
    let rows = leading(&x.shape(), 1).concat(&Shape::from(1)).concat(&last(&x.shape(), 1));
    let product = x.reshape(rows).matmul(matrix);
    let shape = leading(&product.shape(), 2).concat(&last(&product.shape(), 1));
    product.reshape(shape)
}

/// `solve(A, x)` for each vector `x` of `[prefix…, batch…, n]` and the matrix `A` of its place in the batch,
/// `[batch…, n, n]`: the axes of the prefix become columns of right sides, so that no matrix is repeated.
#[track_caller]
pub(crate) fn solve_vectors<'g>(
    matrix: Var<'g>,
    x: Var<'g>,
    solve: impl Fn(Var<'g>, Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let (event, batch) = (last(&matrix.shape(), 1), leading(&matrix.shape(), 2));
    let together = leading(&x.shape(), 1).broadcast(&batch).unwrap_or(batch.clone());
    let x = x.broadcast_to(together.concat(&event));
    let (prefix, batch) = (leading(&together, batch.rank()), last(&together, batch.rank()));
    let matrix = matrix.broadcast_to(batch.concat(&event).concat(&event));
    if prefix.is_scalar() || x.shape().rank() != together.rank() + 1 {
        return solve(matrix, x);
    }
    // [prefix, batch, n] → [batch, n, prefix], and back.
    let (p, rank) = (prefix.rank(), together.rank() + 1);
    let columns = x.permute((p..rank).chain(0..p).collect::<Vec<_>>());
    let flat = batch.concat(&event).concat(&Shape::from(prefix.elements()));
    let solved = solve(matrix, columns.reshape(flat)).reshape(columns.shape());
    solved.permute((rank - p..rank).chain(0..rank - p).collect::<Vec<_>>())
}

/// The shape of batches of `[…, n]` vectors (or one number for all elements) and `[…, n, n]` matrices
/// together.
///
/// # Errors
/// If the matrix is not square, or the vector is of another length, or their leading axes do not go together.
#[track_caller]
pub(crate) fn batch_of(operation: &'static str, vector: &Shape, matrix: &Shape) -> Result<Shape> {
    let source_line = Source::caller();
    match matrix.dims() {
        [.., n, m] if n == m && *n > 0 => {}
        _ => {
            let expected = "a square matrix of at least one row".to_owned();
            return Err(Error::UnexpectedShape { operation, expected, got: matrix.clone(), source_line });
        }
    }
    let mismatch =
        || Error::ShapeMismatch { operation, left: vector.clone(), right: matrix.clone(), source_line };
    let event = last(matrix, 1);
    if vector.broadcast(&event).map(|together| last(&together, 1)) != Some(event) {
        return Err(mismatch());
    }
    leading(vector, 1).broadcast(&leading(matrix, 2)).ok_or_else(mismatch)
}

/// Two shapes that must go together.
#[track_caller]
pub(crate) fn together(operation: &'static str, left: &Shape, right: &Shape) -> Result<Shape> {
    let source_line = Source::caller();
    left.broadcast(right).ok_or_else(|| Error::ShapeMismatch {
        operation,
        left: left.clone(),
        right: right.clone(),
        source_line,
    })
}

/// `batch_shape ++ event_shape`, as far as it is known.
pub(crate) fn whole_shape<'g>(distribution: &impl Distribution<'g>) -> Shape {
    distribution.batch_shape().unwrap_or_default().concat(&distribution.event_shape())
}
