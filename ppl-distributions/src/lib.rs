//! Probability distributions for [`ppl_core`] models, one file each.
//!
//! | distribution | parameters | support |
//! |---|---|---|
//! | [`Normal`], [`Laplace`], [`Logistic`], [`Cauchy`], [`Gumbel`] | `loc`, `scale` | real |
//! | [`StudentT`] | `df`, `loc`, `scale` | real |
//! | [`LogNormal`] | `loc`, `scale` (of the logarithm) | positive |
//! | [`HalfNormal`], [`HalfCauchy`] | `scale` | positive |
//! | [`Exponential`] | `rate` | positive |
//! | [`Gamma`], [`InverseGamma`] | `concentration`, `rate` | positive |
//! | [`Chi2`] | `df` | positive |
//! | [`Weibull`] | `scale`, `concentration` | positive |
//! | [`PolyaGamma`] | `tilting` | positive |
//! | [`Pareto`] | `scale`, `alpha` | above `scale` |
//! | [`Beta`], [`Kumaraswamy`] | `concentration1`, `concentration0` | unit interval |
//! | [`Uniform`] | `low`, `high` | between them |
//! | [`TruncatedNormal`] | `loc`, `scale`, `low`, `high` | between `low` and `high` |
//! | [`VonMises`] | `loc`, `concentration` | angles from −π to π |
//! | [`Bernoulli`] | log-odds | 0 or 1 |
//! | [`Truncated`] | another distribution, `low`, `high` | between `low` and `high` |
//! | [`ImproperUniform`] | a set | that set |
//!
//! A parameter is a number or a value of the model. Parameters known while tracing are checked when the site is declared;
//! the error names the site, the parameter, the value and the line of the model. Bounds that are values of the model make a support that is
//! not known while tracing: such a distribution can be observed, but not be that of a latent value.
//!
//! Log densities, distribution functions, quantiles, moments and entropies agree with 50-digit values (`tests/golden`) to 10⁻¹⁰ and mostly far
//! better, for parameters over many orders of magnitude. Draws are programs of standard noise and, but for [`Bernoulli`], can be
//! differentiated with respect to the parameters; [`KullbackLeibler`] has the divergences that have a formula.
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
mod beta;
mod bounds;
mod cauchy;
mod chi2;
mod exponential;
mod gamma;
mod gumbel;
mod half_cauchy;
mod half_normal;
mod helpers;
mod improper_uniform;
mod inverse_gamma;
mod kl;
mod kumaraswamy;
mod laplace;
mod log_normal;
mod logistic;
mod normal;
mod pareto;
mod polya_gamma;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
mod student_t;
#[cfg(test)]
mod tests;
mod truncated;
mod truncated_normal;
mod uniform;
mod von_mises;
mod weibull;

pub use bernoulli::Bernoulli;
pub use beta::Beta;
pub use cauchy::Cauchy;
pub use chi2::Chi2;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use gumbel::Gumbel;
pub use half_cauchy::HalfCauchy;
pub use half_normal::HalfNormal;
pub use improper_uniform::ImproperUniform;
pub use inverse_gamma::InverseGamma;
pub use kl::KullbackLeibler;
pub use kumaraswamy::Kumaraswamy;
pub use laplace::Laplace;
pub use log_normal::LogNormal;
pub use logistic::Logistic;
pub use normal::Normal;
pub use pareto::Pareto;
pub use polya_gamma::PolyaGamma;
pub use student_t::StudentT;
pub use truncated::Truncated;
pub use truncated_normal::TruncatedNormal;
pub use uniform::Uniform;
pub use von_mises::VonMises;
pub use weibull::Weibull;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
