//! From what was said to a run that has not begun: plan, programs, releases. Nothing is paid for or released
//! here but a private start.

use super::checkpoint::described;
use super::dp_vi::{AnyModel, Chosen, DpVi};
use super::training::{CorrectionState, Early, Laplace, Training};
use crate::cost::charges::Charges;
use crate::cost::pricing::sampling_rate;
use crate::error::{Error, Result};
use crate::guides::guide::{Guide, GuideSite};
use crate::objective::coordinates::Coordinates;
use crate::objective::frontier::Estimator;
use crate::objective::initial::{InitialValues, prior_draws};
use crate::objective::prior::{PriorCurvature, SiteAt};
use crate::objective::programs::{Objective, Options};
use crate::objective::traced::Traced;
use crate::objective::weights::RecordWeights;
use crate::optimiser::{NoiseLimited, SavedState, StepScale, TailAverage, Transformation};
use crate::outcome::convergence::converge;
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::probes::{ElementPrior, Probes};
use crate::outcome::correction::tail::GradientTail;
use crate::outcome::progress::Callback;
use crate::outcome::report::{LEAVE_OUT, NOT_COVERED, PrivacyReport, RECORD, assumptions};
use crate::plan::privacy_plan::PrivacyPlan;
use crate::plan::settings::Settings;
use crate::run::rough_fit::coordinates;
use crate::summaries::{CountRelease, OctaveRelease};
use crate::wall::adder::NoiseOf;
use crate::wall::batches::Batches;
use crate::wall::bound::clip::{ClipNorm, Clipping, Rule};
use crate::wall::bound::quantile::{Adaptive, Quantile, Suited};
use crate::wall::curvature::CurvatureRelease;
use crate::wall::gradient::PrivateGradient;
use crate::wall::release::{NoisySum, Released};
use crate::wall::sensitive::Sensitive;
use crate::wall::start::{PaidChoices, PriorStart};
use crate::wall::steps::Steps;
use crate::wall::unprotected::UnprotectedSum;
use dp_accountant::{Receipt, Relation};
use dp_sampler::{GaussianNoise, MAX_RECORDS, Purpose, Seed, Subsampler, Subsampling};
use ndarray::ArrayD;
use ppl_core::{Constraint, Graph, Model, RecordGradient, Records, Schema};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A run that has not begun.
pub(super) struct Prepared<'r, 'm, G, S> {
    model: AnyModel<'m>,
    guide: G,
    settings: Settings,
    plan: PrivacyPlan,
    /// What it costs; `None` without privacy.
    charges: Option<Charges>,
    records: &'r Sensitive<Records>,
    /// Where latent values start.
    initial: BTreeMap<String, ArrayD<f64>>,
    estimator: Estimator,
    steps: Steps<'r, S>,
    curvature: Option<CurvatureRelease>,
    prior: Option<PriorCurvature>,
    /// Second derivatives, where the guide wants them and nothing is private.
    /// The release during the run.
    early: Option<CurvatureRelease>,
    hessian: Option<Hessian>,
    optimiser: Optimiser,
    report: PrivacyReport,
}

/// A run's optimiser.
pub(super) enum Optimiser {
    /// Its rates follow from what is released.
    NoiseLimited(Box<NoiseLimited>),
    Other(Box<dyn Transformation>),
}

