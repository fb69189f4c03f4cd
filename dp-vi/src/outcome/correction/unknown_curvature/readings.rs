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
