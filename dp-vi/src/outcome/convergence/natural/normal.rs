//! A multivariate normal by a factor of its covariance.

use nalgebra::{DMatrix, DVector};

/// A normal: `u = mean + factor z`, `z ~ N(0, I)`.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    pub(crate) mean: DVector<f64>,
    pub(crate) factor: DMatrix<f64>,
    /// `ln |det factor|`
    pub(super) log_determinant: f64,
}

impl Normal {
    pub(crate) fn independent(mean: Vec<f64>, scales: Vec<f64>) -> Self {
        let log_determinant = scales.iter().map(|scale| scale.ln()).sum();
        let factor = DMatrix::from_diagonal(&DVector::from(scales));
        Self { mean: DVector::from(mean), factor, log_determinant }
    }

    /// With a factor that is lower triangular and has a positive diagonal.
    pub(crate) fn with_factor(mean: DVector<f64>, factor: DMatrix<f64>) -> Self {
        let log_determinant = factor.diagonal().iter().map(|x| x.ln()).sum();
        Self { mean, factor, log_determinant }
    }

    /// The same normal with a factor that is lower triangular and has a positive diagonal.
    pub(crate) fn triangular(mut self) -> Self {
        let mut upper = self.factor.transpose().qr().unpack_r();
        for row in 0..upper.nrows() {
            if upper[(row, row)] < 0.0 {
                upper.row_mut(row).neg_mut();
            }
        }
        self.factor = upper.transpose();
        self
    }

    /// The largest difference of means, in standard deviations, and of logarithms of standard deviations.
    pub(super) fn away_from(&self, other: &Self) -> f64 {
        let scale = |normal: &Self, k: usize| normal.factor.row(k).norm();
        let one = |k: usize| {
            let (here, there) = (scale(self, k), scale(other, k));
            ((self.mean[k] - other.mean[k]) / here.min(there)).abs().max((here / there).ln().abs())
        };
        (0..self.mean.len()).map(one).fold(0.0, f64::max)
    }

    /// Moved by `factor · shift`, and with the factor multiplied by a root of this log determinant.
    pub(super) fn moved(&self, shift: &DVector<f64>, root: &DMatrix<f64>, log_determinant: f64) -> Self {
        Self {
            mean: &self.mean + &self.factor * shift,
            factor: &self.factor * root,
            log_determinant: self.log_determinant + log_determinant,
        }
    }
}
