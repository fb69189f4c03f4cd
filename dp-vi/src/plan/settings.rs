//! What was said about a run.

use super::privacy_plan::PrivacyPlan;
use crate::cost::charges::Release;
use crate::error::{Error, Result};
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::initial::InitialValues;
use crate::objective::moments::FeatureMoments;
use crate::objective::weights::RecordWeights;
use crate::optimiser::Schedule;
use crate::wall::bound::clip::{ClipNorm, Clipping};
use crate::wall::grid::PrivacyNoise;
use crate::wall::start::PrivateStart;
use dp_accountant::Budget;

/// Most steps of one run; a longer one would take days, and its calibration minutes.
const MOST_STEPS: u64 = 1_000_000_000;

/// Adam's rate: over 300 steps values of order 1 to 10 can be reached.
pub(super) const ADAM_RATE: f64 = 0.05;

/// The number of steps that this rate is for.
const ADAM_STEPS: f64 = 300.0;

/// Whether a part of the budget is spent on the likelihood's curvature, from which a posterior is made that
/// knows of the noise ([`NoiseAware`](crate::NoiseAware)).
///
/// It is one of the values that records touch, such as the groups of a hierarchy. Latent values that no record touches,
/// such as the groups' mean and spread, are inferred from what it says of these, up to six of them and of up to
/// sixty-four touched values. Otherwise, and where they cannot be found so, their posterior is the guide's, and
/// [`PrivacyReport::intervals`](crate::PrivacyReport::intervals) says so. What is said of each touched value is on the
/// careful side, so that a spread of several dozen groups that are hardly known may be found too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Correction {
    /// As suits the model. Where the likelihood is recognised as a generalised linear term with recognised
    /// weights: all of the curvature up to 128 elements, its diagonal above. Of other likelihoods
    /// [`Probes`](Self::Probes), where they are possible: up to 128 elements, mirrored draws, no latent values of
    /// records' own, and enough steps. Otherwise no.
    #[default]
    Automatic,
    /// No: the posterior is the guide's.
    None,
    /// Yes, with all of the curvature; for a likelihood that is not recognised as a generalised linear term
    /// of bounded slope (a Bernoulli of logits, say), with the second moments of the records' scores in its
    /// place:
    ///
    /// ```text
    /// S = Σ_i g_i g_iᵀ min(1, C²/‖g_i‖²),   g_i = ∂ℓ_i/∂u
    /// E[g gᵀ] = −E[∂²ℓ/∂u²]      at the truth, if the model holds and ℓ is smooth in u
    /// ```
    ///
    /// with the norm `C` that gradients have at the end of the run. Gradients are clipped to `C`, too: where
    /// scores are skewed, that moves the mean of the posterior, and no interval says by how much. Where
    /// outcomes vary more than the model says, scores do, too, and intervals are too short. Counts and
    /// ordered categories whose features vary about equally in all directions are served well; a scale
    /// parameter, whose scores are small beside those of slopes, is hidden by the noise, and so is what
    /// depends on it: then [`Probes`](Self::Probes) are better.
    Full,
    /// Yes, with the diagonal of that.
    Diagonal,
    /// Yes, with a curvature that is read off the noisy gradients of the run and takes nothing of the budget:
    /// for any likelihood, up to 64 elements. Where the run says too little of it, the posterior is the
    /// guide's, and [`PrivacyReport::intervals`](crate::PrivacyReport::intervals) says so. Where the noise hides the
    /// curvature, intervals are too short: the steps wander because of the noise, and a regression on a walk finds a
    /// curvature where there is none. It is there for comparisons; [`Probes`](Self::Probes) are better.
    TraceRegression,
    /// Yes, for any likelihood of up to 128 elements, with a curvature that the last quarter of the steps
    /// looks for:
    ///
    /// ```text
    /// at c ± W ε:   (g₊ − g₋)/2 = −S W ε + e      c where the other steps have come, ε of ±1, e the noise
    /// ```
    ///
    /// Gradients there are released like those of all steps, so nothing of the budget goes into it beside the
    /// steps. Probes go as far as the noise asks for: about six standard deviations of the posterior, noise
    /// included, and along the eigenvectors of the curvature as soon as they show. What they leave open of
    /// the curvature is integrated over, and a value of which the releases say nothing keeps its prior, about: beside
    /// values that are well known, what is read of its curvature may be taken for more than noise, and in simulations
    /// with five such values its deviation was .8 of the prior's and 90 % intervals held .7 to .8.
    ///
    /// The posterior is then a normal in the unconstrained values, whatever the guide was. It takes the likelihood to
    /// be nearly quadratic over that distance. What is not, and what clipping takes, is left out of it by as much as
    /// the model expects: mean gradients and what the pairs read are simulated on records whose inputs are made up,
    /// in the octaves that a [rough fit](crate::DpVi::rough_fit) has released, and whose outcomes are drawn by the
    /// model. Without it the deviation of a regression's residuals came out too small where gradients are clipped,
    /// too large where coefficients are hardly known, and far too certain. It needs observed columns as they stand
    /// ([`Predictive::replicate`](ppl_core::Predictive::replicate)), and octaves that show: of 300 records with four
    /// numbers at ε = 1 they do not, and a deviation was found a tenth too small, 1.9 of its stated deviations.
    /// Outcomes with longer tails than the model's lose more by clipping: of 1,000 records with Student's t of 5
    /// degrees of freedom, fitted as normal ones at ε = 1, the deviation was found 6 % too small, 1.5 of its stated
    /// deviations.
    ///
    /// The run is also taken to have arrived:
    /// [`PrivacyReport::intervals`](crate::PrivacyReport::intervals) says where the mean gradient shows that it
    /// had not. Where ε is small intervals may be wide, and the mean of a positive value,
    /// `e^(m + s²/2)`, large. On fifteen of posteriordb's models at ε = 1 intervals of 90 % hold .64 to 1.00 of draws
    /// of the truth on all but one, a mixture that does not arrive; without it they hold less than .5 on
    /// eleven.
    Probes,
}

