//! Means of what was released over the last part of a run.

use crate::error::Result;
use crate::objective::frontier::Estimator;
use crate::optimiser::SavedState;
use crate::outcome::correction::trace_regression::TraceSums;

/// The share of a run, at its end, whose gradients enter the correction.
const SHARE: f64 = 0.75;

/// Sums over the tail: where gradients were taken, and the noisy gradients of the log-likelihood there.
#[derive(Clone, Debug)]
pub(crate) struct GradientTail {
    from: u64,
    steps: u64,
    values: Vec<f64>,
    gradients: Vec<f64>,
    /// Sum of the steps' noise variances.
    variance: f64,
    /// Where the curvature is read off the trace, with room for one draw.
    trace: Option<(TraceSums, Vec<f64>, Vec<f64>)>,
}

impl GradientTail {
    pub(crate) fn new(elements: usize, steps: u64, trace: bool) -> Self {
        let tail = ((steps as f64 * SHARE).ceil() as u64).clamp(1, steps.max(1));
        let zeros = vec![0.0; elements];
        Self {
            from: steps.saturating_sub(tail),
            steps: 0,
            trace: trace.then(|| (TraceSums::new(elements), zeros.clone(), zeros.clone())),
            values: zeros.clone(),
            gradients: zeros,
            variance: 0.0,
        }
    }

    /// Takes a step (counted from 0). The noise in an element of the mean gradient over a mirrored pair,
    /// `(S₊ + S₋)/(√2 q)`, has the standard deviation of an element of the release.
    pub(crate) fn take(&mut self, step: u64, estimator: &Estimator, released: &[f64], noise: f64) {
        let Some(latent) = estimator.latent().filter(|_| step >= self.from) else { return };
        let shared = &estimator.shared;
        latent.add_to_means(shared, released, &mut self.values, &mut self.gradients);
        self.variance += noise * noise;
        self.steps += 1;
        if let Some((sums, values, gradients)) = &mut self.trace {
            for draw in 0..shared.draws().number() {
                latent.at(shared, draw, released, values, gradients);
                let deviation = noise / shared.draws().stacking();
                sums.take(values, gradients, deviation * deviation);
            }
        }
    }

    /// What the trace says of the curvature, if it was asked.
    pub(crate) fn trace(&self) -> Option<&TraceSums> {
        self.trace.as_ref().map(|(sums, ..)| sums)
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        // Below 10⁹ steps, so exact.
        state.extend([self.steps as f64, self.variance]);
        state.extend(&self.values);
        state.extend(&self.gradients);
        if let Some((sums, ..)) = &self.trace {
            sums.save(state);
        }
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let head = state.take(2)?;
        (self.steps, self.variance) = (head[0] as u64, head[1]);
        state.copy_to(&mut self.values)?;
        state.copy_to(&mut self.gradients)?;
        self.trace.as_mut().map_or(Ok(()), |(sums, ..)| sums.restore(state))
    }

    /// Steps taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Means of values and gradients.
    pub(crate) fn means(&self) -> (Vec<f64>, Vec<f64>) {
        let mean = |sums: &[f64]| sums.iter().map(|sum| sum / self.steps as f64).collect();
        (mean(&self.values), mean(&self.gradients))
    }

    /// Variance of each element of the mean gradient that the privacy noise makes.
    pub(crate) fn noise_variance(&self) -> f64 {
        self.variance / (self.steps as f64 * self.steps as f64)
    }
}
