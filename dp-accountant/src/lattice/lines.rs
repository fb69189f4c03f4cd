//! Pairs on the real line beside the subsampled Gaussian step: a replaced record, several copies of a record,
//! Laplace noise.

use super::cells::{Boundary, Line, Mass, origin_at};
use super::subsampled::{GAUSS_3, GAUSS_5, amplification_error, amplified, unamplified};
use crate::special::{ROUNDOFF, density, mills_ratio, upper_tail};

/// One record replaced by another under Poisson sampling, contributions of norm 1 and normal noise:
///
/// ```text
/// P = (1-q) N(0, σ²) + q N(1, σ²),   Q = (1-q) N(0, σ²) + q N(-1, σ²),   L(x) = λ(x) - λ(-x)
/// ```
///
/// with λ(x) = log(1 - q + q e^((x - 1/2)/σ²)). L is odd and increasing, and (Q, P) is the mirror image of
/// (P, Q). Solving e^L (1 - q + q c/u) = 1 - q + q c u with u = e^(x/σ²), c = e^(-1/(2σ²)) gives
///
/// ```text
/// x = σ² (L/2 + asinh((1-q)/q · sinh(L/2) · e^(1/(2σ²))))
/// ```
///
/// Opposite contributions of norm 1 are worst. For contributions g and g' (noise of unit scale, Z normal) H_α
/// is the expectation of F(e^(⟨g,Z⟩ - |g|²/2), e^(⟨g',Z⟩ - |g'|²/2)) with the convex F(u, v) = ((1-q)(1-α) +
/// q u - α q v)₊, whose mixed second derivative is not positive. By interpolation between normal vectors (the
/// proof of Kahane's inequality) the expectation grows with |g| and |g'| and falls with ⟨g, g'⟩.
///
/// # References
/// Lebeda, Regehr, Kamath and Steinke 2024, "Avoiding Pitfalls for Privacy Accounting of Subsampled
/// Mechanisms under Composition" (the pair dominates).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Replaced {
    pub(crate) sigma: f64,
    pub(crate) rate: f64,
}

impl Replaced {
    fn exponent(&self, x: f64) -> f64 {
        (x - 0.5) / (self.sigma * self.sigma)
    }

    pub(crate) fn loss_range(&self, truncation: f64) -> (f64, f64) {
        let highest = self.loss(1.0 + truncation * self.sigma);
        (-highest, highest)
    }
}

impl Line for Replaced {
    fn loss(&self, x: f64) -> f64 {
        amplified(self.rate, self.exponent(x)) - amplified(self.rate, self.exponent(-x))
    }

    /// The term of the smaller exponent lies between log(1-q) and the other one.
    fn loss_evaluation_error(&self, loss: f64) -> f64 {
        3.0 * amplification_error(self.rate, loss.abs() + (-self.rate).ln_1p().abs() + 1.0)
    }

    fn outcome(&self, loss: f64) -> f64 {
        let (q, half) = (self.rate, 0.5 * loss.abs());
        let steep = 0.5 / (self.sigma * self.sigma);
        let log_factor = ((1.0 - q) / q).ln() + steep;
        // log(2 sinh y) = y + log(1 - e^-2y)
        let log_twice = log_factor + half + (-(-2.0 * half).exp_m1()).ln();
        let inverse = if log_twice > 20.0 { log_twice } else { (0.5 * log_twice.exp()).asinh() };
        (self.sigma * self.sigma * (half + inverse)).copysign(loss)
    }

