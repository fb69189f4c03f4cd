//! What a run will do and what it will cost.

use crate::cost::charges::{Charges, Release};
use crate::cost::deviation::Deviation;
use crate::cost::pricing::event;
use crate::error::Result;
use crate::objective::curvature::CurvatureShape;
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::summaries::CountRelease;
use crate::wall::bound::clip::{Clipping, LARGEST_CLIP_NORM};
use crate::wall::grid::PrivacyNoise;
use crate::wall::start::StartPlan;
use dp_accountant::{Budget, Calibrated, Event};
use dp_sampler::Scheme;
use std::fmt::Write;

/// A release of the curvature.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurvaturePlan {
    /// Which elements are released.
    pub shape: CurvatureShape,
    /// `K`, the largest Frobenius norm of one record's part.
    pub clip_norm: f64,
    /// Noise standard deviation over `K`.
    pub noise_multiplier: f64,
    /// Whether the trace of the scores' covariance is released with it, which weights make smaller than the
    /// curvature.
    pub with_scores: bool,
    /// Whether a record's part is the product of its score with itself, as of likelihoods that are not
    /// recognised as a generalised linear term of bounded slope. Then `K` is the square of the norm that
    /// `C` follows at the end of the run, and `clip_norm` that of the
    /// first.
    pub by_scores: bool,
    /// The release during the run that steps limited by the noise are turned by, beside the one at its end.
    pub early: Option<EarlyCurvature>,
}

/// A release of the curvature during the run, of the same shape and norm as the one at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EarlyCurvature {
    /// Noise standard deviation over `K`.
    pub noise_multiplier: f64,
    /// The step before which it is made, counted from 0.
    pub before_step: u64,
}

impl CurvaturePlan {
    /// `K`, where gradients have the norm `bound` at the end of a run.
    pub(crate) fn norm(self, bound: f64) -> f64 {
        match self.by_scores {
            true => (bound * bound).clamp(crate::SMALLEST_CLIP_NORM, LARGEST_CLIP_NORM),
            false => self.clip_norm,
        }
    }

    /// Rows of the matrix that is released, for `elements` elements at the frontier.
    pub(crate) fn rows(self, elements: usize) -> usize {
        elements + usize::from(self.with_scores)
    }
}

/// A release of which octaves the numbers of the columns lie in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OctavePlan {
    /// Noise standard deviation of a count over the root of how many counts a record changes.
    pub noise_multiplier: f64,
    /// Numbers of a record that have a histogram each.
    pub numbers: usize,
    /// What it is paid for as.
    pub event: Event,
}

