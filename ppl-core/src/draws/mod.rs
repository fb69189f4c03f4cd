//! What is computed of a whole model: log densities at given values, simulations, predictions, summaries
//! and files of draws, and whether chains of draws agree.

pub mod convergence;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub mod export;
// Also in tests without the sampler, so that they need not be built for each of the two.
#[cfg(any(test, feature = "nuts"))]
mod density;
pub(crate) mod log_density;
#[cfg(feature = "nuts")]
pub mod nuts;
mod predictive;
mod replicate;
pub(crate) mod simulate;
pub mod summary;

pub use log_density::{LogDensity, log_density, record_log_likelihoods};
pub use predictive::Predictive;
pub use replicate::Replicator;
pub use simulate::{Values, simulate};
