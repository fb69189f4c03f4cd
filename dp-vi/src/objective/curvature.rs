//! A program whose per-record gradient is one record's curvature.

use crate::error::{Error, Result};
use crate::objective::traced::Traced;
use crate::objective::weights::residual_weight;
use ppl_core::transform::{LinearPredictor, Softplus};
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
    /// Numbers that are released of a matrix with `n` rows.
    pub(crate) fn released(self, n: usize) -> usize {
        match self {
            Self::Full => n * (n + 1) / 2,
            Self::Diagonal => n,
        }
    }
}

/// The error where a curvature is wanted that has no program.
pub(crate) const NOT_LINEAR: Error = Error::Conflict(
    "the curvature is released for generalised linear terms only, and this likelihood is not recognised as one",
);

/// A program whose per-record *gradient* is one record's curvature: the derivative of `⟨M, H⟩` by `M` is `H`.
/// For `H = κ d dᵀ` it is a product of vectors, so it is contracted like any other.
pub(crate) fn curvature_program<'g>(
    traced: &Traced<'g>,
    term: &LinearPredictor<'g>,
    (weight, residual): (Option<Var<'g>>, Option<Softplus<'g>>),
    shape: CurvatureShape,
) -> Result<RecordGradient<f64>> {
    let graph = traced.log_likelihood.graph();
    let slope = gradient(traced.log_likelihood, &[term.predictor])?[0];
    let bend = -gradient(slope, &[term.predictor])?[0];
    // The weight of a residual has a slope of its own, which the residual multiplies: zero in expectation.
    let bend = residual.map_or(bend, |term| residual_weight(&term) * bend);
    let bend = weight.map_or(bend, |weight| weight * bend);
    let flat: Vec<_> = term.design.iter().map(|part| part.reshape(part.shape().elements())).collect();
    let design = if let [one] = flat[..] { one } else { graph.concat(&flat, 0) };
    let elements = traced.frontier_elements();
    let (matrix, value) = match shape {
        CurvatureShape::Full => {
            let matrix = graph.input("curvature", [elements, elements])?;
            (matrix, bend * design.inner(matrix.matvec(design)))
        }
        CurvatureShape::Diagonal => {
            let matrix = graph.input("curvature", [elements])?;
            (matrix, bend * design.square().inner(matrix))
        }
    };
    Ok(RecordGradient::with_bounded_sums(value, &[matrix], &[0])?)
}
