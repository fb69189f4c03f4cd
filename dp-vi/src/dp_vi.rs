//! Private variational inference: from a model and a budget to a posterior and a statement.

use crate::checkpoint::Settings;
use crate::error::{Error, Result};
use crate::guide::Guide;
use crate::mechanism::{ClipNorm, GaussianSum, PrivateGradient, Protection, event, permitted};
use crate::objective::Objective;
use crate::optimiser::{Schedule, Transformation, adam};
use crate::posterior::Posterior;
use crate::report::PrivacyReport;
use crate::run::Callback;
use crate::sensitive::Sensitive;
use crate::training::Training;
use dp_accountant::{Budget, Calibrated, Composition, Event, Ledger, Relation, calibrate_noise_multiplier};
use dp_sampler::{GaussianNoise, MAX_RECORDS, Purpose, Scheme, Seed, Subsampling};
use ppl_core::{Model, Records};
use std::path::PathBuf;

/// Most steps of one run; a longer one would take days, and its calibration minutes.
const MOST_STEPS: u64 = 1_000_000_000;

/// Differentially private variational inference (DP-VI) with aligned gradients.
///
/// ```text
/// ELBO(φ) = Σ_i E_q[ln p(x_i|θ)] + E_q[ln p(θ)] + H[q_φ],     θ = T(u),  u = g_φ(z)
///
/// each step:  z ~ N(0, I)                                       one draw, shared by the batch
///             v_i = ∂ ln p(x_i|θ)/∂u                            per record, at the frontier u
///             G = (Σ_{i ∈ batch} clip_C(v_i) + σC·N(0, I)) / q  the only use of the data
///             φ ← Adam(φ, (∂u/∂φ)ᵀ (G + ∂ ln p(θ)/∂u) + ∂H/∂φ)  prior and entropy exact
/// ```
///
/// Only the likelihood of the records is clipped and noised, and only where records meet shared values; guide, prior and
/// entropy are public functions of what has been released. The noise has one element for each element of `u`, not one
/// for each parameter of the guide.
///
/// # Privacy
/// `σ` is calibrated so that all steps together stay within the budget; the events come from the sampler and the
/// mechanism themselves, and are debited from a ledger before the first step. See [`PrivacyReport`].
///
/// One fit is one spending of its budget: what several fits on the same records cost together is the sum of their
/// events. Whether the records fit the model at all (an observation outside its support does not) is an error for whoever
/// holds them, and not covered.
///
/// # References
/// Jälkö, Dikmen, Honkela 2017 (DP-VI); Jälkö, Prediger, Honkela, Kaski 2022 (aligned gradients); Kingma & Ba 2015 (Adam).
pub struct DpVi<M, G, S> {
    model: M,
    pub(crate) guide: G,
    pub(crate) subsampling: S,
    pub(crate) budget: Option<Budget>,
    without_privacy: bool,
    steps: Option<u64>,
    clip_norm: Option<f64>,
    schedule: Option<Schedule>,
    optimiser: Option<Box<dyn Transformation>>,
    average: f64,
    pub(crate) seed: Option<Seed>,
    pub(crate) on_progress: Option<Callback>,
    pub(crate) checkpoint: Option<(PathBuf, u64)>,
}

/// What stands where a subsampler has not been named yet.
#[derive(Clone, Copy, Debug)]
pub struct Unspecified;

impl<M: Model, G: Guide> DpVi<M, G, Unspecified> {
    /// Inference for a model with a guide. Budget, subsampling and steps have no default and must be named.
    pub fn new(model: M, guide: G) -> Self {
        Self {
            model,
            guide,
            subsampling: Unspecified,
            budget: None,
            without_privacy: false,
            steps: None,
            clip_norm: None,
            schedule: None,
            optimiser: None,
            average: 0.5,
            seed: None,
            on_progress: None,
            checkpoint: None,
        }
    }
}

impl<M, G, S> DpVi<M, G, S> {
    /// The privacy budget of the whole fit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// No clipping and no noise, for comparison. The report says **NOT PRIVATE**.
    #[must_use]
    pub fn without_privacy(mut self) -> Self {
        self.without_privacy = true;
        self
    }

