//! What a run will do and what it will cost, decided before any record is looked at.

pub(crate) mod public;
pub(crate) mod settings;