impl Optimiser {
    pub(super) fn get(&self) -> &dyn Transformation {
        match self {
            Self::NoiseLimited(optimiser) => &**optimiser,
            Self::Other(optimiser) => &**optimiser,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn Transformation {
        match self {
            Self::NoiseLimited(optimiser) => &mut **optimiser,
            Self::Other(optimiser) => &mut **optimiser,
        }
    }
}

impl<'m, G: Guide, S: Subsampling> DpVi<AnyModel<'m>, G, S> {
    /// Builds and checks everything that can be refused, before anything is paid for.
    pub(super) fn prepare<'r>(
        mut self,
        records: &'r Sensitive<Records>,
        seed: &Seed,
    ) -> Result<Prepared<'r, 'm, G, S::Sampler>> {
        let budget = self.settings.required_budget()?;
        // Under add/remove found without the number of records, which is protected there; a scheme that
        // depends on it is refused. Replacing a record leaves it as it is.
        let number = budget.map_or(Some(MAX_RECORDS), |budget| records.public_number(budget.relation));
        let number = number.or(self.settings.public_records).unwrap_or(MAX_RECORDS);
        let plan = self.plan_for(records.schema(), number)?;
        let optimiser = match self.settings.noise_limited && budget.is_some() {
            true => {
                let schedule = self.settings.schedule_for(&plan);
                Optimiser::NoiseLimited(Box::new(NoiseLimited::new(schedule)?))
            }
            false => Optimiser::Other(self.execution.take_optimiser(&self.settings, &plan)?),
        };
        let charges = plan.charges()?;
        let epsilon =
            charges.as_ref().zip(budget).map(|(charges, budget)| charges.epsilon(budget)).transpose()?;
        records.check_numbers()?;
        let Self { model, guide, subsampling, settings, execution } = self;
        let initial = initial_values(&model, &guide, &settings, records.schema())?;
        let objective = Objective::new(
            &model,
            &guide,
            records.schema(),
            &options(&settings, &plan, &initial, None),
            &|trace, graph| records.check_fit(trace, graph),
        )?;
        if settings.start.is_some() && objective.draws_for_records() {
            return Err(Error::Conflict(
                "a private start compares log-likelihoods, and those of a model with records' own latent values are bounds with noise",
            ));
        }
        let hessian = match guide.wants_curvature() {
            true => curvature_for_the_guide(&model, &guide, &objective, records.schema(), &plan)?,
            false => None,
        };
        let Objective { gradient, estimator, curvature, prior_curvature: prior } = objective;
        let subsampling = match subsampling {
            Chosen::Named(subsampling) => subsampling,
            Chosen::Open(make) => make(sampling_rate(&plan.scheme)?)?,
        };
        let steps = steps(&plan, (gradient, &estimator), &subsampling, records, seed)?;
        let [curvature, early] = match curvature {
            Some(program) => curvature_releases(&plan, program, estimator.latent_elements(), seed)?,
            None => [None, None],
        };
        check_prices(charges.as_ref(), &steps, [&curvature, &early].into_iter().flatten())?;
        if matches!(optimiser, Optimiser::NoiseLimited(_)) && locations(&estimator).is_none() {
            let problem = "has no location for each value, which steps limited by the noise need: take AutoLaplace, AutoNormal or another of them";
            return Err(Error::Guide { guide: guide.describe(), problem: problem.to_owned() });
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
            has_records: true,
            scheme: Some(steps.scheme()),
            noise_multiplier: plan.calibrated.map(|calibrated| calibrated.noise_multiplier),
            clip_norm: plan.calibrated.map(|_| plan.clip_norm),
            last_clip_norm: None,
            noise_norm: plan.calibrated.map(|_| plan.clip_norm),
            clipping: plan.calibrated.map(|_| plan.clipping),
            noise: plan.calibrated.map(|_| plan.noise),
            steps: plan.steps,
            steps_done: 0,
            releases: charges.as_ref().map(Charges::releases).unwrap_or_default(),
            secret_seed: seed.is_secret(),
            guide: guide.describe(),
            intervals: budget.map(|_| LEAVE_OUT),
            assumes: assumptions(plan.noise),
            not_covered: NOT_COVERED,
            treated_as_public: execution.treated_as_public,
        };
        Ok(Prepared {
            model,
            guide,
            settings,
            plan,
            charges,
            records,
            initial,
            estimator,
            steps,
            curvature,
            early,
            prior,
            hessian,
            optimiser,
            report,
        })
    }
}

impl<'r, G: Guide, S: Subsampler> Prepared<'r, '_, G, S> {
    /// What the run costs; `None` without privacy.
    pub(super) fn charges(&self) -> Option<&Charges> {
        self.charges.as_ref()
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> u64 {
        self.plan.steps
    }

    /// Everything that the run's releases depend on besides records and seed, in words: what a checkpoint is
    /// bound to.
    pub(super) fn description(&self) -> String {
        let Self { guide, settings, plan, records, estimator, steps, optimiser, .. } = self;
        let columns = records.schema();
        described(
            (columns, guide.describe(), &optimiser.get().describe()),
            (settings, plan),
            &estimator.shared,
            &steps.protection(),
        )
    }

    /// Begins the run with a receipt for what is released once, and hands back what is left of the receipt.
    ///
    /// What a checkpoint has `saved` is where coordinates are found in. A private start is chosen here, but
    /// not without `choosing`: for runs that are complete, where it does
    /// not matter any more. Without a receipt no curvature will be released. With `converging`, a run that was
    /// planned to go on until it has converged is made here as a whole.
    pub(super) fn begin(
        mut self,
        mut receipt: Option<Receipt>,
        seed: &Seed,
        choosing: bool,
        saved: Option<&[f64]>,
        converging: bool,
        on_progress: Option<&mut Callback>,
    ) -> Result<(Training<'r, G, S>, Option<Receipt>)> {
        let mut take = |event| receipt.as_mut().and_then(|receipt| receipt.take(event, 1));
        let choices = self.plan.start.iter().flat_map(|start| (0..start.choices).map(|_| start.event));
        let start: Vec<Receipt> = choices.filter_map(&mut take).collect();
        let located = self.plan.octaves.and_then(|octaves| take(octaves.event));
        let count = self.plan.count.map(CountRelease::new).transpose()?;
        let counted = count.and_then(|count| Some((take(count.event())?, count)));
        // A run that goes on has its rates in the checkpoint.
        let counted = match (choosing, counted) {
            (true, Some((receipt, count))) => {
                let number = count.release(self.records, receipt, seed)?;
                // Two standard deviations more: a rate that is too small costs little.
                Some((number, number + 2.0 * count.deviation()))
            }
            _ => None,
        };
        let stated = self.plan.public_records;
        let public = self.plan.budget.and_then(|budget| self.records.public_number(budget.relation));
        let exact = stated.or(public).map(|number| (number as f64, number as f64));
        let number = counted.or(exact);
        if choosing && (self.settings.start.is_some() || self.plan.start_from_prior) {
            // Without privacy nothing protects their number.
            let unprotected = || self.records.public_number(Relation::ReplaceOne).unwrap_or(0) as f64;
            let number = number.map_or_else(unprotected, |(number, _)| number);
            self.choose_start(start, number, seed)?;
        }
        match saved {
            Some(state) => self.restore_coordinates(state, seed)?,
            None => {
                if let Some(receipt) = located {
                    let number = number.map_or(0.0, |(number, _)| number);
                    self.find_coordinates(receipt, number, seed)?;
                }
            }
        }
        let mut paid = |release: Option<CurvatureRelease>| -> Result<Option<(CurvatureRelease, Receipt)>> {
            let Some(release) = release else { return Ok(None) };
            let event = release.event()?;
            let receipt = receipt.as_mut().and_then(|receipt| receipt.take(event, 1));
            Ok(receipt.map(|receipt| (release, receipt)))
        };
        let (curvature, early_release) = (paid(self.curvature.take())?, paid(self.early.take())?);
        let found = match converging && self.plan.until_converged {
            true => converge(
                &self.model,
                &self.guide,
                Some(self.records),
                &self.estimator.shared,
                seed,
                on_progress,
            )?,
            false => None,
        };
        let Self {
            guide,
            plan,
            records,
            estimator,
            mut steps,
            mut prior,
            hessian,
            mut optimiser,
            mut report,
            ..
        } = self;
        if let (Some((number, _)), Some(calibrated)) = (number, &plan.calibrated) {
            let rate = sampling_rate(&plan.scheme)?;
            let noise = (calibrated.noise_multiplier, rate, plan.steps);
            // Gradients with respect to parameters have as many elements as their sums.
            let elements = match estimator.latent_elements() {
                0 => steps.dimension(),
                elements => elements,
            };
            let suited = || {
                let suited = Quantile::suited_to(noise, number, elements);
                // In the model's own units directions differ in how long their gradients are, and with fewer of
                // them clipped the noise of the others grows by more than what is gained.
                let margin = if estimator.shared.located.is_some() { suited.margin } else { 1.0 };
                Suited { margin, ..suited }
            };
            steps.expect(rate * number, (plan.clipping == Clipping::Adaptive).then(suited));
        }
        optimiser.get_mut().init(&estimator.shared.layout)?;
        if let (Optimiser::NoiseLimited(optimiser), Some(prior)) = (&mut optimiser, &mut prior) {
            scale_by_noise(optimiser, number, &plan, &estimator, prior)?;
        }
        let prior_of_probes = (plan.probes > 0).then(|| {
            let sites = &estimator.shared.sites;
            let draws = prior_draws(&self.model, self.records.schema(), sites);
            let touched =
                sites.iter().zip(draws).zip(estimator.ranges()).filter(|(_, range)| range.is_some());
            let elements = touched.flat_map(|((site, draws), _)| {
                let is_real = site.support == Constraint::Real;
                draws.into_iter().map(move |draws| ElementPrior::new(draws, is_real))
            });
            let elements: Vec<ElementPrior> = elements.collect();
            match &estimator.shared.located {
                Some(located) => ElementPrior::of_coordinates(&elements, &located.coordinates),
                None => elements,
            }
        });
        let corrects = plan.curvature.is_some() || plan.trace_regression || plan.probes > 0;
        let correction = prior.filter(|_| corrects).map(|prior| {
            let share = match (self.settings.noise_limited, plan.probes) {
                // They go straight on from the first.
                (true, _) => 0.85,
                // Adam's rates have to settle.
                (false, 0) => 0.75,
                // Where scales and components arrive late, gradients of the way there are of another curvature.
                (false, _) => 0.55,
            };
            let tail = GradientTail::new(
                estimator.latent_elements(),
                (plan.steps, share),
                self.settings.noise_limited,
                // Of other likelihoods the curvature may be another along the way, as where a scale arrives.
                plan.curvature.is_some_and(|planned| !planned.by_scores),
                plan.trace_regression,
            );
            let tail = match plan.probes {
                0 => tail,
                probes => tail.with_probes(plan.steps - probes),
            };
            let trace = plan.trace_regression;
            let measured = plan.weighted && plan.is_measured;
            let early = plan.curvature.and_then(|planned| {
                let early = planned.early?;
                let deviation = early.noise_multiplier * planned.clip_norm;
                Some(Early {
                    before_step: early.before_step,
                    deviation,
                    release: early_release,
                    released: None,
                })
            });
            let law = plan.curvature;
            let probes = prior_of_probes.map(|prior| Probes::new((plan.steps, plan.probes), prior));
            CorrectionState {
                tail,
                release: curvature,
                curvature: None,
                early,
                law,
                trace,
                measured,
                prior,
                probes,
            }
        });
        let (parameters, convergence) = found.unzip();
        let parameters = parameters.unwrap_or_else(|| estimator.shared.initial.clone());
        let done = convergence.as_ref().map_or(0, |convergence| convergence.evaluations);
        if convergence.is_some() {
            (report.steps, report.steps_done) = (done, done);
        }
        let relative = guide.relative_scales(&estimator.shared.sites);
        let relative = relative.into_iter().map(|scales| (scales.log_scale, scales.factors));
        let average = TailAverage::new(parameters.len(), plan.searching(), self.settings.average)
            .with_relative_scales(&estimator.shared.layout, relative);
        let training = Training {
            guide,
            draws: GaussianNoise::from_streams(seed.streams(Purpose::GuideDraws)),
            optimiser,
            average,
            correction,
            convergence,
            laplace: hessian.map(|hessian| Laplace { hessian, found: None }),
            records,
            report,
            done,
            centre: None,
            noise: vec![0.0; estimator.shared.noise_elements],
            released: vec![0.0; steps.dimension()],
            update: vec![0.0; parameters.len()],
            gradient: steps,
            parameters,
            estimator,
        };
        Ok((training, receipt))
    }

    /// Chooses where to start, and builds the programs anew for it.
    fn choose_start(&mut self, receipts: Vec<Receipt>, number: f64, seed: &Seed) -> Result<()> {
        let private = match (self.plan.start, self.plan.budget) {
            (Some(plan), Some(budget)) => Some(PaidChoices::new(receipts, plan, budget.relation)),
            (None, None) => None,
            _ => return Err(Error::NotPaid { paid: 0 }),
        };
        let chosen = match &self.settings.start {
            Some(start) => start.choose(&self.model, self.records, private, seed)?,
            None => PriorStart::choose(&self.model, self.records, number, private, seed)?,
        };
        self.initial.extend(chosen);
        // The same programs but for where the guide starts.
        let options = options(&self.settings, &self.plan, &self.initial, None);
        let check = &|_: &ppl_core::Trace<'_>, _: &Graph| Ok(());
        let objective = Objective::new(&self.model, &self.guide, self.records.schema(), &options, check)?;
        self.steps.replace(objective.gradient)?;
        self.estimator = objective.estimator;
        Ok(())
    }

    /// Releases in which octaves the columns' numbers lie, and builds the programs anew for coordinates that
    /// follow from it. Where none follow, they stay as they are.
    fn find_coordinates(&mut self, receipt: Receipt, number: f64, seed: &Seed) -> Result<()> {
        let (Some(planned), Some(budget)) = (self.plan.octaves, self.plan.budget) else { return Ok(()) };
        let schema = self.records.schema();
        let graph = Graph::new();
        let columns = Traced::new(&self.model, &graph, schema)?.columns()?;
        let release = OctaveRelease::new(budget.relation, planned.numbers, planned.noise_multiplier)?;
        let histograms = release.release(self.records, &columns, receipt, seed)?;
        // From here on everything is public.
        let released = (histograms.as_slice(), release.deviation(), number);
        match coordinates(&self.model, schema, &self.initial, &columns, released).unwrap_or(None) {
            // What was paid for is not lost where the programs cannot be made in them.
            Some(found) => self.rebuild(Arc::new(found), seed).or_else(|error| match error {
                Error::Conflict(_) => Err(error),
                _ => Ok(()),
            }),
            None => Ok(()),
        }
    }

    /// The same with the coordinates of a checkpoint.
    fn restore_coordinates(&mut self, saved: &[f64], seed: &Seed) -> Result<()> {
        let mut state = SavedState::new(saved);
        if self.plan.octaves.is_none() || state.take(1)?[0] == 0.0 {
            return Ok(());
        }
        let sites = self.estimator.shared.sites.iter().zip(self.estimator.ranges());
        let touched = sites.filter(|(_, range)| range.is_some());
        let sites: Vec<_> = touched.map(|(site, _)| (site.name.clone(), site.elements())).collect();
        self.rebuild(Arc::new(Coordinates::restored(&sites, &mut state)?), seed)
    }

    fn rebuild(&mut self, coordinates: Arc<Coordinates>, seed: &Seed) -> Result<()> {
        let options = options(&self.settings, &self.plan, &self.initial, Some(coordinates));
        let check = &|_: &ppl_core::Trace<'_>, _: &Graph| Ok(());
        let objective = Objective::new(&self.model, &self.guide, self.records.schema(), &options, check)?;
        self.steps.replace(objective.gradient)?;
        self.estimator = objective.estimator;
        self.prior = objective.prior_curvature;
        if let Some(program) = objective.curvature {
            let elements = self.estimator.latent_elements();
            [self.curvature, self.early] = curvature_releases(&self.plan, program, elements, seed)?;
        }
        Ok(())
    }
}

/// What the objective is to be, by the plan.
fn options<'a>(
    settings: &'a Settings,
    plan: &PrivacyPlan,
    initial: &BTreeMap<String, ArrayD<f64>>,
    coordinates: Option<Arc<Coordinates>>,
) -> Options<'a> {
    // Weights belong to the private estimate: without privacy the likelihood stays as it is.
    let unused = settings.weights.recognises() && !plan.weighted;
    Options {
        draws: plan.draws,
        weights: if plan.budget.is_none() || unused { &RecordWeights::None } else { &settings.weights },
        gradients: plan.gradients,
        stated_records: plan.public_records.unwrap_or(1) as f64,
        clip_norm: plan.clip_norm,
        residual_bound: plan.residual_bound,
        per_site: plan.clipping == Clipping::PerSite,
        curvature: plan.curvature.map(|curvature| curvature.shape),
        by_scores: plan.curvature.is_some_and(|curvature| curvature.by_scores),
        trace: plan.trace_regression || plan.probes > 0,
        initial: initial.clone(),
        coordinates,
    }
}

