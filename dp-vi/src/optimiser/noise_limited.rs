//! Steps as long as the noise allows.

use super::state::append;
use super::{
    Chain, ParameterLayout, SavedState, ScaleByAdam, ScaleBySchedule, Schedule, StepIndex, Transformation,
    Update, adam,
};
use crate::error::Result;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// How far the noise of all steps together may move the parameters, in standard deviations of the prior: the
/// root of the expected square of the distance, if nothing but noise moved them.
///
/// A prior of standard deviation 4 then allows for a distance of 3, the radius of a rule for full-batch noisy
/// descent on columns scaled to [-1, 1]. It is not tuned: half and twice as much each rank better on some
/// tables and worse on others.
const RADIUS: f64 = 0.75;

/// How many standard deviations of the noise, in each direction and over the whole run, the longest sum of
/// gradients has to have for steps of the full length.
///
/// Where it has fewer, no rate lets the values arrive: what they walk is noise, which moves predictions to
/// where gradients say less. Chosen among 15, 30, 60 and 120 on five generated designs (800 to 20,000
/// records, 7 to 27 columns, ε from 0.01 to 1, 20 to 120 runs each): with 30 the points found rank better by
/// up to .02 where it matters, and in no case worse by more than .001.
const FAINT: f64 = 30.0;

/// Decay of the running mean of gradients.
const DECAY: f64 = 0.9;

/// Largest product of rate and curvature at which ascent with momentum stays stable is `2(1 + β)/(1 − β)`;
/// half of it.
const STABLE: f64 = (1.0 + DECAY) / (1.0 - DECAY);

/// What is known in advance of the gradients of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepScale {
    /// Number of steps.
    pub(crate) steps: u64,
    /// Number of records, as well as it is known.
    pub(crate) records: f64,
    /// A number of records that is not exceeded.
    pub(crate) most_records: f64,
    /// The longest gradient of one record.
    pub(crate) gradient: f64,
    /// The largest curvature of one record.
    pub(crate) curvature: f64,
}

/// Gradient ascent whose rate follows from the noise.
///
/// ```text
/// m ← 0.9 m + 0.1 g,     θ_j ← θ_j + η τ_j² m_j                     τ_j the prior's standard deviation
/// η = min( R min(1, r/30) / (s √(T Σ_j τ_j²)),  (1 + β)/(1 − β) / (N K max_j τ_j²) )
/// r = N C √T / (s √D)
/// ```
///
/// *The first bound.* If the gradients were noise alone, of standard deviation `s` in each element, `T` steps
/// would move the parameters, measured in standard deviations of the prior, by `R = 3/4` in root mean square.
/// So what the noise contributes is never much farther from the start than the prior is wide, and where the
/// records are many or ε is large the rate is higher by itself. Adam normalises gradients, and noise with
/// them: its steps are equally long whatever they are made of. Where even `N` gradients of the largest norm
/// `C`, all in one direction, are not much more than the noise, steps are shorter still.
///
/// *The second bound* is that of stability, at half of the largest rate: `N` records of a curvature of at
/// most `K` each.
///
/// *Turned steps.* Where the curvature `S̃ = S + E` is released during the run, the rest of the steps are those of a
/// noisy Newton method. In units of the prior's standard deviations, `D = diag(τ)`:
///
/// ```text
/// D S̃ D = V diag(λ) Vᵀ,     edge = s_E max_j τ_j² √(2D)           the largest eigenvalue that the noise alone has
/// M = V diag(1/(max(λ, 0) + edge + 1)) Vᵀ,     θ ← θ + η D M D m
/// η = min( R min(1, r/30) √max(1, #{λ > edge}) / (s √T ‖M D‖_F),  1 )     T the steps that are left
/// ```
///
/// With the edge added no direction's curvature is taken for less than it is, so that steps do not overshoot, and
/// one that the noise may have made is not followed far. The radius is `R` for each direction whose curvature
/// stands out of the noise: the records say more than the prior there, and what noise moves along it is small
/// beside what they do. Columns that nearly repeat each other, or that few records have, are then arrived at; with
/// one rate for all they are not, because it is the most curved direction that bounds it.
///
/// Parameters without a scale are left to Adam.
#[derive(Clone, Debug)]
pub(crate) struct NoiseLimited {
    /// For each element at the frontier its parameter, and the prior's standard deviation.
    places: Vec<(usize, f64)>,
    /// Standard deviation of the noise in each element of a gradient.
    noise: f64,
    /// How far noise may move the parameters, in standard deviations of the prior.
    radius: f64,
    /// `η τ²` for each parameter; zero for Adam's.
    rates: Vec<f64>,
    /// `η D M D`, row by row; empty before steps are turned.
    turned: Vec<f64>,
    mean: Vec<f64>,
    /// Steps of one update.
    steps: Vec<f64>,
    others: Chain<ScaleByAdam, ScaleBySchedule>,
}

