//! What noisy numbers say of what they are readings of.

use std::f64::consts::{PI, SQRT_2};

/// The curvatures along the eigenvectors of a release with these eigenvalues, without what the noise adds.
///
/// Differences are damped below half of the eigenvalues' mean spacing in pure noise, `s √(2/D)`, where single
/// ones say nothing.
pub(super) fn without_noise(eigenvalues: &[f64], s: f64) -> Vec<f64> {
    let damping = 2.0 * s * s / eigenvalues.len() as f64;
    let push = |value: &f64| -> f64 {
        let away = eigenvalues.iter().map(|other| value - other);
        away.map(|away| away / (away * away + damping)).sum()
    };
    eigenvalues.iter().map(|value| value - s * s * push(value)).collect()
}

/// The sum of the likelihoods of `x`, of which `N(x, s²)` was read, over points `(x, f(x))`, and the sum of `f`
/// weighted by them: in units of the likelihood at `nearest`.
fn weighted_by_reading(
    read: f64,
    s: f64,
    nearest: f64,
    points: impl Iterator<Item = (f64, f64)>,
) -> (f64, f64) {
    let log_weight = |x: f64| -0.5 * ((read - x) / s).powi(2);
    let largest = log_weight(nearest);
    points.fold((0.0, 0.0), |(total, sum), (x, value)| {
        let weight = (log_weight(x) - largest).exp();
        (total + weight, sum + weight * value)
    })
}

/// The mean of an `x` with a uniform prior from 1/4 to 1, of which `N(x, s²)` was read.
pub(super) fn uniform_mean(read: f64, s: f64) -> f64 {
    const POINTS: u32 = 30;
    let at = |k: u32| 0.25 + 0.75 * (f64::from(k) + 0.5) / f64::from(POINTS);
    let nearest = read.clamp(at(0), at(POINTS - 1));
    let (total, sum) = weighted_by_reading(read, s, nearest, (0..POINTS).map(|k| (at(k), at(k))));
    // All weight between two points: what was read is exact.
    if total > 1e-3 { sum / total } else { read.clamp(0.25, 1.0) }
}

/// The share `β = tr V/tr S` of the scores' covariance in the curvature, of which `N(β, s²)` was read: that of weights
/// from 1/2 to 1, unless what was read is three deviations above. Then a user's own weights are above 1.
pub(super) fn share_of_scores(read: f64, s: f64) -> f64 {
    uniform_mean(read, s).max(read - 3.0 * s)
}

/// The mean of a positive `x` with a uniform prior, of which `N(x, s²)` was read: of a normal cut at zero.
pub(super) fn positive_mean(read: f64, s: f64) -> f64 {
    let a = -read / s;
    // Above, the difference below loses digits; the next term of the asymptotic series is below 3e-4.
    if a > 8.0 {
        return s / a * (1.0 - 2.0 / (a * a) + 10.0 / a.powi(4));
    }
    let density = (-0.5 * a * a).exp() / (2.0 * PI).sqrt();
    read + s * density / (0.5 * libm::erfc(a / SQRT_2))
}

/// The geometric mean of an `x` whose logarithm has a uniform prior from `ln low` on, of which `N(x, s²)` was
/// read: where little is known of `x`, far below the mean, for then it may be of any order of magnitude.
pub(super) fn log_uniform_mean(read: f64, s: f64, low: f64) -> f64 {
    const POINTS: u32 = 400;
    let high = read.max(0.0) + 6.0 * s + 2.0 * low;
    let step = (high / low).ln() / f64::from(POINTS);
    let at = |k: u32| low * (f64::from(k) * step).exp();
    let points = (0..=POINTS).map(|k| (at(k), at(k).ln()));
    let (total, sum) = weighted_by_reading(read, s, read.clamp(low, high), points);
    // All weight between two points of the grid: what was read is exact.
    if total > 0.0 { (sum / total).exp() } else { read.clamp(low, high) }
}

/// The law of a positive `x` with a log-normal prior, of which `N(x, s²)` was read.
///
/// ```text
/// ln p(ln x) = −(ln x − μ)²/(2ω²) − (x̃ − x)²/(2s²),   ω² = ln(1 + c²),   μ = ln b − ω²/2
/// ```
///
/// `b` is the prior's mean and `c` its standard deviation over it.
#[derive(Debug)]
pub(super) struct Reading {
    /// `ln x` at points of equal distance, and the share of the law below each.
    points: Vec<(f64, f64)>,
    pub(super) mean: f64,
}

impl Reading {
    const POINTS: u32 = 400;

    /// Standard deviations, of the prior's logarithm or of the reading, beyond which nothing is left.
    const REACH: f64 = 6.0;

    pub(super) fn new(read: f64, s: f64, (b, c): (f64, f64)) -> Self {
        let omega = (c * c).ln_1p().sqrt();
        let median = b.ln() - 0.5 * omega * omega;
        // With less the grid's own rounding would decide.
        let s = s.max(1e-9 * read.abs());
        let (low, high) = if s < 0.1 * read {
            ((read - Self::REACH * s).ln(), (read + Self::REACH * s).ln())
        } else {
            let above = median + Self::REACH * omega;
            let above = if read > 0.0 { above.max(read.ln()) } else { above };
            let high = above.min((read.max(0.0) + Self::REACH * s).ln());
            ((median - Self::REACH * omega).min(high - Self::REACH * omega), high)
        };
        let step = (high - low) / f64::from(Self::POINTS);
        let at = |k: u32| low + step * f64::from(k);
        let log_density =
            |log: f64| -0.5 * (((log - median) / omega).powi(2) + ((read - log.exp()) / s).powi(2));
        let densities: Vec<f64> = (0..=Self::POINTS).map(|k| log_density(at(k))).collect();
        let largest = densities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = densities.iter().map(|density| (density - largest).exp()).collect();
        let total: f64 = weights.windows(2).map(|pair| pair[0] + pair[1]).sum();
        let mut below = 0.0;
        let mut points = vec![(at(0), 0.0)];
        let mut mean = 0.0;
        for (k, pair) in (1..).zip(weights.windows(2)) {
            let share = (pair[0] + pair[1]) / total;
            mean += share * (at(k) - 0.5 * step).exp();
            below += share;
            points.push((at(k), below));
        }
        Self { points, mean }
    }

    /// The value that this standard normal number stands for.
    pub(super) fn quantile(&self, z: f64) -> f64 {
        let share = 0.5 * libm::erfc(-z / SQRT_2);
        let above = self.points.partition_point(|(_, below)| *below < share).clamp(1, self.points.len() - 1);
        let [(low, before), (high, after)] = [self.points[above - 1], self.points[above]];
        let between =
            if after > before { ((share - before) / (after - before)).clamp(0.0, 1.0) } else { 0.5 };
        (low + between * (high - low)).exp()
    }
}
