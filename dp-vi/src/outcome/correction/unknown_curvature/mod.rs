//! The posterior given a noisy gradient and a noisy curvature, with the curvature integrated out.
//!
//! `law` says what a release leaves possible of the curvature, `readings` what single noisy numbers say of what they
//! are readings of; the integral is here.

mod centre;
pub(crate) mod law;
mod one_by_one;
mod point;
mod readings;
#[cfg(test)]
mod tests;

use self::centre::Direction;
use self::law::CurvatureLaw;
pub(crate) use self::point::newton;
use self::readings::share_of_scores;
use crate::objective::curvature::CurvatureShape;
use crate::objective::moments::FeatureMoments;
use crate::outcome::correction::linear_algebra::{cholesky, compose, eigen, pooled, square, symmetrised};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware, Part, Shares, deviations};
use crate::outcome::correction::tail::Path;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{DMatrix, DVector, DVectorView};
use std::f64::consts::SQRT_2;

/// Steps of the chain: as many as take about a quarter of a second (a step takes some `n³` operations),
/// within bounds. A quarter of them, at the beginning, only adapt it. In one to three dimensions they find
/// means to within a quarter of a standard deviation; that is tested, and more is not claimed.
fn steps(n: usize) -> u64 {
    (2e8 / (n as f64).powi(3)).clamp(800.0, 8_000.0) as u64
}

/// Most values whose diagonal curvature is completed to random matrices: the chain takes about a second with a
/// hundred, and its time grows with the third power.
const MOST_IN_MATRICES: usize = 128;

/// Every how many steps the posterior of the values is added to the mixture.
const THIN: u64 = 3;

/// How many of these are kept.
const PARTS: u64 = 100;

/// Acceptance that the length of steps is adapted to.
const ACCEPTANCE: f64 = 0.3;

/// A noisy curvature that has been released: `S` plus a symmetric matrix of independent normals, of this
/// standard deviation on the diagonal and `1/√2` of it elsewhere. Of the diagonal alone nothing else is
/// known.
#[derive(Clone, Copy)]
pub(crate) struct ReleasedCurvature<'a> {
    /// Row by row.
    pub(crate) matrix: &'a [f64],
    pub(crate) shape: CurvatureShape,
    pub(crate) deviation: f64,
    /// The trace of the scores' covariance times [`CurvatureShape::score`], with noise of this standard
    /// deviation too. `None` where scores have no weights: then it is that of the curvature.
    pub(crate) scores: Option<f64>,
    /// What the run's gradients tell of the curvature along the way that the values went.
    pub(crate) path: Option<&'a Path>,
    /// What gradients of all steps say, from the first on, which is where it is whatever the records are. They tell of
    /// the curvature, where it hardly changed along the way.
    pub(crate) from_start: Option<FromStart<'a>>,
    /// Whether zero, where linear predictors are the same for all records, is elsewhere in these coordinates.
    pub(crate) is_turned: bool,
    /// What is known of the second moments of the features whose weights the values are, one by one.
    pub(crate) moments: Option<&'a FeatureMoments>,
}

/// Means over all steps of a run, as those of [`Evidence`] over the last.
#[derive(Clone, Copy)]
pub(crate) struct FromStart<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) gradients: &'a [f64],
    pub(crate) noise_variance: f64,
    pub(crate) sampling: f64,
}

/// A mean gradient, in the basis of the curvature's law, and the prior's mean relative to the `t̄` of its steps.
struct Seen {
    gradient: DVector<f64>,
    /// Covariance of what the privacy noise makes of it.
    noise: DMatrix<f64>,
    /// Variance of the sum of scores, over its own where batches are samples.
    sampling: f64,
    prior_mean: DVector<f64>,
}

/// What is known of the values besides the curvature, in the basis of its law.
struct Known {
    /// Relative to its `t̄`, the values are inferred.
    seen: Seen,
    /// What gradients of all steps say, where they tell of the curvature.
    from_start: Option<Seen>,
    /// Whether the noise is a multiple of the identity, and so commutes with a curvature.
    commutes: bool,
    /// The trace of the scores' covariance as it was released, and the standard deviation of its noise.
    scores: Option<(f64, f64)>,
    prior: DMatrix<f64>,
    /// `F` with `P₀⁻¹ = F Fᵀ`.
    prior_root: DMatrix<f64>,
}

