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

    /// Whether to go on: `false` once the caller has said that the search should stop.
    fn goes_on(&self) -> bool {
        true
    }
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

    /// The largest difference of means, in standard deviations, and of logarithms of standard deviations.
    fn away_from(&self, other: &Self) -> f64 {
        let scale = |normal: &Self, k: usize| normal.factor.row(k).norm();
        let one = |k: usize| {
            let (here, there) = (scale(self, k), scale(other, k));
            ((self.mean[k] - other.mean[k]) / here.min(there)).abs().max((here / there).ln().abs())
        };
        (0..self.mean.len()).map(one).fold(0.0, f64::max)
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
    /// How far the last steps say that this still is from where it belongs: the largest move of a mean, in
    /// standard deviations, or of the logarithm of a standard deviation.
    pub(crate) remaining: f64,
    /// `None` where it has converged.
    pub(crate) doubt: Option<Doubt>,
}

/// Why a search has not converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The caller said that it should stop.
    Stopped,
    /// The last steps still move the normal.
    Moving,
    /// Different draws lead to different normals.
    Noise,
    /// A direction that neither prior nor data hold.
    Improper,
}

/// Pairs of mirrored draws of the first steps: as many as there are values, which it takes to tell all second
/// derivatives apart, and at least this many.
const FEWEST_PAIRS: usize = 16;

/// Steps on the same draws, at most. From far away the length of steps doubles each time.
const MOST_STEPS: usize = 300;

/// Steps after which those on the same draws must have brought half of what was left to gain.
const PATIENCE: usize = 40;

/// Numbers in all draws of a round together, at most.
const MOST_NUMBERS: usize = 4_000_000;

/// Pairs of mirrored draws of a round, at most.
const MOST_PAIRS: usize = 16_384;

/// Monte Carlo error of each mean that is good enough, in standard deviations of the posterior; and of the
/// logarithm of each standard deviation.
const GOOD_ENOUGH: f64 = 0.015;

/// How far means may still be from where they belong, in standard deviations, for a fit to have converged.
pub(crate) const ARRIVED: f64 = 0.1;

/// Pairs of draws from which a Monte Carlo error is known well enough.
const MANY_PAIRS: usize = 512;

/// Groups of draws that the Monte Carlo error is estimated from.
const GROUPS: usize = 16;

/// What is left to gain of the bound on the same draws at the end of a round.
const NOTHING: f64 = 1e-3;

/// Steps of L-BFGS that it takes at least to know second derivatives.
const FEWEST_MOVES: usize = 3;

/// New coordinates, at most, where a round has not come to its end.
const RESTARTS: u32 = 1;

/// Steps of a round, at most.
const MOST_CURVED: usize = 150;

/// Pairs of moves and changes of slopes that inverse second derivatives are made of.
const MEMORY: usize = 12;

/// What a batch of draws says of the bound at a normal, in coordinates `z` in which that normal is standard.
struct Estimate {
    bound: f64,
    /// Mean gradient of the log density.
    slope: DVector<f64>,
    /// Minus the mean second derivatives, by Stein's identity: `E H = E[∇ ln p(z) zᵀ]`.
    curvature: DMatrix<f64>,
    /// The same before it was made symmetric.
    whole: DMatrix<f64>,
    /// Of each pair of mirrored draws half the sum and half the difference of gradients, and the draw.
    pairs: (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>),
}

