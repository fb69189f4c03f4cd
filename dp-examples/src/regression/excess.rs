//! What the mean gradient of a regression of counts has beside what a quadratic log-likelihood explains.
//!
//! A posterior is inferred from the mean of noisy gradients at the values `β_t` that the steps visited, as if that were
//! the gradient at their mean `β̄`. Of counts it is not, for two reasons, and both make an intercept too small by a
//! constant, which many records or few make as large as a deviation or two:
//!
//! - Means of counts are exponentials: `E e^(β_t·z) = e^(β̄·z + h/2)` where the steps wander with a variance `h` of the
//!   linear predictor. The noise carries them along in all directions at once.
//! - Counts are skewed: long residuals are positive, and where gradients are clipped these are made shorter.
//!
//! What is missing follows from the model at the mean that was found, and costs nothing:
//!
//! ```text
//! E[clip(ρ)] = 0 at τ     ρ = (y − m)/(1 + m/φ), cut at ±C/‖z‖,   m = e^(β̄·z + d),   y ~ NegativeBinomial(e^(β̄·z + τ), φ)
//!                         d ~ N(0, w ‖z‖²/n),   w the mean squared distance of β_t from β̄
//! shift of the posterior's mean = (1 − ĉᵀ P Σ ĉ) τ c     Σ its covariance, P the prior's precision, ĉ = c/‖c‖
//! ```
//!
//! `z` are whitened features: one direction, `c`, is that of the constant term, so that `c·z = 1`, and in all others
//! they are taken to be normal with variances that fit their typical length. The intercept alone is moved, as far as it
//! was learned: what slopes lose is a small part of that, and a direction of slopes that noise has made up is none to
//! move along. Where features are something else the shift is off; it is taken to be as unknown as half its length.

use dp_vi::NoiseAware;
use nalgebra::{DMatrix, DVector};

use crate::regression::whitening::Whitening;

/// Half the width, in deviations of the linear predictor, and the number of points of the sum over it on each side.
const REACH: f64 = 6.0;
const POINTS: i32 = 60;

/// Standard normals at the middle of three equal shares: lengths of what has no part in the predictor are summed at.
const THIRDS: [f64; 3] = [-0.967_421_566, 0.0, 0.967_421_566];

/// The largest linear predictor, and the smallest: means of counts from 2e-9 to 1e6.
const PREDICTORS: (f64, f64) = (-20.0, 13.8);

/// The largest shift: where steps wander farther, nothing is learned.
const FARTHEST: f64 = 1.0;

/// Secants until a shift is known to a hundredth of itself, or better.
const SECANTS: u32 = 8;

/// Deviations of a shift over its length. A choice: features are not normal, and nothing that is released says how far
/// they are from it.
const UNKNOWN: f64 = 0.5;

/// Nodes and weights of a mean over a standard normal that is exact for polynomials up to the fifth degree.
const NODES: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];

/// What is to be added to the mean of a posterior in whitened coordinates, along one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shift {
    /// A change of the linear predictor by 1, as far as it was learned.
    pub(super) direction: Vec<f64>,
    /// How far along it, and how uncertain that is.
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Shift {
    /// Along the constant, coefficients that make a linear predictor of 1 for all records: `(1 − ĉᵀ P Σ ĉ) c`. `None`
    /// where nothing finite follows.
    pub(super) fn along(
        constant: &[f64],
        (found, whitening): (&NoiseAware, &Whitening),
        (mean, deviation): (f64, f64),
    ) -> Option<Self> {
        let n = found.mean.len();
        let constant = DVector::from_column_slice(constant);
        if n != constant.len() || constant.amax() == 0.0 {
            return None;
        }
        let direction = constant.normalize();
        let covariance = DMatrix::from_row_slice(n, n, &found.covariance);
        let precisions = whitening.prior_scales(1.0).into_iter().map(|scale| scale.powi(-2));
        let prior =
            direction.dot(&DVector::from_iterator(n, precisions).component_mul(&(covariance * &direction)));
        let direction = constant * (1.0 - prior).clamp(0.0, 1.0);
        let is_finite = direction.iter().chain([&mean, &deviation]).all(|x| x.is_finite());
        is_finite.then(|| Self { direction: direction.as_slice().to_vec(), mean, deviation })
    }
}

/// How gradients of counts were taken.
pub(super) struct Excess {
    /// The counts' dispersion `φ`.
    pub(super) phi: f64,
    /// The norm that gradients are clipped to.
    pub(super) norm: f64,
    /// `w`
    pub(super) wandered: f64,
}