    fn limits(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass {
        let (sigma, q) = (self.sigma, self.rate);
        let law = |mean: f64| Bell { mean, sigma };
        let far = far_of(&[left / sigma, right / sigma], 1.0 / sigma);
        let error = relative_error(far, self.exponent(left.abs().max(right.abs())), reference);
        let scale = reference.exp();
        let (base, up, down) = if let Some(nodes) = nodes_for((right - left) / sigma, far) {
            let all = |mean| law(mean).quadrature(left, right, nodes);
            (all(0.0), all(1.0), all(-1.0))
        } else {
            let all = |mean| law(mean).between(left, right);
            (all(0.0), all(1.0), all(-1.0))
        };
        let q_mass = (1.0 - q) * base + q * down;
        // A Q mass near the end of the range has lost its digits; such a half-cell is not kept.
        let q_scaled = if q_mass > 1e-290 { q_mass * scale } else { 0.0 };
        Mass { p: (1.0 - q) * base + q * up, q_scaled, error }
    }

    fn below(&self, x: f64) -> (f64, f64) {
        let (p, q) = self.above(-x);
        (q, p)
    }

    fn above(&self, x: f64) -> (f64, f64) {
        let tail = |mean: f64| upper_tail((x - mean) / self.sigma);
        let base = (1.0 - self.rate) * tail(0.0);
        (base + self.rate * tail(1.0), base + self.rate * tail(-1.0))
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}

/// A record that occurs k times with probability b_k: P = Σ b_k N(k, σ²), Q = N(0, σ²), in units of the shift
/// by one copy.
///
/// ```text
/// L(x) = log Σ b_k e^((k x - k²/2)/σ²)
/// ```
///
/// L is convex and increasing; its inverse is found by Newton's method. The logarithms of b_k are concave in
/// k (they are binomial), so the terms of L are unimodal in k.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Copies {
    pub(crate) sigma: f64,
    /// b_0, b_1, …, the last of which may stand for itself and all later ones together.
    pub(crate) weights: Vec<f64>,
    /// What the weights lack of 1: charged to infinite loss by the upper end.
    pub(crate) beyond: f64,
    /// A bound on the relative error of the weights.
    pub(crate) error: f64,
    /// The logarithms of the weights, and the largest modulus of one: they are asked for at every boundary of a table.
    logs: Vec<f64>,
    largest_log: f64,
    /// log b_(k+1)/b_k, and the largest modulus of one.
    steps: Vec<f64>,
    largest_step: f64,
    /// What the ratio of neighbouring terms is multiplied with from one k to the next, b_(k+2) b_k / b_(k+1)²
    /// e^(-1/σ²).
    bends: Vec<f64>,
    variance: f64,
}

/// The terms of a mixture at an outcome, in units of the largest.
struct Terms {
    /// The number of the largest term, and its logarithm.
    top: usize,
    highest: f64,
    /// Σ of all, and of each times its number.
    sum: f64,
    moment: f64,
}

/// So many terms in a row follow from one exponential, each by the ratio to the one before.
const RUN: usize = 4;
/// A term so much smaller than the largest is the last that is added.
const LAST_TERM: f64 = 1e-20;

impl Copies {
    pub(crate) fn new(sigma: f64, weights: Vec<f64>, beyond: f64, error: f64) -> Self {
        let largest = |list: &[f64]| list.iter().fold(0.0f64, |largest, log| largest.max(log.abs()));
        let logs: Vec<f64> = weights.iter().map(|weight| weight.ln()).collect();
        let ratios: Vec<f64> = weights.windows(2).map(|pair| pair[1] / pair[0]).collect();
        let steps: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let variance = sigma * sigma;
        let bends = ratios.windows(2).map(|pair| pair[1] / pair[0] * (-1.0 / variance).exp()).collect();
        let (largest_log, largest_step) = (largest(&logs), largest(&steps));
        Self { sigma, weights, beyond, error, logs, largest_log, steps, largest_step, bends, variance }
    }

    fn term(&self, k: usize, x: f64) -> f64 {
        let count = k as f64;
        self.logs[k] + count * (x - 0.5 * count) / self.variance
    }

    /// The logarithm of the ratio of term k + 1 to term k.
    fn step(&self, k: usize, x: f64) -> f64 {
        self.steps[k] + (x - k as f64 - 0.5) / self.variance
    }

    /// The number of the largest term, which is near the outcome or between it and 0.
    fn largest_term(&self, x: f64) -> usize {
        let last = self.weights.len() - 1;
        let mut top = x.round().clamp(0.0, last as f64) as usize;
        while top < last && self.step(top, x) > 0.0 {
            top += 1;
        }
        while top > 0 && self.step(top - 1, x) < 0.0 {
            top -= 1;
        }
        top
    }

