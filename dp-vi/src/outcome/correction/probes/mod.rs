//! The curvature probed at the end of a run: pairs of points around where the run has come, as far away as
//! the noise asks for.

mod prior;
mod reading;
#[cfg(test)]
mod tests;

pub(crate) use self::prior::{ElementPrior, normal_prior};
use self::reading::{Reading, Slopes};
use crate::error::Result;
use crate::objective::curvature::CurvatureShape;
use crate::optimiser::SavedState;
use crate::outcome::correction::linear_algebra::{compose, eigen, square, symmetrised};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware, Shares, deviations};
use crate::outcome::correction::unknown_curvature::{self, ReleasedCurvature};
use nalgebra::{DMatrix, DVector, DVectorView};
use std::ops::Range;

/// Most elements of the frontier for which it is done: the posterior takes about a second with a hundred, and
/// a round of probes has as many pairs.
pub(crate) const MOST_PROBED: usize = 128;

/// Share of the steps that are probes.
pub(crate) const SHARE: f64 = 0.25;

/// Fewest pairs of a round.
const FEWEST: usize = 8;

/// A curvature is seen when it is this many of its standard errors: below, probes go twice as far.
const SEEN: f64 = 2.0;

/// Above, they need not go as far as they do.
const WELL_SEEN: f64 = 5.0;

/// How far probes go, in standard deviations of a value: of its posterior and of what the noise makes of its
/// mean.
///
/// Where the noise is most of it, a quarter of the steps tells a curvature to within `√4/REACH` of itself: a
/// third. With half of this distance it was two thirds, and values were as uncertain as their curvatures;
/// farther away likelihoods are less quadratic.
const REACH: f64 = 6.0;

/// Standard errors that an element off the diagonal must have for the axes to be turned. Of a hundred elements
/// that are zero, one has as many in one of 160 runs. Axes that follow errors mix values that have nothing
/// to do with each other, as a scale and slopes, and hide where the curvature has zeros.
const TURNS: f64 = 4.0;

/// Deviations of the prior that a posterior may be wide, and away from where the run has come. Beyond,
/// curvatures that may be anything multiply a gradient that is far from zero, and nothing follows from that: a
/// positive value has no mean in floating-point numbers when its logarithm is known to within forty.
const OUTSIDE: f64 = 10.0;

/// Rounds that probes are cut into, or somewhat more, where there are enough of them.
const ROUNDS: u64 = 8;

/// The probes of a run: where its last steps take their gradients, and what these say.
///
/// ```text
/// at c ± V W ε:    d = Vᵀ (g₊ − g₋)/2 = −S′ W ε + e,   e ~ N(0, v I),   S′ = Vᵀ S V
/// ε:               rows of a Hadamard matrix, so that no direction's slope is taken for another's
/// W:               first as far as the largest curvature allows that the steps before leave possible;
///                  then, round by round, twice as far in directions that are not seen (S′_kk below 2
///                  errors), half as far in those that are seen well and go farther than 6 deviations;
///                  never beyond the prior's deviation
/// V:               the coordinates; the eigenvectors of what was read as soon as elements off the diagonal show
/// ```
///
/// All that is decided here is computed from what has been released, so it costs nothing. Symmetric
/// differences have no part of the likelihood's third derivative; that of the fourth makes a curvature a mean
/// over the distance, as a guide's is. The means of pairs, which are a part of the mean gradient, do have
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    /// The first step that is one, and how many steps there are.
    steps: Range<u64>,
    prior: Vec<ElementPrior>,
    /// Of the steps before, at the guide's draws.
    before: Slopes,
    /// Of the whole rounds since the axes were turned, along them.
    own: Slopes,
    /// Of the current round, added to `own` at its end: only over a whole round displacements are orthogonal.
    round: Slopes,
    /// `V`
    axes: DMatrix<f64>,
    is_turned: bool,
    /// `W`
    widths: Vec<f64>,
    /// Sums of noise variances, and of their number, over all steps so far.
    noise: [f64; 2],
    /// How many rounds have begun, steps left in this one, and the directions that it displaces.
    rounds: u64,
    left: u64,
    displaced: Vec<usize>,
    /// The last displacement, along the axes and in coordinates.
    along: Vec<f64>,
    away: Vec<f64>,
    /// Room for half of a difference of gradients, in coordinates and along the axes.
    half: DVector<f64>,
    turned: DVector<f64>,
}

