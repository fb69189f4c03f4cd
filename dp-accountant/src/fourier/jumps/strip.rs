//! Bounds on a step's tilted density off the real line: how well sums on a grid stand for integrals, and how
//! fast they decay.
//!
//! Let `F(u) = κ(u) g(u) e^(G + zL)` be a weighted, tilted density, `z = c + it`, with g the normal density
//! of u. With `s = q e^u/(1+ρ)` one has `1 + ρ(u + iy) = (1 + ρ)(1 - s + s e^(iy))`, and for `0 <= y <= 1`
//!
//! - `|1 - s + s e^(iy)| <= 1`, and its reciprocal is at most `exp(2/3 s (1-s) y²)`, because its square is
//!   `1 - X` with `X = 2 s (1-s) (1 - cos y) <= s (1-s) y² <= 1/4` and `-log(1 - X) <= X/(1 - X)`;
//! - its argument A lies between `s sin y` (it grows with s by `sin y/|1 - s + s e^(iy)|²`) and `a y`, with a
//!   = s up to s = 1/2 (where it is concave in y) and a = 1 above;
//! - `|g(u + iy)| = g(u) e^(y²/2v)`, and a window grows by `e^(y²/2w²)` at most ([`super::grid`]); where that
//!   times ω is below 1, by 2.
//!
//! Together `log |F(u + iy)| <= E + y t a + y² Q` with numbers that are constant on a cell between two grid
//! points: factors that are monotone in u are taken at the worse end.
//!
//! # Sums for integrals
//! Let F be analytic above and below `[b, h]`, the grid spaced η, and both ends half a spacing away from grid
//! points. With `m(u) = 1/(1 - e^(-2πi (u - h - η/2)/η))`, whose residue at grid points is `η/2πi`, the sum
//! is a contour integral of `F m` around the interval, and the integral itself that of F along its lower
//! half. On a contour at heights ±y(u) therefore
//!
//! ```text
//! |sum - integral| <= 2 ∫ |F(u + iy)| e^(-2πy/η)/(1 - e^(-2πy/η)) |d(u + iy)| + 2 ∫_ends |F| /(1 + e^(2πy/η)) dy
//! ```
//!
//! since at the ends `e^(-2πi (u-h-η/2)/η) = -e^(2πy/η)`. The heights are chosen cell by cell: where F turns
//! too fast for the grid they are low, and what is lost there is small if F itself is. Between cells of
//! different heights the contour is vertical.
//!
//! # Decay
//! Moving the path up by θ multiplies F by at most `e^(θ²Q - t s sin θ)`. That falls with t, and
//! exponentially where F lives on losses of one order of magnitude.

use super::grid::Cut;
use super::grid::{Outline, Point};
use crate::fourier::Direction;

/// The contour's greatest height.
const HIGHEST: f64 = 1.0;

/// What holds everywhere between two neighbouring grid points.
#[derive(Debug, Clone, Copy)]
struct Cell {
    right: f64,
    width: f64,
    /// E.
    log_sup: f64,
    /// At most how fast the phase grows upwards, a.
    growth: f64,
    /// At least how fast it does, s.
    slowest: f64,
    /// Q.
    penalty: f64,
    /// A bound on `|L|` on the real line, and one in the whole strip.
    real_loss: f64,
    loss: f64,
}

/// The cells of a weighted, tilted density.
#[derive(Debug)]
pub(super) struct Strip {
    cells: Vec<Cell>,
}

/// A range of cells: from the grid point of the first number to half a spacing above that of the second.
pub(super) type Range = (usize, usize);

impl Strip {
    /// The cells from the first grid point on, of losses that are small by `upper` and, if it is given, large
    /// by `lower`.
    pub(super) fn new(outline: &Outline, lower: Option<&Cut>, upper: &Cut, tilt: f64, range: Range) -> Self {
        let (v, q) = (outline.v, outline.rate);
        let window = 0.5 / (upper.width * upper.width);
        let top = -0.5 * v.ln() - 0.918_938_533_204_672_8;
        let exponent = |point: &Point| point.gain + tilt * point.loss;
        let fastest = |s: f64| if s <= 0.5 { s } else { 1.0 };
        // Below this the window's growth is at most a factor of 2.
        let flat = upper.centre - 1.01 * HIGHEST;
        let end = outline.point(outline.above(range.1));
        let points = outline.points[range.0..=range.1].iter().chain(std::iter::once(&end));
        let mut cells = Vec::with_capacity(range.1 - range.0 + 1);
        let mut before: Option<&Point> = None;
        for right in points {
            let Some(left) = before.replace(right) else { continue };
            let mut penalty = 0.5 / v;
            let mut log_sup = exponent(left).max(exponent(right));
            log_sup += if left.u <= -0.5 * v && -0.5 * v <= right.u {
                top
            } else {
                left.log_density.max(right.log_density)
            };
            if let Some(lower) = lower {
                penalty += window;
                log_sup += lower.large(right.u).min(upper.small(left.u)).ln();
            } else if right.u <= flat {
                log_sup += std::f64::consts::LN_2;
            } else {
                penalty += window;
                log_sup += upper.small(left.u).ln();
            }
            let mut growth = fastest(right.posterior);
            let mut loss = 4.0 * q * (right.u.exp() + 1.0);
            let spread = match outline.direction {
                Direction::Remove => 0.0,
                Direction::Add => right.posterior * (1.0 - left.posterior),
                Direction::Replace => {
                    growth += fastest(left.mirrored_posterior);
                    loss += 4.0 * q * ((-left.u - v).exp() + 1.0);
                    left.mirrored_posterior * (1.0 - right.mirrored_posterior)
                }
            };
            penalty += tilt * 2.0 / 3.0 * spread.min(0.25);
            cells.push(Cell {
                width: right.u - left.u,
                right: right.u,
                log_sup: log_sup.max(-1e5) + 1e-9 * (1.0 + log_sup.abs().min(1e5)),
                growth: growth * (1.0 + 1e-9),
                slowest: left.posterior * (1.0 - 1e-9),
                penalty: penalty * (1.0 + 1e-9),
                real_loss: left.loss.abs().max(right.loss.abs()) * (1.0 + 1e-9),
                loss: loss * (1.0 + 1e-9),
            });
        }
        Self { cells }
    }