impl Excess {
    /// `constant` is `c`. `None` without privacy, or where nothing finite follows.
    pub(super) fn shift(&self, found: &NoiseAware, whitening: &Whitening, constant: &[f64]) -> Option<Shift> {
        if found.mean.len() != constant.len() {
            return None;
        }
        let at = DVector::from_column_slice(constant);
        let missing = self.missing(&DVector::from_column_slice(&found.mean), &at, whitening.typical());
        Shift::along(constant, (found, whitening), (missing, UNKNOWN * missing))
    }

    /// `τ` at these coefficients.
    fn missing(&self, beta: &DVector<f64>, constant: &DVector<f64>, typical: f64) -> f64 {
        let n = beta.len();
        let middle = constant / constant.norm_squared();
        let along = (beta - beta.dot(constant) * &middle).norm();
        let squared = (typical * typical - middle.norm_squared()).max(0.0);
        // Of each direction; more than 1 is due to noise.
        let variance = if n > 1 { (squared / (n - 1) as f64).min(1.0) } else { 0.0 };
        let rest = n.saturating_sub(2) as f64;
        let mean_residual = |shift: f64| -> f64 {
            let of = |point: i32| {
                let u = REACH * f64::from(point) / f64::from(POINTS);
                let moved = variance.sqrt() * u;
                let predictor = (beta.dot(&middle) + along * moved).clamp(PREDICTORS.0, PREDICTORS.1);
                let mean = (predictor + shift).min(PREDICTORS.1).exp();
                let expected = THIRDS.map(|z| {
                    // Wilson and Hilferty's approximation of a χ² quantile.
                    let ninth = 2.0 / (9.0 * rest.max(1.0));
                    let others = variance * rest * (1.0 - ninth + z * ninth.sqrt()).powi(3).max(0.0);
                    let length = (middle.norm_squared() + moved * moved + others).sqrt();
                    let deviation = (self.wandered / n as f64).sqrt() * length;
                    let at = |(node, weight): (f64, f64)| {
                        let there = (predictor + deviation * node).min(PREDICTORS.1).exp();
                        weight * self.residual(mean, there, self.norm / length)
                    };
                    NODES.map(at).iter().sum::<f64>()
                });
                (-0.5 * u * u).exp() * expected.iter().sum::<f64>()
            };
            (-POINTS..=POINTS).map(of).sum()
        };
        // Residuals grow with the shift, and hardly bend: a secant or two find where they vanish.
        let (mut low, mut high) = ((0.0, mean_residual(0.0)), (FARTHEST, mean_residual(FARTHEST)));
        if low.1 >= 0.0 || high.1 <= 0.0 {
            return if low.1 >= 0.0 { 0.0 } else { FARTHEST };
        }
        for _ in 0..SECANTS {
            let at = low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1);
            let residual = mean_residual(at);
            if residual < 0.0 {
                low = (at, residual)
            } else {
                high = (at, residual)
            }
            if residual.abs() < 1e-6 * high.1.max(-low.1) {
                break;
            }
        }
        low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1)
    }

    /// The mean residual of counts of this mean, where it is taken at another and cut at `limit` on both sides.
    ///
    /// ```text
    /// E[ρ] − E[(ρ − l)₊ − (−ρ − l)₊],   ρ = (y − m)/(1 + m/φ)
    /// ```
    fn residual(&self, mean: f64, at: f64, limit: f64) -> f64 {
        let factor = 1.0 + at / self.phi;
        let reach = limit * factor;
        let deviation = (mean * (1.0 + mean / self.phi)).sqrt();
        // Beyond this many deviations of a skewed count nothing is left, wherever it is cut.
        let skew = (1.0 + 2.0 * mean / self.phi) / deviation;
        let (least, most) = ((mean - 8.0 * deviation).max(0.0), mean + (8.0 + 20.0 * skew) * deviation);
        let beyond = |k: f64| ((k - at).abs() - reach).max(0.0) * (k - at).signum() * self.density(k, mean);
        let above: f64 =
            spaced((at + reach).ceil().max(least.floor()), most).map(|(k, width)| width * beyond(k)).sum();
        let below: f64 =
            spaced(least.floor(), (at - reach).floor().min(most)).map(|(k, width)| width * beyond(k)).sum();
        (mean - at - above - below) / factor
    }

    /// The probability of a count.
    fn density(&self, k: f64, mean: f64) -> f64 {
        let log_factorial = libm::lgamma(k + 1.0);
        let log = if self.phi >= 1e9 {
            k * mean.ln() - mean - log_factorial
        } else {
            let phi = self.phi;
            libm::lgamma(k + phi) - libm::lgamma(phi) - log_factorial + k * (mean / (mean + phi)).ln()
                - phi * (mean / phi).ln_1p()
        };
        log.exp()
    }
}

