//! Steps with small losses only: their moment generating function less 1.
//!
//! Most of a step's outcomes lose next to nothing, and there are many steps: what counts is the *difference*
//! of `M_s(z) = E_0[κ f]`, `f = e^(G + zL)`, from 1, which may be a millionth of a millionth and has to be
//! right relative to itself. With the linear function `l(z) = (z+1) ρ`, `-zρ` or `(z+1) ρ - zρ'` for the
//! three directions, whose mean under `N(0, σ²)` is 0,
//!
//! ```text
//! M_s(z) - 1 = E_0[κ (f - 1 - l)] - E_0[ω (1 + l)]
//! ```
//!
//! The first integrand is of second order in the losses and is evaluated as such: with `y = G + cL` it is
//! `(e^y - 1 - y) + (y - l(c))` at `t = 0`, where `y - l` is a combination of `ρ - λ` and its mirror image.
//! The second has a closed form. Along the contour
//!
//! ```text
//! M_s(c + it) - 1 = [M_s(c) - 1] + it D + E_0[κ e^y (e^(itL) - 1 - itL)],    D = E_0[κ (e^y L - l')] - E_0[ω l'],   l' = dl/dz
//! ```
//!
//! and the last part is summed as a power series where `|tL| <= 1/2` and from phases elsewhere, where
//! `1 - cos tL` is not small ([`super::waves`]). Rounding is therefore relative to `|z|² E L²`, which T steps
//! multiply to the order of `log M^T`, and not to 1.
//!
//! `κ` ends hard at h. What that leaves out of the first integral of `-(1 + l)` is charged; what it leaves
//! out of that of f is no part of the law ([`super::grid`]).

use super::Rounded;
use super::grid::Cut;
use super::grid::{CURVE_UNITS, Outline, exp_second};
use super::strip::Strip;
use crate::fourier::Direction;
use crate::fourier::table::Decay;
use crate::special::{ROUNDOFF, upper_tail};

/// A step, cut.
#[derive(Debug)]
pub(super) struct Bulk<'a> {
    pub(super) outline: &'a Outline,
    pub(super) cut: Cut,
    /// `κ g` times the spacing, and bounds on the relative errors. The first grid point is only a border.
    weights: Vec<f64>,
    errors: Vec<f64>,
}

/// What is known of a cut step under a tilt.
#[derive(Debug)]
pub(super) struct Tilted {
    /// `M_s(c) - 1`.
    pub(super) excess: Rounded,
    /// D, above.
    pub(super) drift: Rounded,
    pub(super) strip: Strip,
    /// The integral of f below the strip, and of `f |L|`, at most.
    pub(super) below: (f64, f64),
}

/// A sum in blocks, whose rounding is at most [`sum_error`] of the sum of moduli.
fn block_sum(terms: &[f64]) -> f64 {
    terms.chunks(32).map(|block| block.iter().sum::<f64>()).sum()
}

fn sum_error(count: usize) -> f64 {
    ROUNDOFF * (34.0 + count as f64 / 32.0)
}

/// The value of a linear function, of its slope, and the sums of the moduli of their terms.
struct Linear {
    value: f64,
    slope: f64,
    size: f64,
    slope_size: f64,
}

impl<'a> Bulk<'a> {
    pub(super) fn new(outline: &'a Outline, cut: Cut) -> Self {
        let points = &outline.points[..=cut.last];
        let mut weights: Vec<f64> =
            points.iter().map(|p| cut.small(p.u) * p.density * outline.spacing).collect();
        weights[0] = 0.0;
        let errors =
            points.iter().map(|p| p.density_error + ROUNDOFF * (cut.units(p.u, false) + 6.0)).collect();
        Self { outline, cut, weights, errors }
    }

    /// The factors of `ρ - λ` and its mirror image in `y - l(c)`; their derivatives are those in `L - l'`.
    fn factors(&self, tilt: f64) -> (f64, f64) {
        match self.outline.direction {
            Direction::Remove => (-(tilt + 1.0), 0.0),
            Direction::Add => (tilt, 0.0),
            Direction::Replace => (-(tilt + 1.0), tilt),
        }
    }

    /// `M_s(c) - 1` from every few points, for planning.
    pub(super) fn rough(&self, tilt: f64, stride: usize) -> f64 {
        let (own, mirrored) = self.factors(tilt);
        let mut sum = 0.0;
        for k in (0..self.weights.len()).step_by(stride) {
            let p = &self.outline.points[k];
            let rest = own * p.curve + mirrored * p.mirrored_curve;
            sum += self.weights[k] * (exp_second(p.gain + tilt * p.loss) + rest);
        }
        let (moments, _) = self.cut.moments(self.outline);
        sum * stride as f64 - self.linear(tilt, moments).value
    }

