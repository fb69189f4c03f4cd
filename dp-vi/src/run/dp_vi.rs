//! Private variational inference: from a model and a budget to a posterior and a statement.

use crate::cost::charges::Charges;
use crate::cost::pricing::sampling_rate;
use crate::error::{Error, Result};
use crate::guides::guide::Guide;
use crate::objective::draws::Draws;
use crate::objective::gradients::Gradients;
use crate::objective::initial::Start;
use crate::objective::programs::{Objective, Recipe};
use crate::objective::traced::{Survey, Traced};
use crate::objective::weights::RecordWeights;
use crate::optimiser::{Schedule, Transformation, adam};
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::outcome::posterior::Posterior;
use crate::outcome::report::{NOT_COVERED, PrivacyReport, RECORD, assumptions};
use crate::plan::settings::{Correction, PrivacyPlan, Sampler, Settings, Weighing};
use crate::run::checkpoint::BoundTo;
use crate::run::drive::Callback;
use crate::run::training::{CurvatureFrom, Parts, Training};
use crate::wall::adder::PrivacyNoise;
use crate::wall::bound::clip::{ClipNorm, Clipping, Rule};
use crate::wall::bound::quantile::Adaptive;
use crate::wall::curvature::CurvatureRelease;
use crate::wall::gradient::{NoisySum, PrivateGradient, Protection};
use crate::wall::sensitive::Sensitive;
use crate::wall::start::PrivateStart;
use dp_accountant::{Budget, Ledger, Relation};
use dp_sampler::{GaussianNoise, MAX_RECORDS, Poisson, Purpose, Seed, Subsampling};
use ndarray::ArrayD;
use ppl_core::{Graph, Model, Records, Schema};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Differentially private variational inference (DP-VI) with aligned gradients.
///
/// ```text
/// ELBO(φ) = Σ_i E_q[ln p(x_i|θ)] + E_q[ln p(θ)] + H[q_φ],     θ = T(u),  u = g_φ(z)
///
/// each step:  z ~ N(0, I),  u± = g_φ(±z)                         a pair of draws, shared by the batch
///             v_i = (∂ℓ_i/∂u₊, ∂ℓ_i/∂u₋)/√2                     per record, at the frontier u;  ℓ_i = w_i ln p(x_i|θ)
///             S = Σ_{i ∈ batch} clip_C(v_i) + σC·N(0, I)         the only use of the data
///             φ ← Adam(φ, ½ Σ± (∂u±/∂φ)ᵀ (√2 S±/q + ∂ ln p(θ±)/∂u) + ∂H/∂φ)      prior and entropy exact
/// ```
///
/// Only the likelihood of the records is clipped and noised, and only where records meet shared values; guide, prior and
/// entropy are public functions of what has been released. The noise has one element for each element of `u`, not one
/// for each parameter of the guide.
///
/// A model, a guide and a budget are enough: everything else has a default that does not depend on the records, and that
/// [`plan`](DpVi::plan) tells before any of them is touched.
///
/// | part | default | by hand |
/// |---|---|---|
/// | sampling | every record at every step, or a rate for a compute limit | [`subsample`](DpVi::subsample), [`compute_limit`](DpVi::compute_limit) |
/// | steps | 300, more where sampling needs them | [`steps`](DpVi::steps) |
/// | clip norm `C` | `√D` for `D` elements at the frontier | [`clip_norm`](DpVi::clip_norm) |
/// | bound on gradients | weights for generalised linear terms; else a quantile where a number of records is stated; else clipping | [`weights`](DpVi::weights), [`clipping`](DpVi::clipping) |
/// | draws | a mirrored pair | [`draws`](DpVi::draws) |
/// | gradients | with respect to latent values; or to the guide's parameters, for comparison | [`gradients`](DpVi::gradients) |
/// | noise | exact, on a grid; or in floating point, for comparison | [`noise`](DpVi::noise) |
/// | posterior | corrected for the noise where there are weights, for 15 % of the budget | [`correction`](DpVi::correction) |
/// | start | where unconstrained values are 0 | [`start_at`](DpVi::start_at), [`start_from`](DpVi::start_from) |
/// | optimiser | Adam at rate 0.05, held and lowered | [`schedule`](DpVi::schedule), [`optimiser`](DpVi::optimiser) |
/// | noise `σ` | what the budget leaves | |
///
/// # Privacy
/// `σ` is calibrated so that all releases together stay within the budget; the events come from the sampler and the
/// mechanism themselves, and are debited from a ledger before the first step. See [`PrivacyReport`].
///
/// Batches, noise and choices that are not drawn exactly as they are accounted for, but within a proven total variation distance τ of it, take
/// `(1 + e^ε) τ` of δ, and `σ` is calibrated to the rest ([`PrivacyPlan::delta_of_deviations`]). Samplers of which nothing is proven are
/// refused: orders of more than 1,024 records that are computed from a key.
///
/// One fit is one spending of its budget: what several fits on the same records cost together is the sum of their
/// events. Whether the records fit the model at all (an observation outside its support does not) is an error for whoever
/// holds them, and not covered.
///
/// # References
/// Jälkö, Dikmen, Honkela 2017 (DP-VI); Jälkö, Prediger, Honkela, Kaski 2022 (aligned gradients); Kingma & Ba 2015 (Adam).
pub struct DpVi<M, G, S> {
    model: M,
    guide: G,
    subsampling: Chosen<S>,
    weights: RecordWeights,
    pub(crate) settings: Settings,
    optimiser: Option<Box<dyn Transformation>>,
    pub(crate) seed: Option<Seed>,
    pub(crate) on_progress: Option<Callback>,
    pub(crate) checkpoint: Option<(PathBuf, u64)>,
    /// What was read from the records and is treated as public.
    treated_as_public: Vec<String>,
}

