//! Fixing latent sites and parameters.

use super::{Handled, Handler, named};
use crate::base::{Error, Result, plain};
use crate::model::context::{Initial, Model};
use crate::model::message::Message;
use crate::model::trace::SiteKind;
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::fmt;

/// Gives sites values; made by [`substitute`].
#[derive(Clone, PartialEq)]
pub struct Substitute {
    values: BTreeMap<String, ArrayD<f64>>,
}

impl fmt::Debug for Substitute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Substitute").field("values", &plain(&self.values)).finish()
    }
}

impl Substitute {
    /// Values by name; otherwise as [`substitute`].
    pub fn new<N: Into<String>, V: Into<Initial>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { values: named(values) }
    }
}

impl<'g> Handler<'g> for Substitute {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let Some(values) = self.values.get(&message.name) else {
            return message.fix_bounds_if(|name| self.values.contains_key(name)).map(|_| ());
        };
        if !matches!(message.kind, SiteKind::Latent | SiteKind::Param) {
            let instead = if message.kind == SiteKind::Observed {
                "; use condition to observe another value"
            } else {
                ""
            };
            return Err(Error::Values(format!(
                "substitute fixes latent values and parameters, and this site is {}{instead}",
                message.kind
            )));
        }
        message.give_numbers(values)
    }

    fn expects(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }
}

/// The model with latent sites and parameters at given values, which lie in the sites' supports. The sites
/// stay what they are: a latent one is latent in the trace, with a known value.
///
/// NumPyro's `substitute(data=…)`; here a name that the model does not have, or that is one of an observation, a
/// deterministic value or a factor, is an error. Values of sites inside `each_record` are as
/// [`condition`](super::condition) takes them.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Graph, Schema, trace};
/// use ppl_core::handlers::{Unconstrained, substitute};
/// let model = |ctx: &mut Ctx<'_>| ctx.param("rate", 1.0, Constraint::Positive).map(|_| ());
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let trace = trace(&substitute(model, [("rate", 2.0)]), &graph, &schema, Unconstrained)?;
/// assert_eq!(trace.sites()[0].value.known(), Some(2.0));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn substitute<M: Model, N: Into<String>, V: Into<Initial>>(
    model: M,
    values: impl IntoIterator<Item = (N, V)>,
) -> Handled<M, Substitute> {
    Handled::new(model, Substitute::new(values))
}
