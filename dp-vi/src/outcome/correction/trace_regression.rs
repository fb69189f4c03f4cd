//! The curvature read off the trace: a regression of the noisy gradients on the draws at which they were
//! taken.

use crate::error::Result;
use crate::optimiser::SavedState;
use crate::outcome::correction::linear_algebra::{cholesky, compose, eigen, pooled, square, symmetrised};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware};
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::linalg::SymmetricEigen;
use nalgebra::{DMatrix, DVector, DVectorView};

/// Most elements of the frontier for which it is done: half a million numbers at each step beyond would be
/// more than a batch takes.
pub(crate) const MOST_ELEMENTS: usize = 64;

/// Curvatures drawn from what the regression leaves possible.
const DRAWS: u64 = 200;

/// Share of them that has to be positive definite for the trace to say what the curvature is.
const ENOUGH: f64 = 0.9;

/// Sums over the last part of a run, from which the slope of the gradient is found. Everything in them has
/// been released.
///
/// ```text
/// the log-likelihood is nearly quadratic:  ∇ℓ(u) = g₀ − S (u − ū)
/// released at draw t:                       G_t = ∇ℓ(u_t) + e_t,   e_t ~ N(0, v_t I)        v_t = (σC/q)², twice that for each of a pair
/// weights 1/v_t, centred sums:              U = Σ w (u − ū)(u − ū)ᵀ,   M = Σ w (G − Ḡ)(u − ū)ᵀ
/// the best symmetric S:                     S U + U S = −(M + Mᵀ)
/// with U = V Λ Vᵀ, S = V S′ Vᵀ:             S′_jk = −(M′_jk + M′_kj)/(λ_j + λ_k)
/// ```
///
/// The errors of the `S′_jk`, `j ≤ k`, are independent, normal, of variance `1/(λ_j + λ_k)`, and `1/λ_j` on
/// the diagonal: `M′_jk` has an error of variance `λ_k`, independent of `M′_kj`'s. They are independent of
/// the error of `Ḡ` too. Where the residuals are larger than the privacy noise accounts for (batches are
/// samples, the likelihood is not quite quadratic), all variances grow by as much: by the largest of the
/// elements' mean squared residuals, if it is above 1.
///
/// The posterior is a mixture: for each of 200 curvatures drawn from this law that of [`NoiseAware`], pooled
/// to one mean and one covariance. So it is wide where the trace says little; and where less than nine tenths
/// of the drawn curvatures are positive definite the trace does not say what the curvature is, and there is
/// none.
///
/// The draws of a run spread as the guide does, by about `S^{−½}`; a run on `n` draws tells the curvature to
/// within a relative error of about `√(v/(n S))`. So it takes no budget, but many records.
///
/// # References
/// Alrawajfeh, Jälkö, Honkela 2025, arXiv 2410.19371 (the optimum and the curvature from the gradients'
/// trace). The least squares under symmetry and the mixture are derived here.
#[derive(Clone, Debug)]
pub(crate) struct TraceSums {
    /// Close to all values, so that little is lost when the sums are centred.
    origin: Vec<f64>,
    draws: u64,
    weight: f64,
    values: Vec<f64>,
    gradients: Vec<f64>,
    /// Row-major.
    products: Vec<f64>,
    /// Gradient by value, row-major.
    crossed: Vec<f64>,
    squares: Vec<f64>,
}

/// What the sums say of the curvature.
struct Slopes {
    /// `S′`
    symmetric: DMatrix<f64>,
    /// Standard errors of its elements.
    errors: DMatrix<f64>,
    /// `V`
    vectors: DMatrix<f64>,
}

impl TraceSums {
    pub(crate) fn new(elements: usize) -> Self {
        let (vector, matrix) = (vec![0.0; elements], vec![0.0; elements * elements]);
        Self {
            origin: vector.clone(),
            draws: 0,
            weight: 0.0,
            values: vector.clone(),
            gradients: vector.clone(),
            products: matrix.clone(),
            crossed: matrix,
            squares: vector,
        }
    }

