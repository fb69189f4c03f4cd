//! What a run will do and what it will cost, decided before any record is looked at.

use crate::cost::charges::{Charges, Release};
use crate::cost::deviation::Deviation;
use crate::cost::pricing::{Pricing, choice_event, event, sampling_rate};
use crate::error::{Error, Result};
use crate::objective::curvature::{CurvatureShape, NOT_LINEAR};
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::initial::InitialValues;
use crate::objective::traced::Survey;
use crate::objective::weights::RecordWeights;
use crate::optimiser::Schedule;
use crate::outcome::correction::trace_regression::MOST_ELEMENTS;
use crate::summaries::CountRelease;
use crate::wall::bound::clip::{ClipNorm, Clipping};
use crate::wall::bound::quantile::Quantile;
use crate::wall::grid::{self, PrivacyNoise};
use crate::wall::start::{PriorStart, PrivateStart};
use dp_accountant::{Budget, Calibrated, Composition, Relation, calibrate_noise_multiplier};
use dp_sampler::{MAX_RECORDS, Scheme, Subsampling};
use std::fmt::Write;

/// Most steps of one run; a longer one would take days, and its calibration minutes.
const MOST_STEPS: u64 = 1_000_000_000;

/// The ε below which residuals of a Bernoulli are weighted. Half of the noise then brings more than the
/// information that the weights take from records of which the model is sure.
///
/// On four generated designs (1,500 to 20,000 records, 11 to 31 columns, 12 runs each) means at ε = 1 are
/// nearer with them on three, by 2 to 18 %, and further off on the one with most records, 1.8 instead of 1.2
/// standard deviations; at ε of 3 and 10 they are further off on seven of eight, by up to a factor of 1.8. On
/// five real tables points rank better with them at ε up to 1, and alike above.
const BOUNDS_RESIDUALS_BELOW: f64 = 2.0;

/// Steps of a run on full batches: enough for Adam to arrive at its default rate, and to average after.
const FULL_BATCH_STEPS: u64 = 300;

/// Adam's rate: over 300 steps values of order 1 to 10 can be reached.
pub(super) const ADAM_RATE: f64 = 0.05;

/// By how much sampling may raise the noise over that of full batches.
const WASTE: f64 = 1.05;

/// Most steps the planner itself proposes.
const MOST_PROPOSED: u64 = 5_000_000;

/// Sampling rates tried for a compute limit, from the most to the least work on a step.
const RATES: [f64; 13] = [1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001];

/// Largest number of elements whose full curvature is released by default. Integrating over it takes about a
/// second with a hundred, and its time grows with the cube.
const MOST_FULL_CURVATURE: usize = 128;

/// Share of the budget, in which Gaussian releases add up, for the number of records: at ε = 1 it is known to
/// within some tens, and it sets the scale of a bound only.
const COUNT_SHARE: f64 = 0.01;

/// Whether a part of the budget is spent on the likelihood's curvature, from which a posterior is made that
/// knows of the noise ([`NoiseAware`](crate::NoiseAware)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Correction {
    /// Where the likelihood is recognised as a generalised linear term with recognised weights: all of the
    /// curvature up to 128 elements, its diagonal above.
    #[default]
    Recognised,
    /// No: the posterior is the guide's.
    None,
    /// Yes, with all of the curvature.
    Full,
    /// Yes, with its diagonal.
    Diagonal,
    /// Yes, with a curvature that is read off the noisy gradients of the run and takes nothing of the budget:
    /// for any likelihood, up to 64 elements. Where the run says too little of it, the posterior is the
    /// guide's, and [`PrivacyReport::intervals`](crate::PrivacyReport::intervals) says so; with fewer than some thousand records a released curvature is better.
    TraceRegression,
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
    /// Whether an optimiser was named.
    pub(crate) own_optimiser: bool,
    pub(crate) feature_norms: Option<FeatureNorms>,
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
            correction: Correction::Recognised,
            curvature_share: 0.15,
            schedule: None,
            noise_limited: false,
            own_optimiser: false,
            feature_norms: None,
            average: 0.5,
            public_records: None,
            compute_limit: None,
            start: None,
            initial_values: None,
            weights: RecordWeights::Recognised,
        }
    }
}

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
}

