//! The logarithm of delta, where delta itself is too small for a floating-point number.
//!
//! Down to about 1e-280 this is the logarithm of [`Accountant::delta`]. Below, and at any depth:
//!
//! **Fourier inversion** works with the logarithm from the start. Where it has no answer:
//!
//! **Closed forms.** Without sampling, and for one step, delta = q φ(z) (R(z) - R(z + g)) with φ the normal
//! density and R the Mills ratio, whose logarithm needs no small number. For z >= 0 the difference lies
//! between g / ((z + g)² + 3) and g / (z² + 1): -R'(x) = 1 - x R(x) falls in x, and x / (x² + 1) < R(x) <
//! (x² + 2) / (x³ + 3x) are successive convergents of its continued fraction. Delta falls in z and grows in
//! g, so that the error of the position is taken care of by moving it.
//!
//! **From above, in general.** With A_α = Σ_k C(α, k) (1-q)^(α-k) q^k e^(k(k-1)/2σ²) for a step, and any
//! integer α >= 2,
//!
//! ```text
//! log delta <= Σ T log A_α - (α - 1) ε - log α + (α - 1) log(1 - 1/α)
//! ```
//!
//! A_α is the α-th moment of the likelihood ratio for removing a record, and no smaller than that for adding
//! one.
//!
//! **From below, in general.** Divide the run into m blocks, each with ⌊T/m⌋ of every event, and leave the
//! rest out (less is released). If each block loses (ε + 1)/m or more, the run loses ε + 1 or more, and delta
//! is the mean of (1 - e^(ε - L))₊. A block's loss exceeds x with a probability of at least its own delta at
//! x, so
//!
//! ```text
//! log delta(ε) >= log(1 - 1/e) + m log delta_block((ε + 1)/m)
//! ```
//!
//! where delta_block is that of removing a record. It is the delta of both directions where adding a record
//! cannot lose as much: beyond -Σ ⌊T/m⌋ log(1 - q).
//!
//! # References
//! Mironov, Talwar and Zhang 2019, "Rényi Differential Privacy of the Sampled Gaussian Mechanism" (A_α and
//! the order of the two directions); Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for
//! Differential Privacy", Proposition 12 (delta from moments).

use crate::closed_form::{gaussian_position, subsampled_step_position};
use crate::special::{ROUNDOFF, mills_ratio};
use crate::{Accountant, Certified, Composition, Engine, Mechanism, Relation, Result, Sampling};

/// Logarithms are taken of delta itself where its lower end is above this.
const SMALLEST: f64 = 1e-250;
/// A margin for the rounding of a few operations, relative to the largest of their terms.
const ROUNDING: f64 = 32.0 * ROUNDOFF;
/// The relative width at which blocks are looked at: it moves a logarithm of hundreds by one each at most.
const ROUGH: f64 = 0.01;
/// The largest order of moments that is tried.
const LARGEST_ORDER: u32 = 20_000;
/// The most blocks that a run is divided into.
const MOST_BLOCKS: u64 = 256;

/// The natural logarithm of a certified number: `lower <= estimate <= upper <= 0`. The lower end may be minus
/// infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CertifiedLog {
    /// The proven lower end.
    pub lower: f64,
    /// The best guess, between the two ends.
    pub estimate: f64,
    /// The proven upper end: the guarantee.
    pub upper: f64,
    /// Which method proved the lower end.
    pub lower_engine: Engine,
    /// Which method proved the upper end.
    pub upper_engine: Engine,
}

/// The ends of a logarithm.
#[derive(Debug, Clone, Copy)]
struct LogInterval {
    lower: f64,
    upper: f64,
}

/// A proven end and who proved it.
type End = (f64, Engine);

impl CertifiedLog {
    fn new(lower: End, estimate: f64, upper: End) -> Self {
        // Two proven ends are in order; this guards against the rounding of the last operation.
        let end = upper.0.min(0.0).max(lower.0);
        let estimate = estimate.clamp(lower.0, end);
        Self { lower: lower.0, estimate, upper: end, lower_engine: lower.1, upper_engine: upper.1 }
    }
}

