//! One run, step by step.

use crate::curvature::CurvatureRelease;
use crate::dp_vi::Fit;
use crate::error::Result;
use crate::guide::{Guide, Marginal};
use crate::mechanism::PrivateGradient;
use crate::noise_aware::{Evidence, NoiseAware};
use crate::objective::Shared;
use crate::optimiser::{Adam, Optimiser, Schedule, TailAverage};
use crate::posterior::Posterior;
use crate::prior::{PriorCurvature, SiteAt};
use crate::report::PrivacyReport;
use crate::sensitive::Sensitive;
use crate::tail::GradientTail;
use dp_sampler::{GaussianNoise, NoiseSource, Subsampler};
use ppl_core::{Records, SiteKind, Unconstrained};

/// A run that has been paid for. Each [`step`](Training::step) makes one release; nothing is allocated.
///
/// [`DpVi::fit`](crate::DpVi::fit) runs all steps; this is for those who want to hold the loop themselves.
pub struct Training<'r, G, S> {
    guide: G,
    gradient: PrivateGradient<'r, S>,
    shared: Shared,
    draws: GaussianNoise,
    optimiser: Adam,
    schedule: Schedule,
    average: TailAverage,
    correction: Option<(GradientTail, CurvatureRelease, PriorCurvature)>,
    records: &'r Sensitive<Records>,
    report: PrivacyReport,
    done: u64,
    parameters: Vec<f64>,
    noise: Vec<f64>,
    released: Vec<f64>,
    update: Vec<f64>,
}

/// What a run is put together from.
pub(crate) struct Parts<'r, G, S> {
    pub(crate) guide: G,
    pub(crate) gradient: PrivateGradient<'r, S>,
    pub(crate) shared: Shared,
    pub(crate) draws: GaussianNoise,
    pub(crate) optimiser: Adam,
    pub(crate) schedule: Schedule,
    pub(crate) average: f64,
    pub(crate) report: PrivacyReport,
    pub(crate) correction: Option<(CurvatureRelease, PriorCurvature)>,
    pub(crate) records: &'r Sensitive<Records>,
}

impl<'r, G: Guide, S: Subsampler> Training<'r, G, S> {
    pub(crate) fn new(parts: Parts<'r, G, S>) -> Self {
        let Parts {
            guide,
            gradient,
            shared,
            draws,
            mut optimiser,
            schedule,
            average,
            report,
            correction,
            records,
        } = parts;
        let parameters = shared.initial.clone();
        optimiser.init(parameters.len());
        let tail = || GradientTail::new(shared.frontier_elements, report.steps);
        Self {
            guide,
            draws,
            optimiser,
            schedule,
            average: TailAverage::new(parameters.len(), report.steps, average),
            correction: correction.map(|(release, prior)| (tail(), release, prior)),
            records,
            report,
            done: 0,
            noise: vec![0.0; shared.noise_elements],
            released: vec![0.0; gradient.dimension()],
            update: vec![0.0; parameters.len()],
            gradient,
            parameters,
            shared,
        }
    }

    /// Steps done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Steps paid for.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.report.steps
    }

    /// Makes one step.
    ///
    /// # Errors
    /// If all steps have been made.
    pub fn step(&mut self) -> Result<()> {
        self.draws.fill(self.done, &mut self.noise);
        self.shared.draw(&self.parameters, &self.noise, self.gradient.gradient_mut());
        self.gradient.release(&mut self.released)?;
        if let Some((tail, ..)) = &mut self.correction {
            tail.take(self.done, &self.shared, &self.released, self.gradient.noise_added());
        }
        self.shared.pull_back(&self.noise, &self.released, &mut self.update);
        let rate = self.schedule.at(self.done, self.report.steps);
        self.optimiser.update(&mut self.parameters, &self.update, rate);
        self.average.take(self.done, &self.parameters);
        self.done += 1;
        Ok(())
    }

    /// The guide's draw and the privacy noise of the last step, both standard normals.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> (&[f64], &[f64]) {
        (&self.noise, self.gradient.last_noise())
    }

    /// Ends the run where it is. The report still states the cost of all releases that were paid for. The curvature is released
    /// here, if that was planned.
    ///
    /// # Errors
    /// If the records do not fit the curvature's program.
    pub fn finish(self) -> Result<Fit> {
        let parameters = self.average.mean(&self.parameters);
        let marginals = self.guide.marginals(&self.shared.sites, &parameters);
        let uncorrected = Posterior::new(&self.shared.sites, marginals.clone());
        let Some((tail, release, prior)) = self.correction.filter(|(tail, ..)| tail.steps() > 0) else {
            return Ok(Fit {
                posterior: uncorrected.clone(),
                uncorrected,
                noise_aware: None,
                report: self.report,
            });
        };
        let rate = self.gradient.rate();
        let noise_aware = correct(&self.shared, &marginals, (tail, release, prior), rate, self.records)?;
        let posterior = match &noise_aware {
            Some(found) => Posterior::new(&self.shared.sites, corrected(&self.shared, marginals, found)),
            None => uncorrected.clone(),
        };
        Ok(Fit { posterior, uncorrected, noise_aware, report: self.report })
    }
}

/// Releases the curvature at the guide's means and infers the frontier's values from all that has been released.
fn correct(
    shared: &Shared,
    marginals: &[Marginal],
    (tail, mut release, mut prior): (GradientTail, CurvatureRelease, PriorCurvature),
    rate: f64,
    records: &Sensitive<Records>,
) -> Result<Option<NoiseAware>> {
    for (site, marginal) in shared.sites.iter().zip(marginals) {
        release.set(&Unconstrained::input_name(&site.name), &marginal.loc)?;
    }
    let curvature = release.release(records)?;
    let (values, gradients) = tail.means();
    let sites: Vec<_> = shared.sites.iter().zip(marginals).zip(shared.frontier()).collect();
    // Touched sites where gradients were taken, the others where the guide has them.
    let at: Vec<_> = sites
        .iter()
        .map(|((site, marginal), frontier)| {
            let values = frontier.as_ref().map_or(marginal.loc.as_slice(), |range| &values[range.clone()]);
            SiteAt { name: site.name.as_str(), values, frontier: frontier.clone() }
        })
        .collect();
    let (prior_gradient, prior_curvature) = prior.at(&at);
    let touched =
        sites.iter().filter(|(_, frontier)| frontier.is_some()).map(|((site, _), _)| site.name.clone());
    let evidence = Evidence {
        curvature: &curvature,
        values: &values,
        gradients: &gradients,
        noise_variance: tail.noise_variance(),
        sampling: (1.0 - rate) / (rate * tail.steps() as f64),
        prior_gradient: &prior_gradient,
        prior_curvature: &prior_curvature,
    };
    Ok(NoiseAware::new(touched.collect(), &evidence))
}

/// The guide's marginals, with those of touched sites replaced. Parameters keep a standard deviation of zero.
fn corrected(shared: &Shared, mut marginals: Vec<Marginal>, found: &NoiseAware) -> Vec<Marginal> {
    let n = found.mean.len();
    for ((marginal, site), frontier) in marginals.iter_mut().zip(&shared.sites).zip(shared.frontier()) {
        let Some(range) = frontier else { continue };
        marginal.loc = found.mean[range.clone()].to_vec();
        if site.kind != SiteKind::Param {
            marginal.scale = range.map(|j| found.covariance[j * n + j].sqrt()).collect();
        }
    }
    marginals
}
