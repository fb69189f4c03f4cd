//! What a release leaves possible of the curvature.

use super::ReleasedCurvature;
use super::readings::{Reading, log_uniform_mean, positive_mean, without_noise};
use crate::objective::curvature::CurvatureShape;
use crate::objective::moments::FeatureMoments;
use crate::outcome::correction::linear_algebra::{compose, eigen, square, symmetrised};
use nalgebra::{DMatrix, DVector, DVectorView, Dyn, SymmetricEigen};

/// How much of a direction's curvature may come through the other directions, on average: the off-diagonal
/// elements of `S`, in its own eigenbasis, have the prior variance `THROUGH/D · ξ_j ξ_k`.
///
/// Near 1 the law reaches singular curvatures, which columns that nearly repeat each other have. Chosen among
/// 0.25, 0.5 and 0.9 on four generated designs with an ordinal copy of a column of categories (1,500 to
/// 20,000 records, 11 to 31 columns, ε of 0.3, 1 and 3; without a path): mean coverage of 90 % intervals was
/// at least .80, .83 and .84, and .91, .93 and .94 on average, while intervals became longer by a tenth from
/// one to the next.
pub(super) const THROUGH: f64 = 0.9;

/// The same of features whose second moments are known to be about equal in all directions. Their curvature is a sum of
/// the same `x xᵀ` with weights; of elliptical features it is a multiple of the identity but for the direction of the
/// values.
///
/// On 21 generated designs (1,500 to 50,000 records, 4 to 30 columns; 4 runs each) intervals are .88 times as long at
/// ε = .3 and .96 times at 1 with what is expected of known moments (.22 and .68 times for the design that gains most),
/// and hold .95 and .94 of the coefficients; without it they held .97 and .93.
const THROUGH_WHITENED: f64 = 0.1;

/// How uncertain the curvature of a direction is that the noise hides: its standard deviation over its mean.
///
/// Chosen among 1, √2, 2 and √8, in a simulation of an earlier form of this law, on a generated design with
/// rare categories (8,000 records, 24 columns): with 1 the worst weight's intervals covered .65 at ε of 1 and
/// 3, with 2 .72 and .69, and intervals became longer by a twentieth to a tenth; more changed little.
pub(super) const SPREAD: f64 = 2.0;

/// The same of a direction in which the features' second moment is known: what their weights `p (1 − p)` make of it.
const SPREAD_WHITENED: f64 = 1.0;

/// Errors of a reading, over a curvature of which nothing can be learned, up to which a curvature that the
/// reading does not show is most likely one from which the prior has little to fear: its order of magnitude
/// is open then. It is 3 over the 0.02 of a negligible one, so a curvature of this size leaves a third of the
/// prior's deviation. Above, what is hidden may still say much, and a mean is taken.
///
/// In simulations of quadratic likelihoods (9 values, curvatures over two decades) 90 % intervals hold the
/// truth .84 and .89 of the time with it where the noise reaches across the prior, and .74 without. Taken
/// everywhere, it cost predictions of a horseshoe regression a third of their gain.
const UNLEARNED: f64 = 150.0;

