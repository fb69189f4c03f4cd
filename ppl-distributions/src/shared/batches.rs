//! Batch shapes of distributions that have vectors for parameters.

use ppl_core::{Error, Result, Shape, Source, Value};

/// The shape of a parameter of single numbers together with that of a parameter of vectors less its last
/// axis, which has `least` elements at least.
#[track_caller]
pub(crate) fn batch_of_vectors(
    distribution: &'static str,
    numbers: Value<'_>,
    vectors: Value<'_>,
    least: usize,
) -> Result<Shape> {
    let source_line = Source::caller();
    let (left, got) = (numbers.shape(), vectors.shape());
    let Some((_, leading)) = got.dims().split_last().filter(|(length, _)| **length >= least) else {
        let expected = format!("a last axis of length {least} at least");
        return Err(Error::UnexpectedShape { operation: distribution, expected, got, source_line });
    };
    let right = Shape::from(leading);
    let together = left.broadcast(&right);
    together.ok_or(Error::ShapeMismatch { operation: distribution, left, right, source_line })
}
