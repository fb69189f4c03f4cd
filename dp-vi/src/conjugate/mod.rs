//! Variational Bayes from noisy expected sufficient statistics.
//!
//! | file | what happens there |
//! |---|---|
//! | `conjugate_vi` | what is said of a fit |
//! | `estimate` | whether it looks for a posterior or for values (variational EM) |
//! | `plan` | what was left open, and what the fit costs |
//! | `sensitivity` | by how much neighbours change the statistics |
//! | `logistic` | logistic regressions whose statistics have an exact bound |
//! | `tables` | how large a table of counts may be, for its noise |
//! | `update` | from noisy statistics to posterior factors: where they begin, those that meet, and points |
//! | `shrink` | counts drawn together by what they have in common |
//! | `fit` | a fit, step by step |

mod conjugate_vi;
mod estimate;
mod fit;
mod logistic;
mod plan;
mod sensitivity;
mod shrink;
mod tables;
#[cfg(test)]
mod tests;
mod update;

pub use conjugate_vi::ConjugateVi;
pub use estimate::Estimate;
pub use fit::ConjugateTraining;
pub use plan::ConjugatePlan;
pub use ppl_core::conjugate::Curvature;
pub use sensitivity::{ReplaceBound, logistic_sensitivity};
