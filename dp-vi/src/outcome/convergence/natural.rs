//! The normal that is nearest to a density, by natural gradients.

use crate::error::Result;
use crate::guides::guide::NormalFamily;
use crate::outcome::correction::linear_algebra::{cholesky, eigen, symmetrised};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::PI;

/// A log density that a normal is fitted to.
pub(crate) trait Target {
    /// The number of values.
    fn elements(&self) -> usize;

    /// Writes log densities at the columns of `points`, and their gradients as columns.
    fn evaluate(
        &mut self,
        points: &DMatrix<f64>,
        values: &mut [f64],
        gradients: &mut DMatrix<f64>,
    ) -> Result<()>;
}

/// A normal: `u = mean + factor z`, `z ~ N(0, I)`.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    pub(crate) mean: DVector<f64>,
    pub(crate) factor: DMatrix<f64>,
    /// `ln |det factor|`
    log_determinant: f64,
}

impl Normal {
    pub(crate) fn independent(mean: Vec<f64>, scales: Vec<f64>) -> Self {
        let log_determinant = scales.iter().map(|scale| scale.ln()).sum();
        let factor = DMatrix::from_diagonal(&DVector::from(scales));
        Self { mean: DVector::from(mean), factor, log_determinant }
    }

    /// With a factor that is lower triangular and has a positive diagonal.
    pub(crate) fn with_factor(mean: DVector<f64>, factor: DMatrix<f64>) -> Self {
        let log_determinant = factor.diagonal().iter().map(|x| x.ln()).sum();
        Self { mean, factor, log_determinant }
    }

    /// The same normal with a factor that is lower triangular and has a positive diagonal.
    pub(crate) fn triangular(mut self) -> Self {
        let mut upper = self.factor.transpose().qr().unpack_r();
        for row in 0..upper.nrows() {
            if upper[(row, row)] < 0.0 {
                upper.row_mut(row).neg_mut();
            }
        }
        self.factor = upper.transpose();
        self
    }

    /// Moved by `factor · shift`, and with the factor multiplied by a root of this log determinant.
    fn moved(&self, shift: &DVector<f64>, root: &DMatrix<f64>, log_determinant: f64) -> Self {
        Self {
            mean: &self.mean + &self.factor * shift,
            factor: &self.factor * root,
            log_determinant: self.log_determinant + log_determinant,
        }
    }
}

/// What was found, and how.
pub(crate) struct Found {
    pub(crate) normal: Normal,
    /// Log densities that were computed, gradients with them.
    pub(crate) evaluations: u64,
    /// How far, in standard deviations, the last steps say that the means still are from where they belong:
    /// a root mean square, without the Monte Carlo error.
    pub(crate) remaining: f64,
    pub(crate) converged: bool,
}

/// Pairs of mirrored draws of a batch: as many as there are values, which it takes to tell all second
/// derivatives apart, and at least this many.
const FEWEST_PAIRS: usize = 32;

/// Steps on the same draws, at most. From far away the length of steps doubles each time.
const MOST_STEPS: u64 = 300;

/// Batches of new draws, at most.
const MOST_BATCHES: u64 = 200;

/// Monte Carlo error of each mean that is good enough, in standard deviations of the posterior.
const GOOD_ENOUGH: f64 = 0.015;

/// How far means may still be from where they belong, in standard deviations, for a fit to have converged.
const ARRIVED: f64 = 0.1;

/// What a batch of draws says of the bound at a normal, in coordinates `z` in which that normal is standard.
struct Estimate {
    bound: f64,
    /// Mean gradient of the log density.
    slope: DVector<f64>,
    /// Minus the mean second derivatives, by Stein's identity: `E H = E[∇ ln p(z) zᵀ]`.
    curvature: DMatrix<f64>,
    /// Standard error of the slope.
    error: DVector<f64>,
}