/// What makes the sums of the steps.
fn steps<'r, S: Subsampling>(
    plan: &PrivacyPlan,
    (program, estimator): (RecordGradient<f64>, &Estimator),
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: &Seed,
) -> Result<Steps<'r, S::Sampler>> {
    let batches = |records| Batches::new(subsampling, records, (seed, &estimator.shared.record_noise));
    let Some(calibrated) = &plan.calibrated else {
        return Ok(Steps::Unprotected(Box::new(UnprotectedSum { batches: batches(records)?, program })));
    };
    let clip = ClipNorm::new(plan.clip_norm, program.dimension())?;
    let rule = match plan.clipping {
        Clipping::Flat => Rule::Flat(clip),
        Clipping::PerSite => {
            let sizes: Vec<usize> =
                estimator.ranges().into_iter().flatten().map(|range| range.len()).collect();
            Rule::per_site(plan.clip_norm, &sizes, plan.draws.number())?
        }
        Clipping::Quantile(_) | Clipping::Adaptive => {
            // What is expected of a batch, and which quantile suits it, is set when their number is known.
            let quantile = match plan.clipping {
                Clipping::Quantile(quantile) => quantile,
                _ => Quantile::default(),
            };
            let rule = Adaptive::new(quantile, clip, program.dimension(), 1.0)?;
            Rule::Quantile(match plan.most_clip_norm {
                Some(most) => rule.at_most(most),
                None => rule,
            })
        }
    };
    let of = (NoiseOf::Steps, seed);
    let sigma = calibrated.noise_multiplier;
    let sum = NoisySum::new(program, (rule, clip), sigma, Released::All, plan.noise, of)?;
    Ok(Steps::private(PrivateGradient::over(batches(records)?, sum, seed.is_secret())))
}

