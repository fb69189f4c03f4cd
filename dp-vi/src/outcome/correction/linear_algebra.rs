//! Small dense symmetric matrices, row-major: what a corrected posterior needs.

/// The lower Cholesky factor of a symmetric matrix, or `None` if it is not positive definite.
pub(crate) fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
            let rest = matrix[i * n + j] - dot;
            if i == j {
                // Written so that NaN fails.
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                lower[i * n + i] = rest.sqrt();
            } else {
                lower[i * n + j] = rest / lower[j * n + j];
            }
        }
    }
    Some(lower)
}

/// Solves `L Lᵀ x = b` in place.
pub(crate) fn solve(lower: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| lower[i * n + k] * b[k]).sum();
        b[i] = (b[i] - dot) / lower[i * n + i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| lower[k * n + i] * b[k]).sum();
        b[i] = (b[i] - dot) / lower[i * n + i];
    }
}

/// `(L Lᵀ)⁻¹`
pub(crate) fn inverse(lower: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    let mut column = vec![0.0; n];
    for j in 0..n {
        column.fill(0.0);
        column[j] = 1.0;
        solve(lower, n, &mut column);
        // Both triangles from one of them, so that the result is symmetric to the last bit.
        (0..=j).for_each(|i| {
            inverse[i * n + j] = column[i];
            inverse[j * n + i] = column[i];
        });
    }
    inverse
}

/// Most sweeps of Jacobi's method; it converges quadratically, so a handful suffice.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, and its eigenvectors as columns, by Jacobi's method.
pub(crate) fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    let size: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        if off <= 1e-30 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let apq = a[p * n + q];
                if apq == 0.0 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[k * n + p], v[k * n + q]);
                    (v[k * n + p], v[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|i| a[i * n + i]).collect(), v)
}

/// The matrix `V f(Λ) Vᵀ` for a symmetric matrix `V Λ Vᵀ`.
pub(crate) fn map_eigenvalues(matrix: &[f64], n: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let (eigenvalues, v) = eigen(matrix, n);
    let mapped: Vec<f64> = eigenvalues.into_iter().map(f).collect();
    let mut result = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            result[i * n + j] = (0..n).map(|k| v[i * n + k] * mapped[k] * v[j * n + k]).sum();
        }
    }
    result
}

/// `Aᵀ`
pub(crate) fn transposed(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| a[at % n * n + at / n]).collect()
}

/// `V A Vᵀ`, symmetric to the last bit.
pub(crate) fn compose(a: &[f64], v: &[f64], n: usize) -> Vec<f64> {
    let mut result = product(&product(v, a, n), &transposed(v, n), n);
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (result[i * n + j] + result[j * n + i]);
            (result[i * n + j], result[j * n + i]) = (mean, mean);
        }
    }
    result
}

/// `A B`
pub(crate) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut result = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            let factor = a[i * n + k];
            (0..n).for_each(|j| result[i * n + j] += factor * b[k * n + j]);
        }
    }
    result
}

/// `A x`
pub(crate) fn apply(a: &[f64], x: &[f64]) -> Vec<f64> {
    a.chunks_exact(x.len().max(1)).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(n: usize) -> Vec<f64> {
        let b: Vec<f64> = (0..n * n).map(|k| ((k * k * 7 + 3 * k) as f64 * 0.37).sin()).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum();
            }
            a[i * n + i] += 0.5;
        }
        a
    }

    #[test]
    fn inverse_and_solutions() {
        for n in [1, 2, 7, 20] {
            let a = example(n);
            let lower = cholesky(&a, n).unwrap();
            let unit = product(&a, &inverse(&lower, n), n);
            for i in 0..n {
                for j in 0..n {
                    assert!((unit[i * n + j] - f64::from(u8::from(i == j))).abs() < 1e-9);
                }
            }
        }
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(cholesky(&[f64::NAN], 1).is_none());
    }

    #[test]
    fn eigenvalues_are_mapped() {
        let n = 9;
        let a = example(n);
        let same = map_eigenvalues(&a, n, |x| x);
        let root = map_eigenvalues(&a, n, f64::sqrt);
        let square = product(&root, &root, n);
        for k in 0..n * n {
            assert!((same[k] - a[k]).abs() < 1e-11 && (square[k] - a[k]).abs() < 1e-11);
        }
        let (eigenvalues, vectors) = eigen(&a, n);
        let mut diagonal = vec![0.0; n * n];
        (0..n).for_each(|j| diagonal[j * n + j] = eigenvalues[j]);
        let composed = compose(&diagonal, &vectors, n);
        assert!(composed.iter().zip(&a).all(|(x, y)| (x - y).abs() < 1e-11));
        assert!(composed == transposed(&composed, n));
        // Raised to a floor: definite afterwards, and nothing else changes.
        let raised = map_eigenvalues(&[1.0, 2.0, 2.0, 1.0], 2, |x| x.max(0.25)); // eigenvalues 3 and −1
        assert!((raised[0] - 1.625).abs() < 1e-14 && (raised[1] - 1.375).abs() < 1e-14);
    }
}
