//! How much mass the two laws of a subsampled Gaussian step put between consecutive values of the privacy loss.
//!
//! The outcome is a number x; with t = (x - 1/2)/σ² the removal pair is
//!
//! ```text
//! P = (1-q) N(0, σ²) + q N(1, σ²),   Q = N(0, σ²),   L(x) = log(dP/dQ) = log(1 - q + q e^t)
//! ```
//!
//! L increases, so an interval of losses is an interval of outcomes and its masses are differences of normal
//! distribution functions. They are computed to a relative error that is stated with the table.

use crate::special::{ROUNDOFF, density, mills_ratio, upper_tail};

/// Masses below this are not trusted to a relative error, because their factors may be subnormal.
const NEGLIGIBLE: f64 = 1e-290;

/// Positions of a lattice's origin are multiples of the spacing over this number, so that every boundary, an integer
/// below 2^45 times a number of eight significant bits, is exact.
const FRACTIONS: i64 = 1 << 20;

/// Masses of P and Q on half-cells `[l_k, l_(k+1))` of the loss with `l_k = origin + k h/2`, k = first, first + 1, …
///
/// `first` and the number of half-cells are even. The Q masses are stored multiplied by `e^(l_k)`, the likelihood
/// ratio at the left end: this number is at most the P mass, at least the P mass times `e^(-h/2)`, and
/// cannot overflow or lose its digits.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) spacing: f64,
    /// The origin in units of `spacing / FRACTIONS`.
    origin: i64,
    pub(crate) first: i64,
    pub(crate) p: Vec<f64>,
    pub(crate) q_scaled: Vec<f64>,
    /// P mass of losses above the last half-cell.
    pub(crate) p_above: f64,
    /// P mass of losses below the first half-cell.
    pub(crate) p_below: f64,
    /// Q masses of the same two regions.
    q_above: f64,
    q_below: f64,
    /// P mass of half-cells that were too light to be kept, for P and Q.
    pub(crate) p_lost: f64,
    q_lost: f64,
    /// Bound on the absolute log-ratio of true to computed masses, for P and for Q.
    pub(crate) mass_error: f64,
    /// Bound on how far the loss of an outcome may lie outside its half-cell.
    pub(crate) loss_error: f64,
    /// Whether the reversed pair has the same loss distribution (the mirror image of outcomes, at rate 1).
    symmetric: bool,
}

/// A subsampled Gaussian step as a pair of outcome laws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) sigma: f64,
    pub(crate) rate: f64,
}

impl Pair {
    /// The logarithm of N(1, σ²) over N(0, σ²) at an outcome.
    pub(crate) fn exponent(&self, x: f64) -> f64 {
        (x - 0.5) / (self.sigma * self.sigma)
    }

    /// The privacy loss of an outcome when a record is removed.
    pub(crate) fn loss(&self, x: f64) -> f64 {
        let (q, t) = (self.rate, self.exponent(x));
        if q == 1.0 {
            t
        } else if t > 30.0 {
            t + q.ln() + ((1.0 - q) / q * (-t).exp()).ln_1p()
        } else {
            let change = q * t.exp_m1();
            if change > -0.5 { change.ln_1p() } else { ((1.0 - q) + q * t.exp()).ln() }
        }
    }

    /// A bound on the rounding error of [`Self::loss`]: t is off by 3u|t| and L by at most that, times dL/dt <= 1 and
    /// |t| e^t <= 1 for negative t; the remaining operations lose a few u of the size of their terms.
    fn loss_evaluation_error(&self, loss: f64) -> f64 {
        16.0 * ROUNDOFF * (2.0 + loss.abs() + 2.0 * self.rate.ln().abs())
    }

    /// The outcome that has the given loss; minus infinity where all losses are larger.
    fn outcome(&self, loss: f64) -> f64 {
        let q = self.rate;
        let exponent = if q == 1.0 {
            loss
        } else if loss > 30.0 {
            loss - q.ln() + (-(1.0 - q) * (-loss).exp()).ln_1p()
        } else {
            let relative = loss.exp_m1() / q;
            if relative <= -1.0 {
                return f64::NEG_INFINITY;
            }
            relative.ln_1p()
        };
        self.sigma * self.sigma * exponent + 0.5
    }

