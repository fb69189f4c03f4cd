//! The posterior given a noisy gradient and a noisy curvature, with the curvature integrated out.

use crate::objective::curvature::CurvatureShape;
use crate::outcome::correction::linear_algebra::{cholesky, compose, eigen, pooled, square, symmetrised};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware, Shares, deviations};
use crate::outcome::correction::tail::Path;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{DMatrix, DVector, DVectorView};
use std::f64::consts::{PI, SQRT_2};

/// How much of a direction's curvature may come through the other directions, on average: the off-diagonal
/// elements of `S`, in its own eigenbasis, have the prior variance `THROUGH/D · ξ_j ξ_k`.
///
/// Near 1 the law reaches singular curvatures, which columns that nearly repeat each other have. Chosen among
/// 0.25, 0.5 and 0.9 on four generated designs with an ordinal copy of a column of categories (1,500 to
/// 20,000 records, 11 to 31 columns, ε of 0.3, 1 and 3; without a path): mean coverage of 90 % intervals was
/// at least .80, .83 and .84, and .91, .93 and .94 on average, while intervals became longer by a tenth from
/// one to the next.
const THROUGH: f64 = 0.9;

/// How uncertain the curvature of a direction is that the noise hides: its standard deviation over its mean.
///
/// Chosen among 1, √2, 2 and √8, in a simulation of an earlier form of this law, on a generated design with
/// rare categories (8,000 records, 24 columns): with 1 the worst weight's intervals covered .65 at ε of 1 and
/// 3, with 2 .72 and .69, and intervals became longer by a twentieth to a tenth; more changed little.
const SPREAD: f64 = 2.0;

/// Standard deviations of an element's noise that the curvature of a direction must have to be taken by
/// itself. Where it is less, the direction's own estimate says less than the mean over all such directions.
const STANDING_OUT: f64 = 3.0;

/// Steps of the chain: as many as take about a quarter of a second (a step takes some `n³` operations),
/// within bounds. A quarter of them, at the beginning, only adapt it. In one to three dimensions they find
/// means to within a quarter of a standard deviation; that is tested, and more is not claimed.
fn steps(n: usize) -> u64 {
    (2e8 / (n as f64).powi(3)).clamp(800.0, 8_000.0) as u64
}

/// Every how many steps the posterior of the values is added to the mixture.
const THIN: u64 = 3;

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
}

/// What the release and the path say of the curvature together: a matrix, and the variances of its errors.
///
/// ```text
/// release:  ln p = −‖S̃ − S‖²_F/(2s²)                                  on the diagonal alone where no more is released
/// path:     ln p = −‖γ + S δ‖²/(2v),   δ = ū₃ − ū₁,   γ = ḡ₃ − ḡ₁     means over the last and the first third of the steps
/// with δδᵀ/v = V Λ Vᵀ, S = V S′ Vᵀ:   S′_jk (1/s² + (λ_j + λ_k)/2) = S̃′_jk/s² − (M′_jk + M′_kj)/2,   M = γδᵀ/v
/// ```
///
/// The path is worth a number for each element of the values, without any budget; the score's own deviation
/// is the same at all steps and falls out of the difference. Only one direction is taken from it: in all
/// others the values wander because of the noise itself, and a regression on a random walk finds a curvature
/// where there is none (the walk seems to return to its own mean).
struct Observed {
    matrix: DMatrix<f64>,
    /// `V`
    vectors: DMatrix<f64>,
    /// Variances of the errors of `S′`.
    variances: DMatrix<f64>,
}

impl Observed {
    fn new(released: &ReleasedCurvature<'_>, n: usize) -> Option<Self> {
        let s = released.deviation;
        let matrix = symmetrised(&square(released.matrix, n));
        let Some(path) = released.path.filter(|_| released.shape == CurvatureShape::Full) else {
            let variances = DMatrix::from_fn(n, n, |j, k| if j == k { s * s } else { 0.5 * s * s });
            return Some(Self { matrix, vectors: DMatrix::identity(n, n), variances });
        };
        let delta = DVectorView::from_slice(&path.values, n);
        let gamma = DVectorView::from_slice(&path.gradients, n);
        let found = eigen(symmetrised(&(delta * delta.transpose() / path.variance)))?;
        let crossed = gamma * delta.transpose() / path.variance;
        let vectors = found.eigenvectors;
        let told = found.eigenvalues.map(|x| x.max(0.0));
        let turned = vectors.transpose() * &matrix * &vectors;
        let crossed = symmetrised(&(vectors.transpose() * crossed * &vectors));
        let precision = |j: usize, k: usize| 1.0 / (s * s) + 0.5 * (told[j] + told[k]);
        let both =
            DMatrix::from_fn(n, n, |j, k| (turned[(j, k)] / (s * s) - crossed[(j, k)]) / precision(j, k));
        let variances =
            DMatrix::from_fn(n, n, |j, k| precision(j, k).recip() * if j == k { 1.0 } else { 0.5 });
        Some(Self { matrix: compose(&symmetrised(&both), &vectors), vectors, variances })
    }