    /// Takes a draw: the frontier's values there, the noisy gradient, and the variance of the noise in each
    /// element.
    pub(crate) fn take(&mut self, values: &[f64], gradients: &[f64], variance: f64) {
        let (n, weight) = (self.origin.len(), 1.0 / variance);
        if self.draws == 0 {
            self.origin.copy_from_slice(values);
        }
        self.draws += 1;
        self.weight += weight;
        for j in 0..n {
            let (u, g) = (values[j] - self.origin[j], gradients[j]);
            self.values[j] += weight * u;
            self.gradients[j] += weight * g;
            self.squares[j] += weight * g * g;
            let rows =
                self.products[j * n..(j + 1) * n].iter_mut().zip(&mut self.crossed[j * n..(j + 1) * n]);
            for ((product, crossed), (value, origin)) in rows.zip(values.iter().zip(&self.origin)) {
                let other = weight * (value - origin);
                *product += u * other;
                *crossed += g * other;
            }
        }
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        // Below 2·10⁹ draws, so exact.
        state.extend([self.draws as f64, self.weight]);
        let Self { origin, values, gradients, products, crossed, squares, .. } = self;
        [origin, values, gradients, products, crossed, squares].into_iter().for_each(|all| state.extend(all));
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let head = state.take(2)?;
        (self.draws, self.weight) = (head[0] as u64, head[1]);
        let Self { origin, values, gradients, products, crossed, squares, .. } = self;
        [origin, values, gradients, products, crossed, squares]
            .into_iter()
            .try_for_each(|all| state.copy_to(all))
    }

    /// `None` where the draws do not span all directions, or are too few for the residuals to tell anything.
    fn slopes(&self) -> Option<Slopes> {
        let n = self.origin.len();
        let degrees = self.draws as f64 - n as f64 - 1.0;
        // Written so that NaN fails.
        if !(degrees >= 1.0 && self.weight > 0.0) {
            return None;
        }
        let centred = |sums: &[f64], left: &[f64]| {
            let (left, right) = (DVectorView::from_slice(left, n), DVectorView::from_slice(&self.values, n));
            square(sums, n) - left * right.transpose() / self.weight
        };
        let (spread, crossed) =
            (centred(&self.products, &self.values), centred(&self.crossed, &self.gradients));
        let SymmetricEigen { eigenvalues, eigenvectors: vectors } = eigen(spread.clone())?;
        let smallest = eigenvalues.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
        if !(smallest > 1e-10 * largest && largest.is_finite()) {
            return None;
        }
        let turned = symmetrised(&(vectors.transpose() * &crossed * &vectors));
        let mean = |j: usize, k: usize| 0.5 * (eigenvalues[j] + eigenvalues[k]);
        let symmetric = DMatrix::from_fn(n, n, |j, k| -turned[(j, k)] / mean(j, k));
        let mut errors =
            DMatrix::from_fn(n, n, |j, k| if j == k { 1.0 / eigenvalues[j] } else { 0.5 / mean(j, k) });
        // Residuals of each element j, whose slopes are the row S_j: Σ w (G + S u)² = Σ w G² + 2 S_j·M_j +
        // S_j U S_jᵀ, centred.
        let curvature = compose(&symmetric, &vectors);
        let shifted = 2.0 * crossed + &curvature * spread;
        let worst = (0..n)
            .map(|j| {
                let square = self.squares[j] - self.gradients[j] * self.gradients[j] / self.weight;
                square + curvature.row(j).dot(&shifted.row(j))
            })
            .fold(0.0, f64::max);
        let inflation = (worst / degrees).max(1.0);
        errors.iter_mut().for_each(|error| *error = (*error * inflation).sqrt());
        Some(Slopes { symmetric, errors, vectors })
    }

