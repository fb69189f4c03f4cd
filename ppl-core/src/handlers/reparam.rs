//! Sites that are sampled by way of simpler ones.

use super::{Handled, Handler};
use crate::base::{Error, Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::context::Model;
use crate::model::distribution::{Distribution, Parameter};
use crate::model::expand::Expanded;
use crate::model::message::Message;
use crate::model::noise::Noise;
use crate::model::trace::SiteKind;
use crate::model::transport::{Map, Transport};
use crate::op::{Graph, Kind, Value, Var};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A way to sample a site by way of another.
pub trait Reparameterisation: std::fmt::Debug + Send + Sync {
    /// Changes the message of a latent site that has no value, as a rule by [`Message::replace_by`].
    ///
    /// # Errors
    /// If the site's distribution cannot be sampled so.
    fn apply(&self, message: &mut Message<'_>) -> Result<()>;
}

/// Reparameterises sites; made by [`reparam`].
#[derive(Clone, Debug, Default)]
pub struct Reparam {
    sites: BTreeMap<String, Arc<dyn Reparameterisation>>,
}

impl Reparam {
    /// Adds a site.
    #[must_use]
    pub fn site(mut self, name: impl Into<String>, way: impl Reparameterisation + 'static) -> Self {
        self.sites.insert(name.into(), Arc::new(way));
        self
    }
}

impl<'g> Handler<'g> for Reparam {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        match self.sites.get(&message.name) {
            // What has a value already (a condition, say) is known where it stands.
            Some(way) if message.kind == SiteKind::Latent && message.value.is_none() => way.apply(message),
            _ => Ok(()),
        }
    }

    fn expects(&self) -> Vec<String> {
        self.sites.keys().cloned().collect()
    }
}

/// The model with sites sampled by way of simpler ones: the same law of all that the model had, other latent
/// values. A site `w` becomes deterministic, a function of the new latent site `w_decentered` or `w_base`.
///
/// NumPyro's `reparam(config=…)`. What it is for: in `w ~ Normal(0, s)` with `s` latent, a mean-field guide
/// of `w` cannot follow `s`; of `w_decentered ~ Normal(0, 1)`, `w = s·w_decentered`, it need not.
///
/// A distribution says in [`Distribution::transport`] what it is an image of.
///
/// ```
/// # use ppl_core::model::Map;
/// # use ppl_core::{Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Schema, Shape};
/// # use ppl_core::{Transport, Value, Var, trace};
/// # struct Normal<'g>(Value<'g>, Value<'g>);
/// # impl<'g> Distribution<'g> for Normal<'g> {
/// #     fn name(&self) -> &'static str { "Normal" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> {
/// #         vec![Parameter { name: "loc", value: self.0, domain: Constraint::Real },
/// #              Parameter { name: "scale", value: self.1, domain: Constraint::Positive }]
/// #     }
/// #     fn support(&self) -> Constraint { Constraint::Real }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
/// #         let (loc, scale) = (self.0.on(x.graph()), self.1.on(x.graph()));
/// #         -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
/// #     }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
/// #         Ok(self.0.on(noise.graph()) + self.1.on(noise.graph()) * z)
/// #     }
/// #     fn transport(&self) -> Option<Transport<'g>> {
/// #         Some(Transport {
/// #             base: std::rc::Rc::new(Normal(0.0.into(), 1.0.into())),
/// #             map: Map::Affine { loc: self.0, scale: self.1 },
/// #         })
/// #     }
/// # }
/// use ppl_core::handlers::{LocScale, Reparam, Unconstrained, reparam};
/// let funnel = |ctx: &mut Ctx<'_>| {
///     let log_scale = ctx.sample("log_scale", Normal(0.0.into(), 3.0.into()))?;
///     ctx.sample("w", Normal(0.0.into(), log_scale.exp().into())).map(|_| ())
/// };
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let easier = reparam(funnel, Reparam::default().site("w", LocScale::decentred()));
/// let trace = trace(&easier, &graph, &schema, Unconstrained)?;
/// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
/// assert_eq!(names, ["log_scale", "w_decentered", "w"]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn reparam<M: Model>(model: M, sites: Reparam) -> Handled<M, Reparam> {
    Handled::new(model, sites)
}

/// A distribution, and what its values are mapped by.
type Image<'g> = (Rc<dyn Distribution<'g> + 'g>, Map<'g>);

/// What a site's distribution is an image of, stretched to the site's shape; `None` where it does not say.
pub(super) fn transport<'g>(message: &Message<'g>) -> Result<Option<Image<'g>>> {
    let Some(distribution) = &message.distribution else {
        return Err(Error::Values("it has no distribution to be reparameterised".to_owned()));
    };
    let Some(Transport { base, map }) = distribution.transport() else { return Ok(None) };
    let batch = distribution.batch_shape()?;
    match base.batch_shape()? == batch {
        true => Ok(Some((base, map))),
        false => Ok(Some((Rc::new(Expanded::new(base, batch)), map))),
    }
}