impl Known {
    /// `Cov(ḡ)` for given values: that of the scores is taken to be a multiple of the curvature.
    ///
    /// ```text
    /// V = Σ (w h)² |f″| d dᵀ = β S,   β = tr V/tr S ≤ 1 (at least 1/4, for weights of at least 1/2 each)
    /// ```
    ///
    /// `β` is the mean of what was released and a uniform prior leave of it; above 1 only where weights of a user's own
    /// are, and what was released shows it.
    fn noise(&self, seen: &Seen, s: &DMatrix<f64>) -> DMatrix<f64> {
        let share = self.scores.map_or(1.0, |(trace, deviation)| {
            let whole = s.trace().max(f64::MIN_POSITIVE);
            share_of_scores(trace / whole, deviation / whole)
        });
        s * (share * seen.sampling) + &seen.noise
    }

    /// `ln p(ḡ₀|S)` of gradients of all steps, up to a constant: the values integrated out.
    ///
    /// Zero where they do not tell of the curvature; those of a run's end do not. Steps lead to where gradients vanish,
    /// so that a small one says nothing of the curvature there; taken at its word it would speak for a small curvature,
    /// and for values that are not known.
    fn log_evidence(&self, s: &DMatrix<f64>) -> Option<f64> {
        let Some(seen) = &self.from_start else { return Some(0.0) };
        let spread = s * &self.prior_root;
        let factor = cholesky(self.noise(seen, s) + &spread * spread.transpose())?;
        let residual = &seen.gradient - s * &seen.prior_mean;
        let whitened = factor.l_dirty().solve_lower_triangular(&residual)?;
        let log_root: f64 = factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum();
        Some(-log_root - 0.5 * whitened.norm_squared())
    }

    /// Mean and covariance of the values, given `S`.
    fn posterior(&self, s: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let Seen { gradient, prior_mean, .. } = &self.seen;
        // (S + S_n)⁻¹ S
        let a = cholesky(self.noise(&self.seen, s))?.solve(s);
        if self.commutes {
            let a = symmetrised(&a);
            let precision = cholesky(symmetrised(&(&a * s)) + &self.prior)?;
            let mean = precision.solve(&(a * gradient + &self.prior * prior_mean));
            return Some((mean, symmetrised(&precision.inverse())));
        }
        let precision = cholesky(symmetrised(&(s * &a)) + &self.prior)?;
        let mean = precision.solve(&(a.tr_mul(gradient) + &self.prior * prior_mean));
        Some((mean, symmetrised(&precision.inverse())))
    }
}

/// The posterior of the values, given everything that was released.
///
/// ```text
/// released:  ḡ = S (u − t̄) + e,   e ~ N(0, S_n + β S)                 as for NoiseAware, whose S is known
///            S̃ = S + E,           E the noise of the curvature's release
/// p(u|ḡ, S̃) = ∫ p(u|ḡ, S) p(ḡ₀|S) p(S|S̃) dS / ∫ p(ḡ₀|S) p(S|S̃) dS
/// ```
///
/// `ḡ` and `t̄` are means over the last steps, where the curvature is `S`. On the way to them it may be larger, as that
/// of a logistic regression is where weights are small, and `S⁻¹` of a gradient from there leads too far. `ḡ₀` is the
/// mean over all steps from the first: in its place `ḡ` would say too little of the curvature, for `t̄` follows from
/// earlier gradients of the same records, and is where `ḡ` is small. Where the curvature changed much on the way,
/// `p(ḡ₀|S)` is left out.
///
/// Given `S` the values are normal. The integral over `S` is a Markov chain: `S` is a function of independent
/// standard normals (see [`CurvatureLaw`]), and preconditioned Crank-Nicolson steps `z′ = √(1 − β²) z + β ξ`
/// leave their law as it is, so that `p(ḡ₀|S)` alone decides about acceptance, however many elements there
/// are. The mixture is summarised by a normal: see [`centred`](centre::centred) for its centre, about which it has the
/// mixture's second moments.
///
/// Where the release says little of the curvature in a direction, neither does the gradient say much of the
/// values there, and they keep their prior. `None` where the release is not finite or the prior's curvature
/// is not.
///
/// A prior whose curvature is not positive definite where gradients were taken (that of a parameter, or a
/// heavy tail) is taken to be flat in those directions: to have a precision of a millionth of the largest.
///
/// # References
/// Cotter, Roberts, Stuart, White 2013, "MCMC methods for functions" (the steps).
pub(crate) fn posterior(
    sites: Vec<String>,
    evidence: &Evidence<'_>,
    released: &ReleasedCurvature<'_>,
) -> Option<NoiseAware> {
    let same = vec![1.0; evidence.values.len()];
    summarised(sites, evidence, (&same, None), released, Direction::centre)
}

