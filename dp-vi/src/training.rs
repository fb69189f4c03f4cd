//! One run, step by step.

use crate::dp_vi::Fit;
use crate::error::Result;
use crate::guide::Guide;
use crate::mechanism::PrivateGradient;
use crate::objective::Shared;
use crate::optimiser::{Adam, Optimiser, Schedule, TailAverage};
use crate::posterior::Posterior;
use crate::report::PrivacyReport;
use dp_sampler::{GaussianNoise, NoiseSource, Subsampler};

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
    report: PrivacyReport,
    done: u64,
    parameters: Vec<f64>,
    noise: Vec<f64>,
    released: Vec<f64>,
    update: Vec<f64>,
}

impl<'r, G: Guide, S: Subsampler> Training<'r, G, S> {
    #[allow(clippy::too_many_arguments)] // The parts of a run, put together in one place only.
    pub(crate) fn new(
        guide: G,
        gradient: PrivateGradient<'r, S>,
        shared: Shared,
        draws: GaussianNoise,
        mut optimiser: Adam,
        schedule: Schedule,
        average: f64,
        report: PrivacyReport,
    ) -> Self {
        let parameters = shared.initial.clone();
        optimiser.init(parameters.len());
        Self {
            guide,
            gradient,
            draws,
            optimiser,
            schedule,
            average: TailAverage::new(parameters.len(), report.steps, average),
            report,
            done: 0,
            noise: vec![0.0; shared.noise_elements],
            released: vec![0.0; shared.frontier_elements],
            update: vec![0.0; parameters.len()],
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
        self.shared.pull_back(&self.released, &mut self.update);
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

    /// Ends the run where it is. The report still states the cost of all steps that were paid for.
    #[must_use]
    pub fn finish(self) -> Fit {
        let parameters = self.average.mean(&self.parameters);
        let marginals = self.guide.marginals(&self.shared.sites, &parameters);
        Fit { posterior: Posterior::new(&self.shared.sites, marginals), report: self.report }
    }
}
