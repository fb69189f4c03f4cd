//! What several distributions share: constants, noise, shapes, formulas.

pub(crate) mod arrays;
pub(crate) mod batches;
pub(crate) mod bisect;
pub(crate) mod bounds;
pub(crate) mod categories;
pub(crate) mod counts;
pub(crate) mod cutpoints;
pub(crate) mod gamma_noise;
pub(crate) mod helpers;
pub(crate) mod log_space;
pub(crate) mod moved;
pub(crate) mod odds;
pub(crate) mod polya;
pub(crate) mod quantiles;
pub(crate) mod support;
