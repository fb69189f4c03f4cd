//! Sums of phases over a grid that resolves them: `Σ w e^(itL)` and, where only the difference from a line
//! counts, `Σ w (e^(itL) - 1 - itL)`.

use super::Rounded;
use super::grid::Outline;
use super::strip::{Range, Strip};
use crate::fourier::inversion::{rotate, summation_error};
use crate::special::ROUNDOFF;

/// Rotations after which phases are computed afresh.
const RESTART: usize = 64;
/// A complex product with a factor that is itself rounded errs by less than this many units.
const TURN_UNITS: f64 = 8.0;
/// Up to this `|tL|` the power series is used, with this many terms. What it leaves out is below `2^-13/15!`
/// of its first term.
const SERIES_REACH: f64 = 0.5;
const TERMS: usize = 14;
/// `1/n` from n = 2 on.
const INVERSES: [f64; TERMS - 1] = {
    let mut inverses = [0.0; TERMS - 1];
    let mut n = 0;
    while n < TERMS - 1 {
        inverses[n] = 1.0 / (n + 2) as f64;
        n += 1;
    }
    inverses
};
/// Numbers that are summed up before their sum joins the total, as in [`summation_error`].
const BLOCK: usize = 64;

/// A weighted, tilted density on a grid.
pub(super) struct Waves {
    weights: Vec<f64>,
    losses: Vec<f64>,
    /// Bounds on the weights' relative and the losses' absolute errors.
    weight_errors: Vec<f64>,
    loss_errors: Vec<f64>,
}

/// The sums at consecutive frequencies, with bounds on their errors that leave quadrature to the caller.
pub(super) struct Sums {
    pub(super) values: Vec<[f64; 2]>,
    pub(super) errors: Vec<f64>,
}

/// A spacing at which a grid's quadrature error over a range of cells is at most `error`, of few bits and at
/// most that of the cells.
pub(super) fn spacing_for(strip: &Strip, outline: &Outline, range: Range, t: f64, error: f64) -> Option<f64> {
    for halvings in 0..8 {
        for share in [1.0, 0.8125, 0.6875, 0.5625] {
            let spacing = outline.spacing * share * 0.5f64.powi(halvings);
            if strip.quadrature_error(spacing, t, range, false) <= error {
                return Some(spacing);
            }
        }
    }
    None
}