/// What a site that is to be reparameterised is an image of.
fn image<'g>(message: &Message<'g>) -> Result<Image<'g>> {
    transport(message)?.ok_or_else(|| {
        let name = message.distribution.as_ref().map_or("", |distribution| distribution.name());
        Error::Unsupported(format!(
            "reparameterising {name}, which does not say what it is an image of (Distribution::transport); leave the site out of reparam"
        ))
    })
}

/// A location–scale family `x = loc + scale·y`, sampled at a place between the site itself and its standard
/// form; NumPyro's `LocScaleReparam`.
///
/// ```text
/// x_decentered ~ law of  c·loc + scale^c·y,     x = loc + scale^(1−c)·(x_decentered − c·loc)
/// ```
///
/// with `c` the centredness: 0 samples `y` itself, 1 samples `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocScale {
    centred: f64,
}

impl LocScale {
    /// Samples the standard form `y`.
    #[must_use]
    pub fn decentred() -> Self {
        Self { centred: 0.0 }
    }

    /// Samples somewhere between (a fixed centredness, from 0 to 1).
    ///
    /// # Errors
    /// If it is not from 0 to 1.
    pub fn partly(centred: f64) -> Result<Self> {
        match (0.0..=1.0).contains(&centred) {
            true => Ok(Self { centred }),
            false => Err(Error::Values(format!("the centredness must be from 0 to 1, got {centred}"))),
        }
    }
}

impl Reparameterisation for LocScale {
    fn apply(&self, message: &mut Message<'_>) -> Result<()> {
        let graph = message.graph();
        let (base, map) = image(message)?;
        let Map::Affine { loc, scale } = map else {
            return Err(Error::Unsupported(format!(
                "LocScale for {}, which is not loc + scale·y; use Transformed",
                base.name()
            )));
        };
        if self.centred == 0.0 {
            message.replace_by("decentered", base, Map::Affine { loc, scale });
            return Ok(());
        }
        if base.support() != Constraint::Real && loc.known() != Some(0.0) {
            return Err(Error::Unsupported(format!(
                "LocScale::partly for {}, whose support ({}) would move with loc; use LocScale::decentred",
                base.name(),
                base.support()
            )));
        }
        let (loc, scale) = (loc.on(graph), scale.on(graph));
        let (inner_loc, inner_scale) = (self.centred * loc, scale.pow(self.centred));
        let law = Affine { base, loc: inner_loc.into(), scale: inner_scale.into() };
        let rest = scale.pow(1.0 - self.centred);
        let map = Map::Affine { loc: (loc - rest * inner_loc).into(), scale: rest.into() };
        message.replace_by("decentered", Rc::new(law), map);
        Ok(())
    }
}

/// Any image of a simpler distribution, sampled as the simpler one; NumPyro's `TransformReparam`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transformed;

impl Reparameterisation for Transformed {
    fn apply(&self, message: &mut Message<'_>) -> Result<()> {
        let (base, map) = image(message)?;
        message.replace_by("base", base, map);
        Ok(())
    }
}

/// The law of `loc + scale·y`, where `loc` and `scale` broadcast to the base's shape. The map keeps the
/// support: all real numbers, or what a positive factor keeps.
struct Affine<'g> {
    base: Rc<dyn Distribution<'g> + 'g>,
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> Distribution<'g> for Affine<'g> {
    fn name(&self) -> &'static str {
        self.base.name()
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }
    fn event_shape(&self) -> Shape {
        self.base.event_shape()
    }
    fn batch_shape(&self) -> Result<Shape> {
        self.base.batch_shape()
    }
    fn support(&self) -> Constraint {
        self.base.support()
    }
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (loc, scale) = (self.loc.on(value.graph()), self.scale.on(value.graph()));
        let log_prob = self.base.log_prob((value - loc) / scale);
        // One factor for each number of an outcome, added up over the outcome.
        let factors = scale.log().broadcast_to(value.shape());
        log_prob - factors.sum_to_last(log_prob.shape())
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let drawn = self.base.draw(prefix, noise)?;
        Ok(self.loc.on(noise.graph()) + self.scale.on(noise.graph()) * drawn)
    }
    fn kind(&self) -> Kind {
        self.base.kind().max(self.loc.kind()).max(self.scale.kind())
    }
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.loc.on(graph) + self.scale.on(graph) * self.base.mean(graph)?)
    }
}

trait SumLast<'g> {
    /// Sums over the last axes, until the array has this shape.
    fn sum_to_last(self, shape: Shape) -> Var<'g>;
}

impl<'g> SumLast<'g> for Var<'g> {
    fn sum_to_last(self, shape: Shape) -> Var<'g> {
        (shape.rank()..self.shape().rank()).fold(self, |sum, _| sum.sum_axis(shape.rank()))
    }
}