/// What is public of the norms of records' features in a generalised linear term: with the intercept, in the
/// scale in which the model uses them.
///
/// Columns with public bounds, scaled to [-1, 1], and categories coded as zeros and ones have norms that are
/// known before a record is read: `k` numeric columns and `c` sets of categories with an intercept have norms
/// of at most `√(1 + k + c)`.
///
/// # Privacy
/// Both must come from public knowledge, not from the records. No guarantee rests on them: gradients and
/// curvatures are clipped whatever is stated. A typical norm that is too small takes weight and curvature
/// from most records, one that is too large adds noise to all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureNorms {
    /// A norm that about half of the records have at least: the clip norm's default (half of it for Bernoulli
    /// outcomes below ε = 2), at which most records keep their full weight. With it goes the bound on one
    /// record's curvature.
    pub typical: f64,
    /// The largest norm, above which that bound does not go.
    pub largest: f64,
}

impl FeatureNorms {
    fn validate(self) -> Result<()> {
        for (what, value) in
            [("typical norm of features", self.typical), ("largest norm of features", self.largest)]
        {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::OutOfRange { what, requirement: "positive and finite", value });
            }
        }
        match self.typical <= self.largest {
            true => Ok(()),
            false => {
                let (what, requirement) = ("typical norm of features", "at most the largest");
                Err(Error::OutOfRange { what, requirement, value: self.typical })
            }
        }
    }
}

/// What was said about a run, beside model, guide and sampler.
pub(crate) struct Settings {
    pub(crate) budget: Option<Budget>,
    pub(crate) without_privacy: bool,
    pub(crate) steps: Option<u64>,
    pub(crate) clip_norm: Option<f64>,
    pub(crate) clipping: Option<Clipping>,
    pub(crate) draws: DrawScheme,
    pub(crate) noise: PrivacyNoise,
    pub(crate) gradients: Gradients,
    pub(crate) correction: Correction,
    pub(crate) curvature_share: f64,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) noise_limited: bool,
    pub(crate) whitened: bool,
    pub(crate) feature_moments: Option<FeatureMoments>,
    /// Whether a first fit to made-up records may say where values lie.
    pub(crate) rough_fit: bool,
    pub(crate) before: Vec<Release>,
    /// Whether an optimiser was named.
    pub(crate) own_optimiser: bool,
    /// Whether its steps are about equally long however long gradients are, as Adam's.
    pub(crate) scale_free: bool,
    /// What a checkpoint is bound to besides.
    pub(crate) bound_to: Vec<(String, String)>,
    pub(crate) feature_norms: Option<FeatureNorms>,
    /// `K` of a curvature of unbounded slope.
    pub(crate) curvature_norm: Option<f64>,
    pub(crate) average: f64,
    pub(crate) public_records: Option<u64>,
    pub(crate) compute_limit: Option<f64>,
    pub(crate) start: Option<PrivateStart>,
    pub(crate) initial_values: Option<InitialValues>,
    pub(crate) weights: RecordWeights,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: None,
            without_privacy: false,
            steps: None,
            clip_norm: None,
            clipping: None,
            draws: DrawScheme::Antithetic,
            noise: PrivacyNoise::default(),
            gradients: Gradients::Aligned,
            correction: Correction::Automatic,
            curvature_share: 0.15,
            schedule: None,
            noise_limited: false,
            whitened: false,
            feature_moments: None,
            rough_fit: true,
            before: Vec::new(),
            own_optimiser: false,
            scale_free: true,
            bound_to: Vec::new(),
            feature_norms: None,
            curvature_norm: None,
            average: 0.5,
            public_records: None,
            compute_limit: None,
            start: None,
            initial_values: None,
            weights: RecordWeights::Recognised,
        }
    }
}

