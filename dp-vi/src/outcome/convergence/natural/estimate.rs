//! What draws say of the bound at a normal.

use crate::outcome::correction::linear_algebra::symmetrised;
use nalgebra::{DMatrix, DVector};

/// What a batch of draws says of the bound at a normal, in coordinates `z` in which that normal is standard.
pub(super) struct Estimate {
    pub(super) bound: f64,
    /// Mean gradient of the log density.
    pub(super) slope: DVector<f64>,
    /// Minus the mean second derivatives, by Stein's identity: `E H = E[∇ ln p(z) zᵀ]`.
    pub(super) curvature: DMatrix<f64>,
    /// The same before it was made symmetric.
    pub(super) whole: DMatrix<f64>,
    /// Of each pair of mirrored draws half the sum and half the difference of gradients, and the draw.
    pub(super) pairs: (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>),
}

impl Estimate {
    /// The same from some of the pairs. All draws together have unit covariance, some of them have not: with
    /// `corrected`, what that does to a normal density is taken off.
    pub(super) fn part(&self, pairs: std::ops::Range<usize>, corrected: bool) -> Option<Self> {
        let (even, odd, draws) = &self.pairs;
        let (from, count) = (pairs.start, pairs.len());
        let (even, odd, draws) =
            (even.columns(from, count), odd.columns(from, count), draws.columns(from, count));
        let mut whole = odd * draws.transpose() / -(count as f64);
        if corrected {
            let n = draws.nrows();
            whole -= &self.whole * (draws * draws.transpose() / count as f64 - DMatrix::identity(n, n));
        }
        let curvature = symmetrised(&whole);
        let nothing = || DMatrix::zeros(0, 0);
        (count > 0).then(|| Self {
            bound: self.bound,
            slope: even.column_mean(),
            curvature,
            whole,
            pairs: (nothing(), nothing(), nothing()),
        })
    }
}