impl Accountant {
    /// The natural logarithm of [`delta`](Self::delta), at depths where delta is no floating-point number any
    /// more.
    ///
    /// # Accuracy
    /// As that of delta down to about 1e-250. Deeper, without sampling and for a single step, about ten
    /// digits at any depth; sampled runs by Fourier inversion, and where that has no answer bounded by their
    /// moments from above and by their parts from below, which may leave a tenth of the logarithm or more
    /// between the ends.
    ///
    /// # Errors
    /// Those of [`delta`](Self::delta).
    ///
    /// ```
    /// use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
    ///
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None)?;
    /// let accountant = Accountant::new(Relation::AddRemove).compose(release, 1);
    /// assert_eq!(accountant.delta(100.0)?.lower, 0.0);
    /// // δ(100) = Φ(-99.5) - e^100 Φ(-100.5), with 40 digits.
    /// let log_delta = accountant.log_delta(100.0)?;
    /// assert!((log_delta.upper + 4960.254553817).abs() < 1e-6 && log_delta.lower > -4960.2546);
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn log_delta(&self, epsilon: f64) -> Result<CertifiedLog> {
        let shape = Shape::of(self.relation(), self.composition());
        let valid = epsilon >= 0.0 && epsilon.is_finite();
        let by_moments = shape.as_ref().filter(|_| valid).map_or(0.0, |shape| shape.by_moments(epsilon));
        // Where moments show it to be out of reach, nobody need look for delta itself.
        let delta = if by_moments < 2.0 * SMALLEST.ln() { None } else { Some(self.delta(epsilon)?) };
        if let Some(delta) = delta.filter(|delta| delta.lower > SMALLEST) {
            let around = |value: f64, sign: f64| value.ln() * (1.0 - sign * ROUNDING) + sign * ROUNDING;
            let lower = (around(delta.lower, -1.0), delta.lower_engine);
            let upper = (around(delta.upper, 1.0), delta.upper_engine);
            return Ok(CertifiedLog::new(lower, delta.estimate.ln(), upper));
        }
        if let Some(exact) = shape.as_ref().and_then(|shape| shape.closed_form(epsilon)) {
            let (lower, upper) = ((exact.lower, Engine::ClosedForm), (exact.upper, Engine::ClosedForm));
            return Ok(CertifiedLog::new(lower, 0.5 * (exact.lower.max(-f64::MAX) + exact.upper), upper));
        }
        let mut upper = (by_moments, Engine::ClosedForm);
        let mut better = |end: f64, engine| upper = if end < upper.0 { (end, engine) } else { upper };
        if let Some(delta) = delta.filter(|delta| delta.upper > 0.0) {
            better(delta.upper.ln() + 1e3 * ROUNDING, delta.upper_engine);
        }
        if let Some(inverted) =
            self.inverted_log_delta(epsilon)?.filter(|inverted| inverted.upper.is_finite())
        {
            better(inverted.upper, Engine::FourierInversion);
            if inverted.lower.is_finite() {
                return Ok(CertifiedLog::new(
                    (inverted.lower, Engine::FourierInversion),
                    inverted.estimate,
                    upper,
                ));
            }
        }
        let lower = match &shape {
            Some(shape) => self.by_blocks(shape, epsilon)?,
            None => (f64::NEG_INFINITY, upper.1),
        };
        // Moments miss delta by the order of its logarithm, blocks by more: the truth is nearer to the upper
        // end.
        let estimate = if lower.0.is_finite() { upper.0 - 0.25 * (upper.0 - lower.0) } else { upper.0 };
        Ok(CertifiedLog::new(lower, estimate, upper))
    }

    /// The bound from below: the largest over numbers of blocks.
    fn by_blocks(&self, shape: &Shape, epsilon: f64) -> Result<End> {
        let best = (shape.one_step_of_many(epsilon), Engine::ClosedForm);
        let mut blocks = 2;
        while blocks <= MOST_BLOCKS {
            let mut block = Composition::new();
            block.extend(self.composition().iter().map(|(event, count)| (event, count / blocks)));
            let share = (epsilon + 1.0) / blocks as f64 * (1.0 + ROUNDING);
            if block.is_empty() {
                break;
            }
            // Blocks that are out of reach themselves need not be looked at.
            let reached = Shape::of(self.relation(), &block)
                .is_some_and(|shape| shape.by_moments(share) > SMALLEST.ln());
            if reached && share > shape.largest_addition(blocks) {
                let accountant = Accountant::new(self.relation()).with(&block);
                let delta: Certified = accountant.relative_width(ROUGH)?.delta(share)?;
                if delta.lower > SMALLEST {
                    // log(1 - 1/e), and the logarithm of the block's.
                    let log = blocks as f64 * delta.lower.ln() * (1.0 + ROUNDING) - 0.458_675_145_388;
                    // More blocks cost more slack, once the blocks are within reach.
                    return Ok(if log > best.0 { (log, delta.lower_engine) } else { best });
                }
            }
            blocks *= 2;
        }
        Ok(best)
    }
}

