//! Black-box audits: attacks on released numbers, against what was paid for them.

pub(crate) mod modes;
mod schemes;
pub(crate) mod steps;