impl NoiseLimited {
    /// With Adam's schedule for the parameters that have no scale.
    pub(crate) fn new(schedule: Schedule) -> Result<Self> {
        Ok(Self {
            places: Vec::new(),
            noise: 1.0,
            radius: 0.0,
            rates: Vec::new(),
            turned: Vec::new(),
            mean: Vec::new(),
            steps: Vec::new(),
            others: adam(schedule)?,
        })
    }

    /// Says which parameter each element at the frontier is, with the prior's standard deviation, and the standard
    /// deviation of the noise in each element of a gradient.
    pub(crate) fn place(&mut self, places: Vec<(usize, f64)>, noise: f64) {
        (self.places, self.noise) = (places, noise);
    }

    /// Sets the rates of parameters, after [`init`](Transformation::init) and [`place`](Self::place).
    pub(crate) fn scale(&mut self, known: StepScale) {
        let squares = || self.places.iter().map(|(_, scale)| scale * scale);
        let (sum, largest) = (squares().sum::<f64>(), squares().fold(0.0, f64::max));
        let (steps, elements) = (known.steps as f64, self.places.len() as f64);
        let signal = known.records * known.gradient * (steps / elements).sqrt() / self.noise;
        // A count with noise may be anything.
        self.radius = RADIUS * (signal / FAINT).clamp(0.1, 1.0);
        let walk = self.radius / (self.noise * (steps * sum).sqrt());
        let stable = STABLE / (known.most_records.max(1.0) * known.curvature * largest);
        let rate = walk.min(stable);
        for (parameter, scale) in &self.places {
            self.rates[*parameter] = rate * scale * scale;
        }
    }

    /// Turns the steps that are left by a released curvature of the elements at the frontier, row by row, with noise
    /// of this standard deviation on its diagonal. They stay as they are where it is not finite.
    pub(crate) fn turn(&mut self, curvature: &[f64], deviation: f64, steps: u64) {
        let n = self.places.len();
        if n == 0 || curvature.len() != n * n || !curvature.iter().all(|x| x.is_finite()) {
            return;
        }
        let widths = DVector::from_iterator(n, self.places.iter().map(|(_, scale)| *scale));
        let scaled = DMatrix::from_fn(n, n, |j, k| widths[j] * curvature[j * n + k] * widths[k]);
        let Some(found) = SymmetricEigen::try_new(scaled, f64::EPSILON, 100 * n) else { return };
        let edge = deviation * widths.amax().powi(2) * (2.0 * n as f64).sqrt();
        let inverse = found.eigenvalues.map(|value| 1.0 / (value.max(0.0) + edge + 1.0));
        let turn = &found.eigenvectors * DMatrix::from_diagonal(&inverse) * found.eigenvectors.transpose();
        let half = &turn * DMatrix::from_diagonal(&widths);
        let seen = found.eigenvalues.iter().filter(|value| **value > edge).count();
        let radius = self.radius * (seen.max(1) as f64).sqrt();
        let rate = (radius / (self.noise * (steps as f64).sqrt() * half.norm())).min(1.0);
        // Neither with a noise that is infinite nor with a radius that is NaN.
        if rate <= 0.0 || rate.is_nan() {
            return;
        }
        let whole = DMatrix::from_diagonal(&widths) * half * rate;
        // Symmetric, so that columns are rows.
        self.turned = whole.as_slice().to_vec();
        self.mean.fill(0.0);
    }
}

