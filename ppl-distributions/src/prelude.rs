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
    Affine, Bernoulli, Beta, BetaBinomial, Bijection, Binomial, Categorical, Cauchy, Chi2, Combine, Delta,
    Direction, Dirichlet, DirichletMultinomial, DiscreteUniform, Exp, Exponential, Gamma, GaussianRandomWalk,
    Geometric, Gumbel, HalfCauchy, HalfNormal, HalfStudentT, ImproperUniform, Independent, Inverse,
    InverseGamma, KullbackLeibler, Kumaraswamy, LKJCholesky, Laplace, LogNormal, Logistic,
    LowRankMultivariateNormal, Masked, Mixture, MixtureSameFamily, Multinomial, MultivariateNormal,
    MultivariateStudentT, Negation, NegativeBinomial, Normal, Onto, OrderedLogistic, Pareto, Poisson,
    PolyaGamma, Power, Sigmoid, StudentT, Tanh, Then, Transformed, Truncated, TruncatedNormal, Uniform,
    VonMises, Weibull, Words, ZeroInflated,
};
pub use ppl_core::{Distribution, Expanded};
