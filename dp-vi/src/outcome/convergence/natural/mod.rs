//! The normal that is nearest to a density, by natural gradients.
//!
//! `estimate` averages over draws, `step` climbs from far away, `chart` has the coordinates in which means and scales
//! settle together.

mod chart;
mod estimate;
mod newton;
mod normal;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use self::normal::Normal;

use self::chart::Chart;
use self::estimate::Estimate;
use self::newton::{ENOUGH_PAIRS, MOST_NEWTON, NEAR};
use self::step::Step;
use crate::error::Result;
use crate::guides::guide::NormalFamily;
use crate::outcome::correction::linear_algebra::{cholesky, symmetrised};
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
    /// Draws that are too rare to be seen decide where the normal belongs.
    Rare,
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

/// What is left to gain of the bound on the same draws at the end of a round.
const NOTHING: f64 = 1e-3;

/// Steps of L-BFGS that it takes at least to know second derivatives.
const FEWEST_MOVES: usize = 3;

/// New coordinates, at most, where a round has not come to its end.
const RESTARTS: u32 = 1;

/// Steps of a round, at most.
const MOST_CURVED: usize = 150;

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
    /// Whether enough draws have shown no valley that steps by slopes did not follow.
    surveyed: bool,
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
        self.surveyed = false;
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
                self.surveyed = false;
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
            let last = pairs;
            let wanted = pairs as f64 * 1.2 * (round.error / GOOD_ENOUGH).powi(2);
            // As many again even if they were enough: the next round is to agree with this one.
            pairs = (wanted.min(8.0 * pairs as f64) as usize).max(pairs);
            if round.error >= 0.2 * GOOD_ENOUGH {
                pairs = pairs.max(MANY_PAIRS);
            }
            if doubt.is_some() {
                // So that it ends: rounds may stay apart although each has a small error.
                pairs = pairs.max(2 * last);
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
        let (mut left, mut gains, mut newtons) = (f64::INFINITY, Vec::new(), 0);
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
            if !self.target.goes_on() {
                break;
            }
            if gain < NOTHING && left < GOOD_ENOUGH / 3.0 && known {
                if self.surveyed {
                    break;
                }
                // A handful of steps that gained little may be short ones along a valley, of which L-BFGS does not
                // know yet how long it is.
                let few = draws.ncols().min(ENOUGH_PAIRS);
                let mut step = self.newton(chart, &draws.columns(0, few).into_owned(), &slope)?;
                if step.is_down && few < draws.ncols() {
                    // So it may look by some of the draws.
                    step = self.newton(chart, draws, &slope)?;
                }
                let moves = chart.moves(&step.way).amax();
                left = left.max(if step.is_down { f64::INFINITY } else { moves });
                newtons += 1;
                // Rounds with more draws begin where this one ends, and the chart knows what it has seen.
                self.surveyed = left < NEAR && few == ENOUGH_PAIRS;
                if left < NEAR || newtons > MOST_NEWTON || left.is_nan() {
                    break;
                }
                (gain, way) = (step.way.dot(&slope), step.way);
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
    let mut search = Search { target, fill, family, evaluations: 0, surveyed: false };
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