/// What a run will do and what it will cost, found without looking at any record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrivacyPlan {
    /// The budget; `None` without privacy.
    pub budget: Option<Budget>,
    /// How batches are drawn.
    pub scheme: Scheme,
    /// Number of steps.
    pub steps: u64,
    /// Whether a fit goes on until it has converged, instead of for that number of steps: without privacy,
    /// where neither steps nor sampling nor an optimiser was named, for guides that are
    /// [normals](crate::guides::Guide::normal_family) of at most 500 elements.
    pub until_converged: bool,
    /// The largest norm `C` of one record's gradient; with [`Clipping::Adaptive`] and [`Clipping::Quantile`]
    /// the first one.
    pub clip_norm: f64,
    /// The largest that `C` may become, where it follows the gradients and so do the steps of a named optimiser.
    pub most_clip_norm: Option<f64>,
    /// How gradients are clipped to it.
    pub clipping: Clipping,
    /// Whether records are weighted so that clipping does nothing, by recognition of the likelihood.
    pub weighted: bool,
    /// What residuals are bounded by, as a share of the likelihood's own bound: 1/2 for a Bernoulli with
    /// recognised weights, else 1.
    pub residual_bound: f64,
    /// The draws of a step.
    pub draws: DrawScheme,
    /// With respect to what gradients are taken.
    pub gradients: Gradients,
    /// What kind of numbers the noise is added to.
    pub noise: PrivacyNoise,
    /// The release of the curvature, if there is one.
    pub curvature: Option<CurvaturePlan>,
    /// Whether the posterior is corrected with a curvature that is read off the run's gradients.
    pub trace_regression: bool,
    /// How many of the steps, at their end, are probes: pairs of points around where the run has come, from which its
    /// curvature is found.
    pub probes: u64,
    /// The noise multiplier of the release of the number of records, if there is one.
    pub count: Option<f64>,
    /// The release of which octaves the columns' numbers lie in, if there is one: a first fit to records that
    /// are made up from it says where values lie and in which units.
    pub octaves: Option<OctavePlan>,
    /// Whether the run starts at one of several points from the prior, because parts of the model are
    /// exchangeable and no start was named.
    pub start_from_prior: bool,
    /// What the private start costs, if there is one.
    pub start: Option<StartPlan>,
    /// The noise multiplier of a step, and the ε of all releases together; `None` without privacy.
    pub calibrated: Option<Calibrated>,
    /// What was released before for the run's sake, which the budget and the statement cover, too.
    pub before: Vec<Release>,
    /// Whether the features were whitened, so that steps are equally long in all directions.
    pub whitened: bool,
    /// Whether corrections for models of this kind have been measured.
    pub(crate) is_measured: bool,
    pub(crate) deviation: Deviation,
    /// What the noise of all steps together is, over that of the same number of full batches at this budget:
    /// 1 is best.
    pub waste: Option<f64>,
    pub(crate) public_records: Option<u64>,
    pub(super) reasons: Vec<String>,
}

pub(super) fn number(x: f64) -> String {
    if (1e-3..1e5).contains(&x) { format!("{x:.4}") } else { format!("{x:.4e}") }
}

impl PrivacyPlan {
    /// Everything that a run releases; `None` without privacy.
    pub(crate) fn charges(&self) -> Result<Option<Charges>> {
        let Some((calibrated, budget)) = self.calibrated.zip(self.budget) else { return Ok(None) };
        let mut once = Vec::new();
        if let Some(StartPlan { event, choices, .. }) = self.start {
            once.push(Release { what: "private start", event, count: choices });
        }
        if let Some(noise_multiplier) = self.count {
            let event = CountRelease::new(noise_multiplier)?.event();
            once.push(Release { what: "number of records", event, count: 1 });
        }
        if let Some(octaves) = &self.octaves {
            once.push(Release { what: "octaves of the columns", event: octaves.event, count: 1 });
        }
        if let Some(curvature) = self.curvature {
            let what = match (curvature.shape, curvature.by_scores) {
                (CurvatureShape::Diagonal, false) => "diagonal of the curvature",
                (CurvatureShape::Full, false) => "curvature",
                (CurvatureShape::Diagonal, true) => "mean squares of scores",
                (CurvatureShape::Full, true) => "second moments of scores",
            };
            let of = |noise_multiplier| event(noise_multiplier, dp_accountant::Sampling::None);
            once.push(Release { what, event: of(curvature.noise_multiplier)?, count: 1 });
            if let Some(early) = curvature.early {
                let what = "curvature during the run";
                once.push(Release { what, event: of(early.noise_multiplier)?, count: 1 });
            }
        }
        let (sigma, run) = (calibrated.noise_multiplier, (self.steps, self.deviation));
        let charges = Charges::new(once, budget.relation, &self.scheme, sigma, run)?;
        Ok(Some(charges.with_before(self.before.clone())))
    }

    /// The part of δ that is not left to events, because batches, noise and choices are not drawn exactly as
    /// they are accounted for: a bound, `(1 + e^ε) τ` for a total variation distance τ. The noise multiplier
    /// is calibrated to what is left. `None` where all is exact, or nothing is private.
    #[must_use]
    pub fn delta_of_deviations(&self) -> Option<f64> {
        self.budget.map(|budget| self.deviation.taken_of(&budget)).filter(|&delta| delta > 0.0)
    }

