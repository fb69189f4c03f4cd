//! Probability distributions for [`ppl_core`] models, one file each.
//!
//! | distribution | support | mapped from the real line by |
//! |---|---|---|
//! | [`Normal`] | real | identity |
//! | [`HalfNormal`] | positive | exp |
//! | [`Bernoulli`] | 0 or 1 | discrete |
//! | [`Binomial`], [`BetaBinomial`] | 0, …, n | discrete |
//! | [`Poisson`], [`NegativeBinomial`], [`Geometric`] | 0, 1, 2, … | discrete |
//! | [`DiscreteUniform`] | low, …, high | discrete |
//! | [`OrderedLogistic`] | 0, …, K − 1 | discrete |
//! | [`Multinomial`], [`DirichletMultinomial`] | counts that sum to n | discrete |
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

mod batches;
mod bernoulli;
mod beta_binomial;
mod binomial;
mod counts;
mod dirichlet_multinomial;
mod discrete_uniform;
mod geometric;
mod half_normal;
mod multinomial;
mod negative_binomial;
mod normal;
mod odds;
mod ordered_logistic;
mod poisson;
mod polya;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;

pub use bernoulli::Bernoulli;
pub use beta_binomial::BetaBinomial;
pub use binomial::Binomial;
pub use dirichlet_multinomial::DirichletMultinomial;
pub use discrete_uniform::DiscreteUniform;
pub use geometric::Geometric;
pub use half_normal::HalfNormal;
pub use multinomial::Multinomial;
pub use negative_binomial::NegativeBinomial;
pub use normal::Normal;
pub use ordered_logistic::OrderedLogistic;
pub use poisson::Poisson;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