    /// How the batch of each step is drawn.
    #[must_use]
    pub fn subsample<S2: Subsampling>(self, subsampling: S2) -> DpVi<M, G, S2> {
        DpVi {
            model: self.model,
            guide: self.guide,
            subsampling,
            budget: self.budget,
            without_privacy: self.without_privacy,
            steps: self.steps,
            clip_norm: self.clip_norm,
            schedule: self.schedule,
            optimiser: self.optimiser,
            average: self.average,
            seed: self.seed,
            on_progress: self.on_progress,
            checkpoint: self.checkpoint,
        }
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Largest norm `C` of one record's gradient. By default `√D` for `D` elements at the frontier, which suits a
    /// generalised linear model with standardised features.
    ///
    /// A smaller `C` needs less noise but biases the posterior; it must be chosen without looking at the data.
    #[must_use]
    pub fn clip_norm(mut self, norm: f64) -> Self {
        self.clip_norm = Some(norm);
        self
    }

    /// Adam's learning rate over the run; by default 0.05, held for half of it and lowered to zero along a cosine.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Another optimiser than Adam, with its learning rate. See [`Transformation`].
    #[must_use]
    pub fn optimiser(mut self, optimiser: impl Transformation + 'static) -> Self {
        self.optimiser = Some(Box::new(optimiser));
        self
    }

    fn take_optimiser(&mut self) -> Result<Box<dyn Transformation>> {
        match (self.optimiser.take(), self.schedule) {
            (Some(_), Some(_)) => Err(Error::Conflict(
                "an optimiser and a schedule were named: the schedule is Adam's, another optimiser brings its own rate",
            )),
            (Some(optimiser), None) => Ok(optimiser),
            (None, schedule) => Ok(Box::new(adam(schedule.unwrap_or(Schedule::HoldThenCosine(0.05)))?)),
        }
    }

    /// Fraction of the run, at its end, over which the guide's parameters are averaged; by default one half. Zero takes
    /// the last value.
    #[must_use]
    pub fn average_tail(mut self, fraction: f64) -> Self {
        self.average = fraction;
        self
    }

    /// The source of all randomness; by default a fresh secret seed from the operating system.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    pub(crate) fn required_steps(&self) -> Result<u64> {
        match self.steps {
            Some(steps) if !(1..=MOST_STEPS).contains(&steps) => {
                let (what, requirement) = ("number of steps", "between 1 and 10^9");
                Err(Error::OutOfRange { what, requirement, value: steps as f64 })
            }
            Some(steps) => Ok(steps),
            None => Err(Error::Missing {
                what: "the number of steps",
                why: "it shapes the noise; name it with .steps(…)",
            }),
        }
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
}

/// What a run will cost, found without looking at any record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrivacyPlan {
    /// The sampling scheme the calibration assumed.
    pub scheme: Scheme,
    /// The noise multiplier and the ε it leads to.
    pub calibrated: Calibrated,
}

impl<M: Model, G: Guide, S: Subsampling> DpVi<M, G, S> {
    /// The noise multiplier for the budget, when there are this many records. No data is touched; schemes that do not
    /// depend on the number of records (Poisson) ignore it.
    ///
    /// # Errors
    /// If no noise multiplier meets the budget, or no bound is known for this kind of sampling.
    pub fn privacy_plan(&self, records: u64) -> Result<Option<PrivacyPlan>> {
        let Some(budget) = self.required_budget()? else {
            return Ok(None);
        };
        let (steps, scheme) = (self.required_steps()?, self.subsampling.scheme(records)?);
        let sampling = permitted(budget.relation, &scheme)?;
        let calibrated = calibrate_noise_multiplier(&budget, |noise_multiplier| {
            Ok(Composition::single(event(noise_multiplier, sampling)?, steps))
        })?;
        Ok(Some(PrivacyPlan { scheme, calibrated }))
    }

