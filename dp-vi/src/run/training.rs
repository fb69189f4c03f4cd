//! One run, step by step.

use crate::cost::pricing::sampling_variance;
use crate::error::{Error, Result};
use crate::guides::guide::{Guide, Marginal};
use crate::objective::frontier::Estimator;
use crate::objective::moments::FeatureMoments;
use crate::objective::prior::{PriorCurvature, SiteAt};
use crate::objective::shared::Shared;
use crate::optimiser::{SavedState, StepIndex, TailAverage};
use crate::outcome::convergence::Convergence;
use crate::outcome::correction::attenuation::Attenuation;
use crate::outcome::correction::excess::Excess;
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::hierarchy::Hierarchy;
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware};
use crate::outcome::correction::priors::{least_information, normal_prior_of_values};
use crate::outcome::correction::probes::{ElementPrior, Probes};
use crate::outcome::correction::tail::{GradientTail, TailMeans};
use crate::outcome::correction::unknown_curvature::{self, FromStart, ReleasedCurvature};
use crate::outcome::fit::Fit;
use crate::outcome::posterior::Posterior;
use crate::outcome::report::{
    BY_TRACE, FELL_BACK, FEW_STEPS, FEWEST_MEASURED_STEPS, INCLUDE, NO_POSTERIOR, NOT_ARRIVED, NOT_MEASURED,
    OWN_WEIGHTS, PARTLY, PrivacyReport,
};
use crate::outcome::simulation::Simulation;
use crate::plan::privacy_plan::CurvaturePlan;
use crate::run::checkpoint::{Checkpoint, PaidFrom};
use crate::run::prepare::Optimiser;
use crate::wall::bound::clip::Clipping;
use crate::wall::curvature::CurvatureRelease;
use crate::wall::sensitive::Sensitive;
use crate::wall::steps::Steps;
use dp_accountant::{Certified, Purse, Receipt};
use dp_sampler::{GaussianNoise, NoiseSource, Seed, Subsampler};
use nalgebra::DMatrix;
use ppl_core::{RecordGradient, Records, SiteKind, Unconstrained};
use std::ops::Range;
use std::path::Path;

/// A run, step by step. Each [`step`](Training::step) makes one release that was paid for; nothing is
/// allocated.
///
/// [`DpVi::fit`](crate::DpVi::fit) runs all steps; this is for those who want to hold the loop themselves.
pub struct Training<'r, G, S> {
    pub(super) guide: G,
    pub(super) gradient: Steps<'r, S>,
    pub(super) estimator: Estimator,
    pub(super) draws: GaussianNoise,
    pub(super) optimiser: Optimiser,
    pub(super) average: TailAverage,
    pub(super) correction: Option<CorrectionState>,
    pub(super) laplace: Option<Laplace>,
    /// Of a run that was made as a whole, when it began.
    pub(super) convergence: Option<Convergence>,
    pub(super) records: &'r Sensitive<Records>,
    pub(super) report: PrivacyReport,
    pub(super) done: u64,
    /// Where probes are, once they have begun.
    pub(super) centre: Option<Vec<f64>>,
    /// What was released of the columns' octaves, as a checkpoint has it.
    pub(super) octaves: Vec<f64>,
    pub(super) parameters: Vec<f64>,
    pub(super) noise: Vec<f64>,
    pub(super) released: Vec<f64>,
    pub(super) update: Vec<f64>,
}

/// How many times as large the clip norm may become while the curvature is probed: gradients are longer far away, and
/// noise that grows with them makes probes go farther still. Without a limit a residual deviation of 0.1 was found
/// as 0.113 ± 0.012 in one of six made-up regressions, and as 0.095 ± 0.006 with this one; the others did not
/// change.
const HELD: f64 = 1.5;

/// A normal around where a run without privacy ends.
pub(super) struct Laplace {
    pub(super) hessian: Hessian,
    pub(super) found: Option<NoiseAware>,
}

