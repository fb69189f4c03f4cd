//! Everything that delta consists of near one epsilon.

use super::Rounded;
use crate::closed_form::Interval;
use crate::fourier::LogInterval;
use crate::fourier::sketch::log_peak;
use crate::special::ROUNDOFF;

/// One term of the trapezoidal sum, in units of `e^unit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) t: f64,
    pub(super) re: f64,
    pub(super) im: f64,
    pub(super) error: f64,
}

/// A tilt and an upper bound on the logarithm of the part's moment there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) tilt: f64,
    pub(super) log: f64,
}

/// A width about epsilon that repeats, and the moments that bound the repetitions above and below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) width: f64,
    pub(super) above: Moment,
    pub(super) below: Moment,
}

/// The transform of the part along a contour.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) tilt: f64,
    /// A number near the logarithm of the part's moment, and a bound on how far the unit of the nodes is from
    /// its exponential.
    pub(super) unit: Rounded,
    pub(super) nodes: Vec<Node>,
    /// What the frequencies beyond the last add up to at most.
    pub(super) tail: f64,
    pub(super) window: Window,
}

/// What a group says of delta, in units of `e^log_unit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) log_unit: f64,
    pub(super) lower: f64,
    pub(super) estimate: f64,
    pub(super) upper: f64,
    /// Minus the estimate's derivative.
    pub(super) slope: f64,
}

impl Moment {
    /// Chernoff's bound on the logarithm of delta.
    pub(super) fn chernoff(&self, epsilon: f64) -> f64 {
        let size = self.log.abs() + self.tilt * epsilon + self.tilt.ln().abs();
        self.log - self.tilt * epsilon + log_peak(self.tilt) + 16.0 * ROUNDOFF * (1.0 + size)
    }
}

impl Group {
    /// The part's delta at `epsilon`.
    pub(super) fn at(&self, epsilon: f64) -> Value {
        const U: f64 = ROUNDOFF;
        let c = self.tilt;
        let (mut sum, mut slope, mut error, mut size) = (0.0, 0.0, self.tail, 0.0);
        for node in &self.nodes {
            let (sine, cosine) = (node.t * epsilon).sin_cos();
            let re = node.re * cosine + node.im * sine;
            let im = node.im * cosine - node.re * sine;
            sum += re;
            // Re[z g] = c Re g - t Im g.
            slope += c * re - node.t * im;
            let modulus = node.re.abs() + node.im.abs();
            size += modulus;
            error += node.error + modulus * U * (8.0 + 4.0 * node.t * epsilon);
        }
        error = error * (1.0 + 1e-9) + (self.nodes.len() as f64 + 8.0) * U * size;
        let log_unit = self.unit.value - c * epsilon;
        // Repetitions of the window only add.
        let Window { width, above, below } = self.window;
        let repeated = |moment: Moment, step: f64| {
            let peak = if moment.tilt > 0.0 { log_peak(moment.tilt) } else { 0.0 };
            let ratio = (-step * width).exp();
            (peak + moment.log - moment.tilt * epsilon - log_unit).exp() * ratio / (1.0 - ratio)
        };
        let repetitions = repeated(above, above.tilt - c) + repeated(below, c - below.tilt);
        let rounding = self.unit.error + 8.0 * U * (1.0 + self.unit.value.abs() + c * epsilon);
        let (low, high) = (sum - error - repetitions * (1.0 + 1e-6), sum + error);
        Value {
            log_unit,
            lower: low.max(0.0) * (-rounding).exp() * (1.0 - 4.0 * U),
            estimate: sum,
            // The truth is not negative. NaN says nothing, and must not become a small number here.
            upper: if high.is_nan() {
                f64::INFINITY
            } else {
                high.max(0.0) * rounding.exp() * (1.0 + 4.0 * U)
            },
            slope,
        }
    }
}

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
pub(super) enum Crossing {
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
        // Delta is at most 1, and nothing better is known where the bound is NaN.
        let upper = if upper.is_nan() { 0.0 } else { (log(upper) + rounding).min(0.0) };
        let interval = LogInterval { lower, estimate: log(estimate).min(upper).max(lower), upper };
        (interval, slope / estimate.max(f64::MIN_POSITIVE))
    }

    /// Where the estimate of log delta is the given one: Newton's method as a function of log epsilon.
    pub(super) fn place(&self, start: f64, log_delta: f64) -> Option<Crossing> {
        let mut epsilon = start;
        for _ in 0..40 {
            let (at, slope) = self.at(epsilon);
            let step = (at.estimate - log_delta) / (slope * epsilon);
            if !step.is_finite() {
                return None;
            }
            let next = epsilon * step.clamp(-0.7, 0.7).exp();
            if !(start / SCOPE..=start * SCOPE).contains(&next) {
                return Some(Crossing::Elsewhere(next));
            }
            let settled = (next - epsilon).abs() <= 1e-13 * epsilon;
            epsilon = next;
            if settled {
                break;
            }
        }
        Some(Crossing::Here(epsilon))
    }

    /// An interval for epsilon about the place where the estimate of log delta is the given one. `margin`
    /// bounds the error of that.
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
