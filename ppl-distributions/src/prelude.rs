//! All distributions and what combines them, in one `use`, with the trait that has `iid`.
//!
//! ```
//! use ppl_core::prelude::*;
//! use ppl_distributions::prelude::*;
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let rate = ctx.sample("rate", Gamma::new(2.0, 1.0))?;
//!     ctx.each_record(|ctx, record| ctx.observe("calls", Poisson::new(rate), record.get("calls")?))
//! }
//! # let _ = model;
//! ```

pub use crate::{
    Affine, AsymmetricLaplace, Bernoulli, Beta, BetaBinomial, BetaProportion, Bijection, Binomial,
    ByQuantile, Car, Categorical, Cauchy, Censored, Chi2, Combine, Delta, Direction, Dirichlet,
    DirichletMultinomial, DiscreteLaplace, DiscreteUniform, Exp, Exponential, ExponentiallyModifiedGaussian,
    Gamma, GaussianCopula, GaussianRandomWalk, Geometric, Gompertz, Gumbel, HalfCauchy, HalfNormal,
    HalfStudentT, Horseshoe, Hurdle, ImproperUniform, Independent, Inverse, InverseGamma, InverseGaussian,
    InverseWishart, KullbackLeibler, Kumaraswamy, LKJ, LKJCholesky, Laplace, LogNormal, LogUniform, Logistic,
    LowRankMultivariateNormal, Masked, MatrixNormal, Mixture, MixtureSameFamily, Multinomial,
    MultivariateNormal, MultivariateStudentT, Negation, NegativeBinomial, Normal, Numbers, Onto,
    OrderedLogistic, OrderedProbit, Outcomes, Pareto, Poisson, PolyaGamma, Power, RelaxedBernoulli, Sigmoid,
    Skellam, SkewNormal, StudentT, Summary, Tanh, Then, Transformed, Truncated, TruncatedNormal, Uniform,
    VonMises, Weibull, Wishart, Words, ZeroInflated, ZeroInflatedNegativeBinomial, ZeroInflatedPoisson,
    ZeroSumNormal,
};
pub use ppl_core::{Distribution, Expanded};
