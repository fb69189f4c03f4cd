//! One step on a grid of outcomes, with everything that does not depend on the tilt.
//!
//! Outcomes are measured by `u = (x - 1/2)/σ²`, the logarithm of the likelihood ratio of the two centres:
//! under `N(0, σ²)` it is normal with mean `-v/2` and variance `v = 1/σ²`, and under `N(1, σ²)` with mean
//! `v/2`. With `ρ(u) = q (e^u - 1)` the mixture's likelihood ratio is `1 + ρ`, and `λ = log(1 + ρ)`. The
//! mirror image `-x` of an outcome has `u' = -u - v`.
//!
//! # Cuts
//! Where a step's losses are cut into small and large ones: softly, and hard where next to nothing is left.
//!
//! The cut at a centre m weighs an outcome as small by `κ(u) = Φ((m - u)/w)` up to an end h about nine widths
//! above m and by 0 beyond. The part between two cuts weighs `ω(u) - ω̃(u)` with `ω = 1 - κ`, but for what
//! the hard end of the lower cut adds, which is charged as an error of its weights: `Φ(-9)`, where the upper
//! cut, `log 4 >= 6.9 w` further up, still weighs `Φ(-2.1)`, so less than 1e-17 of them.
//!
//! `Φ` is entire, and `|Φ(-(x+iy))| = |∫_0^∞ φ(x+r+iy) dr| <= e^(y²/2) Φ(-x)`. The same holds for differences
//! of two windows, which are integrals of the same density over an interval.

use crate::fourier::{Direction, Law};
use crate::special::{ROUNDOFF, upper_tail};

/// No rate above this is taken: then `1 + ρ` stays above a half, and every error below is relative.
const LARGEST_RATE: f64 = 0.5;
/// Losses of smaller noise spread over very many orders of magnitude, and those of larger noise hardly spread
/// at all: one contour or a discretised distribution is as good for them.
const SMALLEST_SIGMA: f64 = 0.3;
const LARGEST_SIGMA: f64 = 1e4;
/// The most points of a grid.
const MOST_POINTS: i64 = 20_000;

/// What a step says of one outcome.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) u: f64,
    /// The loss, and a bound on its absolute error.
    pub(super) loss: f64,
    pub(super) loss_error: f64,
    /// The logarithm of P's density over `N(0, σ²)`'s; its error is at most that of the loss.
    pub(super) gain: f64,
    /// `ρ - λ` at the outcome and, for the replace pair, at its mirror image; the errors are relative, but
    /// for `mirror_error`.
    pub(super) curve: f64,
    pub(super) mirrored_curve: f64,
    pub(super) mirror_error: f64,
    /// The probability that the record took part, given the outcome, and given the mirror image.
    pub(super) posterior: f64,
    pub(super) mirrored_posterior: f64,
    /// The density of u under `N(0, σ²)`, its logarithm, and a bound on the error of that.
    pub(super) density: f64,
    pub(super) log_density: f64,
    pub(super) density_error: f64,
}

/// A step and its points on a grid whose spacing is a power of two. The grid points are the multiples of the
/// spacing.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    pub(super) direction: Direction,
    pub(super) rate: f64,
    /// `1/σ²` and `1/σ`.
    pub(super) v: f64,
    pub(super) tau: f64,
    /// How often the step is taken.
    pub(super) count: f64,
    pub(super) spacing: f64,
    /// The index of the first grid point.
    first: i64,
    pub(super) points: Vec<Point>,
}

/// A relative error of this many units of roundoff covers `λ` and `ρ`, see [`Outline::point`].
const RATIO_UNITS: f64 = 10.0;
/// The same for `ρ - λ`, see [`curve`].
pub(super) const CURVE_UNITS: f64 = 48.0;