    /// The terms at an outcome.
    ///
    /// They fall faster than geometrically on both sides of the largest one, so what is left out after
    /// [`LAST_TERM`] is less than a roundoff.
    fn terms(&self, x: f64) -> Terms {
        let top = self.largest_term(x);
        let highest = self.term(top, x);
        let last = self.weights.len() - 1;
        let (mut sum, mut moment) = (1.0, top as f64);
        let (mut k, mut value) = (top, 1.0f64);
        while k < last && value >= LAST_TERM {
            if k > top {
                // Anew, before the roundings of the ratios add up.
                value = (self.term(k, x) - highest).exp();
            }
            let mut ratio = self.step(k, x).exp();
            for _ in 0..RUN {
                (k, value) = (k + 1, value * ratio);
                (sum, moment) = (sum + value, moment + value * k as f64);
                if k == last || value < LAST_TERM {
                    break;
                }
                ratio *= self.bends[k - 1];
            }
        }
        (k, value) = (top, 1.0);
        while k > 0 && value >= LAST_TERM {
            if k < top {
                value = (self.term(k, x) - highest).exp();
            }
            let mut ratio = (-self.step(k - 1, x)).exp();
            for _ in 0..RUN {
                (k, value) = (k - 1, value * ratio);
                (sum, moment) = (sum + value, moment + value * k as f64);
                if k == 0 || value < LAST_TERM {
                    break;
                }
                ratio *= self.bends[k - 1];
            }
        }
        Terms { top, highest, sum, moment }
    }

    /// The loss and its derivative.
    fn loss_and_slope(&self, x: f64) -> (f64, f64) {
        let terms = self.terms(x);
        (terms.highest + terms.sum.ln(), terms.moment / terms.sum / self.variance)
    }

    /// The roundings of [`Self::terms`] beside those of the terms' own exponents, as a relative error of their sum.
    ///
    /// At most [`RUN`] ratios and their products follow one another. The logarithm of a ratio is a difference
    /// of steps and (x - k - 1/2)/σ², off by 4u of the step and 4u of itself, and r |log r| < 1; a bend is off
    /// by 5u. A ratio's own rounding is another u: over a run 20u of the largest step, and half as much again
    /// for what multiplies it.
    fn terms_error(&self) -> f64 {
        32.0 * ROUNDOFF * (5.0 + self.largest_step)
    }

    /// Where the lattice should lie, as [`Subsampled::origin`](super::Subsampled::origin) for outcomes that
    /// have hardly more than the loss of no copy. Any origin is valid.
    pub(crate) fn origin(&self, spacing: f64) -> i64 {
        let mut balanced = self.logs[0];
        for _ in 0..40 {
            let top = self.outcome(balanced + 0.5 * spacing);
            let (p, q) = self.below(top);
            let next = (p / q).ln();
            if !next.is_finite() {
                break;
            }
            let moved = (next - balanced).abs();
            balanced = next;
            if moved < 1e-6 * spacing {
                break;
            }
        }
        origin_at(balanced, spacing)
    }

    /// The losses of outcomes that leave less than the truncation's tail of Q below and of P above.
    pub(crate) fn loss_range(&self, truncation: f64) -> (f64, f64) {
        let tail = upper_tail(truncation);
        let (mut low, mut high) = (0.0, (self.weights.len() - 1) as f64 + truncation * self.sigma);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.above(middle).0 - self.beyond > tail { low = middle } else { high = middle }
        }
        (self.loss(-truncation * self.sigma), self.loss(high.max(truncation * self.sigma)))
    }
}

impl Line for Copies {
    fn loss(&self, x: f64) -> f64 {
        if x == f64::NEG_INFINITY { self.logs[0] } else { self.loss_and_slope(x).0 }
    }

    /// Each term is off by a few u of the size of its parts: log b_k, and kx/σ² and k²/2σ², whose difference
    /// is at most the loss less log b_k for the terms that matter, and which are at most k (x - k/2)/σ² +
    /// k²/2σ² themselves.
    fn loss_evaluation_error(&self, loss: f64) -> f64 {
        let last = (self.weights.len() - 1) as f64;
        let exponents = 2.0 + 2.0 * loss.abs() + 3.0 * self.largest_log + (last / self.sigma).powi(2);
        16.0 * ROUNDOFF * exponents + self.terms_error()
    }

