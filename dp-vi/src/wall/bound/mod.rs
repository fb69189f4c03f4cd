//! How the contribution of one record is bounded.

pub(crate) mod clip;
pub(crate) mod quantile;
