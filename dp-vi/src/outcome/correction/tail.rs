//! Means of what was released over a run, or the last part of it.

use crate::error::Result;
use crate::objective::frontier::Estimator;
use crate::optimiser::SavedState;
use crate::outcome::correction::excess::Snapshots;
use crate::outcome::correction::trace_regression::TraceSums;

/// By how much values and noisy gradients differ between the last and the first third of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) values: Vec<f64>,
    pub(crate) gradients: Vec<f64>,
    /// Variance of each element of the difference of gradients: of the noise, and of what the curvature's
    /// change makes of it.
    pub(crate) variance: f64,
}

/// By how much the difference of gradients between the last and the first third may be off, relative to its length,
/// because the curvature on the way is not that at its end.
///
/// In a logistic regression whose log-odds are normal with a standard deviation of 2 or 4 at the end, the curvature is
/// on average 1.59 or 2.14 times as large from the middle of the way on, and 1.19 or 1.30 times from four fifths of it:
/// of the difference .37 or .53 is too much, and .16 or .23.
const CHANGE: f64 = 0.5;

/// By how much, relative to its length, the difference of gradients between the steps before the tail and those in it
/// may be off for the same reason, where it is only asked whether a run has been straight.
const BEND: f64 = 0.125;

/// How large the error that a changing curvature makes of the mean gradient of all steps may be, over the noise in one
/// of its elements, for that gradient to tell of the curvature.
///
/// Values are not inferred from such a gradient. On 21 generated logistic designs (1,500 to 50,000 records, 4 to 30
/// columns, log-odds of standard deviations .7, 2 and 4; 6 runs each) slopes at ε of 1, 3 and 10 were 1.06, 1.04 and
/// 1.03 times those without privacy when they were, and 90 % intervals held .83, .81 and .86; from the tail alone
/// slopes are 1.00, 1.01 and 1.01 times as large, and intervals hold .93, .90 and .91.
const NEGLIGIBLE: f64 = 1.0;

/// Deviations by which an element of the mean gradient of probes may differ from that of the steps before, for both
/// to be taken for the same, and deviations by which the sum of squares of all may be too large.
///
/// Probes are pairs far away on both sides, so that a likelihood's third derivative is in their mean gradient: that
/// of a scale is larger there, because residuals are. By chance one of ten elements differs by as much in one
/// of 37 runs; then the noise of fewer steps is all that is lost.
const DIFFERS: f64 = 3.0;

/// Sums over a stretch of a run: where gradients were taken, and the noisy gradients of the log-likelihood
/// there.
#[derive(Clone, Debug)]
struct Stretch {
    steps: std::ops::Range<u64>,
    taken: u64,
    values: Vec<f64>,
    gradients: Vec<f64>,
    /// Sum of the squares of all elements of the values.
    squares: f64,
    /// Room for the sums before a step.
    before: Vec<f64>,
    /// Sum of the steps' noise variances.
    variance: f64,
    /// Where some of the gradients were taken, where that is kept.
    snapshots: Option<Snapshots>,
}

impl Stretch {
    fn new(elements: usize, steps: std::ops::Range<u64>) -> Self {
        let [values, gradients, before] = [(); 3].map(|()| vec![0.0; elements]);
        Self { steps, taken: 0, values, gradients, squares: 0.0, before, variance: 0.0, snapshots: None }
    }

