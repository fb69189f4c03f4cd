//! The noise that a budget asks for.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::guess;
use super::search::Question;
use crate::{Budget, Certified, Composition, Error, Event, Mechanism, Result, Sampling};

/// The smallest and the largest noise multiplier that are considered.
const SMALLEST: f64 = 0.01;
const LARGEST: f64 = 1e7;

/// A noise multiplier that keeps a budget, and the epsilon it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct Calibrated {
    /// The noise multiplier.
    pub noise_multiplier: f64,
    /// What the events cost with it, at the budget's delta; its upper end does not exceed the budget's
    /// epsilon.
    pub epsilon: Certified,
}

/// The least noise multiplier, to about 5e-5 of it, with which the events that it determines keep a budget.
///
/// # Privacy
/// The answer is checked before it is returned: `epsilon.upper <= budget.epsilon`, by the same computation
/// that a [`Ledger`](crate::Ledger) makes when the events are debited.
///
/// # Accuracy
/// The upper end of epsilon is within 1e-4 of the budget, relatively (for budgets below 1e-3 within about
/// 1e-7), unless the smallest multiplier that is considered, 0.01, already keeps the budget: then it is
/// returned. Epsilon is computed about five times. For deltas below 1e-30 epsilon itself may not be known narrowly;
/// then the search ends within about a tenth of the width of its interval, or after some ten rounds.
///
/// # Errors
/// Those of [`Budget::validate`], of `events`, and of [`Accountant::epsilon`](crate::Accountant::epsilon);
/// [`Error::Unreachable`] if even a noise
/// multiplier of 1e7 does not suffice.
///
/// ```
/// use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_noise_multiplier};
///
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// let calibrated = calibrate_noise_multiplier(&budget, |noise_multiplier| {
///     let step = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate: 0.01 })?;
///     Ok(Composition::single(step, 1_000))
/// })?;
/// assert!((calibrated.noise_multiplier - 1.41462).abs() < 1e-4);
/// assert!(calibrated.epsilon.upper <= 1.0);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn calibrate_noise_multiplier(
    budget: &Budget,
    events: impl Fn(f64) -> Result<Composition>,
) -> Result<Calibrated> {
    budget.validate()?;
    let (safe, bold) = (LARGEST.ln(), SMALLEST.ln());
    // The end of the range is named exactly, and so is priced exactly: exp(log(0.01)) is a hair above 0.01.
    let noise = |log_noise: f64| if log_noise == bold { SMALLEST } else { log_noise.exp() };
    let question = Question::new(budget, |log_noise: f64| events(noise(log_noise)));
    let start = guess::start(budget, safe, bold, question.events).unwrap_or(0.0);
    if let Some((log_noise, epsilon)) = question.boldest(safe, bold, start)? {
        return Ok(Calibrated { noise_multiplier: noise(log_noise), epsilon });
    }
    let (epsilon, delta) = (question.cost(safe)?.upper, budget.delta);
    Err(Error::Unreachable { largest: LARGEST, epsilon, budget: budget.epsilon, delta })
}

/// The least noise multiplier, to about 5e-5 of it, with which `steps` uses of the Gaussian mechanism on
/// batches of this sampling keep a budget: [`calibrate_noise_multiplier`] for the commonest question.
///
/// Steps of shuffled epochs are accounted by whole epochs, so their number has to be a multiple of an
/// epoch's.
///
/// # Errors
/// Those of [`calibrate_noise_multiplier`].
///
/// ```
/// use dp_accountant::{Budget, Relation, Sampling, calibrate};
///
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// let found = calibrate(&budget, Sampling::Poisson { rate: 0.01 }, 1_000)?;
/// assert!((found.noise_multiplier - 1.41462).abs() < 1e-4);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn calibrate(budget: &Budget, sampling: Sampling, steps: u64) -> Result<Calibrated> {
    calibrate_noise_multiplier(budget, |noise_multiplier| {
        Ok(Composition::single(Event::new(Mechanism::Gaussian { noise_multiplier }, sampling)?, steps))
    })
}
