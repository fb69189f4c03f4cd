//! Means of what was released over the last part of a run.

use crate::error::Result;
use crate::objective::frontier::Estimator;
use crate::optimiser::SavedState;
use crate::outcome::correction::trace_regression::TraceSums;

/// By how much values and noisy gradients differ between the last and the first third of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) values: Vec<f64>,
    pub(crate) gradients: Vec<f64>,
    /// Variance of each element of the difference of gradients: of the noise, and of what the curvature's
    /// change makes of it.
    pub(crate) variance: f64,
}

/// By how much, relative to its length, the difference of gradients may be off because the curvature on the
/// way is not that at its end.
///
/// Where log-odds have a standard deviation of 2 at the end, the curvature of a logistic regression with
/// weighted residuals is on average 1.2 times as large from the middle of the way on, and half of that excess
/// lies between the two thirds.
const BEND: f64 = 0.125;

/// Sums over a third of a run.
#[derive(Clone, Debug)]
struct Third {
    steps: std::ops::Range<u64>,
    taken: u64,
    values: Vec<f64>,
    gradients: Vec<f64>,
    variance: f64,
}

/// Sums over the tail: where gradients were taken, and the noisy gradients of the log-likelihood there.
#[derive(Clone, Debug)]
pub(crate) struct GradientTail {
    from: u64,
    steps: u64,
    values: Vec<f64>,
    gradients: Vec<f64>,
    /// Sum of the steps' noise variances.
    variance: f64,
    /// Sums over the first and the last third of a run that keeps its path.
    thirds: Option<[Third; 2]>,
    /// Where the curvature is read off the trace, with room for one draw.
    trace: Option<(TraceSums, Vec<f64>, Vec<f64>)>,
}

impl GradientTail {
    /// The share of the steps, at the end of a run, whose gradients enter the correction.
    ///
    /// With a path, the first and the last third are kept apart, too.
    pub(crate) fn new(elements: usize, (steps, share): (u64, f64), path: bool, trace: bool) -> Self {
        let tail = ((steps as f64 * share).ceil() as u64).clamp(1, steps.max(1));
        let zeros = vec![0.0; elements];
        Self {
            from: steps.saturating_sub(tail),
            steps: 0,
            thirds: path.then(|| {
                [0..steps / 3, steps - steps / 3..steps].map(|steps| Third {
                    steps,
                    taken: 0,
                    values: zeros.clone(),
                    gradients: zeros.clone(),
                    variance: 0.0,
                })
            }),
            trace: trace.then(|| (TraceSums::new(elements), zeros.clone(), zeros.clone())),
            values: zeros.clone(),
            gradients: zeros,
            variance: 0.0,
        }
    }

    /// Takes a step (counted from 0). The noise in an element of the mean gradient over a mirrored pair,
    /// `(S₊ + S₋)/(√2 q)`, has the standard deviation of an element of the release.
    pub(crate) fn take(&mut self, step: u64, estimator: &Estimator, released: &[f64], noise: f64) {
        let Some(latent) = estimator.latent() else { return };
        let shared = &estimator.shared;
        for third in self.thirds.iter_mut().flatten().filter(|third| third.steps.contains(&step)) {
            latent.add_to_means(shared, released, &mut third.values, &mut third.gradients);
            third.variance += noise * noise;
            third.taken += 1;
        }
        if step < self.from {
            return;
        }
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

    /// The path, if it was kept and has an end.
    pub(crate) fn path(&self) -> Option<Path> {
        let [first, last] = self.thirds.as_ref()?;
        if first.taken == 0 || last.taken == 0 {
            return None;
        }
        let (a, b) = (first.taken as f64, last.taken as f64);
        let difference = |first: &[f64], last: &[f64]| {
            first.iter().zip(last).map(|(first, last)| last / b - first / a).collect()
        };
        let (values, gradients): (Vec<f64>, Vec<f64>) =
            (difference(&first.values, &last.values), difference(&first.gradients, &last.gradients));
        let squares: f64 = gradients.iter().map(|g| g * g).sum();
        let bend = BEND * BEND * squares;
        let variance = first.variance / (a * a) + last.variance / (b * b) + bend;
        Some(Path { values, gradients, variance })
    }

    /// What the trace says of the curvature, if that is planned.
    pub(crate) fn trace(&self) -> Option<&TraceSums> {
        self.trace.as_ref().map(|(sums, ..)| sums)
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        // Below 10⁹ steps, so exact.
        state.extend([self.steps as f64, self.variance]);
        state.extend(&self.values);
        state.extend(&self.gradients);
        for third in self.thirds.iter().flatten() {
            state.extend([third.taken as f64, third.variance]);
            state.extend(&third.values);
            state.extend(&third.gradients);
        }
        if let Some((sums, ..)) = &self.trace {
            sums.save(state);
        }
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let head = state.take(2)?;
        (self.steps, self.variance) = (head[0] as u64, head[1]);
        state.copy_to(&mut self.values)?;
        state.copy_to(&mut self.gradients)?;
        for third in self.thirds.iter_mut().flatten() {
            let head = state.take(2)?;
            (third.taken, third.variance) = (head[0] as u64, head[1]);
            state.copy_to(&mut third.values)?;
            state.copy_to(&mut third.gradients)?;
        }
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