/// Standard normals as columns, with zero mean (in pairs with their mirror images) and unit covariance just
/// as the law that they stand for: then the bound of a normal density is exact, whatever the draws.
fn whitened(fill: &mut dyn FnMut(&mut [f64]), n: usize, pairs: usize) -> DMatrix<f64> {
    loop {
        let mut draws = DMatrix::zeros(n, pairs);
        fill(draws.as_mut_slice());
        let covariance = &draws * draws.transpose() / pairs as f64;
        if let Some(factor) = cholesky(covariance)
            && factor.l_dirty().solve_lower_triangular_mut(&mut draws)
        {
            return draws;
        }
    }
}

struct Search<'a> {
    target: &'a mut dyn Target,
    fill: &'a mut dyn FnMut(&mut [f64]),
    family: NormalFamily,
    evaluations: u64,
}

impl Search<'_> {
    fn draws(&mut self) -> DMatrix<f64> {
        let n = self.target.elements();
        whitened(self.fill, n, n.max(FEWEST_PAIRS))
    }

    /// `None` where the log density is not finite at one of the draws.
    fn estimate(&mut self, at: &Normal, draws: &DMatrix<f64>) -> Result<Option<Estimate>> {
        let (n, pairs) = draws.shape();
        let spread = &at.factor * draws;
        let mut points = DMatrix::zeros(n, 2 * pairs);
        for (pair, away) in spread.column_iter().enumerate() {
            points.set_column(pair, &(&at.mean + away));
            points.set_column(pairs + pair, &(&at.mean - away));
        }
        let (mut values, mut gradients) = (vec![0.0; 2 * pairs], DMatrix::zeros(n, 2 * pairs));
        self.target.evaluate(&points, &mut values, &mut gradients)?;
        self.evaluations += 2 * pairs as u64;
        if values.iter().chain(gradients.iter()).any(|x| !x.is_finite()) {
            return Ok(None);
        }
        let turned = at.factor.transpose() * gradients;
        let (ahead, behind) = (turned.columns(0, pairs), turned.columns(pairs, pairs));
        let even = (ahead + behind) * 0.5;
        let odd = (ahead - behind) * 0.5;
        let slope: DVector<f64> = even.column_mean();
        let squares = even
            .column_iter()
            .fold(DVector::zeros(n), |sum: DVector<f64>, column| sum + (column - &slope).map(|x| x * x));
        let pairs = pairs as f64;
        let error = squares.map(|sum| (sum / (pairs * (pairs - 1.0))).sqrt());
        let curvature = symmetrised(&(odd * draws.transpose() / -pairs));
        let bound = values.iter().sum::<f64>() / (2.0 * pairs)
            + at.log_determinant
            + 0.5 * n as f64 * (1.0 + (2.0 * PI).ln());
        let finite = bound.is_finite() && curvature.iter().all(|x| x.is_finite());
        Ok(finite.then_some(Estimate { bound, slope, curvature, error }))
    }

    /// Steps on the same draws, each of which raises the bound, until none does any more.
    /// With `narrowed`, the start is first made as narrow as the density is curved around it.
    fn climb(&mut self, start: Normal, narrowed: bool) -> Result<Option<Normal>> {
        let draws = self.draws();
        let mut at = start;
        let mut here = None;
        // A start that is too wide for the density to be finite everywhere is made narrower.
        for _ in 0..8 {
            here = self.estimate(&at, &draws)?;
            if here.is_some() {
                break;
            }
            let (n, shift) = (at.mean.len(), DVector::zeros(at.mean.len()));
            at = at.moved(&shift, &DMatrix::from_diagonal_element(n, n, 0.1), 0.1_f64.ln() * n as f64);
        }
        let Some(mut here) = here else { return Ok(None) };
        for _ in 0..if narrowed { 10 } else { 0 } {
            let Some(step) = Step::new(&here, self.family, f64::INFINITY) else { break };
            let Some(narrower) = step.narrowing() else { break };
            let trial = at.moved(&DVector::zeros(at.mean.len()), &narrower.0, narrower.1);
            let Some(found) = self.estimate(&trial, &draws)? else { break };
            (at, here) = (trial, found);
        }
        let mut radius: f64 = 2.0;
        for _ in 0..MOST_STEPS {
            let Some(step) = Step::new(&here, self.family, radius) else { break };
            if step.decrement < 1e-3 * at.mean.len() as f64 {
                break;
            }
            let trial = at.moved(&step.shift, &step.root, step.log_determinant);
            match self.estimate(&trial, &draws)? {
                Some(found) if found.bound > here.bound => {
                    (at, here) = (trial, found);
                    radius = (2.0 * radius).min(1e6);
                }
                _ => radius = 0.25 * step.length,
            }
            if radius < 1e-4 {
                break;
            }
        }
        Ok(Some(at))
    }

    /// Goes on with new draws, averaging over them, until the Monte Carlo error is small.
    ///
    /// ```text
    /// batch t, rate r = 1/(t + 1):   precision ← (1 − r) precision + r E[−H],   mean ← mean + r precision⁻¹ E[∇]
    /// ```
    fn settle(&mut self, start: Normal) -> Result<Found> {
        let n = start.mean.len();
        let mut at = start;
        // Of independent normals, all second derivatives: the mean's steps need them.
        let mut memory = DMatrix::identity(n, n);
        let (mut squares, mut slopes) = (DVector::zeros(n), Vec::new());
        let (mut batches, mut failures, mut error) = (0_u64, 0, f64::INFINITY);
        while batches < MOST_BATCHES && failures < 5 {
            let draws = self.draws();
            let Some(found) = self.estimate(&at, &draws)? else {
                failures += 1;
                continue;
            };
            batches += 1;
            let rate = 1.0 / (batches + 1) as f64;
            squares += found.error.map(|error| error * error);
            slopes.push(found.slope.clone());
            // Draws far out in a skewed tail must not carry everything away.
            let slope = found.slope.map(|a| a.clamp(-3.0, 3.0));
            let mixed = |old: &DMatrix<f64>| old * (1.0 - rate) + &found.curvature * rate;
            match self.family {
                NormalFamily::Correlated => {
                    let Some(precision) = definite(mixed(&DMatrix::identity(n, n)), 0.1) else { break };
                    // (C Cᵀ)⁻¹ = C⁻ᵀ C⁻¹
                    let lower = precision.l();
                    let log_determinant = -lower.diagonal().iter().map(|x| x.ln()).sum::<f64>();
                    let Some(root) = lower.transpose().solve_upper_triangular(&DMatrix::identity(n, n))
                    else {
                        break;
                    };
                    at = at.moved(&(precision.solve(&slope) * rate), &root, log_determinant);
                }
                NormalFamily::Independent => {
                    memory = mixed(&memory);
                    let Some(precision) = definite(memory.clone(), LEAST) else { break };
                    let scales = found.curvature.diagonal().map(|p| ((1.0 - rate) + rate * p).max(0.1));
                    let root = DMatrix::from_diagonal(&scales.map(|p| p.sqrt().recip()));
                    let log_determinant = -0.5 * scales.iter().map(|p| p.ln()).sum::<f64>();
                    at = at.moved(&(precision.solve(&slope) * rate), &root, log_determinant);
                    // In the new coordinates.
                    memory = &root * memory * &root;
                }
            }
            error = squares.amax().sqrt() / batches as f64;
            if batches >= 4 && error < GOOD_ENOUGH {
                break;
            }
        }
        let late = &slopes[slopes.len() / 2..];
        let count = late.len().max(1) as f64;
        let mean = late.iter().fold(DVector::zeros(n), |sum: DVector<f64>, slope| sum + slope) / count;
        // In units of the density's own standard deviations, whatever the guide's are.
        let curvature = match self.family {
            NormalFamily::Correlated => DMatrix::identity(n, n),
            NormalFamily::Independent => memory,
        };
        let noise = DMatrix::from_diagonal(&(squares / (batches.max(1) as f64 * count)));
        let remaining = definite(curvature, LEAST).map_or(f64::INFINITY, |curvature| {
            let (away, noise) = (mean.dot(&curvature.solve(&mean)), curvature.solve(&noise).trace());
            ((away - noise).max(0.0) / n as f64).sqrt()
        });
        let converged = batches >= 4 && failures < 5 && remaining < ARRIVED && error < ARRIVED;
        Ok(Found { normal: at.triangular(), evaluations: self.evaluations, remaining, converged })
    }
}

