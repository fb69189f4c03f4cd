//! Certified answers by Fourier inversion along a tilted contour: fast, and near machine precision where it applies.
//!
//! With `M(z) = E_P exp(zL)` the moment generating function of the total loss L and `z = c + it`, c > 0, the two-sided
//! Laplace transform of delta(ε) is `M(z) / (z (z+1))`, so that
//!
//! ```text
//! delta(ε) = (1/π) ∫_0^∞ Re[ M(z) e^(-zε) / (z (z+1)) ] dt
//! ```
//!
//! M is a product of one factor for each step, so T equal steps cost one power. With c near the saddle point
//! the integrand falls off like that of a normal law and nothing cancels, however small delta is. What separates the sum that is computed from
//! the truth is bounded, not estimated:
//!
//! 1. **Repetition** (trapezoid in t, spacing h). By Poisson's summation formula the full sum is `Σ_n delta(ε + nW) e^(ncW)` with
//!    `W = 2π/h`: it exceeds delta by terms that are not negative. For n > 0 Chernoff's bound
//!    `delta(ε') <= c'^c'/(c'+1)^(c'+1) e^(K(c') - c'ε')` with c' > c makes a geometric series, for n < 0 with c' < c (or `delta <= 1`).
//! 2. **Frequencies left out.** Beyond the last one, t_K, `|M(c+it)| <= M(c) Π ρ_j^(T_j)` with `ρ` of [`table::Decay`], which falls with t;
//!    `Σ h/t² <= 1/t_K` does the rest.
//! 3. **Quadrature in x.** The factors are integrals of functions analytic in a strip; the trapezoidal rule errs by a known exponential
//!    ([`law::Law::log_quadrature_error`]).
//! 4. **Rounding**, propagated to first order with generous constants: of losses and weights, of the phases that are turned
//!    from one frequency to the next, of sums, and of the T-th powers, `|Φ' - Φ| <= |Φ| ((1 + η/|φ|)^T - 1)`.
//!
//! Where a bound cannot be had (a law that hardly decays, one or two steps, absurd tilts) there is no answer,
//! and the loss distribution of [`lattice`](crate::lattice) has to give one.
//!
//! # References
//! Zhu, Dong and Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic Function"; Alghamdi et al. 2023, "The
//! Saddle-Point Method in Differential Privacy" (the contour); Trefethen and Weideman 2014, "The Exponentially
//! Convergent Trapezoidal Rule", Theorem 5.1.

mod inversion;
mod law;
mod sketch;
mod table;

pub(crate) use inversion::LogInterval;
use inversion::{Inversion, Plan};
pub(crate) use law::{Direction, Law};
use sketch::Sketch;

use crate::closed_form::Interval;
use crate::special::ROUNDOFF;

/// Work (products of a frequency and an outcome) up to which the first plan is good enough.
const CHEAP: f64 = 1e6;

/// A composition in all its directions, each a list of laws with their counts, and a Gaussian block in common.
#[derive(Debug, Clone)]
pub(crate) struct Composition {
    pub(crate) directions: Vec<Vec<(Law, f64)>>,
    pub(crate) squared_mu: f64,
}

/// One direction of a composition while it is being asked.
struct Side<'a> {
    laws: &'a [(Law, f64)],
    squared_mu: f64,
    sketch: Sketch,
}

impl Composition {
    /// An interval for epsilon at this delta.
    pub(crate) fn epsilon(&self, delta: f64, relative_width: f64) -> Option<Interval> {
        let log_delta = delta.ln();
        let mut answer: Option<Interval> = None;
        for laws in &self.directions {
            let mut side = Side::new(laws, self.squared_mu);
            if let Some(known) = answer {
                if side.stays_below(known.upper, log_delta) {
                    continue;
                }
            }
            let found = side.epsilon(log_delta, relative_width)?;
            answer = Some(answer.map_or(found, |known| known.max(found)));
        }
        answer
    }

    /// An interval for delta at this epsilon, of about this relative width.
    pub(crate) fn delta(&self, epsilon: f64, relative_width: f64) -> Option<Interval> {
        let found = self.log_delta(epsilon, (0.02 * relative_width).clamp(1e-12, 1e-3))?;
        // Nothing is claimed of values near the end of the range of f64.
        let outwards = |log: f64, sign: f64| log.exp() * (1.0 + sign * 4.0 * ROUNDOFF * (2.0 + log.abs()));
        let lower = if found.lower < -640.0 { 0.0 } else { outwards(found.lower, -1.0) };
        Some(Interval { lower, upper: (outwards(found.upper, 1.0) + 1e-280).min(1.0) })
    }

    /// An interval for the logarithm of delta at this epsilon.
    pub(crate) fn log_delta(&self, epsilon: f64, tolerance: f64) -> Option<LogInterval> {
        let mut answer: Option<LogInterval> = None;
        for laws in &self.directions {
            let mut side = Side::new(laws, self.squared_mu);
            if let Some(known) = answer {
                // One direction far below the other needs no number of its own.
                if side.stays_below(epsilon, known.lower) {
                    continue;
                }
            }
            let found = side.log_delta(epsilon, tolerance)?;
            answer = Some(match answer {
                None => found,
                Some(known) => LogInterval {
                    lower: known.lower.max(found.lower),
                    estimate: known.estimate.max(found.estimate),
                    upper: known.upper.max(found.upper),
                },
            });
        }
        answer
    }
}

