//! Coordinates of all normals around one of them, and second derivatives in them.

use super::estimate::Estimate;
use super::normal::Normal;
use super::step::LEAST;
use crate::guides::guide::NormalFamily;
use crate::outcome::correction::linear_algebra::{cholesky, eigen, symmetrised};
use nalgebra::{DMatrix, DVector};

/// The least ratio of precisions, or of variances, of a direction and of single values that can be told from
/// 0.
pub(super) const UNHELD: f64 = 1e-12;

/// Pairs of moves and changes of slopes that inverse second derivatives are made of.
pub(super) const MEMORY: usize = 12;

/// Groups of draws that the Monte Carlo error is estimated from.
pub(super) const GROUPS: usize = 16;

/// Coordinates of all normals, around one of them: `u = m + C (a + T z)` with a symmetric positive definite `T`,
/// or with a diagonal `T = e^b`. With what is known of the bound's second derivatives in them.
pub(super) struct Chart {
    pub(super) family: NormalFamily,
    pub(super) origin: Normal,
    /// Where the search is.
    pub(super) x: DVector<f64>,
    pub(super) normal: Normal,
    /// `T`
    pub(super) root: DMatrix<f64>,
    /// Inverse second derivatives by the means at the origin, when they are known.
    pub(super) means: Option<DMatrix<f64>>,
    /// Moves, the changes of minus the slope that went with them, and the inverse of their product.
    pub(super) pairs: Vec<(DVector<f64>, DVector<f64>, f64)>,
}

impl Chart {
    pub(super) fn new(family: NormalFamily, origin: Normal) -> Self {
        let n = origin.mean.len();
        let root = DMatrix::identity(n, n);
        let x = match family {
            NormalFamily::Correlated => {
                DVector::from_iterator(n + n * n, std::iter::repeat_n(0.0, n).chain(root.iter().copied()))
            }
            NormalFamily::Independent => DVector::zeros(2 * n),
        };
        Self { family, normal: origin.clone(), origin, x, root, means: None, pairs: Vec::new() }
    }

    pub(super) fn take_curvature(&mut self, curvature: &DMatrix<f64>) {
        if self.means.is_some() {
            return;
        }
        let inverse = eigen(curvature.clone()).map(|found| {
            let inverse = found.eigenvalues.map(|p| p.abs().max(LEAST).recip());
            &found.eigenvectors * DMatrix::from_diagonal(&inverse) * found.eigenvectors.transpose()
        });
        self.means = inverse.filter(|inverse| inverse.iter().all(|x| x.is_finite()));
    }

    /// The normal at these coordinates, and `T`.
    pub(super) fn normal_at(&self, x: &DVector<f64>) -> Option<(Normal, DMatrix<f64>)> {
        let n = self.origin.mean.len();
        let shift = x.rows(0, n).into_owned();
        let rest = x.rows(n, x.len() - n);
        let (root, log_determinant) = match self.family {
            NormalFamily::Correlated => {
                let root = symmetrised(&DMatrix::from_column_slice(n, n, rest.as_slice()));
                let lower = cholesky(root.clone())?;
                let log = 2.0 * lower.l_dirty().diagonal().iter().map(|x| x.ln()).sum::<f64>();
                (root, log)
            }
            NormalFamily::Independent => {
                (DMatrix::from_diagonal(&rest.map(f64::exp)), rest.iter().sum::<f64>())
            }
        };
        Some((self.origin.moved(&shift, &root, log_determinant), root))
    }

    /// The slope of the bound in these coordinates, from that in coordinates of the normal with this `T`.
    pub(super) fn slope(&self, found: &Estimate, root: &DMatrix<f64>) -> Option<DVector<f64>> {
        let n = found.slope.len();
        let mut slope = DVector::zeros(self.x.len());
        match self.family {
            NormalFamily::Correlated => {
                // d bound = ⟨T⁻¹ s, da⟩ + ⟨T⁻¹ (I − K), dT⟩, with the slope s and K before it is symmetric.
                let root = cholesky(root.clone())?;
                slope.rows_mut(0, n).copy_from(&root.solve(&found.slope));
                let scales = root.solve(&(DMatrix::identity(n, n) - &found.whole));
                slope.rows_mut(n, n * n).copy_from_slice(symmetrised(&scales).as_slice());
            }
            NormalFamily::Independent => {
                slope.rows_mut(0, n).copy_from(&found.slope.component_div(&root.diagonal()));
                slope.rows_mut(n, n).copy_from(&found.curvature.diagonal().map(|p| 1.0 - p));
            }
        }
        Some(slope)
    }