impl CurvaturePlan {
    /// Rows of the matrix that is released, for `elements` elements at the frontier.
    pub(crate) fn rows(self, elements: usize) -> usize {
        elements + usize::from(self.with_scores)
    }
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
    /// The noise multiplier of the release of the number of records, if there is one.
    pub count: Option<f64>,
    /// Whether the run starts at one of several points from the prior, because parts of the model are
    /// exchangeable and no start was named.
    pub start_from_prior: bool,
    /// The ε of the private start, if there is one.
    pub start_epsilon: Option<f64>,
    /// The noise multiplier of a step, and the ε of all releases together; `None` without privacy.
    pub calibrated: Option<Calibrated>,
    /// Whether corrections for models of this kind have been measured.
    pub(crate) is_measured: bool,
    pub(crate) deviation: Deviation,
    /// What the noise of all steps together is, over that of the same number of full batches at this budget:
    /// 1 is best.
    pub waste: Option<f64>,
    pub(crate) public_records: Option<u64>,
    reasons: Vec<String>,
}

/// How batches are drawn.
struct Drawn<'a> {
    scheme: Scheme,
    /// By how much the batches of this many steps deviate from the scheme, in total variation.
    deviation: Box<dyn Fn(u64) -> f64 + 'a>,
}

/// What stays the same while rate and steps are chosen.
struct Spending {
    budget: Budget,
    noise: PrivacyNoise,
    /// Whether a start is chosen.
    choice: bool,
    /// Whether the number of records is released.
    counts: bool,
    /// What is released beside the steps.
    beside: Composition,
    /// Noise multiplier of a single full-batch release that uses up what the steps may spend.
    single: f64,
}

impl Spending {
    /// What is not drawn exactly as it is accounted for.
    fn deviation(&self, drawn: &Drawn<'_>, steps: u64) -> Result<Deviation> {
        let count = if self.counts { CountRelease::DEVIATION } else { 0.0 };
        Deviation::of_run(steps, (drawn.deviation)(steps) + count, self.noise.deviation(), self.choice)
    }

    /// The noise that makes this many steps keep the budget, with what is not drawn exactly.
    fn calibrate(&self, drawn: &Drawn<'_>, steps: u64) -> Result<Calibrated> {
        let pricing = Pricing::permitted(self.budget.relation, &drawn.scheme)?;
        let budget = self.deviation(drawn, steps)?.less(self.budget)?;
        Ok(calibrate_noise_multiplier(&budget, |noise_multiplier| {
            let mut all = self.beside.clone();
            all.push(pricing.event(noise_multiplier)?, pricing.events(steps));
            Ok(all)
        })?)
    }

    /// Noise of all steps together over that of full batches: `σ/(q √T)` over that of one release.
    fn waste(&self, drawn: &Drawn<'_>, steps: u64, calibrated: &Calibrated) -> Result<f64> {
        Ok(calibrated.noise_multiplier
            / (sampling_rate(&drawn.scheme)? * (steps as f64).sqrt() * self.single))
    }

    /// The fewest steps, from those of a full batch on, at which sampling wastes no more than the rule
    /// allows; and what they waste.
    fn enough_steps(&self, drawn: &Drawn<'_>, most: u64) -> Result<(u64, f64)> {
        let price = |steps: u64| self.waste(drawn, steps, &self.calibrate(drawn, steps)?);
        let mut high = FULL_BATCH_STEPS.min(most);
        let mut waste = price(high)?;
        let mut low = high;
        while waste > WASTE && high < most {
            low = high;
            high = high.saturating_mul(2).min(most);
            waste = price(high)?;
        }
        while waste <= WASTE && high - low > low / 8 {
            let middle = low + (high - low) / 2;
            let found = price(middle)?;
            if found <= WASTE { (high, waste) = (middle, found) } else { low = middle }
        }
        Ok((high, waste))
    }
}

