//! Public weights of records, which bound a gradient without bending it.

use crate::error::Result;
use ppl_core::transform::LinearPredictor;
use ppl_core::{Graph, Record, Var};

/// A weight as an expression of one record's columns.
pub(crate) type WeightFunction = Box<dyn for<'g> Fn(Record<'g>) -> ppl_core::Result<Var<'g>>>;

/// What each record's log-likelihood is multiplied by before its gradient is taken and clipped.
///
/// Clipping shortens long gradients, and which gradients are long depends on the outcome: the sum has an
/// expectation of zero somewhere else than at the truth. A weight that depends on the *features* only does
/// not have this fault: if the model holds, the score of every record has expectation zero at the truth given
/// its features, and so has the weighted one.
///
/// For a generalised linear term `ℓ = f(η)`, `η = η₀ + ⟨d, u⟩`, whose slope is bounded by `L` (logistic
/// regression: `d = x`, `L = 1`),
///
/// ```text
/// w = min(1, C/(L‖d‖))          ‖w ∂ℓ/∂u‖ = w |f′(η)| ‖d‖ ≤ min(‖d‖L, C) ≤ C
/// ```
///
/// With an antithetic pair the stacked gradient `w (f′(η₊) d, f′(η₋) d)/√2` has norm
/// `w ‖d‖ √((f′(η₊)² + f′(η₋)²)/2) ≤ C` too.
///
/// # Privacy
/// The weighted gradient is clipped to `C` all the same, so no guarantee rests on the recognition of a term,
/// on `L`, or on rounding. A weight depends on its own record alone.
#[non_exhaustive]
pub enum RecordWeights {
    /// The weight above where the likelihood is recognised as a generalised linear term
    /// ([`linear_predictor`](ppl_core::transform::linear_predictor)), else none.
    Recognised,
    /// No weights: clipping alone bounds gradients.
    None,
    /// Weights of your own, positive numbers from the columns of a record; made by [`RecordWeights::given`].
    Given(GivenWeights),
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

    /// The weight's expression; `None` where there is none.
    pub(crate) fn expression<'g>(
        &self,
        term: Option<&LinearPredictor<'g>>,
        norm: f64,
        graph: &'g Graph,
        record: Record<'g>,
    ) -> Result<Option<Var<'g>>> {
        match (self, term) {
            (Self::Recognised, Some(term)) => {
                let squares = term.design.iter().map(|part| part.inner(*part));
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