impl<'a> Side<'a> {
    fn new(laws: &'a [(Law, f64)], squared_mu: f64) -> Self {
        Self { laws, squared_mu, sketch: Sketch::new(laws, squared_mu) }
    }

    /// Whether Chernoff's bound already shows delta at epsilon to be at most `e^log_delta`.
    fn stays_below(&mut self, epsilon: f64, log_delta: f64) -> bool {
        let (mut tilt, sketched) = self.sketch.tilt_at(epsilon);
        // A smaller tilt that shows it too is kinder to the arithmetic: where epsilon is beyond all losses, the best is infinite.
        while self.sketch.log_delta_bound(0.5 * tilt, epsilon) < log_delta - 1.0 {
            tilt *= 0.5;
        }
        sketched < log_delta - 1e-3
            && inversion::chernoff(self.laws, self.squared_mu, tilt, epsilon)
                .is_some_and(|bound| bound <= log_delta)
    }

    /// The integral at the best of a few tilts.
    fn inversion(&mut self, tilt: f64, epsilon: f64, log_delta: f64, tolerance: f64) -> Option<Inversion> {
        let spread = self.sketch.cumulants(tilt)?.variance.sqrt();
        let floor = 0.3 / spread.max(1e-12);
        let mut best: Option<Plan> = None;
        for share in [1.0, 0.75, 0.55, 0.4] {
            let tilt = (share * tilt).max(floor);
            let plan =
                Plan::new(&mut self.sketch, self.laws, self.squared_mu, tilt, epsilon, log_delta, tolerance);
            if let Some(plan) = plan {
                let better = best.as_ref().is_none_or(|best| plan.work < best.work);
                let done = plan.work <= CHEAP;
                if better {
                    best = Some(plan);
                }
                if done {
                    break;
                }
            }
        }
        Inversion::new(&best?, self.laws, self.squared_mu)
    }

    fn log_delta(&mut self, epsilon: f64, tolerance: f64) -> Option<LogInterval> {
        let (tilt, bound) = self.sketch.tilt_at(epsilon);
        let cumulants = self.sketch.cumulants(tilt)?;
        // The saddle-point approximation, for planning.
        let guess = bound.min(0.0) - (1.0 + cumulants.variance.sqrt() * tilt).ln() - 1.0;
        let (interval, _) = self.inversion(tilt, epsilon, guess, tolerance)?.log_delta(epsilon);
        (interval.upper.is_finite()).then_some(interval)
    }

    fn epsilon(&mut self, log_delta: f64, relative_width: f64) -> Option<Interval> {
        let (tilt, bound) = self.sketch.tilt_for(log_delta);
        if !bound.is_finite() {
            return None;
        }
        let cumulants = self.sketch.cumulants(tilt)?;
        let peak =
            (1.0 + (2.0 * std::f64::consts::PI * cumulants.variance).sqrt() * tilt * (tilt + 1.0)).ln();
        let guess = ((cumulants.log_moment - log_delta - peak) / tilt).clamp(0.0, bound.max(0.0));
        // An error of delta is one of epsilon times the tilt.
        let goal = relative_width * guess.max(1e-3);
        let tolerance = (0.02 * goal * tilt).clamp(1e-12, 1e-3);
        let inversion = self.inversion(tilt, guess, log_delta, tolerance)?;
        let (at_zero, _) = inversion.log_delta(0.0);
        let margin = 8.0 * ROUNDOFF * log_delta.abs();
        if at_zero.upper <= log_delta - margin {
            return Some(Interval::ZERO);
        }
        // Newton's method on log delta, kept between what is known to be too small and too large.
        let (mut low, mut high, mut epsilon) = (0.0f64, bound.max(0.0) * 1.1 + 1e-3, guess);
        let mut found = inversion.log_delta(epsilon);
        for _ in 0..60 {
            let (at, slope) = found;
            let excess = at.estimate - log_delta;
            if excess > 0.0 {
                low = low.max(epsilon)
            } else {
                high = high.min(epsilon)
            }
            let newton = epsilon + excess / slope;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let step = (next - epsilon).abs();
            epsilon = next;
            found = inversion.log_delta(epsilon);
            if step <= 1e-3 * goal || step <= 4.0 * ROUNDOFF * epsilon {
                break;
            }
        }
        let (at, slope) = found;
        if !(slope > 0.0 && slope.is_finite()) {
            return None;
        }
        let residual = (at.estimate - log_delta).abs();
        // Points on both sides at which the bounds on delta themselves decide.
        let mut upper = None;
        let mut step =
            ((at.upper - at.estimate) + residual + 4.0 * margin) / slope + 4.0 * ROUNDOFF * epsilon;
        for _ in 0..24 {
            if inversion.log_delta(epsilon + step).0.upper <= log_delta - margin {
                upper = Some(epsilon + step);
                break;
            }
            step *= 1.5;
        }
        let mut lower = 0.0;
        let mut step =
            ((at.estimate - at.lower).min(1e6) + residual + 4.0 * margin) / slope + 4.0 * ROUNDOFF * epsilon;
        for _ in 0..24 {
            let point = epsilon - step;
            if point <= 0.0 {
                break;
            }
            if inversion.log_delta(point).0.lower >= log_delta + margin {
                lower = point;
                break;
            }
            step *= 1.5;
        }
        Some(Interval { lower, upper: upper? })
    }
}

#[cfg(test)]
mod tests;