    /// Takes a step that belongs to it.
    fn take(&mut self, step: u64, estimator: &Estimator, released: &[f64], (norm, noise): (f64, f64)) {
        let Some(latent) = estimator.latent().filter(|_| self.steps.contains(&step)) else { return };
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.take(self.taken, norm, estimator.shared.drawn_values());
        }
        self.before.copy_from_slice(&self.values);
        latent.add_to_means(&estimator.shared, released, &mut self.values, &mut self.gradients);
        let moved = self.before.iter().zip(&self.values).map(|(before, after)| (after - before).powi(2));
        self.squares += moved.sum::<f64>();
        self.variance += noise * noise;
        self.taken += 1;
    }

    fn mean(&self, sums: &[f64]) -> Vec<f64> {
        sums.iter().map(|sum| sum / self.taken as f64).collect()
    }

    /// Variance of each element of the mean gradient that the privacy noise makes.
    fn noise_variance(&self) -> f64 {
        self.variance / (self.taken as f64 * self.taken as f64)
    }

    /// This stretch and another one.
    fn and(&self, other: &Self) -> Self {
        let both = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Self {
            steps: self.steps.start.min(other.steps.start)..self.steps.end.max(other.steps.end),
            taken: self.taken + other.taken,
            values: both(&self.values, &other.values),
            gradients: both(&self.gradients, &other.gradients),
            squares: self.squares + other.squares,
            before: self.before.clone(),
            variance: self.variance + other.variance,
            snapshots: self
                .snapshots
                .as_ref()
                .zip(other.snapshots.as_ref())
                .map(|(one, other)| one.and(other)),
        }
    }

    fn save(&self, state: &mut Vec<f64>) {
        // Below 10⁹ steps, so exact.
        state.extend([self.taken as f64, self.variance, self.squares]);
        state.extend(&self.values);
        state.extend(&self.gradients);
        if let Some(snapshots) = &self.snapshots {
            snapshots.save(state);
        }
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let head = state.take(3)?;
        (self.taken, self.variance, self.squares) = (head[0] as u64, head[1], head[2]);
        state.copy_to(&mut self.values)?;
        state.copy_to(&mut self.gradients)?;
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.restore(state)?;
        }
        Ok(())
    }
}

/// By how much two vectors differ, later minus earlier.
fn difference(earlier: &[f64], later: &[f64]) -> Vec<f64> {
    earlier.iter().zip(later).map(|(earlier, later)| later - earlier).collect()
}

/// Means over the steps that enter the correction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TailMeans {
    /// How many they are.
    pub(crate) steps: u64,
    pub(crate) values: Vec<f64>,
    pub(crate) gradients: Vec<f64>,
    /// Mean squared distance of the values from their mean.
    pub(crate) wandered: f64,
    /// Variance of each element of the mean gradient that the privacy noise makes.
    pub(crate) noise_variance: f64,
    /// Whether probes are among them.
    pub(crate) probed: bool,
    /// Where some of their gradients were taken, in runs with probes.
    pub(crate) snapshots: Option<Snapshots>,
}

impl TailMeans {
    fn new(stretch: &Stretch) -> Self {
        let values = stretch.mean(&stretch.values);
        let of_mean: f64 = values.iter().map(|value| value * value).sum();
        Self {
            steps: stretch.taken,
            wandered: (stretch.squares / stretch.taken as f64 - of_mean).max(0.0),
            values,
            gradients: stretch.mean(&stretch.gradients),
            noise_variance: stretch.noise_variance(),
            probed: false,
            snapshots: stretch.snapshots.clone(),
        }
    }
}

/// Whether two mean gradients differ by their noise alone.
fn agree(one: &TailMeans, other: &TailMeans) -> bool {
    let variance = one.noise_variance + other.noise_variance;
    let squares: Vec<f64> =
        difference(&one.gradients, &other.gradients).iter().map(|d| d * d / variance).collect();
    let n = squares.len() as f64;
    squares.iter().all(|square| *square <= DIFFERS * DIFFERS)
        && squares.iter().sum::<f64>() <= (n + DIFFERS * (2.0 * n).sqrt()).max(DIFFERS * DIFFERS)
}

/// What a run's gradients say, for the correction.
#[derive(Clone, Debug)]
pub(crate) struct GradientTail {
    tail: Stretch,
    /// The steps before, in a run that goes straight on from its first step.
    before: Option<Stretch>,
    /// The first and the last third of a run that keeps its path.
    thirds: Option<[Stretch; 2]>,
    /// Where the curvature is read off the trace, with room for one draw.
    trace: Option<(TraceSums, Vec<f64>, Vec<f64>)>,
    /// The probes, which are no part of the tail.
    probes: Option<Stretch>,
}

