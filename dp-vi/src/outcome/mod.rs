//! What comes out of a run: the posterior, draws from it, the privacy report.

pub(crate) mod convergence;
pub(crate) mod correction;
pub(crate) mod factors;
pub(crate) mod fit;
pub(crate) mod posterior;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod simulation;
pub(crate) mod table;
#[cfg(feature = "json")]
pub(crate) mod written;