/// How batches are drawn, as far as that has been said.
enum Chosen<S> {
    Named(S),
    Open(fn(f64) -> dp_sampler::Result<S>),
}

impl<M: Model, G: Guide> DpVi<M, G, Poisson> {
    /// Inference for a model with a guide. The budget has no default and must be named.
    pub fn new(model: M, guide: G) -> Self {
        Self {
            model,
            guide,
            subsampling: Chosen::Open(Poisson::rate),
            weights: RecordWeights::Recognised,
            settings: Settings {
                budget: None,
                without_privacy: false,
                steps: None,
                clip_norm: None,
                clipping: None,
                draws: Draws::Antithetic,
                noise: PrivacyNoise::default(),
                gradients: Gradients::Aligned,
                correction: Correction::Recognised,
                curvature_share: 0.15,
                schedule: None,
                average: 0.5,
                public_records: None,
                compute_limit: None,
                start: None,
                start_at: Start::Feasible,
            },
            optimiser: None,
            seed: None,
            on_progress: None,
            checkpoint: None,
            treated_as_public: Vec::new(),
        }
    }
}

impl<M, G, S> DpVi<M, G, S> {
    /// The privacy budget of the whole fit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// No clipping and no noise, for comparison. The report says **NOT PRIVATE**.
    #[must_use]
    pub fn without_privacy(mut self) -> Self {
        self.settings.without_privacy = true;
        self
    }

    /// How the batch of each step is drawn.
    #[must_use]
    pub fn subsample<S2: Subsampling>(self, subsampling: S2) -> DpVi<M, G, S2> {
        DpVi {
            model: self.model,
            guide: self.guide,
            subsampling: Chosen::Named(subsampling),
            weights: self.weights,
            settings: self.settings,
            optimiser: self.optimiser,
            seed: self.seed,
            on_progress: self.on_progress,
            checkpoint: self.checkpoint,
            treated_as_public: self.treated_as_public,
        }
    }

