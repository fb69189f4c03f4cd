//! Public weights of records, which bound a gradient without bending it.

use crate::error::Result;
use ppl_core::record_gradient::squared_row_norms;
use ppl_core::transform::{LinearPredictor, Softplus};
use ppl_core::{Graph, Record, Var};

/// A weight as an expression of one record's columns.
pub(crate) type WeightFunction = Box<dyn for<'g> Fn(Record<'g>) -> ppl_core::Result<Var<'g>>>;

/// What each record's score is multiplied by before it is clipped.
///
/// Clipping shortens long gradients, and which gradients are long depends on the outcome: the sum has an
/// expectation of zero somewhere else than at the truth. A weight that depends on the *features* and on what
/// the model predicts from them does not have this fault: if the model holds, the score of every record has
/// expectation zero at the truth given its features, and so has the weighted one.
///
/// For a generalised linear term `ℓ = f(η)`, `η = η₀ + ⟨d, u⟩`, whose slope is bounded by `L` (logistic
/// regression: `d = x`, `L = 1`),
///
/// ```text
/// w = min(1, C/(L‖d‖))          ‖w ∂ℓ/∂u‖ = w |f′(η)| ‖d‖ ≤ min(‖d‖L, C) ≤ C
/// ```
///
/// Where the outcome is a Bernoulli's, with probability `p = σ(η)`, and ε is below 2, there is a second
/// weight, which takes the bound on the residual from 1 to 1/2, and with it the noise to half:
///
/// ```text
/// h = ½/max(p, 1 − p) = ½ (1 + e^(−|η|))       h |y − p| = ½ min(1, e^v),   v = (1 − 2y) η        L = ½
/// ```
///
/// It depends on the prediction and not on the outcome, so `E[h (y − p) x | x] = 0` at the truth: the sum
/// still vanishes in expectation where that of the plain scores does. (Clipping residuals to 1/2 has the same
/// bound and not this property.) Records of which the model is sure count half, those of which it is not
/// count whole; with predictions spread evenly over (0, 1) the estimate's variance without noise is 1/0.97 of
/// the smallest. It is the score of the convex loss `½ e^v` for `v < 0`, `½ (1 + v)` above.
///
/// With an antithetic pair the stacked gradient `w (f′(η₊) d, f′(η₋) d)/√2` has norm
/// `w ‖d‖ √((f′(η₊)² + f′(η₋)²)/2) ≤ C` too.
///
/// # Privacy
/// The weighted gradient is clipped to `C` all the same, so no guarantee rests on the recognition of a term,
/// on `L`, or on rounding. A weight depends on its own record alone, and on what has been released.
///
/// # References
/// Künsch, Stefanski, Carroll 1989, "Conditionally unbiased bounded-influence estimation in general
/// regression models" (weights of features and predictions).
#[non_exhaustive]
pub enum RecordWeights {
    /// Both weights above where the likelihood is recognised as a generalised linear term
    /// ([`linear_predictor`](ppl_core::transform::linear_predictor)), the second where it is the one
    /// Bernoulli that a record has and ε is below 2; else none.
    Recognised,
    /// The first of them alone, under which the likelihood keeps its form: for comparison.
    Features,
    /// No weights: clipping alone bounds gradients.
    None,
    /// Weights of your own, positive numbers from the columns of a record; made by [`RecordWeights::given`].
    Given(GivenWeights),
}

/// What a step differentiates in the place of a Bernoulli's log-likelihood `κ softplus(v)`: its gradient is
/// weighted by `h`. Its value means nothing.
pub(crate) fn with_bounded_residual<'g>(term: &Softplus<'g>) -> Var<'g> {
    let residual = 0.5 * term.argument.min(0.0).exp();
    term.factor * residual.stop_gradient() * term.argument
}

/// `h`
pub(crate) fn residual_weight<'g>(term: &Softplus<'g>) -> Var<'g> {
    0.5 * (1.0 + (-term.argument.abs()).exp())
}

/// See [`RecordWeights::given`].
pub struct GivenWeights(WeightFunction);

impl RecordWeights {
    /// Weights of your own: a number for each record, from its columns.
    ///
    /// ```
    /// use dp_vi::RecordWeights;
    /// let weights = RecordWeights::given(|record| Ok(2.0 / record.get("x")?.norm().max(2.0)));
    /// # let _ = weights;
    /// ```
    pub fn given(weight: impl for<'g> Fn(Record<'g>) -> ppl_core::Result<Var<'g>> + 'static) -> Self {
        Self::Given(GivenWeights(Box::new(weight)))
    }

    /// Whether residuals are weighted too, where they can be.
    pub(crate) fn bounds_residuals(&self) -> bool {
        matches!(self, Self::Recognised)
    }

    /// Whether records are weighted by their features, where the likelihood is recognised.
    pub(crate) fn recognises(&self) -> bool {
        matches!(self, Self::Recognised | Self::Features)
    }

    /// The expression of the weight by features, or of the given one; `None` where there is none. `norm` is
    /// `C` over the bound on residuals.
    pub(crate) fn expression<'g>(
        &self,
        (term, frontier): (Option<&LinearPredictor<'g>>, &[Var<'g>]),
        norm: f64,
        graph: &'g Graph,
        record: Record<'g>,
    ) -> Result<Option<Var<'g>>> {
        match (self, term) {
            (Self::Recognised | Self::Features, Some(term)) => {
                // Of a table of coefficients only the row that a record uses is looked at.
                let rows = squared_row_norms(term.predictor, frontier)?;
                let squares = rows.into_iter().zip(&term.design);
                let squares = squares.map(|(row, part)| row.unwrap_or_else(|| part.inner(*part)));
                let squared = squares.fold(graph.constant(0.0), |sum, next| sum + next);
                // A record without features has weight min(1, C/0) = 1.
                Ok(Some((norm / (squared.sqrt() * term.slope_bound)).min(1.0)))
            }
            (Self::Given(GivenWeights(weight)), _) => {
                let weight = weight(record)?;
                graph.check()?;
                if !weight.shape().is_scalar() {
                    let told =
                        format!("a record's weight has shape {}, not that of a number", weight.shape());
                    return Err(ppl_core::Error::Values(told).into());
                }
                Ok(Some(weight))
            }
            _ => Ok(None),
        }
    }
}
