//! Differentially private variational inference.
//!
//! A person with sensitive records writes a model of one record, names a privacy budget, and gets an approximate
//! posterior and a statement of what it guarantees.
//!
//! ```
//! use dp_accountant::{Budget, Relation};
//! use dp_vi::{AutoNormal, DpVi, Sensitive};
//! use ndarray::{Array1, Array2};
//! use ppl_core::{Column, Ctx, Distribution, Records, Result};
//! use ppl_distributions::{Bernoulli, Normal};
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let d = ctx.records().dim("x")?;
//!     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
//!     ctx.each_record(|ctx, record| {
//!         let logit = record.get("x")?.dot(w);
//!         ctx.observe("y", Bernoulli::from_logit(logit), record.get("y")?)
//!     })
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let x = Array2::from_shape_fn((2000, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
//! let y: Array1<f64> = x.rows().into_iter().map(|x| f64::from(x[0] > x[1])).collect();
//! let records = Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?);
//! let vi = DpVi::new(model, AutoNormal::new())
//!     .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove });
//! println!("{}", vi.plan(records.schema())?.explain());   // what will be done, why, and its cost
//! let fit = vi.fit(&records)?;
//! println!("{}", fit.privacy());             // the guarantee in words and numbers
//! let w = fit.posterior().mean("w")?;
//! assert!(w[0] > 0.0 && w[1] < 0.0);
//! assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what happens there |
//! |---|---|
//! | `sensitive` | the wall, as a type |
//! | `clip`, `quantile`, `weights` | how one record's gradient is bounded: by clipping, by a moving norm, by public weights |
//! | `mechanism`, `schemes`, `charges` | clip, sum, noise; the events of releases; all of a run's |
//! | `grid` | sums of integers and exact noise |
//! | `deviation` | what is not drawn exactly as it is accounted for, and what that takes of δ |
//! | `gradients`, `vanilla` | with respect to what gradients are taken; those of the guide's parameters |
//! | `curvature`, `start` | what else is released: second derivatives, a starting point |
//! | `streams` | who may use which random words, and that each is used once |
//! | `planner` | everything that was left open, and what it costs |
//! | `guide`, `guides/*` | what a variational family is; those there are, a file each |
//! | `amortised`, `record_noise` | latent values of single records, drawn by a guide that sees the record; with what noise |
//! | `traced`, `draws`, `objective`, `prior` | the model on symbols; the bound as array programs |
//! | `initial` | where latent values start |
//! | `optimiser`, `tail` | transformations of gradients, schedules, averaging |
//! | `dp_vi`, `training`, `run` | settings; one run, step by step; whole runs |
//! | `checkpoint` | runs that survive the process |
//! | `summaries` | counts, histograms, means and quantiles for preprocessing; the mean log-likelihood |
//! | `noise_aware`, `trace_regression`, `linear_algebra` | the posterior corrected for the noise; its curvature from the run's gradients |
//! | `posterior`, `simulation`, `report` | what comes out; draws from it |
//!
//! Coming from NumPyro or d3p? [`migration`] says what goes by which name, and what is different.

mod amortised;
#[cfg(test)]
mod audit_tests;
#[cfg(test)]
mod audits_of_modes;
mod charges;
mod checkpoint;
mod clip;
mod curvature;
mod deviation;
mod dp_vi;
mod draws;
mod error;
mod gradients;
mod grid;
mod guide;
mod guides;
mod hessian;
mod initial;
mod linear_algebra;
mod mechanism;
pub mod migration;
mod noise_aware;
mod objective;
mod optimiser;
mod planner;
mod posterior;
mod prior;
mod quantile;
mod record_noise;
mod report;
mod run;
#[cfg(test)]
mod scheme_audit_tests;
mod schemes;
mod sensitive;
mod simulation;
mod start;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
mod streams;
mod summaries;
mod tail;
mod trace_regression;
mod traced;
mod training;
mod vanilla;
mod weights;

pub use amortised::Amortised;
pub use checkpoint::Checkpoint;
pub use clip::{ClipNorm, Clipping, SMALLEST_CLIP_NORM, Sensitivity};
pub use curvature::CurvatureShape;
pub use dp_vi::{DpVi, Fit};
pub use draws::Draws;
pub use error::{Error, Result};
pub use gradients::Gradients;
pub use grid::PrivacyNoise;
pub use guide::{Guide, GuideParameter, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues};
pub use guides::{
    AutoDelta, AutoGuideList, AutoLaplace, AutoLowRankMultivariateNormal, AutoMultivariateNormal, AutoNormal,
    HandWritten,
};
pub use initial::Start;
pub use mechanism::{GaussianSum, PrivateGradient};
pub use noise_aware::NoiseAware;
pub use optimiser::{
    AdaDp, Chain, Momentum, ParameterLayout, SavedState, ScaleByAdaGrad, ScaleByAdam, ScaleByName,
    ScaleByRms, ScaleBySchedule, ScaleByYogi, Schedule, StepIndex, Transformation, Update, ada_grad, adam,
    momentum, rms_prop, sgd, yogi,
};
pub use planner::{Correction, CurvaturePlan, PrivacyPlan};
pub use posterior::Posterior;
pub use quantile::Quantile;
pub use report::{PrivacyReport, Release};
pub use run::{Proceed, Progress};
pub use sensitive::Sensitive;
pub use start::PrivateStart;
pub use summaries::{Field, Histogram, NoisyMean, NoisyQuantile, Range, Summaries};
pub use training::Training;
pub use weights::{GivenWeights, RecordWeights};

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