/// For each site of the frontier the parameters that are its location; `None` if one has none.
fn locations(estimator: &Estimator) -> Option<Vec<Range<usize>>> {
    let shared = &estimator.shared;
    let location = |site: &GuideSite| {
        let name = format!("guide/{}/loc", site.name);
        let found = shared.layout.iter().find(|(parameter, _)| *parameter == name);
        found.map(|(_, range)| range).filter(|range| range.len() == site.elements())
    };
    shared.sites.iter().map(location).collect()
}

/// Scale of each value where features are whitened: `4π/(3√3)`. Three quarters of it, by which the noise of all steps
/// together may move log odds in root mean square, are `π/√3`, the standard deviation of a logistic variable: that of
/// what the model itself leaves open of an outcome.
const WHITENED_SCALE: f64 = 2.418_399_152_312_290_3;

/// Tells steps that are limited by the noise how wide the prior is, and sets their rates for this number of
/// records and one that it does not exceed: those of a run that goes on are in its checkpoint.
fn scale_by_noise(
    optimiser: &mut NoiseLimited,
    number: Option<(f64, f64)>,
    plan: &PrivacyPlan,
    estimator: &Estimator,
    prior: &mut PriorCurvature,
) -> Result<()> {
    let (Some(calibrated), Some(curvature), Some(locations)) =
        (&plan.calibrated, &plan.curvature, locations(estimator))
    else {
        return Ok(());
    };
    let values = &estimator.shared.initial;
    let frontiers = estimator.ranges();
    let sites = estimator.shared.sites.iter().zip(&frontiers).zip(&locations);
    let at: Vec<SiteAt<'_>> = sites
        .map(|((site, frontier), location)| SiteAt {
            name: &site.name,
            values: &values[location.clone()],
            frontier: frontier.clone(),
        })
        .collect();
    let (_, precisions) = prior.at(&at);
    let n = estimator.latent_elements();
    // A prior that is flat or not concave there has no scale: one of 1.
    let scale = |j: usize| match precisions[j * n + j] {
        precision if precision > 0.0 && precision.is_finite() => precision.sqrt().recip(),
        _ => 1.0,
    };
    let widths = (0..n).map(scale);
    let whitened = plan.whitened.then(|| {
        let prior = (widths.map(|width| width * width).sum::<f64>() / n.max(1) as f64).sqrt();
        prior.min(WHITENED_SCALE)
    });
    let mut places = vec![(0, 1.0); n];
    for (location, frontier) in locations.into_iter().zip(frontiers) {
        for (parameter, j) in location.zip(frontier.into_iter().flatten()) {
            places[j] = (parameter, whitened.unwrap_or_else(|| scale(j)));
        }
    }
    let noise = calibrated.noise_multiplier * plan.clip_norm / sampling_rate(&plan.scheme)?;
    optimiser.place(places, noise);
    let Some((records, most_records)) = number else { return Ok(()) };
    let known = StepScale {
        steps: plan.steps,
        records,
        most_records,
        gradient: plan.clip_norm,
        curvature: curvature.clip_norm,
    };
    optimiser.scale(known);
    Ok(())
}

