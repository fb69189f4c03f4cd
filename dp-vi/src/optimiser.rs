//! Optimisers and schedules. They see only what has already been released, so nothing here touches privacy.

use crate::error::{Error, Result};
use ppl_core::Scalar;
use rayon::prelude::*;

/// Turns gradients into steps uphill. `T` is the number type of the parameters.
pub trait Optimiser<T = f64> {
    /// Prepares for a number of parameters.
    fn init(&mut self, parameters: usize);

    /// Moves the parameters one step along the gradient at this learning rate. Allocates nothing.
    fn update(&mut self, parameters: &mut [T], gradient: &[T], learning_rate: f64);
}

/// Adam (Kingma & Ba 2015, algorithm 1), uphill.
///
/// ```text
/// m ← β₁m + (1−β₁)g,   v ← β₂v + (1−β₂)g²,   θ ← θ + η · m̂ / (√v̂ + 1e-8)
/// ```
///
/// ```
/// use dp_vi::{Adam, Optimiser};
/// let mut adam = Adam::<f64>::new();
/// adam.init(1);
/// let mut x = [0.0];
/// for _ in 0..500 {
///     let gradient = [-2.0 * (x[0] - 3.0)]; // of −(x − 3)²
///     adam.update(&mut x, &gradient, 0.05);
/// }
/// assert!((x[0] - 3.0).abs() < 1e-3);
/// ```
#[derive(Clone, Debug)]
pub struct Adam<T = f64> {
    first: Vec<T>,
    second: Vec<T>,
    /// `β₁ᵗ` and `β₂ᵗ` after `t` steps.
    decayed: [f64; 2],
}

impl<T: Scalar> Adam<T> {
    const BETA_1: f64 = 0.9;
    const BETA_2: f64 = 0.999;
    const FLOOR: f64 = 1e-8;

    /// Adam with `β₁ = 0.9`, `β₂ = 0.999`.
    #[must_use]
    pub fn new() -> Self {
        Self { first: Vec::new(), second: Vec::new(), decayed: [1.0; 2] }
    }
}

impl<T: Scalar> Default for Adam<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Optimiser<T> for Adam<T> {
    fn init(&mut self, parameters: usize) {
        *self = Self {
            first: vec![T::zero(); parameters],
            second: vec![T::zero(); parameters],
            decayed: [1.0; 2],
        };
    }

    fn update(&mut self, parameters: &mut [T], gradient: &[T], learning_rate: f64) {
        self.decayed = [self.decayed[0] * Self::BETA_1, self.decayed[1] * Self::BETA_2];
        let [correct_first, correct_second] = self.decayed.map(|decayed| 1.0 - decayed);
        let (keep_first, keep_second) = (T::of(1.0 - Self::BETA_1), T::of(1.0 - Self::BETA_2));
        let (rate, correct_second) = (T::of(learning_rate / correct_first), T::of(1.0 / correct_second));
        let floor = T::of(Self::FLOOR);
        let update = |((parameters, gradient), (first, second)): Part<'_, T>| {
            let moments = first.iter_mut().zip(second);
            for ((parameter, &g), (first, second)) in parameters.iter_mut().zip(gradient).zip(moments) {
                *first += keep_first * (g - *first);
                *second += keep_second * (g * g - *second);
                *parameter += rate * *first / ((*second * correct_second).sqrt() + floor);
            }
        };
        if parameters.len() < PARALLEL {
            update(((parameters, gradient), (&mut self.first, &mut self.second)));
            return;
        }
        let chunk = PARALLEL / 4;
        let moments = self.first.par_chunks_mut(chunk).zip(self.second.par_chunks_mut(chunk));
        parameters.par_chunks_mut(chunk).zip(gradient.par_chunks(chunk)).zip(moments).for_each(update);
    }
}

/// Parameters and gradient, first and second moments.
type Part<'a, T> = ((&'a mut [T], &'a [T]), (&'a mut [T], &'a mut [T]));

/// Parameters from which on several threads share an update.
const PARALLEL: usize = 1 << 16;

/// How the learning rate changes over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// The same rate at every step.
    Constant(f64),
    /// The full rate for the first half of the run, then down to zero along a cosine.
    HoldThenCosine(f64),
}

impl Schedule {
    /// The rate at a step of a run.
    #[must_use]
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        match *self {
            Schedule::Constant(rate) => rate,
            Schedule::HoldThenCosine(rate) => {
                let done = step as f64 / steps as f64;
                let falling = (2.0 * done - 1.0).clamp(0.0, 1.0);
                rate * 0.5 * (1.0 + (std::f64::consts::PI * falling).cos())
            }
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let (Schedule::Constant(rate) | Schedule::HoldThenCosine(rate)) = *self;
        if rate > 0.0 && rate.is_finite() {
            return Ok(());
        }
        Err(Error::OutOfRange { what: "learning rate", requirement: "positive and finite", value: rate })
    }
}

/// The mean of the parameters over the last part of a run, which has less noise than the last value.
#[derive(Clone, Debug)]
pub(crate) struct TailAverage {
    sum: Vec<f64>,
    from: u64,
    count: u64,
}

impl TailAverage {
    pub(crate) fn new(parameters: usize, steps: u64, fraction: f64) -> Self {
        let tail = ((steps as f64 * fraction).ceil() as u64).clamp(1, steps.max(1));
        Self { sum: vec![0.0; parameters], from: steps.saturating_sub(tail), count: 0 }
    }

    /// Takes the parameters after this step (counted from 0).
    pub(crate) fn take(&mut self, step: u64, parameters: &[f64]) {
        if step >= self.from {
            self.count += 1;
            self.sum.iter_mut().zip(parameters).for_each(|(sum, parameter)| *sum += parameter);
        }
    }

    /// The mean, or `now` if the tail has not begun.
    pub(crate) fn mean(&self, now: &[f64]) -> Vec<f64> {
        if self.count == 0 {
            return now.to_vec();
        }
        self.sum.iter().map(|sum| sum / self.count as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_step_of_adam_has_the_length_of_the_rate() {
        let mut adam = Adam::<f64>::new();
        adam.init(2);
        let mut x = [0.0, 0.0];
        adam.update(&mut x, &[1e-3, -5e7], 0.1);
        assert!((x[0] - 0.1).abs() < 1e-5 && (x[1] + 0.1).abs() < 1e-12);
    }

    #[test]
    fn schedule_holds_then_falls_to_zero() {
        let schedule = Schedule::HoldThenCosine(0.5);
        assert_eq!([0, 50].map(|step| schedule.at(step, 100)), [0.5, 0.5]);
        assert!((schedule.at(75, 100) - 0.25).abs() < 1e-15);
        assert!(schedule.at(100, 100).abs() < 1e-15);
        assert!(Schedule::Constant(f64::NAN).validate().is_err());
    }

    #[test]
    fn tail_is_averaged() {
        let mut average = TailAverage::new(1, 4, 0.5);
        for step in 0..4 {
            average.take(step, &[step as f64]);
        }
        assert_eq!(average.mean(&[9.0]), [2.5]);
        assert_eq!(TailAverage::new(1, 4, 0.5).mean(&[9.0]), [9.0]);
    }
}