/// A release of the curvature during the run.
pub(super) struct Early {
    /// The step before which it is made.
    pub(super) before_step: u64,
    /// The noise's standard deviation on its diagonal.
    pub(super) deviation: f64,
    /// Taken by the release, with its receipt.
    pub(super) release: Option<(CurvatureRelease, Receipt)>,
    /// What was released, row by row.
    pub(super) released: Option<Vec<f64>>,
}

/// What the corrected posterior is made of.
pub(super) struct CorrectionState {
    pub(super) tail: GradientTail,
    /// Taken by the one release there is, with its receipt.
    pub(super) release: Option<(CurvatureRelease, Receipt)>,
    /// What was released, row by row.
    pub(super) curvature: Option<Vec<f64>>,
    /// The release during the run.
    pub(super) early: Option<Early>,
    /// How what is released is planned.
    pub(super) law: Option<CurvaturePlan>,
    /// Whether the curvature is read off the trace instead.
    pub(super) trace: bool,
    /// Whether the coverage of such a correction has been measured.
    pub(super) measured: bool,
    pub(super) prior: PriorCurvature,
    /// Where the curvature is probed.
    pub(super) probes: Option<Probes>,
    /// Where records do not touch all latent values.
    pub(super) hierarchy: Option<Hierarchy>,
    /// Where what the linear model leaves out can be simulated.
    pub(super) excess: Option<Excess>,
    /// Where values that wander are those of a logistic regression.
    pub(super) attenuation: Option<Attenuation>,
    /// The priors of elements, where they are not normal.
    pub(super) elements: Option<Vec<ElementPrior>>,
    /// Whether records have weights of the caller's own.
    pub(super) own_weights: bool,
    /// What is known of the features' second moments.
    pub(super) moments: Option<FeatureMoments>,
}