impl Estimate {
    /// The same from some of the pairs. All draws together have unit covariance, some of them have not: with
    /// `corrected`, what that does to a normal density is taken off.
    fn part(&self, pairs: std::ops::Range<usize>, corrected: bool) -> Option<Self> {
        let (even, odd, draws) = &self.pairs;
        let (from, count) = (pairs.start, pairs.len());
        let (even, odd, draws) =
            (even.columns(from, count), odd.columns(from, count), draws.columns(from, count));
        let mut whole = odd * draws.transpose() / -(count as f64);
        if corrected {
            let n = draws.nrows();
            whole -= &self.whole * (draws * draws.transpose() / count as f64 - DMatrix::identity(n, n));
        }
        let curvature = symmetrised(&whole);
        let nothing = || DMatrix::zeros(0, 0);
        (count > 0).then(|| Self {
            bound: self.bound,
            slope: even.column_mean(),
            curvature,
            whole,
            pairs: (nothing(), nothing(), nothing()),
        })
    }
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
        let whole = &odd * draws.transpose() / -(pairs as f64);
        let curvature = symmetrised(&whole);
        let bound = values.iter().sum::<f64>() / (2.0 * pairs as f64)
            + at.log_determinant
            + 0.5 * n as f64 * (1.0 + (2.0 * PI).ln());
        let finite = bound.is_finite() && curvature.iter().all(|x| x.is_finite());
        let pairs = (even, odd, draws.clone());
        Ok(finite.then_some(Estimate { bound, slope, curvature, whole, pairs }))
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
        let mut gains: Vec<f64> = Vec::new();
        for _ in 0..MOST_STEPS {
            let Some(step) = Step::new(&here, self.family, radius) else { break };
            // What is left is for steps that know more of second derivatives.
            let slow = step.length < 1.0
                && gains.len() >= PATIENCE
                && gains[gains.len() - PATIENCE] < 2.0 * step.decrement;
            if step.decrement < 0.1 || slow || !self.target.goes_on() {
                break;
            }
            gains.push(step.decrement);
            let trial = at.moved(&step.shift, &step.root, step.log_determinant);
            match self.estimate(&trial, &draws)? {
                Some(found) if found.bound > here.bound => {
                    (at, here) = (trial, found);
                    radius = (2.0 * radius).min(1e18);
                }
                _ => radius = 0.25 * step.length,
            }
            if radius < 1e-4 {
                break;
            }
        }
        Ok(Some(at))
    }

    /// The maximum on the same draws, with more and more of them, until the Monte Carlo error is small.
    ///
    /// Means and scales move together: where they hang together, as in a hierarchy in which all group effects
    /// shrink with their common scale, steps for each alone would take thousands to get there.
    fn settle(&mut self, start: Normal) -> Result<Found> {
        let n = start.mean.len();
        let share = match self.family {
            NormalFamily::Correlated => 3 * n,
            NormalFamily::Independent => n,
        };
        let mut pairs = share.max(4 * FEWEST_PAIRS);
        let most = (MOST_NUMBERS / (2 * n)).min(MOST_PAIRS).max(2 * pairs);
        let mut chart = Chart::new(self.family, start);
        let (mut before, mut restarts): (Option<(Normal, f64)>, _) = (None, 0);
        loop {
            let draws = whitened(self.fill, n, pairs);
            let Some(round) = self.round(&mut chart, &draws)? else {
                let normal = chart.normal.triangular();
                let (doubt, remaining) = (Some(Doubt::Moving), f64::INFINITY);
                return Ok(Found { normal, evaluations: self.evaluations, remaining, doubt });
            };
            let moving = round.left >= ARRIVED || round.left.is_nan();
            if moving && restarts < RESTARTS && !round.improper && self.target.goes_on() {
                // Coordinates far from where they came from are of no use.
                restarts += 1;
                chart = Chart::new(self.family, chart.normal);
                before = None;
                continue;
            }
            let moved = before.as_ref().map(|(normal, error)| (chart.normal.away_from(normal), *error));
            // Two rounds on draws of their own must agree to within their errors.
            let apart = moved.map_or(f64::INFINITY, |(moved, error)| moved - 2.0 * (error + round.error));
            let remaining = round.left.max(apart).max(0.0);
            let doubt = match () {
                () if !self.target.goes_on() => Some(Doubt::Stopped),
                () if round.improper => Some(Doubt::Improper),
                () if moving => Some(Doubt::Moving),
                () if remaining < ARRIVED && round.error < ARRIVED => None,
                () => Some(Doubt::Noise),
            };
            let hopeless = matches!(doubt, Some(Doubt::Stopped | Doubt::Improper | Doubt::Moving));
            // An error from few draws is not known well itself, unless the density is all but normal.
            let known = pairs >= MANY_PAIRS || round.error < 0.2 * GOOD_ENOUGH;
            let good = doubt.is_none() && round.error < GOOD_ENOUGH && known;
            if good || hopeless || pairs >= most {
                let known = remaining.is_finite();
                let remaining = if known { remaining.max(round.error) } else { round.left.max(round.error) };
                let normal = chart.normal.triangular();
                return Ok(Found { normal, evaluations: self.evaluations, remaining, doubt });
            }
            before = Some((chart.normal.clone(), round.error));
            let wanted = pairs as f64 * 1.2 * (round.error / GOOD_ENOUGH).powi(2);
            // As many again even if they were enough: the next round is to agree with this one.
            pairs = (wanted.min(8.0 * pairs as f64) as usize).max(pairs);
            if round.error >= 0.2 * GOOD_ENOUGH {
                pairs = pairs.max(MANY_PAIRS);
            }
            pairs = pairs.min(most);
        }
    }

    /// The largest bound on these draws, by L-BFGS from where the chart is; `None` if the density is not finite
    /// there.
    ///
    /// # References
    /// Liu, Nocedal 1989, "On the limited memory BFGS method for large scale optimization".
    fn round(&mut self, chart: &mut Chart, draws: &DMatrix<f64>) -> Result<Option<Round>> {
        let Some(mut here) = self.estimate(&chart.normal, draws)? else { return Ok(None) };
        chart.take_curvature(&here.curvature);
        let Some(mut slope) = chart.slope(&here, &chart.root) else { return Ok(None) };
        let (mut left, mut gains) = (f64::INFINITY, Vec::new());
        for _ in 0..MOST_CURVED {
            let mut way = chart.uphill(&slope);
            let mut gain = way.dot(&slope);
            if gain <= 0.0 || gain.is_nan() {
                chart.pairs.clear();
                way = chart.uphill(&slope);
                gain = way.dot(&slope);
            }
            if gain.is_nan() {
                left = f64::INFINITY;
                break;
            }
            // What runs away gains the same again and again.
            gains.push(gain);
            if gains.len() > PATIENCE && gains[gains.len() - PATIENCE] < 2.0 * gain && gain > 0.1 {
                break;
            }
            left = chart.moves(&way).amax();
            if left < ARRIVED {
                // Second derivatives that were taken for too large, as where a draw met a spike, want no move.
                let scales = here.curvature.diagonal().map(|p| 0.5 * (1.0 - p));
                left = left.max(scales.amax()).max(here.slope.amax());
            }
            // At least some steps in all, so that second derivatives are known from steps that were made.
            let known = chart.pairs.len() >= FEWEST_MOVES || gain < 1e-9;
            if (gain < NOTHING && left < GOOD_ENOUGH / 3.0 && known) || !self.target.goes_on() {
                break;
            }
            match self.ascend(chart, draws, (&way, gain), here.bound)? {
                Some((x, made, root, found, next)) => {
                    chart.learn(&x - &chart.x, &slope - &next);
                    (chart.x, chart.normal, chart.root) = (x, made, root);
                    (here, slope) = (found, next);
                }
                None => break,
            }
        }
        let error = chart.error(&here, draws.ncols());
        let improper = chart.improper(&here);
        Ok(Some(Round { left, error, improper }))
    }

    /// A step along a way: shorter until the bound rises, longer while it goes on as it began.
    fn ascend(
        &mut self,
        chart: &Chart,
        draws: &DMatrix<f64>,
        (way, gain): (&DVector<f64>, f64),
        bound: f64,
    ) -> Result<Option<Ascent>> {
        let mut length = (2.0 / chart.moves(way).amax()).min(1.0);
        let mut best: Option<Ascent> = None;
        for _ in 0..30 {
            let x = &chart.x + way * length;
            let found = match chart.normal_at(&x) {
                Some((normal, root)) => {
                    let found = self.estimate(&normal, draws)?;
                    found.and_then(|found| {
                        let slope = chart.slope(&found, &root)?;
                        Some((x, normal, root, found, slope))
                    })
                }
                None => None,
            };
            let Some(found) = found else {
                if best.is_some() {
                    break;
                }
                length *= 0.4;
                continue;
            };
            let (rise, ahead) = (found.3.bound - bound, found.4.dot(way));
            // To within rounding the slope says more than the bound.
            let rounding = 1e-13 * (1.0 + bound.abs());
            let rises = rise > 1e-4 * length * gain || (rise.abs() <= rounding && ahead.abs() < 0.9 * gain);
            match &best {
                Some(best) if found.3.bound <= best.3.bound => break,
                None if !rises => length *= 0.4,
                _ => {
                    let goes_on = ahead > 0.8 * gain && length < 64.0;
                    best = Some(found);
                    if !goes_on || length < 1.0 {
                        break;
                    }
                    length *= 4.0;
                }
            }
        }
        Ok(best)
    }
}

