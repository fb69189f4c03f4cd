//! What releases cost: the events of sampling schemes, all events of a run, and what is not drawn exactly.

pub(crate) mod charges;
pub(crate) mod deviation;
pub(crate) mod integer_scale;
pub(crate) mod permit;
pub(crate) mod pricing;
