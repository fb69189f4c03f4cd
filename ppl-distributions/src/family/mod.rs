//! Distributions as members of exponential families.
//!
//! | distribution | statistics `T(x)` | natural parameters `η` |
//! |---|---|---|
//! | `Bernoulli` | `x` | `ln(p/(1 − p))` |
//! | `Beta(a, b)` | `ln x`, `ln(1 − x)` | `a − 1`, `b − 1` |
//! | `Categorical` | indicators | `ln p` |
//! | `Dirichlet(a)` | `ln x` | `a − 1` |
//! | `Gamma(a, β)` | `ln x`, `x` | `a − 1`, `−β` |
//! | `MultivariateNormal(μ, Λ⁻¹)` | `x`, `x xᵀ` | `Λμ`, `−Λ/2` |
//! | `Normal(μ, s)` | `x`, `x²` | `μ/s²`, `−1/(2s²)` |
//! | `Poisson(λ)` | `x` | `ln λ` |
//! | Wishart(n, V) | `ln |x|`, `x` | `(n − p − 1)/2`, `−V⁻¹/2` |

mod finite;
mod normal;
mod positive;
mod wishart;

pub(crate) use finite::{BernoulliFamily, CategoricalFamily, DirichletFamily};
pub(crate) use normal::{MultivariateNormalFamily, NormalFamily};
pub(crate) use positive::{BetaFamily, GammaFamily, PoissonFamily};
pub use wishart::WishartFamily;