/// Rate and steps: what was said, or what is best.
pub(crate) enum Sampler<'a, S> {
    /// The caller named a plan for sampling.
    Named(&'a S),
    /// The rate is to be chosen.
    Open(fn(f64) -> dp_sampler::Result<S>),
}

fn number(x: f64) -> String {
    if (1e-3..1e5).contains(&x) { format!("{x:.4}") } else { format!("{x:.4e}") }
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
        if matches!(self.correction, Correction::Full | Correction::Diagonal | Correction::TraceRegression) {
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

    /// The schedule of Adam's rate. Where clip norms and scales have to be found first, the rate falls from the
    /// start: values that have arrived are not carried away again by noise.
    pub(crate) fn schedule_for(&self, plan: &PrivacyPlan) -> Schedule {
        self.schedule.unwrap_or(match plan.clipping {
            Clipping::Adaptive => {
                Schedule::WarmUpThenCosine { rate: ADAM_RATE, steps: (plan.steps / 30).max(1) }
            }
            _ => Schedule::HoldThenCosine(ADAM_RATE),
        })
    }

    /// Decides everything that was left open. `schemes` is the number of records for schemes that
    /// need one.
    pub(crate) fn plan<S: Subsampling>(
        &self,
        survey: Survey,
        sampler: &Sampler<'_, S>,
        schemes: u64,
    ) -> Result<PrivacyPlan> {
        let budget = self.required_budget()?;
        self.validate()?;
        let mut reasons = Vec::new();
        let elements = survey.elements;
        let typical = self.feature_norms.map_or((elements as f64).sqrt(), |norms| norms.typical);
        let (clipping, weighted) = self.clipping(survey, budget, &mut reasons)?;
        let noisy = budget.is_some_and(|budget| budget.epsilon < BOUNDS_RESIDUALS_BELOW);
        let bounds = noisy && weighted && survey.is_bernoulli && self.weights.bounds_residuals();
        let residual_bound = if bounds { 0.5 } else { 1.0 };
        if bounds {
            reasons.push(
                "residuals: the outcome is a Bernoulli's, so scores are weighted by 1/(2 max(p, 1 - p)) too, below epsilon 2: no residual is above 1/2, which halves C; \
                 no bias if the model holds"
                    .to_owned(),
            );
        }
        let clip_norm = self.clip_norm.unwrap_or(residual_bound * typical);
        ClipNorm::new(clip_norm, elements * self.draws.number())?;
        let shape = self.curvature_shape(survey, weighted, budget, &mut reasons)?;
        self.check_noise_limited(survey, weighted, shape.is_some())?;
        // Under add/remove a bound for any number of records, which is protected there; a stated one may be
        // wrong.
        let bound = match budget {
            Some(Budget { relation: Relation::ReplaceOne, .. }) => schemes,
            _ => MAX_RECORDS,
        };
        let drawn = |rate: f64| -> Result<Drawn<'_>> {
            Ok(match sampler {
                Sampler::Named(plan) => {
                    let deviation = Box::new(move |steps| plan.deviation(bound, steps));
                    Drawn { scheme: plan.scheme(schemes)?, deviation }
                }
                Sampler::Open(make) => {
                    let plan = make(rate)?;
                    let scheme = plan.scheme(schemes)?;
                    Drawn { scheme, deviation: Box::new(move |steps| plan.deviation(bound, steps)) }
                }
            })
        };
        let start_from_prior = survey.is_exchangeable == Some(true);
        if survey.is_exchangeable.is_none() {
            reasons.push(
                "start: where unconstrained values are 0; whether parts of the model are exchangeable and would stay equal there could not be tried. If it has \
                 components, units or states without an order, name a private start"
                    .to_owned(),
            );
        }
        let mut plan = PrivacyPlan {
            budget,
            scheme: drawn(1.0)?.scheme,
            steps: self.steps.unwrap_or(FULL_BATCH_STEPS),
            until_converged: false,
            clip_norm,
            clipping,
            weighted,
            residual_bound,
            draws: self.draws,
            gradients: self.gradients,
            noise: self.noise,
            trace_regression: self.correction == Correction::TraceRegression && budget.is_some(),
            curvature: None,
            count: None,
            start_from_prior,
            start_epsilon: None,
            calibrated: None,
            is_measured: survey.is_bernoulli && survey.is_plain,
            deviation: Deviation::NONE,
            waste: None,
            public_records: self.public_records,
            reasons: Vec::new(),
        };
        if let Some(budget) = budget {
            let mut beside = Composition::new();
            // A large ε may be more than can be made use of: what is released beside the steps keeps to what
            // they will be calibrated to.
            let most_steps = self.steps.unwrap_or(MOST_PROPOSED);
            // Where a rate below 1 may be chosen, no other deviates more than one half does: all blocks of
            // records are as short as they get.
            let batches = drawn(if self.compute_limit.is_some() { 0.5 } else { 1.0 })?;
            // A scheme that is not for this relation is refused before anything else.
            Pricing::permitted(budget.relation, &batches.scheme)?;
            let most = Deviation::of_run(
                most_steps,
                (batches.deviation)(most_steps),
                self.noise.deviation(),
                self.start.is_some() || start_from_prior,
            )?;
            let capped =
                Budget { epsilon: most.less(budget).map_or(budget.epsilon, |left| left.epsilon), ..budget };
            let prior = || (PriorStart::SHARE, None);
            let named = self.start.as_ref().map(|start| (start.share, Some(start.candidates.len())));
            if let Some((share, candidates)) = named.or_else(|| start_from_prior.then(prior)) {
                let epsilon = share * capped.epsilon;
                beside.push(choice_event(epsilon)?, 1);
                plan.start_epsilon = Some(epsilon);
                let cost = format!("pure epsilon {} ({share} of the budget)", number(epsilon));
                reasons.push(match candidates {
                    Some(candidates) => {
                        format!("start: one of {candidates} candidates by the exponential mechanism, {cost}")
                    }
                    None => format!(
                        "start: parts of the model are exchangeable and would stay equal, so one of some hundred points from the prior is chosen by the exponential \
                         mechanism, {cost}; name a start to save it"
                    ),
                });
            }
            let rest = calibrate_noise_multiplier(&capped, |noise_multiplier| {
                let mut all = beside.clone();
                all.push(event(noise_multiplier, dp_accountant::Sampling::None)?, 1);
                Ok(all)
            })?;
            // Gaussian releases add up in σ⁻²: a share f of it leaves the multiplier σ/√f.
            let scaled = self.noise_limited
                || start_from_prior
                || matches!(clipping, Clipping::Quantile(_) | Clipping::Adaptive);
            let counts = scaled && budget.relation == Relation::AddRemove && self.public_records.is_none();
            let counting = if counts { COUNT_SHARE } else { 0.0 };
            if counts {
                let noise_multiplier = rest.noise_multiplier / COUNT_SHARE.sqrt();
                let count = CountRelease::new(noise_multiplier)?;
                beside.push(count.event(), 1);
                plan.count = Some(noise_multiplier);
                reasons.push(format!(
                    "number of records: released with noise of standard deviation {}, for {COUNT_SHARE} of the budget, because none was stated",
                    number(count.deviation())
                ));
            }
            let share = if shape.is_some() { self.curvature_share } else { 0.0 };
            if let Some(shape) = shape {
                let noise_multiplier = rest.noise_multiplier / share.sqrt();
                let features = clip_norm / residual_bound;
                let with_scores = weighted || matches!(self.weights, RecordWeights::Given(_));
                let scores = if with_scores { CurvatureShape::Full.score(elements) } else { 0.0 };
                plan.curvature = Some(CurvaturePlan {
                    shape,
                    clip_norm: curvature_norm(shape, features, elements, self.feature_norms)
                        * scores.hypot(1.0),
                    noise_multiplier,
                    with_scores,
                });
                beside.push(event(noise_multiplier, dp_accountant::Sampling::None)?, 1);
            }
            let single = rest.noise_multiplier / (1.0 - share - counting).sqrt();
            let choice = plan.start_epsilon.is_some();
            let spending = Spending { budget, noise: self.noise, choice, counts, beside, single };
            let (rate, steps) = self.rate_and_steps(sampler, &drawn, &spending, &mut reasons)?;
            let drawn = drawn(rate)?;
            plan.steps = steps;
            let calibrated = spending.calibrate(&drawn, steps)?;
            plan.waste = Some(spending.waste(&drawn, steps, &calibrated)?);
            plan.deviation = spending.deviation(&drawn, steps)?;
            plan.scheme = drawn.scheme;
            if self.noise == PrivacyNoise::Exact {
                grid::check(calibrated.noise_multiplier, elements * self.draws.number())?;
                if let Some(curvature) = plan.curvature {
                    let released = curvature.shape.released(curvature.rows(elements));
                    grid::check(curvature.noise_multiplier, released)?;
                }
            }
            plan.calibrated = Some(calibrated);
        }
        plan.reasons = reasons;
        Ok(plan)
    }

    /// How gradients are bounded, and whether recognised weights make that free of bias.
    fn clipping(
        &self,
        survey: Survey,
        budget: Option<Budget>,
        reasons: &mut Vec<String>,
    ) -> Result<(Clipping, bool)> {
        let fixed = !matches!(self.clipping, Some(Clipping::Quantile(_) | Clipping::Adaptive));
        let aligned = self.gradients == Gradients::Aligned;
        let weighted = self.weights.recognises() && survey.is_linear && fixed && budget.is_some() && aligned;
        let given = matches!(self.weights, RecordWeights::Given(_));
        let open = self.clip_norm.is_none() && !weighted && !given;
        let clipping = match (self.clipping, self.public_records) {
            (Some(named), _) => named,
            (None, _) if open && aligned && budget.is_some() => Clipping::Adaptive,
            // Gradients for comparisons stay as they were compared.
            (None, Some(_)) if open => Clipping::Quantile(Quantile::default()),
            (None, _) => Clipping::Flat,
        };
        reasons.push(match (weighted, clipping) {
            (true, _) => "clipping: the likelihood is a generalised linear term, so records are weighted by min(1, C/(L|x|)): no bias; the clip \
                          to C stays underneath"
                .to_owned(),
            (false, Clipping::Quantile(quantile)) => {
                format!("clipping: C follows the {} quantile of the gradients' norms, privately", quantile.target)
            }
            (false, Clipping::Adaptive) => {
                "clipping: C follows a high quantile of the gradients' norms, privately; which one follows from the noise and the number of records"
                    .to_owned()
            }
            (false, Clipping::PerSite) => "clipping: each site to its share of C".to_owned(),
            (false, Clipping::Flat) => "clipping: to norm C; long gradients are bent, which biases the posterior if C is small".to_owned(),
        });
        Ok((clipping, weighted))
    }

    fn curvature_shape(
        &self,
        survey: Survey,
        weighted: bool,
        budget: Option<Budget>,
        reasons: &mut Vec<String>,
    ) -> Result<Option<CurvatureShape>> {
        if matches!(self.correction, Correction::Full | Correction::Diagonal) && !survey.is_linear {
            return Err(NOT_LINEAR);
        }
        let shape = match (self.correction, budget) {
            (Correction::None | Correction::TraceRegression, _) | (_, None) => None,
            (Correction::Full, _) => Some(CurvatureShape::Full),
            (Correction::Diagonal, _) => Some(CurvatureShape::Diagonal),
            (Correction::Recognised, _) if !weighted => None,
            (Correction::Recognised, _) if survey.elements <= MOST_FULL_CURVATURE => {
                Some(CurvatureShape::Full)
            }
            (Correction::Recognised, _) => Some(CurvatureShape::Diagonal),
        };
        let by_trace = self.correction == Correction::TraceRegression && budget.is_some();
        if by_trace && survey.elements > MOST_ELEMENTS {
            let (what, requirement) =
                ("number of elements at the frontier for a trace regression", "at most 64");
            return Err(Error::OutOfRange { what, requirement, value: survey.elements as f64 });
        }
        reasons.push(match shape {
            None if by_trace => "posterior: corrected for the noise, with a curvature read off the noisy gradients of the run; no budget goes into it"
                .to_owned(),
            None => "posterior: the guide's; its intervals leave out the privacy noise".to_owned(),
            Some(shape) => format!(
                "posterior: corrected for the noise, by a release of the curvature ({}) for {} of the budget",
                match shape {
                    CurvatureShape::Full => "all of it",
                    CurvatureShape::Diagonal => "its diagonal",
                },
                self.curvature_share
            ),
        });
        Ok(shape)
    }

    /// What steps that are limited by the noise need.
    fn check_noise_limited(&self, survey: Survey, weighted: bool, corrected: bool) -> Result<()> {
        if !self.noise_limited || self.budget.is_none() {
            return Ok(());
        }
        if self.schedule.is_some() || self.own_optimiser {
            return Err(Error::Conflict(
                "steps limited by the noise have a rate of their own: name no schedule and no optimiser",
            ));
        }
        match weighted && corrected && survey.is_plain {
            true => Ok(()),
            false => Err(Error::Conflict(
                "steps limited by the noise are for generalised linear terms whose values are all real, and touched by the records, with weights and a \
                 correction: only there is known in advance what the noise does",
            )),
        }
    }

    fn rate_and_steps<'a, S: Subsampling>(
        &self,
        sampler: &Sampler<'_, S>,
        drawn: &impl Fn(f64) -> Result<Drawn<'a>>,
        spending: &Spending,
        reasons: &mut Vec<String>,
    ) -> Result<(f64, u64)> {
        let named = matches!(sampler, Sampler::Named(_));
        let Some(limit) = self.compute_limit.filter(|_| !named) else {
            let drawn = drawn(1.0)?;
            if !named {
                reasons.push(
                    "sampling: every record at every step; a smaller rate would only save time".to_owned(),
                );
            }
            if let Some(steps) = self.steps {
                return Ok((1.0, steps));
            }
            let (steps, waste) = spending.enough_steps(&drawn, MOST_PROPOSED)?;
            reasons.push(format!(
                "steps: {steps}, the fewest (from {FULL_BATCH_STEPS}) at which all noise together is within 5 % of that of full batches; it is {} times",
                number(waste)
            ));
            return Ok((1.0, steps));
        };
        let Some(records) = self.public_records else {
            return Err(Error::Missing {
                what: "a public number of records",
                why: "a compute limit counts gradients of records, so it needs their number; state it with .public_records(…), or name a sampling rate",
            });
        };
        let affordable = |rate: f64| (limit / (records as f64 * rate)).min(MOST_PROPOSED as f64) as u64;
        let mut best: Option<(f64, u64, f64)> = None;
        for rate in RATES {
            let most = affordable(rate);
            let fixed = self.steps.is_some_and(|steps| steps > most);
            if most == 0 || fixed {
                continue;
            }
            let drawn = drawn(rate)?;
            let (steps, waste) = match self.steps {
                Some(steps) => (steps, spending.waste(&drawn, steps, &spending.calibrate(&drawn, steps)?)?),
                None => spending.enough_steps(&drawn, most)?,
            };
            let enough = waste <= WASTE && (self.steps.is_some() || steps >= FULL_BATCH_STEPS);
            // Fewer steps than Adam needs count as waste too.
            let short = (FULL_BATCH_STEPS as f64 / steps as f64).sqrt().max(1.0);
            if best.is_none_or(|(_, _, found)| waste * short < found) {
                best = Some((rate, steps, waste * short));
            }
            if enough {
                break;
            }
        }
        let Some((rate, steps, waste)) = best else {
            let (what, requirement) = ("compute limit", "enough for one step at a sampling rate of 0.001");
            return Err(Error::OutOfRange { what, requirement, value: limit });
        };
        reasons.push(format!(
            "sampling: rate {rate} and {steps} steps are {} gradients of the {} allowed, for the {records} records you stated; waste {}",
            number(rate * steps as f64 * records as f64),
            number(limit),
            number(waste)
        ));
        Ok((rate, steps))
    }
}

