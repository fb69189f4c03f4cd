//! Newton's steps within a trust region.

use super::estimate::Estimate;
use crate::guides::guide::NormalFamily;
use crate::outcome::correction::linear_algebra::eigen;
use nalgebra::{DMatrix, DVector};

/// A step within a trust region, in the coordinates of an estimate.
pub(super) struct Step {
    pub(super) shift: DVector<f64>,
    pub(super) root: DMatrix<f64>,
    pub(super) log_determinant: f64,
    /// The largest of shifts and of changes of log variances.
    pub(super) length: f64,
    /// What a whole step of Newton's would add to the bound of a log-concave density, about.
    pub(super) decrement: f64,
    /// Axes along which variances change, and by how much their logarithms do.
    pub(super) axes: DMatrix<f64>,
    pub(super) changes: Vec<f64>,
}

/// `Q diag(e^(c/2)) Qᵀ` and its log determinant.
pub(super) fn scaling(axes: &DMatrix<f64>, changes: &[f64]) -> (DMatrix<f64>, f64) {
    let scales = DVector::from_iterator(changes.len(), changes.iter().map(|c| (0.5 * c).exp()));
    (axes * DMatrix::from_diagonal(&scales) * axes.transpose(), 0.5 * changes.iter().sum::<f64>())
}

/// Curvatures below this, relative to the normal's own, are taken for this.
pub(super) const LEAST: f64 = 1e-10;

/// The largest change of a log variance in a step.
pub(super) const MOST_CHANGE: f64 = 6.0;

impl Step {
    /// ```text
    /// curvature = Q diag(p) Qᵀ:   shift = Q (Qᵀ slope / p),   covariance ← Q diag(1/p) Qᵀ        Newton's step
    /// ```
    ///
    /// for a normal density the end, in one step, whatever its units. No direction goes further than `radius`
    /// standard deviations or changes its log variance by more; where the density is not log-concave the
    /// slope is followed, and the variance grows.
    pub(super) fn new(here: &Estimate, family: NormalFamily, radius: f64) -> Option<Self> {
        let found = eigen(here.curvature.clone())?;
        let most = radius.min(MOST_CHANGE);
        let turned = found.eigenvectors.transpose() * &here.slope;
        let newton = turned.zip_map(&found.eigenvalues, |a, p| a / p.abs().max(LEAST));
        let shift = newton.map(|x| x.clamp(-radius, radius));
        let n = newton.len();
        let (axes, curvatures) = match family {
            NormalFamily::Correlated => (found.eigenvectors.clone(), found.eigenvalues.as_slice().to_vec()),
            NormalFamily::Independent => {
                (DMatrix::identity(n, n), here.curvature.diagonal().as_slice().to_vec())
            }
        };
        let whole = |p: &f64| if *p > 0.0 { (-p.ln()).clamp(-MOST_CHANGE, MOST_CHANGE) } else { MOST_CHANGE };
        let whole: Vec<f64> = curvatures.iter().map(whole).collect();
        let divergence = |c: &f64| c.exp() - 1.0 - c;
        let decrement = 0.5 * newton.dot(&turned).abs() + 0.5 * whole.iter().map(divergence).sum::<f64>();
        let changes: Vec<f64> = whole.iter().map(|c| c.clamp(-most, most)).collect();
        let (root, log_determinant) = scaling(&axes, &changes);
        let length = changes.iter().chain(shift.iter()).fold(0.0_f64, |most, x| most.max(x.abs()));
        let shift = found.eigenvectors * shift;
        Some(Self { shift, root, log_determinant, length, decrement, axes, changes })
    }

    /// The part of it that makes the normal narrower; `None` if nothing is much too wide.
    pub(super) fn narrowing(&self) -> Option<(DMatrix<f64>, f64)> {
        let changes: Vec<f64> = self.changes.iter().map(|c| c.min(0.0)).collect();
        changes.iter().any(|c| *c < -1.0).then(|| scaling(&self.axes, &changes))
    }
}
