//! Probability distributions for [`ppl_core`] models, one file each.
//!
//! | distribution | support | mapped from the real line by |
//! |---|---|---|
//! | [`Normal`] | real | identity |
//! | [`HalfNormal`] | positive | exp |
//! | [`Bernoulli`] | 0 or 1 | discrete |
//!
//! A parameter is a number or a value of the model. Parameters known while tracing are checked when the site is declared;
//! the error names the site, the parameter, the value and the line of the model.
//!
//! ```
//! use ppl_core::{Ctx, Distribution, Graph, Result, Schema, Unconstrained, trace};
//! use ppl_distributions::{HalfNormal, Normal};
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
//!     let centre = ctx.sample("centre", Normal::new(0.0, -3.0).iid(2))?;
//!     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(centre, spread), record.get("x")?))
//! }
//! let (graph, schema) = (Graph::new(), Schema::new([("x", [2])])?);
//! let told = trace(&model, &graph, &schema, Unconstrained).unwrap_err().to_string();
//! assert!(told.starts_with("site 'centre': Normal: scale must be positive and finite, got -3"));
//! # Ok::<(), ppl_core::Error>(())
//! ```

mod bernoulli;
mod half_normal;
mod normal;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;

pub use bernoulli::Bernoulli;
pub use half_normal::HalfNormal;
pub use normal::Normal;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
