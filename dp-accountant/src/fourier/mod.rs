//! Certified answers by Fourier inversion along a tilted contour: fast, and near machine precision where it
//! applies.
//!
//! With `M(z) = E_P exp(zL)` the moment generating function of the total loss L and `z = c + it`, c > 0, the
//! two-sided Laplace transform of delta(ε) is `M(z) / (z (z+1))`, so that
//!
//! ```text
//! delta(ε) = (1/π) ∫_0^∞ Re[ M(z) e^(-zε) / (z (z+1)) ] dt
//! ```
//!
//! M is a product of one factor for each step, so T equal steps cost one power. With c near the saddle point
//! the integrand falls off like that of a normal law and nothing cancels, however small delta is. What
//! separates the sum that is computed from the truth is bounded, not estimated:
//!
//! 1. **Repetition** (trapezoid in t, spacing h). By Poisson's summation formula the full sum is
//!    `Σ_n delta(ε + nW) e^(ncW)` with `W = 2π/h`: it exceeds delta by terms that are not negative. For n > 0
//!    Chernoff's bound `delta(ε') <= c'^c'/(c'+1)^(c'+1) e^(K(c') - c'ε')` with c' > c makes a geometric
//!    series, for n < 0 with c' < c (or `delta <= 1`).
//! 2. **Frequencies left out.** Beyond the last one, t_K, `|M(c+it)| <= M(c) Π ρ_j^(T_j)` with `ρ` of
//!    [`table::Decay`], which falls with t; `Σ h/t² <= 1/t_K` does the rest.
//! 3. **Quadrature in x.** The factors are integrals of functions analytic in a strip; the trapezoidal rule
//!    errs by a known exponential ([`law::Law::log_quadrature_error`]).
//! 4. **Rounding**, propagated to first order with generous constants: of losses and weights, of the phases
//!    that are turned from one frequency to the next, of sums, and of the T-th powers,
//!    `|Φ' - Φ| <= |Φ| ((1 + η/|φ|)^T - 1)`.
//!
//!
//! # Laws that hardly decay
//! After few steps, or where single steps rarely lose much, `M(c + it)` falls so slowly that too many
//! frequencies would be needed. Then a Gaussian step of squared mu v is added, which multiplies the integrand
//! by `e^(v z(z+1)/2)`. Its delta, G_v, is an upper bound, since one more step cannot hide anything. It also
//! is a lower one but for a known amount: differentiating under the integral, `dG_v/dv` is half the density
//! p_v of the total loss at ε; the density after a step u < v is at most `√(v/u) e^(v/8)` times that after a
//! step v, because the ratio of the two normal densities is `√(v/u) exp(-(y²/2)(1/u - 1/v) + (v-u)/8)`; and
//! `∫_0^v √(v/u) du = 2v`. So
//!
//! ```text
//! G_v(ε) - v e^(v/8) p_v(ε)  <=  delta(ε)  <=  G_v(ε)
//! ```
//!
//! an interval of second order in `√v`, whose density comes from the same terms.
//!
//! Losses on several scales at once, such as an almost constant bulk and rare large losses at small sampling
//! rates, have no contour that suits all of them. They are sorted by the largest step ([`jumps`]), and each
//! class is integrated along its own contour.
//!
//! Where a bound still cannot be had (absurd tilts, noise far below the sensitivity) there is no answer,
//! and the loss distribution of [`lattice`](crate::lattice) has to give one.
//!
//! # References
//! Zhu, Dong and Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic Function";
//! Alghamdi et al. 2023, "The Saddle-Point Method in Differential Privacy" (the contour); Trefethen and
//! Weideman 2014, "The Exponentially Convergent Trapezoidal Rule", Theorem 5.1.

mod inversion;
mod jumps;
mod law;
mod sketch;
mod table;

use inversion::{Inversion, Quadrature};
pub(crate) use inversion::{LogInterval, Patience};
pub(crate) use law::{Direction, Law};
use sketch::Sketch;

use crate::closed_form::Interval;
use crate::special::ROUNDOFF;

/// Work (products of a frequency and an outcome) up to which the first plan is good enough.
const CHEAP: f64 = 1e6;

/// A composition in all its directions, each a list of laws with their counts, and a Gaussian block in
/// common.
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
    patience: Patience,
}

impl Composition {
    /// An interval for epsilon at this delta.
    pub(crate) fn epsilon(&self, delta: f64, relative_width: f64, patience: Patience) -> Option<Interval> {
        let log_delta = delta.ln();
        let mut answer: Option<Interval> = None;
        for laws in &self.directions {
            let mut side = Side::new(laws, self.squared_mu, patience);
            if answer.is_some_and(|known| side.stays_below(known.upper, log_delta)) {
                continue;
            }
            let found = side.epsilon(log_delta, relative_width)?;
            answer = Some(answer.map_or(found, |known| known.max(found)));
        }
        answer
    }

