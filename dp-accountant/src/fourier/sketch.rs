//! Quick cumulants, for choosing where to integrate. Nothing here is certified, and nothing certified rests
//! on anything but [`log_peak`].

use super::law::Law;
use crate::golden::{self, ROUGHLY};

/// The logarithm of the largest `(1 - e^-x) e^(-cx)`: `c^c / (c+1)^(c+1)`.
///
/// Bounds rest on this one: it is right to four units of roundoff of `1 + log(1 + c)` for c > 0. The quotient
/// `c/(c+1)` itself would be rounded to a unit of 1, which a large c multiplies.
pub(super) fn log_peak(c: f64) -> f64 {
    let power = if c < 1.0 { c * (c / (c + 1.0)).ln() } else { -c * (1.0 / c).ln_1p() };
    power - c.ln_1p()
}

/// Losses and densities of one law on a coarse grid that grows with the tilts that are asked for.
struct Coarse {
    law: Law,
    count: f64,
    spacing: f64,
    first: i64,
    /// Loss, and logarithm of density times spacing.
    points: Vec<(f64, f64)>,
}

/// The cumulants of a composition in one direction.
pub(super) struct Sketch {
    laws: Vec<Coarse>,
    /// The squared mu of the unsampled part.
    squared_mu: f64,
}

/// `K(c)` and its first two derivatives: the logarithm of the moment, mean and variance of the tilted loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cumulants {
    pub(super) log_moment: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Coarse {
    /// More points than this mean that the tilt makes no sense.
    const MOST: i64 = 40_000;

    fn new(law: Law, count: f64) -> Self {
        let spacing = (0.4 * law.sigma).min(0.6 * law.sigma * law.sigma);
        Self { law, count, spacing, first: 0, points: Vec::new() }
    }

    fn point(&self, k: i64) -> (f64, f64) {
        let x = k as f64 * self.spacing;
        let outcome = self.law.outcome(x);
        let unit = (self.spacing / self.law.sigma).ln() - 0.918_938_533_204_672_8;
        let half = x * x / (2.0 * self.law.sigma * self.law.sigma);
        (outcome.loss.value, self.law.log_density(&outcome).value - half + unit)
    }

    /// Makes the grid reach eight standard deviations beyond the modes, and says which of its points do.
    fn reach(&mut self, tilt: f64) -> Option<std::ops::Range<usize>> {
        let (low, high) = self.law.modes(tilt);
        let margin = 8.0 * self.law.sigma;
        let first = ((low - margin) / self.spacing).floor();
        let last = ((high + margin) / self.spacing).ceil();
        if !(last - first < Self::MOST as f64 && first.abs() < 1e9 && last.abs() < 1e9) {
            return None;
        }
        let (first, last) = (first as i64, last as i64);
        if self.points.is_empty() {
            self.first = first;
        }
        if first < self.first {
            let mut points: Vec<_> = (first..self.first).map(|k| self.point(k)).collect();
            points.append(&mut self.points);
            (self.points, self.first) = (points, first);
        }
        for k in self.first + self.points.len() as i64..=last {
            let point = self.point(k);
            self.points.push(point);
        }
        // Larger tilts may have made the grid much longer.
        Some((first - self.first) as usize..(last - self.first) as usize + 1)
    }

    fn cumulants(&mut self, tilt: f64) -> Option<Cumulants> {
        let points = self.reach(tilt)?;
        let points = &self.points[points];
        let exponent = |&(loss, log): &(f64, f64)| tilt * loss + log;
        let top = points.iter().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = [0.0; 3];
        for point in points {
            let gap = exponent(point) - top;
            if gap > -40.0 {
                let weight = gap.exp();
                sums[0] += weight;
                sums[1] += weight * point.0;
                sums[2] += weight * point.0 * point.0;
            }
        }
        let mean = sums[1] / sums[0];
        let variance = (sums[2] / sums[0] - mean * mean).max(0.0);
        Some(Cumulants { log_moment: top + sums[0].ln(), mean, variance })
    }
}

impl Sketch {
    pub(super) fn new(laws: &[(Law, f64)], squared_mu: f64) -> Self {
        Self { laws: laws.iter().map(|&(law, count)| Coarse::new(law, count)).collect(), squared_mu }
    }

    /// Replaces the squared mu of the unsampled part.
    pub(super) fn set_block(&mut self, squared_mu: f64) {
        self.squared_mu = squared_mu;
    }

    pub(super) fn cumulants(&mut self, tilt: f64) -> Option<Cumulants> {
        let mut total = Cumulants {
            log_moment: 0.5 * tilt * (tilt + 1.0) * self.squared_mu,
            mean: (tilt + 0.5) * self.squared_mu,
            variance: self.squared_mu,
        };
        for law in &mut self.laws {
            let one = law.cumulants(tilt)?;
            total.log_moment += law.count * one.log_moment;
            total.mean += law.count * one.mean;
            total.variance += law.count * one.variance;
        }
        total.log_moment.is_finite().then_some(total)
    }

