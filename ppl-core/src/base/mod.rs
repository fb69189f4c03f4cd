//! What everything stands on: shapes, mistakes in words, and where an operation was written.

mod error;
mod origin;
mod plain;
mod shape;

pub use error::{Error, Result, Source};
pub use origin::Origin;
pub(crate) use plain::{Plain, plain};
pub use shape::Shape;
