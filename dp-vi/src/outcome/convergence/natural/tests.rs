//! Normals that are known, and targets that have none.

use super::*;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

/// A density of which value and gradient are given, point by point.
struct Given<F>(usize, F);

impl<F: Fn(&[f64], &mut [f64]) -> f64> Target for Given<F> {
    fn elements(&self) -> usize {
        self.0
    }

    fn evaluate(
        &mut self,
        points: &DMatrix<f64>,
        values: &mut [f64],
        gradients: &mut DMatrix<f64>,
    ) -> Result<()> {
        let all = points.column_iter().zip(gradients.column_iter_mut()).zip(values);
        for ((point, mut gradient), value) in all {
            let mut slope = vec![0.0; self.0];
            *value = (self.1)(point.as_slice(), &mut slope);
            gradient.copy_from_slice(&slope);
        }
        Ok(())
    }
}

fn found(n: usize, family: NormalFamily, density: impl Fn(&[f64], &mut [f64]) -> f64) -> Option<Found> {
    found_by(3, n, family, density)
}

fn found_by(
    seed: u64,
    n: usize,
    family: NormalFamily,
    density: impl Fn(&[f64], &mut [f64]) -> f64,
) -> Option<Found> {
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(seed), Purpose::Custom("nearest normal"));
    let mut batch = 0;
    let mut fill = |out: &mut [f64]| {
        noise.fill(batch, out);
        batch += 1;
    };
    let start = Normal::independent(vec![0.0; n], vec![0.1; n]);
    nearest_normal(&mut Given(n, density), start, family, &mut fill).unwrap()
}

/// Scales from 1e-3 to 1e3, neighbours correlated by 0.95, means of 40 standard deviations and more.
fn example() -> (DVector<f64>, DMatrix<f64>) {
    let n = 6;
    let scale = |k: usize| 10_f64.powf(1.2 * k as f64 - 3.0);
    let power = |a: usize, b: usize| 0.95_f64.powi(a.abs_diff(b) as i32);
    let covariance = DMatrix::from_fn(n, n, |a, b| scale(a) * scale(b) * power(a, b));
    (DVector::from_fn(n, |k, _| 40.0 * scale(k) * (k as f64 - 4.5)), covariance)
}

/// For a normal density all is exact, whatever the draws: the correlated normal is the density; the
/// independent one has its mean and the inverse of its precision's diagonal.
#[test]
fn a_normal_density_is_found_whatever_its_units() {
    let (mean, covariance) = example();
    let precision = covariance.clone().try_inverse().unwrap();
    for family in [NormalFamily::Correlated, NormalFamily::Independent] {
        let found = found(6, family, |u, slope| {
            let away = DVector::from_column_slice(u) - &mean;
            let pull = -(&precision * &away);
            slope.copy_from_slice(pull.as_slice());
            0.5 * away.dot(&pull)
        });
        let found = found.unwrap();
        assert!(found.doubt.is_none() && found.remaining < 1e-6 && found.evaluations < 10_000);
        let got = &found.normal.factor * found.normal.factor.transpose();
        for k in 0..6 {
            let sd = covariance[(k, k)].sqrt();
            assert!((found.normal.mean[k] - mean[k]).abs() < 1e-6 * sd, "{family:?} {k}");
            let expected = match family {
                NormalFamily::Correlated => covariance[(k, k)],
                NormalFamily::Independent => precision[(k, k)].recip(),
            };
            // Later batches take the rest of the first steps' way off at the rate 1/t.
            assert!((got[(k, k)] / expected - 1.0).abs() < 0.02, "{family:?} {k} {}", got[(k, k)] / expected);
        }
    }
}

/// Skewed, with a closed fixed point: `ln p = a u − b eᵘ` (the logarithm of a Gamma variable) has
/// `E_q[∇] = a − b e^(m + v/2) = 0` and `E_q[−H] = b e^(m + v/2) = a = 1/v`. Monte Carlo errors of the
/// mean are 0.015 standard deviations at the end; 5 of them.
#[test]
fn a_skewed_density_has_its_fixed_point() {
    let (a, b) = (1.5, 200.0);
    let found = found(1, NormalFamily::Correlated, |u, slope| {
        slope[0] = a - b * u[0].exp();
        a * u[0] - b * u[0].exp()
    });
    let found = found.unwrap();
    let (v, sd) = (1.0 / a, found.normal.factor[(0, 0)]);
    let m = (a / b).ln() - 0.5 * v;
    assert!(found.doubt.is_none(), "{}", found.remaining);
    assert!((found.normal.mean[0] - m).abs() < 0.075 * v.sqrt(), "{} {m}", found.normal.mean[0]);
    assert!((sd / v.sqrt() - 1.0).abs() < 0.05, "{sd}");
}