    /// Variances of the errors of `Bᵀ S B`, on and below the diagonal.
    fn variances_in(&self, basis: &DMatrix<f64>) -> DMatrix<f64> {
        let n = basis.nrows();
        let turned = basis.transpose() * &self.vectors;
        DMatrix::from_fn(n, n, |k, j| {
            if j > k {
                return 0.0;
            }
            // An element is Σ_a x_a y_a S′_aa + Σ_{a<b} (x_a y_b + x_b y_a) S′_ab.
            let (x, y) = (turned.row(k), turned.row(j));
            let mut variance = 0.0;
            for a in 0..n {
                variance += (x[a] * y[a]).powi(2) * self.variances[(a, a)];
                for b in 0..a {
                    variance += (x[a] * y[b] + x[b] * y[a]).powi(2) * self.variances[(a, b)];
                }
            }
            variance
        })
    }
}

/// What a release leaves possible of the curvature: a law of positive definite matrices.
///
/// ```text
/// S = U L Lᵀ Uᵀ,   L lower triangular, all elements independent
/// L_kk² log-normal with mean m_k and variance δ_kk²,   L_kj ~ N(0, δ_kj²/ξ_j) for j < k,   so that E S = U diag(ξ) Uᵀ
/// 1/δ_kj² = 2/s² + D/(THROUGH ξ_j ξ_k),   1/δ_kk² = 1/s² + 1/(SPREAD ξ_k)²     s the noise's standard deviation
/// ```
///
/// The centre `U diag(ξ) Uᵀ` is what is left of the release when the noise is taken out of it:
///
/// 1. *Directions that stand out.* The noise pushes eigenvalues apart and turns eigenvectors. In expectation
///    an eigenvector `w_k` of the release, with eigenvalue `λ_k`, has `w_kᵀ S w_k = λ_k − s² Σ_j 1/(λ_k −
///    λ_j)`: half of the difference is the push, half is the turn. Above all others this is nearly `√(λ_k² −
///    2 D s²)`; where all curvatures are equal it gives them back.
/// 2. *The others.* Projected onto the rest of the space, the release has a mean eigenvalue that tells the
///    mean curvature `b` there to within `s/√(D − r)`, far better than any single one. Its prior is uniform
///    on a logarithmic scale from what is too little to matter on, and the posterior's geometric mean is
///    taken.
/// 3. *Elements of the diagonal.* In coordinates, where columns that are rarely anything but zero are alone,
///    each element has an exponential prior of mean `b` and is read off the projected release.
///
/// Raising eigenvalues to what the noise may reach instead would take the noise for information: a direction
/// of which the data say nothing would have the curvature `s √D`.
///
/// # References
/// Bun, Bouchaud, Potters 2017, "Cleaning large correlation matrices" (the estimator of step 1, which is that
/// of additive noise for finitely many eigenvalues).
struct CurvatureLaw {
    /// `U`; its columns go from the most to the least curved.
    basis: DMatrix<f64>,
    /// `ξ`
    centre: Vec<f64>,
    /// Standard deviations of the elements of `L` below the diagonal.
    below: DMatrix<f64>,
    /// Mean and standard deviation of `ln L_kk²`.
    diagonal: Vec<(f64, f64)>,
}

impl CurvatureLaw {
    /// `negligible` is a curvature from which nothing can be learned. `None` if the release is not finite.
    fn new(released: &ReleasedCurvature<'_>, n: usize, negligible: f64) -> Option<Self> {
        let s = released.deviation;
        let observed = Observed::new(released, n)?;
        let found = eigen(observed.matrix.clone())?;
        let mut standing_out = DMatrix::zeros(n, n);
        let mut projection = DMatrix::identity(n, n);
        // By how much the noise pushed the eigenvalues of the others away from those that stand out.
        let (mut rest, mut pushed) = (n, 0.0);
        if released.shape == CurvatureShape::Full {
            let without_noise = without_noise(found.eigenvalues.as_slice(), s);
            let all = found.eigenvalues.iter().zip(&without_noise).zip(found.eigenvectors.column_iter());
            for ((value, curvature), vector) in all {
                if *curvature > STANDING_OUT * s {
                    standing_out += *curvature * vector * vector.transpose();
                    projection -= vector * vector.transpose();
                    rest -= 1;
                } else {
                    pushed += curvature - value;
                }
            }
        }
        let projected =
            &projection * &observed.matrix * &projection + (pushed / rest.max(1) as f64) * &projection;
        // A coordinate that is all but within the directions that stand out has nothing left to be divided
        // by.
        let left: Vec<f64> = projection.diagonal().iter().map(|h| h.max(0.02)).collect();
        let mean = projected.trace() / left.iter().sum::<f64>();
        let mean = log_uniform_mean(mean, s / (rest.max(1) as f64).sqrt(), negligible);
        // With few directions left, the elements of the diagonal say again what their mean says.
        let alone = (rest.max(1) as f64).recip();
        let single = |j: usize| {
            let element = positive_mean(projected[(j, j)] / left[j] - s * s / mean, s);
            alone * mean + (1.0 - alone) * element
        };
        let others = DMatrix::from_diagonal(&DVector::from_fn(n, |j, _| single(j)));
        let centre = standing_out + symmetrised(&(&projection * others * &projection));
        let found = eigen(symmetrised(&centre))?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| found.eigenvalues[b].total_cmp(&found.eigenvalues[a]));
        let basis = DMatrix::from_fn(n, n, |j, k| found.eigenvectors[(j, order[k])]);
        // Zero where a coordinate's share is taken by the directions that stand out.
        let centre: Vec<f64> = order.iter().map(|&k| found.eigenvalues[k].max(1e-6 * negligible)).collect();
        let errors = observed.variances_in(&basis);
        let seen = |k: usize, j: usize| match released.shape {
            CurvatureShape::Full => errors[(k, j)].recip(),
            CurvatureShape::Diagonal => 0.0,
        };
        let below = DMatrix::from_fn(n, n, |k, j| {
            let prior = n as f64 / (THROUGH * centre[j] * centre[k]);
            if j < k { ((seen(k, j) + prior) * centre[j]).recip().sqrt() } else { 0.0 }
        });
        let diagonal = (0..n).map(|k| {
            let through: f64 = (0..k).map(|j| below[(k, j)].powi(2)).sum();
            let own = centre[k] - through;
            let variance = (errors[(k, k)].recip() + (SPREAD * centre[k]).powi(-2)).recip();
            let spread = (variance / (own * own)).ln_1p();
            (own.ln() - 0.5 * spread, spread.sqrt())
        });
        let diagonal = diagonal.collect();
        Some(Self { basis, centre, below, diagonal })
    }

    /// Elements of `L`, on and below the diagonal.
    fn elements(&self) -> usize {
        let n = self.centre.len();
        n * (n + 1) / 2
    }

    /// The curvature, in the basis, that these standard normals stand for.
    fn draw(&self, standard: &[f64]) -> DMatrix<f64> {
        let n = self.centre.len();
        let mut lower = DMatrix::zeros(n, n);
        let mut standard = standard.iter();
        for k in 0..n {
            for (j, z) in (0..k).zip(&mut standard) {
                lower[(k, j)] = self.below[(k, j)] * z;
            }
            let (mean, deviation) = self.diagonal[k];
            lower[(k, k)] = (0.5 * (mean + deviation * standard.next().copied().unwrap_or(0.0))).exp();
        }
        symmetrised(&(&lower * lower.transpose()))
    }
}

