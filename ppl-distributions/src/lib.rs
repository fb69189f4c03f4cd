//! Probability distributions for [`ppl_core`] models, one file each, in folders by kind.
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
//! | [`ByQuantile`] | draws that grow with one uniform number |
//! | [`Transformed`] | a bijection of the outcomes ([`Bijection`]: [`Affine`], [`Exp`], [`Sigmoid`], [`Tanh`], [`Power`], [`Negation`], [`Onto`] a constraint) |
//! | [`MixtureSameFamily`], [`Mixture`] | one of several, which one summed out |
//! | [`ZeroInflated`] | counts with more zeros |
//!
//! A parameter is a number or a value of the model. Parameters known while tracing are checked when the site
//! is declared; the error names the site, the parameter, the value and the line of the model. Bounds that are
//! values of the model make a support that is not known while tracing: such a distribution can be observed,
//! but not be that of a latent value.
//!
//! The worst errors of every law's log density and derivatives stand in the crate's `ACCURACY.md`, measured against
//! 60 digits; distribution functions, quantiles, moments and entropies agree with 50-digit values to 10⁻¹⁰ and mostly
//! far better. Outside its support a law's log density is −∞, for computed values as for observed ones. Draws are
//! programs of standard noise and, but for those of discrete laws, can be differentiated with respect to the
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

mod combinators;
mod continuous;
mod discrete;
mod family;
mod kl;
mod multivariate;
pub mod prelude;
mod shared;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;

pub use combinators::{
    Affine, Bijection, ByQuantile, Combine, Delta, Direction, Exp, ImproperUniform, Independent, Inverse,
    Masked, Mixture, MixtureSameFamily, Negation, Onto, Power, Sigmoid, Tanh, Then, Transformed, Truncated,
    ZeroInflated,
};
pub use continuous::{
    Beta, Cauchy, Chi2, Exponential, Gamma, Gumbel, HalfCauchy, HalfNormal, HalfStudentT, InverseGamma,
    Kumaraswamy, Laplace, LogNormal, Logistic, Normal, Pareto, PolyaGamma, StudentT, TruncatedNormal,
    Uniform, VonMises, Weibull,
};
pub use discrete::{
    Bernoulli, BetaBinomial, Binomial, Categorical, DiscreteUniform, Geometric, NegativeBinomial,
    OrderedLogistic, Poisson, Words,
};
pub use family::WishartFamily;
pub use kl::KullbackLeibler;
pub use multivariate::{
    Dirichlet, DirichletMultinomial, GaussianRandomWalk, LKJCholesky, LowRankMultivariateNormal, Multinomial,
    MultivariateNormal, MultivariateStudentT,
};

pub use ppl_core::Expanded;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