impl<'r, G: Guide, S: Subsampler> Training<'r, G, S> {
    /// Steps done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.report.steps
    }

    /// Steps that are paid for and not made yet.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.gradient.left().unwrap_or(self.report.steps.saturating_sub(self.done))
    }

    pub(crate) fn pay(&mut self, purse: &mut dyn Purse, steps: u64) -> Result<()> {
        self.gradient.pay(purse, steps)
    }

    /// Makes one step. Where a round of probes begins, room for what is decided there is allocated.
    ///
    /// # Errors
    /// If all steps have been made.
    pub fn step(&mut self) -> Result<()> {
        if self.left() == 0 {
            return Err(Error::NotPaid { paid: self.done });
        }
        self.turn_steps()?;
        if self.is_probing() {
            return self.probe();
        }
        self.draws.fill(self.done, &mut self.noise);
        self.estimator.draw(&self.parameters, &self.noise, self.gradient.program_mut());
        // It moves with the release.
        let norm = self.gradient.clip_norm();
        self.gradient.make(self.done, &mut self.released)?;
        if let Some(CorrectionState { tail, probes, .. }) = &mut self.correction {
            let noise = self.gradient.noise_added();
            let norm = norm.unwrap_or(f64::INFINITY);
            tail.take(self.done, &self.estimator, &self.released, (norm, noise));
            // The second half of the steps before them says how far probes go at first.
            if let (Some(probes), Some(latent)) = (probes, self.estimator.latent())
                && 2 * self.done >= probes.first()
            {
                probes.take_draw(noise * noise, |away, half| {
                    latent.halves(&self.estimator.shared, &self.released, away, half);
                });
            }
        }
        self.estimator.pull_back(&self.noise, &self.released, &mut self.update);
        let steps = self.searching();
        let at = StepIndex { step: self.done, steps };
        self.optimiser.get_mut().ascend(&mut self.parameters, &mut self.update, at);
        self.average.take(self.done, &self.parameters);
        self.done += 1;
        Ok(())
    }

    fn probes(&self) -> Option<&Probes> {
        self.correction.as_ref()?.probes.as_ref()
    }

    /// The steps that look for values.
    fn searching(&self) -> u64 {
        self.probes().map_or(self.report.steps, Probes::first)
    }

    /// Whether this step is a probe. Steps beyond the planned ones, where payment is for whole epochs, are
    /// taken where the run has come.
    fn is_probing(&self) -> bool {
        self.probes().is_some_and(|probes| self.done >= probes.first())
    }

    /// Makes a step at a pair of points around where the run has come, and learns nothing but the gradients there.
    fn probe(&mut self) -> Result<()> {
        let centre = match self.centre.take() {
            Some(centre) => centre,
            None => {
                if self.done == self.searching() {
                    self.gradient.hold(HELD);
                }
                let found = self.average.mean(&self.parameters);
                locations(&self.estimator.shared, &self.guide, &found).concat()
            }
        };
        if let Some(CorrectionState { tail, probes: Some(probes), .. }) = &mut self.correction {
            let away = probes.displacement(self.done);
            self.estimator.place(&centre, away, self.gradient.program_mut());
            let norm = self.gradient.clip_norm().unwrap_or(f64::INFINITY);
            self.gradient.make(self.done, &mut self.released)?;
            let noise = self.gradient.noise_added();
            tail.take(self.done, &self.estimator, &self.released, (norm, noise));
            if let Some(latent) = self.estimator.latent() {
                probes.take(noise * noise, |away, half| {
                    latent.halves(&self.estimator.shared, &self.released, away, half);
                });
            }
        }
        self.centre = Some(centre);
        self.done += 1;
        Ok(())
    }

    /// Releases the curvature at the parameters there are, if it is time, and turns the steps by it.
    ///
    /// Should the process end before the next checkpoint, a resumed run makes the same release again: of the same
    /// records at the same parameters, with the same noise.
    fn turn_steps(&mut self) -> Result<()> {
        let Some(CorrectionState { early: Some(early), law: Some(planned), .. }) = &mut self.correction
        else {
            return Ok(());
        };
        if self.done != early.before_step {
            return Ok(());
        }
        let Some((mut release, receipt)) = early.release.take() else { return Ok(()) };
        let locations = locations(&self.estimator.shared, &self.guide, &self.parameters);
        for (site, location) in self.estimator.shared.sites.iter().zip(&locations) {
            release.set(&Unconstrained::input_name(&site.name), location)?;
        }
        let noisy = release.release(receipt, self.records)?;
        if let Optimiser::NoiseLimited(optimiser) = &mut self.optimiser {
            let elements = self.estimator.latent_elements();
            let matrix = if planned.with_scores { without_scores(&noisy, elements).0 } else { noisy.clone() };
            optimiser.turn(&matrix, early.deviation, self.report.steps - self.done);
        }
        early.released = Some(noisy);
        Ok(())
    }

    /// The posterior so far: the guide at the average of the parameters, without a correction. It is made of
    /// what has been released, so looking at it costs nothing; what is computed from it *and the records*
    /// does.
    #[must_use]
    pub fn posterior(&self) -> Posterior {
        let shared = &self.estimator.shared;
        let (marginals, simulation) = of_values(shared, &self.guide, &self.average.mean(&self.parameters));
        Posterior::new(&shared.sites, marginals, simulation)
    }

    /// What makes the sums of the steps.
    #[cfg(test)]
    pub(crate) fn steps_mut(&mut self) -> &mut Steps<'r, S> {
        &mut self.gradient
    }

    /// The guide's draw and the privacy noise of the last step, both in standard deviations.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> (&[f64], Vec<f64>) {
        (&self.noise, self.gradient.last_noise())
    }

    /// States what the ledger has spent in all that the run was paid from.
    pub(crate) fn report_ledger(&mut self, spent: Certified) {
        self.report.ledger_spent = Some(spent);
    }

    /// All that is needed to continue in another process, together with the seed.
    pub(crate) fn checkpoint(
        &self,
        seed: Option<Seed>,
        paid_from: PaidFrom,
        settings: &str,
        records: [u64; 3],
    ) -> Checkpoint {
        let mut numbers = Vec::new();
        match &self.estimator.shared.located {
            Some(located) => {
                numbers.push(1.0);
                located.coordinates.save(&mut numbers);
            }
            None => numbers.push(0.0),
        }
        numbers.extend(&self.octaves);
        numbers.extend(&self.parameters);
        self.average.save(&mut numbers);
        self.optimiser.get().save(&mut numbers);
        self.gradient.save(&mut numbers);
        if let Some(CorrectionState { tail, curvature, early, probes, .. }) = &self.correction {
            tail.save(&mut numbers);
            if let Some(probes) = probes {
                probes.save(&mut numbers);
            }
            let early = early.as_ref().and_then(|early| early.released.as_deref());
            for released in [curvature.as_deref(), early] {
                let released = released.unwrap_or_default();
                numbers.push(released.len() as f64);
                numbers.extend(released);
            }
        }
        let (done, paid) = (self.done, self.done + self.left());
        let secret = self.report.secret_seed;
        Checkpoint { seed, secret, done, paid, paid_from, settings: settings.to_owned(), records, numbers }
    }

    /// Goes on where a checkpoint was written. What it has paid for, by the receipt, is available again;
    /// without a receipt no step is.
    pub(crate) fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        path: &Path,
        receipt: Option<&Receipt>,
    ) -> Result<()> {
        let wrong = |reason: String| Error::Checkpoint { path: path.display().to_string(), reason };
        let mut state = SavedState::new(&checkpoint.numbers);
        let mut restore = || -> Result<()> {
            if state.take(1)?[0] != 0.0 {
                // They were needed before.
                let n = self
                    .estimator
                    .shared
                    .located
                    .as_ref()
                    .map_or(0, |located| located.coordinates.centre().len());
                state.take(n + n * n)?;
            }
            state.take(self.octaves.len())?;
            state.copy_to(&mut self.parameters)?;
            self.average.restore(&mut state)?;
            self.optimiser.get_mut().restore(&mut state)?;
            self.gradient.restore(&mut state)?;
            if let Some(CorrectionState { tail, curvature, early, probes, .. }) = &mut self.correction {
                tail.restore(&mut state)?;
                if let Some(probes) = probes {
                    probes.restore(&mut state)?;
                }
                let mut released = || -> Result<Option<Vec<f64>>> {
                    Ok(match state.take(1)?[0] as usize {
                        0 => None,
                        released => Some(state.take(released)?.to_vec()),
                    })
                };
                *curvature = released()?;
                let released = released()?;
                if let Some(early) = early {
                    early.released = released;
                    if early.released.is_some() {
                        early.release = None;
                    }
                }
            }
            state.clone().finish()
        };
        restore().map_err(|error| wrong(error.to_string()))?;
        self.done = checkpoint.done;
        self.report.secret_seed = checkpoint.secret;
        match receipt {
            Some(receipt) => self.gradient.go_on(checkpoint.done, checkpoint.paid, receipt),
            None => Ok(()),
        }
    }

    /// Whether the curvature is still to be released.
    pub(crate) fn owes_curvature(&self) -> bool {
        self.correction.as_ref().is_some_and(|correction| {
            correction.curvature.is_none() && !correction.trace && correction.probes.is_none()
        })
    }

    /// Whether second derivatives are taken of the records at the end of the run, and again where it is resumed there:
    /// without privacy, for a Laplace approximation. Then no checkpoint has them.
    pub(crate) fn reads_records_at_its_end(&self) -> bool {
        self.laplace.is_some()
    }

    /// Releases the curvature at the parameters that have been found, if that was planned and has not been
    /// done.
    ///
    /// Without privacy the second derivatives are found here, if the guide wants them.
    pub(crate) fn release_curvature(&mut self) -> Result<()> {
        if !self.owes_curvature() && self.laplace.is_none() {
            return Ok(());
        }
        let found = self.average.mean(&self.parameters);
        let locations = locations(&self.estimator.shared, &self.guide, &found);
        if let Some(Laplace { hessian, found }) = &mut self.laplace {
            *found = hessian.laplace(&locations, Some(self.records))?;
            if found.is_none() {
                return Err(Error::no_maximum(self.guide.describe()));
            }
        }
        // Scores that are longer than what is followed are few, and the noise grows with the square of the bound.
        let bound = self.gradient.quantile();
        let Some(CorrectionState { tail, release, curvature, law, .. }) = &mut self.correction else {
            return Ok(());
        };
        if !tail.has_begun() {
            return Ok(());
        }
        let Some((mut release, receipt)) = release.take() else { return Ok(()) };
        if let Some((planned, bound)) = law.as_ref().zip(bound) {
            release.bound(planned.norm(bound))?;
        }
        for (site, location) in self.estimator.shared.sites.iter().zip(&locations) {
            release.set(&Unconstrained::input_name(&site.name), location)?;
        }
        let noisy = release.release(receipt, self.records)?;
        *curvature = Some(noisy);
        Ok(())
    }

    /// Ends the run where it is. The report still states the cost of all releases that were planned. The
    /// curvature is released here, if that was planned.
    ///
    /// # Errors
    /// If the records do not fit the curvature's program.
    pub fn finish(mut self) -> Result<Fit> {
        self.release_curvature()?;
        Ok(self.fit())
    }

    /// What has been found so far, from what has been released: without the correction, if its curvature has
    /// not been.
    pub(crate) fn fit(mut self) -> Fit {
        let found = self.average.mean(&self.parameters);
        let shared = &self.estimator.shared;
        let (marginals, simulation) = of_values(shared, &self.guide, &found);
        let uncorrected = Posterior::new(&shared.sites, marginals.clone(), simulation.clone());
        let sampling = sampling_variance(&self.gradient.scheme(), self.gradient.rate());
        let planned = self
            .correction
            .as_ref()
            .map(|correction| (correction.trace || correction.probes.is_some(), correction.measured));
        let by_trace = self.correction.as_ref().is_some_and(|correction| correction.trace);
        let own_weights = self
            .correction
            .as_ref()
            .is_some_and(|correction| correction.own_weights && correction.law.is_none());
        let bound = self.gradient.clip_norm();
        let searched = self.correction.as_ref().and_then(|correction| correction.tail.searched());
        let noise_aware = self.correction.take().and_then(|correction| {
            let bound = self.gradient.quantile();
            // Other steps arrive.
            let limited = matches!(self.optimiser, Optimiser::NoiseLimited(_));
            let locations = locations(shared, &self.guide, &found);
            let program = self.gradient.program_mut();
            correct((&self.estimator, program), &locations, correction, (sampling, bound, limited))
        });
        let (noise_aware, arrived) = noise_aware.map_or((None, true), |(found, arrived)| (found, arrived));
        let laplace = self
            .laplace
            .as_ref()
            .and_then(|laplace| Some((laplace.found.as_ref()?, laplace.hessian.places())));
        let posterior = match (&noise_aware, laplace) {
            (Some(found), _) => {
                corrected(shared, marginals, simulation, found, found.places(&shared.sites).into_iter())
            }
            (None, Some((found, places))) => corrected(shared, marginals, simulation, found, places),
            (None, None) => None,
        };
        // A covariance that was turned into other coordinates may have lost its Cholesky factor to rounding.
        let noise_aware = noise_aware.filter(|_| posterior.is_some());
        let posterior = posterior.unwrap_or_else(|| uncorrected.clone());
        let intervals = match (planned, &noise_aware) {
            (None, _) => self.report.intervals,
            (Some(_), _) if !arrived => Some(NOT_ARRIVED),
            (Some(_), Some(found)) if found.places(&shared.sites).iter().any(Option::is_none) => Some(PARTLY),
            // How well it does with values that no record touches has not been measured.
            (Some((_, true)), Some(_)) if self.estimator.ranges().iter().all(Option::is_some) => {
                Some(if self.done < FEWEST_MEASURED_STEPS { FEW_STEPS } else { INCLUDE })
            }
            (Some(_), Some(_)) if own_weights => Some(OWN_WEIGHTS),
            (Some(_), Some(_)) if by_trace => Some(BY_TRACE),
            (Some(_), Some(_)) => Some(NOT_MEASURED),
            (Some((true, _)), None) => Some(FELL_BACK),
            (Some((false, _)), None) => Some(NO_POSTERIOR),
        };
        let follows = matches!(self.report.clipping, Some(Clipping::Quantile(_) | Clipping::Adaptive));
        let last_clip_norm = bound.filter(|_| follows);
        let steps_alone =
            self.report.budget.is_none() && self.convergence.is_none() && self.laplace.is_none();
        let moved = self.average.halves().filter(|_| steps_alone);
        let moved = moved.and_then(|halves| moved_between(shared, &self.guide, &halves, &found));
        let report = PrivacyReport { steps_done: self.done, moved, intervals, last_clip_norm, ..self.report };
        let parameters = shared.layout.iter().map(|(name, range)| (name.to_owned(), found[range].to_vec()));
        let parameters = parameters.collect();
        let wandered = searched.filter(|_| noise_aware.is_some()).map(|means| means.wandered);
        Fit {
            posterior,
            uncorrected,
            noise_aware,
            wandered,
            parameters,
            report,
            convergence: self.convergence,
        }
    }
}