    /// The posterior that knows of the noise, with all curvatures that the trace leaves possible. The
    /// evidence's own curvature is not used.
    pub(crate) fn posterior(&self, sites: &[String], evidence: &Evidence<'_>) -> Option<NoiseAware> {
        let n = self.origin.len();
        // No secret: a fixed sequence to estimate an integral with, so that a run that is read again says the
        // same.
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("trace regression"));
        let Slopes { symmetric, errors, vectors } = self.slopes()?;
        let mut standard = vec![0.0; n * n];
        let (mut means, mut covariances) = (Vec::new(), DMatrix::zeros(n, n));
        for draw in 0..DRAWS {
            noise.fill(draw, &mut standard);
            let mut drawn = symmetric.clone();
            for j in 0..n {
                for k in j..n {
                    drawn[(j, k)] += errors[(j, k)] * standard[j * n + k];
                    drawn[(k, j)] = drawn[(j, k)];
                }
            }
            let curvature = compose(&drawn, &vectors);
            if cholesky(drawn).is_none() {
                continue;
            }
            let evidence = Evidence { curvature: curvature.as_slice(), ..*evidence };
            let Some(found) = NoiseAware::new(Vec::new(), &evidence) else { continue };
            covariances += square(&found.covariance, n);
            means.push(DVector::from(found.mean));
        }
        if (means.len() as f64) < ENOUGH * DRAWS as f64 {
            return None;
        }
        let (mean, covariance) = pooled(&means, covariances);
        let sound = mean.iter().chain(&covariance).all(|x| x.is_finite());
        sound.then(|| NoiseAware {
            sites: sites.to_vec(),
            mean: mean.as_slice().to_vec(),
            covariance: covariance.as_slice().to_vec(),
            point: None,
            parts: Vec::new(),
            shares: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard normals, one after the other.
    struct Normals(GaussianNoise, u64);

    impl Normals {
        fn new(seed: u64) -> Self {
            let seed = Seed::for_tests(seed);
            Self(GaussianNoise::with_purpose(&seed, Purpose::Custom("simulated trace")), 0)
        }

        fn vector(&mut self, n: usize) -> Vec<f64> {
            let mut z = vec![0.0; n];
            self.0.fill(self.1, &mut z);
            self.1 += 1;
            z
        }
    }

    const N: usize = 3;
    const CURVATURE: [f64; 9] = [900.0, 200.0, 0.0, 200.0, 600.0, -100.0, 0.0, -100.0, 400.0];
    const PRIOR: f64 = 1.0 / 16.0;

    /// A trace of mirrored pairs around `centre`, of a likelihood with this optimum: draws spread as the
    /// posterior does.
    fn trace(
        normals: &mut Normals,
        optimum: &[f64],
        pairs: usize,
        variance: f64,
    ) -> (TraceSums, Vec<f64>, Vec<f64>) {
        let mut sums = TraceSums::new(N);
        let (mut values, mut gradients) = (vec![0.0; N], vec![0.0; N]);
        for _ in 0..pairs {
            let z = normals.vector(N);
            for sign in [1.0, -1.0] {
                let e = normals.vector(N);
                let u: Vec<f64> =
                    (0..N).map(|j| 0.01 * j as f64 + sign * z[j] / CURVATURE[4 * j].sqrt()).collect();
                let away = DVectorView::from_slice(optimum, N) - DVectorView::from_slice(&u, N);
                let g = square(&CURVATURE, N) * away + variance.sqrt() * DVector::from(e);
                sums.take(&u, g.as_slice(), variance);
                (0..N).for_each(|j| {
                    values[j] += u[j] / (2 * pairs) as f64;
                    gradients[j] += g[j] / (2 * pairs) as f64;
                });
            }
        }
        (sums, values, gradients)
    }

    #[test]
    fn without_noise_the_curvature_is_found() {
        let mut normals = Normals::new(1);
        let (sums, ..) = trace(&mut normals, &[0.1, -0.2, 0.3], 40, 1e-20);
        let Slopes { symmetric, errors, vectors } = sums.slopes().unwrap();
        let curvature = compose(&symmetric, &vectors);
        for (found, truth) in curvature.iter().zip(CURVATURE) {
            // Gradients of about 30 over values of 0.04, all to within a few hundred roundings, and errors of
            // 1e-10/(0.03 √80).
            assert!((found - truth).abs() < 1e-6, "{found} against {truth}");
        }
        assert!(errors.iter().all(|error| *error < 1e-3));
    }

    /// The errors stated are those that are made: mean squares of 300 standardised errors lie within 1 ± 5.2
    /// √(2/300), α = 2e-7 each of six.
    #[test]
    fn the_errors_of_the_curvature_are_as_stated() {
        let (mut normals, count) = (Normals::new(2), 300);
        let mut squares = [0.0; 9];
        for _ in 0..count {
            let (sums, ..) = trace(&mut normals, &[0.1, -0.2, 0.3], 60, 2e3);
            let Slopes { symmetric, errors, vectors } = sums.slopes().unwrap();
            let truth = vectors.transpose() * square(&CURVATURE, N) * &vectors;
            for (at, square) in squares.iter_mut().enumerate() {
                *square += ((symmetric[at] - truth[at]) / errors[at]).powi(2) / f64::from(count);
            }
        }
        // Inflation by the largest of three mean squared residuals, each 1 ± √(2/116): at most 1.6 of the
        // variance, mostly 1.1.
        let slack = 5.2 * (2.0 / f64::from(count)).sqrt();
        for j in 0..N {
            for k in j..N {
                let square = squares[j * N + k];
                assert!(square < 1.0 + slack && square > (1.0 - slack) / 1.6, "{j} {k}: {square}");
            }
        }
    }

    #[test]
    fn a_trace_that_says_little_gives_no_posterior() {
        let mut normals = Normals::new(3);
        let (sums, values, gradients) = trace(&mut normals, &[0.0; N], 30, 1e8);
        let prior = [PRIOR, 0.0, 0.0, 0.0, PRIOR, 0.0, 0.0, 0.0, PRIOR];
        let evidence = Evidence {
            curvature: &[],
            values: &values,
            gradients: &gradients,
            noise_variance: 1e8 / 60.0,
            sampling: 0.0,
            prior_gradient: &values.iter().map(|u| -PRIOR * u).collect::<Vec<_>>(),
            prior_curvature: &prior,
        };
        assert!(sums.posterior(&[], &evidence).is_none());
        assert!(TraceSums::new(N).slopes().is_none());
        let mut still = TraceSums::new(N);
        (0..50).for_each(|_| still.take(&[1.0, 2.0, 3.0], &[0.5; 3], 1.0));
        assert!(still.slopes().is_none());
    }

    /// 90 % intervals for the truth, where the optimum is as far from it as the likelihood's own curvature
    /// says.
    ///
    /// Measured: 0.90 with the smaller noise, none refused; 0.99 with the larger one, with which a drawn
    /// curvature is often not positive definite and 122 of 300 runs are refused.
    ///
    /// n = 300 runs for each of two amounts of noise, first element. A share below 0.9 − 5.2 √(0.09/300) =
    /// 0.81 has a probability of 1e-7 where the coverage is 0.9.
    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let lower = cholesky(square(&CURVATURE, N)).unwrap().unpack();
        for (number, variance) in [(10, 2e3), (11, 2e4)] {
            let mut normals = Normals::new(number);
            let (count, pairs) = (300, 225);
            let (mut covered, mut refused) = (0, 0);
            for _ in 0..count {
                let truth = normals.vector(N).iter().map(|z| 0.02 * z).collect::<Vec<f64>>();
                // û ~ N(u*, S⁻¹): L⁻ᵀ z.
                let away = lower.tr_solve_lower_triangular(&DVector::from(normals.vector(N))).unwrap();
                let optimum: Vec<f64> = truth.iter().zip(&away).map(|(a, b)| a + b).collect();
                let (sums, values, gradients) = trace(&mut normals, &optimum, pairs, variance);
                let prior = [PRIOR, 0.0, 0.0, 0.0, PRIOR, 0.0, 0.0, 0.0, PRIOR];
                let prior_gradient: Vec<f64> = values.iter().map(|u| -PRIOR * u).collect();
                let evidence = Evidence {
                    curvature: &[],
                    values: &values,
                    gradients: &gradients,
                    noise_variance: variance / (2 * pairs) as f64,
                    sampling: 0.0,
                    prior_gradient: &prior_gradient,
                    prior_curvature: &prior,
                };
                match sums.posterior(&[], &evidence) {
                    None => refused += 1,
                    Some(found) => {
                        let sd = found.covariance[0].sqrt();
                        covered += u32::from((found.mean[0] - truth[0]).abs() < 1.644_854 * sd);
                    }
                }
            }
            let share = f64::from(covered) / f64::from(count - refused);
            assert!(refused < count / 2 && share > 0.81, "covered {share}, refused {refused}");
        }
    }
}
