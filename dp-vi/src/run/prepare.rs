//! From what was said to a run that has not begun: plan, programs, releases. Nothing is paid for or released here.

use super::checkpoint::described;
use super::dp_vi::{AnyModel, Chosen, DpVi};
use super::rough_fit::Octaves;
use crate::cost::charges::Charges;
use crate::cost::pricing::sampling_rate;
use crate::error::{Error, Result};
use crate::guides::guide::{Guide, GuideSite};
use crate::objective::coordinates::Coordinates;
use crate::objective::frontier::Estimator;
use crate::objective::initial::InitialValues;
use crate::objective::prior::PriorCurvature;
use crate::objective::programs::{Objective, Options};
use crate::objective::traced::Traced;
use crate::objective::weights::RecordWeights;
use crate::optimiser::{NoiseLimited, Transformation};
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::report::{LEAVE_OUT, NOT_COVERED, PrivacyReport, RECORD, assumptions};
use crate::plan::privacy_plan::PrivacyPlan;
use crate::plan::settings::Settings;
use crate::wall::adder::NoiseOf;
use crate::wall::batches::Batches;
use crate::wall::bound::clip::{ClipNorm, Clipping, Rule};
use crate::wall::bound::quantile::{Adaptive, Quantile};
use crate::wall::curvature::CurvatureRelease;
use crate::wall::gradient::{PrivateGradient, refuse_numbers_by_place};
use crate::wall::release::{NoisySum, Released};
use crate::wall::sensitive::Sensitive;
use crate::wall::steps::Steps;
use crate::wall::unprotected::UnprotectedSum;
use dp_sampler::{MAX_RECORDS, Seed, Subsampler, Subsampling};
use ndarray::ArrayD;
use ppl_core::{Graph, Model, RecordGradient, Records, Schema};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A run that has not begun.
pub(super) struct Prepared<'r, 'm, G, S> {
    pub(super) model: AnyModel<'m>,
    pub(super) guide: G,
    pub(super) settings: Settings,
    pub(super) plan: PrivacyPlan,
    /// What it costs; `None` without privacy.
    pub(super) charges: Option<Charges>,
    pub(super) records: &'r Sensitive<Records>,
    /// Where latent values start.
    pub(super) initial: BTreeMap<String, ArrayD<f64>>,
    /// What was released of the columns' octaves, and records that are made up from it.
    pub(super) octaves: Option<Octaves>,
    pub(super) made_up: Option<Records>,
    pub(super) estimator: Estimator,
    pub(super) steps: Steps<'r, S>,
    pub(super) curvature: Option<CurvatureRelease>,
    pub(super) prior: Option<PriorCurvature>,
    /// The release during the run.
    pub(super) early: Option<CurvatureRelease>,
    /// Second derivatives, where the guide wants them and nothing is private.
    pub(super) hessian: Option<Hessian>,
    pub(super) optimiser: Optimiser,
    pub(super) report: PrivacyReport,
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
            known_records: None,
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
            moved: None,
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
            octaves: None,
            made_up: None,
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
        let Self { guide, settings, plan, records, estimator, steps, optimiser, report, .. } = self;
        let columns = records.schema();
        described(
            (columns, guide.describe(), &optimiser.get().describe()),
            (settings, plan, &report.treated_as_public),
            &estimator.shared,
            &steps.protection(),
        )
    }
}

/// What the objective is to be, by the plan.
pub(super) fn options<'a>(
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
    refuse_numbers_by_place(&program, &estimator.shared.record_noise)?;
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
pub(super) fn locations(estimator: &Estimator) -> Option<Vec<Range<usize>>> {
    let shared = &estimator.shared;
    let location = |site: &GuideSite| {
        let name = format!("guide/{}/loc", site.name);
        let found = shared.layout.iter().find(|(parameter, _)| *parameter == name);
        found.map(|(_, range)| range).filter(|range| range.len() == site.elements())
    };
    shared.sites.iter().map(location).collect()
}

/// The releases of the curvature that are planned: the one at the end, and the one during the run.
pub(super) fn curvature_releases(
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
    if !plan.finds_curvature() {
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