/// `ρ - log(1 + ρ)` for ρ >= -1/2.
///
/// With `s = ρ/(2 + ρ)` it is `2s²/(1-s) - 2s³ (1/3 + s²/5 + …)`, whose second part is at most an eighth of
/// the first for the arguments of the series. As a function of ρ it multiplies relative errors by
/// `ρ²/((1+ρ)(ρ - log(1+ρ)))`, at most 4 on either side; with the 4 units that ρ comes with and the rounding
/// here (at most 24 units for the series, 34 for the difference), [`CURVE_UNITS`] hold.
fn curve(ratio: f64) -> f64 {
    if ratio.abs() > 0.25 {
        return ratio - ratio.ln_1p();
    }
    let s = ratio / (2.0 + ratio);
    let square = s * s;
    // |s| is at most 1/7: nine terms leave less than s^18.
    let mut sum = 0.0;
    for k in (1..=9).rev() {
        sum = sum * square + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * square / (1.0 - s) - 2.0 * square * s * sum
}

/// `1/k` from k = 3 to 16.
const INVERSES: [f64; 14] = {
    let mut inverses = [0.0; 14];
    let mut k = 0;
    while k < 14 {
        inverses[k] = 1.0 / (k + 3) as f64;
        k += 1;
    }
    inverses
};

/// `e^y - 1 - y`, with a relative error of at most 12 units.
pub(super) fn exp_second(y: f64) -> f64 {
    if y.abs() > 0.5 {
        return y.exp_m1() - y;
    }
    // Horner's scheme for y²/2 (1 + y/3 (1 + y/4 (…))); what is left out is below y^14/16!, or y^6/8!, of the
    // sum.
    let inverses = if y.abs() < 2e-3 { &INVERSES[..5] } else { &INVERSES };
    let sum = inverses.iter().rev().fold(1.0, |sum, inverse| 1.0 + y * inverse * sum);
    0.5 * y * y * sum
}

impl Outline {
    /// Whether the errors of this law are bounded here.
    pub(super) fn suits(law: &Law) -> bool {
        law.rate <= LARGEST_RATE && (SMALLEST_SIGMA..=LARGEST_SIGMA).contains(&law.sigma)
    }

    /// The points between which all but a mass of about e^-`log_mass` of either law lies. `None` for
    /// parameters that leave the range in which the errors are bounded.
    pub(super) fn new(law: &Law, count: f64, log_mass: f64) -> Option<Self> {
        let Law { direction, sigma, .. } = *law;
        if !Self::suits(law) {
            return None;
        }
        let tau = 1.0 / sigma;
        let v = tau * tau;
        // The quadrature error of a smooth integrand is e^(y² Q - 2πy/h) at height y, with Q of the density
        // and of a window; at its best it is e^-(2π/h)²/4Q, here e^-78.
        let penalty = 0.5 / v + 0.5 / width(tau).powi(2);
        let most = 2.0 * std::f64::consts::PI / (4.0 * 78.0 * penalty).sqrt();
        let spacing = 2f64.powf(most.log2().floor()).min(0.0625);
        let far = (2.0 * log_mass).sqrt().max(8.5);
        // The replace pair's losses far below zero live on the mirrored mixture, a v further down.
        let mirrored = if direction == Direction::Replace { v } else { 0.0 };
        let lowest = -0.5 * v - mirrored - 10.5 * tau;
        let highest = 0.5 * v + far * tau;
        let (first, last) = ((lowest / spacing).floor() as i64, (highest / spacing).ceil() as i64);
        if last - first > MOST_POINTS || highest > 600.0 {
            return None;
        }
        Some(Self::on(law, count, spacing, first, last))
    }

    /// The grid points between two indices.
    pub(super) fn on(law: &Law, count: f64, spacing: f64, first: i64, last: i64) -> Self {
        let Law { direction, sigma, rate } = *law;
        let tau = 1.0 / sigma;
        let mut outline =
            Self { direction, rate, v: tau * tau, tau, count, spacing, first, points: Vec::new() };
        outline.points = (first..=last).map(|k| outline.point(k as f64 * spacing)).collect();
        outline
    }

    /// What the step says of the outcome u, which is taken to be exact.
    ///
    /// `ρ` has a relative error of 4 units (of `expm1` and the product). As `dλ = dρ/(1+ρ)`, `ρ/(1+ρ) <= λ`
    /// above and `1 + ρ >= 1/2` below zero, that of `λ` is at most 8 and 2 of its own. The mirror image is
    /// known to `u |u'| + 3uv` absolutely.
    pub(super) fn point(&self, u: f64) -> Point {
        const U: f64 = ROUNDOFF;
        let (q, v) = (self.rate, self.v);
        let ratio = q * u.exp_m1();
        let log_ratio = ratio.ln_1p();
        let posterior = q * u.exp() / (1.0 + ratio);
        let centred = u + 0.5 * v;
        let half = centred * centred / (2.0 * v);
        let log_density = -half - v.ln() * 0.5 - 0.918_938_533_204_672_8;
        let density_error = U * (10.0 * half + 2.0 * centred.abs() + 2.0 * v.ln().abs() + 8.0);
        let single = Point {
            u,
            loss: log_ratio,
            loss_error: RATIO_UNITS * U * log_ratio.abs(),
            gain: log_ratio,
            curve: curve(ratio),
            mirrored_curve: 0.0,
            mirror_error: 0.0,
            posterior,
            mirrored_posterior: 0.0,
            density: log_density.exp(),
            log_density,
            density_error,
        };
        match self.direction {
            Direction::Remove => single,
            Direction::Add => Point { loss: -log_ratio, gain: 0.0, ..single },
            Direction::Replace => {
                let mirror = -u - v;
                let raised = q * mirror.exp();
                let mirrored = q * mirror.exp_m1();
                let slip = U * (mirror.abs() + 3.0 * v) * raised;
                let log_mirrored = mirrored.ln_1p();
                let loss = log_ratio - log_mirrored;
                Point {
                    loss,
                    loss_error: RATIO_UNITS * U * (log_ratio.abs() + log_mirrored.abs())
                        + slip / (1.0 + mirrored)
                        + U * loss.abs(),
                    mirrored_curve: curve(mirrored),
                    mirror_error: slip * mirrored.abs() / (1.0 + mirrored),
                    mirrored_posterior: raised / (1.0 + mirrored),
                    ..single
                }
            }
        }
    }

    /// The index of the last grid point below a place.
    pub(super) fn index_below(&self, u: f64) -> usize {
        let k = (u / self.spacing).floor() - self.first as f64;
        k.clamp(0.0, (self.points.len() - 1) as f64) as usize
    }

    /// The place half a spacing above a grid point.
    pub(super) fn above(&self, index: usize) -> f64 {
        ((self.first + index as i64) as f64 + 0.5) * self.spacing
    }
}

/// The width w of a window: at most a fifth of an e-fold of small losses, and less for outcomes whose density
/// falls so fast that a wider window would let pass what lies far below it.
pub(super) fn width(tau: f64) -> f64 {
    0.2 * (1.5 * tau).min(1.0)
}

/// How many widths above its centre a window ends.
const REACH: f64 = 9.0;
/// What the hard end of the lower cut adds to weights between two cuts, relatively: `Φ(-9)/Φ(-2.1)` is
/// 6.4e-18.
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
    /// The cut where `q e^u` is the given number: a loss of about that, if it is small, and otherwise its
    /// logarithm.
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
        if z < -9.0 { 2.0 } else { 5.0 * (z * z + 1.0) + 6.0 }
    }

    /// `E_0[ω]`, `E_0[ω e^u]` and, for the mirror image, `E_0[ω e^u']`, with a bound on their relative
    /// errors.
    ///
    /// A normal u with mean m' and variance v has `E Φ((u - m)/w) = Φ((m' - m)/√(v + w²))`; the factors `e^u`
    /// and `e^u'` move the mean from `-v/2` to `v/2` and to `-3v/2`.
    pub(super) fn moments(&self, outline: &Outline) -> ([f64; 3], f64) {
        if self.centre == f64::INFINITY {
            return ([0.0; 3], 0.0);
        }
        let v = outline.v;
        let deviation = (v + self.width * self.width).sqrt();
        let z = [0.5, -0.5, 1.5].map(|shift| (self.centre + shift * v) / deviation);
        let furthest = z.iter().fold(0.0f64, |most, z| most.max(z.abs()));
        let slip = 8.0 * furthest + 4.0 * (self.centre.abs() + 2.0 * v) / deviation;
        let error = ROUNDOFF * (slip * (furthest + 1.0) + 6.0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_second_order_keep_their_digits() {
        // The series of both functions, in so many terms that the rest is below roundoff.
        for k in -99..400 {
            let x = f64::from(k) * 0.005;
            let mut series = (0.0, 0.0);
            let (mut log_term, mut exp_term) = (-x, x);
            for n in 2..400 {
                let n = f64::from(n);
                log_term *= -x;
                exp_term *= x / n;
                series = (series.0 + log_term / n, series.1 + exp_term);
            }
            if x.abs() < 0.9 {
                let error = (curve(x) - series.0.abs()).abs();
                assert!(error <= CURVE_UNITS * ROUNDOFF * series.0.abs(), "{x}");
            }
            // The series alternates for negative arguments and loses a little itself.
            assert!((exp_second(x) - series.1).abs() <= 24.0 * ROUNDOFF * series.1.abs(), "{x}");
        }
        for x in [1e-9, -1e-9, 1e-4, -3e-5] {
            let (square, cube) = (x * x, x * x * x);
            let log =
                square / 2.0 - cube / 3.0 + square * square / 4.0 - square * cube / 5.0 + cube * cube / 6.0;
            let exp = square / 2.0 + cube / 6.0 + square * square / 24.0 + square * cube / 120.0;
            assert!((curve(x) / log - 1.0).abs() < CURVE_UNITS * ROUNDOFF);
            assert!((exp_second(x) / exp - 1.0).abs() < 12.0 * ROUNDOFF);
        }
    }
}