    /// Prepares a run, and debits all of its steps from a ledger that holds just the budget.
    ///
    /// # Errors
    /// If something is missing or out of range, the model is wrong, the records do not fit it, or the budget cannot be
    /// met.
    pub fn start<'r>(mut self, records: &'r Sensitive<Records>) -> Result<Training<'r, G, S::Sampler>> {
        let seed = self.take_seed()?;
        let budget = self.required_budget()?;
        let Prepared { mut training, .. } = self.prepare(records, &seed)?;
        let steps = training.steps();
        match budget {
            None => training.gradient_mut().allow_unprotected(steps)?,
            Some(budget) => training.pay(&mut Ledger::new(budget)?, steps)?,
        }
        Ok(training)
    }

    pub(crate) fn take_seed(&mut self) -> Result<Seed> {
        match self.seed.take() {
            Some(seed) => Ok(seed),
            None => Ok(Seed::from_os()?),
        }
    }

    /// Everything but payment.
    pub(crate) fn prepare<'r>(
        mut self,
        records: &'r Sensitive<Records>,
        seed: &Seed,
    ) -> Result<Prepared<'r, G, S::Sampler>> {
        let (budget, steps) = (self.required_budget()?, self.required_steps()?);
        let optimiser = self.take_optimiser()?;
        if !(0.0..=1.0).contains(&self.average) {
            let (what, requirement) = ("fraction of the run to average", "between 0 and 1");
            return Err(Error::OutOfRange { what, requirement, value: self.average });
        }
        // Under add/remove found without the records' number, which is nobody's business there; a scheme that depends on it is
        // refused. Replacing a record leaves it as it is.
        let number = match budget {
            Some(Budget { relation: Relation::ReplaceOne, .. }) => records.behind_the_wall().len() as u64,
            _ => MAX_RECORDS,
        };
        let plan = self.privacy_plan(number)?;
        records.check_numbers()?;
        let objective = Objective::new(&self.model, &self.guide, records)?;
        let elements = objective.gradient.dimension();
        let protection = match &plan {
            None => Protection::None,
            Some(plan) => {
                let clip = ClipNorm::new(self.clip_norm.unwrap_or((elements as f64).sqrt()), elements)?;
                Protection::Gaussian(GaussianSum::new(clip, plan.calibrated.noise_multiplier)?)
            }
        };
        let (gradient, shared) = objective.split();
        let gradient = PrivateGradient::with(gradient, protection, &self.subsampling, records, seed)?;
        let event = gradient.event()?;
        let epsilon = match (budget, event) {
            (Some(budget), Some(event)) => {
                let mut ledger = Ledger::new(budget)?;
                ledger.debit(event, steps)?;
                Some(ledger.spent()?)
            }
            _ => None,
        };
        let mechanism = match protection {
            Protection::Gaussian(mechanism) => Some(mechanism),
            Protection::None => None,
        };
        let report = PrivacyReport {
            budget,
            epsilon,
            scheme: gradient.scheme(),
            noise_multiplier: mechanism.map(|mechanism| mechanism.noise_multiplier()),
            clip_norm: mechanism.map(|mechanism| mechanism.clip().norm()),
            steps,
            steps_done: 0,
            secret_seed: seed.is_secret(),
            guide: self.guide.describe(),
        };
        let settings = Settings {
            records,
            shared: &shared,
            guide: self.guide.describe(),
            optimiser: &optimiser.describe(),
            average: self.average,
            report: &report,
            protection: gradient.protection(),
        };
        let settings = settings.to_string();
        let draws = GaussianNoise::from_streams(seed.streams(Purpose::GuideDraws));
        let training = Training::new(self.guide, gradient, shared, draws, optimiser, self.average, report)?;
        Ok(Prepared { training, event, settings })
    }
}

/// A run that has not been paid for.
pub(crate) struct Prepared<'r, G, S> {
    pub(crate) training: Training<'r, G, S>,
    /// The event of one step; `None` without privacy.
    pub(crate) event: Option<Event>,
    /// What a checkpoint of it is bound to.
    pub(crate) settings: String,
}

/// The outcome of a fit: released values only.
#[derive(Clone, Debug)]
pub struct Fit {
    pub(crate) posterior: Posterior,
    pub(crate) report: PrivacyReport,
}

impl Fit {
    /// The approximate posterior.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The privacy statement.
    #[must_use]
    pub fn privacy(&self) -> &PrivacyReport {
        &self.report
    }
}
