//! RMSProp.

use super::state::append;
use super::update::sweep_with;
use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_decay, check_floor};
use crate::error::Result;
use ppl_core::Scalar;

/// RMSProp without its rate: the update over the root of a running mean of its squares.
///
/// ```text
/// v ← γv + (1−γ)u²,    u ← u / √(v + ε)
/// ```
///
/// # References
/// Tieleman, Hinton 2012, lecture 6.5 of "Neural networks for machine learning".
#[derive(Clone, Debug)]
pub struct ScaleByRms<T = f64> {
    decay: f64,
    floor: f64,
    mean: Vec<T>,
}

impl<T: Scalar> ScaleByRms<T> {
    /// RMSProp with `γ = 0.9`, `ε = 1e-8`.
    #[must_use]
    pub fn new() -> Self {
        Self { decay: 0.9, floor: 1e-8, mean: Vec::new() }
    }

    /// RMSProp with these settings.
    ///
    /// # Errors
    /// If `γ` is not at least 0 and below 1, or `ε` is negative or not finite.
    pub fn with(decay: f64, floor: f64) -> Result<Self> {
        let decay = check_decay("RMSProp's decay", decay)?;
        Ok(Self { decay, floor: check_floor("RMSProp's epsilon", floor)?, mean: Vec::new() })
    }
}

impl<T: Scalar> Default for ScaleByRms<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Transformation<T> for ScaleByRms<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.mean = vec![T::zero(); layout.elements()];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        let (keep, floor) = (T::of(1.0 - self.decay), T::of(self.floor));
        sweep_with(update.values(), &mut self.mean, |u, mean| {
            *mean += keep * (*u * *u - *mean);
            let root = (*mean + floor).sqrt();
            // Without a floor, nothing has happened yet where the mean is zero.
            *u = if root > T::zero() { *u / root } else { T::zero() };
        });
    }

    fn save(&self, state: &mut Vec<f64>) {
        append(state, &self.mean);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.mean)
    }

    fn describe(&self) -> String {
        format!("RMSProp {} {:e}", self.decay, self.floor)
    }

    fn is_scale_free(&self) -> bool {
        true
    }
}