impl Waves {
    /// The density on a grid over some cells, from the weights of single outcomes.
    pub(super) fn new(
        outline: &Outline,
        weight: impl Fn(f64) -> Rounded,
        tilt: f64,
        (left, end): (f64, f64),
        spacing: f64,
    ) -> Self {
        const U: f64 = ROUNDOFF;
        let count = ((end - left) / spacing).floor() as usize;
        let mut waves = Self {
            weights: Vec::with_capacity(count),
            losses: Vec::with_capacity(count),
            weight_errors: Vec::with_capacity(count),
            loss_errors: Vec::with_capacity(count),
        };
        for j in (0..count).rev() {
            let p = outline.point(end - (j as f64 + 0.5) * spacing);
            let weight = weight(p.u);
            let gain = p.gain + tilt * p.loss;
            let size = p.gain.abs() + tilt * p.loss.abs();
            waves.weights.push(weight.value * spacing * (p.log_density + gain).exp());
            waves.losses.push(p.loss);
            waves.weight_errors.push(
                weight.error
                    + p.density_error
                    + (1.0 + tilt) * p.loss_error
                    + U * (4.0 * size + 2.0 * p.log_density.abs() + 8.0),
            );
            waves.loss_errors.push(p.loss_error);
        }
        waves
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Adds `Σ w e^(itL)` over some of the grid to the values at `t = first h, (first + 1) h, …`.
    fn turn(&self, range: std::ops::Range<usize>, h: f64, first: usize, values: &mut [[f64; 2]]) {
        if range.is_empty() {
            return;
        }
        let (weights, losses) = (&self.weights[range.clone()], &self.losses[range]);
        let start = first as f64 * h;
        let (mut re, mut im): (Vec<f64>, Vec<f64>) = weights
            .iter()
            .zip(losses)
            .map(|(w, loss)| {
                let (sine, cosine) = (start * loss).sin_cos();
                (w * cosine, w * sine)
            })
            .unzip();
        let (turn_im, turn_re): (Vec<f64>, Vec<f64>) = losses.iter().map(|loss| (h * loss).sin_cos()).unzip();
        for value in values {
            let sum = rotate(&mut re, &mut im, &turn_re, &turn_im);
            value[0] += sum[0];
            value[1] += sum[1];
        }
    }

    /// `Σ w` and `Σ w L` over some of the grid.
    fn line(&self, range: std::ops::Range<usize>) -> (f64, f64) {
        let blocks = self.weights[range.clone()].chunks(BLOCK).zip(self.losses[range].chunks(BLOCK));
        blocks.fold((0.0, 0.0), |(weight, line), (weights, losses)| {
            let products = weights.iter().zip(losses).map(|(w, loss)| w * loss);
            (weight + weights.iter().sum::<f64>(), line + products.sum::<f64>())
        })
    }

    /// What rounding adds to `Σ w e^(itL)` over some of the grid, and to the sum less its line, at
    /// frequencies up to t.
    fn phase_error(&self, range: std::ops::Range<usize>, t: f64, length: usize) -> f64 {
        const U: f64 = ROUNDOFF;
        let turned = U * (40.0 + TURN_UNITS * length as f64) + 4.0 * summation_error(range.len());
        range
            .map(|k| {
                let turn = t * self.losses[k].abs();
                self.weights[k]
                    * ((2.0 + turn) * self.weight_errors[k]
                        + 2.0 * t * self.loss_errors[k]
                        + turned * (1.0 + turn))
            })
            .sum()
    }

    /// `Σ w e^(itL)` at `t = 0, h, 2h, …`
    pub(super) fn sums(&self, h: f64, count: usize) -> Sums {
        let mut sums = Sums { values: vec![[0.0; 2]; count], errors: Vec::with_capacity(count) };
        let mut first = 0;
        for values in sums.values.chunks_mut(RESTART) {
            self.turn(0..self.len(), h, first, values);
            let last = (first + values.len()) as f64 * h;
            let error = self.phase_error(0..self.len(), last, values.len());
            sums.errors.extend(std::iter::repeat_n(error, values.len()));
            first += values.len();
        }
        sums
    }

    /// `Σ w (e^(itL) - 1 - itL)` at `t = 0, h, 2h, …`
    pub(super) fn sums_less_line(&self, h: f64, count: usize) -> Sums {
        const U: f64 = ROUNDOFF;
        let mut sums = Sums { values: vec![[0.0; 2]; count], errors: Vec::with_capacity(count) };
        let mut first = 0;
        for values in sums.values.chunks_mut(RESTART) {
            let last = (first + values.len()) as f64 * h;
            // Losses are monotone along the grid, so that the small ones are neighbours.
            let is_small = |loss: &f64| (last * loss).abs() <= SERIES_REACH;
            let start = self.losses.iter().position(is_small).unwrap_or(self.len());
            let small = self.losses[start..].iter().take_while(|loss| is_small(loss)).count();
            let (low, middle, high) = (0..start, start..start + small, start + small..self.len());
            let mut moments = [0.0; TERMS + 1];
            let mut error = 0.0;
            let rounding = summation_error(small) + 60.0 * U;
            for block in middle.step_by(BLOCK).map(|k| k..(k + BLOCK).min(start + small)) {
                let mut sums = [0.0; TERMS + 1];
                for k in block {
                    let y = last * self.losses[k];
                    let mut power = self.weights[k] * y;
                    for (sum, inverse) in sums[2..].iter_mut().zip(INVERSES) {
                        power *= y * inverse;
                        *sum += power;
                    }
                    let second = self.weights[k] * y.abs();
                    error += second
                        * (y.abs() * (self.weight_errors[k] + rounding) + 1.2 * last * self.loss_errors[k]);
                }
                for (moment, sum) in moments.iter_mut().zip(sums) {
                    *moment += sum;
                }
            }
            self.turn(low.clone(), h, first, values);
            self.turn(high.clone(), h, first, values);
            let (weight, line) = [&low, &high].into_iter().fold((0.0, 0.0), |sums, range| {
                let (weight, line) = self.line(range.clone());
                (sums.0 + weight, sums.1 + line)
            });
            error += self.phase_error(low, last, values.len()) + self.phase_error(high, last, values.len());
            let length = values.len();
            for (k, value) in values.iter_mut().enumerate() {
                let t = (first + k) as f64 * h;
                let x = t / last;
                // i^n turns from -1 at n = 2 through -i at 3 to 1 at 4.
                let (mut even, mut odd) = (0.0, 0.0);
                let square = x * x;
                for n in (2..=TERMS).rev().step_by(2) {
                    even = moments[n] - square * even;
                    if n > 2 {
                        odd = moments[n - 1] - square * odd;
                    }
                }
                value[0] += -square * even - weight;
                value[1] += -square * x * odd - t * line;
            }
            sums.errors.extend(std::iter::repeat_n(error, length));
            first += length;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `e^(itL) - 1 - itL` changes by up to 2t with L, and `e^(itL)` by t: most at tL = π and everywhere.
    /// Weights count in all three terms.
    #[test]
    fn errors_of_losses_and_weights_are_covered() {
        for (turn, loss_error, weight_error) in [
            (std::f64::consts::PI, 1e-6, 0.0),
            (0.3, 1e-6, 0.0),
            (2.0, 0.0, 1e-6),
            (0.4, 0.0, 1e-6),
            (40.0, 0.0, 1e-6),
        ] {
            // The last of the frequencies that share a bound.
            let (h, count) = (8.0 / 63.0, RESTART);
            let (weight, loss) = (0.75, turn / 8.0);
            let waves = |sign: f64| Waves {
                weights: vec![weight * (1.0 + sign * weight_error)],
                losses: vec![loss + sign * loss_error],
                weight_errors: vec![weight_error],
                loss_errors: vec![loss_error],
            };
            let off = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
            for sign in [-1.0, 1.0] {
                let (stated, truth) =
                    (waves(0.0).sums_less_line(h, count), waves(sign).sums_less_line(h, count));
                let error = off(stated.values[63], truth.values[63]);
                // To second order.
                assert!(
                    error <= stated.errors[63] * (1.0 + 1e-4),
                    "{turn} {error:e} {:e}",
                    stated.errors[63]
                );
                let (stated, truth) = (waves(0.0).sums(h, count), waves(sign).sums(h, count));
                let error = off(stated.values[63], truth.values[63]);
                assert!(
                    error <= stated.errors[63] * (1.0 + 1e-4),
                    "{turn} {error:e} {:e}",
                    stated.errors[63]
                );
            }
        }
    }
}