/// The Cholesky factorisation of a matrix, with eigenvalues raised where it has none.
fn definite(matrix: DMatrix<f64>, least: f64) -> Option<nalgebra::Cholesky<f64, nalgebra::Dyn>> {
    if let Some(found) = cholesky(matrix.clone())
        && found.l_dirty().diagonal().iter().all(|x| *x > least)
    {
        return Some(found);
    }
    let found = eigen(symmetrised(&matrix))?;
    let values = found.eigenvalues.map(|p| p.max(least));
    cholesky(symmetrised(
        &(&found.eigenvectors * DMatrix::from_diagonal(&values) * found.eigenvectors.transpose()),
    ))
}

/// A step within a trust region, in the coordinates of an estimate.
struct Step {
    shift: DVector<f64>,
    root: DMatrix<f64>,
    log_determinant: f64,
    /// The largest of shifts and of changes of log variances.
    length: f64,
    /// What a whole step of Newton's would add to the bound of a log-concave density, about.
    decrement: f64,
    /// Axes along which variances change, and by how much their logarithms do.
    axes: DMatrix<f64>,
    changes: Vec<f64>,
}

/// `Q diag(e^(c/2)) Qᵀ` and its log determinant.
fn scaling(axes: &DMatrix<f64>, changes: &[f64]) -> (DMatrix<f64>, f64) {
    let scales = DVector::from_iterator(changes.len(), changes.iter().map(|c| (0.5 * c).exp()));
    (axes * DMatrix::from_diagonal(&scales) * axes.transpose(), 0.5 * changes.iter().sum::<f64>())
}

