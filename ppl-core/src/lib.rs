//! A small probabilistic language over a small array engine.
//!
//! A model is a function that runs **once**, on symbolic values, and leaves a flat array program: its log
//! density. The program is differentiated into another program, laid out in memory once, and run many times
//! over batches of records without allocating. Nothing here knows of privacy, but the one thing private
//! training needs is here: sums of per-record gradients, each scaled by a function of its norm, at the cost
//! of an ordinary gradient ([`RecordGradient`]).
//!
//! # A model
//!
//! A model speaks about one record. It cannot see two, so there is no batch axis to get wrong.
//!
//! ```
//! use ndarray::{array, arr0};
//! use ppl_core::{Constraint, Ctx, Distribution, Noise, Parameter, Records, Result, Shape, Value, Var, log_density};
//! use std::collections::BTreeMap;
//!
//! /// An exponential distribution, as a user would write their own: log p(x) = ln r − r x.
//! struct Exponential<'g> { rate: Value<'g> }
//!
//! impl<'g> Distribution<'g> for Exponential<'g> {
//!     fn name(&self) -> &'static str { "Exponential" }
//!     fn parameters(&self) -> Vec<Parameter<'g>> {
//!         vec![Parameter { name: "rate", value: self.rate, domain: Constraint::Positive }]
//!     }
//!     fn support(&self) -> Constraint { Constraint::Positive }
//!     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
//!         let rate = self.rate.on(x.graph());
//!         rate.log() - rate * x
//!     }
//!     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
//!         let shape = prefix.concat(&self.batch_shape()?);
//!         let u = noise.draw(ppl_core::NoiseKind::Uniform, shape)?;
//!         Ok(-u.log() / self.rate.on(noise.graph()))
//!     }
//! }
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let rate = ctx.sample("rate", Exponential { rate: 1.0.into() })?;
//!     ctx.each_record(|ctx, record| ctx.observe("x", Exponential { rate: rate.into() }, record.get("x")?))
//! }
//!
//! let records = Records::from_columns([("x", array![0.5, 1.5])])?;
//! let at = BTreeMap::from([("rate".to_string(), arr0(2.0).into_dyn())]);
//! let density = log_density(&model, &records, &at)?;
//! assert!((density.total() - (-2.0 + 2.0 * 2.0_f64.ln() - 2.0 * 2.0)).abs() < 1e-14);
//! # Ok::<(), ppl_core::Error>(())
//! ```
//!
//! # Modules
//!
//! A module imports from those above it only.
//!
//! | module | what it holds |
//! |---|---|
//! | `base` | shapes, errors, and where an operation was written |
//! | [`records`] | columns of records, in the number types they come in |
//! | [`math`] | elementary and special functions of plain numbers |
//! | `machine` | number types, vectors, instruction sets chosen at run time |
//! | [`op`] | the graph, handles that read like mathematics, and the primitives with all their rules |
//! | [`program`] | the flat program: listing, comparison, written form |
//! | [`transform`] | derivatives and simplification, from program to program |
//! | [`run`] | the plan (memory, fused sweeps, matrix products) and the interpreter, which is slow and obvious |
//! | [`record_gradient`] | per-record gradients, contracted and materialised |
//! | [`model`] | statements, distributions, constraints, traces |
//! | [`handlers`] | what changes the meaning of statements, one handler a file |
//! | [`conjugate`] | a model's density in expected sufficient statistics |
//! | [`draws`] | log densities, simulations and predictions of a model; summaries and files of draws |
//! | [`finite`] | programs with finite meaning: exact posteriors, divergences, and their worst case over neighbouring inputs |
//! | [`junction`] | junction trees in doubles: sum-product, marginals, gradients, draws |
//! | [`prelude`] | what the author of a model imports |
//! | `strategies` | random programs for property tests and fuzzing, under the feature `proptest` |

mod base;
// Tests of this crate would link nothing of it, and neither do release builds.
#[cfg(all(not(test), debug_assertions))]
mod compiled;
pub mod conjugate;
#[doc = include_str!("../docs/design.md")]
pub mod design {}
pub mod draws;
pub mod finite;
pub mod handlers;
pub mod junction;
mod machine;
pub mod math;
pub mod model;
pub mod op;
pub mod prelude;
pub mod program;
pub mod record_gradient;
pub mod records;
pub mod run;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;
pub mod transform;

pub use base::{Error, Origin, Result, Shape, Source};
pub use draws::{LogDensity, Predictive, Replicator, Values, log_density, record_log_likelihoods, simulate};
pub use handlers::Unconstrained;
pub use machine::Scalar;
pub use model::{
    Constraint, Ctx, Distribution, Expanded, Key, Message, Model, Noise, NoiseKind, Parameter, Record,
    SiteKind, Trace, Transport, trace,
};
pub use op::{Graph, Value, Var};
pub use program::Program;
pub use record_gradient::{MaterialisedGradient, RecordGradient};
#[cfg(feature = "csv")]
pub use records::CsvColumn;
pub use records::{Column, Records, Schema};
pub use run::{ExecutionPlan, InputId};
pub use transform::{gradient, hessian_vector, jacobian_vector, value_and_gradient, vector_jacobian};

/// This crate's version. Runs that have to be repeated bit for bit are bound to it.
///
/// ```
/// assert!(ppl_core::VERSION.starts_with(|digit: char| digit.is_ascii_digit()));
/// ```
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