impl Probes {
    /// For a run of this many steps, the last of which are probes.
    pub(crate) fn new((steps, probes): (u64, u64), prior: Vec<ElementPrior>) -> Self {
        let n = prior.len();
        Self {
            steps: steps - probes..steps,
            prior,
            before: Slopes::new(n),
            own: Slopes::new(n),
            round: Slopes::new(n),
            axes: DMatrix::identity(n, n),
            is_turned: false,
            widths: vec![0.0; n],
            noise: [0.0; 2],
            rounds: 0,
            left: 0,
            displaced: Vec::new(),
            along: Vec::with_capacity(n),
            away: vec![0.0; n],
            half: DVector::zeros(n),
            turned: DVector::zeros(n),
        }
    }

    /// The first step that is a probe.
    pub(crate) fn first(&self) -> u64 {
        self.steps.start
    }

    /// The displacement of this step. Steps that make no whole round are where the run has come.
    pub(crate) fn displacement(&mut self, step: u64) -> &[f64] {
        if self.left == 0 {
            self.begin_round(self.steps.end.saturating_sub(step));
        }
        self.left = self.left.saturating_sub(1);
        let row = self.left;
        // Rows of a Hadamard matrix.
        let sign =
            |column: usize| if (row & column as u64).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let n = self.prior.len();
        self.along.clear();
        self.along.resize(n, 0.0);
        for (column, &j) in self.displaced.iter().enumerate() {
            self.along[j] = sign(column) * self.widths[j];
        }
        self.turned.gemv(1.0, &self.axes, &DVectorView::from_slice(&self.along, n), 0.0);
        self.away.copy_from_slice(self.turned.as_slice());
        &self.away
    }

    /// Decides what the next round displaces, and how far.
    fn begin_round(&mut self, left: u64) {
        let n = self.prior.len();
        let all = self.steps.end - self.steps.start;
        let pairs = |displaced: usize| {
            let block = pairs_of_a_round(displaced);
            block * (all / ROUNDS / block).max(1)
        };
        let read = self.own.reading();
        // What is read before the axes are turned is lost: half of the probes at least come after, and a
        // whole round.
        let may_turn = self.rounds > 0 && !self.is_turned && 2 * left >= all && left >= pairs(n);
        let turns = may_turn && self.turn(&read);
        match self.rounds {
            0 => self.set_first_widths(),
            _ if !turns => self.set_widths(&read),
            _ => {}
        }
        self.displaced = (0..n).collect();
        // Every third round looks at all directions again, and so does the first along other axes.
        if self.rounds > 1 && !turns && !self.rounds.is_multiple_of(3) {
            let unseen = |j: &usize| {
                let (curvature, error) = read.own(*j);
                curvature < SEEN * error
            };
            let hidden: Vec<usize> = (0..n).filter(unseen).collect();
            if !hidden.is_empty() {
                self.displaced = hidden;
            }
        }
        self.rounds = self.rounds.saturating_add(1);
        self.left = pairs(self.displaced.len());
        if self.left > left {
            (self.left, self.displaced) = (left, Vec::new());
        }
    }

    /// Turns the axes into the eigenvectors of the curvature that has been read, where elements off its
    /// diagonal are more than errors: of what is left of it without those that may be errors.
    fn turn(&mut self, read: &Reading) -> bool {
        let Some(found) = read.standing_out().and_then(eigen) else { return false };
        let n = self.prior.len();
        let along = read.along(&found.eigenvectors);
        // In their own eigenvectors errors look like curvatures far apart with nothing between them: what has
        // been read chooses the axes, and is not read along them again.
        self.own = Slopes::new(n);
        (self.axes, self.is_turned) = (found.eigenvectors, true);
        let (variance, most) = (self.mean_variance(), self.most());
        let width = |k: usize| {
            let (curvature, error) = along.own(k);
            let width = REACH * deviation(variance, curvature.max(0.0) + error);
            if width.is_finite() { width.min(most[k]) } else { most[k].min(1.0) }
        };
        self.widths = (0..n).map(width).collect();
        true
    }

