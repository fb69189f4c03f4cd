//! Private regressions of any table: families, priors, fits, predictions.
//!
//! A [`Formula`](crate::formula::Formula) and a [`Schema`](crate::schema::Schema) make a
//! [`Design`](crate::formula::matrix::Design); with a [`family`] they are a
//! [`Specification`](specification::Specification), whose model is written in the project's own language and fitted by
//! [`fitting`]. [`posterior`] has the result in the units of the file, [`predict`](mod@predict) and [`metrics`] what it
//! says of other records, and [`model_file`] what is kept. [`arguments`], [`command`] and [`others`] are the
//! program `fit`.

mod account;
pub mod arguments;
mod beside;
pub mod command;
mod dispersion;
pub mod effects;
mod excess;
pub mod family;
mod features;
pub(crate) mod files;
pub mod fitting;
mod gaussian;
mod grouped;
pub mod learned;
pub mod metrics;
pub mod model_file;
mod nuisance;
pub mod others;
pub mod outcome;
pub mod posterior;
pub mod predict;
pub(crate) mod prepare;
pub mod prior;
pub mod private_metrics;
pub mod recovery;
mod replicas;
mod say;
pub mod specification;
mod student;
mod whitened;
pub mod whitening;
mod zeros;

#[cfg(test)]
mod tests;