/// Standard deviations by which what the release and the path say of the curvature along the path may differ. If it is
/// more the curvature has changed by more than the path's error allows for, as where steps went too far and came back,
/// and the path is left out. Of runs where both are right one in 16,000 loses it.
const DIFFERS: f64 = 4.0;

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
        let full = released.path.filter(|_| released.shape == CurvatureShape::Full);
        let Some((path, delta, gamma)) = full.and_then(|path| {
            let delta = DVectorView::from_slice(&path.values, n);
            let gamma = DVectorView::from_slice(&path.gradients, n);
            let squared = delta.norm_squared();
            let apart = (delta.dot(&(&matrix * delta)) + delta.dot(&gamma)) / squared;
            let agrees = apart * apart <= DIFFERS * DIFFERS * (s * s + path.variance / squared);
            agrees.then_some((path, delta, gamma))
        }) else {
            let variances = DMatrix::from_fn(n, n, |j, k| if j == k { s * s } else { 0.5 * s * s });
            return Some(Self { matrix, vectors: DMatrix::identity(n, n), variances });
        };
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

    /// The variance of the error of `xᵀ S y`.
    pub(super) fn error(&self, x: &DVector<f64>, y: &DVector<f64>) -> f64 {
        let n = x.len();
        let [x, y] = [x, y].map(|x| self.vectors.transpose() * x);
        let axes = DMatrix::from_fn(n, 2, |j, k| if k == 0 { x[j] } else { y[j] });
        variance_along(&self.variances, &axes, (0, 1))
    }

    /// This direction, where what was read of the curvature between it and the others is noise alone.
    fn alone(&self, direction: &DVector<f64>) -> Option<DVector<f64>> {
        let along = &self.matrix * direction;
        let across = &along - direction.dot(&along) * direction;
        let others = complement(direction)?;
        let noise: f64 = others.column_iter().map(|other| self.error(direction, &other.into_owned())).sum();
        let above = ACROSS * (2.0 / others.ncols() as f64).sqrt();
        (across.norm_squared() < noise * (1.0 + above)).then(|| direction.clone())
    }

    /// The eigenvalues and eigenvectors of a centre and the curvature along this direction, which the centre leaves
    /// out; the eigenvector that this is along, and the law of that curvature.
    fn with_own(
        &self,
        centre: DMatrix<f64>,
        direction: &DVector<f64>,
        push: f64,
        negligible: f64,
    ) -> Option<(SymmetricEigen<f64, Dyn>, usize, Reading)> {
        let mut others = eigen(centre.clone())?.eigenvalues.as_slice().to_vec();
        // The least is that of the direction itself.
        others.sort_by(f64::total_cmp);
        let logs = others[1..].iter().map(|value| value.max(negligible).ln());
        let mean = (logs.sum::<f64>() / (others.len() - 1) as f64).exp();
        // So far from the others that it is an axis.
        let apart = 2.0 * others[others.len() - 1] + mean;
        let mut found = eigen(symmetrised(&(centre + apart * direction * direction.transpose())))?;
        let axis = found.eigenvalues.imax();
        let read = direction.dot(&(&self.matrix * direction)) + push;
        let law = Reading::new(read, self.error(direction, direction).sqrt(), (mean, SPREAD));
        found.eigenvalues[axis] = law.mean;
        Some((found, axis, law))
    }

    /// Variances of the errors of `Bᵀ S B`, on and below the diagonal.
    pub(super) fn variances_in(&self, basis: &DMatrix<f64>) -> DMatrix<f64> {
        let n = basis.nrows();
        let turned = self.vectors.transpose() * basis;
        let variance = |k, j| if j > k { 0.0 } else { variance_along(&self.variances, &turned, (k, j)) };
        DMatrix::from_fn(n, n, variance)
    }
}

/// What is expected of curvatures before they are read, coordinate by coordinate.
struct Expected {
    /// Of the mean.
    ratios: Vec<f64>,
    /// Squares of their relative deviations.
    spreads: Vec<f64>,
    /// What comes through other directions.
    through: Vec<f64>,
}

impl Expected {
    /// `left` is what is left of each coordinate in the directions that the noise hides.
    fn new(moments: Option<&FeatureMoments>, left: &[f64]) -> Self {
        let known: Vec<(f64, f64)> = match moments {
            None => vec![(1.0, 1.0); left.len()],
            Some(moments) => moments.mean.iter().zip(&moments.deviation).map(moment).collect(),
        };
        let total: f64 = left.iter().zip(&known).map(|(left, (moment, _))| left * moment).sum();
        let mean = total / left.iter().sum::<f64>();
        let between =
            |known: f64, unknown: f64| move |(_, open): &(f64, f64)| known * (1.0 - open) + unknown * open;
        Self {
            ratios: known.iter().map(|(moment, _)| moment / mean).collect(),
            spreads: known.iter().map(between(SPREAD_WHITENED.powi(2), SPREAD.powi(2))).collect(),
            through: known.iter().map(between(THROUGH_WHITENED, THROUGH)).collect(),
        }
    }
}