/// The same where the elements of the gradient are in these units, and so is their noise.
pub(crate) fn posterior_in_units(
    sites: Vec<String>,
    evidence: &Evidence<'_>,
    units: &[f64],
    variances: &DMatrix<f64>,
    released: &ReleasedCurvature<'_>,
) -> Option<NoiseAware> {
    summarised(sites, evidence, (units, Some(variances)), released, Direction::near)
}

/// How far from the run's mean a mixture is centred in one direction.
type Rule = fn(&Direction) -> f64;

/// The mixture over all curvatures, summarised by a normal.
fn summarised(
    sites: Vec<String>,
    evidence: &Evidence<'_>,
    (units, variances): (&[f64], Option<&DMatrix<f64>>),
    released: &ReleasedCurvature<'_>,
    rule: Rule,
) -> Option<NoiseAware> {
    let n = evidence.values.len();
    if n == 0 {
        return None;
    }
    if released.shape == CurvatureShape::Diagonal && n > MOST_IN_MATRICES {
        return one_by_one::summarised(sites, evidence, released, rule);
    }
    let prior = eigen(symmetrised(&square(evidence.prior_curvature, n)))?;
    let largest = prior.eigenvalues.iter().copied().fold(0.0, f64::max);
    let scale = released.matrix.iter().fold(largest.max(released.deviation), |max, x| max.max(x.abs()));
    let floor = 1e-6 * if largest > 0.0 { largest } else { scale };
    let precisions = prior.eigenvalues.map(|p| p.max(floor));
    // With λ²/σ² far below the prior's precision nothing is learned.
    let noise = DVector::from_fn(n, |j, _| evidence.noise_variance * units[j] * units[j]);
    let log_mean = |values: &DVector<f64>| values.map(f64::ln).mean();
    let negligible = match variances {
        None => 0.02 * (evidence.noise_variance * precisions.mean()).sqrt(),
        Some(_) => 0.02 * (0.5 * (log_mean(&noise) + log_mean(&precisions))).exp(),
    };
    if !(negligible > 0.0 && negligible.is_finite()) {
        return None;
    }
    let law = match variances {
        None => CurvatureLaw::new(released, n, negligible, (!released.is_turned).then_some(evidence.values))?,
        Some(variances) => CurvatureLaw::of_readings(&square(released.matrix, n), variances, negligible)?,
    };
    let inward = law.basis.transpose();
    let vectors = &inward * &prior.eigenvectors;
    let root = DMatrix::from_diagonal(&precisions.map(|p| p.sqrt().recip()));
    let pull = &prior.eigenvectors.transpose() * DVectorView::from_slice(evidence.prior_gradient, n);
    let seen = Seen {
        gradient: &inward * DVectorView::from_slice(evidence.gradients, n),
        noise: match variances {
            None => DMatrix::from_diagonal_element(n, n, evidence.noise_variance),
            Some(_) => compose(&DMatrix::from_diagonal(&noise), &inward),
        },
        sampling: 1.0 + evidence.sampling,
        prior_mean: &vectors * pull.component_div(&precisions),
    };
    let from_start = |all: FromStart<'_>| {
        let nearer = DVectorView::from_slice(evidence.values, n) - DVectorView::from_slice(all.values, n);
        Seen {
            gradient: &inward * DVectorView::from_slice(all.gradients, n),
            noise: DMatrix::from_diagonal_element(n, n, all.noise_variance),
            sampling: 1.0 + all.sampling,
            prior_mean: &seen.prior_mean + &inward * nearer,
        }
    };
    let known = Known {
        from_start: released.from_start.map(from_start),
        seen,
        commutes: variances.is_none(),
        scores: released.scores.map(|read| {
            let scale = released.shape.score(n);
            (read / scale, released.deviation / scale)
        }),
        prior: compose(&DMatrix::from_diagonal(&precisions), &vectors),
        prior_root: &vectors * root,
    };
    let found = integrate(&law, &known)?;
    let (mean, covariance) = centre::centred(&found, rule)?;
    let mean = DVectorView::from_slice(evidence.values, n) + &law.basis * mean;
    let covariance = compose(&covariance, &law.basis);
    let without_noise = compose(&found.without_noise, &law.basis);
    let in_values = |(mean, covariance): &(DVector<f64>, DMatrix<f64>)| Part {
        mean: (DVectorView::from_slice(evidence.values, n) + &law.basis * mean).as_slice().to_vec(),
        covariance: compose(covariance, &law.basis).as_slice().to_vec(),
    };
    let sound =
        mean.iter().chain(&covariance).all(|x| x.is_finite()) && cholesky(covariance.clone()).is_some();
    sound.then(|| NoiseAware {
        sites,
        mean: mean.as_slice().to_vec(),
        covariance: covariance.as_slice().to_vec(),
        point: None,
        parts: found.parts.iter().map(in_values).collect(),
        shares: Some(Shares {
            prior: deviations(&compose(&found.prior, &law.basis)),
            without_noise: deviations(&without_noise),
            covariance_without_noise: without_noise.as_slice().to_vec(),
        }),
    })
}

