//! One step of the subsampled Gaussian mechanism as a pair of outcome laws, in a form that can be continued
//! analytically.
//!
//! With `λ(x) = log(1 - q + q e^((x - 1/2)/σ²))`, the logarithm of `((1-q) N(0) + q N(1)) / N(0)` at an
//! outcome `x`, all three pairs have losses and densities that are combinations of `λ(x)` and `λ(-x)`:
//!
//! | direction | loss `L` | `log dP/dN(0)` | `E_P exp(zL)` is the mean under `N(0, σ²)` of |
//! |---|---|---|---|
//! | remove | `λ(x)` | `λ(x)` | `exp((z+1) λ(x))` |
//! | add | `-λ(x)` | 0 | `exp(-z λ(x))` |
//! | replace | `λ(x) - λ(-x)` | `λ(x)` | `exp((z+1) λ(x) - z λ(-x))` |

use crate::special::ROUNDOFF;

/// Which of the two laws is the one whose outcomes are weighed, and against what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `((1-q) N(0) + q N(1), N(0))`.
    Remove,
    /// `(N(0), (1-q) N(0) + q N(1))`.
    Add,
    /// `((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1))`.
    Replace,
}

/// A step of the Gaussian mechanism whose record takes part with probability `rate`, in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Law {
    pub(crate) direction: Direction,
    /// Standard deviation of the noise over the distance of the two centres.
    pub(crate) sigma: f64,
    /// The probability of taking part, strictly between 0 and 1.
    pub(crate) rate: f64,
}

/// A computed number and a bound on its absolute error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounded {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// What a law says of one outcome.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) loss: Rounded,
    /// `σ² λ'(x)` and `σ² λ'(-x)`: the probability that the record took part, given the outcome.
    pub(super) posterior: f64,
    pub(super) mirrored_posterior: f64,
    /// `λ(x)`.
    pub(super) log_ratio: Rounded,
}

impl Law {
    /// `λ(x)` and `σ² λ'(x)`.
    ///
    /// The exponent carries a relative error of 3u; what follows is first-order propagation through the
    /// operations, every library function being taken as good to two units in the last place.
    fn log_ratio(&self, x: f64) -> (Rounded, f64) {
        const U: f64 = ROUNDOFF;
        let q = self.rate;
        let exponent = (x - 0.5) / (self.sigma * self.sigma);
        if exponent > 30.0 {
            let rest = (1.0 - q) / q * (-exponent).exp();
            let value = exponent + q.ln() + rest.ln_1p();
            let error = U * (4.0 * exponent + 4.0 * q.ln().abs() + 2.0 * value.abs() + 8.0 * rest);
            return (Rounded { value, error }, 1.0 / (1.0 + rest));
        }
        let raised = q * exponent.exp();
        let change = q * exponent.exp_m1();
        let whole = if change > -0.5 { 1.0 + change } else { (1.0 - q) + raised };
        let value = if change > -0.5 { change.ln_1p() } else { whole.ln() };
        // Of `whole`, relatively: the exponent's error, and the roundings of q e^t or of 1 - q.
        let size = if change > -0.5 { change.abs() } else { whole };
        let error = U * ((4.0 * exponent.abs() * raised + 6.0 * size) / whole + 4.0 * value.abs());
        (Rounded { value, error }, raised / whole)
    }

    pub(super) fn outcome(&self, x: f64) -> Outcome {
        let (log_ratio, posterior) = self.log_ratio(x);
        match self.direction {
            Direction::Remove => Outcome { loss: log_ratio, posterior, mirrored_posterior: 0.0, log_ratio },
            Direction::Add => {
                let loss = Rounded { value: -log_ratio.value, ..log_ratio };
                Outcome { loss, posterior, mirrored_posterior: 0.0, log_ratio }
            }
            Direction::Replace => {
                let (mirrored, mirrored_posterior) = self.log_ratio(-x);
                let value = log_ratio.value - mirrored.value;
                let error = log_ratio.error + mirrored.error + ROUNDOFF * value.abs();
                Outcome { loss: Rounded { value, error }, posterior, mirrored_posterior, log_ratio }
            }
        }
    }

    /// The logarithm of P's density over `N(0)`'s, from what was computed.
    pub(super) fn log_density(&self, outcome: &Outcome) -> Rounded {
        match self.direction {
            Direction::Add => Rounded { value: 0.0, error: 0.0 },
            Direction::Remove | Direction::Replace => outcome.log_ratio,
        }
    }

    /// `σ²` times the slope of the loss, in absolute value.
    pub(super) fn slope(&self, outcome: &Outcome) -> f64 {
        outcome.posterior + outcome.mirrored_posterior
    }

    /// The posterior at outcome 0, which bounds it at all outcomes below.
    fn posterior_at_zero(&self) -> f64 {
        self.log_ratio(0.0).1
    }

