//! Where a step's losses are cut into small and large ones: softly, and hard where next to nothing is left.
//!
//! The cut at a centre m weighs an outcome as small by `κ(u) = Φ((m - u)/w)` up to an end h about nine widths above m and by 0
//! beyond. The part between two cuts weighs `ω(u) - ω̃(u)` with `ω = 1 - κ`, but for what the hard end of the lower cut adds, at most
//! `Φ(-9)` of it, which is charged as an error of its masses.
//!
//! `Φ` is entire, and `|Φ(-(x+iy))| = |∫_0^∞ φ(x+r+iy) dr| <= e^(y²/2) Φ(-x)`. The same holds for differences of two windows, which
//! are integrals of the same density over an interval.

use super::outline::Outline;
use crate::special::{ROUNDOFF, upper_tail};

/// The width w of a window: at most a fifth of an e-fold of small losses, and less for outcomes whose density falls so fast that a wider window
/// would let pass what lies far below it.
pub(super) fn width(tau: f64) -> f64 {
    0.2 * (1.5 * tau).min(1.0)
}

/// How many widths above its centre a window ends.
const REACH: f64 = 9.0;
/// What the hard end of the lower cut adds to weights between two cuts, relatively: `Φ(-9)` is 1.2e-19.
pub(super) const HARD_END_UNITS: f64 = 1.0;

/// The normal law's mass above z, quickly where it is 1.
fn tail(z: f64) -> f64 {
    if z < -10.0 { 1.0 } else { upper_tail(z) }
}

/// A cut of one step's outcomes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The centre of the window, infinite for none, and its width.
    pub(super) centre: f64,
    pub(super) width: f64,
    /// The index of the last grid point below the end, and the end, half a grid spacing above it.
    pub(super) last: usize,
    pub(super) end: f64,
}

impl Cut {
    /// The cut where `q e^u` is the given number: a loss of about that, if it is small, and otherwise its logarithm.
    pub(super) fn new(outline: &Outline, odds: f64) -> Self {
        Self::at(outline, (odds / outline.rate).ln())
    }

    /// No cut but the end of the grid.
    pub(super) fn none(outline: &Outline) -> Self {
        Self::at(outline, f64::INFINITY)
    }

    fn at(outline: &Outline, centre: f64) -> Self {
        let top = outline.points.len() - 1;
        let width = width(outline.tau);
        let end = centre + REACH * width + 0.5 * outline.spacing;
        let last = if end < outline.points[top].u { outline.index_below(end).max(1) } else { top };
        Self { centre, width, last, end: outline.above(last) }
    }

    /// `κ(u)`.
    pub(super) fn small(&self, u: f64) -> f64 {
        tail((u - self.centre) / self.width)
    }

    /// `ω(u)`.
    pub(super) fn large(&self, u: f64) -> f64 {
        tail((self.centre - u) / self.width)
    }

    /// A bound on the relative error of [`Self::small`], or of [`Self::large`], in units of roundoff.
    ///
    /// The argument z is right to 2 units, which changes the tail by `z φ(z)/Φ(-z) <= z² + 1` times as much.
    pub(super) fn units(&self, u: f64, large: bool) -> f64 {
        let z = if large { self.centre - u } else { u - self.centre } / self.width;
        if z < -9.0 { 2.0 } else { 3.0 * (z * z + 1.0) + 6.0 }
    }

    /// `E_0[ω]`, `E_0[ω e^u]` and, for the mirror image, `E_0[ω e^u']`, with a bound on their relative errors.
    ///
    /// A normal u with mean m' and variance v has `E Φ((u - m)/w) = Φ((m' - m)/√(v + w²))`; the factors `e^u` and `e^u'` move the
    /// mean from `-v/2` to `v/2` and to `-3v/2`.
    pub(super) fn moments(&self, outline: &Outline) -> ([f64; 3], f64) {
        if self.centre == f64::INFINITY {
            return ([0.0; 3], 0.0);
        }
        let v = outline.v;
        let deviation = (v + self.width * self.width).sqrt();
        let z = [0.5, -0.5, 1.5].map(|shift| (self.centre + shift * v) / deviation);
        let furthest = z.iter().fold(0.0f64, |most, z| most.max(z.abs()));
        let slip = 4.0 + 4.0 * (self.centre.abs() + 2.0 * v) / deviation / furthest.max(1e-3);
        let error = ROUNDOFF * (slip * (furthest * furthest + 1.0) + 6.0);
        (z.map(upper_tail), error)
    }

    /// The same for all outcomes above the end.
    pub(super) fn beyond(&self, outline: &Outline) -> [f64; 3] {
        let v = outline.v;
        [0.5, -0.5, 1.5].map(|shift| upper_tail((self.end + shift * v) / outline.tau) * (1.0 + 1e-9))
    }

    /// A bound on P's mass of all that the cut does not count as small.
    pub(super) fn large_mass(&self, outline: &Outline) -> f64 {
        let q = outline.rate;
        let ([base, shifted, _], error) = self.moments(outline);
        let [base_above, shifted_above, _] = self.beyond(outline);
        let soft = (1.0 - q) * base + q * shifted;
        let hard = (1.0 - q) * base_above + q * shifted_above;
        (soft * (1.0 + error) + hard * self.small(self.end)) * (1.0 + 1e-9)
    }
}
