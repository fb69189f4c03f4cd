//! Runs: their settings, one run step by step, and runs that survive the process.

pub(crate) mod begin;
pub(crate) mod checkpoint;
pub(crate) mod dp_vi;
pub(crate) mod drive;
mod prepare;
mod public;
pub(crate) mod rehearsal;
mod rough_fit;
mod start;
pub(crate) mod training;