    /// Number of steps. By default 300, or, where batches are samples, as many more as it takes until sampling adds at most
    /// 5 % to the noise of all steps together.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.settings.steps = Some(steps);
        self
    }

    /// A number of records that is public knowledge, such as the rounded size of a survey. It sets scales, and no guarantee depends on
    /// it being right. Under add/remove the true number is somebody's secret: do not count the records for it.
    #[must_use]
    pub fn public_records(mut self, records: u64) -> Self {
        self.settings.public_records = Some(records);
        self
    }

    /// The most per-record gradients that the run may take, over all its steps; the sampling rate follows from it. Needs
    /// [`public_records`](Self::public_records).
    #[must_use]
    pub fn compute_limit(mut self, gradients: f64) -> Self {
        self.settings.compute_limit = Some(gradients);
        self
    }

    /// Largest norm `C` of one record's gradient. By default `√D` for `D` elements at the frontier, which suits a
    /// generalised linear model with standardised features: the typical norm of a record's features is best.
    ///
    /// A smaller `C` needs less noise, but clipping to it biases the posterior and weights lose records' information; it must be chosen
    /// without looking at the data.
    #[must_use]
    pub fn clip_norm(mut self, norm: f64) -> Self {
        self.settings.clip_norm = Some(norm);
        self
    }

    /// How gradients are clipped; see [`DpVi`] for the default.
    #[must_use]
    pub fn clipping(mut self, clipping: Clipping) -> Self {
        self.settings.clipping = Some(clipping);
        self
    }

    /// What each record's log-likelihood is multiplied by, so that clipping has less to do.
    #[must_use]
    pub fn weights(mut self, weights: RecordWeights) -> Self {
        self.weights = weights;
        self
    }

    /// At which draws of the guide a step takes the gradient; by default at a mirrored pair.
    #[must_use]
    pub fn draws(mut self, draws: Draws) -> Self {
        self.settings.draws = draws;
        self
    }

    /// With respect to what a record's gradient is taken and clipped: by default to the latent values. The others are for comparisons.
    #[must_use]
    pub fn gradients(mut self, gradients: Gradients) -> Self {
        self.settings.gradients = gradients;
        self
    }

    /// How noise is added; by default exactly, so that no rounding error stands between the proof and what is computed.
    /// [`PrivacyNoise::Continuous`] is for comparisons.
    #[must_use]
    pub fn noise(mut self, noise: PrivacyNoise) -> Self {
        self.settings.noise = noise;
        self
    }

    /// Whether a part of the budget goes into a posterior that knows of the noise.
    #[must_use]
    pub fn correction(mut self, correction: Correction) -> Self {
        self.settings.correction = correction;
        self
    }

    /// That part: its share of `1/σ²`, in which Gaussian releases add up; by default 0.15.
    #[must_use]
    pub fn curvature_share(mut self, share: f64) -> Self {
        self.settings.curvature_share = share;
        self
    }

    /// Candidates to start from, one of which is chosen privately.
    #[must_use]
    pub fn start_from(mut self, start: PrivateStart) -> Self {
        self.settings.start = Some(start);
        self
    }

    /// Where latent values start; by default where the unconstrained values are 0.
    #[must_use]
    pub fn start_at(mut self, start: Start) -> Self {
        self.settings.start_at = start;
        self
    }

    /// Adam's learning rate over the run; by default 0.05, held for half of it and lowered to zero along a cosine.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Another optimiser than Adam, with its learning rate. See [`Transformation`].
    #[must_use]
    pub fn optimiser(mut self, optimiser: impl Transformation + 'static) -> Self {
        self.optimiser = Some(Box::new(optimiser));
        self
    }

    fn take_optimiser(&mut self) -> Result<Box<dyn Transformation>> {
        match (self.optimiser.take(), self.settings.schedule) {
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
        self.settings.average = fraction;
        self
    }

    /// Puts into the privacy statement that something which was read from the records is treated as public: categories that were found in a
    /// column, say. It may be called several times.
    ///
    /// # Privacy
    /// The guarantee does not cover what is stated here: it holds for data sets that agree in it. This method changes nothing but what the
    /// statement says.
    ///
    /// ```
    /// # use dp_accountant::{Budget, Relation};
    /// # use dp_vi::{AutoNormal, DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// # let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    /// let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(20);
    /// let fit = vi.treat_as_public("the categories of 'town' were read from the records").fit(&records)?;
    /// assert!(fit.privacy().to_string().contains("not covered: the categories of 'town' were read from the records"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn treat_as_public(mut self, statement: impl Into<String>) -> Self {
        self.treated_as_public.push(statement.into());
        self
    }

    /// The source of all randomness; by default a fresh secret seed from the operating system.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl<M: Model, G: Guide, S: Subsampling> DpVi<M, G, S> {
    /// What a run on records of these columns will do and what it will cost; no record is touched.
    ///
    /// Under add/remove nothing depends on the number of records, unless one was [stated](Self::public_records); a run makes
    /// the same plan again.
    ///
    /// # Errors
    /// If something is missing or out of range, the model is wrong, no noise multiplier meets the budget, or no bound is
    /// known for this kind of sampling.
    ///
    /// ```
    /// use dp_accountant::{Budget, Relation};
    /// use dp_vi::{AutoNormal, DpVi};
    /// use ppl_core::{Ctx, Distribution, Schema};
    /// use ppl_distributions::{Bernoulli, Normal};
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
    ///     ctx.each_record(|ctx, record| {
    ///         ctx.observe("y", Bernoulli::from_logit(record.get("x")?.dot(w)), record.get("y")?)
    ///     })
    /// }
    /// let schema = Schema::new([("x", 5.into()), ("y", ppl_core::Shape::scalar())])?;
    /// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    /// let plan = DpVi::new(model, AutoNormal::new()).budget(budget).plan(&schema)?;
    /// println!("{}", plan.explain());
    /// assert!(plan.steps == 300 && plan.weighted && plan.curvature.is_some());
    /// assert!(plan.calibrated.unwrap().epsilon.upper <= 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(&self, schema: &Schema) -> Result<PrivacyPlan> {
        self.plan_for(schema, self.settings.public_records.unwrap_or(MAX_RECORDS))
    }

    /// The plan where schemes that need a number of records are given this one.
    fn plan_for(&self, schema: &Schema, number: u64) -> Result<PrivacyPlan> {
        // What was forgotten is told before what is wrong with the model.
        self.settings.required_budget()?;
        let survey = Survey::new(&self.model, schema)?;
        let weighing = match self.weights {
            RecordWeights::Recognised => Weighing::Recognised,
            RecordWeights::None => Weighing::None,
            RecordWeights::Given(_) => Weighing::Given,
        };
        let sampler = match &self.subsampling {
            Chosen::Named(plan) => Sampler::Named(plan),
            Chosen::Open(make) => Sampler::Open(*make),
        };
        self.settings.plan(survey, weighing, &sampler, number)
    }

    /// Prepares a run, and debits all of its releases from a ledger that holds just the budget. A private start is
    /// chosen here.
    ///
    /// # Errors
    /// If something is missing or out of range, the model is wrong, the records do not fit it, or the budget cannot be
    /// met.
    pub fn start<'r>(mut self, records: &'r Sensitive<Records>) -> Result<Training<'r, G, S::Sampler>> {
        let seed = self.take_seed()?;
        let mut ledger = self.settings.required_budget()?.map(Ledger::new).transpose()?;
        let pay = |charges: Option<&Charges>| match (charges, &mut ledger) {
            (Some(charges), Some(ledger)) => Ok(ledger.debit_all(&charges.once())?),
            _ => Ok(()),
        };
        let Prepared { mut training, .. } = self.prepare(records, &seed, true, pay)?;
        let steps = training.steps();
        match &mut ledger {
            None => training.gradient_mut().allow_unprotected(steps)?,
            Some(ledger) => training.pay(ledger, steps)?,
        }
        Ok(training)
    }

    pub(crate) fn take_seed(&mut self) -> Result<Seed> {
        match self.seed.take() {
            Some(seed) => Ok(seed),
            None => Ok(Seed::from_os()?),
        }
    }

    /// Where sites start, unconstrained, as far as that was said. Whether a private start can be made is checked too, before it is paid for.
    fn initial_values(&self, schema: &Schema) -> Result<BTreeMap<String, ArrayD<f64>>> {
        let (start, private) = (&self.settings.start_at, &self.settings.start);
        if *start == Start::Feasible && private.is_none() {
            return Ok(BTreeMap::new());
        }
        if !self.guide.takes_initial() {
            return Err(Error::Conflict(
                "a start was named, and where a hand-written guide starts is written in it: change the initial values of its \
                 parameters, or use another guide",
            ));
        }
        let graph = Graph::new();
        let sites = Traced::new(&self.model, &graph, schema)?.sites;
        if let Some(private) = private {
            private.unconstrained(&sites)?;
        }
        start.resolve(&self.model, schema, &sites)
    }

    /// The second derivatives that a guide wants: those of all records without privacy, else nothing but a check that the correction brings
    /// them.
    fn curvature_for_the_guide(
        &self,
        objective: &Objective,
        records: &Sensitive<Records>,
        without_privacy: bool,
        corrects: bool,
    ) -> Result<Option<Hessian>> {
        let wrong = |problem: String| Err(Error::Guide { guide: self.guide.describe(), problem });
        if objective.draws_for_records() {
            return wrong("has no curvature where records have latent values of their own".to_owned());
        }
        if without_privacy {
            return Hessian::new(&self.model, records).map(Some);
        }
        if !corrects {
            return wrong(
                "takes its curvature from a correction, and this plan has none: likelihoods that are generalised linear terms have one \
                 (Correction::Full), others Correction::TraceRegression; or take another guide"
                    .to_owned(),
            );
        }
        match objective.untouched() {
            None => Ok(None),
            Some(site) => wrong(format!(
                "knows nothing of '{site}', which no record touches: with a budget the curvature is that of what records touch. Give it a \
                 guide of its own in an AutoGuideList, and AutoDelta::unconstrained to the others"
            )),
        }
    }

    /// Everything but the payment of steps. `pay` debits what is released once, or makes sure that it has been; it is called when
    /// everything has been checked, and before anything is released. Without `choosing`, a private start is not chosen: for
    /// runs that are complete, where it does not matter any more.
    pub(crate) fn prepare<'r>(
        mut self,
        records: &'r Sensitive<Records>,
        seed: &Seed,
        choosing: bool,
        pay: impl FnOnce(Option<&Charges>) -> Result<()>,
    ) -> Result<Prepared<'r, G, S::Sampler>> {
        let budget = self.settings.required_budget()?;
        let optimiser = self.take_optimiser()?;
        // Under add/remove found without the records' number, which is nobody's business there; a scheme that depends on it is
        // refused. Replacing a record leaves it as it is.
        let number = match budget {
            Some(Budget { relation: Relation::ReplaceOne, .. }) => records.behind_the_wall().len() as u64,
            Some(_) => self.settings.public_records.unwrap_or(MAX_RECORDS),
            None => MAX_RECORDS,
        };
        let plan = self.plan_for(records.schema(), number)?;
        let charges = Charges::new(&plan)?;
        let epsilon =
            charges.as_ref().zip(budget).map(|(charges, budget)| charges.epsilon(budget)).transpose()?;
        records.check_numbers()?;
        let no_weights = RecordWeights::None;
        let mut recipe = Recipe {
            draws: plan.draws,
            // Weights belong to the private estimate: without privacy the likelihood stays as it is.
            weights: if budget.is_none()
                || (!plan.weighted && matches!(self.weights, RecordWeights::Recognised))
            {
                &no_weights
            } else {
                &self.weights
            },
            gradients: plan.gradients,
            stated_records: plan.public_records.unwrap_or(1) as f64,
            clip_norm: plan.clip_norm,
            per_site: plan.clipping == Clipping::PerSite,
            curvature: plan.curvature.map(|curvature| curvature.shape),
            trace: plan.trace_regression,
            initial: self.initial_values(records.schema())?,
        };
        let mut objective = Objective::new(&self.model, &self.guide, records, &recipe)?;
        if self.settings.start.is_some() && objective.draws_for_records() {
            return Err(Error::Conflict(
                "a private start compares log-likelihoods, and those of a model with records' own latent values are bounds with noise",
            ));
        }
        let corrects = plan.curvature.is_some() || plan.trace_regression;
        let hessian = match self.guide.wants_curvature() {
            true => self.curvature_for_the_guide(&objective, records, budget.is_none(), corrects)?,
            false => None,
        };
        let (curvature, prior) = (objective.curvature.take(), objective.prior_curvature.take());
        let (gradient, mut shared) = objective.split();
        let subsampling = match self.subsampling {
            Chosen::Named(subsampling) => subsampling,
            Chosen::Open(make) => make(sampling_rate(&plan.scheme)?)?,
        };
        let protection = match &plan.calibrated {
            None => Protection::None,
            Some(calibrated) => {
                let clip = ClipNorm::new(plan.clip_norm, gradient.dimension())?;
                let rule = match plan.clipping {
                    Clipping::Flat => Rule::Flat(clip),
                    Clipping::PerSite => {
                        let sizes: Vec<usize> =
                            shared.frontier().flatten().map(|range| range.len()).collect();
                        Rule::per_site(plan.clip_norm, &sizes, plan.draws.number())?
                    }
                    Clipping::Quantile(quantile) => {
                        let records = plan.public_records.unwrap_or(1) as f64;
                        let expected = records * sampling_rate(&plan.scheme)?;
                        Rule::Quantile(Adaptive::new(quantile, clip, gradient.dimension(), expected)?)
                    }
                };
                let sum = NoisySum::new(rule, clip, calibrated.noise_multiplier)?;
                Protection::Gaussian(sum.with_noise(plan.noise, seed, &gradient)?)
            }
        };
        let elements = shared.frontier_elements;
        let mut gradient =
            PrivateGradient::with(gradient, protection, &subsampling, records, (seed, &shared.record_noise))?;
        match (&charges, gradient.event()?) {
            (None, None) => {}
            (Some(charges), Some(event)) => charges.check(event, &gradient.scheme(), gradient.rate())?,
            _ => return Err(Error::Conflict("there is noise without a price, or a price without noise")),
        }
        let mut release = match (curvature, plan.curvature) {
            (Some(program), Some(planned)) => {
                let (clip, sigma) = (planned.clip_norm, planned.noise_multiplier);
                let release = CurvatureRelease::new(program, planned.shape, clip, sigma, elements, seed)?
                    .with_noise(plan.noise, seed)?;
                if !charges.as_ref().is_some_and(|charges| charges.holds(&release.event().ok())) {
                    return Err(Error::Conflict("the curvature's event is not the one that was planned for"));
                }
                Some(CurvatureFrom::Release(Box::new(release)))
            }
            _ if plan.trace_regression => Some(CurvatureFrom::Trace),
            _ => None,
        };
        // Everything that can be refused has been built and checked: from here on it is paid for.
        pay(charges.as_ref())?;
        if let Some(CurvatureFrom::Release(release)) = &mut release {
            release.was_paid_for();
        }
        if let Some(start) = self.settings.start.as_ref().filter(|_| choosing) {
            let private = plan.start_epsilon.zip(budget).map(|(epsilon, budget)| (epsilon, budget.relation));
            recipe.initial.extend(start.choose(&self.model, records, private, seed)?);
            // The same programs but for where the guide starts.
            let (program, started) = Objective::new(&self.model, &self.guide, records, &recipe)?.split();
            gradient.replace(program)?;
            shared = started;
        }
        let report = PrivacyReport {
            budget,
            epsilon,
            delta_of_deviations: plan.delta_of_deviations(),
            advantage: charges
                .as_ref()
                .zip(budget)
                .and_then(|(charges, budget)| charges.advantage(budget.relation)),
            ledger_spent: None,
            record: RECORD,
            public_number_of_records: PrivacyReport::is_number_public(budget.map(|budget| budget.relation)),
            scheme: gradient.scheme(),
            noise_multiplier: plan.calibrated.map(|calibrated| calibrated.noise_multiplier),
            clip_norm: plan.calibrated.map(|_| plan.clip_norm),
            clipping: plan.calibrated.map(|_| plan.clipping),
            noise: plan.calibrated.map(|_| plan.noise),
            steps: plan.steps,
            steps_done: 0,
            releases: charges.as_ref().map(Charges::releases).unwrap_or_default(),
            secret_seed: seed.is_secret(),
            guide: self.guide.describe(),
            assumes: assumptions(plan.noise),
            not_covered: NOT_COVERED,
            treated_as_public: self.treated_as_public,
        };
        let settings = BoundTo {
            records,
            shared: &shared,
            guide: self.guide.describe(),
            optimiser: &optimiser.describe(),
            settings: &self.settings,
            plan: &plan,
            protection: gradient.protection(),
        };
        let settings = settings.to_string();
        let training = Training::new(Parts {
            guide: self.guide,
            gradient,
            shared,
            draws: GaussianNoise::from_streams(seed.streams(Purpose::GuideDraws)),
            optimiser,
            average: self.settings.average,
            report,
            correction: release.zip(prior),
            hessian,
            records,
        })?;
        Ok(Prepared { training, charges, settings })
    }
}

