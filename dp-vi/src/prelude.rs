//! What a program that writes and fits a model needs, in one `use`; the distributions come with another,
//! `ppl_distributions::prelude`, or are your own.
//!
//! `Result` is that of models, [`ppl_core::Result`], which takes an error of your own too: `Result<(),
//! Box<dyn std::error::Error>>`. Samplers are not all here, for one is called like a distribution: they are in
//! [`dp_sampler`].
//!
//! ```
//! use dp_vi::prelude::*;
//! use ppl_distributions::prelude::*;
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let mean = ctx.sample("mean", Normal::new(0.0, 10.0))?;
//!     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let records = Sensitive::new(Records::from_columns([("x", vec![0.4; 2000])])?);
//! let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&records)?;
//! println!("{}\n{}", fit.privacy(), fit.posterior());
//! # Ok(())
//! # }
//! ```

pub use crate::guides::{
    Amortised, AutoDelta, AutoGuideList, AutoLaplace, AutoLowRankMultivariateNormal, AutoMultivariateNormal,
    AutoNormal, Guide, HandWritten,
};
pub use crate::summaries::{Range, Summaries};
pub use crate::{
    Clipping, ConjugateVi, Correction, DpVi, DrawScheme, Fit, InitialValues, Posterior, PrivacyNoise,
    PrivacyPlan, PrivacyReport, PrivateStart, RecordWeights, Sensitive,
};
pub use dp_accountant::{Budget, Ledger, Purse, Relation};
pub use dp_sampler::{BallsInBins, FixedSize, FullBatch, Seed, Shuffle, WithReplacement};
#[cfg(feature = "csv")]
pub use ppl_core::CsvColumn;
pub use ppl_core::{
    Column, Constraint, Ctx, Distribution, Key, Model, Predictive, Record, Records, Result, Schema, Values,
    Var, handlers, log_density, simulate,
};