    /// The table of half-cells of spacing `spacing`/2 over all losses that have mass beyond `truncation` standard
    /// deviations from both centres cut off. `None` if it would need more than `limit` half-cells.
    pub(crate) fn cells(&self, spacing: f64, truncation: f64, limit: usize) -> Option<Cells> {
        let (lowest, highest) = self.loss_range(truncation);
        let origin = self.origin(spacing);
        let shift = boundary(origin, 0, spacing);
        let (first, last) =
            (((lowest - shift) / spacing).floor() * 2.0, ((highest - shift) / spacing).ceil() * 2.0);
        if !(last - first <= limit as f64 && first.abs() < 1e7 && last.abs() < 1e7) {
            return None;
        }
        let (first, count) = (first as i64, (last - first) as usize);
        let mut cells = Cells {
            spacing,
            origin,
            first,
            p: Vec::with_capacity(count),
            q_scaled: Vec::with_capacity(count),
            p_above: 0.0,
            p_below: 0.0,
            q_above: 0.0,
            q_below: 0.0,
            p_lost: 0.0,
            q_lost: 0.0,
            mass_error: 0.0,
            loss_error: 0.0,
            symmetric: self.rate == 1.0,
        };
        let mut left_loss = boundary(origin, first, spacing);
        let mut left = self.outcome(left_loss);
        cells.note_boundary(self, left, left_loss);
        let (base, shifted) = (upper_tail(-left / self.sigma), upper_tail((1.0 - left) / self.sigma));
        cells.q_below = base;
        cells.p_below = (1.0 - self.rate) * base + self.rate * shifted;
        for k in 0..count {
            let right_loss = boundary(origin, first + k as i64 + 1, spacing);
            let right = self.outcome(right_loss);
            cells.note_boundary(self, right, right_loss);
            let mass = self.mass(left, right, left_loss);
            if !(mass.p >= NEGLIGIBLE && mass.q_scaled >= NEGLIGIBLE) {
                cells.p_lost += mass.p.abs() + f64::MIN_POSITIVE;
                // With rate 1 the reversed table is a copy and this number is not needed.
                if self.rate < 1.0 {
                    cells.q_lost += mass.q_scaled * (-left_loss).exp() + f64::MIN_POSITIVE;
                }
                cells.p.push(0.0);
                cells.q_scaled.push(0.0);
            } else {
                cells.mass_error = cells.mass_error.max(mass.error);
                cells.p.push(mass.p);
                cells.q_scaled.push(mass.q_scaled);
            }
            (left, left_loss) = (right, right_loss);
        }
        let (base, shifted) = (upper_tail(left / self.sigma), upper_tail((left - 1.0) / self.sigma));
        cells.q_above = base;
        cells.p_above = (1.0 - self.rate) * base + self.rate * shifted;
        // Parameters beyond all reason may leave the range of f64; then there is no table.
        let sum =
            cells.p_above + cells.p_below + cells.p_lost + cells.q_lost + cells.mass_error + cells.loss_error;
        sum.is_finite().then_some(cells)
    }

    /// Where the lattice should lie: with a group of all outcomes up to half a cell above the origin balanced there.
    ///
    /// At small rates nearly all outcomes have losses within about q of log(1-q), on the scale of a cell a single point. With that
    /// point between two lattice points the lower end would have to lower it to the one below. Any origin is valid.
    fn origin(&self, spacing: f64) -> i64 {
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
        let cells = balanced / spacing;
        ((cells - cells.floor()) * FRACTIONS as f64) as i64
    }

    /// The losses at `truncation` standard deviations below 0 and above 1.
    pub(crate) fn loss_range(&self, truncation: f64) -> (f64, f64) {
        (self.loss(-truncation * self.sigma), self.loss(1.0 + truncation * self.sigma))
    }

