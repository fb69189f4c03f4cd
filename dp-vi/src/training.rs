//! One run, step by step.

use crate::checkpoint::Checkpoint;
use crate::dp_vi::Fit;
use crate::error::{Error, Result};
use crate::guide::Guide;
use crate::mechanism::PrivateGradient;
use crate::objective::Shared;
use crate::optimiser::{SavedState, StepIndex, TailAverage, Transformation};
use crate::posterior::Posterior;
use crate::report::PrivacyReport;
use dp_accountant::Purse;
use dp_sampler::{GaussianNoise, NoiseSource, Seed, Subsampler};
use std::path::Path;

/// A run, step by step. Each [`step`](Training::step) makes one release that was paid for; nothing is allocated.
///
/// [`DpVi::fit`](crate::DpVi::fit) runs all steps; this is for those who want to hold the loop themselves.
pub struct Training<'r, G, S> {
    guide: G,
    gradient: PrivateGradient<'r, S>,
    shared: Shared,
    draws: GaussianNoise,
    optimiser: Box<dyn Transformation>,
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
        mut optimiser: Box<dyn Transformation>,
        average: f64,
        report: PrivacyReport,
    ) -> Result<Self> {
        let parameters = shared.initial.clone();
        optimiser.init(&shared.layout)?;
        Ok(Self {
            guide,
            gradient,
            draws,
            optimiser,
            average: TailAverage::new(parameters.len(), report.steps, average),
            report,
            done: 0,
            noise: vec![0.0; shared.noise_elements],
            released: vec![0.0; shared.frontier_elements],
            update: vec![0.0; parameters.len()],
            parameters,
            shared,
        })
    }

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
        self.gradient.left()
    }

    /// Pays for more steps. One that was [started](crate::DpVi::start) is paid for already.
    ///
    /// # Errors
    /// If the budget does not allow them; then nothing is debited.
    pub fn pay(&mut self, purse: &mut (impl Purse + ?Sized), steps: u64) -> Result<()> {
        self.gradient.pay(purse, steps)
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
        let at = StepIndex { step: self.done, steps: self.report.steps };
        self.optimiser.ascend(&mut self.parameters, &mut self.update, at);
        self.average.take(self.done, &self.parameters);
        self.done += 1;
        Ok(())
    }

    /// The guide's draw and the privacy noise of the last step, both standard normals.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> (&[f64], &[f64]) {
        (&self.noise, self.gradient.last_noise())
    }

    pub(crate) fn gradient_mut(&mut self) -> &mut PrivateGradient<'r, S> {
        &mut self.gradient
    }

    /// All that is needed to go on in another process. Without a seed nobody can.
    pub(crate) fn checkpoint(&self, seed: Option<Seed>, settings: &str, records: [u64; 3]) -> Checkpoint {
        let mut numbers = self.parameters.clone();
        self.average.save(&mut numbers);
        self.optimiser.save(&mut numbers);
        let (done, paid) = (self.done, self.done + self.left());
        let secret = self.report.secret_seed;
        Checkpoint { seed, secret, done, paid, settings: settings.to_owned(), records, numbers }
    }

    /// Goes on where a checkpoint was written. What it has paid for is available again.
    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint, path: &Path) -> Result<()> {
        let wrong = |reason: String| Error::Checkpoint { path: path.display().to_string(), reason };
        let mut state = SavedState::new(&checkpoint.numbers);
        let mut restore = || -> Result<()> {
            state.copy_to(&mut self.parameters)?;
            self.average.restore(&mut state)?;
            self.optimiser.restore(&mut state)?;
            state.clone().finish()
        };
        restore().map_err(|error| wrong(error.to_string()))?;
        if checkpoint.done > self.report.steps {
            return Err(wrong(format!("{} steps are done of {}", checkpoint.done, self.report.steps)));
        }
        self.done = checkpoint.done;
        self.report.secret_seed = checkpoint.secret;
        self.gradient.go_on(checkpoint.done, checkpoint.paid);
        Ok(())
    }

    /// Ends the run where it is. The report still states the cost of all steps that were paid for.
    #[must_use]
    pub fn finish(self) -> Fit {
        let parameters = self.average.mean(&self.parameters);
        let marginals = self.guide.marginals(&self.shared.sites, &parameters);
        let report = PrivacyReport { steps_done: self.done, ..self.report };
        Fit { posterior: Posterior::new(&self.shared.sites, marginals), report }
    }
}