    fn log_moment(&mut self, tilt: f64) -> f64 {
        self.cumulants(tilt).map_or(f64::INFINITY, |found| found.log_moment)
    }

    /// The tilt with the best Chernoff bound on epsilon at this log delta, and that bound.
    pub(super) fn tilt_for(&mut self, log_delta: f64) -> (f64, f64) {
        minimise(|c| (self.log_moment(c) + log_peak(c) - log_delta) / c)
    }

    /// The tilt with the best Chernoff bound on log delta at this epsilon, and that bound.
    pub(super) fn tilt_at(&mut self, epsilon: f64) -> (f64, f64) {
        minimise(|c| self.log_delta_bound(c, epsilon))
    }

    /// Chernoff's bound on log delta.
    pub(super) fn log_delta_bound(&mut self, tilt: f64, epsilon: f64) -> f64 {
        self.log_moment(tilt) - tilt * epsilon + log_peak(tilt)
    }

    /// How far above `epsilon` a window has to reach so that what lies beyond weighs `e^log_goal`, and the
    /// tilt that shows it.
    pub(super) fn reach_above(&mut self, tilt: f64, epsilon: f64, log_goal: f64) -> (f64, f64) {
        let at_tilt = self.log_moment(tilt);
        let (y, width) = minimise(|y| {
            (self.log_moment(tilt + y) - at_tilt - y * epsilon + log_peak(tilt + y) - log_goal) / y
        });
        (width, tilt + y)
    }

    /// How far below it has to reach, and the tilt that shows it, which may be 0.
    pub(super) fn reach_below(&mut self, tilt: f64, epsilon: f64, log_goal: f64) -> (f64, f64) {
        let at_tilt = self.log_moment(tilt);
        let trivial = (tilt * epsilon - at_tilt - log_goal) / tilt;
        // Shares of the tilt rather than tilts: y = c (1 - 1/(1 + v)).
        let (v, width) = minimise(|v| {
            let y = tilt * v / (1.0 + v);
            (self.log_moment(tilt - y) - at_tilt + y * epsilon + log_peak(tilt - y) - log_goal) / y
        });
        if trivial <= width { (trivial, 0.0) } else { (width, tilt / (1.0 + v)) }
    }
}

/// The place of the minimum of a unimodal function of a positive number, to a few per cent, and the minimum.
fn minimise(mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    let mut f = |x: f64| Some(f(x.exp())).filter(|y| y.is_finite()).unwrap_or(f64::MAX);
    // Walk in factors of e from 1 towards smaller values until it goes up again.
    let (mut middle, mut at_middle) = (0.0, f(0.0));
    while at_middle == f64::MAX && middle > -25.0 {
        middle -= 1.0;
        at_middle = f(middle);
    }
    let (left, right) = (f(middle - 1.0), f(middle + 1.0));
    let (direction, mut next) = if left <= right { (-1.0, left) } else { (1.0, right) };
    let (mut low, mut high) = (middle - 1.0, middle + 1.0);
    while next < at_middle && f64::abs(middle) < 25.0 {
        (low, middle, at_middle) = (middle, middle + direction, next);
        high = middle + direction;
        next = f(high);
    }
    let (low, high) = (f64::min(low, high), f64::max(low, high));
    let found = golden::minimise(f, (low, high), ROUGHLY);
    let best = if at_middle < found.1 { (middle, at_middle) } else { found };
    (best.0.exp(), best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::ROUNDOFF;

    #[test]
    fn the_largest_value_is_right_for_small_and_large_tilts() {
        // At c = 1 and 3: 1/4 and 27/256.
        assert!((log_peak(1.0) + 4f64.ln()).abs() < 8.0 * ROUNDOFF);
        assert!((log_peak(3.0) - (27.0f64 / 256.0).ln()).abs() < 8.0 * ROUNDOFF * 2.4);
        for k in 5..600 {
            let c = 1.7f64.powi(k);
            // c log(1 + 1/c) = 1 - 1/(2c) + 1/(3c²) - …
            let power = 1.0 - 0.5 / c + 1.0 / (3.0 * c * c) - 0.25 / (c * c * c);
            let rest = 0.2 / (c * c * c * c);
            let size = 1.0 + c.ln_1p();
            assert!((log_peak(c) + power + c.ln_1p()).abs() <= rest + 8.0 * ROUNDOFF * size, "{c:e}");
            // c log c - (c + 1) log(1 + c)
            let c = 1.0 / c;
            let direct = c * c.ln() - (c + 1.0) * c.ln_1p();
            assert!((log_peak(c) - direct).abs() <= 16.0 * ROUNDOFF * direct.abs(), "{c:e}");
        }
    }
}
