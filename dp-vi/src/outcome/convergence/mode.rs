//! The mode of a density, and the normal with the curvature there.

use crate::error::Result;
use crate::outcome::convergence::natural::{ARRIVED, Doubt, Found, Normal, Target};
use crate::outcome::correction::linear_algebra::{cholesky, eigen, inverse, symmetrised};
use nalgebra::{DMatrix, DVector};

/// Steps, at most; a handful is usual.
const MOST_STEPS: u64 = 200;

/// Halvings of a step that does not go up far enough.
const HALVINGS: u32 = 50;

/// What a step would add to the log density at the mode; about what rounding leaves of a sum of millions.
const NOTHING: f64 = 1e-8;

/// Least curvature of a direction relative to that of single values, about what rounding leaves of none.
const LEAST: f64 = 1e-14;

/// How much second derivatives may change, relative to themselves, over the last step.
const STEADY: f64 = 0.1;

/// Minus the second derivatives in units in which each value's own is 1, so that no unit of the data matters,
/// and these units.
fn scaled(matrix: &DMatrix<f64>) -> (DMatrix<f64>, DVector<f64>) {
    let units = matrix.diagonal().map(|p| match p.abs().sqrt().recip() {
        unit if unit.is_finite() => unit,
        _ => 1.0,
    });
    let scaled = DMatrix::from_fn(units.len(), units.len(), |i, j| units[i] * matrix[(i, j)] * units[j]);
    (symmetrised(&scaled), units)
}

