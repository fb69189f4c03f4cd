//! Models of posteriordb, as programs of this workspace.
//!
//! [posteriordb](https://github.com/stan-dev/posteriordb) is a collection of Bayesian models written in Stan,
//! with data and, for some, draws of the posterior that have been checked. [`problem`] gives the program for a
//! name of a model there, from the model's data: the same priors, the same likelihood, the same names. Nothing
//! of the collection is in this repository; `dp-examples/peers/posteriordb.py` takes a checkout of it by path.

pub mod answer;
mod data;
mod grouped;
mod linear;
mod public;
mod small;

use ppl_core::{Ctx, Records};

pub use data::{Data, DataError};

/// A model whose type is forgotten.
pub type AnyModel = Box<dyn Fn(&mut Ctx<'_>) -> ppl_core::Result<()>>;

/// A model and its records.
pub struct Problem {
    /// The program.
    pub model: AnyModel,
    /// What it conditions on; none for a model that has its data as constants, which
    /// [`fit_public`](dp_vi::DpVi::fit_public) fits.
    pub records: Records,
}

/// Names of models of posteriordb that are written here.
pub fn names() -> impl Iterator<Item = &'static str> {
    linear::NAMES.iter().chain(grouped::NAMES).chain(small::NAMES).chain(public::NAMES).copied()
}

/// The program of a model with this name, and its records. `None` for a name that is not among
/// [`names`].
///
/// # Errors
///
/// What the data lack, or a column that the records cannot have.
pub fn problem(name: &str, data: &Data) -> Result<Option<Problem>, DataError> {
    if linear::NAMES.contains(&name) {
        linear::problem(name, data).map(Some)
    } else if grouped::NAMES.contains(&name) {
        grouped::problem(name, data).map(Some)
    } else if small::NAMES.contains(&name) {
        small::problem(name, data).map(Some)
    } else if public::NAMES.contains(&name) {
        public::problem(name, data).map(Some)
    } else {
        Ok(None)
    }
}
