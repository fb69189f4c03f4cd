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
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("nearest normal"));
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
