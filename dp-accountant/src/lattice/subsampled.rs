//! The subsampled Gaussian step.
//!
//! The outcome is a number x; with t = (x - 1/2)/σ² the removal pair is
//!
//! ```text
//! P = (1-q) N(0, σ²) + q N(1, σ²),   Q = N(0, σ²),   L(x) = log(dP/dQ) = log(1 - q + q e^t)
//! ```
//!
//! L increases, and masses are differences of normal distribution functions.

use super::cells::{Line, Mass, origin_at};
use crate::special::{ROUNDOFF, density, mills_ratio, upper_tail};

/// The loss of ((1-q) Q + q P, Q) at an outcome whose loss is t for (P, Q): log(1 - q + q e^t).
pub(crate) fn amplified(q: f64, t: f64) -> f64 {
    if q == 1.0 {
        t
    } else if t > 30.0 {
        t + q.ln() + ((1.0 - q) / q * (-t).exp()).ln_1p()
    } else {
        let change = q * t.exp_m1();
        if change > -0.5 { change.ln_1p() } else { ((1.0 - q) + q * t.exp()).ln() }
    }
}

/// A bound on the rounding of [`amplified`], where t is off by 3u|t| at most.
pub(crate) fn amplification_error(q: f64, loss: f64) -> f64 {
    16.0 * ROUNDOFF * (2.0 + loss.abs() + 2.0 * q.ln().abs())
}

/// The inverse of [`amplified`]; minus infinity where all losses are larger.
pub(crate) fn unamplified(q: f64, loss: f64) -> f64 {
    if q == 1.0 {
        loss
    } else if loss > 30.0 {
        loss - q.ln() + (-(1.0 - q) * (-loss).exp()).ln_1p()
    } else {
        let relative = loss.exp_m1() / q;
        if relative <= -1.0 { f64::NEG_INFINITY } else { relative.ln_1p() }
    }
}

/// Normal noise of standard deviation `sigma` that hides a shift of 1, which happens with probability `rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Subsampled {
    pub(crate) sigma: f64,
    pub(crate) rate: f64,
}

impl Subsampled {
    /// The logarithm of N(1, σ²) over N(0, σ²) at an outcome.
    pub(crate) fn exponent(&self, x: f64) -> f64 {
        (x - 0.5) / (self.sigma * self.sigma)
    }

    /// Where the lattice should lie: with a group of all outcomes up to half a cell above the origin balanced
    /// there.
    ///
    /// At small rates nearly all outcomes have losses within about q of log(1-q), on the scale of a cell a
    /// single point. With that point between two lattice points the lower end would have to lower it to the
    /// one below. Any origin is valid.
    pub(crate) fn origin(&self, spacing: f64) -> i64 {
        let q = self.rate;
        if q == 1.0 {
            return 0;
        }
        let mut balanced = (-q).ln_1p();
        for _ in 0..40 {
            let top = self.outcome(balanced + 0.5 * spacing) / self.sigma;
            let (base, shifted) = (upper_tail(-top), upper_tail(1.0 / self.sigma - top));
            if base <= 0.0 {
                break;
            }
            balanced = (q * (shifted / base - 1.0)).ln_1p();
        }
        // Beyond a cell the origin does not matter.
        origin_at(balanced, spacing)
    }

    /// The losses at `truncation` standard deviations below 0 and above 1.
    pub(crate) fn loss_range(&self, truncation: f64) -> (f64, f64) {
        (self.loss(-truncation * self.sigma), self.loss(1.0 + truncation * self.sigma))
    }
}

impl Line for Subsampled {
    fn loss(&self, x: f64) -> f64 {
        amplified(self.rate, self.exponent(x))
    }

    /// A bound on the rounding error of [`Self::loss`]: t is off by 3u|t| and L by at most that, times dL/dt
    /// <= 1 and
    /// |t| e^t <= 1 for negative t; the remaining operations lose a few u of the size of their terms.
    fn loss_evaluation_error(&self, loss: f64) -> f64 {
        amplification_error(self.rate, loss)
    }

