//! The noise that a budget asks for.

use roots::{SimpleConvergency, find_root_brent};
use serde::Serialize;
use std::cell::RefCell;

use crate::{Accountant, Budget, Certified, Composition, Error, Result};

/// The smallest and the largest noise multiplier that are considered.
const SMALLEST: f64 = 0.01;
const LARGEST: f64 = 1e7;
/// How far below the budget the root is sought, relative to it, and the tolerance around that place.
const AIM: f64 = 2e-5;
const TOLERANCE: f64 = 1.5e-5;

/// A noise multiplier that keeps a budget, and the epsilon it costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Calibrated {
    /// The noise multiplier.
    pub noise_multiplier: f64,
    /// What the events cost with it, at the budget's delta; its upper end does not exceed the budget's epsilon.
    pub epsilon: Certified,
}

/// The least noise multiplier, to about 5e-5 of it, with which the events that it determines keep a budget.
///
/// # Privacy
/// The answer is checked before it is returned: `epsilon.upper <= budget.epsilon`, by the same computation that a
/// [`Ledger`](crate::Ledger) makes when the events are debited.
///
/// # Accuracy
/// The upper end of epsilon is within 1e-4 of the budget, relatively (for budgets below 1e-3 within about 1e-7), unless the smallest multiplier that is
/// considered, 0.01, already keeps the budget: then it is returned.
///
/// # Errors
/// Those of [`Budget::validate`], of `events`, and of [`Accountant::epsilon`]; [`Error::Unreachable`] if even a noise
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
    let cost = |noise_multiplier: f64, relative_width: Option<f64>| -> Result<Certified> {
        let mut accountant = Accountant::new(budget.relation).with(&events(noise_multiplier)?);
        if let Some(width) = relative_width {
            accountant = accountant.relative_width(width)?;
        }
        accountant.epsilon(budget.delta)
    };
    // Two multipliers with the budget between them. Rough intervals are mostly enough to see on which side one is.
    let rough = Some(0.02);
    let keeps = |noise_multiplier| -> Result<bool> {
        let roughly = cost(noise_multiplier, rough)?;
        if roughly.upper <= budget.epsilon || roughly.lower > budget.epsilon {
            return Ok(roughly.upper <= budget.epsilon);
        }
        Ok(cost(noise_multiplier, None)?.upper <= budget.epsilon)
    };
    let (mut too_small, mut enough) = (1.0, 1.0);
    if keeps(1.0)? {
        while too_small > SMALLEST && keeps(too_small)? {
            enough = too_small;
            too_small = (too_small / 2.0).max(SMALLEST);
        }
    } else {
        while !keeps(enough)? {
            too_small = enough;
            enough *= 2.0;
            if enough > LARGEST {
                let (epsilon, delta) = (cost(LARGEST, None)?.upper, budget.delta);
                return Err(Error::Unreachable { largest: LARGEST, epsilon, budget: budget.epsilon, delta });
            }
        }
    }
    if too_small == SMALLEST {
        let epsilon = cost(SMALLEST, None)?;
        if epsilon.upper <= budget.epsilon {
            return Ok(Calibrated { noise_multiplier: SMALLEST, epsilon });
        }
    }
    // Brent's method on the logarithms, which are nearly linear in each other. The best answer so far is kept.
    let best: RefCell<Option<Calibrated>> = RefCell::new(None);
    let failure: RefCell<Option<Error>> = RefCell::new(None);
    let log_excess = |log_noise: f64| -> f64 {
        let noise_multiplier = log_noise.exp();
        match cost(noise_multiplier, None) {
            Ok(epsilon) => {
                let mut best = best.borrow_mut();
                if epsilon.upper <= budget.epsilon
                    && best.is_none_or(|b| noise_multiplier < b.noise_multiplier)
                {
                    *best = Some(Calibrated { noise_multiplier, epsilon });
                }
                // Zero epsilon is far below any budget, at a finite distance.
                (epsilon.upper / budget.epsilon).max(1e-3).ln() + AIM
            }
            Err(error) => {
                *failure.borrow_mut() = Some(error);
                0.0
            }
        }
    };
    let mut convergency = SimpleConvergency { eps: TOLERANCE, max_iter: 60 };
    let (from, to) = (too_small.ln() - 1e-3, enough.ln() + 1e-3);
    // A search that stops early has still left the best answer that was seen.
    let _ = find_root_brent(from, to, log_excess, &mut convergency);
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    if let Some(found) = best.into_inner() {
        return Ok(found);
    }
    let epsilon = cost(enough, None)?;
    if epsilon.upper <= budget.epsilon {
        return Ok(Calibrated { noise_multiplier: enough, epsilon });
    }
    let (epsilon, delta) = (epsilon.upper, budget.delta);
    Err(Error::Unreachable { largest: enough, epsilon, budget: budget.epsilon, delta })
}
