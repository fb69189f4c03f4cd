//! Small dense symmetric matrices: nalgebra's factorisations, which fail where a number is not finite.

use nalgebra::linalg::{Cholesky, SymmetricEigen};
use nalgebra::{DMatrix, DVector, DVectorView, Dyn};

/// The square matrix with these elements, row by row.
pub(crate) fn square(elements: &[f64], n: usize) -> DMatrix<f64> {
    DMatrix::from_row_slice(n, n, elements)
}

/// The Cholesky factorisation of a symmetric matrix, or `None` if it is not finite or not positive definite.
pub(crate) fn cholesky(matrix: DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
    if all_finite(&matrix) { Cholesky::new(matrix) } else { None }
}

/// A lower Cholesky factor. Of thousands of values that do not depend on each other it is a vector: each product with a
/// matrix of them would read all of its zeros.
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    Diagonal(DVector<f64>),
    Lower(DMatrix<f64>),
}

impl Factor {
    /// That of a symmetric matrix, or `None` as for [`cholesky`].
    pub(crate) fn new(matrix: DMatrix<f64>) -> Option<Self> {
        let n = matrix.nrows();
        let is_diagonal = (0..n).all(|k| (0..n).all(|j| j == k || matrix[(j, k)] == 0.0));
        if !is_diagonal {
            return cholesky(matrix).map(|found| Self::Lower(found.unpack()));
        }
        let positive = matrix.diagonal().iter().all(|x| *x > 0.0 && x.is_finite());
        positive.then(|| Self::Diagonal(matrix.diagonal().map(f64::sqrt)))
    }

    /// The factor as a matrix.
    pub(crate) fn matrix(self) -> DMatrix<f64> {
        match self {
            Self::Diagonal(diagonal) => DMatrix::from_diagonal(&diagonal),
            Self::Lower(lower) => lower,
        }
    }

    /// Adds a sign times the product with a vector.
    pub(crate) fn add_product(&self, sign: f64, vector: &[f64], to: &mut DVector<f64>) {
        match self {
            Self::Diagonal(diagonal) => {
                let products = diagonal.iter().zip(vector);
                to.iter_mut().zip(products).for_each(|(to, (root, x))| *to += sign * x * root);
            }
            Self::Lower(lower) => {
                to.gemv(sign, lower, &DVectorView::from_slice(vector, vector.len()), 1.0);
            }
        }
    }
}

/// Iterations of the QR method for each row; two or three are usual.
const ITERATIONS: usize = 60;

/// The eigenvalues of a symmetric matrix, in no particular order, and its eigenvectors as columns; `None` if
/// the matrix is not finite.
pub(crate) fn eigen(matrix: DMatrix<f64>) -> Option<SymmetricEigen<f64, Dyn>> {
    let n = matrix.nrows();
    if n == 0 {
        return Some(SymmetricEigen { eigenvalues: DVector::zeros(0), eigenvectors: matrix });
    }
    if !all_finite(&matrix) {
        return None;
    }
    SymmetricEigen::try_new(matrix, f64::EPSILON, ITERATIONS * n)
}

fn all_finite(matrix: &DMatrix<f64>) -> bool {
    matrix.iter().all(|x| x.is_finite())
}

/// `(A + Aᵀ)/2`, symmetric to the last bit.
pub(crate) fn symmetrised(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    (matrix + matrix.transpose()) * 0.5
}

/// The inverse of the factorised matrix, symmetric to the last bit.
pub(crate) fn inverse(factorisation: &Cholesky<f64, Dyn>) -> DMatrix<f64> {
    symmetrised(&factorisation.inverse())
}

/// `V A Vᵀ` for a symmetric `A`, symmetric to the last bit.
pub(crate) fn compose(a: &DMatrix<f64>, v: &DMatrix<f64>) -> DMatrix<f64> {
    symmetrised(&(v * a * v.transpose()))
}

