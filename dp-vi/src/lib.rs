//! Differentially private variational inference.
//!
//! You write a Bayesian model of one record and choose a privacy budget. A fit returns an approximate posterior of the
//! model's parameters and a statement of the guarantee.
//!
//! A complete program, which needs the feature `csv`; the crates are not published yet, so name them by path:
//!
//! ```toml
//! [dependencies]
//! dp-vi = { path = "../dp-ppl/dp-vi", features = ["csv"] } # wherever your clone lies
//! ppl-distributions = { path = "../dp-ppl/ppl-distributions" }
//! ```
//!
#![cfg_attr(feature = "csv", doc = "```no_run")]
#![cfg_attr(not(feature = "csv"), doc = "```ignore")]
//! use dp_vi::prelude::*;
//! use ppl_distributions::prelude::*;
//!
//! /// Whether a person's income is high, given age and hours of work, which are scaled by their public bounds.
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let intercept = ctx.sample("intercept", Normal::new(0.0, 4.0))?;
//!     let of_age = ctx.sample("age", Normal::new(0.0, 4.0))?;
//!     let of_hours = ctx.sample("hours", Normal::new(0.0, 4.0))?;
//!     ctx.each_record(|ctx, record| {
//!         let age = (record.get("age")? - 53.5) / 36.5;
//!         let hours = (record.get("hours")? - 50.0) / 49.0;
//!         let log_odds = intercept + of_age * age + of_hours * hours;
//!         ctx.observe("income", Bernoulli::from_logits(log_odds), record.get("income")?)
//!     })
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let income = CsvColumn::categories("income", ["low", "high"]); // 0 and 1
//!     let records = Records::from_csv("people.csv", ["age".into(), "hours".into(), income])?;
//!     let people = Sensitive::new(records);
//!     let vi = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6));
//!     println!("{}", vi.plan(people.schema())?.explain()); // what the fit will do, why, and what it costs
//!     let fit = vi.fit(&people)?;
//!     println!("{}\n\n{}", fit.privacy(), fit.posterior()); // the guarantee; means, deviations and 90 % intervals
//!     Ok(())
//! }
//! ```
//!
//! (`python3 dp-examples/gallery/people.py > people.csv` in the clone makes up such a file.) Records can also be made
//! from vectors and arrays:
//!
//! ```
//! use dp_vi::prelude::*;
//! use ndarray::{Array1, Array2};
//! use ppl_distributions::prelude::*;
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
//! let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-5)).fit(&records)?;
//! let w = fit.posterior().mean("w")?;
//! assert!(w[0] > 0.0 && w[1] < 0.0);
//! assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! | to | see |
//! |---|---|
//! | import what a program needs | [`prelude`], and that of `ppl_distributions` |
//! | write a model: its statements and handlers | [`ppl_core::Ctx`], [`ppl_core::handlers`] |
//! | set up a fit: defaults, what they cost, and how to change them | [`DpVi`]; [`DpVi::plan`] and [`PrivacyPlan`] |
//! | use the result | [`Fit`], [`Posterior`], [`PrivacyReport`] |
//! | measure how often intervals contain the truth, for a model of your own, at no cost | [`rehearse`] |
//! | choose a variational family, or write one | [`guides`] |
//! | choose an optimiser and a schedule, or write one | [`optimiser`] |
//! | release counts, histograms, means and quantiles, for example for preprocessing | [`summaries`] |
//! | release one result on a histogram, with an exact distribution of outcomes | [`mechanisms`], [`Private`], [`Bounded`] |
//! | fit conjugate models without gradients, from noisy expected sufficient statistics | [`ConjugateVi`] |
//! | share a budget between several fits and releases | [`DpVi::fit_from`], [`dp_accountant::Ledger`] and `FileLedger` |
//! | stop and resume a run | [`DpVi::checkpoint`], [`Checkpoint`] |
//! | come from NumPyro or d3p | [`migration`] |
//! | read the reasons behind the design | [`design`] |
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `csv` | `Records::from_csv` |
//! | `json` | [`PrivacyReport`], fits and posteriors as JSON |
//! | `nuts` | the No-U-Turn sampler on public data, `ppl_core::draws::nuts` |
//! | `proptest` | strategies for property tests |

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
pub use objective::moments::FeatureMoments;
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