/// `K`: the curvature of a record with features of norm `C/L` (√D by default) of which the model knows least.
///
/// ```text
/// ‖w h f″ d dᵀ‖_F = w h |f″| ‖d‖² ≤ ¼ (C/L)²   for ‖d‖ ≤ C/L;   on the diagonal ‖d∘d‖ ≲ √(3/D) ‖d‖² for normal features
/// ```
///
/// The curvature of a longer record with a prediction near one half is clipped to it, by at most `C/(L ‖d‖)`.
/// The bound for the longest record would be larger by what that is longer, and so would the noise for all.
fn curvature_norm(shape: CurvatureShape, weighted: f64, elements: usize, norms: Option<FeatureNorms>) -> f64 {
    let length = norms.map_or(weighted, |norms| weighted.min(norms.largest));
    let full = 0.25 * length * length;
    (full * shape.share_of_norm(elements)).max(crate::SMALLEST_CLIP_NORM)
}

impl PrivacyPlan {
    /// Everything that a run releases; `None` without privacy.
    pub(crate) fn charges(&self) -> Result<Option<Charges>> {
        let Some((calibrated, budget)) = self.calibrated.zip(self.budget) else { return Ok(None) };
        let mut once = Vec::new();
        if let Some(epsilon) = self.start_epsilon {
            once.push(Release { what: "private start", event: choice_event(epsilon)?, count: 1 });
        }
        if let Some(noise_multiplier) = self.count {
            let event = CountRelease::new(noise_multiplier)?.event();
            once.push(Release { what: "number of records", event, count: 1 });
        }
        if let Some(curvature) = self.curvature {
            let what = match curvature.shape {
                CurvatureShape::Diagonal => "diagonal of the curvature",
                CurvatureShape::Full => "curvature",
            };
            let event = event(curvature.noise_multiplier, dp_accountant::Sampling::None)?;
            once.push(Release { what, event, count: 1 });
        }
        let (sigma, run) = (calibrated.noise_multiplier, (self.steps, self.deviation));
        Charges::new(once, budget.relation, &self.scheme, sigma, run).map(Some)
    }

    /// The part of δ that is not left to events, because batches, noise and choices are not drawn exactly as
    /// they are accounted for: a bound, `(1 + e^ε) τ` for a total variation distance τ. The noise multiplier
    /// is calibrated to what is left. `None` where all is exact, or nothing is private.
    #[must_use]
    pub fn delta_of_deviations(&self) -> Option<f64> {
        self.budget.map(|budget| self.deviation.taken_of(&budget)).filter(|&delta| delta > 0.0)
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
                    line(format_args!(
                        "one release of the curvature: noise {} x K, K = {}",
                        number(curvature.noise_multiplier),
                        number(curvature.clip_norm)
                    ));
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