/// Mean and covariance of a mixture of equal parts, from the parts' means and the sum of their covariances.
pub(crate) fn pooled(means: &[DVector<f64>], mut covariances: DMatrix<f64>) -> (DVector<f64>, DMatrix<f64>) {
    let count = means.len() as f64;
    let mean = means.iter().sum::<DVector<f64>>() / count;
    for one in means {
        let away = one - &mean;
        covariances.ger(1.0, &away, &away, 1.0);
    }
    (mean, symmetrised(&covariances) / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(n: usize) -> DMatrix<f64> {
        let b = DMatrix::from_fn(n, n, |i, j| {
            let k = i * n + j;
            ((k * k * 7 + 3 * k) as f64 * 0.37).sin()
        });
        symmetrised(&(&b * b.transpose())) + 0.5 * DMatrix::identity(n, n)
    }

    #[test]
    fn inverse_and_solutions() {
        for n in [1, 2, 7, 20, 150] {
            let a = example(n);
            let factorisation = cholesky(a.clone()).unwrap();
            let found = inverse(&factorisation);
            assert!(found == found.transpose());
            assert!((&a * found - DMatrix::identity(n, n)).amax() < 1e-9);
            let x = factorisation.solve(&DVector::from_element(n, 1.0));
            assert!((&a * x).iter().all(|one| (one - 1.0).abs() < 1e-9));
        }
    }

    /// A matrix with an infinite element would otherwise have a factor, and one with NaN eigenvalues.
    #[test]
    fn what_is_not_positive_definite_or_not_finite_is_refused() {
        assert!(cholesky(square(&[1.0, 2.0, 2.0, 1.0], 2)).is_none());
        assert!(cholesky(square(&[0.0], 1)).is_none());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(cholesky(square(&[bad], 1)).is_none());
            assert!(eigen(square(&[1.0, 0.0, 0.0, bad], 2)).is_none());
        }
        // Finite elements whose products are not.
        assert!(cholesky(square(&[1e-300, 1e300, 1e300, 1.0], 2)).is_none());
    }

    /// To the last bit what the product with the whole matrix is.
    #[test]
    fn products_with_a_diagonal_factor_are_those_with_its_matrix() {
        let diagonal = DVector::from_fn(30, |k, _| 0.1 + (k as f64).sqrt());
        let factor = Factor::new(DMatrix::from_diagonal(&diagonal)).unwrap();
        assert!(matches!(factor, Factor::Diagonal(_)));
        let whole = Factor::Lower(DMatrix::from_diagonal(&diagonal.map(f64::sqrt)));
        let vector: Vec<f64> = (0..30).map(|k| (k as f64 * 1.7).sin()).collect();
        for sign in [1.0, -1.0] {
            let product = |factor: &Factor| {
                let mut to = DVector::from_fn(30, |k, _| k as f64 / 7.0);
                factor.add_product(sign, &vector, &mut to);
                to
            };
            assert_eq!(product(&factor), product(&whole));
        }
        assert!(matches!(Factor::new(example(5)), Some(Factor::Lower(_))));
        assert!(Factor::new(DMatrix::from_diagonal(&DVector::from_element(3, 0.0))).is_none());
    }

    #[test]
    fn eigenvectors_compose_the_matrix_again() {
        let a = example(9);
        let SymmetricEigen { eigenvalues, eigenvectors } = eigen(a.clone()).unwrap();
        let composed = compose(&DMatrix::from_diagonal(&eigenvalues), &eigenvectors);
        assert!((&composed - &a).amax() < 1e-11 && composed == composed.transpose());
    }

    #[test]
    fn one_element_and_none() {
        assert_eq!(eigen(square(&[-3.0], 1)).unwrap().eigenvalues[0], -3.0);
        assert!(eigen(square(&[], 0)).unwrap().eigenvalues.is_empty());
        assert!(cholesky(square(&[], 0)).is_some());
    }
}
