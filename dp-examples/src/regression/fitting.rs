//! Private fits of a regression, and what the noisy steps cost.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::Duration;

use dp_accountant::{Budget, Purse};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::{AutoLaplace, AutoNormal, Guide};
use dp_vi::{Correction, DpVi, DrawScheme, Fit, InitialValues, Sensitive};
use indicatif::{ProgressBar, ProgressStyle};
use ppl_core::{Model, Records};

use super::family::Family;
use super::specification::Specification;

/// What was said about a fit beside its model.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Number of noisy steps; that of `DpVi` where nothing is said.
    pub steps: Option<u64>,
    /// Largest norm of one record's gradient.
    pub clip_norm: Option<f64>,
    /// Where checkpoints are left, and whether to go on from there.
    pub checkpoint: Option<(PathBuf, bool)>,
}

/// Steps between two checkpoints.
const BETWEEN_CHECKPOINTS: u64 = 25;

/// Largest number of latent values for which a curvature is read off the noisy gradients of a run.
const MOST_BY_TRACE: usize = 64;

/// Fits a regression within a budget, from a purse where others share it, and shows progress where there is a
/// terminal. `public` states what was read from the records and is treated as public.
///
/// Logistic regressions without groups are fitted as [`crate::logistic`] does it: a point at each step, and a normal
/// around the last whose covariance knows of the noise. Others have independent normals as their guide, and a
/// correction whose curvature is read off the noisy gradients, for up to 64 values.
///
/// # Privacy
///
/// As [`DpVi`]: what is returned is released. Every release is debited before it is made.
///
/// # Errors
///
/// A `dp_vi::Error` where the budget cannot be met, the purse does not hold enough, or records do not fit the model.
pub fn fit(
    specification: &Specification,
    records: &Sensitive<Records>,
    budget: Budget,
    purse: Option<&mut (impl Purse + Sized)>,
    settings: &Settings,
    seed: Seed,
    public: &[String],
) -> Result<Fit, Box<dyn StdError>> {
    let plain = specification.groups.is_empty() && !specification.columns.is_empty();
    if specification.family == Family::Bernoulli && plain {
        let vi =
            with_settings(DpVi::new(specification.model(), AutoLaplace::new()), budget, settings, public)
                .draw_scheme(DrawScheme::Single)
                .noise_limited_steps()
                .feature_norms(specification.feature_norms());
        return run(vi.subsample(FullBatch), records, purse, settings, seed);
    }
    let mut vi = with_settings(DpVi::new(specification.model(), AutoNormal::new()), budget, settings, public);
    if specification.family != Family::Bernoulli {
        vi = vi.initial_values(InitialValues::PriorMedian);
        if elements(specification) <= MOST_BY_TRACE {
            vi = vi.correction(Correction::TraceRegression);
        }
    }
    run(vi.subsample(FullBatch), records, purse, settings, seed)
}

/// Values that records touch.
fn elements(specification: &Specification) -> usize {
    let more = match specification.family {
        Family::Gaussian | Family::NegativeBinomial | Family::ZeroInflatedPoisson => 1,
        Family::Student => 2,
        Family::Ordinal => specification.outcome.levels.len().saturating_sub(1),
        Family::Bernoulli | Family::Poisson => 0,
    };
    specification.columns.len() + specification.grouped() + more
}

fn with_settings<M: Model, G: Guide>(
    mut vi: DpVi<M, G, dp_sampler::Poisson>,
    budget: Budget,
    settings: &Settings,
    public: &[String],
) -> DpVi<M, G, dp_sampler::Poisson> {
    vi = public.iter().fold(vi.budget(budget), |vi, statement| vi.treat_as_public(statement));
    if let Some(steps) = settings.steps {
        vi = vi.steps(steps);
    }
    if let Some(norm) = settings.clip_norm {
        vi = vi.clip_norm(norm);
    }
    vi
}

fn run<M: Model, G: Guide>(
    vi: DpVi<M, G, FullBatch>,
    records: &Sensitive<Records>,
    purse: Option<&mut (impl Purse + Sized)>,
    settings: &Settings,
    seed: Seed,
) -> Result<Fit, Box<dyn StdError>> {
    // Drawn on standard error, and only where that is a terminal.
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(
        "{msg:>12} [{bar:40}] {pos}/{len} steps, {per_sec}, {eta} left",
    )?);
    bar.set_message("private fit");
    bar.enable_steady_tick(Duration::from_millis(100));
    let shown = bar.clone();
    let mut vi = vi.on_progress(move |progress| {
        shown.set_length(progress.steps);
        shown.set_position(progress.done);
    });
    let mut resumes = false;
    if let Some((path, resume)) = &settings.checkpoint {
        vi = vi.checkpoint(path, BETWEEN_CHECKPOINTS);
        resumes = *resume && path.exists();
    }
    // A resumed run has the seed of its checkpoint.
    let vi = if resumes { vi } else { vi.seed(seed) };
    let fit = match (purse, resumes) {
        (Some(purse), false) => vi.fit_from(records, purse),
        (Some(purse), true) => vi.resume_from(records, purse),
        (None, false) => vi.fit(records),
        (None, true) => vi.resume(records),
    };
    bar.finish_and_clear();
    Ok(fit?)
}