    /// The mean of `1 + l(c)` and of `l'`, from those of 1, `e^u` and `e^u'`.
    fn linear(&self, tilt: f64, [base, shifted, mirrored]: [f64; 3]) -> Linear {
        let q = self.outline.rate;
        let (own, own_size) = (q * (shifted - base), q * (shifted + base));
        let (other, other_size) = (q * (mirrored - base), q * (mirrored + base));
        let (a, b, slope, slope_size) = match self.outline.direction {
            Direction::Remove => (tilt + 1.0, 0.0, own, own_size),
            Direction::Add => (-tilt, 0.0, -own, own_size),
            Direction::Replace => (tilt + 1.0, -tilt, own - other, own_size + other_size),
        };
        let size = base + a.abs() * own_size + b.abs() * other_size;
        Linear { value: base + a * own + b * other, slope, size, slope_size }
    }

    /// The moment and its derivative at `t = 0`, with everything that separates them from the truth.
    pub(super) fn tilted(&self, tilt: f64) -> Tilted {
        const U: f64 = ROUNDOFF;
        let outline = self.outline;
        let count = self.weights.len();
        let (own, mirrored) = self.factors(tilt);
        let (flat_own, flat_mirrored) = match outline.direction {
            Direction::Remove => (-1.0, 0.0),
            Direction::Add => (1.0, 0.0),
            Direction::Replace => (-1.0, 1.0),
        };
        let (mut seconds, mut drifts) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut error, mut drift_error, mut size, mut drift_size) = (0.0, 0.0, 0.0, 0.0);
        for (p, (&w, &w_error)) in outline.points.iter().zip(self.weights.iter().zip(&self.errors)) {
            let y = p.gain + tilt * p.loss;
            let y_error = (1.0 + tilt) * p.loss_error + 3.0 * U * (p.gain.abs() + tilt * p.loss.abs());
            let (second, change) = (exp_second(y), y.exp_m1());
            let rest = own * p.curve + mirrored * p.mirrored_curve;
            let rest_size = own.abs() * p.curve + mirrored * p.mirrored_curve;
            seconds.push(w * (second + rest));
            size += w * (second + rest_size);
            error += w
                * (w_error * (second + rest_size)
                    + 1.1 * change.abs() * y_error
                    + 14.0 * U * second
                    + (CURVE_UNITS + 6.0) * U * rest_size
                    + mirrored * p.mirror_error);
            // e^y L - l' = (e^y - 1) L + (L - l')
            let flat = flat_own * p.curve + flat_mirrored * p.mirrored_curve;
            let flat_size = p.curve + p.mirrored_curve;
            let turned = change * p.loss;
            drifts.push(w * (turned + flat));
            drift_size += w * (turned.abs() + flat_size);
            drift_error += w
                * (w_error * (turned.abs() + flat_size)
                    + 1.1 * (1.0 + change) * y_error * p.loss.abs()
                    + change.abs() * (p.loss_error + 6.0 * U * p.loss.abs())
                    + (CURVE_UNITS + 6.0) * U * flat_size
                    + p.mirror_error);
        }
        let (moments, moments_error) = self.cut.moments(outline);
        let large = self.linear(tilt, moments);
        let strip = Strip::new(outline, None, &self.cut, tilt, (0, self.cut.last));
        let left_out = self.left_out(tilt, &strip);
        let (excess, drift) = (block_sum(&seconds) - large.value, block_sum(&drifts) - large.slope);
        let (rounding, closed) = (sum_error(count), moments_error + 8.0 * U);
        let excess_error = error + rounding * size + closed * large.size + 2.0 * U * excess.abs();
        let drift_error =
            drift_error + rounding * drift_size + closed * large.slope_size + 2.0 * U * drift.abs();
        Tilted {
            excess: Rounded { value: excess, error: excess_error * (1.0 + 1e-9) + left_out.size },
            drift: Rounded { value: drift, error: drift_error * (1.0 + 1e-9) + left_out.slope_size },
            strip,
            below: (left_out.value, left_out.slope),
        }
    }

    /// How fast the characteristic function of the tilted loss falls, at least.
    ///
    /// The logarithm of the loss's density is that of `κ g e^(G + cL)` less that of `dL/du`. Between grid
    /// points it lies below the chord by at most an eighth of the spacing's square times its second
    /// derivative, of which `κ`, g and negative multiples of λ have none that is positive; `λ'' = s (1-s)`,
    /// and `-(log L')''` is that too, and at most 2 for the replace pair.
    pub(super) fn decay(&self, tilt: f64, tilted: &Tilted) -> Decay {
        let outline = self.outline;
        let points = &outline.points[1..=self.cut.last];
        let scale = 1.0 / (outline.spacing * (1.0 + tilted.excess.value));
        let densities: Vec<f64> = points
            .iter()
            .zip(&self.weights[1..])
            .map(|(p, w)| {
                let slope = p.posterior + p.mirrored_posterior;
                w * scale * (p.gain + tilt * p.loss).exp() / slope.max(f64::MIN_POSITIVE)
            })
            .collect();
        let square = outline.spacing * outline.spacing;
        let (mut floors, mut lengths) = (Vec::new(), Vec::new());
        for (pair, values) in points.windows(2).zip(densities.windows(2)) {
            let s = pair[1].posterior;
            let bend = (s * (1.0 - pair[0].posterior)).min(0.25);
            let convex = match outline.direction {
                Direction::Remove => (tilt + 2.0) * bend,
                Direction::Add => bend,
                Direction::Replace => (tilt + 1.0) * bend + 2.0,
            };
            floors.push(values[0].min(values[1]) * (-0.125 * square * convex).exp());
            let rounding = pair[0].loss_error + pair[1].loss_error;
            lengths.push(((pair[1].loss - pair[0].loss).abs() - rounding).max(0.0) * (1.0 - 1e-9));
        }
        Decay::new(&floors, &lengths)
    }

    /// What the grid misses of `E_0[κ (f - 1 - l)]` at `t = 0`, and of D, as the sizes of a linear function:
    /// the outcomes below the second point, those beyond the cut's end, and the error of quadrature. Its
    /// values are f and `f |L|` below the second point.
    fn left_out(&self, tilt: f64, strip: &Strip) -> Linear {
        let outline = self.outline;
        let (q, v, tau) = (outline.rate, outline.v, outline.tau);
        // Below, e^(G + cL) is at most (1 - q)^-c for the reversed pair and 1 for the others, whose mirrored
        // ratio is above 1 there. -log(1 - q) is at most 1.39 q for rates up to a half.
        let most = if outline.direction == Direction::Add { (1.39 * tilt * q).exp() } else { 1.0 };
        let start = outline.points[1].u;
        let below = [0.5, -0.5, 1.5].map(|shift| upper_tail(-(start + shift * v) / tau) * (1.0 + 1e-9));
        let low = self.linear(tilt, below);
        let high = self.linear(tilt, self.cut.beyond(outline));
        let hard = self.cut.small(self.cut.end) * (1.0 + 1e-9);
        // f, and fL.
        let all = strip.all();
        let spacing = outline.spacing;
        let (own, turned) = (
            strip.quadrature_error(spacing, 0.0, all, false),
            strip.quadrature_error(spacing, 0.0, all, true),
        );
        // κ (1 + l) and κ l': on a contour of constant height y e^u and e^u' have mean 1 under N(0, σ²); at
        // both ends the contour's weight falls at least like e^(-y full/2).
        let penalty = 0.5 / v + 0.5 / (self.cut.width * self.cut.width);
        let full = 2.0 * std::f64::consts::PI / spacing;
        let y = (0.5 * full / penalty).min(1.0);
        let shrunk = 2.0 * (y * (y * penalty - full)).exp() / -(-full * y).exp_m1();
        let whole = self.linear(tilt, [1.0; 3]);
        let end = outline.point(self.cut.end);
        let (lowest, second) = (outline.points[0].u, &outline.points[1]);
        let edges = [
            (self.linear(tilt, [1.0, end.u.exp(), (-end.u - v).exp()]), hard * end.density),
            // The grid begins between the first two points.
            (self.linear(tilt, [1.0, second.u.exp(), (-lowest - v).exp()]), second.density),
        ];
        // |L| is at most 1.39 q, and the mirrored ratio besides.
        let (lost, lost_losses) = (most * below[0], most * 2.0 * q * (below[0] + below[2]));
        let (mut size, mut slope_size) = (
            lost + low.size + hard * high.size + own + shrunk * whole.size,
            lost_losses + low.slope_size + hard * high.slope_size + turned + shrunk * whole.slope_size,
        );
        for (edge, weight) in edges {
            size += edge.size * weight * 4.0 / full;
            slope_size += edge.slope_size * weight * 4.0 / full;
        }
        let margin = 1.0 + 1e-6;
        Linear { value: lost, slope: lost_losses, size: size * margin, slope_size: slope_size * margin }
    }
}