    fn outcome(&self, loss: f64) -> f64 {
        self.boundary(loss, None).outcome
    }

    /// By Newton's method. The loss is convex, so that it converges from everywhere, and from the boundary
    /// before, moved on by how the inverse has been going, at once.
    fn boundary(&self, wanted: f64, last: Option<&Boundary>) -> Boundary {
        let lowest = self.logs[0];
        if wanted <= lowest || self.weights.len() < 2 {
            return Boundary { outcome: f64::NEG_INFINITY, loss: lowest, slope: 0.0, pace: f64::NAN };
        }
        let last = last.filter(|last| last.outcome.is_finite());
        let move_on = last.map_or(f64::NAN, |last| (wanted - last.loss) * last.pace);
        let (mut x, highest) = match last {
            Some(last) if move_on.abs() <= 0.1 * self.sigma => (last.outcome + move_on, f64::MAX),
            _ => {
                // With the first two terms alone the loss is smaller, so the outcome of that loss lies above.
                let ratio = (wanted - lowest).exp_m1() * self.weights[0] / self.weights[1];
                let far = wanted - lowest > 700.0;
                let highest = if far { f64::MAX } else { self.variance * ratio.ln() + 0.5 };
                let start = if far { (wanted - lowest) * self.variance + 0.5 } else { highest };
                (last.map_or(start, |last| last.outcome), highest)
            }
        };
        // Nothing is gained by an outcome whose loss is nearer than can be told.
        let enough = 0.125 * self.loss_evaluation_error(wanted);
        let (mut value, mut slope) = self.loss_and_slope(x);
        for _ in 0..200 {
            let next = (x + (wanted - value) / slope).min(highest);
            if (wanted - value).abs() <= enough || !next.is_finite() || (next - x).abs() <= 1e-15 * x.abs() {
                break;
            }
            x = next;
            (value, slope) = self.loss_and_slope(x);
        }
        // The inverse's slope, continued in a straight line to the middle of the next half-cell.
        let before = last.map_or(slope, |last| last.slope);
        let pace = 1.5 / slope - 0.5 / before;
        let pace = if pace > 0.0 { pace } else { 1.0 / slope };
        Boundary { outcome: x, loss: value, slope, pace }
    }

    fn limits(&self) -> (f64, f64) {
        (self.logs[0], f64::INFINITY)
    }

    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass {
        let sigma = self.sigma;
        let last = (self.weights.len() - 1) as f64;
        let far = far_of(&[left / sigma, right / sigma], last / sigma);
        // Positions that count lie at most that far out, and so do the exponents of both laws.
        let reach = if left.is_finite() { left.abs().max(right.abs()) } else { right.abs() };
        let exponent = (reach + last) * (reach + last) / (sigma * sigma);
        let logs = 16.0 * ROUNDOFF * self.largest_log + self.terms_error();
        let error = relative_error(far, exponent, reference) + self.error + last * ROUNDOFF + logs;
        if let Some(nodes) = nodes_for((right - left) / sigma, far) {
            let base = Bell { mean: 0.0, sigma };
            // The law of the largest term, times what all terms add up to in units of it.
            let value = |&(position, share): &(f64, f64)| {
                let x = left + (right - left) * position;
                let terms = self.terms(x);
                let z = (x - terms.top as f64) / sigma;
                share * self.weights[terms.top] * terms.sum * (-0.5 * z * z).exp()
            };
            let p = nodes.iter().map(value).sum::<f64>() * density(0.0) * (right - left) / sigma;
            return Mass { p, q_scaled: base.scaled_quadrature(left, right, nodes, reference), error };
        }
        let laws = |each: &dyn Fn(Bell) -> f64| -> f64 {
            let parts = self.weights.iter().enumerate();
            parts.map(|(k, weight)| weight * each(Bell { mean: k as f64, sigma })).sum()
        };
        let base = Bell { mean: 0.0, sigma };
        let q_scaled = if reference <= 300.0 {
            base.between(left, right) * reference.exp()
        } else {
            base.scaled_tail(left, reference) - base.scaled_tail(right, reference)
        };
        Mass { p: laws(&|law| law.between(left, right)), q_scaled, error }
    }

