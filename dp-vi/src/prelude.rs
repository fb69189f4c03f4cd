//! What a program that fits a model needs, in one `use`.
//!
//! ```
//! use dp_vi::prelude::*;
//! use ppl_core::{Ctx, Records, Result};
//! use ppl_distributions::Normal;
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let mean = ctx.sample("mean", Normal::new(0.0, 10.0))?;
//!     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
//! }
//!
//! # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! let records = Sensitive::new(Records::from_columns([("x", vec![0.4; 2000])])?);
//! let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
//! let fit = DpVi::new(model, AutoNormal::new()).budget(budget).fit(&records)?;
//! println!("{}\n{:?}", fit.privacy(), fit.posterior().mean("mean")?);
//! # Ok(())
//! # }
//! ```

pub use crate::guides::{
    Amortised, AutoDelta, AutoGuideList, AutoLaplace, AutoLowRankMultivariateNormal, AutoMultivariateNormal,
    AutoNormal, Guide, HandWritten,
};
pub use crate::summaries::{Range, Summaries};
pub use crate::{
    Clipping, Correction, DpVi, DrawScheme, Fit, InitialValues, Posterior, PrivacyNoise, PrivacyPlan,
    PrivacyReport, PrivateStart, RecordWeights, Sensitive,
};
pub use dp_accountant::{Budget, Ledger, Purse, Relation};
pub use dp_sampler::{BallsInBins, FixedSize, FullBatch, Poisson, Seed, Shuffle, WithReplacement};
