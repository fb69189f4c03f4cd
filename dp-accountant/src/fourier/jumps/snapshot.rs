//! Everything that delta consists of near one epsilon.

use super::group::{Group, Moment, Value};
use crate::closed_form::Interval;
use crate::fourier::LogInterval;
use crate::special::ROUNDOFF;

/// A snapshot is asked within this factor of the epsilon that it was made for.
const SCOPE: f64 = 1.3;

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) groups: Vec<Group>,
    /// Parts that are too small to be integrated, and only bounded.
    pub(super) bounded: Vec<Moment>,
    /// A bound on the mass of all outcomes that are in no part.
    pub(super) rest: f64,
}

/// Where a snapshot sees delta reach a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Here(f64),
    /// Too far away to be seen well; about here.
    Elsewhere(f64),
}

impl Snapshot {
    /// The logarithm of delta at `epsilon`, and minus its derivative.
    pub(super) fn at(&self, epsilon: f64) -> (LogInterval, f64) {
        const U: f64 = ROUNDOFF;
        let values: Vec<Value> = self.groups.iter().map(|group| group.at(epsilon)).collect();
        let bounds: Vec<f64> = self.bounded.iter().map(|moment| moment.chernoff(epsilon)).collect();
        let units = values.iter().map(|value| value.log_unit).chain(bounds.iter().copied());
        let top = units.fold(f64::NEG_INFINITY, f64::max);
        let (mut upper, mut estimate, mut lower, mut slope) = (self.rest * (-top).exp(), 0.0, 0.0, 0.0);
        let mut far = top.abs();
        for value in &values {
            let unit = (value.log_unit - top).exp();
            far = far.max(value.log_unit.abs());
            upper += unit * value.upper;
            estimate += unit * value.estimate;
            lower += unit * value.lower;
            slope += unit * value.slope;
        }
        for bound in &bounds {
            upper += (bound - top).exp() * (1.0 + 1e-9);
        }
        let rounding = 16.0 * U * ((values.len() + bounds.len() + 4) as f64 + far);
        let log = |value: f64| if value > 0.0 { top + value.ln() } else { f64::NEG_INFINITY };
        let lower = log(lower) - rounding;
        // Delta is at most 1, also where the bound is no number.
        let upper = (log(upper) + rounding).min(0.0);
        let interval = LogInterval { lower, estimate: log(estimate).min(upper).max(lower), upper };
        (interval, slope / estimate.max(f64::MIN_POSITIVE))
    }

    /// Where the estimate of log delta is the given one: Newton's method as a function of log epsilon.
    pub(super) fn place(&self, start: f64, log_delta: f64) -> Option<Place> {
        let mut epsilon = start;
        for _ in 0..40 {
            let (at, slope) = self.at(epsilon);
            let step = (at.estimate - log_delta) / (slope * epsilon);
            if !step.is_finite() {
                return None;
            }
            let next = epsilon * step.clamp(-0.7, 0.7).exp();
            if !(start / SCOPE..=start * SCOPE).contains(&next) {
                return Some(Place::Elsewhere(next));
            }
            let settled = (next - epsilon).abs() <= 1e-13 * epsilon;
            epsilon = next;
            if settled {
                break;
            }
        }
        Some(Place::Here(epsilon))
    }

    /// An interval for epsilon about the place where the estimate of log delta is the given one. `margin` bounds the error of that.
    pub(super) fn certify(&self, epsilon: f64, log_delta: f64, margin: f64) -> Interval {
        let (at, slope) = self.at(epsilon);
        let mut found = Interval { lower: 0.0, upper: f64::MAX };
        if !(slope > 0.0 && slope.is_finite()) {
            return found;
        }
        // Points on both sides at which the bounds on delta themselves decide.
        let residual = (at.estimate - log_delta).abs() + 4.0 * margin;
        let mut step = ((at.upper - at.estimate) + residual) / slope + 4.0 * ROUNDOFF * epsilon;
        for _ in 0..24 {
            if self.at(epsilon + step).0.upper <= log_delta - margin {
                found.upper = epsilon + step;
                break;
            }
            step *= 1.25;
        }
        let mut step = ((at.estimate - at.lower).min(1e6) + residual) / slope + 4.0 * ROUNDOFF * epsilon;
        for _ in 0..24 {
            let point = epsilon - step;
            if point <= 0.0 {
                break;
            }
            if self.at(point).0.lower >= log_delta + margin {
                found.lower = point;
                break;
            }
            step *= 1.25;
        }
        found
    }
}