/// The releases of the curvature that are planned: the one at the end, and the one during the run.
fn curvature_releases(
    plan: &PrivacyPlan,
    program: RecordGradient<f64>,
    elements: usize,
    seed: &Seed,
) -> Result<[Option<CurvatureRelease>; 2]> {
    let Some(planned) = plan.curvature else { return Ok([None, None]) };
    let release = |program, noise_multiplier, of| {
        let scale = (planned.clip_norm, noise_multiplier);
        CurvatureRelease::new(program, (planned.shape, planned.rows(elements)), scale, plan.noise, (of, seed))
    };
    let early =
        planned.early.map(|early| release(program.clone(), early.noise_multiplier, NoiseOf::EarlyCurvature));
    Ok([Some(release(program, planned.noise_multiplier, NoiseOf::Curvature)?), early.transpose()?])
}

/// Makes sure that what will be released is what was priced.
fn check_prices<'a, S: Subsampler>(
    charges: Option<&Charges>,
    steps: &Steps<'_, S>,
    curvatures: impl Iterator<Item = &'a CurvatureRelease>,
) -> Result<()> {
    match (charges, steps) {
        (None, Steps::Unprotected(_)) => {}
        (Some(charges), Steps::Private(mechanism, _)) => {
            charges.check(mechanism.event()?, &mechanism.scheme(), mechanism.rate())?;
        }
        _ => return Err(Error::Conflict("there is noise without a price, or a price without noise")),
    }
    for release in curvatures {
        let event = release.event()?;
        if !charges.is_some_and(|charges| charges.holds(event)) {
            return Err(Error::Conflict("the curvature's event is not the one that was planned for"));
        }
    }
    Ok(())
}

