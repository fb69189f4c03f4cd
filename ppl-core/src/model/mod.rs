//! The probabilistic language: statements of a model, distributions, constraints, traces and log densities.

pub(crate) mod constraint;
pub(crate) mod context;
pub(crate) mod distribution;
pub(crate) mod log_density;
pub(crate) mod trace;
