//! A small probabilistic language over a small array engine.
//!
//! A model is a function that runs **once**, on symbolic values, and leaves a flat array program: its log density. The
//! program is differentiated into another program, laid out in memory once, and run many times over batches of records
//! without allocating. Nothing here knows of privacy, but the one thing private training needs is here: sums of
//! per-record gradients, each scaled by a function of its norm, at the cost of an ordinary gradient ([`RecordGradient`]).
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
//! # The rooms of this crate
//!
//! | module | what happens there |
//! |---|---|
//! | `var`, `value`, `graph` | handles that read like mathematics, and the arena behind them |
//! | `shape`, `scalar`, `origin`, `error` | axes; number types; where an operation was written; mistakes in words |
//! | `op/*` | the primitives with all their rules, a family a file |
//! | `diff` | derivatives, backwards and forwards, from program to program |
//! | `simplify/*` | rewriting: fewer operations, and ones that neither overflow nor cancel |
//! | `program/*` | the flat program: listing, comparison, written form |
//! | `plan/*` | its memory and its steps: fused sweeps, matrix products, gathering of records |
//! | `linear_predictor` | whether a record's value is a generalised linear term |
//! | `math/*`, `simd`, `vectors`, `prefetch` | elementary and special functions that vectorise; instruction sets chosen at run time |
//! | `interpret` | one record at a time, slow and obvious; finds where a number stopped being finite |
//! | `records/*` | columns of records, in the number types they come in |
//! | `record_gradient/*` | per-record gradients, contracted and materialised |
//! | `export/*` | draws as CSV and Parquet, under the features `csv` and `parquet` |
//! | `model/*` | statements, distributions, constraints, traces, log densities, simulations and predictions |
//! | [`handlers`] | what changes the meaning of statements, one handler a file |
//! | [`summary`] | summaries of draws |
//! | `strategies/*` | random programs for property tests and fuzzing, under the feature `proptest` |

mod diff;
mod error;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub mod export;
mod graph;
pub mod handlers;
mod interpret;
mod linear_predictor;
mod math;
mod model;
mod op;
mod origin;
mod plan;
mod prefetch;
mod program;
#[cfg(test)]
mod property_tests;
mod record_gradient;
mod records;
mod scalar;
mod shape;
mod simd;
mod simplify;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod summary;
mod value;
mod var;
mod vectors;

pub use diff::{gradient, hessian_vector, jacobian_vector, value_and_gradient, vector_jacobian};
pub use error::{Error, Result, Source};
pub use graph::{Graph, Kind, Node};
pub use handlers::Unconstrained;
pub use interpret::{Argument, Fault, Trouble};
pub use linear_predictor::{LinearPredictor, linear_predictor};
pub use model::constraint::Constraint;
pub use model::context::{Ctx, Initial, Model};
pub use model::distribution::{Distribution, Iid, Noise, NoiseKind, Parameter};
pub use model::expand::Expanded;
pub use model::key::Key;
pub use model::log_density::{LogDensity, log_density};
pub use model::message::{Drawing, Message};
pub use model::plate::Plate;
pub use model::predictive::Predictive;
pub use model::record::Record;
pub use model::simulate::{Values, simulate};
pub use model::trace::{NoiseInput, Site, SiteKind, Trace, trace};
pub use model::transport::{Map, Transport};
pub use op::{
    Binary, Coincidence, Constant, Convolution, Counting, Decomposition, Einsum, Gather, Input, Linear,
    MatrixPart, MatrixProduct, Op, Pooling, Reduce, Role, Select, Shaping, Special, Structure, Unary, Window,
};
pub use origin::Origin;
pub use plan::{Explanation, InputId, Plan, RecordInputId, StepExplanation};
pub use program::{Instruction, Program};
pub use record_gradient::{
    ArrayExplanation, Cost, Costs, Form, GradientExplanation, MaterialisedGradient, RecordGradient,
};
pub use records::{Column, ColumnData, ColumnNumber, ColumnType, Records, Schema};
pub use scalar::Scalar;
pub use shape::Shape;
pub use value::Value;
pub use var::Var;

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
