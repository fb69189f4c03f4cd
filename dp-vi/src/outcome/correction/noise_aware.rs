//! A posterior that includes the privacy noise: linear-Gaussian inference from what was released.

use crate::guides::guide::GuideSite;
use crate::objective::coordinates::Coordinates;
use crate::outcome::correction::linear_algebra::{cholesky, compose, inverse, square, symmetrised};
use nalgebra::{DMatrix, DVector, DVectorView};
use std::ops::Range;

/// What the correction is made from; all of it has been released.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// `S`, row-major.
    pub(crate) curvature: &'a [f64],
    /// `t̄`, the mean of the values at which gradients were taken.
    pub(crate) values: &'a [f64],
    /// `ḡ`, the mean of the noisy gradients of the log-likelihood.
    pub(crate) gradients: &'a [f64],
    /// Variance of each element of `ḡ` that the privacy noise makes.
    pub(crate) noise_variance: f64,
    /// `τ`, where sampling adds a covariance of about `τS` to `ḡ`.
    pub(crate) sampling: f64,
    /// Gradient of the log prior at `t̄`.
    pub(crate) prior_gradient: &'a [f64],
    /// `P₀`, minus its second derivatives.
    pub(crate) prior_curvature: &'a [f64],
}

/// A normal posterior over all values at the frontier, privacy noise included.
///
/// ```text
/// the log-likelihood is nearly quadratic:  ∇ℓ(u) = −S(u − û)
/// released:                                 ḡ = −S(t̄ − û) + e,   e ~ N(0, S_n)
/// so  b = ḡ + S t̄ = S û + e;   and for the truth u*,  S û ~ N(S u*, S)  (the score's variance is the information)
/// likelihood of b:   b ~ N(S u*, S + S_n)
/// posterior:         precision  A S + P₀,   mean  (A S + P₀)⁻¹ (A b + P₀ m₀),   A = S (S + S_n)⁻¹
/// S_n = (σC/q)²/n I + (1 − q)/(q n) S       over the n last steps
/// ```
///
/// `P₀ m₀ = ∇ ln p(t̄) + P₀ t̄` for a prior that is quadratic around `t̄`. Without noise it is the Laplace
/// approximation; with much it is the prior. With weights `w ≤ 1` the score's variance is at most `S`, so the
/// intervals are on the careful side. The second part of `S_n` bounds what Poisson sampling adds: a step's
/// gradient has variance `(1 − q)/q Σ_i v_i v_iᵀ`, and `Σ v_i v_iᵀ` is about `S`.
///
/// A released curvature is noisy itself: the posterior is then the mixture of these over all curvatures that the
/// release, and the way that the values went, leave possible. It is summarised by a normal whose centre is the run's
/// own mean `t̄` in directions where the noise may have made the mixture's mean differ from it, and the mixture's
/// mean elsewhere; its covariance is that of the mixture about this centre. Directions of which the releases say
/// nothing keep their prior.
///
/// # Accuracy
/// Measured with logistic regressions on five real tables, ε from 0.1 to 10: on average over the weights, 90 %
/// intervals contain draws of the non-private posterior in .89 to 1.00 of the cases. At ε of 1 and below the curvature
/// is hardly known in some directions. On three of the tables (Pima, stroke and Adult) the intervals are then 1.5 to 7
/// times as long as they would be if the curvature were known, on Abalone .7 to 1.3 times. Single weights may be
/// covered less often: on WDBC, whose classes can be separated, the worst weight is covered in .40 to .59 of the cases.
/// Intervals miss weights that lie several of the prior's standard deviations away from its mean, which non-private
/// data can establish and noisy data cannot.
///
/// # References
/// Bernstein, Sheldon 2019 (posteriors from noisy sufficient statistics); Räisä, Jälkö, Honkela 2024 and
/// Alrawajfeh, Jälkö, Honkela 2025, arXiv 2410.19371 (noise-aware variational inference from gradients).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NoiseAware {
    /// Names of the sites it covers, in order: those that records touch, and then the others, where they are inferred
    /// together.
    pub sites: Vec<String>,
    /// The centre of their unconstrained values, one site after the other: the mean of this normal.
    pub mean: Vec<f64>,
    /// Covariance, row-major.
    pub covariance: Vec<f64>,
    /// Where to predict from, if the run's steps were limited by the noise: one more step of Newton's method from where
    /// they ended, as long as the noise of the curvature allows. `None` where the steps arrive by themselves, so that
    /// nothing is better than the mean.
    ///
    /// Where the noise hides the curvature the mean and the intervals above allow for values that are far away, and
    /// predictions that average over them are timid. Steps that stop short of the mode predict better, and one that
    /// uses what all their gradients say better still.
    pub point: Option<Vec<f64>>,
    /// What the standard deviations are made of. `None` where the curvature was read off the run's gradients, where
    /// there are values that no record touches, whose prior is no fixed one for the others, and without privacy.
    pub shares: Option<Shares>,
    /// What the releases leave possible, one curvature at a time: normals of equal weight, whose mixture this normal
    /// summarises. Empty where the curvature is not integrated over, and where the values are in other coordinates than
    /// the run's.
    ///
    /// The normal with the mixture's moments is for single values. What follows from many of them together, as the
    /// spread of the effects of groups does, follows from the mixture: a curvature that is smaller than another is so
    /// in all directions alike, and takes all values farther from where the run ended.
    pub parts: Vec<Part>,
}