/// Curvatures below this, relative to the normal's own, are taken for this.
const LEAST: f64 = 1e-10;

/// The largest change of a log variance in a step.
const MOST_CHANGE: f64 = 6.0;

impl Step {
    /// ```text
    /// curvature = Q diag(p) Qᵀ:   shift = Q (Qᵀ slope / p),   covariance ← Q diag(1/p) Qᵀ        Newton's step
    /// ```
    ///
    /// for a normal density the end, in one step, whatever its units. No direction goes further than `radius`
    /// standard deviations or changes its log variance by more; where the density is not log-concave the
    /// slope is followed, and the variance grows.
    fn new(here: &Estimate, family: NormalFamily, radius: f64) -> Option<Self> {
        let found = eigen(here.curvature.clone())?;
        let most = radius.min(MOST_CHANGE);
        let turned = found.eigenvectors.transpose() * &here.slope;
        let newton = turned.zip_map(&found.eigenvalues, |a, p| a / p.abs().max(LEAST));
        let shift = newton.map(|x| x.clamp(-radius, radius));
        let n = newton.len();
        let (axes, curvatures) = match family {
            NormalFamily::Correlated => (found.eigenvectors.clone(), found.eigenvalues.as_slice().to_vec()),
            NormalFamily::Independent => {
                (DMatrix::identity(n, n), here.curvature.diagonal().as_slice().to_vec())
            }
        };
        let whole = |p: &f64| if *p > 0.0 { (-p.ln()).clamp(-MOST_CHANGE, MOST_CHANGE) } else { MOST_CHANGE };
        let whole: Vec<f64> = curvatures.iter().map(whole).collect();
        let divergence = |c: &f64| c.exp() - 1.0 - c;
        let decrement = 0.5 * newton.dot(&turned).abs() + 0.5 * whole.iter().map(divergence).sum::<f64>();
        let changes: Vec<f64> = whole.iter().map(|c| c.clamp(-most, most)).collect();
        let (root, log_determinant) = scaling(&axes, &changes);
        let length = changes.iter().chain(shift.iter()).fold(0.0_f64, |most, x| most.max(x.abs()));
        let shift = found.eigenvectors * shift;
        Some(Self { shift, root, log_determinant, length, decrement, axes, changes })
    }

