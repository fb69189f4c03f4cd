//! What is computed of a whole model: log densities at given values, simulations, predictions, and summaries
//! and files of draws.

#[cfg(any(feature = "csv", feature = "parquet"))]
pub mod export;
mod log_density;
mod predictive;
mod simulate;
pub mod summary;

pub use log_density::{LogDensity, log_density};
pub use predictive::Predictive;
pub use simulate::{Values, simulate};
