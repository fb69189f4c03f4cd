//! The mode of a density, and the normal with the curvature there.

use crate::error::Result;
use crate::outcome::convergence::natural::{Found, Normal, Target};
use crate::outcome::correction::linear_algebra::{cholesky, eigen, inverse, symmetrised};
use nalgebra::{DMatrix, DVector};

/// Steps, at most; a handful is usual.
const MOST_STEPS: u64 = 200;

/// Halvings of a step that does not go up far enough.
const HALVINGS: u32 = 50;

/// What a step would add to the log density at the mode; about what rounding leaves of a sum of millions.
const NOTHING: f64 = 1e-8;

/// The mode, by Newton's steps that are halved until they go up, and the normal with the inverse of minus the
/// second derivatives there. `None` where the log density is not finite at the start, or has no maximum where
/// the steps end.
///
/// `hessian` gives minus the second derivatives. Where they are not positive definite, steps take their
/// absolute values, so that every step has an upward slope.
pub(crate) fn mode(
    target: &mut dyn Target,
    start: Vec<f64>,
    mut hessian: impl FnMut(&[f64]) -> Result<DMatrix<f64>>,
) -> Result<Option<Found>> {
    let n = start.len();
    let mut evaluations = 0;
    let mut at = |u: &DVector<f64>| -> Result<(f64, DVector<f64>)> {
        evaluations += 1;
        let (mut value, mut gradient) = ([0.0], DMatrix::zeros(n, 1));
        target.evaluate(&DMatrix::from_column_slice(n, 1, u.as_slice()), &mut value, &mut gradient)?;
        Ok((value[0], gradient.column(0).into_owned()))
    };
    let mut here = DVector::from(start);
    let (mut value, mut slope) = at(&here)?;
    if !value.is_finite() {
        return Ok(None);
    }
    let mut converged = false;
    for _ in 0..MOST_STEPS {
        let Some(found) = eigen(symmetrised(&hessian(here.as_slice())?)) else { return Ok(None) };
        let largest = found.eigenvalues.amax();
        let turned = found.eigenvectors.transpose() * &slope;
        let newton = turned.zip_map(&found.eigenvalues, |a, p| a / p.abs().max(1e-14 * largest));
        let step = found.eigenvectors * &newton;
        let gain = turned.dot(&newton);
        if !gain.is_finite() || gain < NOTHING {
            converged = gain.is_finite();
            break;
        }
        let mut accepted = None;
        for halvings in 0..HALVINGS {
            let length = 0.5_f64.powi(halvings as i32);
            let trial = &here + &step * length;
            let (found, gradient) = at(&trial)?;
            let finite = found.is_finite() && gradient.iter().all(|x| x.is_finite());
            if finite && found > value + 1e-4 * length * gain {
                accepted = Some((trial, found, gradient));
                break;
            }
        }
        let Some(next) = accepted else {
            // Nothing above, to within rounding.
            converged = gain < 1e-4;
            break;
        };
        (here, value, slope) = next;
    }
    let Some(factorisation) = cholesky(symmetrised(&hessian(here.as_slice())?)) else { return Ok(None) };
    let remaining = (slope.dot(&factorisation.solve(&slope)).max(0.0) / n as f64).sqrt();
    let Some(covariance) = cholesky(inverse(&factorisation)) else { return Ok(None) };
    let normal = Normal::with_factor(here, covariance.unpack());
    Ok(Some(Found { normal, evaluations, remaining, converged }))
}