    /// The part of it that makes the normal narrower; `None` if nothing is much too wide.
    fn narrowing(&self) -> Option<(DMatrix<f64>, f64)> {
        let changes: Vec<f64> = self.changes.iter().map(|c| c.min(0.0)).collect();
        changes.iter().any(|c| *c < -1.0).then(|| scaling(&self.axes, &changes))
    }
}

/// The normal of a family that is nearest to a density: the largest bound `E_q ln p − E_q ln q`. `None` where
/// the log density is not finite around the start.
///
/// Newton's steps in natural coordinates: means by slopes, precisions by second derivatives, both averaged
/// over draws of the normal itself. A linear map of the values changes nothing, so units do not matter. First
/// on the same draws throughout, so that a step can be seen to be one upward; then with new draws and falling
/// rates, so that the mean over all of them counts.
///
/// `fill` writes standard normals.
///
/// # References
/// Opper, Archambeau 2009, "The variational Gaussian approximation revisited" (the fixed point); Khan, Lin 2017,
/// "Conjugate-computation variational inference" (the same steps as natural gradients); Giordano, Ingram,
/// Broderick 2024, "Black box variational inference with a deterministic objective" (fixed draws).
pub(crate) fn nearest_normal(
    target: &mut dyn Target,
    start: Normal,
    family: NormalFamily,
    fill: &mut dyn FnMut(&mut [f64]),
) -> Result<Option<Found>> {
    let mut search = Search { target, fill, family, evaluations: 0 };
    let mut best: Option<Found> = None;
    // Wide draws say little of the slope where the density is much narrower. Narrow ones follow it into
    // corners where it is high and has no width, as where a scale in a hierarchy goes to 0.
    for narrowed in [true, false] {
        let Some(normal) = search.climb(start.clone(), narrowed)? else { continue };
        let found = search.settle(normal)?;
        if found.converged {
            return Ok(Some(found));
        }
        if best.as_ref().is_none_or(|best| found.remaining < best.remaining) {
            best = Some(found);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

    /// A density of which value and gradient are given, point by point.
    struct Given<F>(usize, F);

    impl<F: Fn(&[f64], &mut [f64]) -> f64> Target for Given<F> {
        fn elements(&self) -> usize {
            self.0
        }

        fn evaluate(
            &mut self,
            points: &DMatrix<f64>,
            values: &mut [f64],
            gradients: &mut DMatrix<f64>,
        ) -> Result<()> {
            let all = points.column_iter().zip(gradients.column_iter_mut()).zip(values);
            for ((point, mut gradient), value) in all {
                let mut slope = vec![0.0; self.0];
                *value = (self.1)(point.as_slice(), &mut slope);
                gradient.copy_from_slice(&slope);
            }
            Ok(())
        }
    }

    fn found(n: usize, family: NormalFamily, density: impl Fn(&[f64], &mut [f64]) -> f64) -> Option<Found> {
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("nearest normal"));
        let mut batch = 0;
        let mut fill = |out: &mut [f64]| {
            noise.fill(batch, out);
            batch += 1;
        };
        let start = Normal::independent(vec![0.0; n], vec![0.1; n]);
        nearest_normal(&mut Given(n, density), start, family, &mut fill).unwrap()
    }

    /// Scales from 1e-3 to 1e3, neighbours correlated by 0.95, means of 40 standard deviations and more.
    fn example() -> (DVector<f64>, DMatrix<f64>) {
        let n = 6;
        let scale = |k: usize| 10_f64.powf(1.2 * k as f64 - 3.0);
        let power = |a: usize, b: usize| 0.95_f64.powi(a.abs_diff(b) as i32);
        let covariance = DMatrix::from_fn(n, n, |a, b| scale(a) * scale(b) * power(a, b));
        (DVector::from_fn(n, |k, _| 40.0 * scale(k) * (k as f64 - 4.5)), covariance)
    }

    /// For a normal density all is exact, whatever the draws: the correlated normal is the density; the
    /// independent one has its mean and the inverse of its precision's diagonal.
    #[test]
    fn a_normal_density_is_found_whatever_its_units() {
        let (mean, covariance) = example();
        let precision = covariance.clone().try_inverse().unwrap();
        for family in [NormalFamily::Correlated, NormalFamily::Independent] {
            let found = found(6, family, |u, slope| {
                let away = DVector::from_column_slice(u) - &mean;
                let pull = -(&precision * &away);
                slope.copy_from_slice(pull.as_slice());
                0.5 * away.dot(&pull)
            });
            let found = found.unwrap();
            assert!(found.converged && found.remaining < 1e-6 && found.evaluations < 10_000);
            let got = &found.normal.factor * found.normal.factor.transpose();
            for k in 0..6 {
                let sd = covariance[(k, k)].sqrt();
                assert!((found.normal.mean[k] - mean[k]).abs() < 1e-6 * sd, "{family:?} {k}");
                let expected = match family {
                    NormalFamily::Correlated => covariance[(k, k)],
                    NormalFamily::Independent => precision[(k, k)].recip(),
                };
                // Later batches take the rest of the first steps' way off at the rate 1/t.
                assert!(
                    (got[(k, k)] / expected - 1.0).abs() < 0.02,
                    "{family:?} {k} {}",
                    got[(k, k)] / expected
                );
            }
        }
    }

    /// Skewed, with a closed fixed point: `ln p = a u − b eᵘ` (the logarithm of a Gamma variable) has
    /// `E_q[∇] = a − b e^(m + v/2) = 0` and `E_q[−H] = b e^(m + v/2) = a = 1/v`. Monte Carlo errors of the
    /// mean are 0.015 standard deviations at the end; 5 of them.
    #[test]
    fn a_skewed_density_has_its_fixed_point() {
        let (a, b) = (1.5, 200.0);
        let found = found(1, NormalFamily::Correlated, |u, slope| {
            slope[0] = a - b * u[0].exp();
            a * u[0] - b * u[0].exp()
        });
        let found = found.unwrap();
        let (v, sd) = (1.0 / a, found.normal.factor[(0, 0)]);
        let m = (a / b).ln() - 0.5 * v;
        assert!(found.converged, "{}", found.remaining);
        assert!((found.normal.mean[0] - m).abs() < 0.075 * v.sqrt(), "{} {m}", found.normal.mean[0]);
        assert!((sd / v.sqrt() - 1.0).abs() < 0.05, "{sd}");
    }

    /// A slope that never ends has no nearest normal, and what has no finite value anywhere has no fit.
    #[test]
    fn what_cannot_arrive_says_so() {
        for family in [NormalFamily::Correlated, NormalFamily::Independent] {
            let runs_away = found(2, family, |u, slope| {
                slope.copy_from_slice(&[1.0, -u[1]]);
                u[0] - 0.5 * u[1] * u[1]
            });
            assert!(!runs_away.unwrap().converged);
            assert!(found(2, family, |_, _| f64::NAN).is_none());
        }
    }

    /// Not finite further out than 0.05: the start is made narrower, and the end stays inside.
    #[test]
    fn a_start_that_is_too_wide_is_made_narrower() {
        let found = found(1, NormalFamily::Correlated, |u, slope| {
            slope[0] = -1e6 * u[0];
            if u[0].abs() > 0.05 { f64::NEG_INFINITY } else { -5e5 * u[0] * u[0] }
        });
        let found = found.unwrap();
        assert!(found.converged && (found.normal.factor[(0, 0)] / 1e-3 - 1.0).abs() < 0.02);
    }
}