/// Deviations, of the noise and of the posterior together, that a mean gradient may be from zero where a run has
/// arrived.
const ARRIVED: f64 = 5.0;

impl TailMeans {
    /// Whether the steps had come to where the mean gradient of likelihood and prior is zero: to within the noise, what
    /// batches make of it, and what a posterior deviation does.
    ///
    /// ```text
    /// |ḡ_j + ∇_j ln p(t̄)| < 5 √(v + S_jj (1 + r/T) + P_jj)     r the variance of a step's sum of scores over theirs
    /// ```
    ///
    /// `curvature` has the `S_jj`, `pull` and `prior` the prior's gradient and `P_jj` at the means.
    pub(crate) fn have_arrived(&self, curvature: &[f64], sampling: f64, pull: &[f64], prior: &[f64]) -> bool {
        let scores = 1.0 + sampling / self.steps as f64;
        let all = self.gradients.iter().zip(curvature).zip(pull.iter().zip(prior));
        all.fold(true, |arrived, ((gradient, curvature), (pull, prior))| {
            let own = scores * curvature.max(0.0) + prior.max(0.0);
            arrived && (gradient + pull).powi(2) <= ARRIVED * ARRIVED * (self.noise_variance + own)
        })
    }
}

impl GradientTail {
    /// For a run whose last `share` of steps enters the correction in any case.
    ///
    /// With `straight`, those before are kept, too, and tell of the curvature if their gradients do not show that it
    /// was another. With a path, the first and the last third are kept apart.
    pub(crate) fn new(
        elements: usize,
        (steps, share): (u64, f64),
        straight: bool,
        path: bool,
        trace: bool,
    ) -> Self {
        let tail = ((steps as f64 * share).ceil() as u64).clamp(1, steps.max(1));
        let from = steps.saturating_sub(tail);
        let stretch = |steps| Stretch::new(elements, steps);
        Self {
            tail: stretch(from..u64::MAX),
            before: straight.then(|| stretch(0..from)),
            thirds: path.then(|| [0..steps / 3, steps - steps / 3..steps].map(stretch)),
            trace: trace.then(|| (TraceSums::new(elements), vec![0.0; elements], vec![0.0; elements])),
            probes: None,
        }
    }

    /// The same of a run whose steps are probes from this one to the last, with so many values of all sites and draws.
    pub(crate) fn with_probes(mut self, (first, steps): (u64, u64), drawn: usize) -> Self {
        let mut probes = Stretch::new(self.tail.values.len(), first..u64::MAX);
        probes.snapshots = Some(Snapshots::new(steps.saturating_sub(first), drawn));
        self.probes = Some(probes);
        self.tail.steps.end = first;
        let before = first.saturating_sub(self.tail.steps.start);
        self.tail.snapshots = Some(Snapshots::new(before, drawn));
        self
    }

    /// Takes a step (counted from 0), whose gradients were clipped to this norm. The noise in an element of the mean
    /// gradient over a mirrored pair, `(S₊ + S₋)/(√2 q)`, has the standard deviation of an element of the release.
    pub(crate) fn take(
        &mut self,
        step: u64,
        estimator: &Estimator,
        released: &[f64],
        (norm, noise): (f64, f64),
    ) {
        let Some(latent) = estimator.latent() else { return };
        let Self { tail, before, thirds, trace, probes } = self;
        let in_tail = tail.steps.contains(&step);
        for stretch in thirds.iter_mut().flatten().chain(before).chain(probes).chain([tail]) {
            stretch.take(step, estimator, released, (norm, noise));
        }
        let shared = &estimator.shared;
        if let Some((sums, values, gradients)) = trace.as_mut().filter(|_| in_tail) {
            for draw in 0..shared.draws().number() {
                latent.at(shared, draw, released, values, gradients);
                let deviation = noise / shared.draws().stacking();
                sums.take(values, gradients, deviation * deviation);
            }
        }
    }

    /// Where some of the probes took their gradients.
    pub(crate) fn probed(&self) -> Option<&Snapshots> {
        self.probes.as_ref()?.snapshots.as_ref()
    }