    fn below(&self, x: f64) -> (f64, f64) {
        let tail = |mean: f64| upper_tail((mean - x) / self.sigma);
        let parts = self.weights.iter().enumerate();
        (parts.map(|(k, weight)| weight * tail(k as f64)).sum(), tail(0.0))
    }

    fn above(&self, x: f64) -> (f64, f64) {
        let tail = |mean: f64| upper_tail((x - mean) / self.sigma);
        let parts = self.weights.iter().enumerate();
        (parts.map(|(k, weight)| weight * tail(k as f64)).sum::<f64>() + self.beyond, tail(0.0))
    }

    fn is_symmetric(&self) -> bool {
        false
    }
}

/// The part without atoms of Laplace noise of scale 1/`gap` that hides a shift of 1, which happens with
/// probability `rate`.
///
/// Outcomes are identified with their loss t at rate 1, between -gap and gap, of densities
///
/// ```text
/// e^((t - gap)/2) / 4  for the shifted law,   e^(-(t + gap)/2) / 4  for the other
/// ```
///
/// Atoms at the ends: the shifted law puts 1/2 on gap and e^(-gap)/2 on -gap, the other law the reverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Laplace {
    pub(crate) gap: f64,
    pub(crate) rate: f64,
}

impl Line for Laplace {
    fn loss(&self, t: f64) -> f64 {
        amplified(self.rate, t.clamp(-self.gap, self.gap))
    }

    fn loss_evaluation_error(&self, loss: f64) -> f64 {
        amplification_error(self.rate, loss)
    }

    fn outcome(&self, loss: f64) -> f64 {
        unamplified(self.rate, loss).clamp(-self.gap, self.gap)
    }

    fn limits(&self) -> (f64, f64) {
        (amplified(self.rate, -self.gap), amplified(self.rate, self.gap))
    }

    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass {
        let half = 0.5 * (right - left);
        let shifted = 0.5 * (0.5 * (left - self.gap)).exp() * half.exp_m1();
        let exponent = -0.5 * (left + self.gap);
        let other = 0.5 * exponent.exp() * -(-half).exp_m1();
        let q_scaled = 0.5 * (exponent + reference).exp() * -(-half).exp_m1();
        let error = ROUNDOFF * (32.0 + 4.0 * (self.gap + reference.abs()));
        Mass { p: (1.0 - self.rate) * other + self.rate * shifted, q_scaled, error }
    }

    fn below(&self, _: f64) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn above(&self, _: f64) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn is_symmetric(&self) -> bool {
        false
    }
}

/// A normal law.
#[derive(Debug, Clone, Copy)]
struct Bell {
    mean: f64,
    sigma: f64,
}

impl Bell {
    fn between(&self, left: f64, right: f64) -> f64 {
        let (low, high) = ((left - self.mean) / self.sigma, (right - self.mean) / self.sigma);
        // Tails on the side away from zero, where they do not cancel.
        if low > 0.0 { upper_tail(low) - upper_tail(high) } else { upper_tail(-high) - upper_tail(-low) }
    }

    fn quadrature(&self, left: f64, right: f64, nodes: &[(f64, f64)]) -> f64 {
        self.scaled_quadrature(left, right, nodes, 0.0)
    }

    /// e^exponent times the mass, in one exponential, because the mass alone may underflow.
    fn scaled_quadrature(&self, left: f64, right: f64, nodes: &[(f64, f64)], exponent: f64) -> f64 {
        let width = right - left;
        let value = |&(position, weight): &(f64, f64)| {
            let z = (left + width * position - self.mean) / self.sigma;
            weight * (exponent - 0.5 * z * z).exp()
        };
        nodes.iter().map(value).sum::<f64>() * density(0.0) * width / self.sigma
    }

    /// e^exponent times the mass above x > mean, where that mass alone may underflow.
    fn scaled_tail(&self, x: f64, exponent: f64) -> f64 {
        let z = (x - self.mean) / self.sigma;
        if z <= 0.0 {
            return f64::NAN;
        }
        density(0.0) * (exponent - 0.5 * z * z).exp() * mills_ratio(z)
    }
}