/// A composition of Gaussian mechanisms: unsampled ones as one block, and Poisson samples.
struct Shape {
    /// Sum of (sensitivity / noise multiplier)² over the unsampled ones.
    squared_mu: f64,
    /// Noise multiplier, rate and count.
    sampled: Vec<(f64, f64, u64)>,
    /// A bound on the relative error of the sum.
    relative_error: f64,
}

impl Shape {
    /// `None` for a composition with any other mechanism, sampling or relation.
    fn of(relation: Relation, composition: &Composition) -> Option<Self> {
        let sensitivity = match relation {
            Relation::AddRemove => 1.0,
            Relation::ReplaceOne => 2.0,
        };
        let (mut squared_mu, mut sampled, mut lines) = (0.0, Vec::new(), 0.0);
        for (event, count) in composition.iter() {
            let Mechanism::Gaussian { noise_multiplier } = event.mechanism() else { return None };
            match event.sampling() {
                Sampling::None | Sampling::Poisson { rate: 1.0 } => {
                    squared_mu += count as f64 * (sensitivity / noise_multiplier).powi(2);
                }
                Sampling::Poisson { rate } if relation == Relation::AddRemove => {
                    sampled.push((noise_multiplier, rate, count));
                }
                _ => return None,
            }
            lines += 1.0;
        }
        Some(Self { squared_mu, sampled, relative_error: (lines + 8.0) * ROUNDOFF })
    }

    /// The answer, where one formula is the whole answer.
    fn closed_form(&self, epsilon: f64) -> Option<LogInterval> {
        match self.sampled.as_slice() {
            [] if self.squared_mu > 0.0 => Some(self.unsampled(epsilon)),
            // Nothing is released, and delta is 0.
            [] => Some(LogInterval { lower: f64::NEG_INFINITY, upper: -f64::MAX }),
            [(noise_multiplier, rate, 1)] if self.squared_mu == 0.0 => {
                Some(one_step(*noise_multiplier, *rate, epsilon))
            }
            _ => None,
        }
    }

    fn unsampled(&self, epsilon: f64) -> LogInterval {
        log_difference_of_tails(gaussian_position(self.squared_mu.sqrt(), self.relative_error, epsilon))
    }

    /// From below: a run is at least as revealing as any part of it.
    fn one_step_of_many(&self, epsilon: f64) -> f64 {
        let block = if self.squared_mu > 0.0 { self.unsampled(epsilon).lower } else { f64::NEG_INFINITY };
        let steps = self
            .sampled
            .iter()
            .map(|&(noise_multiplier, rate, _)| one_step(noise_multiplier, rate, epsilon).lower);
        steps.fold(block, f64::max)
    }

    /// The most that adding a record can lose in one of `blocks` blocks.
    fn largest_addition(&self, blocks: u64) -> f64 {
        if self.squared_mu > 0.0 {
            return f64::INFINITY;
        }
        let sum: f64 =
            self.sampled.iter().map(|&(_, rate, count)| -((count / blocks) as f64) * (-rate).ln_1p()).sum();
        sum * (1.0 + 1e-9)
    }