impl Transformation for NoiseLimited {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        let zeros = vec![0.0; layout.elements()];
        (self.rates, self.mean, self.steps) = (zeros.clone(), zeros.clone(), zeros);
        Transformation::<f64>::init(&mut self.others, layout)
    }

    fn transform(&mut self, update: &mut Update<'_>, parameters: &[f64], at: StepIndex) {
        for (((step, mean), rate), g) in
            self.steps.iter_mut().zip(&mut self.mean).zip(&self.rates).zip(update.values())
        {
            *mean = DECAY * *mean + (1.0 - DECAY) * *g;
            *step = rate * *mean;
        }
        if !self.turned.is_empty() {
            for ((parameter, _), row) in self.places.iter().zip(self.turned.chunks(self.places.len())) {
                let along = row.iter().zip(&self.places).map(|(turn, (other, _))| turn * self.mean[*other]);
                self.steps[*parameter] = along.sum();
            }
        }
        self.others.transform(update, parameters, at);
        for ((u, step), rate) in update.values().iter_mut().zip(&self.steps).zip(&self.rates) {
            if *rate > 0.0 {
                *u = *step;
            }
        }
    }

    fn save(&self, state: &mut Vec<f64>) {
        // What depends on what was released: the number of records, the start, at which the prior is as wide as the
        // widths say, and the curvature.
        state.push(self.radius);
        state.extend(self.places.iter().map(|(_, width)| width));
        append(state, &self.rates);
        state.push(self.turned.len() as f64);
        append(state, &self.turned);
        append(state, &self.mean);
        Transformation::<f64>::save(&self.others, state);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        self.radius = state.take(1)?[0];
        let widths = state.take(self.places.len())?;
        self.places.iter_mut().zip(widths).for_each(|((_, width), &saved)| *width = saved);
        state.copy_to(&mut self.rates)?;
        let turned = state.take(1)?[0] as usize;
        self.turned = state.take(turned)?.to_vec();
        state.copy_to(&mut self.mean)?;
        Transformation::<f64>::restore(&mut self.others, state)
    }

    fn describe(&self) -> String {
        let others = Transformation::<f64>::describe(&self.others);
        format!("steps limited by the noise, radius {RADIUS}, momentum {DECAY}; others {others}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

    fn optimiser(scales: Vec<f64>, noise: f64, known: StepScale) -> NoiseLimited {
        let n = scales.len();
        let mut optimiser = NoiseLimited::new(Schedule::Constant(0.05)).unwrap();
        optimiser.init(&ParameterLayout::new([("loc", n), ("log_scale", 1)])).unwrap();
        optimiser.place(scales.into_iter().enumerate().collect(), noise);
        optimiser.scale(known);
        optimiser
    }

    /// 400 walks of 200 steps in 5 dimensions: the mean of squares has a relative standard error of
    /// √(2/(5·400)) = 0.032 at most; the running mean lets the last ten steps out, a twentieth.
    #[test]
    fn noise_alone_moves_by_the_radius() {
        let scales = vec![4.0, 1.0, 0.5, 2.0, 4.0];
        let known = StepScale { steps: 200, records: 1e4, most_records: 1.0, gradient: 1.0, curvature: 1e-3 };
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(1), Purpose::Custom("walks"));
        let mut squares = 0.0;
        for walk in 0..400 {
            let mut optimiser = optimiser(scales.clone(), 30.0, known);
            let (mut x, mut g) = ([0.0; 6], [0.0; 6]);
            for step in 0..200 {
                noise.fill(walk * 200 + step, &mut g);
                g.iter_mut().for_each(|g| *g *= 30.0);
                optimiser.ascend(&mut x, &mut g, StepIndex { step, steps: 200 });
            }
            squares += x.iter().zip(&scales).map(|(x, scale)| (x / scale).powi(2)).sum::<f64>() / 400.0;
        }
        // In units of the prior's standard deviations the steps are longest where it is widest.
        assert!((squares.sqrt() / RADIUS - 0.97).abs() < 0.12, "{}", squares.sqrt());
    }

    #[test]
    fn a_faint_signal_shortens_steps() {
        let rate = |records: f64| {
            let known = StepScale { steps: 100, records, most_records: 1.0, gradient: 1.0, curvature: 1e-6 };
            optimiser(vec![1.0; 4], 10.0, known).rates[0]
        };
        // r = N √(100/4)/10
        let full = rate(1e4);
        assert_eq!(rate(60.0), full);
        assert!((rate(30.0) / full - 0.5).abs() < 1e-12);
        assert!((rate(-500.0) / full - 0.1).abs() < 1e-12);
    }

    #[test]
    fn many_records_do_not_make_it_diverge() {
        let known = StepScale { steps: 300, records: 1e6, most_records: 1e6, gradient: 1.0, curvature: 2.0 };
        let mut optimiser = optimiser(vec![4.0, 1.0], 1e-3, known);
        let mut x = [0.0; 3];
        for step in 0..300 {
            // The largest curvature that is allowed for, in one direction.
            let mut g = [2e6 * (1.5 - x[0]), 2e6 * (-0.5 - x[1]), 0.0];
            optimiser.ascend(&mut x, &mut g, StepIndex { step, steps: 300 });
        }
        assert!((x[0] - 1.5).abs() < 1e-3 && (x[1] + 0.5).abs() < 1e-2, "{x:?}");
    }

    /// 200 turned steps of noise alone, in 400 walks: in units of the prior's deviations they move by the radius,
    /// in root mean square, whichever way the curvature points and however much of it the noise hides.
    #[test]
    fn noise_alone_moves_turned_steps_by_the_radius() {
        let scales = vec![4.0, 1.0, 0.5, 2.0];
        let known = StepScale { steps: 200, records: 1e6, most_records: 1.0, gradient: 1.0, curvature: 1e-3 };
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(2), Purpose::Custom("turned walks"));
        // A direction that stands out, two that do not, and none between the third element and the others.
        let curvature = [
            900.0, 850.0, 0.0, 0.0, //
            850.0, 900.0, 0.0, 0.0, //
            0.0, 0.0, -3.0, 0.0, //
            0.0, 0.0, 0.0, 2.0,
        ];
        let mut squares = 0.0;
        for walk in 0..400 {
            let mut optimiser = optimiser(scales.clone(), 30.0, known);
            optimiser.turn(&curvature, 5.0, 200);
            let (mut x, mut g) = ([0.0; 5], [0.0; 5]);
            for step in 0..200 {
                noise.fill(walk * 200 + step, &mut g);
                g.iter_mut().for_each(|g| *g *= 30.0);
                optimiser.ascend(&mut x, &mut g, StepIndex { step, steps: 200 });
            }
            squares += x.iter().zip(&scales).map(|(x, scale)| (x / scale).powi(2)).sum::<f64>() / 400.0;
        }
        // As for steps that are not turned: the running mean lets the last ten steps out. One direction stands
        // out. The relative standard error of a mean of squares of which one direction has most is √(2/400).
        assert!((squares.sqrt() / RADIUS - 0.97).abs() < 0.25, "{}", squares.sqrt());
    }

    /// Curvatures of 10,000 and 1 in directions that are no element's: with one rate for all the second is not
    /// arrived at.
    #[test]
    fn turned_steps_arrive_where_one_rate_does_not() {
        let known = StepScale { steps: 300, records: 1e4, most_records: 1e4, gradient: 1.0, curvature: 1.0 };
        let (steep, flat) = (10_000.0, 1.0);
        let (sum, difference) = (0.5 * (steep + flat), 0.5 * (steep - flat));
        let curvature = [sum, difference, difference, sum];
        let at = [1.5, -0.5];
        let arrived = |turned: bool| {
            let mut optimiser = optimiser(vec![4.0, 4.0], 0.01, known);
            if turned {
                optimiser.turn(&curvature, 0.1, 300);
            }
            let mut x = [0.0; 3];
            for step in 0..300 {
                let away = [at[0] - x[0], at[1] - x[1]];
                let slope = |row: usize| curvature[2 * row] * away[0] + curvature[2 * row + 1] * away[1];
                let mut g = [slope(0), slope(1), 0.0];
                optimiser.ascend(&mut x, &mut g, StepIndex { step, steps: 300 });
            }
            (x[0] - at[0]).hypot(x[1] - at[1])
        };
        let (one_rate, turned) = (arrived(false), arrived(true));
        assert!(turned < 1e-3 && one_rate > 0.5, "{turned} {one_rate}");
    }

    /// The curvature at the start may be ten times that at the release: a margin is left.
    #[test]
    fn turned_steps_stay_stable_where_the_curvature_is_larger_than_released() {
        let known = StepScale { steps: 300, records: 1e4, most_records: 1e4, gradient: 1.0, curvature: 1.0 };
        let mut optimiser = optimiser(vec![4.0], 1e-6, known);
        optimiser.turn(&[100.0], 0.1, 300);
        let mut x = [0.0; 2];
        for step in 0..300 {
            let mut g = [1_000.0 * (1.5 - x[0]), 0.0];
            optimiser.ascend(&mut x, &mut g, StepIndex { step, steps: 300 });
        }
        assert!((x[0] - 1.5).abs() < 1e-6, "{x:?}");
    }

    #[test]
    fn a_curvature_that_is_not_finite_turns_nothing() {
        let known = StepScale { steps: 300, records: 1e4, most_records: 1e4, gradient: 1.0, curvature: 1.0 };
        let mut optimiser = optimiser(vec![4.0, 4.0], 1.0, known);
        for broken in [vec![1.0, f64::NAN, f64::NAN, 1.0], vec![f64::INFINITY; 4], vec![1.0; 9]] {
            optimiser.turn(&broken, 1.0, 100);
            assert!(optimiser.turned.is_empty());
        }
        optimiser.turn(&[1.0, 0.0, 0.0, 1.0], f64::INFINITY, 100);
        assert!(optimiser.turned.iter().all(|x| x.is_finite()));
    }

    #[test]
    fn parameters_without_a_scale_are_adams() {
        let known = StepScale { steps: 100, records: 10.0, most_records: 1.0, gradient: 1.0, curvature: 1.0 };
        let mut optimiser = optimiser(vec![1.0], 1.0, known);
        let mut x = [0.0; 2];
        optimiser.ascend(&mut x, &mut [1.0, 1.0], StepIndex { step: 0, steps: 100 });
        assert!((x[0] - 0.1 * 0.075).abs() < 1e-12 && (x[1] - 0.05).abs() < 1e-6, "{x:?}");
        optimiser.turn(&[3.0], 0.1, 99);
        let mut numbers = Vec::new();
        optimiser.save(&mut numbers);
        let mut other = NoiseLimited::new(Schedule::Constant(0.05)).unwrap();
        other.init(&ParameterLayout::new([("loc", 1), ("log_scale", 1)])).unwrap();
        other.place(vec![(0, 1.0)], 1.0);
        other.restore(&mut SavedState::new(&numbers)).unwrap();
        let (mut a, mut b) = (x, x);
        optimiser.ascend(&mut a, &mut [2.0, -1.0], StepIndex { step: 1, steps: 100 });
        other.ascend(&mut b, &mut [2.0, -1.0], StepIndex { step: 1, steps: 100 });
        assert_eq!(a, b);
    }
}