/// The means of these numbers over the coordinates, by the squares of each column of a basis.
fn along(numbers: &[f64], basis: &DMatrix<f64>) -> Vec<f64> {
    let of =
        |column: DVectorView<'_, f64>| column.iter().zip(numbers).map(|(x, number)| x * x * number).sum();
    basis.column_iter().map(of).collect()
}

/// A second moment that is not negative, of which this was read, and the share of it that the reading leaves open.
fn moment((mean, deviation): (&f64, &f64)) -> (f64, f64) {
    if *deviation == 0.0 {
        return (mean.max(f64::MIN_POSITIVE), 0.0);
    }
    let moment = log_uniform_mean(*mean, *deviation, LEAST_MOMENT * deviation);
    (moment, (deviation / moment).powi(2).min(1.0))
}

/// The least second moment that is considered, in errors of the reading: a tenth of them. A category that few records
/// have is in a direction that the noise hides, and there is no saying how far below.
const LEAST_MOMENT: f64 = 0.1;

/// An orthonormal basis of what is orthogonal to a unit vector.
fn complement(direction: &DVector<f64>) -> Option<DMatrix<f64>> {
    let n = direction.len();
    let projection = DMatrix::identity(n, n) - direction * direction.transpose();
    let found = eigen(symmetrised(&projection))?;
    let own = found.eigenvalues.imin();
    Some(found.eigenvectors.remove_column(own))
}

/// The variance of the error of an element of `Bᵀ S B`, where those of `S` are independent: `Σ_a x_a y_a S_aa
/// + Σ_{a<b} (x_a y_b + x_b y_a) S_ab` for the columns `x` and `y` of `B`.
pub(crate) fn variance_along(variances: &DMatrix<f64>, axes: &DMatrix<f64>, (j, k): (usize, usize)) -> f64 {
    let (x, y) = (axes.column(j), axes.column(k));
    let mut sum = 0.0;
    for a in 0..x.len() {
        sum += (x[a] * y[a]).powi(2) * variances[(a, a)];
        for b in 0..a {
            sum += (x[a] * y[b] + x[b] * y[a]).powi(2) * variances[(a, b)];
        }
    }
    sum
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
/// 4. *Along the values.* Where a likelihood saturates, the curvature is smallest along the values themselves: records
///    with large log-odds say little of how large they are. That direction is known apart from the release, so what was
///    read along it is not chosen, while a mean over other directions would contradict it. It is taken out before the
///    others are looked at if it is an axis of the release but for the noise, and otherwise as far as it lies in no
///    direction that stands out. The prior is log-normal, with the others' geometric mean for its mean and the
///    spread of all hidden curvatures, and the law that follows is used as it is (see [`Reading`]): a log-normal law
///    of the same moments would leave out small curvatures, which values far away follow from.
///
/// 5. *Moments of features.* Where second moments of the features are known, the mean of step 2 is that of a direction
///    of mean moment, and the prior mean of an element in step 3 is in proportion to its moment: to the geometric
///    mean of what the noise leaves of it. Of a moment that is known to a share `1 − o`, with `o` the square of its relative
///    error, THROUGH and SPREAD² are `o` times theirs and `1 − o` times those of whitened features.
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
    /// Where the curvature along the values has a law of its own.
    own: Option<Own>,
}

/// The curvature along the values themselves.
struct Own {
    /// Which column of the basis they are along.
    axis: usize,
    /// The share of it that does not come through the directions before it, on average.
    share: f64,
    law: Reading,
}

/// The least share of the values' length that is left of them beside the directions that stand out, for a reading of
/// the curvature along what is left: with less, that direction is one of rounding and of the noise in the others.
const LEAST_LEFT: f64 = 0.1;

/// Standard deviations of its mean, `n − 1` variances, by which the sum of squares of what was read of the curvature
/// between the values' direction and the others may be too large to be taken for noise: of noise alone one in forty is.
const ACROSS: f64 = 2.0;

