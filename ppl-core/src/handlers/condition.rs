//! Observing latent sites.

use super::{Handled, Handler, named};
use crate::base::{Error, Result, plain};
use crate::model::context::{Initial, Model};
use crate::model::message::Message;
use crate::model::trace::SiteKind;
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::fmt;

/// Observes sites at given values; made by [`condition`].
#[derive(Clone, PartialEq)]
pub struct Condition {
    values: BTreeMap<String, ArrayD<f64>>,
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condition").field("values", &plain(&self.values)).finish()
    }
}

impl Condition {
    /// Values by name; otherwise as [`condition`].
    pub fn new<N: Into<String>, V: Into<Initial>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { values: named(values) }
    }
}

impl<'g> Handler<'g> for Condition {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let Some(values) = self.values.get(&message.name) else {
            return message.fix_bounds_if(|name| self.values.contains_key(name)).map(|_| ());
        };
        if !matches!(message.kind, SiteKind::Latent | SiteKind::Observed) {
            let instead = if message.kind == SiteKind::Param { "; use substitute to fix it" } else { "" };
            return Err(Error::Values(format!(
                "condition observes latent values and observations, and this site is {}{instead}",
                message.kind
            )));
        }
        message.give_numbers(values)?;
        message.kind = SiteKind::Observed;
        Ok(())
    }

    fn expects(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }
}

/// The model with latent sites observed at given values: their priors stay in the log density, and there is
/// nothing to infer of them. A site that was observed already is observed at the new value.
///
/// NumPyro's `condition`. Here the values must lie in the support, and a name that the model does not have, or that
/// is one of a parameter, a deterministic value or a factor, is an error. Values are public constants of the program; a
/// site inside `each_record` takes one for all records, or an array with an axis more, the first, of one for each
/// record, which the runner of the program fills in ([`simulate`](crate::simulate) does).
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Distribution, Graph, Noise, Parameter, Result, Schema, Shape, SiteKind, Var, trace};
/// # struct Exponential;
/// # impl<'g> Distribution<'g> for Exponential {
/// #     fn name(&self) -> &'static str { "Exponential" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::Positive }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { -x }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         Ok(-noise.draw(ppl_core::NoiseKind::Uniform, prefix.clone())?.log())
/// #     }
/// # }
/// use ppl_core::handlers::{Unconstrained, condition};
/// let model = |ctx: &mut Ctx<'_>| ctx.sample("rate", Exponential).map(|_| ());
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let at_two = trace(&condition(model, [("rate", 2.0)]), &graph, &schema, Unconstrained)?;
/// assert_eq!(at_two.sites()[0].kind, SiteKind::Observed);
/// assert_eq!(at_two.log_prior().known(), Some(-2.0));
/// let message = trace(&condition(model, [("rate", -2.0)]), &graph, &schema, Unconstrained).unwrap_err().to_string();
/// assert_eq!(message, "site 'rate': value -2 is outside the support (positive and finite)");
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn condition<M: Model, N: Into<String>, V: Into<Initial>>(
    model: M,
    values: impl IntoIterator<Item = (N, V)>,
) -> Handled<M, Condition> {
    Handled::new(model, Condition::new(values))
}
