//! What a release leaves possible of the curvature.

use super::ReleasedCurvature;
use super::readings::{log_uniform_mean, positive_mean, without_noise};
use crate::objective::curvature::CurvatureShape;
use crate::outcome::correction::linear_algebra::{compose, eigen, square, symmetrised};
use nalgebra::{DMatrix, DVector, DVectorView};

/// How much of a direction's curvature may come through the other directions, on average: the off-diagonal
/// elements of `S`, in its own eigenbasis, have the prior variance `THROUGH/D · ξ_j ξ_k`.
///
/// Near 1 the law reaches singular curvatures, which columns that nearly repeat each other have. Chosen among
/// 0.25, 0.5 and 0.9 on four generated designs with an ordinal copy of a column of categories (1,500 to
/// 20,000 records, 11 to 31 columns, ε of 0.3, 1 and 3; without a path): mean coverage of 90 % intervals was
/// at least .80, .83 and .84, and .91, .93 and .94 on average, while intervals became longer by a tenth from
/// one to the next.
pub(super) const THROUGH: f64 = 0.9;

/// How uncertain the curvature of a direction is that the noise hides: its standard deviation over its mean.
///
/// Chosen among 1, √2, 2 and √8, in a simulation of an earlier form of this law, on a generated design with
/// rare categories (8,000 records, 24 columns): with 1 the worst weight's intervals covered .65 at ε of 1 and
/// 3, with 2 .72 and .69, and intervals became longer by a twentieth to a tenth; more changed little.
pub(super) const SPREAD: f64 = 2.0;

/// Standard deviations of an element's noise that the curvature of a direction must have to be taken by
/// itself. Where it is less, the direction's own estimate says less than the mean over all such directions.
const STANDING_OUT: f64 = 3.0;

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
pub(super) struct Observed {
    pub(super) matrix: DMatrix<f64>,
    /// `V`
    pub(super) vectors: DMatrix<f64>,
    /// Variances of the errors of `S′`.
    pub(super) variances: DMatrix<f64>,
}

impl Observed {
    pub(super) fn new(released: &ReleasedCurvature<'_>, n: usize) -> Option<Self> {
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
    pub(super) fn variances_in(&self, basis: &DMatrix<f64>) -> DMatrix<f64> {
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
pub(super) struct CurvatureLaw {
    /// `U`; its columns go from the most to the least curved.
    pub(super) basis: DMatrix<f64>,
    /// `ξ`
    pub(super) centre: Vec<f64>,
    /// Standard deviations of the elements of `L` below the diagonal.
    below: DMatrix<f64>,
    /// Mean and standard deviation of `ln L_kk²`.
    diagonal: Vec<(f64, f64)>,
}

impl CurvatureLaw {
    /// `negligible` is a curvature from which nothing can be learned. `None` if the release is not finite.
    pub(super) fn new(released: &ReleasedCurvature<'_>, n: usize, negligible: f64) -> Option<Self> {
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
    pub(super) fn elements(&self) -> usize {
        let n = self.centre.len();
        n * (n + 1) / 2
    }

    /// The curvature, in the basis, that these standard normals stand for.
    pub(super) fn draw(&self, standard: &[f64]) -> DMatrix<f64> {
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
