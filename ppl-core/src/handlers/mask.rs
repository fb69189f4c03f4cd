//! Terms that do not count.

use super::{Handled, Handler};
use crate::base::{Error, Result};
use crate::model::context::{Ctx, Model};
use crate::model::message::Message;
use crate::op::Value;

/// Leaves elements of the sites' log densities out where the mask is 0; made by [`mask`] and
/// [`Ctx::mask`](crate::Ctx::mask).
#[derive(Clone, Copy, Debug)]
pub struct Mask<V>(V);

impl<V> Mask<V> {
    /// A number or a value of the model; elements count where it is not 0.
    pub fn new(mask: V) -> Self {
        Self(mask)
    }
}

impl<'g, V: Into<Value<'g>> + Copy> Handler<'g> for Mask<V> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let mask = self.0.into().on(message.graph());
        mask.require_on(message.graph(), "mask")?;
        message.mask = Some(match message.mask {
            None => mask,
            Some(inner) => {
                let (left, right) = (inner.shape(), mask.shape());
                let source_line = message.source_line;
                if left.broadcast(&right).is_none() {
                    return Err(Error::ShapeMismatch { operation: "mask", left, right, source_line });
                }
                mask.select(inner, 0.0)
            }
        });
        Ok(())
    }
}

/// The model with no term of its log density left (`counts` false), or as it is (true): priors, observations
/// and factors alike.
///
/// NumPyro's `mask`. To leave out some elements, or some records, put [`Ctx::mask`](crate::Ctx::mask) around
/// statements, with a value of the model.
///
/// # Privacy
/// A mask may depend on the record inside `each_record`: a record's term that does not count is zero, and
/// clipped like any other. A record whose masked element is not finite (a missing value, say) still has a
/// gradient that is NaN, so that all of it is left out; choose a harmless value there, as with
/// [`Var::select`](crate::Var::select). A mask outside `each_record` is public.
///
/// ```
/// # use ppl_core::{Ctx, Graph, Schema, trace};
/// use ppl_core::handlers::{Unconstrained, mask};
/// let model = |ctx: &mut Ctx<'_>| ctx.factor("penalty", -3.0);
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let trace = trace(&mask(model, false), &graph, &schema, Unconstrained)?;
/// assert_eq!(trace.log_prior().known(), Some(0.0));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn mask<M: Model>(model: M, counts: bool) -> Handled<M, Mask<f64>> {
    Handled::new(model, Mask::new(f64::from(counts)))
}

impl<'g> Ctx<'g> {
    /// Statements whose elements count in the log density where the mask is not 0: a number, or a value of
    /// the model that broadcasts to the sites' batch shapes. See [`handlers::mask`](mask()) for what that
    /// means for privacy.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong, or if the mask does not broadcast.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Records, log_density};
    /// # use std::collections::BTreeMap;
    /// let model = |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, record| {
    ///     let x = record.get("x")?;
    ///     let known = x.is_finite();
    ///     let x = known.select(x, 0.0);                       // a harmless value where there is none
    ///     ctx.mask(known, |ctx| ctx.factor("each", -x.square() - 1.0))
    /// });
    /// let records = Records::from_columns([("x", vec![1.0, f64::NAN])])?;
    /// assert_eq!(log_density(&model, &records, &BTreeMap::new())?.likelihood, ndarray::array![-2.0, 0.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn mask<R>(
        &mut self,
        mask: impl Into<Value<'g>>,
        inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>,
    ) -> Result<R> {
        self.with(Mask::new(mask.into()), inside)
    }
}