/// How many standard deviations the farthest centre is away; beyond 60 nothing is left of a density.
fn far_of(ends: &[f64], spread: f64) -> f64 {
    let far = ends.iter().filter(|z| z.is_finite()).fold(0.0f64, |far, z| far.max(z.abs()));
    (far + spread).min(60.0)
}

/// The relative error of masses as in the subsampled step: positions and densities 40 far² and 64 units,
/// exponents 8 each.
fn relative_error(far: f64, exponent: f64, reference: f64) -> f64 {
    let exponent = if exponent.is_finite() { exponent.abs() } else { 0.0 };
    ROUNDOFF * (64.0 + 40.0 * far * far + 8.0 * (exponent + reference.abs()))
}

/// The quadrature for an interval of `width` standard deviations, where one is accurate to 1e-15 of the mass.
fn nodes_for(width: f64, far: f64) -> Option<&'static [(f64, f64)]> {
    let steep = width * (far + 3.0);
    if steep <= 0.02 {
        Some(&GAUSS_3)
    } else if steep <= 0.5 {
        Some(&GAUSS_5)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Cells, Frame};
    use super::*;

    /// Binomial weights of `draws` draws with probability 1/`records`, until less than 1e-30 is left.
    fn copies(draws: u64, records: u64, sigma: f64) -> Copies {
        let (draws, odds) = (draws as f64, 1.0 / (records as f64 - 1.0));
        let mut weights = vec![(draws * (-1.0 / records as f64).ln_1p()).exp()];
        let mut k = 0.0;
        while weights.last().is_some_and(|last| *last > 1e-30) || k < draws / records as f64 {
            weights.push(weights[weights.len() - 1] * (draws - k).max(0.0) / (k + 1.0) * odds);
            k += 1.0;
        }
        weights.retain(|weight| *weight > 0.0);
        Copies::new(sigma, weights, 0.0, 0.0)
    }

    /// From one copy in a thousand batches to ten in each, and from noise that tells each copy from the next to
    /// noise that hides a hundred.
    const SETTINGS: [(u64, u64, f64); 12] = [
        (1, 1_000, 0.3),
        (10, 60_000, 3.95),
        (64, 500_000, 0.6),
        (64, 500_000, 0.005),
        (100, 60_000, 0.5),
        (100, 60_000, 40.0),
        (500, 1_000, 0.05),
        (500, 1_000, 1.0),
        (500, 1_000, 100.0),
        (1_000, 100, 0.5),
        (1_000, 100, 5.0),
        (1_000, 100, 300.0),
    ];

    /// All terms, each by its own exponential: the loss, and its derivative times σ².
    fn term_by_term(line: &Copies, x: f64) -> (f64, f64) {
        let terms: Vec<f64> = (0..line.weights.len()).map(|k| line.term(k, x)).collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts = || terms.iter().map(|term| (term - top).exp()).enumerate();
        let sum: f64 = parts().map(|(_, part)| part).sum();
        (top + sum.ln(), parts().map(|(k, part)| part * k as f64).sum::<f64>() / sum)
    }

    fn outcomes(line: &Copies) -> impl Iterator<Item = f64> {
        let (low, high) = (-12.0 * line.sigma, (line.weights.len() - 1) as f64 + 12.0 * line.sigma);
        (0..=400).map(move |k| low + (high - low) * f64::from(k) / 400.0)
    }

    #[test]
    fn terms_that_follow_from_one_another_add_up_to_all_terms() {
        for (draws, records, sigma) in SETTINGS {
            let line = copies(draws, records, sigma);
            for x in outcomes(&line) {
                let (loss, mean) = term_by_term(&line, x);
                let (found, slope) = line.loss_and_slope(x);
                // Either is off by at most the stated error.
                let allowed = 2.0 * line.loss_evaluation_error(loss);
                assert!((found - loss).abs() <= allowed, "{draws} {records} {sigma} {x}: {found} {loss}");
                // The slope only steers.
                let close = 1e-9 * mean + 1e-300;
                assert!(
                    (slope * sigma * sigma - mean).abs() <= close,
                    "{draws} {records} {sigma} {x}: {slope} {mean}"
                );
            }
        }
    }

    #[test]
    fn masses_by_the_largest_law_are_those_of_all_laws() {
        let mut narrow = 0;
        for (draws, records, sigma) in SETTINGS {
            let line = copies(draws, records, sigma);
            for left in outcomes(&line) {
                for width in [1e-4, 3e-3, 0.02] {
                    let right = left + width * sigma;
                    let far = far_of(&[left / sigma, right / sigma], (line.weights.len() - 1) as f64 / sigma);
                    let Some(nodes) = nodes_for((right - left) / sigma, far) else { continue };
                    let found = line.mass(left, right, 0.0);
                    let laws = line.weights.iter().enumerate();
                    let all: f64 = laws
                        .map(|(k, weight)| {
                            weight * Bell { mean: k as f64, sigma }.quadrature(left, right, nodes)
                        })
                        .sum();
                    // Masses below this are not kept in a table.
                    if all < 1e-290 {
                        continue;
                    }
                    narrow += 1;
                    let off = (found.p / all - 1.0).abs();
                    assert!(
                        off <= 2.0 * found.error,
                        "{draws} {records} {sigma} {left} {width}: {off:e} {:e}",
                        found.error
                    );
                }
            }
        }
        assert!(narrow > 3_000, "{narrow}");
    }

    /// A boundary that continues from the one before has the wanted loss as nearly as one that is looked for
    /// from far away, and between the outcomes that bisection leaves.
    #[test]
    fn boundaries_have_the_losses_that_they_should() {
        for (draws, records, sigma) in SETTINGS {
            let line = copies(draws, records, sigma);
            let (lowest, highest) = line.loss_range(10.0);
            for cells in [30, 3_000] {
                let mut last: Option<Boundary> = None;
                for k in 0..=cells {
                    let wanted = lowest + (highest - lowest) * f64::from(k) / f64::from(cells);
                    let next = line.boundary(wanted, last.as_ref());
                    if next.outcome.is_finite() {
                        let error = line.loss_evaluation_error(wanted);
                        // The spacing of floating-point numbers near the outcome, in losses.
                        let grain = 2.0 * f64::EPSILON * next.outcome.abs() * next.slope;
                        assert!(
                            (next.loss - wanted).abs() <= error + grain,
                            "{draws} {records} {sigma} {wanted}: {next:?}"
                        );
                        assert_eq!(next.loss, line.loss(next.outcome));
                        assert!((term_by_term(&line, next.outcome).0 - wanted).abs() <= 3.0 * error + grain);
                    } else {
                        assert!(wanted <= line.limits().0);
                    }
                    last = Some(next);
                }
            }
        }
    }

    /// The lattice lies so that nearly all outcomes, which have hardly more than the loss of no copy, are
    /// balanced at one of its points. With them between two points the lower end would lower them to the one
    /// below.
    #[test]
    fn outcomes_without_a_copy_lie_at_a_lattice_point() {
        for (draws, records, sigma) in [(64, 500_000, 0.6), (100, 60_000, 0.5), (10, 60_000, 3.95)] {
            let line = copies(draws, records, sigma);
            let (lowest, highest) = line.loss_range(10.0);
            let lower_end = |origin| {
                let frame = Frame { spacing: 0.01, origin, lowest, highest, limit: 1 << 20 };
                let table = Cells::of_line(&line, frame).expect("within the limit");
                let dominated = table.dominated();
                // Total variation, which lowered losses cannot raise.
                let terms = dominated.masses.iter().enumerate().map(|(j, mass)| {
                    let loss = dominated.shift + (dominated.first + j as i64) as f64 * 0.01;
                    mass * -(-loss.max(0.0)).exp_m1()
                });
                terms.sum::<f64>()
            };
            let truth = outcomes_variation(&line);
            let (aligned, other) = (lower_end(line.origin(0.01)), lower_end(0));
            assert!(
                aligned <= truth * (1.0 + 1e-9) && other <= truth * (1.0 + 1e-9),
                "{aligned} {other} {truth}"
            );
            assert!(aligned >= other * (1.0 - 1e-9), "{draws} {records} {sigma}: {aligned} {other} {truth}");
        }
    }

    /// P less Q on the half-line where P has the larger density.
    fn outcomes_variation(line: &Copies) -> f64 {
        let start = line.boundary(0.0, None).outcome;
        let (p, q) = line.above(start);
        p - q
    }
}
