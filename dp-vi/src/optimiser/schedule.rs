//! Learning rates over a run.

use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_positive};
use crate::error::{Error, Result};
use ppl_core::Scalar;

/// How the learning rate changes over a run.
///
/// With `t` steps done out of `T`:
///
/// ```text
/// Constant           η
/// HoldThenCosine     η · ½ (1 + cos(π · max(0, 2t/T − 1)))
/// WarmUp             η · min(1, (t + 1)/w)
/// WarmUpThenCosine   η · (t + 1)/w  for t < w,   η · ½ (1 + cos(π (t − w)/(T − w)))  from there
/// Step               η · f^⌊t/e⌋
/// ```
///
/// ```
/// use dp_vi::optimiser::Schedule;
/// let schedule = Schedule::Step { rate: 0.5, factor: 0.1, every: 100 };
/// assert_eq!([0, 99, 100].map(|step| schedule.at(step, 1000)), [0.5, 0.5, 0.05]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// The same rate at every step.
    Constant(f64),
    /// The full rate for the first half of the run, then down to zero along a cosine.
    HoldThenCosine(f64),
    /// A straight line up to the rate, which is reached at step `steps` and kept.
    WarmUp {
        /// The full rate, η.
        rate: f64,
        /// Steps on the way up, w.
        steps: u64,
    },
    /// A straight line up to the rate, then down to zero along a cosine.
    WarmUpThenCosine {
        /// The full rate, η.
        rate: f64,
        /// Steps on the way up, w.
        steps: u64,
    },
    /// Multiplied by a factor at intervals of this many steps.
    Step {
        /// The rate at first, η.
        rate: f64,
        /// What it is multiplied by, f.
        factor: f64,
        /// Steps between two multiplications, e.
        every: u64,
    },
}

/// `½ (1 + cos(πx))`. The library's cosine and not the platform's, so that a run has the same bits
/// everywhere.
fn falling(x: f64) -> f64 {
    0.5 * (1.0 + libm::cos(std::f64::consts::PI * x))
}

impl Schedule {
    /// The rate at a step of a run.
    #[must_use]
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        let warm = |up: u64| if step < up { (step + 1) as f64 / up as f64 } else { 1.0 };
        match *self {
            Schedule::Constant(rate) => rate,
            Schedule::HoldThenCosine(rate) => {
                let done = step as f64 / steps.max(1) as f64;
                rate * falling((2.0 * done - 1.0).clamp(0.0, 1.0))
            }
            Schedule::WarmUp { rate, steps: up } => rate * warm(up),
            Schedule::WarmUpThenCosine { rate, steps: up } if step < up => rate * warm(up),
            Schedule::WarmUpThenCosine { rate, steps: up } => {
                let left = steps.saturating_sub(up).max(1);
                rate * falling(((step - up) as f64 / left as f64).min(1.0))
            }
            Schedule::Step { rate, factor, every } => {
                // Beyond this many the rate is zero or what it was.
                let times = (step / every.max(1)).min(1 << 20) as i32;
                rate * libm::pow(factor, f64::from(times))
            }
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let (Schedule::Constant(rate)
        | Schedule::HoldThenCosine(rate)
        | Schedule::WarmUp { rate, .. }
        | Schedule::WarmUpThenCosine { rate, .. }
        | Schedule::Step { rate, .. }) = *self;
        check_positive("learning rate", rate)?;
        if let Schedule::Step { factor, every, .. } = *self {
            if !(factor > 0.0 && factor <= 1.0) {
                let (what, requirement) = ("factor of a step schedule", "above 0 and at most 1");
                return Err(Error::OutOfRange { what, requirement, value: factor });
            }
            if every == 0 {
                let (what, requirement) = ("length of the steps of a schedule", "at least 1");
                return Err(Error::OutOfRange { what, requirement, value: 0.0 });
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("rate {self:?}")
    }
}

/// Multiplies the update by a learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleBySchedule(Schedule);

impl ScaleBySchedule {
    /// The rate of this schedule.
    ///
    /// # Errors
    /// If a rate is not positive and finite, or a step schedule's factor is not above 0 and at most 1.
    pub fn new(schedule: Schedule) -> Result<Self> {
        schedule.validate()?;
        Ok(Self(schedule))
    }
}

impl<T: Scalar> Transformation<T> for ScaleBySchedule {
    fn init(&mut self, _: &ParameterLayout) -> Result<()> {
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], at: StepIndex) {
        update.scale(self.0.at(at.step, at.steps));
    }

    fn save(&self, _: &mut Vec<f64>) {}

    fn restore(&mut self, _: &mut SavedState<'_>) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_holds_then_falls_to_zero() {
        let schedule = Schedule::HoldThenCosine(0.5);
        assert_eq!([0, 50].map(|step| schedule.at(step, 100)), [0.5, 0.5]);
        assert!((schedule.at(75, 100) - 0.25).abs() < 1e-15);
        assert!(schedule.at(100, 100).abs() < 1e-15);
        assert!(Schedule::Constant(f64::NAN).validate().is_err());
    }

    #[test]
    fn schedules_warm_up_in_a_straight_line() {
        let schedule = Schedule::WarmUp { rate: 0.8, steps: 4 };
        assert_eq!(
            [0, 1, 2, 3, 4, 900].map(|step| schedule.at(step, 9)),
            [0.2, 0.4, 0.8 * 0.75, 0.8, 0.8, 0.8]
        );
        let schedule = Schedule::WarmUpThenCosine { rate: 0.8, steps: 4 };
        assert_eq!([0, 3, 4].map(|step| schedule.at(step, 12)), [0.2, 0.8, 0.8]);
        // Halfway from 4 to 12, and beyond the end.
        assert!((schedule.at(8, 12) - 0.4).abs() < 1e-15);
        assert_eq!([schedule.at(12, 12), schedule.at(40, 12)], [0.0, 0.0]);
        // All warm-up: never a division by nothing.
        assert!(Schedule::WarmUpThenCosine { rate: 0.8, steps: 12 }.at(11, 12).is_finite());
        assert_eq!(Schedule::WarmUp { rate: 0.8, steps: 0 }.at(0, 5), 0.8);
    }

    #[test]
    fn nonsense_is_refused_with_its_value() {
        let told = |schedule: Schedule| schedule.validate().unwrap_err().to_string();
        assert!(told(Schedule::Step { rate: 1.0, factor: 1.5, every: 3 }).contains("at most 1, got 1.5"));
        assert!(told(Schedule::Step { rate: 1.0, factor: 0.5, every: 0 }).contains("at least 1, got 0"));
        assert!(told(Schedule::WarmUp { rate: -2.0, steps: 3 }).contains("learning rate must be positive"));
        // A rate that has underflowed is zero and not something else.
        assert_eq!(Schedule::Step { rate: 1.0, factor: 0.5, every: 1 }.at(u64::MAX, u64::MAX), 0.0);
    }
}
