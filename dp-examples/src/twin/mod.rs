//! A private synthetic copy of a table: what the program `twin` does.
//!
//! ```text
//! table ─ schema ─► codes ─► noisy marginals of single columns ─► merged values
//!                     │                                               │
//!                     ├──► all pairs of the core's columns, and all of them at once
//!                     ├──► choose a column and its parents, measure their marginal, one column after the other
//!                     └──► choose pairs that no marginal holds yet, and measure them
//!                                                                     │
//!        rows that keep the constraints ◄─ model on a junction tree, fitted to all that was measured
//! ```
//!
//! A [`Schema`] says what is public of each column. [`fit`] reads the [records](Data) once, releases marginals
//! through [`dp_vi::summaries::Marginals`], and makes a [`Model`]; everything after that
//! ([`sample`](Model::sample), the report) is a function of the model. [`scores`] compares a twin with real
//! rows, without privacy.
//!
//! The method follows MST (McKenna, Miklau and Sheldon 2021) and AIM (McKenna et al. 2022): marginals are
//! chosen by the exponential mechanism, by how far the truth is from what the model says less the noise that
//! measuring would add, and the model is fitted to all of them by mirror descent. Unlike there, noise and
//! number of all releases are fixed before anything is seen, and rows are drawn by systematic sampling. A table
//! of few columns of few values is a core by itself: nothing is chosen, and analyses of it need not fear what was
//! not measured. Of a wider one the columns that will be analysed together can be named.
//!
//! Columns of numbers are measured alone by many cells and with others by few levels. `smooth` cuts the noisy counts
//! of the cells into stretches with a polynomial through each, `singles` and `levels` make cells and levels of them,
//! `shrunk` estimates counts of two columns' levels with a smooth distribution in mind, and `positions` says where in
//! its level a number is likely to lie, by where other columns' numbers lie in theirs.
//!
//! [`fit_classes`] fits another model to a table: latent classes, within which columns are independent.

mod account;
pub mod arguments;
mod asked;
mod classes;
mod combined;
mod constraint;
mod encode;
mod error;
mod files;
mod fitting;
mod folder;
mod grid;
mod levels;
mod model;
mod normal;
mod plan;
mod positions;
mod release;
mod report;
mod sample;
mod schema;
mod scores;
mod shrunk;
mod singles;
mod smooth;
mod structure;
mod uncertainty;

pub use account::account;
pub use classes::fit_classes;
pub use combined::combine_table;
pub use encode::{Data, read_table};
pub use error::{Error, Result};
pub use files::{privacy_json, read_model, summary};
pub use folder::{Paid, check_folder, check_inputs, write_made};
pub use model::{Column, Model, Provenance};
pub use plan::{Plan, Shape};
pub use release::{Fitted, Settings, fit};
pub use report::report;
pub use sample::{Rows, to_csv};
pub use schema::{Kind, Schema};
pub use scores::{Scores, scores};
pub use uncertainty::{Combined, ROWS_PER_RECORD, Sizes, combine};
