//! Values of another run.

use super::{Handled, Handler, named};
use crate::base::{Error, Result, plain};
use crate::model::context::{Initial, Model};
use crate::model::message::Message;
use crate::model::trace::{SiteKind, Trace};
use crate::op::Var;
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::fmt;

/// Gives latent sites the values of another run; made by [`replay`].
#[derive(Clone, PartialEq)]
pub struct Replay {
    values: BTreeMap<String, ArrayD<f64>>,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("values", &plain(&self.values)).finish()
    }
}

impl Replay {
    /// Values by name; otherwise as [`replay`].
    pub fn new<N: Into<String>, V: Into<Initial>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { values: named(values) }
    }
}

impl<'g> Handler<'g> for Replay {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        match self.values.get(&message.name) {
            Some(values) if message.kind == SiteKind::Latent => message.give_numbers(values),
            _ => message.fix_bounds_if(|name| self.values.contains_key(name)).map(|_| ()),
        }
    }
}

/// The model with its latent sites at the values they had in another run, as [`simulate`](crate::simulate)
/// returns them. Values of other sites are passed over: observed ones keep theirs, parameters are not
/// replayed, and a value for a site that the model does not have is not used.
///
/// NumPyro's `replay`, whose trace holds numbers; see [`ReplayTrace`] for one that holds symbols.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Var, simulate};
/// # struct Uniform;
/// # impl<'g> Distribution<'g> for Uniform {
/// #     fn name(&self) -> &'static str { "Uniform" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::UnitInterval }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         noise.draw(NoiseKind::Uniform, prefix.clone())
/// #     }
/// # }
/// use ppl_core::handlers::{replay, seed};
/// let model = |ctx: &mut Ctx<'_>| ctx.sample("a", Uniform).map(|_| ());
/// let records = Records::from_columns([("x", vec![0.0])])?;
/// let first = simulate(&seed(model, 1), &records)?;
/// assert_eq!(simulate(&seed(replay(model, first.clone()), 2), &records)?, first);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn replay<M: Model, N: Into<String>, V: Into<Initial>>(
    model: M,
    values: impl IntoIterator<Item = (N, V)>,
) -> Handled<M, Replay> {
    Handled::new(model, Replay::new(values))
}

/// Gives latent sites of a model the symbolic values of another trace on the same graph: those of a guide's
/// draw, so that the model's log density is a function of the guide's parameters and noise. To be put
/// outermost when the model is traced.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Graph, Schema, trace};
/// # use ppl_core::{Distribution, Noise, NoiseKind, Parameter, Result, Shape, Var};
/// # struct Uniform;
/// # impl<'g> Distribution<'g> for Uniform {
/// #     fn name(&self) -> &'static str { "Uniform" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::UnitInterval }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         noise.draw(NoiseKind::Uniform, prefix.clone())
/// #     }
/// # }
/// use ppl_core::handlers::{NoiseInputs, ReplayTrace};
/// let model = |ctx: &mut Ctx<'_>| ctx.sample("a", Uniform).map(|_| ());
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let guide = trace(&model, &graph, &schema, NoiseInputs)?;
/// let trace = trace(&model, &graph, &schema, ReplayTrace::new(&guide))?;
/// assert!(trace.sites()[0].value.is(guide.sites()[0].value));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReplayTrace<'g> {
    values: BTreeMap<String, (Var<'g>, bool)>,
}

impl<'g> ReplayTrace<'g> {
    /// The latent values of a trace.
    #[must_use]
    pub fn new(trace: &Trace<'g>) -> Self {
        let latent = trace.sites().iter().filter(|site| site.kind == SiteKind::Latent);
        Self { values: latent.map(|site| (site.name.clone(), (site.value, site.per_record))).collect() }
    }
}

impl<'g> Handler<'g> for ReplayTrace<'g> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        match self.values.get(&message.name) {
            Some((value, per_record)) if message.kind == SiteKind::Latent => {
                if *per_record && !message.per_record {
                    let told = "a value of each record cannot stand for one that all of them share";
                    return Err(Error::Guide(told.to_owned()));
                }
                message.give(*value)
            }
            _ => message.fix_bounds_if(|name| self.values.contains_key(name)).map(|_| ()),
        }
    }
}
