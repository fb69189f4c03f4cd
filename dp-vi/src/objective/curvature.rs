//! A program whose per-record gradient is one record's curvature.

use crate::error::{Error, Result};
use crate::objective::traced::Traced;
use crate::objective::weights::residual_weight;
use ppl_core::transform::Softplus;
use ppl_core::{RecordGradient, Var, gradient};

/// Which elements of the curvature are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurvatureShape {
    /// All of them.
    Full,
    /// The diagonal.
    Diagonal,
}

impl CurvatureShape {
    /// By how much the norm of a record's curvature, in this shape, is smaller than the Frobenius norm of all
    /// of it: `‖d∘d‖ ≲ √(3/D) ‖d‖²` for normal features.
    pub(crate) fn share_of_norm(self, n: usize) -> f64 {
        match self {
            Self::Full => 1.0,
            Self::Diagonal => (3.0 / n as f64).sqrt().min(1.0),
        }
    }

    /// What the trace of a record's score counts for beside its curvature, in the norm of what it
    /// contributes: with 0.3 of it noise is `√(1 + 0.3²)`, 4 %, larger than for the curvature alone.
    pub(crate) fn score(self, n: usize) -> f64 {
        0.3 * self.share_of_norm(n)
    }

    /// Numbers that are released of a matrix with `n` rows.
    pub(crate) fn released(self, n: usize) -> usize {
        match self {
            Self::Full => n * (n + 1) / 2,
            Self::Diagonal => n,
        }
    }
}

/// The error where a curvature is wanted that has no program.
pub(crate) const OF_RECORDS: Error = Error::Conflict(
    "the curvature is not released where records have latent values of their own: their scores depend on draws",
);

/// A program whose per-record *gradient* is the product `g gᵀ` of a record's score with itself, or its diagonal: the
/// derivative of `⟨M, g gᵀ⟩` by `M`, with `g` held fixed.
///
/// ```text
/// E[g gᵀ] = −E[∂²ℓ/∂u²]        at the truth, if the model holds and ℓ is smooth in u
/// ```
pub(crate) fn score_program<'g>(traced: &Traced<'g>, shape: CurvatureShape) -> Result<RecordGradient<f64>> {
    let graph = traced.log_likelihood.graph();
    let parts = gradient(traced.log_likelihood, &traced.frontier())?;
    let flat: Vec<_> = parts.iter().map(|part| part.reshape(part.shape().elements())).collect();
    let score = if let [one] = flat[..] { one } else { graph.concat(&flat, 0) }.stop_gradient();
    let rows = traced.frontier_elements();
    let (matrix, value) = match shape {
        CurvatureShape::Full => {
            let matrix = graph.input("curvature", [rows, rows])?;
            (matrix, score.inner(matrix.matvec(score)))
        }
        CurvatureShape::Diagonal => {
            let matrix = graph.input("curvature", [rows])?;
            (matrix, score.square().inner(matrix))
        }
    };
    Ok(RecordGradient::with_bounded_sums(value, &[matrix], &[0])?)
}

/// A program whose per-record *gradient* is one record's curvature: the derivative of `⟨M, H⟩` by `M` is `H`.
/// For `H = κ d dᵀ` it is a product of vectors, so it is contracted like any other.
///
/// A record that is weighted has a row and a column more (or one element more of the diagonal), which are
/// zero but for their last element, `0.3 (w h)² |f″| ‖d‖²`: the trace of its score's covariance. It is at
/// most 0.3 times the norm of the curvature (see [`CurvatureShape::score`]).
pub(crate) fn curvature_program<'g>(
    traced: &Traced<'g>,
    (predictor, design): (Var<'g>, &[Var<'g>]),
    (weight, residual): (Option<Var<'g>>, Option<Softplus<'g>>),
    shape: CurvatureShape,
) -> Result<RecordGradient<f64>> {
    let graph = traced.log_likelihood.graph();
    let slope = gradient(traced.log_likelihood, &[predictor])?[0];
    let bend = -gradient(slope, &[predictor])?[0];
    // The weight of a residual has a slope of its own, which the residual multiplies: zero in expectation.
    let own = residual.map(|term| residual_weight(&term));
    let weight = match (weight, own) {
        (Some(weight), Some(own)) => Some(weight * own),
        (weight, own) => weight.or(own),
    };
    let bend = weight.map_or(bend, |weight| weight * bend);
    let flat: Vec<_> = design.iter().map(|part| part.reshape(part.shape().elements())).collect();
    let design = if let [one] = flat[..] { one } else { graph.concat(&flat, 0) };
    let elements = traced.frontier_elements();
    let score = weight.map(|weight| shape.score(elements) * weight * design.inner(design));
    let rows = elements + usize::from(score.is_some());
    let padded = |part: Var<'g>| match score {
        Some(_) => graph.concat(&[part, graph.constant(0.0).reshape(1)], 0),
        None => part,
    };
    let (matrix, curvature, last) = match shape {
        CurvatureShape::Full => {
            let (matrix, design) = (graph.input("curvature", [rows, rows])?, padded(design));
            let last = matrix.element(0, rows - 1).element(0, rows - 1);
            (matrix, design.inner(matrix.matvec(design)), last)
        }
        CurvatureShape::Diagonal => {
            let (matrix, squares) = (graph.input("curvature", [rows])?, padded(design.square()));
            (matrix, squares.inner(matrix), matrix.element(0, rows - 1))
        }
    };
    let value = score.map_or(curvature, |score| curvature + score * last);
    Ok(RecordGradient::with_bounded_sums(bend * value, &[matrix], &[0])?)
}