/// Where the guide has each site, unconstrained, in the coordinates of the run: its mean.
pub(super) fn locations(shared: &Shared, guide: &dyn Guide, parameters: &[f64]) -> Vec<Vec<f64>> {
    let simulation = Simulation::of(shared, parameters);
    let location = |(site, marginal): (usize, Option<Marginal>)| match marginal {
        Some(marginal) => marginal.loc,
        None => simulation.mean(site),
    };
    shared.marginals(guide, parameters).into_iter().enumerate().map(location).collect()
}

/// The largest distance of means at two sets of parameters, in standard deviations at a third; `None` where the guide
/// has no such values.
pub(super) fn moved_between(
    shared: &Shared,
    guide: &dyn Guide,
    (first, second): &(Vec<f64>, Vec<f64>),
    found: &[f64],
) -> Option<f64> {
    let scales = shared.marginals(guide, found).into_iter().map(|marginal| marginal.map(|found| found.scale));
    let means = locations(shared, guide, first).into_iter().zip(locations(shared, guide, second));
    let latent =
        shared.sites.iter().zip(scales).zip(means).filter(|((site, _), _)| site.kind != SiteKind::Param);
    let moves = latent.flat_map(|((_, scale), (first, second))| {
        let scale = scale.unwrap_or_default();
        let moves = first.into_iter().zip(second).zip(scale).filter(|(_, scale)| *scale > 0.0);
        moves.map(|((first, second), scale)| (first - second).abs() / scale).collect::<Vec<f64>>()
    });
    moves.reduce(f64::max)
}

