//! Differentially private variational inference.
//!
//! A person with sensitive records writes a model of one record, names a privacy budget, and gets an
//! approximate posterior and a statement of what it guarantees.
//!
//! ```
//! use dp_accountant::{Budget, Relation};
//! use dp_vi::guides::AutoNormal;
//! use dp_vi::{DpVi, Sensitive};
//! use ndarray::{Array1, Array2};
//! use ppl_core::{Column, Ctx, Distribution, Records, Result};
//! use ppl_distributions::{Bernoulli, Normal};
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let d = ctx.records().dim("x")?;
//!     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
//!     ctx.each_record(|ctx, record| {
//!         let logit = record.get("x")?.dot(w);
//!         ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
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
//! # Modules
//!
//! A folder imports only from those above it.
//!
//! | folder | what happens there |
//! |---|---|
//! | `cost` | the events of sampling schemes, all events of a run, permits for releases, what is not drawn exactly |
//! | [`optimiser`] | transformations of gradients, schedules, averaging |
//! | [`guides`] | what a variational family is; those there are, a file each; records' own latent values |
//! | `objective` | the model on symbols; the bound as array programs; the frontier, where records meet shared values |
//! | `wall` | the only code that reads records: bounds, sums, noise, the private start, audits of all of them |
//! | [`summaries`] | counts, histograms, means and quantiles for preprocessing; the mean log-likelihood |
//! | `sensitive_value` | functions of sensitive histograms with a bound on what neighbours change, in the type |
//! | [`mechanisms`] | geometric, exponential, randomised response, Laplace, a draw of the posterior: each with its exact law |
//! | `outcome` | the posterior, corrected for the noise or not; draws from it; the report |
//! | `plan` | everything that was left open, and what it costs |
//! | `run` | from settings to a run, step by step; checkpoints |
//! | [`conjugate`] | variational Bayes from noisy expected sufficient statistics, for conjugate models |
//!
//! Coming from NumPyro or d3p? [`migration`] says what goes by which name, and what is different.

// Tests slice arrays by ndarray's macro, which brings an allowance of its own along.
#![cfg_attr(not(test), forbid(unsafe_code))]

pub mod conjugate;
mod cost;
mod error;
pub mod guides;
#[cfg(test)]
mod made_up;
pub mod mechanisms;
#[doc = include_str!("../docs/design.md")]
pub mod design {}
#[doc = include_str!("../docs/migration.md")]
pub mod migration {}
mod objective;
pub mod optimiser;
mod outcome;
mod plan;
pub mod prelude;
mod run;
mod sensitive_value;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod summaries;
mod wall;

pub use conjugate::ConjugateVi;
pub use cost::charges::Release;
pub use cost::permit::{Permit, Permits};
pub use error::{Error, Result};
pub use objective::curvature::CurvatureShape;
pub use objective::draws::DrawScheme;
pub use objective::gradients::Gradients;
pub use objective::initial::InitialValues;
pub use objective::weights::{GivenWeights, RecordWeights};
pub use outcome::convergence::Convergence;
pub use outcome::correction::noise_aware::{NoiseAware, Part, Shares};
pub use outcome::fit::Fit;
pub use outcome::posterior::Posterior;
pub use outcome::progress::{Proceed, Progress};
pub use outcome::report::PrivacyReport;
pub use outcome::table::PosteriorTable;
#[cfg(feature = "json")]
pub use outcome::written::StoredFit;
pub use plan::choices::BOUNDS_RESIDUALS_BELOW;
pub use plan::privacy_plan::{CurvaturePlan, EarlyCurvature, PrivacyPlan};
pub use plan::public::PublicPlan;
pub use plan::settings::{Correction, FeatureNorms};
pub use run::checkpoint::Checkpoint;
pub use run::dp_vi::DpVi;
pub use run::rehearsal::{Rehearsal, RehearsedSite, rehearse};
pub use run::training::Training;
pub use sensitive_value::{Bound, Bounded, Private, RelationOf};
pub use wall::bound::clip::{ClipNorm, Clipping, SMALLEST_CLIP_NORM, Sensitivity};
pub use wall::bound::quantile::Quantile;
pub use wall::gradient::{GaussianSum, PrivateGradient};
pub use wall::grid::PrivacyNoise;
pub use wall::sensitive::Sensitive;
pub use wall::start::{PrivateStart, StartPlan};

/// The README's example, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
