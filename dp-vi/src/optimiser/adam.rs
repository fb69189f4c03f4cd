//! Adam.

use super::state::append;
use super::update::sweep_with_two;
use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_decay, check_positive};
use crate::error::Result;
use ppl_core::Scalar;

/// Adam without its rate: the update over the root of its mean square.
///
/// ```text
/// m ← β₁m + (1−β₁)u,   v ← β₂v + (1−β₂)u²,   u ← m̂ / (√v̂ + ε)         m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ)
/// ```
///
/// ```
/// use dp_vi::optimiser::{ParameterLayout, ScaleByAdam, ScaleBySchedule, Schedule, StepIndex, Transformation};
/// let mut adam = ScaleByAdam::<f64>::new().then(ScaleBySchedule::new(Schedule::Constant(0.05))?);
/// adam.init(&ParameterLayout::flat(1))?;
/// let mut x = [0.0];
/// for step in 0..500 {
///     let mut gradient = [-2.0 * (x[0] - 3.0)]; // of −(x − 3)²
///     adam.ascend(&mut x, &mut gradient, StepIndex { step, steps: 500 });
/// }
/// assert!((x[0] - 3.0).abs() < 1e-3);
/// # Ok::<(), dp_vi::Error>(())
/// ```
///
/// # References
/// Kingma, Ba 2015, "Adam: a method for stochastic optimization", algorithm 1.
#[derive(Clone, Debug)]
pub struct ScaleByAdam<T = f64> {
    decays: [f64; 2],
    floor: f64,
    first: Vec<T>,
    second: Vec<T>,
    /// `β₁ᵗ` and `β₂ᵗ` after `t` steps.
    decayed: [f64; 2],
}

impl<T: Scalar> ScaleByAdam<T> {
    /// Adam with `β₁ = 0.9`, `β₂ = 0.999`, `ε = 1e-8`.
    #[must_use]
    pub fn new() -> Self {
        Self { decays: [0.9, 0.999], floor: 1e-8, first: Vec::new(), second: Vec::new(), decayed: [1.0; 2] }
    }

    /// Adam with these settings.
    ///
    /// # Errors
    /// If `β₁` or `β₂` is not at least 0 and below 1, or `ε` is not positive and finite.
    pub fn with(first_decay: f64, second_decay: f64, floor: f64) -> Result<Self> {
        let decays = [
            check_decay("Adam's first decay", first_decay)?,
            check_decay("Adam's second decay", second_decay)?,
        ];
        Ok(Self { decays, floor: check_positive("Adam's epsilon", floor)?, ..Self::new() })
    }
}

impl<T: Scalar> Default for ScaleByAdam<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Transformation<T> for ScaleByAdam<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.first = vec![T::zero(); layout.elements()];
        self.second = vec![T::zero(); layout.elements()];
        self.decayed = [1.0; 2];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        self.decayed = [self.decayed[0] * self.decays[0], self.decayed[1] * self.decays[1]];
        let [correct_first, correct_second] = self.decayed.map(|decayed| T::of(1.0 / (1.0 - decayed)));
        let [keep_first, keep_second] = self.decays.map(|decay| T::of(1.0 - decay));
        let floor = T::of(self.floor);
        sweep_with_two(update.values(), &mut self.first, &mut self.second, |u, first, second| {
            *first += keep_first * (*u - *first);
            *second += keep_second * (*u * *u - *second);
            *u = *first * correct_first / ((*second * correct_second).sqrt() + floor);
        });
    }

    fn save(&self, state: &mut Vec<f64>) {
        append(state, &self.decayed);
        append(state, &self.first);
        append(state, &self.second);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.decayed)?;
        state.copy_to(&mut self.first)?;
        state.copy_to(&mut self.second)
    }

    fn describe(&self) -> String {
        let [first, second] = self.decays;
        format!("Adam {first} {second} {:e}", self.floor)
    }

    fn is_scale_free(&self) -> bool {
        true
    }
}
