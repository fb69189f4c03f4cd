//! Events in other programs' terms. Needs the feature `json`.

pub mod dp_event;
mod json;
