//! Yogi.

use super::state::append;
use super::update::sweep_with_two;
use super::{
    ParameterLayout, SavedState, StepIndex, Transformation, Update, check_decay, check_floor, check_positive,
};
use crate::error::Result;
use ppl_core::Scalar;

/// Yogi without its rate: Adam, whose mean square moves by no more than the newest square allows.
///
/// ```text
/// m ← β₁m + (1−β₁)u,   v ← v + (1−β₂) sign(u² − v) u²,   u ← m̂ / (√v̂ + ε)      m = 0, v = v₀ at first
/// ```
///
/// # References
/// Zaheer, Reddi, Sachan, Kale, Kumar 2018, "Adaptive methods for nonconvex optimization", algorithm 2.
#[derive(Clone, Debug)]
pub struct ScaleByYogi<T = f64> {
    decays: [f64; 2],
    floor: f64,
    start: f64,
    first: Vec<T>,
    second: Vec<T>,
    /// `β₁ᵗ` and `β₂ᵗ` after `t` steps.
    decayed: [f64; 2],
}

impl<T: Scalar> ScaleByYogi<T> {
    /// Yogi with `β₁ = 0.9`, `β₂ = 0.999`, `ε = 1e-3`, `v₀ = 1e-6`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            decays: [0.9, 0.999],
            floor: 1e-3,
            start: 1e-6,
            first: Vec::new(),
            second: Vec::new(),
            decayed: [1.0; 2],
        }
    }

    /// Yogi with these settings.
    ///
    /// # Errors
    /// If `β₁` or `β₂` is not at least 0 and below 1, `ε` not positive and finite, or `v₀` negative or not
    /// finite.
    pub fn with(first_decay: f64, second_decay: f64, floor: f64, start: f64) -> Result<Self> {
        let decays = [
            check_decay("Yogi's first decay", first_decay)?,
            check_decay("Yogi's second decay", second_decay)?,
        ];
        let (floor, start) =
            (check_positive("Yogi's epsilon", floor)?, check_floor("Yogi's first mean square", start)?);
        Ok(Self { decays, floor, start, ..Self::new() })
    }
}

impl<T: Scalar> Default for ScaleByYogi<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Transformation<T> for ScaleByYogi<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.first = vec![T::zero(); layout.elements()];
        self.second = vec![T::of(self.start); layout.elements()];
        self.decayed = [1.0; 2];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        self.decayed = [self.decayed[0] * self.decays[0], self.decayed[1] * self.decays[1]];
        let [correct_first, correct_second] = self.decayed.map(|decayed| T::of(1.0 / (1.0 - decayed)));
        let [keep_first, keep_second] = self.decays.map(|decay| T::of(1.0 - decay));
        let floor = T::of(self.floor);
        sweep_with_two(update.values(), &mut self.first, &mut self.second, |u, first, second| {
            let square = *u * *u;
            *first += keep_first * (*u - *first);
            let change = keep_second * square;
            if square > *second {
                *second += change;
            } else if square < *second {
                *second = *second - change;
            }
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
        format!("Yogi {first} {second} {:e} {:e}", self.floor, self.start)
    }

    fn is_scale_free(&self) -> bool {
        true
    }
}