    /// A bound on what a sum on a grid of this spacing differs by from the integral over some cells, at all
    /// frequencies up to t: of F, or of `F L`.
    ///
    /// The grid may begin anywhere in the first of the cells; it ends with the last.
    pub(super) fn quadrature_error(&self, spacing: f64, t: f64, (first, last): Range, losses: bool) -> f64 {
        let full = 2.0 * std::f64::consts::PI / spacing;
        let mut total = 0.0;
        let mut before: Option<(f64, &Cell)> = None;
        let exponent = |cell: &Cell, y: f64| y * (t * cell.growth - full) + y * y * cell.penalty;
        let scale = |cell: &Cell| cell.log_sup.exp() * if losses { cell.loss } else { 1.0 };
        let at = |cell: &Cell, y: f64| scale(cell) * exponent(cell, y).exp();
        // Along an end the exponent, convex and 0 on the real line, lies below its chord.
        let end = |cell: &Cell, y: f64| {
            let fall = -exponent(cell, y);
            scale(cell) * y * if fall > 1e-3 { -(-fall).exp_m1() / fall } else { (-fall).exp().max(1.0) }
        };
        for cell in &self.cells[first..=last] {
            let room = full - t * cell.growth;
            let y = (0.5 * room / cell.penalty).clamp(0.25 * spacing, HIGHEST);
            total += 2.0 * cell.width * at(cell, y) / -(-full * y).exp_m1();
            // The point belongs to both cells; the exponent is convex in y, and so largest at one of the
            // ends.
            let vertical = |cell: &Cell, below: f64| at(cell, below).max(at(cell, y));
            total += 2.0
                * match before {
                    None => end(cell, y),
                    Some((below, _)) if below == y => 0.0,
                    Some((below, previous)) => {
                        (y - below).abs() * vertical(cell, below).min(vertical(previous, below))
                            / -(-full * below.min(y)).exp_m1()
                    }
                };
            before = Some((y, cell));
        }
        if let Some((y, cell)) = before {
            total += 2.0 * end(cell, y);
        }
        total * (1.0 + 1e-9)
    }

    /// A bound on the integral of `F (2 + t |L|)` over some cells of the real line.
    pub(super) fn weight(&self, t: f64, range: std::ops::Range<usize>) -> f64 {
        let cells = self.cells[range].iter();
        cells.map(|cell| cell.width * cell.log_sup.exp() * (2.0 + t * cell.real_loss)).sum()
    }

    /// The cells that a grid has to reach into and to cover, so that what it leaves out weighs at most the
    /// given share on either side ([`Self::weight`]), and the weight of what it may leave out: everything
    /// outside, and all of the first cell.
    pub(super) fn range(&self, t: f64, share: f64) -> (Range, f64) {
        let (mut first, mut last) = (0, self.cells.len() - 1);
        let (mut below, mut above) = (self.weight(t, 0..1), 0.0);
        while first + 2 < last {
            let next = below + self.weight(t, first + 1..first + 2);
            if next > share {
                break;
            }
            (below, first) = (next, first + 1);
        }
        while last > first + 2 {
            let next = above + self.weight(t, last..last + 1);
            if next > share {
                break;
            }
            (above, last) = (next, last - 1);
        }
        ((first, last), below + above)
    }

    /// Where some cells begin and end.
    pub(super) fn ends(&self, (first, last): Range) -> (f64, f64) {
        let (left, right) = (&self.cells[first], &self.cells[last]);
        (left.right - left.width, right.right)
    }

    /// All cells.
    pub(super) fn all(&self) -> Range {
        (0, self.cells.len() - 1)
    }

    /// A bound on the modulus of the integral at all frequencies from t on; `left_over` is F's integral below
    /// the first cell.
    pub(super) fn decay(&self, t: f64, left_over: f64) -> f64 {
        let mut best = f64::INFINITY;
        // In units in which the density and its window grow by e^(1/2).
        let steepest = self.cells.iter().map(|cell| cell.penalty).fold(0.5, f64::max);
        for share in [0.0, 1.5, 2.5, 3.5, 4.5, 5.5] {
            let theta = (share / (2.0 * steepest).sqrt()).min(HIGHEST);
            let (square, turn) = (theta * theta, t * f64::sin(theta));
            let mut total = 0.0;
            for cell in &self.cells {
                total += cell.width * (cell.log_sup + square * cell.penalty - turn * cell.slowest).exp();
            }
            if let (Some(first), Some(last)) = (self.cells.first(), self.cells.last()) {
                total += theta * (last.log_sup + square * last.penalty).exp();
                total += left_over * (square * first.penalty).exp();
            }
            best = best.min(total);
        }
        best * (1.0 + 1e-9)
    }
}