    /// From above, by the best of the integer orders.
    fn by_moments(&self, epsilon: f64) -> f64 {
        let bound = |order: u32| {
            let alpha = f64::from(order);
            let sampled: f64 = self
                .sampled
                .iter()
                .map(|&(noise_multiplier, rate, count)| {
                    count as f64 * log_moment(noise_multiplier, rate, order)
                })
                .sum();
            let unsampled = 0.5 * alpha * (alpha - 1.0) * self.squared_mu * (1.0 + self.relative_error);
            let gain = (alpha - 1.0) * epsilon;
            let rest = -alpha.ln() + (alpha - 1.0) * (-1.0 / alpha).ln_1p();
            sampled + unsampled - gain + rest + ROUNDING * (sampled + unsampled + gain + alpha)
        };
        // The bound is convex in the order but for small terms. Any order is valid: a rough search will do.
        let (mut best, mut order) = (0.0f64, 2u32);
        let mut best_order = 2;
        while order <= LARGEST_ORDER {
            let value = bound(order);
            if value < best {
                (best, best_order) = (value, order);
            } else if value.is_nan() || value > best + 0.5 * best.abs() + 50.0 {
                break;
            }
            order += (order / 8).max(1);
        }
        for order in best_order.saturating_sub(best_order / 8).max(2)..=best_order + best_order / 8 {
            if best_order < 200 || order % (best_order / 100) == 0 {
                best = best.min(bound(order));
            }
        }
        best
    }
}

/// log A_α, rounded up.
fn log_moment(noise_multiplier: f64, rate: f64, order: u32) -> f64 {
    let alpha = f64::from(order);
    let (log_in, log_out) = (rate.ln(), (-rate).ln_1p());
    let mut log_choose = 0.0f64;
    let (mut top, mut size) = (f64::NEG_INFINITY, 0.0f64);
    let mut exponents = Vec::with_capacity(order as usize + 1);
    for k in 0..=order {
        let k = f64::from(k);
        let exponent = k * (k - 1.0) / (2.0 * noise_multiplier * noise_multiplier);
        let term = log_choose + (alpha - k) * log_out + k * log_in + exponent;
        size = size.max(log_choose.abs() + alpha * (log_out.abs() + log_in.abs()) + exponent);
        top = top.max(term);
        exponents.push(term);
        log_choose += ((alpha - k) / (k + 1.0)).ln();
    }
    let sum: f64 = exponents.iter().map(|term| (term - top).exp()).sum();
    // A sum of logarithms has as many roundings as terms, each relative to the largest partial sum. A moment
    // is at least 1.
    (top + sum.ln() + ROUNDING * (alpha + 4.0) * (1.0 + alpha.ln() + size / (alpha + 4.0))).max(0.0)
}

fn one_step(noise_multiplier: f64, rate: f64, epsilon: f64) -> LogInterval {
    let unscaled = log_difference_of_tails(subsampled_step_position(noise_multiplier, rate, epsilon));
    let log_rate = rate.ln();
    let margin = ROUNDING * (1.0 + log_rate.abs());
    LogInterval {
        lower: (unscaled.lower + log_rate) * (1.0 + ROUNDING) - margin,
        upper: ((unscaled.upper + log_rate) * (1.0 - ROUNDING) + margin).min(0.0),
    }
}