/// Whole numbers from one to another, at most a few hundred of them, and for how many each stands: of a range that is
/// wide where densities are smooth.
fn spaced(from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    const MOST: f64 = 400.0;
    let width = ((to - from + 1.0) / MOST).ceil().max(1.0);
    let count = ((to - from) / width).floor();
    let count = if count >= 0.0 { count as u32 + 1 } else { 0 };
    (0..count).map(move |k| (from + width * (f64::from(k) + 0.5) - 0.5, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

    /// Against plain sums over all counts.
    #[test]
    fn mean_residuals_are_those_of_all_counts() {
        let cases =
            [(0.3, 0.3, 1.5, 1e15), (4.0, 5.0, 3.0, 1e15), (4.0, 3.0, 2.0, 1.5), (60.0, 70.0, 12.0, 1e15)];
        for (mean, at, limit, phi) in cases {
            let excess = Excess { phi, norm: 1.0, wandered: 0.0 };
            let residual = |k: f64| (k - at) / (1.0 + at / phi);
            let plain: f64 = (0..4000)
                .map(|k| excess.density(f64::from(k), mean) * residual(f64::from(k)).clamp(-limit, limit))
                .sum();
            let found = excess.residual(mean, at, limit);
            assert!(
                (found - plain).abs() < 1e-6 * (1.0 + mean),
                "{mean} {at} {limit} {phi}: {found} {plain}"
            );
        }
        // Wide ranges are summed in strides.
        let excess = Excess { phi: 1e15, norm: 1.0, wandered: 0.0 };
        let wide = excess.residual(1e5, 1e5, 100.0);
        assert!(wide.abs() < 0.2, "{wide}");
        assert!((excess.residual(9.0, 7.0, 1e9) - 2.0).abs() < 1e-9);
    }

    /// The mean of clipped gradients at values that wander, of 60,000 made-up records: its standard error is below
    /// .006 of an intercept.
    #[test]
    fn what_is_missing_is_what_made_up_records_miss() {
        let (n, records) = (6, 60_000);
        let mut draws = 0;
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("made-up records"));
        let mut normals = |count: usize| {
            let mut z = vec![0.0; count];
            noise.fill(draws, &mut z);
            draws += 1;
            z
        };
        let constant = DVector::from_fn(n, |j, _| if j == 0 { 1.0 } else { 0.0 });
        let beta = DVector::from_vec(vec![0.4, 0.5, -0.3, 0.0, 0.2, 0.0]);
        let typical = (n as f64).sqrt();
        for (norm, wandered) in [(2.5, 0.0), (1e6, 0.2), (2.5, 0.2)] {
            let excess = Excess { phi: 1e15, norm, wandered };
            let tau = excess.missing(&beta, &constant, typical);
            let (mut sum, mut curvature, mut without) = (0.0, 0.0, 0.0);
            for _ in 0..records {
                let z = normals(2 * n + 1);
                let features = DVector::from_fn(n, |j, _| if j == 0 { 1.0 } else { z[j] });
                let away = DVector::from_fn(n, |j, _| (wandered / n as f64).sqrt() * z[n + j]);
                let there = (&beta + away).dot(&features).exp();
                let length = features.norm();
                let share = 0.5 * libm::erfc(-z[2 * n] / std::f64::consts::SQRT_2);
                // The count at this share of its law.
                let count = |mean: f64| {
                    let (mut count, mut below) = (0.0, excess.density(0.0, mean));
                    while below < share && count < 500.0 {
                        count += 1.0;
                        below += excess.density(count, mean);
                    }
                    count
                };
                let middle = beta.dot(&features);
                let cut = |count: f64| (count - there).clamp(-norm / length, norm / length);
                sum += cut(count((middle + tau).exp()));
                without += cut(count(middle.exp()));
                curvature += middle.exp();
            }
            assert!(sum.abs() < 0.02 * curvature, "{norm} {wandered}: {tau} {}", sum / curvature);
            assert!(without < -0.04 * curvature, "{norm} {wandered}: {}", without / curvature);
        }
    }

    #[test]
    fn whole_numbers_are_counted_once() {
        for (from, to) in [(0.0, 0.0), (3.0, 17.0), (5.0, 2.0), (0.0, 1_000_000.0)] {
            let counted: f64 = spaced(from, to).map(|(_, width)| width).sum();
            let all = (to - from + 1.0).max(0.0);
            assert!((counted - all).abs() <= 0.003 * all, "{from} {to}: {counted}");
        }
    }
}
