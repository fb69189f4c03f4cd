//! The privacy wall: the only code that reads sensitive records, and what it lets out.

pub(crate) mod adder;
#[cfg(test)]
pub(crate) mod audits;
pub(crate) mod batches;
pub(crate) mod bound;
pub(crate) mod categories;
pub(crate) mod curvature;
pub(crate) mod fingerprint;
pub(crate) mod gradient;
pub(crate) mod grid;
pub(crate) mod histogram;
pub(crate) mod integers;
pub(crate) mod local_states;
pub(crate) mod octaves;
pub(crate) mod record_noise;
pub(crate) mod release;
pub(crate) mod sensitive;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod unprotected;