    /// The masses between two outcomes, Q's multiplied by `e^reference`.
    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass {
        let (sigma, q) = (self.sigma, self.rate);
        let width = (right - left) / sigma;
        let z = [left / sigma, right / sigma, (left - 1.0) / sigma, (right - 1.0) / sigma];
        // An infinite end contributes no error, and beyond 60 nothing is left of the densities.
        let far = z.iter().filter(|z| z.is_finite()).fold(0.0f64, |far, z| far.max(z.abs())).min(60.0);
        let steep = width * (far + 3.0);
        // Positions carry a relative error of 2u, so a density 2u z² and more from its own evaluation; differences of
        // tails over a cell with steep > 1/2 cancel by a factor of at most 2.5 (far + 3), which the term in far² covers.
        // Exponents t and the reference add their own rounding.
        let exponent = self.exponent(if left.is_finite() { left } else { right }).abs();
        let error = ROUNDOFF * (64.0 + 40.0 * far * far + 8.0 * (exponent + reference.abs()));
        if steep <= 0.5 {
            // Gauss-Legendre with m points errs by at most c_m width^(2m) He_2m, and |He_2m(z)| <= (|z| + 3)^(2m) for
            // m = 3 and 5 (by the inequality of means over its zeros): below 1e-15 and 1e-16 of the mass.
            let nodes: &[(f64, f64)] = if steep <= 0.02 { &GAUSS_3 } else { &GAUSS_5 };
            let (mut p, mut q_scaled) = (0.0, 0.0);
            for &(position, weight) in nodes {
                let x = left + (right - left) * position;
                let t = self.exponent(x);
                // The larger of the two densities is evaluated, the other follows from the likelihood ratio.
                let (base, shifted, scaled) = if t < 0.0 {
                    let base = density(x / sigma);
                    (base, base * t.exp(), base * reference.exp())
                } else {
                    let shifted = density((x - 1.0) / sigma);
                    (shifted * (-t).exp(), shifted, shifted * (reference - t).exp())
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
            // Here N(0) may underflow: e^reference times its tail is e^(reference - t) density of N(1) times the
            // Mills ratio, whose argument exceeds 24.
            let tail = |x: f64| {
                (reference - self.exponent(x)).exp() * density((x - 1.0) / sigma) * mills_ratio(x / sigma)
            };
            tail(left) - tail(right)
        };
        Mass { p: (1.0 - q) * base + q * shifted, q_scaled, error }
    }
}

/// The loss at the left end of half-cell `k`.
fn boundary(origin: i64, k: i64, spacing: f64) -> f64 {
    (origin + k * (FRACTIONS / 2)) as f64 * (spacing / FRACTIONS as f64)
}

struct Mass {
    p: f64,
    q_scaled: f64,
    error: f64,
}

/// Gauss-Legendre positions and weights on the unit interval.
const GAUSS_3: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];
const GAUSS_5: [(f64, f64); 5] = [
    (0.046_910_077_030_668_004, 0.118_463_442_528_094_54),
    (0.230_765_344_947_158_45, 0.239_314_335_249_683_24),
    (0.5, 0.284_444_444_444_444_44),
    (0.769_234_655_052_841_5, 0.239_314_335_249_683_24),
    (0.953_089_922_969_332, 0.118_463_442_528_094_54),
];

impl Cells {
    /// Records how far the loss at a computed boundary is from where it should be.
    fn note_boundary(&mut self, pair: &Pair, outcome: f64, wanted: f64) {
        let off = if outcome == f64::NEG_INFINITY {
            // No outcome lies below, which is right if the wanted loss is not above the infimum of all losses.
            let infimum = if pair.rate == 1.0 { f64::NEG_INFINITY } else { (-pair.rate).ln_1p() };
            (wanted - infimum).max(0.0)
        } else {
            (pair.loss(outcome) - wanted).abs()
        };
        self.loss_error = self.loss_error.max(off + pair.loss_evaluation_error(wanted));
    }

    /// The loss at lattice index 0.
    pub(crate) fn shift(&self) -> f64 {
        boundary(self.origin, 0, self.spacing)
    }

    /// The table of the reversed pair (Q, P), whose losses have the opposite sign.
    pub(crate) fn reversed(&self) -> Self {
        if self.symmetric {
            return self.clone();
        }
        let half = 0.5 * self.spacing;
        let count = self.p.len();
        let (mut p, mut q_scaled) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut p_lost, mut q_lost) = (self.q_lost, self.p_lost);
        for k in (0..count).rev() {
            let left = boundary(self.origin, self.first + k as i64, self.spacing);
            let (mass, scaled) = (self.q_scaled[k] * (-left).exp(), self.p[k] * (-left - half).exp());
            if mass < NEGLIGIBLE || scaled < NEGLIGIBLE {
                p_lost += mass + f64::MIN_POSITIVE;
                q_lost += self.p[k];
                p.push(0.0);
                q_scaled.push(0.0);
            } else {
                p.push(mass);
                q_scaled.push(scaled);
            }
        }
        let last = (self.first.abs().max((self.first + count as i64).abs()) + 2) as f64 * half;
        Self {
            spacing: self.spacing,
            origin: -self.origin,
            first: -(self.first + count as i64),
            p,
            q_scaled,
            p_above: self.q_below,
            p_below: self.q_above,
            q_above: self.p_below,
            q_below: self.p_above,
            p_lost,
            q_lost,
            mass_error: self.mass_error + 4.0 * ROUNDOFF * (1.0 + last),
            loss_error: self.loss_error,
            symmetric: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sigma: f64, rate: f64, spacing: f64) -> Cells {
        Pair { sigma, rate }.cells(spacing, 12.0, 1 << 20).expect("within the limit")
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
        let pair = Pair { sigma: 2.0, rate: 0.3 };
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
