//! Runs without records: models of public constants.

use super::dp_vi::{AnyModel, DpVi};
use super::training::{corrected, locations, moved_between};
use crate::error::{Error, Result};
use crate::guides::guide::Guide;
use crate::objective::initial::InitialValues;
use crate::objective::programs::public_programs;
use crate::objective::shared::Shared;
use crate::objective::traced::Traced;
use crate::optimiser::{StepIndex, TailAverage};
use crate::outcome::convergence::{converge, is_small_enough};
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::fit::Fit;
use crate::outcome::posterior::Posterior;
use crate::outcome::progress::{Callback, Progress};
use crate::outcome::report::PrivacyReport;
use crate::outcome::simulation::Simulation;
use crate::plan::public::PublicPlan;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose};
use ndarray::ArrayD;
use ppl_core::{Graph, Model, Schema, SiteKind};
use std::collections::BTreeMap;
use std::time::Instant;

impl<M: Model, G: Guide, S> DpVi<M, G, S> {
    /// What [`fit_public`](Self::fit_public) will do; nothing is computed yet.
    ///
    /// # Errors
    /// As [`fit_public`](Self::fit_public), as far as settings and the model are concerned.
    pub fn plan_public(&self) -> Result<PublicPlan> {
        let (graph, no_columns) = (Graph::new(), Schema::default());
        let settings = &self.settings;
        settings.validate_public()?;
        if self.execution.checkpoint.is_some() {
            return Err(Error::Conflict(
                "a checkpoint was named, and fit_public leaves none: it reads no records and can simply be repeated",
            ));
        }
        let traced = Traced::public(&self.model, &graph, &no_columns)?;
        let mut plan = PublicPlan::new(settings, &traced, self.guide.describe());
        let latent = traced.sites.iter().all(|site| site.kind != SiteKind::Param);
        plan.until_converged = latent
            && is_small_enough(&self.guide, plan.latent_elements)
            && self.execution.optimiser.is_none()
            && settings.may_converge();
        Ok(plan)
    }

    /// Fits a model that has no records: everything that it observes are constants that anyone may know.
    ///
    /// ```text
    /// φ maximises ELBO(φ) = E_q[ln p(public, θ)] + H[q_φ]
    /// ```
    ///
    /// Gaussian processes, time series, hidden Markov models: whatever can be written with
    /// [`observe`](ppl_core::Ctx::observe) or [`factor`](ppl_core::Ctx::factor) outside `each_record`. As in a
    /// fit [without privacy](Self::without_privacy), a normal guide of at most 500 elements goes on until it
    /// has converged, and [`Fit::convergence`] says how well it fits. Other guides, models with parameters, and
    /// fits for which steps, a schedule, draws or an optimiser were named, have none and take that number of
    /// Adam's steps, 2,000 by default, each at a mirrored pair of draws. Settings of sampling and clipping have nothing
    /// to act on.
    ///
    /// # Privacy
    /// Nothing is protected, and the report says so: a constant of the model is public. If it was computed
    /// from people's records, put these into [`fit`](Self::fit) instead. A model may have both: see there.
    ///
    /// # Errors
    /// [`Error::NotFiniteAtStart`] if the log density is finite neither at the start nor at points from the prior.
    ///
    /// If the model speaks of records, or has nothing to infer or nothing that it observes; if a budget, a
    /// private start or a checkpoint was named, or a setting is out of range; if the gradient is not finite
    /// at more than half of the steps ([`Error::NotFinite`]).
    ///
    /// ```
    /// use dp_vi::guides::AutoMultivariateNormal;
    /// use dp_vi::DpVi;
    /// use ppl_core::Ctx;
    /// use ppl_distributions::Normal;
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
    ///     let public = ctx.constant(vec![0.9, 1.1, 1.0, 1.0]);
    ///     ctx.observe("y", Normal::new(level, 0.5), public)
    /// }
    /// let fit = DpVi::new(model, AutoMultivariateNormal::new()).fit_public()?;
    /// // Precisions 1 and 4/0.25, and the mean of the four is 1.
    /// assert!((fit.posterior().mean("level")?[[]] - 16.0 / 17.0).abs() < 0.01);
    /// assert!(!fit.privacy().has_records && fit.privacy().epsilon.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_public(self) -> Result<Fit> {
        let plan = self.plan_public()?;
        self.for_any_model().run_public(&plan)
    }
}

