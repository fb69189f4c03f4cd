#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! A CSV file becomes a [`table::Table`]; a [`condition::Condition`] turns one of its columns into labels and
//! [`bounds::Bounds`] say how the others are scaled; [`design::Design`] is the outcome, and [`mod@split`]
//! parts it into training and test records. With a formula, [`schema`] takes the place of bounds, [`formula`] makes the
//! design, and [`regression`] fits one of seven families; [`report`] shows it. [`population`] is the built-in
//! alternative to a file. What a fit
//! gives is held in a [`summary::WeightSummary`] per weight, shown by [`table_text`] and [`plot`] and written
//! by [`output`].

pub mod arguments;
pub mod bounds;
pub mod condition;
pub mod design;
mod error;
pub mod finite;
pub mod formula;
pub mod harness;
pub mod idx;
pub mod logistic;
pub mod output;
pub mod plot;
pub mod population;
pub mod program;
pub mod regression;
pub mod report;
pub mod schema;
pub mod short_form;
pub mod split;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod summary;
pub mod table;
pub mod table_text;
pub mod twin;
pub mod whitening;

pub use error::Error;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
