//! How long a run may be, and how much of the data a step may look at.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::guess;
use super::search::Question;
use crate::{Budget, Certified, Composition, Error, Result};

/// The largest number of steps that is considered.
const LARGEST_STEPS: u64 = 1 << 40;
/// The smallest rate that is considered.
const SMALLEST_RATE: f64 = 1e-12;

/// A number of steps that keeps a budget, and the epsilon it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct CalibratedSteps {
    /// The number of steps.
    pub steps: u64,
    /// What the events cost with it; its upper end does not exceed the budget's epsilon.
    pub epsilon: Certified,
}

/// A sampling rate that keeps a budget, and the epsilon it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct CalibratedRate {
    /// The rate.
    pub rate: f64,
    /// What the events cost with it; its upper end does not exceed the budget's epsilon.
    pub epsilon: Certified,
}

/// A batch size that keeps a budget, and the epsilon it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct CalibratedBatch {
    /// Records in a batch.
    pub batch: u64,
    /// What the events cost with it; its upper end does not exceed the budget's epsilon.
    pub epsilon: Certified,
}

/// The largest number of steps, from 1 to 2^40, with which the events that it determines keep a budget.
///
/// # Privacy
/// The answer's cost is computed before it is returned, as a [`Ledger`](crate::Ledger) does:
/// `epsilon.upper <= budget.epsilon`.
///
/// # Accuracy
/// One step more was seen to exceed the budget, by an interval no wider than
/// [`DEFAULT_RELATIVE_WIDTH`](crate::DEFAULT_RELATIVE_WIDTH) where engines reach it. The events must cost
/// more with more steps.
///
/// Where no attack attains what is proven (batches drawn with replacement; under replace-one also shuffled ones and
/// those drawn without replacement), the last steps are not told apart: some more may keep the budget, of which the
/// upper end of epsilon lacks at most 1e-4, or for a delta below 1e-15 a tenth of its interval's width.
///
/// # Errors
/// Those of [`Budget::validate`], of `events`, and of [`Accountant::epsilon`](crate::Accountant::epsilon);
/// [`Error::NoneKeeps`] if a single step exceeds the budget.
///
/// ```
/// use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_steps};
///
/// let budget = Budget { epsilon: 1.83, delta: 1e-5, relation: Relation::AddRemove };
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// // 1,000 steps cost 1.8282.
/// let found = calibrate_steps(&budget, |steps| Ok(Composition::single(step, steps)))?;
/// assert!(found.steps >= 1_000 && found.steps < 1_010 && found.epsilon.upper <= 1.83);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn calibrate_steps(
    budget: &Budget,
    events: impl Fn(u64) -> Result<Composition>,
) -> Result<CalibratedSteps> {
    let found = largest(budget, "steps", LARGEST_STEPS, events)?;
    Ok(CalibratedSteps { steps: found.0, epsilon: found.1 })
}

/// The largest batch of a data set of `records` records with which the events that it determines keep a
/// budget.
///
/// # Privacy
/// As [`calibrate_steps`].
///
/// # Accuracy
/// As [`calibrate_steps`].
///
/// # Errors
/// As [`calibrate_steps`], [`Error::NoneKeeps`] if a batch of one record exceeds the budget; [`Error::Batch`]
/// if there are no records.
///
/// ```
/// use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_batch};
///
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// // Poisson samples of that size in the mean.
/// let found = calibrate_batch(&budget, 50_000, |batch| {
///     let sampling = Sampling::Poisson { rate: batch as f64 / 50_000.0 };
///     Ok(Composition::single(Event::new(Mechanism::Gaussian { noise_multiplier: 1.5 }, sampling)?, 1_000))
/// })?;
/// assert!(found.batch > 500 && found.epsilon.upper <= 1.0);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn calibrate_batch(
    budget: &Budget,
    records: u64,
    events: impl Fn(u64) -> Result<Composition>,
) -> Result<CalibratedBatch> {
    if records == 0 {
        return Err(Error::Batch { batch: 0, records });
    }
    let found = largest(budget, "records in a batch", records, events)?;
    Ok(CalibratedBatch { batch: found.0, epsilon: found.1 })
}

/// The largest sampling rate, up to 1, with which the events that it determines keep a budget.
///
/// # Privacy
/// As [`calibrate_steps`].
///
/// # Accuracy
/// The upper end of epsilon is within 1e-4 of the budget, relatively (for budgets below 1e-3 within about
/// 1e-7), unless even a rate of 1 keeps the budget: then 1 is returned. Where mechanisms fail altogether with more
/// than delta beyond some rate, the answer is within 1e-4 of that rate, relatively. For deltas below 1e-30 epsilon
/// itself may not be known narrowly; then the search ends within about a tenth of the width of its interval, or after
/// some ten rounds.
///
/// # Errors
/// As [`calibrate_steps`], [`Error::NoneKeeps`] if a rate of 1e-12 exceeds the budget.
///
/// ```
/// use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_rate};
///
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// let found = calibrate_rate(&budget, |rate| {
///     let sampling = Sampling::Poisson { rate };
///     Ok(Composition::single(Event::new(Mechanism::Gaussian { noise_multiplier: 1.4146194065 }, sampling)?, 1_000))
/// })?;
/// assert!((found.rate - 0.01).abs() < 1e-5 && found.epsilon.upper <= 1.0);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn calibrate_rate(
    budget: &Budget,
    events: impl Fn(f64) -> Result<Composition>,
) -> Result<CalibratedRate> {
    budget.validate()?;
    // The end of the range must come out as exactly 1.
    let question = Question::new(budget, |log_rate: f64| events(log_rate.exp().min(1.0)));
    let (safe, bold) = (SMALLEST_RATE.ln(), 0.0);
    let start = guess::start(budget, safe, bold, question.events).unwrap_or(-5.0);
    if let Some((log_rate, epsilon)) = question.boldest(safe, bold, start)? {
        return Ok(CalibratedRate { rate: log_rate.exp().min(1.0), epsilon });
    }
    let (epsilon, delta) = (question.cost(safe)?.upper, budget.delta);
    Err(Error::NoneKeeps {
        what: "sampling rate",
        smallest: SMALLEST_RATE,
        epsilon,
        budget: budget.epsilon,
        delta,
    })
}

fn largest(
    budget: &Budget,
    what: &'static str,
    largest: u64,
    events: impl Fn(u64) -> Result<Composition>,
) -> Result<(u64, Certified)> {
    budget.validate()?;
    let start = guess::start(budget, 0.0, (largest as f64).ln(), |log: f64| {
        events((log.exp() as u64).clamp(1, largest))
    });
    let question = Question::new(budget, events);
    let start = start.map_or(1, |log| log.exp() as u64);
    if let Some(found) = question.largest_integer(largest, start)? {
        return Ok(found);
    }
    let (epsilon, delta) = (question.cost(1)?.upper, budget.delta);
    Err(Error::NoneKeeps { what, smallest: 1.0, epsilon, budget: budget.epsilon, delta })
}
