//! What the author of a model, or of a distribution, imports.
//!
//! ```
//! use ndarray::arr0;
//! use ppl_core::prelude::*;
//! use std::collections::BTreeMap;
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let slope = ctx.param("slope", 1.0, Constraint::Real)?;
//!     ctx.each_record(|ctx, record| ctx.factor("error", -(record.get("y")? - slope * record.get("x")?).square()))
//! }
//!
//! let records = Records::from_columns([("x", vec![1.0, 2.0]), ("y", vec![1.0, 2.5])])?;
//! let at = BTreeMap::from([("slope".to_owned(), arr0(1.0).into_dyn())]);
//! assert_eq!(log_density(&model, &records, &at)?.total(), -0.25);
//! # Ok::<(), ppl_core::Error>(())
//! ```

pub use crate::base::{Error, Result, Shape};
pub use crate::draws::{Predictive, Values, log_density, simulate};
pub use crate::handlers;
pub use crate::model::{
    Constraint, Ctx, Distribution, Key, Message, Model, Noise, NoiseKind, Parameter, Record, SiteKind, Trace,
    trace,
};
pub use crate::op::{Graph, Value, Var};
#[cfg(feature = "csv")]
pub use crate::records::CsvColumn;
pub use crate::records::{Column, Records, Schema};