/// What the guide says of the sites' values, whatever coordinates the run was made in.
fn of_values(shared: &Shared, guide: &dyn Guide, parameters: &[f64]) -> (Vec<Option<Marginal>>, Simulation) {
    (shared.marginals_of_values(guide, parameters), Simulation::of_values(shared, parameters))
}

/// Infers the frontier's values from all that has been released, where something follows, and says whether the
/// run had arrived as far as can be told.
fn correct(
    (estimator, program): (&Estimator, &mut RecordGradient<f64>),
    locations: &[Vec<f64>],
    CorrectionState {
        tail,
        curvature,
        law,
        trace,
        mut prior,
        probes,
        hierarchy,
        excess,
        attenuation,
        elements,
        moments,
        ..
    }: CorrectionState,
    (sampling, bound, limited): (f64, Option<f64>, bool),
) -> Option<(Option<NoiseAware>, bool)> {
    if curvature.is_none() && !trace && probes.is_none() {
        return None;
    }
    let sites: Vec<_> = estimator.shared.sites.iter().zip(locations).zip(estimator.ranges()).collect();
    // Unconstrained values of all sites, given those of the frontier in the run's coordinates.
    let completed = |found: &[f64]| {
        let touched = match &estimator.shared.located {
            Some(located) => located.coordinates.values(found),
            None => found.to_vec(),
        };
        let of = |((_, location), range): &((_, &Vec<f64>), Option<Range<usize>>)| {
            range.clone().map_or_else(|| (*location).clone(), |range| touched[range].to_vec())
        };
        sites.iter().map(of).collect::<Vec<_>>()
    };
    let imitation = excess.as_ref().zip(probes.as_ref()).and_then(|(excess, probes)| {
        let searched = tail.searched()?.snapshots?;
        let shortening = |curvature: &DMatrix<f64>| probes.shortening(curvature);
        excess.at((estimator, &mut *program), &searched, shortening, &completed)
    });
    let mut means = tail.means()?;
    if means.probed
        && let Some(imitation) = &imitation
    {
        let searched = tail.searched()?;
        let both = searched.snapshots.as_ref().zip(tail.probed());
        let apart = both.and_then(|both| imitation.difference((estimator, &mut *program), both));
        if apart.is_none_or(|apart| apart > means.noise_variance.sqrt()) {
            means = searched;
        }
    }
    let TailMeans { steps, mut values, gradients, noise_variance, snapshots, wandered, .. } = means;
    // Where zero is elsewhere in these coordinates, log-odds are not proportional to values.
    if let Some(attenuation) = attenuation.filter(|_| estimator.shared.located.is_none()) {
        let factor = attenuation.factor(&values, wandered);
        values.iter_mut().for_each(|value| *value *= factor);
    }
    // Touched sites where gradients were taken, the others where the guide has them.
    let mut prior_at = |values: &[f64]| {
        let at = sites.iter().map(|((site, location), frontier)| {
            let values = frontier.as_ref().map_or(location.as_slice(), |range| &values[range.clone()]);
            SiteAt { name: site.name.as_str(), values, frontier: frontier.clone() }
        });
        prior.at(&at.collect::<Vec<_>>())
    };
    let (prior_gradient, prior_curvature) = prior_at(&values);
    let from_start = tail.since_start();
    let released = curvature.zip(law).map(|(matrix, planned)| {
        let deviation =
            planned.noise_multiplier * bound.map_or(planned.clip_norm, |bound| planned.norm(bound));
        let (matrix, scores) = match planned.with_scores {
            true => without_scores(&matrix, values.len()),
            false => (matrix, None),
        };
        (matrix, scores, planned, deviation)
    });
    // Where steps are limited by the noise they need not arrive, and how well that does was measured.
    let diagonal = match (&probes, &released) {
        (Some(probes), _) => Some(probes.diagonal()),
        (None, Some((matrix, _, planned, _))) if planned.by_scores => {
            Some(matrix.iter().step_by(values.len() + 1).copied().collect())
        }
        _ => None,
    };
    let mut arrived = true;
    if let Some(diagonal) = diagonal {
        let searched = tail.searched()?;
        let (pull, prior_curvature) = prior_at(&searched.values);
        let prior: Vec<f64> = prior_curvature.iter().step_by(values.len() + 1).copied().collect();
        arrived = searched.have_arrived(&diagonal, sampling, &pull, &prior);
    }
    let (prior_gradient, prior_curvature) = match (&elements, &released) {
        (Some(elements), Some((matrix, _, planned, deviation))) => {
            let least = least_information(matrix, (planned.shape, *deviation), noise_variance)?;
            let coordinates = estimator.shared.located.as_ref().map(|located| located.coordinates.as_ref());
            let here = (values.as_slice(), prior_gradient.as_slice(), prior_curvature.as_slice());
            normal_prior_of_values(elements, coordinates, here, least)?
        }
        _ => (prior_gradient, prior_curvature),
    };
    let touched =
        sites.iter().filter(|(_, frontier)| frontier.is_some()).map(|((site, _), _)| site.name.clone());
    let touched: Vec<String> = touched.collect();
    let evidence = Evidence {
        curvature: &[],
        values: &values,
        gradients: &gradients,
        noise_variance,
        sampling: sampling / steps as f64,
        prior_gradient: &prior_gradient,
        prior_curvature: &prior_curvature,
    };
    let path = tail.path();
    let from_start = from_start.as_ref().map(|means| FromStart {
        values: &means.values,
        gradients: &means.gradients,
        noise_variance: means.noise_variance,
        sampling: sampling / means.steps as f64,
    });
    let shares = imitation.as_ref().zip(probes.as_ref()).and_then(|(imitation, probes)| {
        imitation.shares((estimator, &mut *program), tail.probed()?, probes.axes())
    });
    let shares = shares.unwrap_or_else(|| vec![1.0; values.len()]);
    let infer = |evidence: &Evidence<'_>| match (tail.trace(), &released, &probes) {
        (_, Some((matrix, scores, planned, deviation)), _) => {
            let (path, scores, shape, deviation) = (path.as_ref(), *scores, planned.shape, *deviation);
            let is_turned = estimator.shared.located.is_some();
            let moments = moments.as_ref().filter(|moments| moments.mean.len() == values.len() && !is_turned);
            let released =
                ReleasedCurvature { matrix, scores, shape, deviation, path, from_start, is_turned, moments };
            let mut found = unknown_curvature::posterior(touched.clone(), evidence, &released)?;
            if limited {
                found.point = unknown_curvature::newton(evidence, &released);
            }
            Some(found)
        }
        (_, None, Some(probes)) => probes.posterior(touched.clone(), evidence, &shares),
        (Some(sums), ..) if trace => sums.posterior(&touched, evidence),
        _ => None,
    };
    let with = |gradients: &[f64]| infer(&Evidence { gradients, ..evidence });
    let restored = imitation.zip(snapshots).and_then(|(imitation, snapshots)| {
        imitation.posterior((estimator, program), (&gradients, noise_variance, &snapshots), with)
    });
    let (restored, gradients, shift) = match restored {
        Some((found, gradients, shift)) => (Some(found), gradients, shift),
        None => (None, gradients.clone(), Vec::new()),
    };
    let evidence = Evidence { gradients: &gradients, ..evidence };
    let joint = hierarchy.and_then(|hierarchy| {
        let (slope, wide) = hierarchy.wide_prior(&values);
        let evidence = Evidence { prior_gradient: &slope, prior_curvature: &wide, ..evidence };
        let names: Vec<&str> = sites.iter().map(|((site, _), _)| site.name.as_str()).collect();
        let others = sites.iter().filter(|(_, frontier)| frontier.is_none());
        let others: Vec<f64> = others.flat_map(|((_, location), _)| location.iter().copied()).collect();
        let mut touched = infer(&evidence)?;
        touched.add_shift(&shift);
        hierarchy.posterior(&names, touched, &evidence, &others, &mut prior)
    });
    let found = joint.or(restored).or_else(|| infer(&evidence));
    let found = match &estimator.shared.located {
        Some(located) => found.map(|found| found.of_values(&located.coordinates, &prior_curvature)),
        None => found,
    };
    Some((found, arrived))
}

