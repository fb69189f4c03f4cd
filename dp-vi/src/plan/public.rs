//! What a run without records will do.

use crate::error::{Error, Result};
use crate::objective::draws::DrawScheme;
use crate::objective::traced::Traced;
use crate::optimiser::Schedule;
use crate::plan::settings::{ADAM_RATE, Settings};
use ppl_core::SiteKind;
use std::fmt::Write;

/// Steps of a run without records: they take microseconds, so there are more of them than where each costs
/// privacy.
const STEPS: u64 = 2_000;

/// What [`DpVi::fit_public`](crate::DpVi::fit_public) will do. There is no budget in it, for there are no
/// records.
///
/// ```
/// # use dp_vi::DpVi;
/// # use dp_vi::guides::AutoNormal;
/// # use ppl_core::Ctx;
/// # use ppl_distributions::Normal;
/// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
///     let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
///     ctx.observe("y", Normal::new(level, 0.5), 0.7)
/// }
/// let plan = DpVi::new(model, AutoNormal::new()).plan_public()?;
/// assert!(plan.until_converged && plan.latent_elements == 1 && plan.observed_elements == 1);
/// assert!(plan.explain().starts_with("no records"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublicPlan {
    /// Number of steps, where they are not until convergence.
    pub steps: u64,
    /// Whether the fit goes on until it has converged, instead of for that number of steps.
    pub until_converged: bool,
    /// The draws of a step.
    pub draws: DrawScheme,
    /// Numbers to be inferred, unconstrained.
    pub latent_elements: usize,
    /// Numbers that are observed.
    pub observed_elements: usize,
    /// What the guide is.
    pub guide: &'static str,
}

impl PublicPlan {
    pub(crate) fn new(settings: &Settings, traced: &Traced<'_>, guide: &'static str) -> Self {
        let observed = traced.trace.sites().iter().filter(|site| site.kind == SiteKind::Observed);
        Self {
            steps: settings.steps.unwrap_or(STEPS),
            until_converged: false,
            draws: settings.draws,
            latent_elements: traced.sites.iter().map(|site| site.elements()).sum(),
            observed_elements: observed.map(|site| site.shape.elements()).sum(),
            guide,
        }
    }

    /// What will be done, in words.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let draws = match self.draws {
            DrawScheme::Single => "one draw",
            DrawScheme::Antithetic => "a mirrored pair of draws",
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "no records: {} observed numbers are public constants of the model, and nothing is protected",
            self.observed_elements
        );
        let _ = match self.until_converged {
            true => write!(text, "until means and standard deviations have converged"),
            false => write!(text, "{} steps, each at {draws} of the guide", self.steps),
        };
        let _ = write!(text, " ({}), for {} latent numbers", self.guide, self.latent_elements);
        text
    }
}

impl Settings {
    /// Refuses what has no meaning without records, and settings out of range.
    pub(crate) fn validate_public(&self) -> Result<()> {
        if self.budget.is_some() {
            return Err(Error::Conflict(
                "a budget was named, and fit_public has no records to protect: leave it out, or put what is to be protected inside each_record",
            ));
        }
        if self.start.is_some() {
            return Err(Error::Conflict(
                "a private start compares how well records fit, and fit_public has none: name a start with .initial_values(…)",
            ));
        }
        self.validate()
    }

    /// The schedule of Adam's rate for a run without records.
    pub(crate) fn public_schedule(&self) -> Schedule {
        self.schedule.unwrap_or(Schedule::HoldThenCosine(ADAM_RATE))
    }
}
