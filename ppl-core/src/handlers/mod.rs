//! Handlers: composable values that change what the statements of a model mean.
//!
//! Every statement sends a [`Message`](crate::Message) through the handlers around it, from the innermost
//! outwards. Each may read and change it, give it a value, or [stop](crate::Message::stop) it. A site that
//! has no value then is drawn, if a handler wants that, or is an error. Finally the handlers see the message
//! again, from the outermost inwards, and the site is written into the [`Trace`](crate::Trace).
//!
//! A handler is put around a whole model, which gives a model again, or around some statements within one,
//! with [`Ctx::with`](crate::Ctx::with):
//!
//! ```
//! # use ndarray::{array, arr0};
//! # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};
//! # struct Normal<'g>(Value<'g>, Value<'g>);
//! # impl<'g> Distribution<'g> for Normal<'g> {
//! #     fn name(&self) -> &'static str { "Normal" }
//! #     fn parameters(&self) -> Vec<Parameter<'g>> {
//! #         vec![Parameter { name: "loc", value: self.0, domain: Constraint::Real },
//! #              Parameter { name: "scale", value: self.1, domain: Constraint::Positive }]
//! #     }
//! #     fn support(&self) -> Constraint { Constraint::Real }
//! #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
//! #         let (loc, scale) = (self.0.on(x.graph()), self.1.on(x.graph()));
//! #         -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
//! #     }
//! #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
//! #         let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
//! #         Ok(self.0.on(noise.graph()) + self.1.on(noise.graph()) * z)
//! #     }
//! # }
//! use ppl_core::{Records, handlers, simulate};
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let centre = ctx.sample("centre", Normal(0.0.into(), 10.0.into()))?;
//!     ctx.each_record(|ctx, record| ctx.observe("x", Normal(centre.into(), 1.0.into()), record.get("x")?))
//! }
//!
//! // A model whose data are drawn, and whose centre is known. (The other way round the centre would be forgotten with the data.)
//! let known = handlers::condition(handlers::uncondition(model), [("centre", 100.0)]);
//! let drawn = handlers::seed(known, 42);
//! let records = Records::from_columns([("x", array![0.0, 0.0, 0.0])])?;
//! let values = simulate(&drawn, &records)?;
//! assert_eq!(values["centre"], arr0(100.0).into_dyn());
//! assert!(values["x"].iter().all(|x| (x - 100.0).abs() < 10.0));
//! # Ok::<(), ppl_core::Error>(())
//! ```
//!
//! | handler | what it does |
//! |---|---|
//! | [`seed`] | latent sites are drawn, each from a key and its own name |
//! | [`condition`] | latent sites are observed at given values |
//! | [`substitute`] | latent sites and parameters take given values, and stay what they are |
//! | [`replay`] | latent sites take the values of another run |
//! | [`uncondition`] | observations are forgotten: the sites are latent |
//! | [`block`], [`block_all_but`] | sites are hidden from handlers further out and from the trace |
//! | [`mask`] | terms of the log density do not count |
//! | [`scale`] | terms of the log density count more, or less |
//! | [`reparam`] | sites are sampled by way of simpler ones |
//! | [`scope`] | names get a prefix |
//! | [`Unconstrained`], [`Constrained`], [`NoiseInputs`] | outermost: latent sites are inputs of the program, or made from noise |
//!
//! # A handler of your own
//!
//! ```
//! use ppl_core::{Ctx, Error, Message, Model, Result, SiteKind};
//! use ppl_core::handlers::{Handled, Handler};
//! # use ppl_core::{Constraint, Graph, Schema, handlers::Unconstrained, trace};
//!
//! /// Tempers a likelihood: observations count with weight `1/temperature`, priors as they are.
//! struct Temper { temperature: f64 }
//!
//! impl<'g> Handler<'g> for Temper {
//!     fn process(&self, message: &mut Message<'g>) -> Result<()> {
//!         if !(self.temperature > 0.0) {
//!             return Err(Error::Values(format!("the temperature must be positive, got {}", self.temperature)));
//!         }
//!         if message.kind == SiteKind::Observed {
//!             let graph = message.graph();
//!             let so_far = message.scale.unwrap_or(1.0.into()).on(graph);
//!             message.scale = Some((so_far / self.temperature).into());
//!         }
//!         Ok(())
//!     }
//! }
//!
//! fn temper<M: Model>(model: M, temperature: f64) -> Handled<M, Temper> {
//!     Handled::new(model, Temper { temperature })
//! }
//! # let model = |ctx: &mut Ctx<'_>| ctx.param("p", 1.0, Constraint::Positive).map(|_| ());
//! # let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
//! # assert!(trace(&temper(model, 2.0), &graph, &schema, Unconstrained).is_ok());
//! # assert!(trace(&temper(model, -2.0), &graph, &schema, Unconstrained).is_err());
//! # Ok::<(), ppl_core::Error>(())
//! ```

mod block;
mod bounds;
mod condition;
mod inputs;
mod mask;
mod reparam;
mod replay;
mod scale;
mod scope;
mod seed;
mod substitute;
mod uncondition;

use crate::base::Result;
use crate::model::context::{Ctx, Initial, Model};
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::model::handler::Handler;
pub use block::{Block, block, block_all_but};
pub use condition::{Condition, condition};
pub use inputs::{Constrained, Unconstrained};
pub use mask::{Mask, mask};
pub use reparam::{LocScale, Reparam, Reparameterisation, Transformed, reparam};
pub use replay::{Replay, ReplayTrace, replay};
pub use scale::{Scale, scale};
pub use scope::{Scoped, scope};
pub use seed::{NoiseInputs, Seed, seed};
pub use substitute::{Substitute, substitute};
pub use uncondition::{Uncondition, uncondition};

/// A model with a handler around it: a model again.
#[derive(Clone, Debug)]
pub struct Handled<M, H> {
    model: M,
    handler: Arc<H>,
}

impl<M, H> Handled<M, H> {
    /// Puts a handler around a model.
    pub fn new(model: M, handler: H) -> Self {
        Self { model, handler: Arc::new(handler) }
    }

    /// The model inside.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }
}

impl<M: Model, H: for<'g> Handler<'g> + 'static> Model for Handled<M, H> {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        ctx.with(Arc::clone(&self.handler), |ctx| self.model.run(ctx))
    }
}

impl<M: Model, H: for<'g> Handler<'g> + 'static> Model for &Handled<M, H> {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        (**self).run(ctx)
    }
}

/// Values of sites by name.
fn named<N: Into<String>, V: Into<Initial>>(
    values: impl IntoIterator<Item = (N, V)>,
) -> BTreeMap<String, ArrayD<f64>> {
    values.into_iter().map(|(name, value)| (name.into(), value.into().into_array())).collect()
}