impl CurvatureLaw {
    /// `negligible` is a curvature from which nothing can be learned; the curvature is that at `values`, where linear
    /// predictors are proportional to these. `None` if the release is not finite.
    pub(super) fn new(
        released: &ReleasedCurvature<'_>,
        n: usize,
        negligible: f64,
        values: Option<&[f64]>,
    ) -> Option<Self> {
        let s = released.deviation;
        let observed = Observed::new(released, n)?;
        let values = values.map(|values| DVectorView::from_slice(values, n)).filter(|values| {
            released.shape == CurvatureShape::Full && n > 1 && s > 0.0 && values.norm() > 0.0
        });
        let alone = values.and_then(|values| observed.alone(&values.normalize()));
        let inside = match &alone {
            Some(direction) => complement(direction)?,
            None => DMatrix::identity(n, n),
        };
        let mut projection = &inside * inside.transpose();
        let found = eigen(symmetrised(&(inside.transpose() * &observed.matrix * &inside)))?;
        let mut standing_out = DMatrix::zeros(n, n);
        // By how much the noise pushed the eigenvalues of the others away from those that stand out.
        let (mut rest, mut pushed) = (inside.ncols(), 0.0);
        if released.shape == CurvatureShape::Full {
            let without_noise = without_noise(found.eigenvalues.as_slice(), s);
            let all = found.eigenvalues.iter().zip(&without_noise).zip(found.eigenvectors.column_iter());
            for ((value, curvature), vector) in all {
                if *curvature > STANDING_OUT * s {
                    let vector = &inside * vector;
                    standing_out += *curvature * &vector * vector.transpose();
                    projection -= &vector * vector.transpose();
                    rest -= 1;
                } else {
                    pushed += curvature - value;
                }
            }
        }
        let push = pushed / rest.max(1) as f64;
        let left = |values: DVectorView<'_, f64>| {
            let direction = &projection * values;
            (direction.norm() > LEAST_LEFT * values.norm()).then(|| (direction.normalize(), push))
        };
        let own = alone.map(|direction| (direction, 0.0)).or_else(|| values.and_then(left));
        if let Some((direction, _)) = own.as_ref().filter(|_| inside.ncols() == n) {
            projection -= direction * direction.transpose();
            rest -= 1;
        }
        let projected = &projection * &observed.matrix * &projection + push * &projection;
        // A coordinate that is all but within the directions that stand out has nothing left to be divided
        // by.
        let left: Vec<f64> = projection.diagonal().iter().map(|h| h.max(0.02)).collect();
        let expected = Expected::new(released.moments, &left);
        let mean = projected.trace() / left.iter().sum::<f64>();
        let mean = log_uniform_mean(mean, s / (rest.max(1) as f64).sqrt(), negligible);
        // With few directions left, the elements of the diagonal say again what their mean says.
        let alone = (rest.max(1) as f64).recip();
        let single = |j: usize| {
            let own = expected.ratios[j] * mean;
            let element = positive_mean(projected[(j, j)] / left[j] - s * s / own, s);
            alone * own + (1.0 - alone) * element
        };
        let others = DMatrix::from_diagonal(&DVector::from_fn(n, |j, _| single(j)));
        let centre = standing_out + symmetrised(&(&projection * others * &projection));
        let (found, reading) = match &own {
            Some((direction, push)) => {
                let (found, axis, law) = observed.with_own(centre, direction, *push, negligible)?;
                (found, Some((axis, law)))
            }
            None => (eigen(symmetrised(&centre))?, None),
        };
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| found.eigenvalues[b].total_cmp(&found.eigenvalues[a]));
        let basis = DMatrix::from_fn(n, n, |j, k| found.eigenvectors[(j, order[k])]);
        // Zero where a coordinate's share is taken by the directions that stand out.
        let centre: Vec<f64> = order.iter().map(|&k| found.eigenvalues[k].max(1e-6 * negligible)).collect();
        let errors = observed.variances_in(&basis);
        let [spreads, through] = [&expected.spreads, &expected.through].map(|squares| along(squares, &basis));
        let seen = |k: usize, j: usize| match released.shape {
            CurvatureShape::Full => errors[(k, j)].recip(),
            CurvatureShape::Diagonal => 0.0,
        };
        let below = DMatrix::from_fn(n, n, |k, j| {
            let prior = n as f64 / ((through[j] * through[k]).sqrt() * centre[j] * centre[k]);
            if j < k { ((seen(k, j) + prior) * centre[j]).recip().sqrt() } else { 0.0 }
        });
        let diagonal = (0..n).map(|k| {
            let through: f64 = (0..k).map(|j| below[(k, j)].powi(2)).sum();
            let own = centre[k] - through;
            let variance = (errors[(k, k)].recip() + (spreads[k] * centre[k] * centre[k]).recip()).recip();
            let spread = (variance / (own * own)).ln_1p();
            (own.ln() - 0.5 * spread, spread.sqrt())
        });
        let diagonal = diagonal.collect();
        let own = reading.map(|(axis, law)| {
            let k = order.iter().position(|&k| k == axis).unwrap_or(0);
            let through: f64 = (0..k).map(|j| below[(k, j)].powi(2)).sum();
            Own { axis: k, share: 1.0 - through / centre[k], law }
        });
        Some(Self { basis, centre, below, diagonal, own })
    }

    /// The law where every element was read by itself, with errors of these variances.
    pub(super) fn of_readings(
        matrix: &DMatrix<f64>,
        variances: &DMatrix<f64>,
        negligible: f64,
    ) -> Option<Self> {
        let n = matrix.nrows();
        let Shrunk { mean, variances, noise, .. } = Shrunk::new(matrix, variances);
        let found = eigen(mean)?;
        // By how much the noise that is left in the mean pushes eigenvalues apart and turns eigenvectors.
        let values = &found.eigenvalues;
        let turned = DMatrix::from_fn(n, n, |j, k| {
            if j == k { 0.0 } else { variance_along(&noise, &found.eigenvectors, (j, k)) }
        });
        let damping = 4.0 * turned.sum() / (n as f64).powi(3);
        let pushed = |k: usize| -> f64 {
            (0..n)
                .filter(|&j| j != k)
                .map(|j| {
                    let away = values[k] - values[j];
                    let square = away * away + damping;
                    if square > 0.0 { 2.0 * turned[(j, k)] * away / square } else { 0.0 }
                })
                .sum()
        };
        let cleaned: Vec<f64> = (0..n).map(|k| values[k] - pushed(k)).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| found.eigenvalues[b].total_cmp(&found.eigenvalues[a]));
        let basis = DMatrix::from_fn(n, n, |j, k| found.eigenvectors[(j, order[k])]);
        let error = |k, j| if j > k { 0.0 } else { variance_along(&variances, &basis, (k, j)) };
        let errors = DMatrix::from_fn(n, n, error);
        let centre = |k: usize| {
            let (value, error) = (cleaned[order[k]], errors[(k, k)].sqrt());
            let mean = match error < UNLEARNED * negligible {
                true => log_uniform_mean(value, error, negligible),
                false => positive_mean(value, error),
            };
            mean.max(1e-6 * negligible)
        };
        let centre: Vec<f64> = (0..n).map(centre).collect();
        let below = DMatrix::from_fn(n, n, |k, j| {
            let prior = n as f64 / (THROUGH * centre[j] * centre[k]);
            if j < k { ((errors[(k, j)].recip() + prior) * centre[j]).recip().sqrt() } else { 0.0 }
        });
        let diagonal = (0..n).map(|k| {
            let through: f64 = (0..k).map(|j| below[(k, j)].powi(2)).sum();
            let own = (centre[k] - through).max(0.05 * centre[k]);
            let variance = (errors[(k, k)].recip() + (SPREAD * centre[k]).powi(-2)).recip();
            let spread = (variance / (own * own)).ln_1p();
            (own.ln() - 0.5 * spread, spread.sqrt())
        });
        let diagonal = diagonal.collect();
        Some(Self { basis, centre, below, diagonal, own: None })
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
            let z = standard.next().copied().unwrap_or(0.0);
            lower[(k, k)] = (0.5 * (self.diagonal[k].0 + self.diagonal[k].1 * z)).exp();
            if let Some(own) = self.own.as_ref().filter(|own| own.axis == k) {
                // What comes through other directions is a share of what there is.
                let drawn = own.law.quantile(z);
                lower[(k, k)] = (own.share * drawn).sqrt();
                let times = (drawn / own.law.mean).sqrt();
                (0..k).for_each(|j| lower[(k, j)] *= times);
            }
        }
        symmetrised(&(&lower * lower.transpose()))
    }
}