    fn outcome(&self, loss: f64) -> f64 {
        match unamplified(self.rate, loss) {
            f64::NEG_INFINITY => f64::NEG_INFINITY,
            exponent => self.sigma * self.sigma * exponent + 0.5,
        }
    }

    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass {
        let (sigma, q) = (self.sigma, self.rate);
        let width = (right - left) / sigma;
        let z = [left / sigma, right / sigma, (left - 1.0) / sigma, (right - 1.0) / sigma];
        // An infinite end contributes no error, and beyond 60 nothing is left of the densities.
        let far = z.iter().filter(|z| z.is_finite()).fold(0.0f64, |far, z| far.max(z.abs())).min(60.0);
        let steep = width * (far + 3.0);
        // Positions carry a relative error of 2u, so a density 2u z² and more from its own evaluation;
        // differences of tails over a cell with steep > 1/2 cancel by a factor of at most 2.5 (far + 3),
        // which the term in far² covers. Exponents t and the reference add their own rounding.
        let exponent = self.exponent(if left.is_finite() { left } else { right }).abs();
        let error = ROUNDOFF * (64.0 + 40.0 * far * far + 8.0 * (exponent + reference.abs()));
        if steep <= 0.5 {
            // Gauss-Legendre with m points errs by at most c_m width^(2m) He_2m, and |He_2m(z)| <= (|z| +
            // 3)^(2m) for m = 3 and 5 (by the inequality of means over its zeros): below 1e-15 and 1e-16 of
            // the mass.
            let nodes: &[(f64, f64)] = if steep <= 0.02 { &GAUSS_3 } else { &GAUSS_5 };
            let (mut p, mut q_scaled) = (0.0, 0.0);
            let at_reference = reference.exp();
            for &(position, weight) in nodes {
                let x = left + (right - left) * position;
                let t = self.exponent(x);
                // The larger of the two densities is evaluated, the other follows from the likelihood ratio.
                let (base, shifted, scaled) = if t < 0.0 {
                    let base = density(x / sigma);
                    (base, base * t.exp(), base * at_reference)
                } else {
                    let shifted = density((x - 1.0) / sigma);
                    let base = shifted * (-t).exp();
                    // Far out e^reference or the base's density is no number, and their product is.
                    let scaled = if t < 300.0 && reference < 300.0 {
                        base * at_reference
                    } else {
                        shifted * (reference - t).exp()
                    };
                    (base, shifted, scaled)
                };
                p += weight * ((1.0 - q) * base + q * shifted);
                q_scaled += weight * scaled;
            }
            return Mass { p: p * width, q_scaled: q_scaled * width, error };
        }
        let between = |low: f64, high: f64| {
            // Tails on the side away from zero, where they do not cancel.
            if low > 0.0 { upper_tail(low) - upper_tail(high) } else { upper_tail(-high) - upper_tail(-low) }
        };
        let base = between(z[0], z[1]);
        let shifted = between(z[2], z[3]);
        let q_scaled = if reference <= 300.0 {
            base * reference.exp()
        } else {
            // Here N(0) may underflow: e^reference times its tail is e^(reference - t) density of N(1) times
            // the Mills ratio, whose argument exceeds 24.
            let tail = |x: f64| {
                (reference - self.exponent(x)).exp() * density((x - 1.0) / sigma) * mills_ratio(x / sigma)
            };
            tail(left) - tail(right)
        };
        Mass { p: (1.0 - q) * base + q * shifted, q_scaled, error }
    }

    fn limits(&self) -> (f64, f64) {
        let infimum = if self.rate == 1.0 { f64::NEG_INFINITY } else { (-self.rate).ln_1p() };
        (infimum, f64::INFINITY)
    }