    /// Bounds on where the tilted density can have its modes: `σ²` times its logarithmic derivative is
    /// positive below the first and negative above the second.
    pub(super) fn modes(&self, tilt: f64) -> (f64, f64) {
        match self.direction {
            Direction::Remove => (0.0, tilt + 1.0),
            Direction::Add => (-tilt * self.posterior_at_zero(), 0.0),
            Direction::Replace => (0.0, tilt + 1.0 + tilt * self.posterior_at_zero()),
        }
    }

    /// The sum of the negative exponents of mixtures in the tilted density, which grows off the real line
    /// with them.
    fn negative_exponents(&self, tilt: f64) -> f64 {
        match self.direction {
            Direction::Remove => 0.0,
            Direction::Add | Direction::Replace => tilt,
        }
    }

    /// A bound on `|Im L(x + iy)|` over all x, for `θ = |y|/σ²` of at most a right angle.
    ///
    /// The argument of `1 - s + s e^(iθ)` grows with s from 0 to θ. In the replace pair the one of `λ(x)` and
    /// `λ(-x)` whose argument is negative has at most the posterior at zero.
    fn largest_angle(&self, theta: f64) -> f64 {
        match self.direction {
            Direction::Remove | Direction::Add => theta,
            Direction::Replace => {
                let s = self.posterior_at_zero();
                theta + (s * theta.sin()).atan2(1.0 - s + s * theta.cos())
            }
        }
    }

    /// The logarithm of a bound on the error of the trapezoidal rule with the given spacing for
    /// `E_P exp((c+it) L)`, relative to the value at `t = 0`.
    ///
    /// In the strip `|Im x| <= a` with `θ = a/σ² <= π/2` a mixture `|1-q+q e^(u+iθ)|` lies between `cos(θ/2)`
    /// and 1 times its value at `θ = 0`, so that the integrand's modulus integrates, along any line of the
    /// strip, to at most `C` times the value at `t = 0`:
    ///
    /// ```text
    /// log C = a²/(2σ²) + t |Im L| - (negative exponents) log cos(θ/2),      error <= 2 C / (e^(2πa/h) - 1)
    /// ```
    pub(super) fn log_quadrature_error(&self, tilt: f64, t: f64, spacing: f64) -> f64 {
        let square = self.sigma * self.sigma;
        let negative = self.negative_exponents(tilt);
        let mut best = f64::INFINITY;
        for share in [1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01] {
            let theta = share * std::f64::consts::FRAC_PI_2;
            let a = theta * square;
            let growth =
                0.5 * a * theta + t * self.largest_angle(theta) - negative * (0.5 * theta).cos().ln();
            let decay = 2.0 * std::f64::consts::PI * a / spacing;
            if decay > 1.0 {
                best = best.min(growth + std::f64::consts::LN_2 - decay - (-(-decay).exp()).ln_1p());
            }
        }
        best
    }

    /// A spacing whose quadrature error is at most `e^log_error`, found by halving.
    pub(super) fn spacing(&self, tilt: f64, t: f64, log_error: f64) -> Option<f64> {
        let mut spacing = (0.5 * self.sigma).min(0.75 * self.sigma * self.sigma);
        for _ in 0..60 {
            if self.log_quadrature_error(tilt, t, spacing) <= log_error {
                return Some(spacing);
            }
            spacing *= 0.8;
        }
        None
    }

    /// A bound on the second derivative of the logarithm of the tilted density over the loss's slope, and of
    /// the density alone.
    pub(super) fn curvature(&self, tilt: f64) -> f64 {
        let square = self.sigma * self.sigma;
        // λ'' = s(1-s)/σ⁴ <= 1/(4σ⁴); the logarithm of the slope has a second derivative of at most 2/σ⁴.
        (0.25 * (2.0 * tilt + 1.0) + 2.0) / (square * square) + 1.0 / square
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_bound_of_the_log_ratio_holds_against_other_formulas() {
        for (sigma, rate) in [(1.0, 0.01), (0.3, 1e-4), (4.0, 0.9), (20.0, 1e-6), (0.5, 0.5)] {
            let law = Law { direction: Direction::Remove, sigma, rate };
            let mut x = -12.0 * sigma;
            while x < 14.0 * sigma + 1.0 {
                let (found, s) = law.log_ratio(x);
                // The same by the sum of exponentials, whose own error is a unit of 1 and of the exponent.
                let t = (x - 0.5) / (sigma * sigma);
                let other = if t > 700.0 { t + rate.ln() } else { ((1.0 - rate) + rate * t.exp()).ln() };
                let slack = 4.0 * ROUNDOFF * (2.0 + t.abs()) + found.error;
                assert!((found.value - other).abs() <= slack, "{sigma} {rate} {x}: {found:?} {other}");
                // The slope by differences.
                let step = 1e-5 * sigma * sigma;
                let (up, down) = (law.log_ratio(x + step).0, law.log_ratio(x - step).0);
                let slope = (up.value - down.value) / (2.0 * step) * sigma * sigma;
                let noise = (up.error + down.error) / step * sigma * sigma + 1e-9 * s;
                assert!((slope - s).abs() <= noise, "{sigma} {rate} {x}: {slope} {s}");
                x += 0.173 * sigma;
            }
        }
    }
}