// Compiled once for all models.
impl<G: Guide, S> DpVi<AnyModel<'_>, G, S> {
    fn run_public(self, plan: &PublicPlan) -> Result<Fit> {
        let Self { model, guide, settings, mut execution, .. } = self;
        let seed = execution.take_seed()?;
        let mut optimiser = execution.optimiser(settings.schedule, settings.public_schedule())?;
        let initial = initial_values(&model, &guide, settings.initial_values.as_ref())?;
        let mut shared = public_programs(&model, &guide, plan.draws, &initial)?;
        let hessian = guide.wants_curvature().then(|| Hessian::public(&model)).transpose()?;
        if plan.until_converged
            && let Some((found, convergence)) =
                converge(&model, &guide, None, &shared, &seed, execution.on_progress.as_mut())?
        {
            let report = PrivacyReport::of_public(&guide, convergence.evaluations, convergence.evaluations);
            let fit = outcome((&mut shared, &guide), hessian, &found, report)?;
            return Ok(Fit { convergence: Some(convergence), ..fit });
        }
        optimiser.init(&shared.layout)?;
        let draws = GaussianNoise::from_streams(seed.streams(Purpose::GuideDraws));
        let mut parameters = shared.initial.clone();
        let relative = guide.relative_scales(&shared.sites);
        let relative = relative.into_iter().map(|scales| (scales.log_scale, scales.factors));
        let mut average = TailAverage::new(parameters.len(), plan.steps, settings.average)
            .with_relative_scales(&shared.layout, relative);
        let (mut noise, mut update) = (vec![0.0; shared.noise_elements], vec![0.0_f64; parameters.len()]);
        let mut teller =
            Teller { callback: execution.on_progress, steps: plan.steps, started: Instant::now() };
        let (mut done, mut left_out) = (0, 0);
        while done < plan.steps {
            draws.fill(done, &mut noise);
            shared.draw(&parameters, &noise);
            shared.pull_back(&noise, |_, _, _| (), &mut update);
            // A draw at which a matrix cannot be factorised, say, tells no direction.
            match update.iter().all(|slope| slope.is_finite()) {
                true => {
                    let at = StepIndex { step: done, steps: plan.steps };
                    optimiser.ascend(&mut parameters, &mut update, at);
                }
                false => left_out += 1,
            }
            average.take(done, &parameters);
            done += 1;
            if !teller.goes_on(done) {
                break;
            }
        }
        if 2 * left_out > done {
            return Err(Error::NotFinite { steps: left_out, of: done });
        }
        let found = average.mean(&parameters);
        let moved = average.halves().filter(|_| hessian.is_none());
        let moved = moved.and_then(|halves| moved_between(&shared, &guide, &halves, &found));
        let report = PrivacyReport { moved, ..PrivacyReport::of_public(&guide, plan.steps, done) };
        outcome((&mut shared, &guide), hessian, &found, report)
    }
}

/// The posterior at the parameters that were found, and for a guide that wants it the normal that the second
/// derivatives make.
fn outcome(
    (shared, guide): (&mut Shared, &dyn Guide),
    hessian: Option<Hessian>,
    found: &[f64],
    report: PrivacyReport,
) -> Result<Fit> {
    let (marginals, simulation) = (shared.marginals(guide, found), Simulation::of(shared, found));
    let uncorrected = Posterior::new(&shared.sites, marginals.clone(), simulation.clone());
    let posterior = match hessian {
        None => uncorrected.clone(),
        Some(mut hessian) => {
            let normal = hessian.laplace(&locations(shared, guide, found), None)?;
            let posterior =
                normal.and_then(|normal| corrected(shared, marginals, simulation, &normal, hessian.places()));
            posterior.ok_or_else(|| Error::no_maximum(guide.describe()))?
        }
    };
    let parameters = shared.layout.iter().map(|(name, range)| (name.to_owned(), found[range].to_vec()));
    Ok(Fit {
        posterior,
        uncorrected,
        noise_aware: None,
        wandered: None,
        parameters: parameters.collect(),
        report,
        convergence: None,
    })
}

/// Where sites start, unconstrained, as far as that was said.
fn initial_values(
    model: &dyn Model,
    guide: &dyn Guide,
    start: Option<&InitialValues>,
) -> Result<BTreeMap<String, ArrayD<f64>>> {
    let Some(start) = start.filter(|start| **start != InitialValues::Feasible) else {
        return Ok(BTreeMap::new());
    };
    if !guide.takes_initial() {
        return Err(Error::START_OF_HAND_WRITTEN);
    }
    let (graph, no_columns) = (Graph::new(), Schema::default());
    let sites = Traced::public(model, &graph, &no_columns)?.sites;
    start.resolve(model, &no_columns, &sites)
}

/// Says how far a run has come.
struct Teller {
    callback: Option<Callback>,
    steps: u64,
    started: Instant,
}

impl Teller {
    /// About two hundred times a run: its steps are short, for there are no records.
    fn goes_on(&mut self, done: u64) -> bool {
        let Some(callback) = &mut self.callback else { return true };
        let every = (self.steps / 200).max(1);
        if !done.is_multiple_of(every) && done != self.steps {
            return true;
        }
        callback(Progress::since(self.started, 0, done, self.steps)).is_continue()
    }
}