/// The logarithm of φ(z) (R(z) - R(z + gap)), for z and z + gap known to `slip`.
fn log_difference_of_tails((z, gap, slip): (f64, f64, f64)) -> LogInterval {
    // Here delta is far in the tail: anything else has been answered by the ordinary formula.
    let (near, far) = (if z == f64::INFINITY { z } else { z - slip }, z + slip);
    if !(near >= 1.0 && far <= 1e140) {
        return LogInterval { lower: f64::NEG_INFINITY, upper: if near > 1e140 { -1e279 } else { 0.0 } };
    }
    let gap_error = (2.0 * slip / gap).min(0.5);
    let log_density = |z: f64| -0.5 * z * z - 0.918_938_533_204_672_8;
    let bounds = |z: f64, gap: f64| {
        let (here, beyond) = (mills_ratio(z), mills_ratio(z + gap));
        let error = 100.0 * ROUNDOFF * (here + beyond);
        let lower = (here - beyond - error).max(gap / ((z + gap) * (z + gap) + 3.0) * (1.0 - ROUNDING));
        let upper = (here - beyond + error).min(gap / (z * z + 1.0) * (1.0 + ROUNDING));
        (lower, upper)
    };
    let lower =
        log_density(far) * (1.0 + ROUNDING) + bounds(far, gap * (1.0 - gap_error)).0.ln() - 1e3 * ROUNDING;
    let upper =
        log_density(near) * (1.0 - ROUNDING) + bounds(near, gap * (1.0 + gap_error)).1.ln() + 1e3 * ROUNDING;
    LogInterval { lower, upper: upper.min(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    fn run(noise_multiplier: f64, sampling: Sampling, count: u64) -> Accountant {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("valid");
        Accountant::new(Relation::AddRemove).compose(event, count)
    }

    #[test]
    fn the_logarithm_form_agrees_with_the_ordinary_formula_where_both_work() {
        for (mu, epsilon) in [(1.0, 5.0), (0.3, 4.0), (2.0, 40.0), (1e-3, 0.02), (5.0, 100.0)] {
            let plain = crate::closed_form::gaussian_delta(mu, 0.0, epsilon);
            let log = log_difference_of_tails(gaussian_position(mu, 0.0, epsilon));
            assert!(log.lower.exp() <= plain.upper * (1.0 + 1e-12), "{mu} {epsilon}: {log:?} {plain:?}");
            assert!(log.upper.exp() >= plain.lower * (1.0 - 1e-12), "{mu} {epsilon}: {log:?} {plain:?}");
            assert!(log.upper - log.lower < 1e-6, "{log:?}");
        }
    }

    #[test]
    fn both_general_bounds_enclose_what_the_engines_know() {
        // Settings in which delta is small and yet known: the bounds for greater depths must enclose it there
        // too.
        for (noise_multiplier, rate, count, epsilon) in
            [(1.0, 0.01, 1_000, 12.0), (2.0, 0.05, 500, 10.0), (4.0, 0.01, 10_000, 4.0), (1.0, 0.1, 4, 25.0)]
        {
            let accountant = run(noise_multiplier, Sampling::Poisson { rate }, count);
            let known = accountant.log_delta(epsilon).expect("an answer");
            let shape = Shape::of(Relation::AddRemove, accountant.composition()).expect("Gaussian");
            let upper = shape.by_moments(epsilon);
            let (lower, _) = accountant.by_blocks(&shape, epsilon).expect("an answer");
            assert!(lower <= known.upper && known.lower <= upper, "{lower} {known:?} {upper}");
            // Moments lose a few units at most: the order of log(T α) of Chernoff's inequality.
            assert!(upper < known.upper + 12.0, "{upper} {known:?}");
        }
    }

    #[test]
    fn other_schemes_and_mechanisms_have_what_their_engine_knows() {
        let sampling = Sampling::Poisson { rate: 0.01 };
        let gaussian = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, sampling).expect("valid");
        let laplace = Event::new(Mechanism::Laplace { scale: 2.0 }, Sampling::None).expect("valid");
        for (event, relation) in [(gaussian, Relation::ReplaceOne), (laplace, Relation::AddRemove)] {
            let accountant = Accountant::new(relation).compose(event, 20);
            for epsilon in [0.5, 500.0] {
                let (delta, log) = (accountant.delta(epsilon), accountant.log_delta(epsilon));
                let (delta, log) = (delta.expect("an answer"), log.expect("an answer"));
                assert!(
                    log.lower.exp() <= delta.upper && delta.lower <= log.upper.exp(),
                    "{event}: {log:?} {delta:?}"
                );
            }
        }
    }

    #[test]
    fn depth_has_no_end() {
        let mut last = 0.0;
        for epsilon in [1.0, 5.0, 20.0, 60.0, 200.0, 1e3, 1e6] {
            let step = run(1.0, Sampling::Poisson { rate: 0.01 }, 1).log_delta(epsilon).expect("an answer");
            assert!(
                step.lower <= step.estimate && step.estimate <= step.upper && step.upper < last,
                "{step:?}"
            );
            assert!(step.upper - step.lower < 1e-6 * step.upper.abs() + 1e-9, "{step:?}");
            last = step.lower;
            let many =
                run(1.0, Sampling::Poisson { rate: 0.01 }, 1_000).log_delta(epsilon).expect("an answer");
            assert!(many.lower <= many.upper && many.upper >= step.lower, "{many:?} {step:?}");
            assert!(many.lower.is_finite(), "{epsilon}: {many:?}");
        }
        let nothing = Accountant::new(Relation::AddRemove).log_delta(0.0).expect("an answer");
        assert_eq!(nothing.lower, f64::NEG_INFINITY);
    }
}
