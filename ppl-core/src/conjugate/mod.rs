//! Conjugacy: a model's density in expected sufficient statistics, with nothing of privacy in it.
//!
//! Let every shared latent value have a posterior factor in the exponential family of its prior, and let `t` be the
//! expectations of these families' statistics. What a record adds to the bound on the evidence is then a function
//! of `t` alone,
//!
//! ```text
//! ℓ_i(t) = max over q(l_i) of E_q[ln p(x_i, l_i | θ)] + H(q(l_i))        l_i: the record's own latent values
//! ```
//!
//! and by the envelope theorem its gradient `∂ℓ_i/∂t` is the vector of *expected sufficient statistics* of the
//! record, which variational Bayes adds up. So per-record gradients, their norms and their weighted sums serve
//! unchanged ([`RecordGradient`](crate::RecordGradient)), and the update of a factor is
//!
//! ```text
//! η = ∂E[ln p(θ)]/∂t + Σ_i ∂ℓ_i/∂t                  natural parameters of the posterior factor
//! ```
//!
//! [`Statistics`] makes `ℓ` and `E[ln p(θ)]` from a [model](crate::Model) as it stands: nothing is said twice.
//!
//! | file | what happens there |
//! |---|---|
//! | `statistics` | from a model to programs of expected statistics |
//! | `blocks` | arrays of expected statistics, and the posterior factors that they belong to |
//! | `groups` | which factors may be updated together |
//! | `opened` | shared latent values on their way to factors: inputs for their statistics, expected priors |
//! | `form`, `rules`, and `elementwise`, `moved`, `products` | the expectations that are known of a value, and what each operation makes of them |
//! | `linear` | the proof that an operation is linear in a value |
//! | `augment` | bounds of softplus and of logarithms of sums |
//! | `local` | records' own latent values, by a fixed number of sweeps |
//! | `words` | whether all that a record says are words of topics that it mixes: then zeros are passed over |
//! | `sign` | whether a value can be negative, and a matrix indefinite |
//! | `reach` | how large a record's expected statistics can be |
//! | `substitute` | expressions with values replaced |
//! | `family` | posterior factors that are not of the prior's family |
//!
//! # References
//! Beal 2003, "Variational algorithms for approximate Bayesian inference" (conjugate-exponential models); Polson,
//! Scott, Windle 2013, arXiv 1205.0310 (Pólya–gamma); Jaakkola & Jordan 2000 (the bound of a softplus); Park,
//! Foulds, Chaudhuri, Welling 2020, arXiv 1611.00340 (noisy expected statistics); Hoffman, Johnson, Tran 2018
//! (autoconj, which rewrites terms instead of propagating moments).

mod augment;
mod blocks;
mod elementwise;
mod family;
mod form;
mod groups;
mod linear;
mod local;
mod moved;
mod opened;
mod products;
mod reach;
mod rules;
mod sign;
mod statistics;
mod substitute;
mod words;

pub use crate::model::{ExponentialFamily, Statistic};
pub use augment::Curvature;
pub use blocks::{Block, Factor};
pub use family::normal_rows_log_partition;
pub use linear::require_linear;
pub use local::Kept;
pub use statistics::{Settings, Statistics};