    /// An upper end for epsilon at this delta by Chernoff's bound, which needs no contour: where there is no better
    /// one.
    pub(crate) fn epsilon_by_chernoff(&self, delta: f64) -> Option<f64> {
        let log_delta = delta.ln();
        let mut answer = 0.0f64;
        for laws in &self.directions {
            let best = Sketch::new(laws, self.squared_mu).tilt_for(log_delta).0;
            // A smaller tilt is kinder to the arithmetic.
            let tilts = [1.0, 0.8, 0.6, 0.4, 0.2].map(|share| share * best);
            let bounds = tilts.into_iter().filter_map(|tilt| {
                inversion::chernoff_epsilon(laws, self.squared_mu, tilt, log_delta, Patience::Much)
            });
            answer = answer.max(bounds.reduce(f64::min)?);
        }
        Some(answer)
    }

    /// An interval for delta at this epsilon, of about this relative width.
    pub(crate) fn delta(&self, epsilon: f64, relative_width: f64, patience: Patience) -> Option<Interval> {
        Some(self.log_delta(epsilon, relative_width, patience)?.exponential())
    }

    /// An interval for the logarithm of delta at this epsilon.
    pub(crate) fn log_delta(
        &self,
        epsilon: f64,
        relative_width: f64,
        patience: Patience,
    ) -> Option<LogInterval> {
        let mut answer: Option<LogInterval> = None;
        for laws in &self.directions {
            let mut side = Side::new(laws, self.squared_mu, patience);
            // One direction far below the other needs no number of its own.
            if answer.is_some_and(|known| side.stays_below(epsilon, known.lower)) {
                continue;
            }
            let found = side.log_delta(epsilon, relative_width)?;
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
    fn new(laws: &'a [(Law, f64)], squared_mu: f64, patience: Patience) -> Self {
        Self { laws, squared_mu, sketch: Sketch::new(laws, squared_mu), patience }
    }

    /// Whether Chernoff's bound already shows delta at epsilon to be at most `e^log_delta`.
    fn stays_below(&mut self, epsilon: f64, log_delta: f64) -> bool {
        let (mut tilt, sketched) = self.sketch.tilt_at(epsilon);
        // A smaller tilt that shows it too is kinder to the arithmetic: where epsilon is beyond all losses,
        // the best is infinite.
        while self.sketch.log_delta_bound(0.5 * tilt, epsilon) < log_delta - 1.0 {
            tilt *= 0.5;
        }
        sketched < log_delta - 1e-3
            && inversion::chernoff(self.laws, self.squared_mu, tilt, epsilon, self.patience)
                .is_some_and(|bound| bound <= log_delta)
    }

    /// The integral at the best of a few tilts, with a Gaussian step of at most the squared mu `smoothing`
    /// added where that saves work.
    fn inversion(
        &mut self,
        tilt: f64,
        epsilon: f64,
        log_delta: f64,
        tolerance: f64,
        smoothing: f64,
    ) -> Option<Inversion> {
        let spread = self.sketch.cumulants(tilt)?.variance.sqrt();
        let floor = 0.3 / spread.max(1e-12);
        let mut best: Option<Quadrature> = None;
        'plans: for smoothing in [0.0, smoothing] {
            for share in [1.0, 0.75, 0.55, 0.4] {
                let tilt = (share * tilt).max(floor);
                let plan = Quadrature::new(
                    &mut self.sketch,
                    self.laws,
                    self.squared_mu,
                    tilt,
                    epsilon,
                    log_delta,
                    tolerance,
                    smoothing,
                    self.patience,
                );
                if let Some(plan) = plan
                    && best.as_ref().is_none_or(|best| plan.work < best.work)
                {
                    best = Some(plan);
                }
                if best.as_ref().is_some_and(|best| best.work <= CHEAP) {
                    break 'plans;
                }
            }
        }
        self.sketch.set_block(self.squared_mu);
        Inversion::new(&best?, self.laws, self.squared_mu, self.patience)
    }

    fn log_delta(&mut self, epsilon: f64, relative_width: f64) -> Option<LogInterval> {
        let (tilt, bound) = self.sketch.tilt_at(epsilon);
        let cumulants = self.sketch.cumulants(tilt)?;
        // The saddle-point approximation, for planning.
        let guess = bound.min(0.0) - (1.0 + cumulants.variance.sqrt() * tilt).ln() - 1.0;
        let tolerance = (0.02 * relative_width).clamp(1e-12, 1e-3);
        // The density at epsilon is about c (c+1) delta, where it is smooth; where it is not, less of an
        // added step is needed.
        let mut smoothing = 0.3 * relative_width / (tilt * (tilt + 1.0));
        let mut best: Option<LogInterval> = None;
        for _ in 0..4 {
            let Some(inversion) = self.inversion(tilt, epsilon, guess, tolerance, smoothing) else { break };
            let (found, _) = inversion.log_delta(epsilon);
            if !found.upper.is_finite() {
                break;
            }
            best = Some(best.map_or(found, |best| {
                let (lower, upper) = (best.lower.max(found.lower), best.upper.min(found.upper));
                LogInterval { lower, estimate: found.estimate.max(lower).min(upper), upper }
            }));
            let width = found.upper - found.lower;
            if width <= relative_width || width > self.patience.most_excess() * relative_width {
                break;
            }
            smoothing *= (0.5 * relative_width / width).clamp(0.01, 0.5);
        }
        best
    }

    fn epsilon(&mut self, log_delta: f64, relative_width: f64) -> Option<Interval> {
        let (tilt, bound) = self.sketch.tilt_for(log_delta);
        if !bound.is_finite() {
            return None;
        }
        let bound = bound.max(0.0);
        let cumulants = self.sketch.cumulants(tilt)?;
        let peak =
            (1.0 + (2.0 * std::f64::consts::PI * cumulants.variance).sqrt() * tilt * (tilt + 1.0)).ln();
        let guess = ((cumulants.log_moment - log_delta - peak) / tilt).clamp(0.0, bound);
        let goal = |found: Interval| relative_width * found.upper.min(bound).max(1e-3);
        let mut smoothing = 0.3;
        let mut best = self.epsilon_at(tilt, guess, bound, log_delta, relative_width, smoothing);
        // With a better idea of epsilon: less of an added step; and at smaller tilts, because where single
        // steps can lose very much the best moment lives on such steps and not on the losses in question.
        for share in [1.0, 0.85, 0.6] {
            let Some((found, epsilon)) = best else { break };
            let excess = (found.upper - found.lower) / goal(found);
            if excess <= 1.0 || excess > self.patience.most_excess() {
                break;
            }
            smoothing *= (0.5 / excess).clamp(0.01, 1.0);
            let tilt = share * self.sketch.tilt_at(epsilon).0.min(tilt);
            if let Some((next, epsilon)) =
                self.epsilon_at(tilt, epsilon, bound, log_delta, relative_width, smoothing)
            {
                best = Some((found.intersect(next), epsilon));
            }
        }
        best.map(|(found, _)| found)
    }

    /// An interval for epsilon seen from one tilt, planned for a guess of it, and the best guess afterwards.
    /// An added step may move epsilon by the given share of the goal.
    fn epsilon_at(
        &mut self,
        tilt: f64,
        guess: f64,
        bound: f64,
        log_delta: f64,
        relative_width: f64,
        smoothing: f64,
    ) -> Option<(Interval, f64)> {
        // An error of delta is one of epsilon times the tilt.
        let goal = relative_width * guess.max(1e-3);
        let tolerance = (0.02 * goal * tilt).clamp(1e-12, 1e-3);
        // The added step moves epsilon by about (c + 1)/2 times its squared mu, and the bound on that is
        // twice as much.
        let smoothing = smoothing * goal / (tilt + 1.0);
        let inversion = self.inversion(tilt, guess, log_delta, tolerance, smoothing)?;
        let (at_zero, _) = inversion.log_delta(0.0);
        let margin = 8.0 * ROUNDOFF * log_delta.abs();
        if at_zero.upper <= log_delta - margin {
            return Some((Interval::ZERO, 0.0));
        }
        // Newton's method on log delta, kept between what is known to be too small and too large.
        let (mut low, mut high, mut epsilon) = (0.0f64, bound * 1.1 + 1e-3, guess);
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
        // Points on both sides at which the bounds on delta themselves decide.
        let residual = (at.estimate - log_delta).abs() + 4.0 * margin;
        let mut upper = f64::MAX;
        let mut step = ((at.upper - at.estimate) + residual) / slope + 4.0 * ROUNDOFF * epsilon;
        for _ in 0..24 {
            if inversion.log_delta(epsilon + step).0.upper <= log_delta - margin {
                upper = epsilon + step;
                break;
            }
            step *= 1.5;
        }
        let mut lower = 0.0;
        let mut step = ((at.estimate - at.lower).min(1e6) + residual) / slope + 4.0 * ROUNDOFF * epsilon;
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
        Some((Interval { lower, upper }, epsilon))
    }
}

#[cfg(test)]
mod tests;