/// A normal: the posterior under one of the curvatures that the releases leave possible.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// Its mean, in the order of [`NoiseAware::mean`].
    pub mean: Vec<f64>,
    /// Its covariance, row-major.
    pub covariance: Vec<f64>,
}

/// What the standard deviations of a posterior are made of: what the prior leaves open, and what of it the
/// records would leave open if nothing had noise.
///
/// As a rule `without_noise ≤ √covariance_jj ≤ prior`. Where a standard deviation is close to the prior's, the
/// releases said next to nothing of the value at this budget; where it is close to that without noise, the
/// budget is more than the value needs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shares {
    /// The prior's standard deviations, `√(P₀⁻¹)_jj`, one site after the other.
    pub prior: Vec<f64>,
    /// Those of a posterior given the same curvature and gradients without noise, `√((S + P₀)⁻¹)_jj`, on
    /// average over the curvatures that the releases leave possible.
    pub without_noise: Vec<f64>,
    /// The covariance whose diagonal those are the roots of, `(S + P₀)⁻¹`, row by row.
    pub covariance_without_noise: Vec<f64>,
}

/// Square roots of a diagonal.
pub(crate) fn deviations(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.diagonal().iter().map(|variance| variance.max(0.0).sqrt()).collect()
}

impl NoiseAware {
    /// Adds the square of a shift of the mean to the covariance, in its own direction: it is taken to be as unknown
    /// as it is large.
    pub(crate) fn add_shift(&mut self, shift: &[f64]) {
        self.parts.clear();
        for (row, shifted) in self.covariance.chunks_mut(shift.len().max(1)).zip(shift) {
            row.iter_mut().zip(shift).for_each(|(covariance, other)| *covariance += shifted * other);
        }
    }

    /// A posterior of coordinates as one of the values `c + W v`: mean `c + W m`, covariance `W Σ Wᵀ`.
    ///
    /// `prior_curvature` is that of the coordinates, row by row: where it is not positive definite, priors
    /// of coordinates
    /// are taken to be independent.
    pub(crate) fn of_values(self, coordinates: &Coordinates, prior_curvature: &[f64]) -> Self {
        // Values that have no coordinates come last and stay as they are.
        let (n, inside) = (self.mean.len(), coordinates.factor().nrows());
        let mut factor = DMatrix::identity(n, n);
        factor.view_mut((0, 0), (inside, inside)).copy_from(coordinates.factor());
        let back = |matrix: &[f64]| compose(&square(matrix, n), &factor);
        let shares = self.shares.map(|shares| {
            let without_noise = back(&shares.covariance_without_noise);
            let independent =
                || DMatrix::from_diagonal(&DVector::from_column_slice(&shares.prior).map(|x| x * x));
            let prior = cholesky(symmetrised(&square(prior_curvature, n)));
            let prior = prior.as_ref().map_or_else(independent, inverse);
            Shares {
                prior: deviations(&compose(&prior, &factor)),
                without_noise: deviations(&without_noise),
                covariance_without_noise: without_noise.as_slice().to_vec(),
            }
        });
        let there = |values: &[f64]| {
            let mut found = coordinates.values(&values[..inside]);
            found.extend(&values[inside..]);
            found
        };
        let (mean, covariance) = (there(&self.mean), back(&self.covariance));
        let point = self.point.as_deref().map(there);
        Self { mean, point, covariance: covariance.as_slice().to_vec(), shares, parts: Vec::new(), ..self }
    }

