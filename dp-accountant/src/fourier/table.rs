//! A law, tilted, on a grid of outcomes: what its moment generating function is summed from.

use super::inversion::Patience;
use super::law::{Law, Outcome};
use crate::special::ROUNDOFF;

/// How far below its largest value the tilted density is cut off, as an exponent.
const DEPTH: f64 = 55.0;

/// The tilted law on a grid: `E_P exp(zL) = M(c) Σ w_i exp(it d_i) e^(itm)`, with `z = c + it` and
/// `d = L - m`.
pub(super) struct Table {
    pub(super) spacing: f64,
    /// `log M(c)`, and a bound on its rounding.
    pub(super) log_moment: f64,
    pub(super) log_moment_error: f64,
    /// The mean loss m of the tilted law.
    pub(super) mean: f64,
    /// Tilted weights, which add up to 1.
    pub(super) weights: Vec<f64>,
    /// Losses less their mean.
    pub(super) losses: Vec<f64>,
    /// Bounds on errors, averaged with the weights: of the weights, of the losses, and of |d|.
    pub(super) weight_error: f64,
    pub(super) loss_error: f64,
    pub(super) mean_distance: f64,
    /// How fast the characteristic function falls, at least.
    pub(super) decay: Decay,
}

/// A bound on the characteristic function φ of a tilted loss that holds at a frequency and at all higher
/// ones.
///
/// Let u be a function below the density v of the tilted loss that rises to one place and falls from there.
/// It is a stack of layers, uniform on intervals: of mass m and length l each, and a layer's characteristic
/// function is at most `m |sinc(t l/2)|`. What is not in u is at most its mass, so
///
/// ```text
/// |φ(t)| <= 1 - Σ m (1 - S(t l/2)),     S(y) = sup_(y' >= y) |sin y'/y'|
/// ```
///
/// which falls with t. For small t it is `1 - t² Σ m l²/24`, and `Σ m l²/12` is the variance within the
/// layers: all of the loss's variance if v is symmetric.
#[derive(Debug, Clone)]
pub(super) struct Decay {
    /// Mass and half the length.
    layers: Vec<(f64, f64)>,
}

impl Decay {
    /// A bound on `log |φ|` that holds at `t` and at all larger ones, where masses, and their total of 1, are
    /// right to a relative error.
    pub(super) fn log_bound(&self, t: f64, error: f64) -> f64 {
        let drop: f64 = self.layers.iter().map(|(mass, half)| mass * one_less_sinc(t * half)).sum();
        (error - (drop * (1.0 - 1e-9 - error)).min(1.0 - 1e-12)).ln_1p()
    }

    /// From the least values of v between consecutive points, and how far the losses there are apart, at
    /// least.
    pub(super) fn new(floors: &[f64], lengths: &[f64]) -> Self {
        let floor = |k: usize| floors[k];
        let length = |k: usize| lengths[k];
        let cells = lengths.len();
        let mode = (0..cells).fold(0, |best, k| if floor(k) > floor(best) { k } else { best });
        let mut layers = Vec::new();
        if cells == 0 {
            return Self { layers };
        }
        // Neighbours join in the order of their heights, where one behind a lower one counts as no higher
        // than that.
        let (mut below, mut above, mut total) = (mode, mode + 1, length(mode));
        let mut height = floor(mode);
        // The top of the next layer, and the length of what is at least that high.
        let (mut top, mut top_length) = (height, total);
        loop {
            let left = if below > 0 { floor(below - 1) } else { 0.0 };
            let right = if above < cells { floor(above) } else { 0.0 };
            let next = left.max(right).min(height);
            // Layers much thinner than what is below them are not worth their time.
            let lower = next < 0.9 * top || next == 0.0;
            if lower {
                layers.push(((top - next) * top_length, 0.5 * top_length));
            }
            // At most, since nothing is left where the product underflows.
            if next <= 1e-15 * floor(mode) {
                break;
            }
            height = next;
            if left >= right {
                below -= 1;
                total += length(below);
            } else {
                total += length(above);
                above += 1;
            }
            if lower {
                (top, top_length) = (height, total);
            }
        }
        Self { layers }
    }
}

/// `1 - S(y)`.
fn one_less_sinc(y: f64) -> f64 {
    // |sin y|/y is largest beyond the first zero at 4.4934, where it is 0.217234; it falls to that at 2.5536.
    if y < 0.3 {
        // An alternating series, cut where the rest is positive.
        let square = y * y;
        square / 6.0 * (1.0 - square / 20.0)
    } else if y < 2.553 {
        1.0 - y.sin() / y
    } else {
        1.0 - (1.0 / y).min(0.217_24)
    }
}

/// Where the tilted density falls for good on both sides: outside, its values on the grid add up to less than
/// `e^-DEPTH` of the largest, and it decreases outwards at least as fast as stated.
struct Range {
    first: i64,
    last: i64,
}