    /// The path, if it was kept and has an end.
    pub(crate) fn path(&self) -> Option<Path> {
        let [first, last] = self.thirds.as_ref()?;
        if first.taken == 0 || last.taken == 0 {
            return None;
        }
        let values = difference(&first.mean(&first.values), &last.mean(&last.values));
        let gradients = difference(&first.mean(&first.gradients), &last.mean(&last.gradients));
        let squares: f64 = gradients.iter().map(|g| g * g).sum();
        let bend = CHANGE * CHANGE * squares;
        let variance = first.noise_variance() + last.noise_variance() + bend;
        Some(Path { values, gradients, variance })
    }

    /// What the trace says of the curvature, if that is planned.
    pub(crate) fn trace(&self) -> Option<&TraceSums> {
        self.trace.as_ref().map(|(sums, ..)| sums)
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        let stretches = [&self.tail].into_iter().chain(&self.before).chain(self.thirds.iter().flatten());
        let stretches = stretches.chain(&self.probes);
        stretches.for_each(|stretch| stretch.save(state));
        if let Some((sums, ..)) = &self.trace {
            sums.save(state);
        }
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let Self { tail, before, thirds, trace, probes } = self;
        let stretches = [tail].into_iter().chain(before).chain(thirds.iter_mut().flatten());
        let mut stretches = stretches.chain(probes);
        stretches.try_for_each(|stretch| stretch.restore(state))?;
        trace.as_mut().map_or(Ok(()), |(sums, ..)| sums.restore(state))
    }

