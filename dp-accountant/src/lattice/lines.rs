//! Pairs on the real line beside the subsampled Gaussian step: a replaced record, several copies of a record,
//! Laplace noise.

use super::cells::{Line, Mass};
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

    fn outcome(&self, loss: f64, _near: f64) -> f64 {
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
}

impl Copies {
    pub(crate) fn new(sigma: f64, weights: Vec<f64>, beyond: f64, error: f64) -> Self {
        let logs: Vec<f64> = weights.iter().map(|weight| weight.ln()).collect();
        let largest_log = logs.iter().fold(0.0f64, |largest, log| largest.max(log.abs()));
        Self { sigma, weights, beyond, error, logs, largest_log }
    }

    fn term(&self, k: usize, x: f64) -> f64 {
        let count = k as f64;
        self.logs[k] + count * (x - 0.5 * count) / (self.sigma * self.sigma)
    }

    /// The loss and its derivative.
    fn loss_and_slope(&self, x: f64) -> (f64, f64) {
        let nearest = x.round().clamp(0.0, (self.weights.len() - 1) as f64) as usize;
        let mut top = nearest;
        let mut highest = self.term(top, x);
        let mut climb = |step: i64| {
            loop {
                let next = top as i64 + step;
                if next < 0 || next >= self.weights.len() as i64 {
                    break;
                }
                let value = self.term(next as usize, x);
                if value <= highest {
                    break;
                }
                (top, highest) = (next as usize, value);
            }
        };
        climb(-1);
        climb(1);
        let (mut sum, mut moment) = (1.0, top as f64);
        // Terms below e^-45 of the largest add less than a roundoff each, and fall faster than geometrically.
        for k in (0..top).rev() {
            let value = (self.term(k, x) - highest).exp();
            (sum, moment) = (sum + value, moment + value * k as f64);
            if value < 1e-20 {
                break;
            }
        }
        for k in top + 1..self.weights.len() {
            let value = (self.term(k, x) - highest).exp();
            (sum, moment) = (sum + value, moment + value * k as f64);
            if value < 1e-20 {
                break;
            }
        }
        (highest + sum.ln(), moment / sum / (self.sigma * self.sigma))
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
        16.0 * ROUNDOFF * (2.0 + 2.0 * loss.abs() + 3.0 * self.largest_log + (last / self.sigma).powi(2))
    }

    fn outcome(&self, loss: f64, near: f64) -> f64 {
        let lowest = self.logs[0];
        if loss <= lowest || self.weights.len() < 2 {
            return f64::NEG_INFINITY;
        }
        // With the first two terms alone the loss is smaller, so the outcome of that loss lies above.
        let ratio = (loss - lowest).exp_m1() * self.weights[0] / self.weights[1];
        let highest =
            if loss - lowest > 700.0 { f64::MAX } else { self.sigma * self.sigma * ratio.ln() + 0.5 };
        let mut x = if near.is_finite() { near } else { highest };
        if x == f64::MAX {
            x = (loss - lowest) * self.sigma * self.sigma + 0.5;
        }
        for _ in 0..200 {
            let (value, slope) = self.loss_and_slope(x);
            let step = (loss - value) / slope;
            if !step.is_finite() {
                break;
            }
            let next = (x + step).min(highest);
            let done =
                (next - x).abs() <= 1e-15 * x.abs() || (loss - value).abs() <= ROUNDOFF * (1.0 + loss.abs());
            x = next;
            if done {
                break;
            }
        }
        x
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
        let error = relative_error(far, exponent, reference) + self.error + last * ROUNDOFF;
        let laws = |each: &dyn Fn(Bell) -> f64| -> f64 {
            let parts = self.weights.iter().enumerate();
            parts.map(|(k, weight)| weight * each(Bell { mean: k as f64, sigma })).sum()
        };
        if let Some(nodes) = nodes_for((right - left) / sigma, far) {
            let base = Bell { mean: 0.0, sigma };
            let p =
                laws(&|law| if law.is_near(left, right) { law.quadrature(left, right, nodes) } else { 0.0 });
            return Mass { p, q_scaled: base.scaled_quadrature(left, right, nodes, reference), error };
        }
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

    fn outcome(&self, loss: f64, _near: f64) -> f64 {
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

    /// Whether anything of the density is left within an interval.
    fn is_near(&self, left: f64, right: f64) -> bool {
        left - self.mean < 38.0 * self.sigma && self.mean - right < 38.0 * self.sigma
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