/// Where sites start, unconstrained, as far as that was said. Whether a private start can be made is checked
/// too, before it is paid for.
fn initial_values(
    model: &dyn Model,
    guide: &dyn Guide,
    settings: &Settings,
    schema: &Schema,
) -> Result<BTreeMap<String, ArrayD<f64>>> {
    let feasible = InitialValues::Feasible;
    let (start, private) = (settings.initial_values.as_ref().unwrap_or(&feasible), &settings.start);
    if *start == feasible && private.is_none() {
        return Ok(BTreeMap::new());
    }
    if !guide.takes_initial() {
        return Err(Error::START_OF_HAND_WRITTEN);
    }
    let graph = Graph::new();
    let sites = Traced::new(model, &graph, schema)?.sites;
    if let Some(private) = private {
        private.unconstrained(&sites)?;
    }
    start.resolve(model, schema, &sites)
}

/// The second derivatives that a guide wants: those of all records without privacy, else nothing but a check
/// that the correction brings them.
fn curvature_for_the_guide(
    model: &dyn Model,
    guide: &dyn Guide,
    objective: &Objective,
    schema: &Schema,
    plan: &PrivacyPlan,
) -> Result<Option<Hessian>> {
    let wrong = |problem: String| Err(Error::Guide { guide: guide.describe(), problem });
    if objective.draws_for_records() {
        return wrong("has no curvature where records have latent values of their own".to_owned());
    }
    if plan.budget.is_none() {
        return Hessian::new(model, schema).map(Some);
    }
    if plan.curvature.is_none() && !plan.trace_regression && plan.probes == 0 {
        return wrong(
            "takes its curvature from a correction, and this plan has none: name Correction::Full, Correction::Probes or Correction::TraceRegression, or \
             take another guide"
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