/// The least ratio of precisions, or of variances, of a direction and of single values that can be told from
/// 0.
const UNHELD: f64 = 1e-12;

/// A step that was made: coordinates, normal, `T`, and what the draws say there.
type Ascent = (DVector<f64>, Normal, DMatrix<f64>, Estimate, DVector<f64>);

/// The end of a round.
struct Round {
    /// The largest move of a mean, in standard deviations, or of the logarithm of a standard deviation that
    /// the last step wanted.
    left: f64,
    /// The Monte Carlo error of means, in standard deviations, or half of that of the logarithms of standard
    /// deviations: the largest.
    error: f64,
    improper: bool,
}

/// Coordinates of all normals, around one of them: `u = m + C (a + T z)` with a symmetric positive definite `T`,
/// or with a diagonal `T = e^b`. With what is known of the bound's second derivatives in them.
struct Chart {
    family: NormalFamily,
    origin: Normal,
    /// Where the search is.
    x: DVector<f64>,
    normal: Normal,
    /// `T`
    root: DMatrix<f64>,
    /// Inverse second derivatives by the means at the origin, when they are known.
    means: Option<DMatrix<f64>>,
    /// Moves, the changes of minus the slope that went with them, and the inverse of their product.
    pairs: Vec<(DVector<f64>, DVector<f64>, f64)>,
}