/// What is known of the values besides the curvature, in the basis of its law and relative to `t̄`.
struct Known {
    gradient: DVector<f64>,
    noise_variance: f64,
    /// Variance of the sum of scores, over its own where batches are samples.
    sampling: f64,
    /// The trace of the scores' covariance as it was released, and the standard deviation of its noise.
    scores: Option<(f64, f64)>,
    prior: DMatrix<f64>,
    /// `F` with `P₀⁻¹ = F Fᵀ`.
    prior_root: DMatrix<f64>,
    prior_mean: DVector<f64>,
}

impl Known {
    /// `Cov(ḡ)` for given values: that of the scores is taken to be a multiple of the curvature.
    ///
    /// ```text
    /// V = Σ (w h)² |f″| d dᵀ = β S,   β = tr V/tr S ≤ 1 (at least 1/4, for weights of at least 1/2 each)
    /// ```
    ///
    /// `β` is the mean of what was released and a uniform prior leave of it.
    fn noise(&self, s: &DMatrix<f64>) -> DMatrix<f64> {
        let n = s.nrows();
        let share = self.scores.map_or(1.0, |(trace, deviation)| {
            let whole = s.trace().max(f64::MIN_POSITIVE);
            uniform_mean(trace / whole, deviation / whole)
        });
        s * (share * self.sampling) + DMatrix::from_diagonal_element(n, n, self.noise_variance)
    }

    /// `ln p(ḡ|S)`, up to a constant: the values integrated out.
    fn log_evidence(&self, s: &DMatrix<f64>) -> Option<f64> {
        let spread = s * &self.prior_root;
        let factor = cholesky(self.noise(s) + &spread * spread.transpose())?;
        let residual = &self.gradient - s * &self.prior_mean;
        let whitened = factor.l_dirty().solve_lower_triangular(&residual)?;
        let log_root: f64 = factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum();
        Some(-log_root - 0.5 * whitened.norm_squared())
    }

    /// Mean and covariance of the values, given `S`.
    fn posterior(&self, s: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
        // S and the noise commute.
        let a = symmetrised(&cholesky(self.noise(s))?.solve(s));
        let precision = cholesky(symmetrised(&(&a * s)) + &self.prior)?;
        let mean = precision.solve(&(a * &self.gradient + &self.prior * &self.prior_mean));
        Some((mean, symmetrised(&precision.inverse())))
    }
}

