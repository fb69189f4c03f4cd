//! Probability distributions for [`ppl_core`] models, one file each, in folders by kind.
//!
//! | distribution | parameters | support |
//! |---|---|---|
//! | [`Normal`], [`Laplace`], [`Logistic`], [`Cauchy`], [`Gumbel`] | `loc`, `scale` | real |
//! | [`StudentT`] | `df`, `loc`, `scale` | real |
//! | [`LogNormal`] | `loc`, `scale` (of the logarithm) | positive |
//! | [`HalfNormal`], [`HalfCauchy`] | `scale` | not negative |
//! | [`HalfStudentT`] | `df`, `scale` | not negative |
//! | [`Exponential`] | `rate` | not negative |
//! | [`Gamma`], [`InverseGamma`] | `concentration`, `rate` | positive |
//! | [`Chi2`] | `df` | positive |
//! | [`Weibull`] | `scale`, `concentration` | positive |
//! | [`PolyaGamma`] | `tilting` | positive |
//! | [`Pareto`] | `scale`, `alpha` | `scale` and above |
//! | [`Beta`], [`Kumaraswamy`] | `concentration1`, `concentration0` | unit interval |
//! | [`Uniform`] | `low`, `high` | between them |
//! | [`TruncatedNormal`] | `loc`, `scale`, `low`, `high` | between `low` and `high` |
//! | [`VonMises`] | `loc`, `concentration` | angles from −π to π |
//! | [`AsymmetricLaplace`] | `loc`, `scale`, `asymmetry` (or a quantile) | real |
//! | [`SkewNormal`] | `loc`, `scale`, `skewness` | real |
//! | [`ExponentiallyModifiedGaussian`] | `loc`, `scale`, `rate` | real |
//! | [`InverseGaussian`] | `mean`, `concentration` | positive |
//! | [`Gompertz`] | `concentration`, `rate` | not negative |
//! | [`LogUniform`] | `low`, `high` | between them |
//! | [`BetaProportion`] | `mean`, `concentration` | unit interval |
//! | [`RelaxedBernoulli`] | `temperature` and odds | unit interval |
//! | [`Bernoulli`] | log-odds | 0 or 1 |
//! | [`Truncated`] | another distribution, `low`, `high` | between `low` and `high` |
//! | [`ImproperUniform`] | a set | that set |
//! | [`Categorical`] | log-weights | 0, …, K − 1 |
//! | [`Binomial`], [`BetaBinomial`] | `total_count` and odds, or two concentrations | 0, …, n |
//! | [`Poisson`], [`NegativeBinomial`], [`Geometric`] | rate, count and odds, odds | 0, 1, 2, … |
//! | [`DiscreteUniform`] | `low`, `high` | low, …, high |
//! | [`OrderedLogistic`], [`OrderedProbit`] | predictor, cutpoints | 0, …, K − 1 |
//! | [`DiscreteLaplace`] | `loc`, `scale` | integers |
//! | [`Skellam`] | `rate1`, `rate2` | integers |
//! | [`Multinomial`], [`DirichletMultinomial`] | `total_count` and weights, or concentrations | counts that sum to n |
//! | [`MultivariateNormal`], [`LowRankMultivariateNormal`], [`MultivariateStudentT`] | mean and a covariance, precision or factor | real vectors |
//! | [`GaussianRandomWalk`] | `scale`, `num_steps` | real vectors |
//! | [`Dirichlet`] | concentrations | vectors that sum to 1 |
//! | [`Car`] | `loc`, `correlation`, `conditional_precision`, weights of neighbours | real vectors |
//! | [`GaussianCopula`] | laws of the elements, a factor of a correlation matrix | vectors |
//! | [`Wishart`], [`InverseWishart`] | `df` and a matrix or its factor | symmetric positive definite matrices |
//! | [`MatrixNormal`] | `loc`, factors of the covariances of rows and of columns | real matrices |
//! | [`LKJ`], [`LKJCholesky`] | dimension, concentration | correlation matrices, and their Cholesky factors |
//! | [`ZeroSumNormal`] | `scale`, number of variables | vectors that sum to 0 |
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
//! | [`ZeroInflated`], [`ZeroInflatedPoisson`], [`ZeroInflatedNegativeBinomial`] | counts with more zeros |
//! | [`Hurdle`] | counts, or amounts, that are 0 with a probability of their own |
//! | [`Censored`] | outcomes of which only a bound is known: left, right, or an interval |
//!
//! [`Horseshoe`] is a prior that is several statements of a model.
//!
//! # A law without a model
//!
//! Laws of single numbers answer for plain `f64`, and for slices of them: density (`ln_pdf`, `pdf`) or probability
//! (`ln_pmf`, `pmf`), `cdf`, `sf`, `ln_cdf`, `ln_sf`, `quantile`, `sample` with any random number generator, and
//! [`summary`](Normal::summary) for mean, variance, mode and so on. The trait `Distribution<f64>` of `rand` is
//! implemented, too.
//!
//! ```
//! use ppl_distributions::prelude::*;
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//! let law = Normal::new(0.0, 1.0);
//! assert!((law.ln_pdf(1.0) + 0.5 + 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-15);
//! assert_eq!(law.cdf(0.0), 0.5);
//! assert_eq!(law.cdf(&[0.0, f64::INFINITY]), [0.5, 1.0]);
//! assert!((law.ln_sf(40.0) + 804.608_442).abs() < 1e-6);
//! assert_eq!(Poisson::new(3.0).pmf(2), Poisson::new(3.0).pmf(2.0));
//! let drawn: f64 = law.sample(&mut ChaCha8Rng::seed_from_u64(1));
//! assert!(drawn.is_finite());
//! ```
//!
//! The numbers are those that a program of a model computes with these parameters, for the formulas are the same
//! ([`compute`](ppl_core::op::compute)). Where a parameter is out of bounds, NaN, or a value of a model, every
//! one of these methods gives NaN; [`validate`](ppl_core::Distribution::validate) says which parameter it is:
//!
//! ```
//! use ppl_distributions::prelude::*;
//! let law = Normal::new(0.0, -1.0);
//! assert!(law.ln_pdf(0.0).is_nan() && law.cdf(0.0).is_nan());
//! let problem = law.validate().unwrap_err().to_string();
//! assert!(problem.starts_with("Normal: scale must be positive and finite, got -1"));
//! ```
//!
//! # For those who come from NumPyro
//!
//! Parameters have NumPyro's names and order, but for
//!
//! | NumPyro | here |
//! |---|---|
//! | `Bernoulli(probs)`, `Bernoulli(logits=…)`, and so for all that take either | `Bernoulli::from_probs(probs)`, `Bernoulli::from_logits(logits)` |
//! | `ZeroInflatedDistribution(base, gate=…)`, `gate_logits=…` | `ZeroInflated::from_probs(base, gate)`, `from_logits` |
//! | `ZeroInflatedNegativeBinomial2(mean, concentration, gate=…)` | `ZeroInflatedNegativeBinomial::new(gate, mean, concentration)` |
//! | `NegativeBinomial2(mean, concentration)` | `NegativeBinomial::from_mean(mean, concentration)` |
//! | `Poisson(rate)` of `exp(log_rate)` | `Poisson::from_log_rate(log_rate)` |
//! | `AsymmetricLaplaceQuantile(loc, scale, quantile)` | `AsymmetricLaplace::from_quantile(loc, scale, quantile)` |
//! | `TruncatedNormal(loc, scale, low=…, high=…)` | `TruncatedNormal::new(loc, scale, low, high)`, ±∞ where there is none |
//! | `TruncatedDistribution(base, low=…, high=…)` | `Truncated::new(base, low, high)` |
//! | `LeftCensoredDistribution`, `RightCensoredDistribution` | `Censored::left(base, censored)`, `Censored::right(base, censored)` |
//! | `Wishart(concentration, scale_matrix)` | `Wishart::new(df, scale)` |
//! | `GaussianCopula(marginals, correlation_cholesky=…)` | `GaussianCopula::new(marginals, correlation_cholesky)` |
//! | `CAR(…, adj_matrix)` | `Car::new(…, neighbours)` |
//! | `MultivariateNormal(loc, covariance_matrix)`, `precision_matrix=…`, `scale_tril=…` | `MultivariateNormal::from_covariance`, `from_precision`, `from_cholesky` |
//!
//! A parameter is a number, a borrowed array of numbers (`&[0.2, 0.8]`, rows `&[[1.0, 0.0], [0.6, 0.8]]`, an array of
//! `ndarray`) or a value of the model. Parameters known while tracing are checked when the site
//! is declared; the error names the site, the parameter, the value and the line of the model. Bounds that are
//! values of the model make a support that is not known while tracing. A latent value `b` of such a law becomes a
//! deterministic one, of its own name and in its own units, and a function of the latent `b_base`, which tells between
//! 0 and 1 (or, where there is one end only, from 0 on) where it lies between its bounds; see [`Uniform`].
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
mod scalar;
mod shared;
mod statements;
#[cfg(feature = "proptest")]
pub mod strategies;