impl Chart {
    fn new(family: NormalFamily, origin: Normal) -> Self {
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

    fn take_curvature(&mut self, curvature: &DMatrix<f64>) {
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
    fn normal_at(&self, x: &DVector<f64>) -> Option<(Normal, DMatrix<f64>)> {
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
    fn slope(&self, found: &Estimate, root: &DMatrix<f64>) -> Option<DVector<f64>> {
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
    fn uphill(&self, slope: &DVector<f64>) -> DVector<f64> {
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
    fn plain(&self, mut way: DVector<f64>) -> DVector<f64> {
        let n = self.origin.mean.len();
        if let Some(means) = &self.means {
            let means = means * way.rows(0, n);
            way.rows_mut(0, n).copy_from(&means);
        }
        let scales = way.len() - n;
        way.rows_mut(n, scales).scale_mut(0.5);
        way
    }

    fn learn(&mut self, moved: DVector<f64>, change: DVector<f64>) {
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
    fn moves(&self, way: &DVector<f64>) -> DVector<f64> {
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
    fn error(&self, here: &Estimate, pairs: usize) -> f64 {
        self.error_of(here, pairs, false).min(self.error_of(here, pairs, true))
    }

    /// That from the moves that groups of draws want.
    fn error_of(&self, here: &Estimate, pairs: usize, corrected: bool) -> f64 {
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
    fn improper(&self, here: &Estimate) -> bool {
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
        if found.doubt.is_none() || found.doubt == Some(Doubt::Stopped) {
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
            assert!(found.doubt.is_none() && found.remaining < 1e-6 && found.evaluations < 10_000);
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
        assert!(found.doubt.is_none(), "{}", found.remaining);
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
            assert!(runs_away.unwrap().doubt.is_some());
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
        assert!(found.doubt.is_none() && (found.normal.factor[(0, 0)] / 1e-3 - 1.0).abs() < 0.02);
    }
}