    fn below(&self, x: f64) -> (f64, f64) {
        let (base, shifted) = (upper_tail(-x / self.sigma), upper_tail((1.0 - x) / self.sigma));
        ((1.0 - self.rate) * base + self.rate * shifted, base)
    }

    fn above(&self, x: f64) -> (f64, f64) {
        let (base, shifted) = (upper_tail(x / self.sigma), upper_tail((x - 1.0) / self.sigma));
        ((1.0 - self.rate) * base + self.rate * shifted, base)
    }

    /// The mirror image of outcomes, at rate 1.
    fn is_symmetric(&self) -> bool {
        self.rate == 1.0
    }
}

/// Gauss-Legendre positions and weights on the unit interval.
pub(crate) const GAUSS_3: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];
pub(crate) const GAUSS_5: [(f64, f64); 5] = [
    (0.046_910_077_030_668_004, 0.118_463_442_528_094_54),
    (0.230_765_344_947_158_45, 0.239_314_335_249_683_24),
    (0.5, 0.284_444_444_444_444_44),
    (0.769_234_655_052_841_5, 0.239_314_335_249_683_24),
    (0.953_089_922_969_332, 0.118_463_442_528_094_54),
];

#[cfg(test)]
mod tests {
    use super::super::cells::Cells;
    use super::super::pair::Pair;
    use super::*;

    fn table(sigma: f64, rate: f64, spacing: f64) -> Cells {
        Pair::Subsampled(Subsampled { sigma, rate })
            .cells(spacing, 12.0, 1 << 20, false)
            .expect("within the limit")
    }

    #[test]
    fn masses_add_up_and_ratios_stay_in_their_cells() {
        for (sigma, rate, spacing) in [
            (1.0, 0.01, 1e-3),
            (0.3, 1e-4, 0.02),
            (20.0, 0.1, 1e-4),
            (4.0, 1.0, 1e-3),
            (0.05, 0.01, 0.5),
            (1.0, 1.0 - 1e-9, 0.01),
        ] {
            for cells in [table(sigma, rate, spacing), table(sigma, rate, spacing).reversed()] {
                let p: f64 = cells.p.iter().sum::<f64>() + cells.p_above + cells.p_below + cells.p_lost;
                // Each of the n terms carries the stated relative error, and adding them n roundings.
                let tolerance = cells.mass_error + cells.p.len() as f64 * ROUNDOFF;
                assert!((p - 1.0).abs() <= tolerance, "{sigma} {rate}: {p}, {tolerance}");
                let half = 0.5 * cells.spacing;
                let slack = 2.0 * (cells.mass_error + cells.loss_error);
                for (p, q) in cells.p.iter().zip(&cells.q_scaled).filter(|(p, _)| **p > 0.0) {
                    let loss = (p / q).ln();
                    assert!(
                        -slack <= loss && loss <= half + slack,
                        "{sigma} {rate}: {loss} outside [0, {half}]"
                    );
                }
                assert!(cells.mass_error < 1e-10 && cells.loss_error < 1e-10);
            }
        }
    }

    #[test]
    fn narrow_and_wide_rules_agree() {
        // Ten narrow cells against the difference of tails over all of them.
        let pair = Subsampled { sigma: 2.0, rate: 0.3 };
        let (left, right) = (1.0, 2.0);
        let whole = pair.mass(left, right, 0.1);
        let mut parts = (0.0, 0.0);
        for k in 0..200 {
            let at = |k: usize| left + (right - left) * k as f64 / 200.0;
            let part = pair.mass(at(k), at(k + 1), 0.1);
            parts = (parts.0 + part.p, parts.1 + part.q_scaled);
        }
        assert!((parts.0 / whole.p - 1.0).abs() < 300.0 * ROUNDOFF + whole.error);
        assert!((parts.1 / whole.q_scaled - 1.0).abs() < 300.0 * ROUNDOFF + whole.error);
    }
}
