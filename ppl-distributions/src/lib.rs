//! Probability distributions for [`ppl_core`] models, one file each.
//!
//! | distribution | parameters | support |
//! |---|---|---|
//! | [`Normal`], [`Laplace`], [`Logistic`], [`Cauchy`], [`Gumbel`] | `loc`, `scale` | real |
//! | [`StudentT`] | `df`, `loc`, `scale` | real |
//! | [`LogNormal`] | `loc`, `scale` (of the logarithm) | positive |
//! | [`HalfNormal`], [`HalfCauchy`] | `scale` | positive |
//! | [`HalfStudentT`] | `df`, `scale` | positive |
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
//! | [`Categorical`] | log-weights | 0, …, K − 1 |
//! | [`Binomial`], [`BetaBinomial`] | `total_count` and odds, or two concentrations | 0, …, n |
//! | [`Poisson`], [`NegativeBinomial`], [`Geometric`] | rate, count and odds, odds | 0, 1, 2, … |
//! | [`DiscreteUniform`] | `low`, `high` | low, …, high |
//! | [`OrderedLogistic`] | predictor, cutpoints | 0, …, K − 1 |
//! | [`Multinomial`], [`DirichletMultinomial`] | `total_count` and weights, or concentrations | counts that sum to n |
//! | [`MultivariateNormal`], [`LowRankMultivariateNormal`], [`MultivariateStudentT`] | mean and a covariance, precision or factor | real vectors |
//! | [`GaussianRandomWalk`] | `scale`, `num_steps` | real vectors |
//! | [`Dirichlet`] | concentrations | vectors that sum to 1 |
//! | [`LKJCholesky`] | dimension, concentration | Cholesky factors of correlation matrices |
//! | [`Delta`] | a value | that value |
//!
//! One distribution is made of another by the methods of [`Combine`] and by mixtures:
//!
//! | | |
//! |---|---|
//! | [`Independent`] | axes of a batch as axes of one outcome |
//! | [`Expanded`] | an independent copy for each place of a larger batch |
//! | [`Masked`] | outcomes that are not looked at |
//! | [`Transformed`] | a bijection of the outcomes ([`Bijection`]: [`Affine`], [`Exp`], [`Sigmoid`], [`Tanh`], [`Power`], [`Negation`], [`Onto`] a constraint) |
//! | [`MixtureSameFamily`], [`Mixture`] | one of several, which one summed out |
//! | [`ZeroInflated`] | counts with more zeros |
//!
//! A parameter is a number or a value of the model. Parameters known while tracing are checked when the site
//! is declared; the error names the site, the parameter, the value and the line of the model. Bounds that are
//! values of the model make a support that is not known while tracing: such a distribution can be observed,
//! but not be that of a latent value.
//!
//! Log densities, distribution functions, quantiles, moments and entropies agree with 50-digit values
//! (`tests/golden`) to 10⁻¹⁰ and mostly far better, for parameters over many orders of magnitude. Draws are
//! programs of standard noise and, but for [`Bernoulli`], can be differentiated with respect to the
//! parameters; [`KullbackLeibler`] has the divergences that have a formula.
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
mod beta;
mod beta_binomial;
mod bijection;
mod binomial;
mod bounds;
mod categorical;
mod cauchy;
mod chi2;
mod combine;
mod counts;
mod delta;
mod dirichlet;
mod dirichlet_multinomial;
mod discrete_uniform;
mod exponential;
mod gamma;
mod gamma_noise;
mod gaussian_random_walk;
mod geometric;
mod gumbel;
mod half_cauchy;
mod half_normal;
mod half_student_t;
mod helpers;
mod improper_uniform;
mod independent;
mod inverse_gamma;
mod kl;
mod kumaraswamy;
mod laplace;
mod lkj_cholesky;
mod log_normal;
mod logistic;
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
mod pareto;
mod poisson;
mod polya;
mod polya_gamma;
pub mod prelude;
mod stirling;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
mod student_t;
#[cfg(test)]
mod tests;

mod transformed;
mod truncated;
mod truncated_normal;
mod uniform;
mod von_mises;
mod weibull;
mod zero_inflated;
pub use bernoulli::Bernoulli;
pub use beta::Beta;
pub use beta_binomial::BetaBinomial;
pub use bijection::{Affine, Bijection, Direction, Exp, Inverse, Negation, Onto, Power, Sigmoid, Tanh, Then};
pub use binomial::Binomial;
pub use categorical::Categorical;
pub use cauchy::Cauchy;
pub use chi2::Chi2;
pub use combine::Combine;
pub use delta::Delta;
pub use dirichlet::Dirichlet;
pub use dirichlet_multinomial::DirichletMultinomial;
pub use discrete_uniform::DiscreteUniform;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use gaussian_random_walk::GaussianRandomWalk;
pub use geometric::Geometric;
pub use gumbel::Gumbel;
pub use half_cauchy::HalfCauchy;
pub use half_normal::HalfNormal;
pub use half_student_t::HalfStudentT;
pub use improper_uniform::ImproperUniform;
pub use independent::Independent;
pub use inverse_gamma::InverseGamma;
pub use kl::KullbackLeibler;
pub use kumaraswamy::Kumaraswamy;
pub use laplace::Laplace;
pub use lkj_cholesky::LKJCholesky;
pub use log_normal::LogNormal;
pub use logistic::Logistic;
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
pub use pareto::Pareto;
pub use poisson::Poisson;
pub use polya_gamma::PolyaGamma;
pub use student_t::StudentT;
pub use transformed::Transformed;
pub use truncated::Truncated;
pub use truncated_normal::TruncatedNormal;
pub use uniform::Uniform;
pub use von_mises::VonMises;
pub use weibull::Weibull;
pub use zero_inflated::ZeroInflated;

pub use ppl_core::Expanded;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
