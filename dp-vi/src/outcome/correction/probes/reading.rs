//! What probes say of the curvature.

use super::TURNS;
use crate::error::Result;
use crate::optimiser::SavedState;
use crate::outcome::correction::linear_algebra::symmetrised;
use crate::outcome::correction::unknown_curvature::law::variance_along;
use nalgebra::DMatrix;

/// Sums of gradients times displacements, weighted by the noise.
///
/// ```text
/// released at c ± W ε:   d = (g₊ − g₋)/2 = −S W ε + e,   e ~ N(0, v I),   ε of ±1, orthogonal over a round
/// sums:                  N_jk = −Σ d_j w_k ε_k/v,   P_k = Σ w_k²/v
/// ```
///
/// `N_jk/P_k` is `S_jk` with an error of variance `1/P_k`, and so is `N_kj/P_j` with one of `1/P_j`.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    /// `N`, row by row.
    products: Vec<f64>,
    /// `P`
    precisions: Vec<f64>,
}

impl Slopes {
    pub(super) fn new(elements: usize) -> Self {
        Self { products: vec![0.0; elements * elements], precisions: vec![0.0; elements] }
    }

    pub(super) fn take(&mut self, away: &[f64], half: &[f64], variance: f64) {
        for (row, d) in self.products.chunks_mut(away.len()).zip(half) {
            row.iter_mut().zip(away).for_each(|(sum, w)| *sum -= d * w / variance);
        }
        self.precisions.iter_mut().zip(away).for_each(|(sum, w)| *sum += w * w / variance);
    }

    /// Moves the sums of another one here, and leaves that empty.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        let sums = self.products.iter_mut().zip(&mut other.products);
        let sums = sums.chain(self.precisions.iter_mut().zip(&mut other.precisions));
        sums.for_each(|(sum, part)| *sum += std::mem::take(part));
    }

    /// The curvature of one element, and its standard error.
    pub(super) fn own(&self, j: usize) -> (f64, f64) {
        let (product, precision) = (self.products[j * (self.precisions.len() + 1)], self.precisions[j]);
        (product / precision, precision.sqrt().recip())
    }

    /// The best symmetric curvature, and the variances of its errors: infinite where nothing was displaced.
    pub(super) fn reading(&self) -> Reading {
        let (n, precisions) = (self.precisions.len(), &self.precisions);
        let precision = |j: usize, k: usize| precisions[j] + precisions[k];
        let element = |j: usize, k: usize| {
            let sum = self.products[j * n + k] + self.products[k * n + j];
            if precision(j, k) > 0.0 { sum / precision(j, k) } else { 0.0 }
        };
        let variance = |j: usize, k: usize| precision(j, k).recip() * if j == k { 2.0 } else { 1.0 };
        Reading { matrix: DMatrix::from_fn(n, n, element), variances: DMatrix::from_fn(n, n, variance) }
    }

    pub(super) fn save(&self, state: &mut Vec<f64>) {
        state.extend(&self.products);
        state.extend(&self.precisions);
    }

    pub(super) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.products)?;
        state.copy_to(&mut self.precisions)
    }
}

/// A curvature with errors that are taken to be independent.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) matrix: DMatrix<f64>,
    pub(super) variances: DMatrix<f64>,
}

impl Reading {
    /// With the elements on the diagonal times these shares, and the others times their geometric means, errors
    /// likewise.
    pub(super) fn times(&self, shares: &[f64]) -> Self {
        let share = |j: usize, k: usize| shares[j] * shares[k];
        let n = shares.len();
        Self {
            matrix: DMatrix::from_fn(n, n, |j, k| self.matrix[(j, k)] * share(j, k).sqrt()),
            variances: DMatrix::from_fn(n, n, |j, k| self.variances[(j, k)] * share(j, k)),
        }
    }

    /// Along other axes, orthonormal columns.
    pub(super) fn along(&self, axes: &DMatrix<f64>) -> Self {
        let variance = |j: usize, k: usize| variance_along(&self.variances, axes, (j, k));
        let n = axes.nrows();
        Self {
            matrix: symmetrised(&(axes.transpose() * &self.matrix * axes)),
            variances: DMatrix::from_fn(n, n, variance),
        }
    }

    /// The curvature of one direction, and its standard error.
    pub(super) fn own(&self, j: usize) -> (f64, f64) {
        (self.matrix[(j, j)], self.variances[(j, j)].sqrt())
    }

    /// What is left of it without the elements off the diagonal that are [`TURNS`] errors at most; `None` if
    /// nothing is. Where there are thousands, the largest of their errors is `√(2 ln m)` of them.
    pub(super) fn standing_out(&self) -> Option<DMatrix<f64>> {
        let n = self.matrix.nrows();
        let elements = (n * n.saturating_sub(1) / 2).max(1) as f64;
        let limit = (TURNS * TURNS).max(2.0 * elements.ln());
        let stands_out = |j: usize, k: usize| self.matrix[(j, k)].powi(2) > limit * self.variances[(j, k)];
        let any = (0..n).any(|j| (0..j).any(|k| stands_out(j, k)));
        let kept = |j: usize, k: usize| if j == k || stands_out(j, k) { self.matrix[(j, k)] } else { 0.0 };
        any.then(|| DMatrix::from_fn(n, n, kept))
    }
}
