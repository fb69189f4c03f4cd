//! The part of delta whose largest jump lies in one band, seen from one tilt.

use super::Rounded;
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
    /// A number near the logarithm of the part's moment, and a bound on how far the unit of the nodes is from its exponential.
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
            upper: high.max(0.0) * rounding.exp() * (1.0 + 4.0 * U),
            slope,
        }
    }
}