/// The mixture over all curvatures, relative to `t̄`, in the law's basis.
struct Mixture {
    mean: DVector<f64>,
    covariance: DMatrix<f64>,
    /// Mean of the covariances of the mixture's parts, `E (A S + P₀)⁻¹`.
    inside: DMatrix<f64>,
    /// Mean of the covariances that there were without noise, `E (S + P₀)⁻¹`.
    without_noise: DMatrix<f64>,
    /// The covariance that there was without noise if the curvature were its mean, `(E S + P₀)⁻¹`.
    at_mean: DMatrix<f64>,
    /// `P₀⁻¹`
    prior: DMatrix<f64>,
    /// Some of the mixture's parts, by mean and covariance.
    parts: Vec<(DVector<f64>, DMatrix<f64>)>,
}

fn integrate(law: &CurvatureLaw, known: &Known) -> Option<Mixture> {
    // No secret: a fixed sequence to find an integral with, so that a run that is read again says the same.
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("unknown curvature"));
    let n = law.centre.len();
    let elements = law.elements();
    let mut proposal = vec![0.0; elements + 1];
    let mut state = vec![0.0; elements];
    let mut curvature = law.draw(&state);
    let mut log_evidence = known.log_evidence(&curvature)?;
    let mut length: f64 = 0.3;
    let mut means = Vec::new();
    let (mut inside, mut mean_curvature) = (DMatrix::zeros(n, n), DMatrix::zeros(n, n));
    let (mut exact, mut without_noise) = (0.0, DMatrix::zeros(n, n));
    let steps = steps(n);
    let every = ((steps - steps / 4) / THIN / PARTS).max(1) as usize;
    let mut parts = Vec::new();
    for step in 0..steps {
        noise.fill(step, &mut proposal);
        let keep = (1.0 - length * length).sqrt();
        let (moved, uniform) = proposal.split_at_mut(elements);
        moved.iter_mut().zip(&state).for_each(|(z, old)| *z = keep * old + length * *z);
        let proposed = law.draw(moved);
        // A uniform number from a normal one.
        let threshold = (0.5 * libm::erfc(uniform[0] / SQRT_2)).ln();
        let accepted = match known.log_evidence(&proposed) {
            Some(found) if threshold < found - log_evidence => {
                (curvature, log_evidence) = (proposed, found);
                state.copy_from_slice(moved);
                1.0
            }
            _ => 0.0,
        };
        if step < steps / 4 {
            let change = (accepted - ACCEPTANCE) / ((step + 1) as f64).sqrt();
            length = (length * change.exp()).clamp(0.02, 1.0);
        } else if step.is_multiple_of(THIN) {
            let (mean, covariance) = known.posterior(&curvature)?;
            if means.len().is_multiple_of(every) {
                parts.push((mean.clone(), covariance.clone()));
            }
            inside += covariance;
            mean_curvature += &curvature;
            means.push(mean);
            // Another inverse for each would take a third of the time, and fewer say as much of a mean.
            if means.len() % 8 == 1 {
                without_noise += cholesky(&curvature + &known.prior)?.inverse();
                exact += 1.0;
            }
        }
    }
    let count = means.len() as f64;
    let at_mean = symmetrised(&cholesky(mean_curvature / count + &known.prior)?.inverse());
    let (mean, covariance) = pooled(&means, inside.clone());
    let prior = symmetrised(&(&known.prior_root * known.prior_root.transpose()));
    let (inside, without_noise) = (inside / count, without_noise / exact);
    Some(Mixture { mean, covariance, inside, without_noise, at_mean, prior, parts })
}
