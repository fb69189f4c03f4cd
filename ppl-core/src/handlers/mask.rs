//! Terms that do not count.

use super::{Handled, Handler};
use crate::error::{Error, Result};
use crate::model::context::Model;
use crate::model::message::Message;
use crate::value::Value;

/// Leaves elements of the sites' log densities out where the mask is 0; made by [`mask`] and [`Ctx::mask`](crate::Ctx::mask).
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

/// The model with no term of its log density left (`counts` false), or as it is (true): priors, observations and factors alike.
///
/// NumPyro's `mask`. To leave out some elements, or some records, put [`Ctx::mask`](crate::Ctx::mask) around statements, with a value of
/// the model.
///
/// # Privacy
/// A mask may depend on the record inside `each_record`: a record's term that does not count is zero, and clipped like any other.
/// A record whose masked element is not finite (a missing value, say) still has a gradient that is not a number, so that all of it is
/// left out; choose a harmless value there, as with [`Var::select`](crate::Var::select). A mask outside `each_record` is public.
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
