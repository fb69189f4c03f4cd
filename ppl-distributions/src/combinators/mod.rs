//! Distributions made of other distributions, and of sets and values.

pub(crate) mod bijection;
pub(crate) mod by_quantile;
pub(crate) mod censored;
pub(crate) mod combine;
pub(crate) mod delta;
pub(crate) mod hurdle;
pub(crate) mod improper_uniform;
pub(crate) mod independent;
pub(crate) mod masked;
pub(crate) mod mixture;
pub(crate) mod mixture_same_family;
pub(crate) mod transformed;
pub(crate) mod truncated;
pub(crate) mod zero_inflated;
pub(crate) mod zero_inflated_counts;

pub use bijection::{Affine, Bijection, Direction, Exp, Inverse, Negation, Onto, Power, Sigmoid, Tanh, Then};
pub use by_quantile::ByQuantile;
pub use censored::Censored;
pub use combine::Combine;
pub use delta::Delta;
pub use hurdle::Hurdle;
pub use improper_uniform::ImproperUniform;
pub use independent::Independent;
pub use masked::Masked;
pub use mixture::Mixture;
pub use mixture_same_family::MixtureSameFamily;
pub use transformed::Transformed;
pub use truncated::Truncated;
pub use zero_inflated::ZeroInflated;
pub use zero_inflated_counts::{ZeroInflatedNegativeBinomial, ZeroInflatedPoisson};