/// The posterior of the values, given everything that was released.
///
/// ```text
/// released:  ḡ = S (u − t̄) + e,   e ~ N(0, S_n + β S)                 as for NoiseAware, whose S is known
///            S̃ = S + E,           E the noise of the curvature's release
/// p(u|ḡ, S̃) = ∫ p(u|ḡ, S) p(ḡ|S) p(S|S̃) dS / ∫ p(ḡ|S) p(S|S̃) dS
/// ```
///
/// Given `S` the values are normal. The integral over `S` is a Markov chain: `S` is a function of independent
/// standard normals (see [`CurvatureLaw`]), and preconditioned Crank-Nicolson steps `z′ = √(1 − β²) z + β ξ`
/// leave their law as it is, so that `p(ḡ|S)` alone decides about acceptance, however many elements there
/// are. The mixture is summarised by its mean and covariance.
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
    let n = evidence.values.len();
    if n == 0 {
        return None;
    }
    let prior = eigen(symmetrised(&square(evidence.prior_curvature, n)))?;
    let largest = prior.eigenvalues.iter().copied().fold(0.0, f64::max);
    let scale = released.matrix.iter().fold(largest.max(released.deviation), |max, x| max.max(x.abs()));
    let floor = 1e-6 * if largest > 0.0 { largest } else { scale };
    let precisions = prior.eigenvalues.map(|p| p.max(floor));
    // With λ²/σ² far below the prior's precision nothing is learned.
    let negligible = 0.02 * (evidence.noise_variance * precisions.mean()).sqrt();
    if !(negligible > 0.0 && negligible.is_finite()) {
        return None;
    }
    let law = CurvatureLaw::new(released, n, negligible)?;
    let inward = law.basis.transpose();
    let vectors = &inward * &prior.eigenvectors;
    let root = DMatrix::from_diagonal(&precisions.map(|p| p.sqrt().recip()));
    let pull = &prior.eigenvectors.transpose() * DVectorView::from_slice(evidence.prior_gradient, n);
    let known = Known {
        gradient: &inward * DVectorView::from_slice(evidence.gradients, n),
        noise_variance: evidence.noise_variance,
        sampling: 1.0 + evidence.sampling,
        scores: released.scores.map(|read| {
            let scale = released.shape.score(n);
            (read / scale, released.deviation / scale)
        }),
        prior: compose(&DMatrix::from_diagonal(&precisions), &vectors),
        prior_root: &vectors * root,
        prior_mean: &vectors * pull.component_div(&precisions),
    };
    let Integrated { mean, covariance, without_noise } = integrate(&law, &known)?;
    let mean = DVectorView::from_slice(evidence.values, n) + &law.basis * mean;
    let covariance = compose(&covariance, &law.basis);
    let prior_covariance = compose(&DMatrix::from_diagonal(&precisions.map(f64::recip)), &prior.eigenvectors);
    let sound =
        mean.iter().chain(&covariance).all(|x| x.is_finite()) && cholesky(covariance.clone()).is_some();
    sound.then(|| NoiseAware {
        sites,
        mean: mean.as_slice().to_vec(),
        covariance: covariance.as_slice().to_vec(),
        shares: Some(Shares {
            prior: deviations(&prior_covariance),
            without_noise: deviations(&compose(&without_noise, &law.basis)),
        }),
    })
}

/// The mixture over all curvatures, in the law's basis.
struct Integrated {
    mean: DVector<f64>,
    covariance: DMatrix<f64>,
    /// Mean of the covariances that there were without noise.
    without_noise: DMatrix<f64>,
}

fn integrate(law: &CurvatureLaw, known: &Known) -> Option<Integrated> {
    // No secret: a fixed sequence to find an integral with, so that a run that is read again says the same.
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("unknown curvature"));
    let n = law.centre.len();
    let elements = law.elements();
    let mut proposal = vec![0.0; elements + 1];
    let mut state = vec![0.0; elements];
    let mut curvature = law.draw(&state);
    let mut log_evidence = known.log_evidence(&curvature)?;
    let mut length: f64 = 0.3;
    let (mut means, mut covariance) = (Vec::new(), DMatrix::zeros(n, n));
    let (mut exact, mut without_noise) = (0.0, DMatrix::zeros(n, n));
    let steps = steps(n);
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
            let (mean, inside) = known.posterior(&curvature)?;
            covariance += inside;
            means.push(mean);
            // Another inverse for each would take a third of the time, and fewer say as much of a mean.
            if means.len() % 8 == 1 {
                without_noise += cholesky(&curvature + &known.prior)?.inverse();
                exact += 1.0;
            }
        }
    }
    let (mean, covariance) = pooled(&means, covariance);
    Some(Integrated { mean, covariance, without_noise: without_noise / exact })
}

/// The curvatures along the eigenvectors of a release with these eigenvalues, without what the noise adds.
///
/// Differences are damped below half of the eigenvalues' mean spacing in pure noise, `s √(2/D)`, where single
/// ones say nothing.
fn without_noise(eigenvalues: &[f64], s: f64) -> Vec<f64> {
    let damping = 2.0 * s * s / eigenvalues.len() as f64;
    let push = |value: &f64| -> f64 {
        let away = eigenvalues.iter().map(|other| value - other);
        away.map(|away| away / (away * away + damping)).sum()
    };
    eigenvalues.iter().map(|value| value - s * s * push(value)).collect()
}

/// The sum of the likelihoods of `x`, of which `N(x, s²)` was read, over points `(x, f(x))`, and the sum of `f`
/// weighted by them: in units of the likelihood at `nearest`.
fn weighted_by_reading(
    read: f64,
    s: f64,
    nearest: f64,
    points: impl Iterator<Item = (f64, f64)>,
) -> (f64, f64) {
    let log_weight = |x: f64| -0.5 * ((read - x) / s).powi(2);
    let largest = log_weight(nearest);
    points.fold((0.0, 0.0), |(total, sum), (x, value)| {
        let weight = (log_weight(x) - largest).exp();
        (total + weight, sum + weight * value)
    })
}