    /// Newton's step, as far as second derivatives are known.
    pub(super) fn uphill(&self, slope: &DVector<f64>) -> DVector<f64> {
        let mut way = slope.clone();
        let mut parts = Vec::with_capacity(self.pairs.len());
        for (moved, change, inverse) in self.pairs.iter().rev() {
            let part = inverse * moved.dot(&way);
            way.axpy(-part, change, 1.0);
            parts.push(part);
        }
        way = self.plain(way);
        for ((moved, change, inverse), part) in self.pairs.iter().zip(parts.iter().rev()) {
            let other = inverse * change.dot(&way);
            way.axpy(part - other, moved, 1.0);
        }
        way
    }

    /// What that is for a normal density.
    pub(super) fn plain(&self, mut way: DVector<f64>) -> DVector<f64> {
        let n = self.origin.mean.len();
        if let Some(means) = &self.means {
            let means = means * way.rows(0, n);
            way.rows_mut(0, n).copy_from(&means);
        }
        let scales = way.len() - n;
        way.rows_mut(n, scales).scale_mut(0.5);
        way
    }

    pub(super) fn learn(&mut self, moved: DVector<f64>, change: DVector<f64>) {
        let product = moved.dot(&change);
        if product > 1e-12 * moved.norm() * change.norm() {
            if self.pairs.len() == MEMORY {
                self.pairs.remove(0);
            }
            self.pairs.push((moved, change, product.recip()));
        }
    }

    /// Moves of means, in standard deviations, and then of logarithms of standard deviations, along axes in
    /// which the normal is standard. Not finite if `T` is not positive definite.
    pub(super) fn moves(&self, way: &DVector<f64>) -> DVector<f64> {
        let n = self.origin.mean.len();
        let mut moves = DVector::from_element(2 * n, f64::INFINITY);
        match self.family {
            NormalFamily::Correlated => {
                if let Some(root) = cholesky(self.root.clone()) {
                    moves.rows_mut(0, n).copy_from(&root.solve(&way.rows(0, n)));
                    let change = DMatrix::from_column_slice(n, n, way.rows(n, n * n).as_slice());
                    moves.rows_mut(n, n).copy_from(&root.solve(&change).diagonal());
                }
            }
            NormalFamily::Independent => {
                moves.rows_mut(0, n).copy_from(&way.rows(0, n).component_div(&self.root.diagonal()));
                moves.rows_mut(n, n).copy_from(&way.rows(n, n));
            }
        }
        moves
    }

    /// The largest Monte Carlo error: the less of two estimates both of which are rather too large, for groups
    /// of draws do not have unit covariance as all have.
    pub(super) fn error(&self, here: &Estimate, pairs: usize) -> f64 {
        self.error_of(here, pairs, false).min(self.error_of(here, pairs, true))
    }

    /// That from the moves that groups of draws want.
    pub(super) fn error_of(&self, here: &Estimate, pairs: usize, corrected: bool) -> f64 {
        let n = self.origin.mean.len();
        let mut moves = Vec::with_capacity(GROUPS);
        for group in 0..GROUPS {
            let part = here.part(group * pairs / GROUPS..(group + 1) * pairs / GROUPS, corrected);
            let Some(slope) = part.and_then(|part| self.slope(&part, &self.root)) else {
                return f64::INFINITY;
            };
            moves.push(self.moves(&self.uphill(&slope)));
        }
        let groups = GROUPS as f64;
        let mean = moves.iter().sum::<DVector<f64>>() / groups;
        let one = |k: usize| {
            let squares = moves.iter().map(|one| (one[k] - mean[k]).powi(2));
            let (sum, most) = squares.fold((0.0, 0.0_f64), |(sum, most), x| (sum + x, most.max(x)));
            let error = (sum / (groups * (groups - 1.0))).sqrt() * if k < n { 1.0 } else { 0.5 };
            // Where one group makes nearly all of it, larger errors have not been seen yet.
            if most > 0.85 * sum { 4.0 * error } else { error }
        };
        (0..2 * n).map(one).fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
    }

    /// Whether there is a direction in which the density does not fall, as far as can be told.
    pub(super) fn improper(&self, here: &Estimate) -> bool {
        let matrix = match self.family {
            // In units of each value's own standard deviation.
            NormalFamily::Correlated => {
                let mut factor = self.normal.factor.clone();
                for mut row in factor.row_iter_mut() {
                    let norm = row.norm();
                    row.unscale_mut(norm);
                }
                &factor * factor.transpose()
            }
            NormalFamily::Independent => here.curvature.clone(),
        };
        eigen(symmetrised(&matrix)).is_none_or(|found| found.eigenvalues.min().abs() < UNHELD)
    }
}
