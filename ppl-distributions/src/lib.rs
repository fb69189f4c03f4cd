//! Probability distributions for [`ppl_core`] models, one file each.
//!
//! | distribution | support | mapped from the real line by |
//! |---|---|---|
//! | [`Normal`] | real | identity |
//! | [`HalfNormal`] | positive | exp |
//! | [`Bernoulli`] | 0 or 1 | discrete |
//! | [`Categorical`] | 0, …, K − 1 | discrete |
//! | [`MultivariateNormal`], [`LowRankMultivariateNormal`], [`MultivariateStudentT`] | real vectors | identity |
//! | [`Dirichlet`] | vectors that sum to 1 | stick breaking |
//! | [`LKJCholesky`] | Cholesky factors of correlation matrices | stick breaking of squares, row by row |
//! | [`Delta`] | one value | identity |
//! | [`Binomial`], [`BetaBinomial`] | 0, …, n | discrete |
//! | [`Poisson`], [`NegativeBinomial`], [`Geometric`] | 0, 1, 2, … | discrete |
//! | [`DiscreteUniform`] | low, …, high | discrete |
//! | [`OrderedLogistic`] | 0, …, K − 1 | discrete |
//! | [`Multinomial`], [`DirichletMultinomial`] | counts that sum to n | discrete |
//!
//! One distribution is made of another by the methods of [`Combine`] and by mixtures:
//!
//! | | |
//! |---|---|
//! | [`Independent`] | axes of a batch taken for axes of one outcome |
//! | [`Expanded`] | an independent copy for each place of a larger batch |
//! | [`Masked`] | outcomes that are not looked at |
//! | [`Transformed`] | a bijection of the outcomes ([`Bijection`]: [`Affine`], [`Exp`], [`Sigmoid`], [`Tanh`], [`Power`], [`Negation`], [`Onto`] a constraint) |
//! | [`MixtureSameFamily`], [`Mixture`] | one of several, which one summed out |
//! | [`ZeroInflated`] | counts with more zeros |
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

mod arrays;
mod batches;
mod bernoulli;
mod beta_binomial;
mod bijection;
mod binomial;
mod categorical;
mod combine;
mod counts;
mod delta;
mod dirichlet;
mod dirichlet_multinomial;
mod discrete_uniform;
mod expanded;
mod gamma_noise;
mod geometric;
mod half_normal;
mod independent;
mod lkj_cholesky;
mod low_rank_multivariate_normal;
mod masked;
mod mixture;
mod mixture_same_family;
mod multinomial;
mod multivariate_normal;
mod multivariate_student_t;
mod negative_binomial;
mod normal;
mod odds;
mod ordered_logistic;
mod poisson;
mod polya;
mod stirling;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;
mod transformed;
mod zero_inflated;

pub use bernoulli::Bernoulli;
pub use beta_binomial::BetaBinomial;
pub use bijection::{Affine, Bijection, Direction, Exp, Inverse, Negation, Onto, Power, Sigmoid, Tanh, Then};
pub use binomial::Binomial;
pub use categorical::Categorical;
pub use combine::Combine;
pub use delta::Delta;
pub use dirichlet::Dirichlet;
pub use dirichlet_multinomial::DirichletMultinomial;
pub use discrete_uniform::DiscreteUniform;
pub use expanded::Expanded;
pub use geometric::Geometric;
pub use half_normal::HalfNormal;
pub use independent::Independent;
pub use lkj_cholesky::LKJCholesky;
pub use low_rank_multivariate_normal::LowRankMultivariateNormal;
pub use masked::Masked;
pub use mixture::Mixture;
pub use mixture_same_family::MixtureSameFamily;
pub use multinomial::Multinomial;
pub use multivariate_normal::MultivariateNormal;
pub use multivariate_student_t::MultivariateStudentT;
pub use negative_binomial::NegativeBinomial;
pub use normal::Normal;
pub use ordered_logistic::OrderedLogistic;
pub use poisson::Poisson;
pub use transformed::Transformed;
pub use zero_inflated::ZeroInflated;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
