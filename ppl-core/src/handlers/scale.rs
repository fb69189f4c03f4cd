//! Terms that count more, or less.

use super::{Handled, Handler};
use crate::base::{Error, Result};
use crate::model::context::{Ctx, Model};
use crate::model::message::Message;
use crate::op::Value;

/// Multiplies the sites' log densities; made by [`scale`] and [`Ctx::scale`](crate::Ctx::scale).
#[derive(Clone, Copy, Debug)]
pub struct Scale<V>(V);

impl<V> Scale<V> {
    /// A number or a value of the model, positive.
    pub fn new(factor: V) -> Self {
        Self(factor)
    }
}

impl<'g, V: Into<Value<'g>> + Copy> Handler<'g> for Scale<V> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let factor = self.0.into();
        let bad =
            factor.known_elements().and_then(|all| all.into_iter().find(|x| !(*x > 0.0 && x.is_finite())));
        if let Some(value) = bad {
            return Err(Error::Values(format!(
                "a scale must be positive and finite, got {value}; to leave terms out, use a mask"
            )));
        }
        factor.on(message.graph()).require_on(message.graph(), "scale")?;
        message.scale = Some(match message.scale {
            None => factor,
            Some(inner) => (inner.on(message.graph()) * factor.on(message.graph())).into(),
        });
        Ok(())
    }
}

/// The model with all terms of its log density multiplied by a positive number: priors, observations and
/// factors. Jacobians are not, and scales inside scales multiply. NumPyro's `scale`.
///
/// # Privacy
/// The scale of a record's terms is public, and applied *before* that record's gradient is clipped: a
/// record's influence stays within the bound whatever the scale is, and noise follows from the bound. A scale
/// chosen by looking at the data (their number, under add/remove, among it) is a leak like any other such
/// number. [`Ctx::scale`](crate::Ctx::scale) takes a value of the record too (a weight that is a column):
/// that one is the record's own, and as protected as the rest of it.
///
/// ```
/// # use ppl_core::{Ctx, Graph, Schema, trace};
/// use ppl_core::handlers::{Unconstrained, scale};
/// let model = |ctx: &mut Ctx<'_>| ctx.factor("penalty", -3.0);
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let half = trace(&scale(model, 0.5), &graph, &schema, Unconstrained)?;
/// assert_eq!(half.log_prior().known(), Some(-1.5));
/// let message = trace(&scale(model, -1.0), &graph, &schema, Unconstrained).unwrap_err().to_string();
/// assert!(message.starts_with("site 'penalty': a scale must be positive and finite, got -1"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn scale<M: Model>(model: M, factor: f64) -> Handled<M, Scale<f64>> {
    Handled::new(model, Scale::new(factor))
}

impl<'g> Ctx<'g> {
    /// Statements whose log densities are multiplied by a positive number, or by a value of the model that
    /// broadcasts to the sites' batch shapes. See [`handlers::scale`](scale()) for what that means for
    /// privacy.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong, or if the scale is known and not positive, or does not
    /// broadcast.
    pub fn scale<R>(
        &mut self,
        factor: impl Into<Value<'g>>,
        inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>,
    ) -> Result<R> {
        self.with(Scale::new(factor.into()), inside)
    }
}