pub use combinators::{
    Affine, Bijection, ByQuantile, Censored, Combine, Delta, Direction, Exp, Hurdle, ImproperUniform,
    Independent, Inverse, Masked, Mixture, MixtureSameFamily, Negation, Onto, Power, Sigmoid, Tanh, Then,
    Transformed, Truncated, ZeroInflated, ZeroInflatedNegativeBinomial, ZeroInflatedPoisson,
};
pub use continuous::{
    AsymmetricLaplace, Beta, BetaProportion, Cauchy, Chi2, Exponential, ExponentiallyModifiedGaussian, Gamma,
    Gompertz, Gumbel, HalfCauchy, HalfNormal, HalfStudentT, InverseGamma, InverseGaussian, Kumaraswamy,
    Laplace, LogNormal, LogUniform, Logistic, Normal, Pareto, PolyaGamma, RelaxedBernoulli, SkewNormal,
    StudentT, TruncatedNormal, Uniform, VonMises, Weibull,
};
pub use discrete::{
    Bernoulli, BetaBinomial, Binomial, Categorical, DiscreteLaplace, DiscreteUniform, Geometric,
    NegativeBinomial, OrderedLogistic, OrderedProbit, Poisson, Skellam, Words,
};
pub use family::WishartFamily;
pub use kl::KullbackLeibler;
pub use multivariate::{
    Car, Dirichlet, DirichletMultinomial, GaussianCopula, GaussianRandomWalk, InverseWishart, LKJ,
    LKJCholesky, LowRankMultivariateNormal, MatrixNormal, Multinomial, MultivariateNormal,
    MultivariateStudentT, Wishart, ZeroSumNormal,
};

pub use scalar::{Numbers, Outcomes, Summary};
pub use statements::Horseshoe;

pub use ppl_core::Expanded;

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
