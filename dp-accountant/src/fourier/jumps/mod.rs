//! Fourier inversion for losses on several scales: an almost constant bulk and rare large losses.
//!
//! At small sampling rates q a step of the Gaussian mechanism loses about q with overwhelming probability
//! and, rarely, very much more. The characteristic function of the sum then hardly falls, and no single tilt
//! suits both the bulk and the tail. This module sorts the outcomes of a composition by their largest step,
//! and inverts each class along a contour of its own.
//!
//! # Method
//! **Coordinates** ([`grid`]). With `v = 1/σ²` and `u = (x - 1/2) v`, the outcome is normal with mean `-v/2`
//! and variance v under `N(0, σ²)`, whose expectation is written `E_0`. `ρ = q (e^u - 1)` is the likelihood
//! ratio of the mixture less 1 and `λ = log(1 + ρ)`; `u' = -u - v`, ρ' and λ' belong to the mirror image
//! `-x`. The loss L and the logarithm G of P's density over `N(0, σ²)` are
//!
//! | direction | L | G |
//! |---|---|---|
//! | remove | `λ` | `λ` |
//! | add | `-λ` | 0 |
//! | replace | `λ - λ'` | `λ` |
//!
//! **Decomposition** ([`side`]). Cuts at `q e^u = o_0 < o_1 = 4 o_0 < …` weigh an outcome as small by smooth
//! windows `κ_0 <= κ_1 <= …`, each ending hard where it is almost 0. Over the steps i of the composition
//!
//! ```text
//! 1 = Π κ_0(u_i) + Σ_j [Π κ_(j+1)(u_i) - Π κ_j(u_i)] + [1 - Π κ_J(u_i)]
//! ```
//!
//! and every bracket is between 0 and 1, so that each is a measure of its own: all losses small; the largest
//! loss between two cuts; and the rest. Since delta is the expectation of `(1 - e^(ε-L))_+ <= 1`, it is the
//! sum of the delta of the measures. The add direction's losses are at most `-log(1-q)` and are not cut.
//!
//! **Inversion** ([`contour`]). A measure with the moment generating function `H(z) = E e^(zL)` has, for any
//! c > 0 and `z = c + it`,
//!
//! ```text
//! delta(ε) = (1/π) ∫_0^∞ Re[ H(z) e^(-zε) / (z (z+1)) ] dt
//! ```
//!
//! Here `H = Π b^T`, or `Π (b + m)^T - Π b^T`, of the steps' moments `b = E_0[κ_j e^(G+zL)]` and
//! `m = E_0[(κ_(j+1) - κ_j) e^(G+zL)]`, times `e^(μ² z(z+1)/2)` for unsampled Gaussian steps of a total
//! squared μ². Each class has a tilt c near its own saddle point. Taking the difference of powers as
//! `b^T ((1 + m/b)^T - 1)` costs no digits where jumps are rare.
//!
//! **Small losses** ([`bulk`]). T may be 10⁷ and `b - 1` a millionth of a millionth; that difference is what
//! is computed, by integrands of second order in the loss, so that its rounding is relative.
//!
//! # Errors
//! The upper end of delta is the sum of the upper ends of all classes, and the lower end that of the lower
//! ends of those that were integrated; the others are not negative. What separates a class's sum from the
//! truth, and the code that adds it:
//!
//! | error | bound | direction | added in |
//! |---|---|---|---|
//! | rest: outcomes above the last cut | its mass, at most `Σ T E_P[1 - κ_J]`, a closed form | delta is larger | [`side::Side::larger`] to `Snapshot::rest` |
//! | classes too small to be integrated | Chernoff, `c^c/(c+1)^(c+1) H(c) e^(-cε)`, with an upper bound on `H(c)` | larger | [`snapshot::Snapshot::at`] |
//! | repetition: sum over `t = kh` for the integral | Poisson's formula: the sum is `Σ_n delta(ε + nW) e^(ncW)`, `W = 2π/h`. The terms are not negative; n > 0 by Chernoff with c' > c, n < 0 with c'' < c or the mass (c'' = 0), each a geometric series | delta is smaller | [`snapshot::Group::at`] |
//! | frequencies beyond the last | `sup |H| / (π t_(K-1))`, because `Σ_(k >= K) h/t_k² <= 1/t_(K-1)` | both | `tail` in [`contour::Contour::integrate`] |
//! | `sup |H|` there | Jumps: `Π (B + M(t))^T - Π B^T` with `|b| <= B` and `|m| <= M(t)`, which falls with t ([`strip::Strip::decay`]). No jumps: layers of the density of the loss ([`bulk::Bulk::decay`]) | | [`contour::AllSteps::log_beyond`] |
//! | sums over outcomes for integrals | contour integral cell by cell, [`strip`] | both | [`strip::Strip::quadrature_error`], in `Bulk::left_out`, `Band::tilted` and `AllSteps::along` |
//! | outcomes outside of the grid | masses in closed form below, and the window's tail at its hard end | both | `Bulk::left_out`, `Band::tilted` (`left_over`), `Strip::range` (`dropped`) |
//! | hard end of a class's lower window | at most `Φ(-9)/Φ(-2.1)` of its weight | both | [`grid::HARD_END_UNITS`] |
//! | rounding of outcomes, weights and sums | first order, from counted operations; library functions are taken to be right to two units of roundoff | both | [`grid::Point`], `Bulk::tilted`, [`waves`] |
//! | all of these in powers and their difference | `|H' - H|` is at most what H grows by when all moduli grow by their errors, as H is a polynomial without negative coefficients | both | [`transform::Transform`] |
//! | rounding of the sum over frequencies | its number of terms times the sum of moduli, and the phases' | both | [`snapshot::Group::at`] |
//! | rounding of logarithms and units | units times their size | outwards | [`snapshot::Group::at`], [`snapshot::Snapshot::at`] |
//!
//! Epsilon is found by Newton's method on the estimates, which proves nothing; its ends are points at which
//! the bounds on delta themselves are on the right side of the given one ([`snapshot::Snapshot::certify`]),
//! since delta falls with ε. Plans (tilts, windows, spacings, goals) are made from rough sums: a bad plan
//! makes intervals wide, not wrong.
//!
//! # What is needed for an answer
//! Rates up to 1/2 (`1 + ρ >= 1/2` keeps errors relative), σ from 0.3 to 10⁴, at most 12 laws, tilts up to
//! 10⁶⁰ and delta above `e^-500`, or `e^-120` for fewer than 1,000 steps. Otherwise there is no answer.
//!
//! # References
//! The inversion is that of the [parent module](super). Sorting a compound sum by its largest term is the
//! usual treatment of rare events, e.g. Asmussen and Glynn 2007, "Stochastic Simulation", chapter VI.

