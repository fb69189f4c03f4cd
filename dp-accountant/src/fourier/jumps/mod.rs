//! (docs follow)

mod band;
mod bulk;
mod group;
mod outline;
mod parts;
mod side;
mod snapshot;
mod strip;
mod transform;
mod waves;
mod window;

use super::{Composition, LogInterval};
use crate::closed_form::Interval;
use side::{SMALLEST, Side};

/// A number and a bound on its error.
#[derive(Debug, Clone, Copy)]
struct Rounded {
    value: f64,
    error: f64,
}

impl Composition {
    /// An interval for epsilon at this delta.
    pub(crate) fn epsilon_by_jumps(&self, delta: f64, relative_width: f64) -> Option<Interval> {
        let log_delta = delta.ln();
        let mut answer: Option<Interval> = None;
        for laws in &self.directions {
            let side = Side::new(laws, self.squared_mu, log_delta, relative_width)?;
            if answer.is_some_and(|known| side.stays_below(known.upper, log_delta)) {
                continue;
            }
            answer = match (answer, side.epsilon(log_delta, relative_width)) {
                (None, found) => Some(found?),
                // What one direction proves from below holds for both.
                (Some(known), None) => Some(Interval { upper: f64::MAX, ..known }),
                (Some(known), Some(found)) => Some(known.max(found)),
            };
        }
        answer
    }

    /// An interval for delta at this epsilon.
    pub(crate) fn delta_by_jumps(&self, epsilon: f64, relative_width: f64) -> Option<Interval> {
        Some(self.log_delta_by_jumps(epsilon, relative_width)?.exponential())
    }

    fn log_delta_by_jumps(&self, epsilon: f64, relative_width: f64) -> Option<LogInterval> {
        let mut answer: Option<LogInterval> = None;
        for laws in &self.directions {
            let mut found = None;
            // Deeper values need longer grids.
            for depth in [-45.0, -150.0, SMALLEST] {
                let side = Side::new(laws, self.squared_mu, depth, relative_width)?;
                if answer.is_some_and(|known| side.stays_below(epsilon, known.lower)) {
                    found = answer;
                    break;
                }
                found = side.log_delta(epsilon);
                if found.is_some_and(|found| found.lower > depth) {
                    break;
                }
            }
            answer = match (answer, found) {
                (None, found) => Some(found?),
                (Some(known), None) => Some(LogInterval { upper: 0.0, ..known }),
                (Some(known), Some(found)) => Some(LogInterval {
                    lower: known.lower.max(found.lower),
                    estimate: known.estimate.max(found.estimate),
                    upper: known.upper.max(found.upper),
                }),
            };
        }
        answer
    }
}