/// The mode, by Newton's steps that are halved until they go up, and the normal with the inverse of minus the
/// second derivatives there. `None` where the log density is not finite at the start, or has no maximum where
/// the steps end.
///
/// `hessian` gives minus the second derivatives. Where they are not positive definite, steps take their
/// absolute values, so that every step has an upward slope. A slope that falls to 0 together with the curvature,
/// as where a likelihood has its maximum at infinity, is no mode: there a step changes the curvature by its own
/// size.
pub(crate) fn mode(
    target: &mut dyn Target,
    start: Vec<f64>,
    mut hessian: impl FnMut(&[f64]) -> Result<DMatrix<f64>>,
) -> Result<Option<Found>> {
    let n = start.len();
    let mut evaluations = 0;
    let mut at = |target: &mut dyn Target, u: &DVector<f64>| -> Result<(f64, DVector<f64>)> {
        evaluations += 1;
        let (mut value, mut gradient) = ([0.0], DMatrix::zeros(n, 1));
        target.evaluate(&DMatrix::from_column_slice(n, 1, u.as_slice()), &mut value, &mut gradient)?;
        Ok((value[0], gradient.column(0).into_owned()))
    };
    let mut here = DVector::from(start);
    let (mut value, mut slope) = at(target, &here)?;
    if !value.is_finite() {
        return Ok(None);
    }
    let (mut matrix, mut arrived) = (hessian(here.as_slice())?, false);
    for _ in 0..MOST_STEPS {
        let (curvature, units) = scaled(&matrix);
        let Some(found) = eigen(curvature) else { return Ok(None) };
        let turned = found.eigenvectors.transpose() * slope.component_mul(&units);
        let newton = turned.zip_map(&found.eigenvalues, |a, p| a / p.abs().max(LEAST));
        let step = (found.eigenvectors * &newton).component_mul(&units);
        let gain = turned.dot(&newton);
        if !gain.is_finite() || gain < NOTHING {
            arrived = gain.is_finite();
            break;
        }
        if !target.goes_on() {
            break;
        }
        let mut accepted = None;
        for halvings in 0..HALVINGS {
            let length = 0.5_f64.powi(halvings as i32);
            let trial = &here + &step * length;
            let (found, gradient) = at(target, &trial)?;
            let finite = found.is_finite() && gradient.iter().all(|x| x.is_finite());
            // To within rounding the slope says more than the density.
            let flat = gain < 1e-3 && (found - value).abs() <= 1e-13 * value.abs();
            if finite
                && (found > value + 1e-4 * length * gain
                    || (flat && gradient.dot(&step).abs() < 0.5 * slope.dot(&step).abs()))
            {
                accepted = Some((trial, found, gradient));
                break;
            }
        }
        let Some(next) = accepted else {
            // Nothing above, to within rounding.
            arrived = gain < 1e-4;
            break;
        };
        (here, value, slope) = next;
        matrix = hessian(here.as_slice())?;
    }
    let (curvature, units) = scaled(&matrix);
    let Some(factorisation) = cholesky(curvature.clone()) else { return Ok(None) };
    let slope = slope.component_mul(&units);
    let step = factorisation.solve(&slope);
    let remaining = (slope.dot(&step).max(0.0) / n as f64).sqrt();
    // The last step once more, to see whether there is a parabola under it.
    let beyond = hessian((&here + step.component_mul(&units)).as_slice())?;
    let beyond = DMatrix::from_fn(n, n, |i, j| units[i] * beyond[(i, j)] * units[j]);
    let root = factorisation.l_dirty().lower_triangle();
    let change = symmetrised(&(beyond - curvature));
    let turned = root.solve_lower_triangular(&change).map(|half| half.transpose());
    let turned = turned.and_then(|half| root.solve_lower_triangular(&half));
    let steady = turned.is_some_and(|change| change.amax() < STEADY);
    let doubt = match () {
        () if !target.goes_on() => Some(Doubt::Stopped),
        () if !arrived || remaining.is_nan() || remaining >= ARRIVED => Some(Doubt::Moving),
        () if !steady => Some(Doubt::Improper),
        () => None,
    };
    let Some(covariance) = cholesky(inverse(&factorisation)) else { return Ok(None) };
    let mut factor = covariance.unpack();
    for (mut row, unit) in factor.row_iter_mut().zip(&units) {
        row *= *unit;
    }
    let normal = Normal::with_factor(here, factor);
    Ok(Some(Found { normal, evaluations, remaining, doubt }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A density of one value or more with its first and minus its second derivatives.
    struct Given<F>(usize, F);

    impl<F: Fn(&[f64]) -> (f64, Vec<f64>, DMatrix<f64>)> Target for Given<F> {
        fn elements(&self) -> usize {
            self.0
        }

        fn evaluate(
            &mut self,
            points: &DMatrix<f64>,
            values: &mut [f64],
            gradients: &mut DMatrix<f64>,
        ) -> Result<()> {
            for (k, point) in points.column_iter().enumerate() {
                let (value, slope, _) = (self.1)(point.as_slice());
                values[k] = value;
                gradients.column_mut(k).copy_from_slice(&slope);
            }
            Ok(())
        }
    }

    fn found(start: Vec<f64>, density: impl Fn(&[f64]) -> (f64, Vec<f64>, DMatrix<f64>)) -> Option<Found> {
        let second = |u: &[f64]| Ok(density(u).2);
        mode(&mut Given(start.len(), &density), start, second).unwrap()
    }

    /// Values of 1e-10 and 1e10 beside each other, correlated by 0.999.
    #[test]
    fn no_unit_matters() {
        let (scale, rho) = ([1e-10, 1e10], 0.999_f64);
        let inverse = DMatrix::from_row_slice(2, 2, &[1.0, -rho, -rho, 1.0]) / (1.0 - rho * rho);
        let precision = DMatrix::from_fn(2, 2, |i, j| inverse[(i, j)] / (scale[i] * scale[j]));
        let found = found(vec![0.0; 2], |u| {
            let away = DVector::from_vec(vec![u[0] - 3.0 * scale[0], u[1] + 5.0 * scale[1]]);
            let slope = -(&precision * &away);
            (0.5 * away.dot(&slope), slope.as_slice().to_vec(), precision.clone())
        });
        let found = found.unwrap();
        assert!(found.doubt.is_none() && found.remaining < 1e-4, "{:?} {}", found.doubt, found.remaining);
        for (k, mean) in [3.0, -5.0].into_iter().enumerate() {
            assert!((found.normal.mean[k] / scale[k] - mean).abs() < 1e-6);
            assert!((found.normal.factor.row(k).norm() / scale[k] - 1.0).abs() < 1e-6);
        }
    }

    /// Ten successes have their maximum at infinity, and `−(u − 1)⁴` has no curvature at its own.
    #[test]
    fn a_slope_that_vanishes_with_the_curvature_is_no_mode() {
        let successes = found(vec![0.0], |u| {
            let p = 1.0 / (1.0 + u[0].exp());
            (-10.0 * (-u[0]).exp().ln_1p(), vec![10.0 * p], DMatrix::from_element(1, 1, 10.0 * p * (1.0 - p)))
        });
        assert_eq!(successes.unwrap().doubt, Some(Doubt::Improper));
        let fourth = found(vec![0.0], |u| {
            let v = u[0] - 1.0;
            (-v.powi(4), vec![-4.0 * v.powi(3)], DMatrix::from_element(1, 1, 12.0 * v * v))
        });
        assert_eq!(fourth.unwrap().doubt, Some(Doubt::Improper));
    }
}