    /// Whether the curvature is released or found along the way, so that the posterior can be corrected for the noise.
    pub(crate) fn finds_curvature(&self) -> bool {
        self.curvature.is_some() || self.trace_regression || self.probes > 0
    }

    /// The steps that look for values.
    pub(crate) fn searching(&self) -> u64 {
        self.steps - self.probes
    }

    /// Whether `C` follows a quantile of the gradients' norms.
    fn follows(&self) -> bool {
        matches!(self.clipping, Clipping::Quantile(_) | Clipping::Adaptive)
    }

    /// What was chosen, why, and what it costs, in words. Nothing in it depends on the records.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |words: std::fmt::Arguments<'_>| {
            let _ = writeln!(text, "{words}");
        };
        match (&self.budget, &self.calibrated) {
            (Some(budget), Some(calibrated)) => {
                line(format_args!(
                    "epsilon {} of {} at delta {:e}, under {}",
                    dp_accountant::rounded_up(calibrated.epsilon.upper),
                    budget.epsilon,
                    budget.delta,
                    budget.relation
                ));
                line(format_args!(
                    "{} steps on {}: noise {} x C = {} in each element of a sum, C = {}",
                    self.steps,
                    self.scheme,
                    number(calibrated.noise_multiplier),
                    number(calibrated.noise_multiplier * self.clip_norm),
                    number(self.clip_norm)
                ));
                if let Some(delta) = self.delta_of_deviations() {
                    line(format_args!(
                        "at most {} of delta is for batches, noise and choices that are not drawn exactly as they are accounted for",
                        dp_accountant::rounded_up(delta)
                    ));
                }
                if let Some(curvature) = &self.curvature {
                    let noise = number(curvature.noise_multiplier);
                    let norm = number(curvature.clip_norm);
                    match curvature.by_scores {
                        false => {
                            line(format_args!("one release of the curvature: noise {noise} x K, K = {norm}"))
                        }
                        true if self.follows() => line(format_args!(
                            "one release of the second moments of scores: noise {noise} x K, K = C^2 with the C of the last step ({norm} if it stayed)"
                        )),
                        true => line(format_args!(
                            "one release of the second moments of scores: noise {noise} x K, K = C^2 = {norm}"
                        )),
                    }
                    if let Some(early) = &curvature.early {
                        line(format_args!(
                            "another one before step {}, which the steps after it are turned by: noise {} x K",
                            early.before_step + 1,
                            number(early.noise_multiplier)
                        ));
                    }
                }
            }
            _ if self.until_converged => line(format_args!(
                "NOT PRIVATE: every record at every step, until means and standard deviations have converged; no noise"
            )),
            _ => line(format_args!("NOT PRIVATE: {} steps on {}, no noise", self.steps, self.scheme)),
        }
        match self.draws {
            _ if self.until_converged => {}
            DrawScheme::Single => line(format_args!("draws: one a step, shared by all records")),
            DrawScheme::Antithetic if self.budget.is_none() => {
                line(format_args!("draws: a mirrored pair a step, shared by all records"))
            }
            DrawScheme::Antithetic => {
                line(format_args!("draws: a mirrored pair a step, shared by all records, clipped as one"))
            }
        }
        match self.gradients {
            Gradients::Aligned => {}
            Gradients::Vanilla => line(format_args!(
                "gradients: with respect to the guide's parameters, all of which get noise; for comparison"
            )),
            Gradients::VanillaWithPrior => line(format_args!(
                "gradients: with respect to the guide's parameters, with a share of prior and entropy in each; for comparison"
            )),
        }
        if self.budget.is_some() {
            line(match self.noise {
                PrivacyNoise::Exact => format_args!("noise: exact, on sums rounded to a grid"),
                PrivacyNoise::Continuous => format_args!(
                    "noise: floating point; the guarantee takes it for real numbers, and an attacker who sees all digits can break it"
                ),
            });
        }
        for reason in &self.reasons {
            line(format_args!("{reason}"));
        }
        text.truncate(text.trim_end().len());
        text
    }
}