/// The mean of an `x` with a uniform prior from 1/4 to 1, of which `N(x, s²)` was read.
fn uniform_mean(read: f64, s: f64) -> f64 {
    const POINTS: u32 = 30;
    let at = |k: u32| 0.25 + 0.75 * (f64::from(k) + 0.5) / f64::from(POINTS);
    let nearest = read.clamp(at(0), at(POINTS - 1));
    let (total, sum) = weighted_by_reading(read, s, nearest, (0..POINTS).map(|k| (at(k), at(k))));
    // All weight between two points: what was read is exact.
    if total > 1e-3 { sum / total } else { read.clamp(0.25, 1.0) }
}

/// The mean of a positive `x` with a uniform prior, of which `N(x, s²)` was read: of a normal cut at zero.
fn positive_mean(read: f64, s: f64) -> f64 {
    let a = -read / s;
    // Above, the difference below loses digits; the next term of the asymptotic series is below 3e-4.
    if a > 8.0 {
        return s / a * (1.0 - 2.0 / (a * a) + 10.0 / a.powi(4));
    }
    let density = (-0.5 * a * a).exp() / (2.0 * PI).sqrt();
    read + s * density / (0.5 * libm::erfc(a / SQRT_2))
}

/// The geometric mean of an `x` whose logarithm has a uniform prior from `ln low` on, of which `N(x, s²)` was
/// read: where little is known of `x`, far below the mean, for then it may be of any order of magnitude.
fn log_uniform_mean(read: f64, s: f64, low: f64) -> f64 {
    const POINTS: u32 = 400;
    let high = read.max(0.0) + 6.0 * s + 2.0 * low;
    let step = (high / low).ln() / f64::from(POINTS);
    let at = |k: u32| low * (f64::from(k) * step).exp();
    let points = (0..=POINTS).map(|k| (at(k), at(k).ln()));
    let (total, sum) = weighted_by_reading(read, s, read.clamp(low, high), points);
    // All weight between two points of the grid: what was read is exact.
    if total > 0.0 { (sum / total).exp() } else { read.clamp(low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Normals(GaussianNoise, u64);

    impl Normals {
        fn new(seed: u64) -> Self {
            let seed = Seed::for_tests(seed);
            Self(GaussianNoise::with_purpose(&seed, Purpose::Custom("simulated releases")), 0)
        }

        fn vector(&mut self, n: usize) -> DVector<f64> {
            let mut z = vec![0.0; n];
            self.0.fill(self.1, &mut z);
            self.1 += 1;
            DVector::from(z)
        }

        /// Noise of a release: standard deviation `s` on the diagonal, `s/√2` elsewhere.
        fn symmetric(&mut self, n: usize, s: f64) -> DMatrix<f64> {
            let z = self.vector(n * n);
            DMatrix::from_fn(n, n, |j, k| match j == k {
                true => s * z[j * n + j],
                false => s * z[j.min(k) * n + j.max(k)] / SQRT_2,
            })
        }
    }

    /// A problem whose prior has mean zero and standard deviation 4, with gradients taken at `at`.
    struct Problem {
        at: DVector<f64>,
        gradient: DVector<f64>,
        noise_variance: f64,
        matrix: DMatrix<f64>,
        deviation: f64,
        prior: DMatrix<f64>,
    }

    const PRIOR: f64 = 1.0 / 16.0;

    impl Problem {
        fn found(&self, shape: CurvatureShape) -> NoiseAware {
            self.found_with(shape, None)
        }

        /// With the trace of the scores' covariance, as it is released.
        fn found_with(&self, shape: CurvatureShape, scores: Option<f64>) -> NoiseAware {
            let pull = -&self.prior * &self.at;
            let evidence = Evidence {
                curvature: &[],
                values: self.at.as_slice(),
                gradients: self.gradient.as_slice(),
                noise_variance: self.noise_variance,
                sampling: 0.0,
                prior_gradient: pull.as_slice(),
                prior_curvature: self.prior.as_slice(),
            };
            let released = ReleasedCurvature {
                matrix: self.matrix.as_slice(),
                shape,
                deviation: self.deviation,
                scores,
                path: None,
            };
            posterior(vec!["u".to_owned()], &evidence, &released).unwrap()
        }

        /// That of a known curvature.
        fn with(&self, curvature: &DMatrix<f64>) -> NoiseAware {
            let pull = -&self.prior * &self.at;
            let evidence = Evidence {
                curvature: curvature.as_slice(),
                values: self.at.as_slice(),
                gradients: self.gradient.as_slice(),
                noise_variance: self.noise_variance,
                sampling: 0.0,
                prior_gradient: pull.as_slice(),
                prior_curvature: self.prior.as_slice(),
            };
            NoiseAware::new(Vec::new(), &evidence).unwrap()
        }
    }

    fn problem(curvature: &DMatrix<f64>, deviation: f64, noise: f64, normals: &mut Normals) -> Problem {
        let n = curvature.nrows();
        let truth = 2.0 * normals.vector(n);
        let at = &truth + normals.vector(n);
        let score = cholesky(curvature + 1e-9 * DMatrix::identity(n, n)).unwrap().unpack();
        let gradient = curvature * (&truth - &at) + noise * normals.vector(n) + score * normals.vector(n);
        let matrix = curvature + normals.symmetric(n, deviation);
        let prior = PRIOR * DMatrix::identity(n, n);
        Problem { at, gradient, noise_variance: noise * noise, matrix, deviation, prior }
    }

    fn example() -> DMatrix<f64> {
        square(&[900.0, 200.0, 0.0, 200.0, 600.0, -100.0, 0.0, -100.0, 400.0], 3)
    }

    #[test]
    fn a_curvature_without_noise_is_a_known_one() {
        let mut normals = Normals::new(1);
        let problem = problem(&example(), 1e-3, 5.0, &mut normals);
        let (found, known) = (problem.found(CurvatureShape::Full), problem.with(&example()));
        for j in 0..3 {
            let sd = known.covariance[4 * j].sqrt();
            assert!((found.mean[j] - known.mean[j]).abs() < 1e-3 * sd);
            assert!((found.covariance[4 * j].sqrt() / sd - 1.0).abs() < 1e-3);
        }
        let (found, known) = (found.shares.unwrap(), known.shares.unwrap());
        let pairs =
            found.prior.iter().zip(&known.prior).chain(found.without_noise.iter().zip(&known.without_noise));
        pairs.for_each(|(found, known)| assert!((found / known - 1.0).abs() < 1e-3, "{found} {known}"));
    }

    /// With `S` known and `tr V` known to be half of `tr S`, the scores' covariance is half of the curvature:
    /// the posterior is that of a gradient with half of its own variance, `S⁻¹/2` where noise is nothing.
    #[test]
    fn weighted_scores_vary_less_than_the_curvature_says() {
        let mut normals = Normals::new(12);
        let problem = problem(&example(), 1e-3, 1e-3, &mut normals);
        let found = |scores| problem.found_with(CurvatureShape::Full, scores);
        let half = 0.5 * example().trace() * CurvatureShape::Full.score(3);
        let (whole, half) = (found(None), found(Some(half)));
        for j in 0..3 {
            // The prior's precision of 1/16 is beside curvatures of hundreds.
            let ratio = half.covariance[4 * j] / whole.covariance[4 * j];
            assert!((ratio - 0.5).abs() < 1e-3, "{ratio}");
        }
    }

    #[test]
    fn the_mean_of_a_share_is_within_its_prior() {
        assert!((uniform_mean(0.6, 1e-6) - 0.6).abs() < 0.013);
        assert!((uniform_mean(0.6, 100.0) - 0.625).abs() < 1e-3);
        // e^(40 x) from 1/4 to 1 has its mean 1/40 below 1.
        assert!((uniform_mean(40.0, 1.0) - 0.975).abs() < 0.01);
        assert!((uniform_mean(-40.0, 1.0) - 0.275).abs() < 0.01);
        assert!((uniform_mean(0.3, 0.05) - 0.314).abs() < 0.01);
    }

    #[test]
    fn a_curvature_of_which_nothing_is_known_leaves_the_prior() {
        let mut normals = Normals::new(2);
        // A sum over few records, below noise of any size: the posterior keeps seven tenths of the prior's
        // standard deviation of 4, for a curvature of the noise's size cannot be excluded.
        for (deviation, noise) in [(1e3, 1e3), (1e4, 1e4)] {
            let found =
                problem(&(0.01 * example()), deviation, noise, &mut normals).found(CurvatureShape::Full);
            for j in 0..3 {
                assert!(found.mean[j].abs() < 2.5 && found.covariance[4 * j].sqrt() > 2.8, "{found:?}");
            }
        }
    }

    /// The chain against self-normalised importance sampling: 100,000 curvatures drawn from the law, each
    /// with the weight of its evidence. In one to three dimensions the weights are even enough for an error
    /// below 1 % of a standard deviation; the chain's 200 curvatures leave 15 %.
    #[test]
    fn the_chain_finds_the_integral() {
        for (n, scale) in [(1, 0.01), (2, 0.02), (3, 0.02), (3, 0.1)] {
            let mut normals = Normals::new(10 + n as u64);
            let curvature = scale * example().view((0, 0), (n, n)).into_owned();
            let problem = problem(&curvature, 4.0, 3.0, &mut normals);
            let released = ReleasedCurvature {
                matrix: problem.matrix.as_slice(),
                shape: CurvatureShape::Full,
                deviation: 4.0,
                scores: None,
                path: None,
            };
            let law = CurvatureLaw::new(&released, n, 0.02 * 3.0 * 0.25).unwrap();
            let inward = law.basis.transpose();
            let known = Known {
                gradient: &inward * &problem.gradient,
                noise_variance: 9.0,
                sampling: 1.0,
                scores: None,
                prior: PRIOR * DMatrix::identity(n, n),
                prior_root: 4.0 * DMatrix::identity(n, n),
                prior_mean: -(&inward * &problem.at),
            };
            let (mut total, mut mean, mut square) = (0.0, DVector::zeros(n), DMatrix::zeros(n, n));
            for _ in 0..100_000 {
                let curvature = law.draw(normals.vector(law.elements()).as_slice());
                let weight = known.log_evidence(&curvature).unwrap().exp();
                let (at, inside) = known.posterior(&curvature).unwrap();
                total += weight;
                square += weight * (inside + &at * at.transpose());
                mean += weight * at;
            }
            let mean: DVector<f64> = &law.basis * mean / total;
            let covariance = compose(&(square / total), &law.basis) - &mean * mean.transpose();
            let found = problem.found(CurvatureShape::Full);
            for j in 0..n {
                let sd = covariance[(j, j)].sqrt();
                let off = found.mean[j] - problem.at[j] - mean[j];
                assert!(off.abs() < 0.25 * sd, "{n} {scale}: {off} of {sd}");
                let ratio = found.covariance[j * n + j].sqrt() / sd;
                assert!((ratio - 1.0).abs() < 0.15, "{n} {scale}: {ratio}");
            }
        }
    }

    /// The combination of release and path is where their joint log-likelihood has no slope, and its errors
    /// are as stated: n = 20,000 simulations, so that a variance has a relative standard error of 0.01, 5.2
    /// of which are 0.052.
    #[test]
    fn release_and_path_are_combined() {
        let (s, v) = (40.0, 9.0);
        let delta = DVector::from(vec![0.7, -0.4, 0.2]);
        let basis = eigen(example()).unwrap().eigenvectors;
        let mut normals = Normals::new(7);
        let (mut squares, mut stated) = (DMatrix::zeros(3, 3), DMatrix::zeros(3, 3));
        for simulation in 0..20_000 {
            let matrix = example() + normals.symmetric(3, s);
            let gamma = -example() * &delta + 3.0 * normals.vector(3);
            let path =
                Path { values: delta.as_slice().to_vec(), gradients: gamma.as_slice().to_vec(), variance: v };
            let released = ReleasedCurvature {
                matrix: matrix.as_slice(),
                shape: CurvatureShape::Full,
                deviation: s,
                scores: None,
                path: Some(&path),
            };
            let observed = Observed::new(&released, 3).unwrap();
            if simulation == 0 {
                let outer = (&gamma + &observed.matrix * &delta) * delta.transpose() / v;
                let slope = (&observed.matrix - &matrix) / (s * s) + symmetrised(&outer);
                assert!(slope.amax() < 1e-10, "{slope}");
                stated = observed.variances_in(&basis);
            }
            let error = basis.transpose() * (observed.matrix - example()) * &basis;
            squares += error.map(|x| x * x) / 20_000.0;
        }
        for k in 0..3 {
            for j in 0..=k {
                assert!((squares[(k, j)] / stated[(k, j)] - 1.0).abs() < 0.052, "{squares} {stated}");
            }
        }
    }

    /// The centre of the law is right on average: `E (wᵀ S w)` for directions that stand out, and the mean
    /// curvature of the others. 200 releases in 20 dimensions; standard errors are about s/√200 = 0.07 s and
    /// smaller, and the estimators are exact for large matrices only: 0.5 s.
    #[test]
    fn the_centre_takes_the_noise_out() {
        let (n, s) = (20, 2.0);
        let truth = DMatrix::from_fn(n, n, |j, k| match (j == k, j) {
            (true, 0) => 100.0,
            (true, 1) => 40.0,
            (true, _) => 3.0,
            _ => 0.0,
        });
        let mut normals = Normals::new(3);
        let (mut first, mut seen, mut rest) = (0.0, 0.0, 0.0);
        for _ in 0..200 {
            let matrix = &truth + normals.symmetric(n, s);
            let released = ReleasedCurvature {
                matrix: matrix.as_slice(),
                shape: CurvatureShape::Full,
                deviation: s,
                scores: None,
                path: None,
            };
            let law = CurvatureLaw::new(&released, n, 1e-3).unwrap();
            let top = law.basis.column(0).into_owned();
            first += law.centre[0] / 200.0;
            seen += top.dot(&(&truth * &top)) / 200.0;
            rest += law.centre[2..].iter().sum::<f64>() / (18.0 * 200.0);
        }
        assert!((first - seen).abs() < 0.5 * s && (first - 100.0).abs() < 0.5 * s, "{first} {seen}");
        assert!((rest - 3.0).abs() < 0.5 * s, "{rest}");
    }

    /// Draws average to the centre: n = 40,000; elements have variances of δ² at most, so 5.2 standard errors
    /// are 0.026 δ, and the second moments of log-normals are within a factor of two: 0.06 s.
    #[test]
    fn draws_have_the_centre_as_their_mean() {
        let mut normals = Normals::new(4);
        let s = 60.0;
        let matrix = example() + normals.symmetric(3, s);
        let released = ReleasedCurvature {
            matrix: matrix.as_slice(),
            shape: CurvatureShape::Full,
            deviation: s,
            scores: None,
            path: None,
        };
        let law = CurvatureLaw::new(&released, 3, 0.1).unwrap();
        let mut mean = DMatrix::<f64>::zeros(3, 3);
        for _ in 0..40_000 {
            mean += law.draw(normals.vector(6).as_slice()) / 40_000.0;
        }
        let centre = DMatrix::from_diagonal(&DVector::from(law.centre.clone()));
        assert!((mean - centre).amax() < 0.06 * s);
    }

    /// Coverage of 90 % intervals over 150 problems of a law that the release's own does not know: few strong
    /// directions, many weak ones, one that hardly any record has. The mean of 150 × 12 coverages has a
    /// standard error of at most √(0.09/150) = 0.025 even if those of a problem were all alike; 5 of them
    /// below .9 are .775. For comparison: eigenvalues raised to the noise's edge cover less than half.
    #[test]
    fn intervals_cover_where_the_noise_hides_most_directions() {
        let (n, s, noise) = (12, 8.0, 6.0);
        let mut normals = Normals::new(5);
        let (mut covered, mut raised, mut rare) = (0, 0, 0);
        for _ in 0..150 {
            let turned = normals.symmetric(n, 1.0);
            let vectors = eigen(turned).unwrap().eigenvectors;
            let values = DVector::from_fn(n, |k, _| 500.0 * 0.45_f64.powi(k as i32));
            let mut curvature = compose(&DMatrix::from_diagonal(&values), &vectors);
            for k in 0..n {
                (curvature[(n - 1, k)], curvature[(k, n - 1)]) = (0.0, 0.0);
            }
            curvature[(n - 1, n - 1)] = 0.05;
            let truth = 4.0 * normals.vector(n);
            let at = 0.7 * &truth + normals.vector(n);
            let score = cholesky(&curvature + 1e-9 * DMatrix::identity(n, n)).unwrap().unpack();
            let gradient =
                &curvature * (&truth - &at) + noise * normals.vector(n) + score * normals.vector(n);
            let matrix = &curvature + normals.symmetric(n, s);
            let prior = PRIOR * DMatrix::identity(n, n);
            let problem =
                Problem { at, gradient, noise_variance: noise * noise, matrix, deviation: s, prior };
            let inside = |found: &NoiseAware, k: usize| {
                (found.mean[k] - truth[k]).abs() <= 1.645 * found.covariance[k * n + k].sqrt()
            };
            let found = problem.found(CurvatureShape::Full);
            covered += (0..n).filter(|&k| inside(&found, k)).count();
            rare += usize::from(inside(&found, n - 1));
            let spectrum = eigen(problem.matrix.clone()).unwrap();
            let floor = s * (n as f64).sqrt();
            let at_least = DMatrix::from_diagonal(&spectrum.eigenvalues.map(|x| x.max(floor)));
            let old = problem.with(&compose(&at_least, &spectrum.eigenvectors));
            raised += (0..n).filter(|&k| inside(&old, k)).count();
        }
        let share = |count: usize, of: usize| count as f64 / of as f64;
        assert!(share(covered, 150 * n) > 0.775, "{}", share(covered, 150 * n));
        assert!(share(raised, 150 * n) < 0.5, "{}", share(raised, 150 * n));
        assert!(share(rare, 150) > 0.775, "{}", share(rare, 150));
    }

    #[test]
    fn a_parameter_without_a_prior_and_a_diagonal_are_handled() {
        let mut normals = Normals::new(6);
        let mut problem = problem(&example(), 5.0, 5.0, &mut normals);
        problem.prior[(2, 2)] = 0.0;
        let (found, known) = (problem.found(CurvatureShape::Full), problem.with(&example()));
        for j in 0..3 {
            let sd = known.covariance[4 * j].sqrt();
            assert!((found.mean[j] - known.mean[j]).abs() < 2.0 * sd && found.covariance[4 * j].is_finite());
        }
        for j in 0..3 {
            for k in (0..3).filter(|&k| k != j) {
                problem.matrix[(j, k)] = 0.0;
            }
        }
        let found = problem.found(CurvatureShape::Diagonal);
        assert!(found.covariance.iter().all(|x| x.is_finite()));
        problem.matrix[(1, 1)] = f64::NAN;
        let released = ReleasedCurvature {
            matrix: problem.matrix.as_slice(),
            shape: CurvatureShape::Full,
            deviation: 5.0,
            scores: None,
            path: None,
        };
        assert!(CurvatureLaw::new(&released, 3, 0.1).is_none());
    }

    /// Against Riemann sums of 2·10⁵ points, whose error is below 1e-8 here.
    #[test]
    fn means_of_single_curvatures() {
        for (read, s, low) in
            [(5.0_f64, 1.0_f64, 1e-2_f64), (0.3, 1.0, 1e-2), (-2.0, 1.0, 1e-1), (-40.0, 3.0, 1e-2)]
        {
            let (mut cut, mut log) = ([0.0; 2], [0.0; 2]);
            let high: f64 = read.max(0.0) + 12.0 * s;
            for k in 0..200_000 {
                let share = (f64::from(k) + 0.5) / 200_000.0;
                let density =
                    |x: f64| (-0.5 * ((read - x) / s).powi(2) + 0.5 * (read.min(0.0) / s).powi(2)).exp();
                let x = high * share;
                (cut[0], cut[1]) = (cut[0] + density(x), cut[1] + x * density(x));
                let x = low * (share * (high / low).ln()).exp();
                (log[0], log[1]) = (log[0] + density(x), log[1] + x.ln() * density(x));
            }
            let found = positive_mean(read, s);
            assert!((found / (cut[1] / cut[0]) - 1.0).abs() < 1e-3, "{read}: {found} {}", cut[1] / cut[0]);
            let found = log_uniform_mean(read, s, low);
            let expected = (log[1] / log[0]).exp();
            assert!((found / expected - 1.0).abs() < 2e-2, "{read}: {found} {expected}");
        }
        assert!((log_uniform_mean(1e6, 1e-6, 1e-3) - 1e6).abs() < 1.0);
    }
}