    /// Where each of the sites has its elements here, if it has.
    pub(crate) fn places(&self, sites: &[GuideSite]) -> Vec<Option<Range<usize>>> {
        let mut places = vec![None; sites.len()];
        let mut at = 0;
        for name in &self.sites {
            if let Some(site) = sites.iter().position(|site| site.name == *name) {
                let elements = sites[site].elements();
                places[site] = Some(at..at + elements);
                at += elements;
            }
        }
        places
    }

    /// `None` where the posterior would not be one: `A S + P₀` is not positive definite.
    pub(crate) fn new(sites: Vec<String>, evidence: &Evidence<'_>) -> Option<Self> {
        let n = evidence.values.len();
        let s = square(evidence.curvature, n);
        let prior = symmetrised(&square(evidence.prior_curvature, n));
        let at = DVectorView::from_slice(evidence.values, n);
        let noise = DMatrix::from_diagonal_element(n, n, evidence.noise_variance);
        let noisy = cholesky(&s * (1.0 + evidence.sampling) + noise)?;
        // A = S (S + S_n)⁻¹, and A S made symmetric again.
        let a = &s * inverse(&noisy);
        let precision = symmetrised(&(&a * &s)) + &prior;
        let b = DVectorView::from_slice(evidence.gradients, n) + &s * at;
        let pulled = &prior * at + DVectorView::from_slice(evidence.prior_gradient, n);
        let precision = cholesky(precision)?;
        let mean: DVector<f64> = precision.solve(&(a * b + pulled));
        let covariance = inverse(&precision);
        let sound = mean.iter().chain(&covariance).all(|x| x.is_finite());
        let shares = cholesky(prior.clone()).zip(cholesky(&s + &prior));
        sound.then(|| Self {
            sites,
            mean: mean.as_slice().to_vec(),
            covariance: covariance.as_slice().to_vec(),
            point: None,
            parts: Vec::new(),
            shares: shares.map(|(prior, without_noise)| {
                let without_noise = inverse(&without_noise);
                Shares {
                    prior: deviations(&inverse(&prior)),
                    without_noise: deviations(&without_noise),
                    covariance_without_noise: without_noise.as_slice().to_vec(),
                }
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against conjugate formulas written down separately, for two values with a diagonal curvature.
    #[test]
    fn it_is_the_posterior_of_the_linear_model() {
        let (s, v, p, m0) = ([4.0, 9.0], 2.0, [0.5, 0.25], [1.0, -1.0]);
        let (t, g) = ([0.3, -0.2], [1.5, -2.5]);
        let diagonal = |d: [f64; 2]| vec![d[0], 0.0, 0.0, d[1]];
        let evidence = Evidence {
            curvature: &diagonal(s),
            values: &t,
            gradients: &g,
            noise_variance: v,
            sampling: 0.1,
            prior_gradient: &[p[0] * (m0[0] - t[0]), p[1] * (m0[1] - t[1])],
            prior_curvature: &diagonal(p),
        };
        let found = NoiseAware::new(vec!["u".into()], &evidence).unwrap();
        for j in 0..2 {
            // b_j ~ N(s u, s + v + 0.1 s)
            let (b, variance) = (g[j] + s[j] * t[j], 1.1 * s[j] + v);
            let precision = s[j] * s[j] / variance + p[j];
            let mean = (s[j] * b / variance + p[j] * m0[j]) / precision;
            assert!(
                (found.mean[j] - mean).abs() < 1e-13
                    && (found.covariance[3 * j] - 1.0 / precision).abs() < 1e-13
            );
        }
        assert!(found.covariance[1].abs() < 1e-15);
        let shares = found.shares.unwrap();
        for j in 0..2 {
            assert!((shares.prior[j] - p[j].powf(-0.5)).abs() < 1e-13);
            assert!((shares.without_noise[j] - (s[j] + p[j]).powf(-0.5)).abs() < 1e-13);
        }
    }

    #[test]
    fn without_noise_it_is_laplace_and_with_much_it_is_the_prior() {
        let s = [3.0, 1.0, 1.0, 2.0];
        let evidence = |noise_variance| Evidence {
            curvature: &s,
            values: &[0.5, -0.5],
            gradients: &[0.2, 0.1],
            noise_variance,
            sampling: 0.0,
            prior_gradient: &[-0.5, 0.5],
            prior_curvature: &[1.0, 0.0, 0.0, 1.0],
        };
        let laplace = NoiseAware::new(Vec::new(), &evidence(1e-12)).unwrap();
        let expected = inverse(&cholesky(square(&[4.0, 1.0, 1.0, 3.0], 2)).unwrap());
        assert!(laplace.covariance.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9));
        let prior = NoiseAware::new(Vec::new(), &evidence(1e12)).unwrap();
        assert!(prior.mean.iter().all(|x| x.abs() < 1e-9) && (prior.covariance[0] - 1.0).abs() < 1e-9);
        let broken = Evidence { gradients: &[f64::NAN, 0.0], ..evidence(1.0) };
        assert!(NoiseAware::new(Vec::new(), &broken).is_none());
    }

    #[test]
    fn a_posterior_goes_back_to_values() {
        let sites = [("a".to_owned(), 1), ("b".to_owned(), 2)];
        let centre = DVector::from_vec(vec![1.0, -2.0, 30.0]);
        let factor = DMatrix::from_row_slice(3, 3, &[2.0, 0.0, 0.0, -1.0, 0.5, 0.0, 7.0, 0.0, 10.0]);
        let all = Coordinates::new(&sites, centre, factor);
        let found = NoiseAware {
            sites: vec!["a".to_owned(), "b".to_owned()],
            mean: vec![0.3, -1.5, 0.25],
            point: Some(vec![0.6, -1.0, 0.5]),
            parts: Vec::new(),
            covariance: vec![4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 9.0],
            shares: Some(Shares {
                prior: vec![3.0, 2.0, 1.0],
                without_noise: vec![1.0; 3],
                covariance_without_noise: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            }),
        };
        let back = found.of_values(&all, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert!((back.mean[2] - 34.6).abs() < 1e-12);
        // W diag(4, 1, 9) Wᵀ
        let expected = [16.0, -8.0, 56.0, -8.0, 4.25, -28.0, 56.0, -28.0, 1096.0];
        assert!(
            back.covariance.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9),
            "{:?}",
            back.covariance
        );
        // c + W v
        let point = back.point.clone().unwrap();
        assert!(point.iter().zip([2.2, -3.1, 39.2]).all(|(x, y)| (x - y).abs() < 1e-12), "{point:?}");
        let shares = back.shares.clone().unwrap();
        assert_eq!(shares.without_noise, all.units());
        assert_eq!(shares.prior, [6.0, 10.0_f64.sqrt(), 541.0_f64.sqrt()]);
        // Values with independent priors of 2, 1 and 10, whose coordinates are correlated: P = Wᵀ diag(2,
        // 1, 10)⁻² W.
        let values = DMatrix::from_diagonal(&DVector::from_vec(vec![0.25, 1.0, 0.01]));
        let curvature = all.factor().transpose() * values * all.factor();
        let again = NoiseAware { shares: Some(shares), ..back }.of_values(&all, curvature.as_slice());
        let prior = again.shares.unwrap().prior;
        assert!(prior.iter().zip([2.0, 1.0, 10.0]).all(|(x, y)| (x - y).abs() < 1e-12), "{prior:?}");
    }
}