/// Readings of a curvature whose elements off the diagonal are drawn towards zero by as much as those of their
/// rows scatter less than their errors.
///
/// ```text
/// r_jk = S̃_jk/√(ξ_j ξ_k),   errors of variance v_jk
/// of a row:   r_jk ~ N(0, ρ_j² + v_jk),   ln ρ_j² uniform from ln 10⁻⁶ to 0,   κ_j = E[ρ_j²/(ρ_j² + v_jk)]
/// S_jk | S̃_jk ~ N(κ S̃_jk, κ v_jk ξ_j ξ_k),   κ = √(κ_j κ_k)
/// ```
///
/// Rows differ: a scale parameter has nothing to do with slopes that are all correlated. An element that stands
/// out has a `κ` of its own, that of `ρ² = r² − 4 v`, where that is larger.
pub(crate) struct Shrunk {
    pub(crate) mean: DMatrix<f64>,
    pub(crate) variances: DMatrix<f64>,
    /// Variances of what is left of the errors in the mean.
    noise: DMatrix<f64>,
}

impl Shrunk {
    pub(crate) fn new(matrix: &DMatrix<f64>, variances: &DMatrix<f64>) -> Self {
        let n = matrix.nrows();
        let own: Vec<f64> = (0..n).map(|j| positive_mean(matrix[(j, j)], variances[(j, j)].sqrt())).collect();
        let scaled = |j: usize, k: usize| {
            let scale = own[j] * own[k];
            (matrix[(j, k)].powi(2) / scale, variances[(j, k)] / scale)
        };
        let rows: Vec<Scatter> =
            (0..n).map(|j| Scatter::new((0..n).filter(|&k| k != j).map(|k| scaled(j, k)))).collect();
        let keep = DMatrix::from_fn(n, n, |j, k| {
            if j == k {
                return 1.0;
            }
            let (square, variance) = scaled(j, k);
            let apart = (square - 4.0 * variance).max(0.0);
            let of_rows = (rows[j].keeps(variance) * rows[k].keeps(variance)).sqrt();
            of_rows.max(apart / (apart + variance))
        });
        Self {
            mean: keep.component_mul(matrix),
            variances: keep.component_mul(variances),
            noise: keep.component_mul(&keep).component_mul(variances),
        }
    }
}