impl Settings {
    /// Whether a run without privacy may go on until it has converged: nothing was said of how it goes.
    pub(crate) fn may_converge(&self) -> bool {
        self.steps.is_none()
            && self.schedule.is_none()
            && !self.own_optimiser
            && self.compute_limit.is_none()
            && self.gradients == Gradients::Aligned
            && self.draws == DrawScheme::Antithetic
    }

    pub(super) fn validate(&self) -> Result<()> {
        let out = |what, requirement, value| Err(Error::OutOfRange { what, requirement, value });
        self.schedule.map_or(Ok(()), |schedule| schedule.validate())?;
        if let Some(steps) = self.steps.filter(|steps| !(1..=MOST_STEPS).contains(steps)) {
            return out("number of steps", "between 1 and 10^9", steps as f64);
        }
        if !(0.0..=1.0).contains(&self.average) {
            return out("fraction of the run to average", "between 0 and 1", self.average);
        }
        if !(self.curvature_share > 0.0 && self.curvature_share < 1.0) {
            return out(
                "share of the budget for the curvature",
                "strictly between 0 and 1",
                self.curvature_share,
            );
        }
        if let Some(limit) = self.compute_limit.filter(|limit| !(*limit >= 1.0 && limit.is_finite())) {
            return out("compute limit", "at least 1 and finite", limit);
        }
        if self.public_records == Some(0) {
            return out("stated number of records", "at least 1", 0.0);
        }
        if let Some(Clipping::Quantile(quantile)) = self.clipping {
            quantile.validate()?;
        }
        self.start.as_ref().map_or(Ok(()), PrivateStart::validate)?;
        self.feature_norms.map_or(Ok(()), FeatureNorms::validate)?;
        self.feature_moments.as_ref().map_or(Ok(()), FeatureMoments::validate)?;
        if let Some(norm) = self.curvature_norm {
            ClipNorm::new(norm, 1)?;
            if !matches!(self.correction, Correction::Full | Correction::Diagonal) {
                return Err(Error::Conflict(
                    "a norm of the curvature is named, and none is released: name Correction::Full or Correction::Diagonal",
                ));
            }
        }
        self.validate_gradients()
    }

    /// What goes with gradients that are not taken at the frontier.
    fn validate_gradients(&self) -> Result<()> {
        if self.gradients == Gradients::Aligned {
            return Ok(());
        }
        if self.gradients == Gradients::VanillaWithPrior && self.public_records.is_none() {
            return Err(Error::Missing {
                what: "a public number of records",
                why: "each record brings its share of prior and entropy; state the number with .public_records(…), and take it from public knowledge, not from the records",
            });
        }
        if self.clipping == Some(Clipping::PerSite) {
            return Err(Error::Conflict(
                "vanilla gradients mix the sites, so they cannot be clipped site by site",
            ));
        }
        if !matches!(self.correction, Correction::Automatic | Correction::None) {
            return Err(Error::Conflict(
                "the correction for the noise needs gradients at the latent values, which vanilla gradients are not",
            ));
        }
        Ok(())
    }

    pub(crate) fn required_budget(&self) -> Result<Option<Budget>> {
        match (self.budget, self.without_privacy) {
            (Some(budget), false) => {
                budget.validate()?;
                Ok(Some(budget))
            }
            (None, true) => Ok(None),
            (Some(_), true) => {
                Err(Error::Conflict("a budget was named, and privacy was switched off: choose one"))
            }
            (None, false) => Err(Error::Missing {
                what: "the budget",
                why: "how much privacy to spend is the data holder's decision; name it with .budget(…), or say .without_privacy()",
            }),
        }
    }

    /// The schedule of Adam's rate. Where clip norms and scales have to be found first, the rate falls from
    /// the start: values that have arrived are not carried away again by noise.
    ///
    /// There the rate also falls with the root of the number of steps, from 300 on. Adam divides by the size
    /// of the gradient, so noise alone carries a value by about `rate · √T` in `T` steps, which then does not
    /// depend on `T`, while a signal above the noise carries it by `rate · T`, which grows with `√T`. At the
    /// same budget more steps cost only time. On a mixture of two normals (1,000 records, ε = 10), whose fit
    /// had not arrived after 300 steps (means 20 posterior standard deviations off), they were 5.6, 1.2 and
    /// 0.67 off with 450, 600 and 1,000; at ε = 1, and on two linear models where the noise binds, 1,000
    /// changed errors by less than a third either way, where 1,000 at the rate for 300 raised errors over
    /// stated deviations by up to 1.6 times.
    pub(crate) fn schedule_for(&self, plan: &PrivacyPlan) -> Schedule {
        self.schedule.unwrap_or(match plan.clipping {
            Clipping::Adaptive => {
                let rate = ADAM_RATE * (ADAM_STEPS / plan.searching() as f64).min(1.0).sqrt();
                Schedule::WarmUpThenCosine { rate, steps: (plan.searching() / 30).max(1) }
            }
            _ => Schedule::HoldThenCosine(ADAM_RATE),
        })
    }
}
