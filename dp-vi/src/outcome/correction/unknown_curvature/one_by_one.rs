//! Many values, whose curvature's diagonal alone was released: each by itself.

use super::centre::Direction;
use super::law::{SPREAD, THROUGH};
use super::readings::{log_uniform_mean, positive_mean, share_of_scores};
use super::{ReleasedCurvature, Rule};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware, Shares};

/// Points of the integral over a curvature's logarithm, 0.25 standard deviations apart from −4 to 4. The
/// trapezoidal rule of a normal density at this distance is exact to more digits than a double has.
const POINTS: i32 = 16;
const APART: f64 = 0.25;

/// Rounds in which the values' spread, and with it what the curvatures between them hide, is found.
const ROUNDS: usize = 8;

/// One value relative to where gradients were taken.
#[derive(Clone, Copy)]
struct One {
    mean: f64,
    variance: f64,
    /// Mean variance for a known curvature.
    inside: f64,
    /// The variance that there would be without noise, on average over curvatures and for their mean.
    without_noise: f64,
    at_mean: f64,
}

/// The mixture of [`posterior`](super::posterior) where there are too many values for its matrices: linear
/// in their number.
///
/// ```text
/// ḡ_k = S_kk d_k + Σ_{j≠k} S_kj d_j + e_k,    d = u − t̄,   e_k ~ N(0, S_n + β S_kk)
/// S_kk log-normal, as in the law of matrices;   S_kj ~ N(0, THROUGH/D ξ_j ξ_k), independent
/// ```
///
/// What comes through the other values is noise of variance `THROUGH/D · ξ_k Σ_{j≠k} ξ_j E[d_j²]`, with their
/// second moments under the posterior, found in a few rounds from the prior's. Given that, values are
/// independent, and each is an integral over one number. Correlations are not found: the covariance is
/// diagonal.
///
/// `None` where a prior ties values together, or something is not finite.
pub(super) fn summarised(
    sites: Vec<String>,
    evidence: &Evidence<'_>,
    released: &ReleasedCurvature<'_>,
    rule: Rule,
) -> Option<NoiseAware> {
    let (n, s) = (evidence.values.len(), released.deviation);
    let ties = |at: usize| !at.is_multiple_of(n + 1) && evidence.prior_curvature[at] != 0.0;
    if (0..n * n).any(ties) {
        return None;
    }
    let diagonal = |matrix: &[f64]| -> Vec<f64> { matrix.iter().step_by(n + 1).copied().collect() };
    let (read, prior) = (diagonal(released.matrix), diagonal(evidence.prior_curvature));
    let largest = prior.iter().copied().fold(0.0, f64::max);
    let scale = read.iter().fold(largest.max(s), |max, x| max.max(x.abs()));
    let floor = 1e-6 * if largest > 0.0 { largest } else { scale };
    let precisions: Vec<f64> = prior.iter().map(|p| p.max(floor)).collect();
    let precision = precisions.iter().sum::<f64>() / n as f64;
    let negligible = 0.02 * (evidence.noise_variance * precision).sqrt();
    if !(negligible > 0.0 && negligible.is_finite() && read.iter().all(|x| x.is_finite())) {
        return None;
    }
    let mean = read.iter().sum::<f64>() / n as f64;
    let mean = log_uniform_mean(mean, s / (n as f64).sqrt(), negligible);
    let alone = (n as f64).recip();
    let centre: Vec<f64> =
        read.iter().map(|&x| alone * mean + (1.0 - alone) * positive_mean(x - s * s / mean, s)).collect();
    let share = released.scores.map_or(1.0, |trace| {
        let whole = centre.iter().sum::<f64>() * released.shape.score(n);
        share_of_scores(trace / whole, s / whole)
    });
    let mut found: Vec<One> = (0..n)
        .map(|k| {
            let mean = evidence.prior_gradient[k] / precisions[k];
            let variance = precisions[k].recip();
            One { mean, variance, inside: variance, without_noise: variance, at_mean: variance }
        })
        .collect();
    for _ in 0..ROUNDS {
        let moved = |k: usize, one: &One| centre[k] * (one.variance + one.mean * one.mean);
        let all: f64 = found.iter().enumerate().map(|(k, one)| moved(k, one)).sum();
        let next = (0..n).map(|k| {
            let others = (all - moved(k, &found[k])).max(0.0);
            let through = THROUGH * alone * centre[k] * others;
            let seen = Seen {
                gradient: evidence.gradients[k],
                pull: evidence.prior_gradient[k],
                noise: evidence.noise_variance + through,
                scores: share * (1.0 + evidence.sampling),
            };
            let from_start = released.from_start.map(|all| Seen {
                gradient: all.gradients[k],
                pull: evidence.prior_gradient[k] + precisions[k] * (evidence.values[k] - all.values[k]),
                noise: all.noise_variance + through,
                scores: share * (1.0 + all.sampling),
            });
            one(&seen, from_start.as_ref(), precisions[k], (centre[k], s))
        });
        found = next.collect::<Option<Vec<One>>>()?;
    }
    let mut mean = evidence.values.to_vec();
    let mut covariance = vec![0.0; n * n];
    let mut covariance_without_noise = covariance.clone();
    for (k, one) in found.iter().enumerate() {
        let prior = precisions[k].recip();
        let One { mean: away, variance, inside, at_mean: without_noise, .. } = *one;
        let centre = rule(&Direction { away, variance, inside, without_noise, prior });
        mean[k] += centre;
        covariance[k * (n + 1)] = variance + (away - centre).powi(2);
        covariance_without_noise[k * (n + 1)] = one.without_noise;
    }
    Some(NoiseAware {
        sites,
        mean,
        covariance,
        point: None,
        parts: Vec::new(),
        shares: Some(Shares {
            prior: precisions.iter().map(|p| p.sqrt().recip()).collect(),
            without_noise: found.iter().map(|one| one.without_noise.sqrt()).collect(),
            covariance_without_noise,
        }),
    })
}