/// A run whose steps have not been paid for.
pub(crate) struct Prepared<'r, G, S> {
    pub(crate) training: Training<'r, G, S>,
    /// What it costs; `None` without privacy.
    pub(crate) charges: Option<Charges>,
    /// What a checkpoint of it is bound to.
    pub(crate) settings: String,
}

/// The outcome of a fit: released values only.
#[derive(Clone, Debug)]
pub struct Fit {
    pub(crate) posterior: Posterior,
    pub(crate) uncorrected: Posterior,
    pub(crate) noise_aware: Option<NoiseAware>,
    pub(crate) parameters: Vec<(String, Vec<f64>)>,
    pub(crate) report: PrivacyReport,
}

impl Fit {
    /// The approximate posterior: [corrected for the noise](Self::noise_aware) where that was planned, else the guide's.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The posterior as the guide has it. Its intervals leave out the noise added for privacy.
    #[must_use]
    pub fn uncorrected(&self) -> &Posterior {
        &self.uncorrected
    }

    /// The corrected posterior with all covariances, of the sites that records touch. `None` where none was planned, or where it came out
    /// without being a posterior (then [`posterior`](Self::posterior) is the guide's).
    #[must_use]
    pub fn noise_aware(&self) -> Option<&NoiseAware> {
        self.noise_aware.as_ref()
    }

    /// The guide's parameters by name, row-major, as they were found: averaged over the run's tail. Those of a hand-written guide are
    /// called `guide/` and their own name, and are unconstrained.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.parameters.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// The privacy statement.
    #[must_use]
    pub fn privacy(&self) -> &PrivacyReport {
        &self.report
    }
}
