//! Distributions of integers and of categories.

pub(crate) mod bernoulli;
pub(crate) mod beta_binomial;
pub(crate) mod binomial;
pub(crate) mod categorical;
pub(crate) mod discrete_laplace;
pub(crate) mod discrete_uniform;
pub(crate) mod geometric;
pub(crate) mod negative_binomial;
pub(crate) mod ordered_logistic;
pub(crate) mod ordered_probit;
pub(crate) mod poisson;
pub(crate) mod skellam;
pub(crate) mod words;

pub use bernoulli::Bernoulli;
pub use beta_binomial::BetaBinomial;
pub use binomial::Binomial;
pub use categorical::Categorical;
pub use discrete_laplace::DiscreteLaplace;
pub use discrete_uniform::DiscreteUniform;
pub use geometric::Geometric;
pub use negative_binomial::NegativeBinomial;
pub use ordered_logistic::OrderedLogistic;
pub use ordered_probit::OrderedProbit;
pub use poisson::Poisson;
pub use skellam::Skellam;
pub use words::Words;
