//! A posterior that accounts for the privacy noise.

pub(crate) mod attenuation;
pub(crate) mod excess;
pub(crate) mod hessian;
pub(crate) mod hierarchy;
pub(crate) mod linear_algebra;
pub(crate) mod noise_aware;
pub(crate) mod priors;
pub(crate) mod probes;
pub(crate) mod tail;
pub(crate) mod trace_regression;
pub(crate) mod unknown_curvature;
