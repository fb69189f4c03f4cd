//! What a run will do and what it will cost, decided before any record is looked at.
//!
//! `settings` is what the caller said, `choices` decides what was left open, `spending` finds rate and steps for what
//! is left of the budget, and `privacy_plan` is what comes out.

pub(crate) mod choices;
pub(crate) mod privacy_plan;
pub(crate) mod public;
pub(crate) mod settings;
pub(crate) mod spending;
