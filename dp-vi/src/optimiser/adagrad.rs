//! AdaGrad.

use super::state::append;
use super::update::sweep_with;
use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_floor};
use crate::error::Result;
use ppl_core::Scalar;

/// AdaGrad without its rate: the update over the root of the sum of all its squares.
///
/// ```text
/// s ← s + u²  (s = s₀ at first),    u ← u / √(s + ε)         0 where s is 0
/// ```
///
/// # References
/// Duchi, Hazan, Singer 2011, "Adaptive subgradient methods for online learning and stochastic optimization".
#[derive(Clone, Debug)]
pub struct ScaleByAdaGrad<T = f64> {
    start: f64,
    floor: f64,
    sum: Vec<T>,
}

impl<T: Scalar> ScaleByAdaGrad<T> {
    /// AdaGrad with `s₀ = 0.1`, `ε = 1e-7`.
    #[must_use]
    pub fn new() -> Self {
        Self { start: 0.1, floor: 1e-7, sum: Vec::new() }
    }

    /// AdaGrad with these settings.
    ///
    /// # Errors
    /// If one is negative or not finite.
    pub fn with(start: f64, floor: f64) -> Result<Self> {
        let start = check_floor("AdaGrad's first sum", start)?;
        Ok(Self { start, floor: check_floor("AdaGrad's epsilon", floor)?, sum: Vec::new() })
    }
}

impl<T: Scalar> Default for ScaleByAdaGrad<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Transformation<T> for ScaleByAdaGrad<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.sum = vec![T::of(self.start); layout.elements()];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        let floor = T::of(self.floor);
        sweep_with(update.values(), &mut self.sum, |u, sum| {
            *sum += *u * *u;
            *u = if *sum > T::zero() { *u / (*sum + floor).sqrt() } else { T::zero() };
        });
    }

    fn save(&self, state: &mut Vec<f64>) {
        append(state, &self.sum);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.sum)
    }

    fn describe(&self) -> String {
        format!("AdaGrad {} {:e}", self.start, self.floor)
    }

    fn is_scale_free(&self) -> bool {
        true
    }
}