/// What was released of the curvature of `n` values, and of its scores.
fn without_scores(released: &[f64], n: usize) -> (Vec<f64>, Option<f64>) {
    let rows = released.chunks(n + 1).take(n);
    (rows.flat_map(|row| &row[..n]).copied().collect(), released.last().copied())
}

/// The guide's posterior, with those sites replaced that have a place in what was found. Parameters keep a
/// standard deviation of zero.
pub(super) fn corrected(
    shared: &Shared,
    mut marginals: Vec<Option<Marginal>>,
    simulation: Simulation,
    found: &NoiseAware,
    ranges: impl Iterator<Item = Option<Range<usize>>>,
) -> Option<Posterior> {
    let n = found.mean.len();
    let mut places = Vec::with_capacity(marginals.len());
    for ((marginal, site), range) in marginals.iter_mut().zip(&shared.sites).zip(ranges) {
        let varies = site.kind != SiteKind::Param;
        places.push(range.clone().map(|range| (range, varies)));
        let Some(range) = range else { continue };
        let scale = range.clone().map(|j| if varies { found.covariance[j * n + j].sqrt() } else { 0.0 });
        *marginal = Some(Marginal { loc: found.mean[range.clone()].to_vec(), scale: scale.collect() });
    }
    Some(Posterior::new(&shared.sites, marginals, simulation.corrected(found, places)?))
}
