//! A guide: from "what is epsilon" to the noise that a training run needs.
//!
#![doc = include_str!("../docs/trade-off.svg")]
//!
#![doc = include_str!("../docs/guide.md")]