/// A slope that never ends has no nearest normal, and what has no finite value anywhere has no fit.
#[test]
fn what_cannot_arrive_says_so() {
    for family in [NormalFamily::Correlated, NormalFamily::Independent] {
        let runs_away = found(2, family, |u, slope| {
            slope.copy_from_slice(&[1.0, -u[1]]);
            u[0] - 0.5 * u[1] * u[1]
        });
        assert!(runs_away.unwrap().doubt.is_some());
        assert!(found(2, family, |_, _| f64::NAN).is_none());
    }
}

/// Not finite further out than 0.05: the start is made narrower, and the end stays inside.
#[test]
fn a_start_that_is_too_wide_is_made_narrower() {
    let found = found(1, NormalFamily::Correlated, |u, slope| {
        slope[0] = -1e6 * u[0];
        if u[0].abs() > 0.05 { f64::NEG_INFINITY } else { -5e5 * u[0] * u[0] }
    });
    let found = found.unwrap();
    assert!(found.doubt.is_none() && (found.normal.factor[(0, 0)] / 1e-3 - 1.0).abs() < 0.02);
}

/// Eight schools `y_j ~ N(θ_j, σ_j)`, `θ_j ~ N(μ, τ)`, whose `ln τ` has a prior of deviation 10. The nearest normal
/// lies along a valley, for all effects shrink with their common scale: the mean of `ln τ` is −.36 and its deviation
/// .25, and fits that ended where L-BFGS gained nothing more were from −.45 to −.74, and said that they had converged
/// to .014. These are within a quarter of a deviation, and those that are not say so.
#[test]
fn a_valley_is_followed_to_its_end() {
    let y = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    let sd = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
    let density = |u: &[f64], slope: &mut [f64]| {
        let (mu, log) = (u[0], u[1]);
        let tau = log.exp();
        slope[0] = -mu / 25.0;
        slope[1] = -log / 100.0;
        let mut value = -0.5 * (mu / 5.0).powi(2) - 0.5 * (log / 10.0).powi(2);
        for j in 0..8 {
            let away = (u[2 + j] - mu) / tau;
            let rest = (y[j] - u[2 + j]) / sd[j];
            value -= 0.5 * (away * away + rest * rest) + log;
            slope[0] += away / tau;
            slope[1] += away * away - 1.0;
            slope[2 + j] = rest / sd[j] - away / tau;
        }
        value
    };
    let found = |seed| found_by(seed, 10, NormalFamily::Correlated, density).unwrap();
    let found: Vec<Found> = (0..6).map(found).filter(|found| found.doubt.is_none()).collect();
    assert!(found.len() > 3, "{}", found.len());
    for Found { normal, remaining, .. } in &found {
        let away = (normal.mean[1] + 0.36).abs() / normal.factor.row(1).norm();
        assert!(away < 0.25, "{} {remaining}", normal.mean[1]);
    }
}

/// A step of conjugate gradients is Newton's, whatever was known before, and a bound that curves upwards says so.
#[test]
fn newtons_step_finds_what_was_taken_for_steep() {
    for (curvature, is_down) in [(1e-3, false), (-0.5, true)] {
        let density = |u: &[f64], slope: &mut [f64]| {
            slope.copy_from_slice(&[-u[0], 1e-2 - curvature * u[1], -4.0 * u[2]]);
            -0.5 * u[0] * u[0] + 1e-2 * u[1] - 0.5 * curvature * u[1] * u[1] - 2.0 * u[2] * u[2]
        };
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("nearest normal"));
        let mut fill = |out: &mut [f64]| noise.fill(0, out);
        let mut target = Given(3, density);
        let family = NormalFamily::Independent;
        let draws = whitened(&mut fill, 3, 32);
        let mut search =
            Search { target: &mut target, fill: &mut fill, family, evaluations: 0, surveyed: false };
        // Scales are where they belong, but for the second one, which is not moved here.
        let mut chart = Chart::new(family, Normal::independent(vec![0.0; 3], vec![1.0, 1.0, 0.5]));
        let here = search.estimate(&chart.normal, &draws).unwrap().unwrap();
        let mut slope = chart.slope(&here, &chart.root).unwrap();
        slope.rows_mut(3, 3).fill(0.0);
        let step = search.newton(&mut chart, &draws, &slope).unwrap();
        assert_eq!(step.is_down, is_down);
        if is_down {
            assert!(step.way[1] > 0.5, "{}", step.way);
        } else {
            assert!((step.way[1] - 10.0).abs() < 1e-3, "{}", step.way);
        }
    }
}
