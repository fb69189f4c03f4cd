#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! A file of records becomes a [`table::Table`]. What is publicly known of its columns is a [`schema::Schema`], or the
//! simpler [`schema::bounds::Bounds`]. A [`formula::Formula`] makes a design of them, which [`regression`] fits by one
//! of seven families; without a formula, a [`table::condition::Condition`] on one column makes labels, and [`logistic`]
//! fits the rest. [`report`] shows what was found. [`twin`] makes private copies of tables, and [`finite`] enumerates
//! small mechanisms. [`output`] writes files that appear whole or not at all, [`program`] reads options and says what
//! went wrong, and [`harness`] measures the libraries.

mod error;
pub mod finite;
pub mod formula;
pub mod harness;
pub mod logistic;
pub mod output;
pub mod program;
pub mod regression;
pub mod report;
pub mod schema;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod table;
pub mod twin;

pub use error::Error;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