    /// Whether the tail has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.tail.taken > 0
    }

    /// Means over the tail alone, of steps that look for values. `None` before it.
    pub(crate) fn searched(&self) -> Option<TailMeans> {
        self.has_begun().then(|| TailMeans::new(&self.tail))
    }

    /// Means over the tail, and over the probes behind it where these do not say something else. `None` before the
    /// tail.
    pub(crate) fn means(&self) -> Option<TailMeans> {
        let tail = self.searched()?;
        let Some(probes) = self.probes.as_ref().filter(|probes| probes.taken > 0) else { return Some(tail) };
        let both = agree(&tail, &TailMeans::new(probes));
        let with_probes = || TailMeans { probed: true, ..TailMeans::new(&self.tail.and(probes)) };
        Some(if both { with_probes() } else { tail })
    }

    /// Means over all steps of a run that goes straight on from its first, where a changing curvature makes less of an
    /// error in the mean gradient than the noise does. `None` before the tail.
    ///
    /// ```text
    /// with a share f of the steps before the tail:
    /// f · ⅛ ‖ḡ_before − ḡ_tail‖ < (noise in an element of the mean over all)
    /// ```
    ///
    /// Their mean gradient tells of the curvature, but is not what values are inferred from: such an error is as large
    /// as a deviation of what it leads to, and larger where the curvature changes more than that.
    pub(crate) fn since_start(&self) -> Option<TailMeans> {
        let tail = self.searched()?;
        let before = self.before.as_ref().filter(|before| before.taken > 0)?;
        let whole = self.tail.and(before);
        let moved = difference(&before.mean(&before.gradients), &tail.gradients);
        let moved = moved.iter().map(|g| g * g).sum::<f64>().sqrt();
        let bend = before.taken as f64 / whole.taken as f64 * BEND * moved;
        (bend < NEGLIGIBLE * whole.noise_variance().sqrt()).then(|| TailMeans::new(&whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 100 steps on two elements: gradients of this size before the tail, and of 1 in it.
    fn run(before: f64, straight: bool) -> GradientTail {
        let mut tail = GradientTail::new(2, (100, 0.8), straight, false, false);
        let stretches = [&mut tail.tail].into_iter().chain(&mut tail.before);
        for stretch in stretches {
            let (first, last) = (stretch.steps.start, stretch.steps.end.min(100));
            let gradient = if first == 0 { before } else { 1.0 };
            stretch.taken = last - first;
            stretch.values = vec![stretch.taken as f64 * if first == 0 { 0.0 } else { 2.0 }; 2];
            stretch.gradients = vec![stretch.taken as f64 * gradient; 2];
            stretch.variance = stretch.taken as f64 * 9.0;
        }
        tail
    }

    /// The noise of the mean over all is 3/10 in an element; gradients that differ by `x` in each make an
    /// error of `0.2 · ⅛ · √2 x`: the limit is at `x = 8.49`.
    #[test]
    fn all_steps_tell_of_the_curvature_where_gradients_are_alike() {
        let all = run(1.0 + 8.4, true).since_start().unwrap();
        assert_eq!((all.steps, all.values), (100, vec![1.6; 2]));
        assert!(
            (all.gradients[0] - (0.2 * 9.4 + 0.8)).abs() < 1e-12 && (all.noise_variance - 0.09).abs() < 1e-12
        );
        assert!(run(1.0 + 8.6, true).since_start().is_none());
        // Values follow from the tail in any case.
        let tail = run(1.0 + 8.4, true).means().unwrap();
        assert_eq!((tail.steps, tail.values, tail.gradients), (80, vec![2.0; 2], vec![1.0; 2]));
        assert!((tail.noise_variance - 9.0 / 80.0).abs() < 1e-12);
        // Where steps have to settle first, those before the tail never count.
        assert!(run(1.0, false).since_start().is_none());
        let empty = GradientTail::new(2, (100, 0.8), true, false, false);
        assert!(empty.means().is_none() && empty.since_start().is_none());
    }

    /// Ten steps at 1 and 3 by turns in each of two elements lie at a squared distance of 2 from their mean.
    #[test]
    fn how_far_values_wander_is_a_mean_squared_distance() {
        let mut tail = GradientTail::new(2, (10, 1.0), false, false, false);
        let stretch = &mut tail.tail;
        (stretch.taken, stretch.values, stretch.squares) = (10, vec![20.0; 2], 2.0 * 5.0 * (1.0 + 9.0));
        assert!((tail.searched().unwrap().wandered - 2.0).abs() < 1e-12);
        let mut numbers = Vec::new();
        tail.save(&mut numbers);
        let mut again = GradientTail::new(2, (10, 1.0), false, false, false);
        again.restore(&mut SavedState::new(&numbers)).unwrap();
        assert_eq!(tail.means(), again.means());
    }

    /// A tail of 50 steps and 50 probes with noise of 3, whose mean gradients of this many elements differ by this
    /// much in the first.
    fn probed(n: usize, by: f64) -> TailMeans {
        let mut tail = GradientTail::new(n, (100, 1.0), false, false, false).with_probes((50, 100), 0);
        let probes = tail.probes.as_mut().unwrap();
        for (stretch, first) in [(&mut tail.tail, 0.0), (probes, by)] {
            stretch.taken = 50;
            stretch.gradients = vec![0.0; n];
            stretch.gradients[0] = 50.0 * first;
            stretch.variance = 50.0 * 9.0;
        }
        assert_eq!(tail.searched().unwrap().steps, 50);
        tail.means().unwrap()
    }

    /// A difference of two means of 50 has the deviation `3 √(2/50)`.
    #[test]
    fn probes_count_where_they_say_what_the_others_say() {
        let deviation = 3.0 * (2.0_f64 / 50.0).sqrt();
        for n in [1, 5] {
            let both = probed(n, 2.9 * deviation);
            assert!(both.steps == 100 && (both.gradients[0] - 1.45 * deviation).abs() < 1e-12);
            let one = probed(n, 3.1 * deviation);
            assert!(one.steps == 50 && one.gradients[0] == 0.0 && (one.noise_variance - 0.18).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_are_saved_and_restored() {
        let first = run(1.5, true);
        let mut numbers = Vec::new();
        first.save(&mut numbers);
        let mut second = GradientTail::new(2, (100, 0.8), true, false, false);
        second.restore(&mut SavedState::new(&numbers)).unwrap();
        assert_eq!(first.means(), second.means());
        assert!(second.restore(&mut SavedState::new(&numbers[1..])).is_err());
    }
}
