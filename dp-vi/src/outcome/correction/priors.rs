//! Priors that are no normals, where a curvature was released.

use super::linear_algebra::{compose, eigen, square, symmetrised};
use super::noise_aware::Evidence;
use super::probes::{ElementPrior, normal_prior};
use crate::objective::coordinates::Coordinates;
use crate::objective::curvature::CurvatureShape;
use nalgebra::{DMatrix, DVector, DVectorView};

/// Standard errors of what was read that are left out of a curvature which the data have at least.
const LEFT_OUT: f64 = 2.0;

/// What gradients with this noise say of the values at least, by a curvature that was released: `S (S + v)⁻¹ S`.
pub(crate) fn least_information(
    released: &[f64],
    (shape, deviation): (CurvatureShape, f64),
    noise_variance: f64,
) -> Option<DMatrix<f64>> {
    let n = released.len().isqrt();
    let of = |read: f64| {
        let curvature = (read - LEFT_OUT * deviation).max(0.0);
        curvature * curvature / (noise_variance + curvature).max(f64::MIN_POSITIVE)
    };
    if shape == CurvatureShape::Diagonal {
        let diagonal = released.iter().step_by(n + 1).map(|read| of(*read));
        return Some(DMatrix::from_diagonal(&DVector::from_iterator(n, diagonal)));
    }
    let found = eigen(symmetrised(&square(released, n)))?;
    Some(compose(&DMatrix::from_diagonal(&found.eigenvalues.map(of)), &found.eigenvectors))
}

/// Gradient and negative Hessian of a normal approximation to a prior that is not normal, in the coordinates of the
/// run: of the values themselves, whose priors as a rule are independent of each other where those of coordinates are
/// not.
pub(crate) fn normal_prior_of_values(
    elements: &[ElementPrior],
    coordinates: Option<&Coordinates>,
    (at, gradient, curvature): (&[f64], &[f64], &[f64]),
    least: DMatrix<f64>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let n = at.len();
    let identity = DMatrix::identity(n, n);
    let outward = coordinates.map_or(&identity, Coordinates::factor);
    let inward = outward.solve_lower_triangular(&identity)?;
    let values = coordinates.map_or_else(|| at.to_vec(), |coordinates| coordinates.values(at));
    let pull = inward.tr_mul(&DVectorView::from_slice(gradient, n));
    let precision = inward.tr_mul(&(square(curvature, n) * &inward));
    let here = Evidence {
        curvature: &[],
        values: &values,
        gradients: &[],
        noise_variance: 0.0,
        sampling: 0.0,
        prior_gradient: pull.as_slice(),
        prior_curvature: precision.as_slice(),
    };
    let information = inward.tr_mul(&(least * &inward));
    let (precision, pull) = normal_prior(elements, &here, Some(&information))?;
    let precision = symmetrised(&(outward.tr_mul(&precision) * outward));
    Some((outward.tr_mul(&pull).as_slice().to_vec(), precision.as_slice().to_vec()))
}