/// A point of the integral over a curvature: mean and variance of the value, given it.
struct Point {
    log_weight: f64,
    curvature: f64,
    mean: f64,
    variance: f64,
}

/// A mean gradient of one value, and the prior's pull where it was taken.
struct Seen {
    gradient: f64,
    pull: f64,
    /// Variance of what is not the records' own scores.
    noise: f64,
    /// Variance of the scores over the curvature.
    scores: f64,
}

impl Seen {
    fn variance(&self, curvature: f64) -> f64 {
        self.noise + self.scores * curvature
    }

    /// `ln p(ḡ|S)`, up to a constant: the value integrated out.
    fn log_evidence(&self, precision: f64, curvature: f64) -> f64 {
        let marginal = self.variance(curvature) + curvature * curvature / precision;
        let residual = self.gradient - curvature * self.pull / precision;
        -0.5 * (marginal.ln() + residual * residual / marginal)
    }
}

/// One value: what was seen in the last steps and, where that tells of the curvature, in all (see
/// [`Known::log_evidence`](super::Known)); its prior's precision, and its curvature's mean with the error of what was
/// read of it.
fn one(seen: &Seen, from_start: Option<&Seen>, precision: f64, (centre, s): (f64, f64)) -> Option<One> {
    let variance = ((s * s).recip() + (SPREAD * centre).powi(-2)).recip();
    let spread = (variance / (centre * centre)).ln_1p();
    let (middle, deviation) = (centre.ln() - 0.5 * spread, spread.sqrt());
    let mut points: Vec<Point> = Vec::with_capacity(2 * POINTS as usize + 1);
    for at in -POINTS..=POINTS {
        let z = APART * f64::from(at);
        let curvature = (middle + deviation * z).exp();
        let noise = seen.variance(curvature);
        let told = from_start.map_or(0.0, |seen| seen.log_evidence(precision, curvature));
        let log_weight = told - 0.5 * z * z;
        let variance = (precision + curvature * curvature / noise).recip();
        let mean = (curvature * seen.gradient / noise + seen.pull) * variance;
        points.push(Point { log_weight, curvature, mean, variance });
    }
    let largest = points.iter().map(|point| point.log_weight).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = points.iter().map(|point| (point.log_weight - largest).exp()).sum();
    let average = |value: &dyn Fn(&Point) -> f64| {
        points.iter().map(|point| (point.log_weight - largest).exp() * value(point)).sum::<f64>() / total
    };
    let mean = average(&|point| point.mean);
    let variance = average(&|point| point.variance + (point.mean - mean).powi(2));
    (mean.is_finite() && variance > 0.0 && variance.is_finite()).then(|| One {
        mean,
        variance,
        inside: average(&|point| point.variance),
        without_noise: average(&|point| (point.curvature + precision).recip()),
        at_mean: (average(&|point| point.curvature) + precision).recip(),
    })
}