impl Table {
    /// The table at tilt c. The quadrature error is left to the caller, who chose the spacing.
    pub(super) fn new(law: Law, tilt: f64, spacing: f64, patience: Patience) -> Option<Self> {
        // A spacing of few bits makes every grid point exact.
        let spacing = few_bits(spacing);
        let Range { first, last } = range(&law, tilt, spacing, patience.most_outcomes())?;
        let count = (last - first + 1) as usize;
        let square = law.sigma * law.sigma;
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(count);
        let (mut logs, mut log_errors) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for k in first..=last {
            let x = k as f64 * spacing;
            let outcome = law.outcome(x);
            let density = law.log_density(&outcome);
            let (gain, half) = (tilt * outcome.loss.value, x * x / (2.0 * square));
            logs.push(density.value + gain - half);
            log_errors.push(
                density.error
                    + tilt * outcome.loss.error
                    + ROUNDOFF * (4.0 * half + 3.0 * gain.abs() + 2.0 * density.value.abs() + 4.0),
            );
            outcomes.push(outcome);
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        // In blocks, so that rounding grows with the length of a block and with their number.
        let sum: f64 = weights.chunks(32).map(|block| block.iter().sum::<f64>()).sum();
        let unit = (spacing / law.sigma).ln() - 0.918_938_533_204_672_8;
        let log_moment = top + sum.ln() + unit;
        let log_moment_error = 4.0 * ROUNDOFF * (top.abs() + sum.ln().abs() + unit.abs() + 4.0);
        let inverse = 1.0 / sum;
        weights.iter_mut().for_each(|weight| *weight *= inverse);
        let mean: f64 = weights.iter().zip(&outcomes).map(|(w, o)| w * o.loss.value).sum();
        let losses: Vec<f64> = outcomes.iter().map(|outcome| outcome.loss.value - mean).collect();
        let (mut weight_error, mut loss_error, mut mean_distance) = (0.0, 0.0, 0.0);
        for k in 0..count {
            let w = weights[k];
            weight_error += w * (log_errors[k] + 2.0 * ROUNDOFF * (logs[k] - top).abs());
            loss_error += w * (outcomes[k].loss.error + ROUNDOFF * losses[k].abs());
            mean_distance += w * losses[k].abs();
        }
        // Rounding of the sum, and what was cut off.
        weight_error += ROUNDOFF * (count as f64 / 32.0 + 40.0) + (-DEPTH).exp() * count as f64;
        // The density of the tilted loss; between grid points its logarithm lies below the chord by at most
        // an eighth of this.
        let sag = (-0.125 * law.curvature(tilt) * spacing * spacing).exp();
        let density =
            |k: usize| weights[k] / spacing * square / law.slope(&outcomes[k]).max(f64::MIN_POSITIVE);
        let densities: Vec<f64> = (0..count).map(density).collect();
        let lengths: Vec<f64> = outcomes
            .windows(2)
            .map(|pair| {
                let rounding = pair[0].loss.error + pair[1].loss.error;
                ((pair[1].loss.value - pair[0].loss.value).abs() - rounding).max(0.0) * (1.0 - 1e-9)
            })
            .collect();
        let floors: Vec<f64> = densities.windows(2).map(|pair| sag * pair[0].min(pair[1])).collect();
        let decay = Decay::new(&floors, &lengths);
        let finite = log_moment.is_finite() && weight_error.is_finite() && loss_error.is_finite();
        finite.then_some(Self {
            spacing,
            log_moment,
            log_moment_error,
            mean,
            weights,
            losses,
            weight_error,
            loss_error,
            mean_distance,
            decay,
        })
    }
}

/// Rounds a spacing down to twelve significant bits.
fn few_bits(spacing: f64) -> f64 {
    let unit = 2f64.powi(spacing.log2().floor() as i32 - 11);
    (spacing / unit).floor() * unit
}

/// The logarithm of the tilted density, up to a constant.
fn log_tilted(law: &Law, tilt: f64, x: f64) -> f64 {
    let outcome = law.outcome(x);
    law.log_density(&outcome).value + tilt * outcome.loss.value - x * x / (2.0 * law.sigma * law.sigma)
}

/// The grid indices between which the tilted density is kept.
///
/// Outside the modes the logarithm of the density falls with at least the slope of a normal law around the
/// mode. At a place x beyond the upper mode m the rest of the grid therefore adds up to at most
/// `f(x) Σ_k e^(-k h (x-m)/σ²)`.
fn range(law: &Law, tilt: f64, spacing: f64, most: f64) -> Option<Range> {
    let (low, high) = law.modes(tilt);
    let square = law.sigma * law.sigma;
    // The largest value is sought at the ends, where single modes lie, and between.
    let mut top = f64::NEG_INFINITY;
    for k in 0..=32 {
        top = top.max(log_tilted(law, tilt, low + (high - low) * f64::from(k) / 32.0));
    }
    let edge = |start: f64, sign: f64| -> Option<f64> {
        let mut distance = 4.0 * law.sigma;
        for _ in 0..400 {
            let x = start + sign * distance;
            let ratio = -(-spacing * distance / square).exp_m1();
            if log_tilted(law, tilt, x) - ratio.ln() < top - DEPTH {
                return Some(x);
            }
            distance += 0.25 * law.sigma;
        }
        None
    };
    let (first, last) = ((edge(low, -1.0)? / spacing).floor(), (edge(high, 1.0)? / spacing).ceil());
    (last - first <= most && first.abs() < 1e9 && last.abs() < 1e9)
        .then_some(Range { first: first as i64, last: last as i64 })
}