/// By how much the elements of a row scatter beside their errors: the law of `ρ²` at points of a grid.
struct Scatter(Vec<(f64, f64)>);

impl Scatter {
    /// Correlations below this have nothing to say.
    const LEAST: f64 = 1e-6;

    /// Points of its logarithm: 0.23 apart, where the law of even a hundred elements has a deviation of 0.14.
    const POINTS: u32 = 60;

    /// From squares of elements and the variances of their errors.
    fn new(elements: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let log_density = |scatter: f64| -> f64 {
            elements.clone().map(|(r2, v)| -0.5 * ((scatter + v).ln() + r2 / (scatter + v))).sum()
        };
        let at = |i: u32| Self::LEAST.powf(1.0 - f64::from(i) / f64::from(Self::POINTS));
        let mut points: Vec<(f64, f64)> = (0..=Self::POINTS).map(|i| (at(i), log_density(at(i)))).collect();
        let largest = points.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
        points.iter_mut().for_each(|(_, weight)| *weight = (*weight - largest).exp());
        let total: f64 = points.iter().map(|(_, weight)| weight).sum();
        points.iter_mut().for_each(|(_, weight)| *weight /= total);
        Self(points)
    }

    /// The share of an element with an error of this variance that is kept.
    fn keeps(&self, variance: f64) -> f64 {
        self.0.iter().map(|(scatter, weight)| weight * scatter / (scatter + variance)).sum()
    }
}