mod band;
mod bulk;
mod contour;
mod grid;
mod side;
mod snapshot;
mod strip;
#[cfg(test)]
mod tests;
mod transform;
mod waves;

use super::{Composition, LogInterval};
use crate::closed_form::Interval;
use side::{SMALLEST, Side};

/// A number and a bound on its error.
#[derive(Debug, Clone, Copy)]
struct Rounded {
    value: f64,
    error: f64,
}

impl Composition {
    /// Whether this module may have an answer for values of delta down to a logarithm.
    pub(crate) fn suits_jumps(&self, log_delta: f64) -> bool {
        self.directions.iter().all(|laws| Side::suits(laws, log_delta))
    }

    /// An interval for epsilon at this delta.
    pub(crate) fn epsilon_by_jumps(&self, delta: f64, relative_width: f64) -> Option<Interval> {
        let log_delta = delta.ln();
        let mut answer: Option<Interval> = None;
        for laws in &self.directions {
            let side = Side::new(laws, self.squared_mu, log_delta, relative_width)?;
            if answer.is_some_and(|known| side.stays_below(known.upper, log_delta)) {
                continue;
            }
            answer = match (answer, side.epsilon(log_delta, relative_width)) {
                (None, found) => Some(found?),
                // What one direction proves from below holds for both.
                (Some(known), None) => Some(Interval { upper: f64::MAX, ..known }),
                (Some(known), Some(found)) => Some(known.max(found)),
            };
        }
        answer
    }

    /// An interval for delta at this epsilon.
    pub(crate) fn delta_by_jumps(&self, epsilon: f64, relative_width: f64) -> Option<Interval> {
        Some(self.log_delta_by_jumps(epsilon, relative_width)?.exponential())
    }

    fn log_delta_by_jumps(&self, epsilon: f64, relative_width: f64) -> Option<LogInterval> {
        let mut answer: Option<LogInterval> = None;
        for laws in &self.directions {
            let mut found = None;
            // Deeper values need longer grids.
            for depth in [-45.0, -150.0, SMALLEST] {
                let Some(side) = Side::new(laws, self.squared_mu, depth, relative_width) else { break };
                if answer.is_some_and(|known| side.stays_below(epsilon, known.lower)) {
                    found = answer;
                    break;
                }
                found = side.log_delta(epsilon);
                if found.is_some_and(|found| found.lower > depth) {
                    break;
                }
            }
            answer = match (answer, found) {
                (None, found) => Some(found?),
                (Some(known), None) => Some(LogInterval { upper: 0.0, ..known }),
                (Some(known), Some(found)) => Some(LogInterval {
                    lower: known.lower.max(found.lower),
                    estimate: known.estimate.max(found.estimate),
                    upper: known.upper.max(found.upper),
                }),
            };
        }
        answer
    }
}