    /// Deviations of the prior along the axes.
    fn most(&self) -> Vec<f64> {
        let along = |axis: DVectorView<'_, f64>| {
            let precision = axis.iter().zip(&self.prior).map(|(x, prior)| (x / prior.deviation).powi(2));
            precision.sum::<f64>().sqrt().recip()
        };
        self.axes.column_iter().map(along).collect()
    }

    /// The noise's variance in an element of the mean gradient over all steps.
    fn mean_variance(&self) -> f64 {
        self.noise[0] / (self.noise[1] * self.steps.end as f64)
    }

    /// As far as the largest curvature that is possible allows.
    fn set_first_widths(&mut self) {
        let variance = self.mean_variance();
        let first = |j: usize| {
            let (curvature, error) = self.before.own(j);
            let width = REACH * deviation(variance, curvature.max(0.0) + 2.0 * error);
            // A guide of points tells nothing: its draws have no spread.
            if error.is_finite() && width.is_finite() { width } else { 1.0 }
        };
        self.widths = (0..self.prior.len()).map(|j| first(j).min(self.prior[j].deviation)).collect();
    }

    /// How far the next round goes in the directions that the last one displaced.
    fn set_widths(&mut self, read: &Reading) {
        let (variance, most) = (self.mean_variance(), self.most());
        for &k in &self.displaced {
            let width = &mut self.widths[k];
            let (curvature, error) = read.own(k);
            if curvature < SEEN * error {
                *width = most[k].min(2.0 * *width);
            } else if curvature > WELL_SEEN * error && *width > 1.5 * REACH * deviation(variance, curvature) {
                *width *= 0.5;
            }
        }
    }

    /// Takes a step before the probes, of which this finds half of the displacement and of the difference of
    /// gradients.
    pub(crate) fn take_draw(&mut self, variance: f64, halves: impl FnOnce(&mut [f64], &mut [f64])) {
        halves(&mut self.away, self.half.as_mut_slice());
        self.before.take(&self.away, self.half.as_slice(), variance);
        self.count(variance);
    }

    /// Takes a probe, likewise.
    pub(crate) fn take(&mut self, variance: f64, halves: impl FnOnce(&mut [f64], &mut [f64])) {
        halves(&mut self.away, self.half.as_mut_slice());
        self.turned.gemv_tr(1.0, &self.axes, &self.half, 0.0);
        self.round.take(&self.along, self.turned.as_slice(), variance);
        if self.left == 0 {
            self.own.take_over(&mut self.round);
        }
        self.count(variance);
    }

    fn count(&mut self, variance: f64) {
        self.noise[0] += variance;
        self.noise[1] += 1.0;
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        self.before.save(state);
        self.own.save(state);
        self.round.save(state);
        state.push(f64::from(u8::from(self.is_turned)));
        state.extend(&self.axes);
        state.extend(self.noise);
        state.extend(&self.widths);
        // Below 2⁵³, so exact.
        state.extend([self.rounds as f64, self.left as f64]);
        state.extend((0..self.widths.len()).map(|j| f64::from(u8::from(self.displaced.contains(&j)))));
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        self.before.restore(state)?;
        self.own.restore(state)?;
        self.round.restore(state)?;
        self.is_turned = state.take(1)?[0] != 0.0;
        state.copy_to(self.axes.as_mut_slice())?;
        state.copy_to(&mut self.noise)?;
        state.copy_to(&mut self.widths)?;
        let head = state.take(2)?;
        (self.rounds, self.left) = (head[0] as u64, head[1] as u64);
        let displaced = state.take(self.widths.len())?.iter().enumerate().filter(|(_, is)| **is != 0.0);
        self.displaced = displaced.map(|(j, _)| j).collect();
        Ok(())
    }

    /// Minus the second derivatives, as far as they were read, at each element.
    pub(crate) fn diagonal(&self) -> Vec<f64> {
        compose(&self.own.reading().matrix, &self.axes).diagonal().as_slice().to_vec()
    }

    /// Along which directions displacements and differences are read, orthonormal columns.
    pub(crate) fn axes(&self) -> &DMatrix<f64> {
        &self.axes
    }

    /// Makes displacements so much shorter that with this curvature they change a likelihood by no more than they do
    /// by the largest curvature that is possible by what was read along each axis.
    pub(crate) fn shortening(&self, curvature: &DMatrix<f64>) -> DMatrix<f64> {
        let read = self.own.reading();
        let factor = |k: usize| {
            let axis = self.axes.column(k);
            let (own, error) = read.own(k);
            ((own.max(0.0) + SEEN * error) / axis.dot(&(curvature * axis)).max(0.0)).sqrt().min(1.0)
        };
        let factors = DVector::from_fn(self.prior.len(), |k, _| factor(k));
        &self.axes * DMatrix::from_diagonal(&factors) * self.axes.transpose()
    }

    /// The posterior, with all curvatures that the probes leave possible. `shares` say of each axis how much of what
    /// is read along it is curvature where the run has come; all else is of its surroundings, or taken by clipping.
    ///
    /// Errors of the curvature differ from element to element. In coordinates `x_j = (u_j − t̄_j)/a_j`, `a_j⁴
    /// = P_j · s²`, those on the diagonal have the variance `s²` and the others at most half of it, `P` being
    /// that of probes:
    ///
    /// ```text
    /// a_j² a_k²/(P_j + P_k) = s² √(P_j P_k)/(P_j + P_k) ≤ s²/2
    /// ```
    pub(crate) fn posterior(
        &self,
        sites: Vec<String>,
        evidence: &Evidence<'_>,
        shares: &[f64],
    ) -> Option<NoiseAware> {
        let n = self.prior.len();
        if n == 0 || shares.len() != n {
            return None;
        }
        let axes = &self.axes;
        let Reading { matrix, variances } = self.own.reading().times(shares);
        let precisions: Vec<f64> = variances.diagonal().iter().map(|variance| variance.recip()).collect();
        if !precisions.iter().all(|p| *p > 0.0 && p.is_finite()) {
            return None;
        }
        // Units in which the geometric mean of the directions' scales is one.
        let log_mean = precisions.iter().map(|p| p.ln()).sum::<f64>() / n as f64;
        let units: Vec<f64> = precisions.iter().map(|p| (0.25 * (p.ln() - log_mean)).exp()).collect();
        let outward = axes * DMatrix::from_diagonal(&DVector::from_column_slice(&units));
        let along = |vector: &[f64]| outward.tr_mul(&DVectorView::from_slice(vector, n)).as_slice().to_vec();
        let matrix = DMatrix::from_fn(n, n, |j, k| units[j] * units[k] * matrix[(j, k)]);
        let (prior, pull) = normal_prior(&self.prior, evidence, None)?;
        let prior = symmetrised(&(outward.transpose() * prior * &outward));
        let inside = Evidence {
            curvature: &[],
            values: &vec![0.0; n],
            gradients: &along(evidence.gradients),
            prior_gradient: &along(pull.as_slice()),
            prior_curvature: prior.as_slice(),
            ..*evidence
        };
        let released = ReleasedCurvature {
            matrix: matrix.as_slice(),
            shape: CurvatureShape::Full,
            deviation: (-0.5 * log_mean).exp(),
            scores: None,
            path: None,
            from_start: None,
            is_turned: true,
            moments: None,
        };
        let errors = DMatrix::from_fn(n, n, |j, k| variances[(j, k)] * (units[j] * units[k]).powi(2));
        let found = unknown_curvature::posterior_in_units(sites, &inside, &units, &errors, &released)?;
        let mean =
            DVectorView::from_slice(evidence.values, n) + &outward * DVector::from_column_slice(&found.mean);
        let back = |matrix: &[f64]| compose(&square(matrix, n), &outward);
        let covariance = back(&found.covariance);
        // Not where a variance is NaN, or negative.
        let is_inside = |j: usize| {
            let most = OUTSIDE * self.prior[j].deviation;
            covariance[(j, j)].sqrt() <= most && (mean[j] - evidence.values[j]).abs() <= most
        };
        if !(0..n).all(is_inside) {
            return None;
        }
        let shares = found.shares.map(|shares| {
            let without_noise = back(&shares.covariance_without_noise);
            Shares {
                prior: self.prior.iter().map(|prior| prior.deviation).collect(),
                without_noise: deviations(&without_noise),
                covariance_without_noise: without_noise.as_slice().to_vec(),
            }
        });
        Some(NoiseAware {
            mean: mean.as_slice().to_vec(),
            covariance: covariance.as_slice().to_vec(),
            point: None,
            parts: Vec::new(),
            shares,
            ..found
        })
    }
}

/// The standard deviation of a value with this curvature, and this noise in its mean gradient.
fn deviation(noise_variance: f64, curvature: f64) -> f64 {
    (noise_variance.sqrt() / curvature).hypot(curvature.sqrt().recip())
}

/// Fewest steps of a run that probes this many elements, of which the others take so many at least: four
/// rounds of probes.
pub(crate) fn fewest_steps_of(elements: usize, others: u64) -> u64 {
    let rounds = 4 * pairs_of_a_round(elements);
    let (probes, others) = (rounds as f64 / SHARE, others as f64 / (1.0 - SHARE));
    probes.max(others).ceil() as u64
}

/// How many of this many steps are probes of this many elements: none where they would not make a round.
pub(crate) fn number_of_probes(steps: u64, elements: usize) -> u64 {
    let probes = (steps as f64 * SHARE) as u64;
    if probes < pairs_of_a_round(elements) { 0 } else { probes }
}

/// Pairs of a round at least: a power of two, and as many as elements.
fn pairs_of_a_round(elements: usize) -> u64 {
    elements.next_power_of_two().max(FEWEST) as u64
}
