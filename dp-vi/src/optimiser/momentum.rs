//! A running sum of gradients.

use super::state::append;
use super::update::sweep_with;
use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_decay};
use crate::error::Result;
use ppl_core::Scalar;

/// Momentum: a sum of all gradients in which older ones count less.
///
/// ```text
/// t ← μt + u,    u ← t          or, as Nesterov has it,    u ← μt + u
/// ```
///
/// # References
/// Polyak 1964; Sutskever, Martens, Dahl, Hinton 2013, "On the importance of initialization and momentum in
/// deep learning".
#[derive(Clone, Debug)]
pub struct Momentum<T = f64> {
    decay: f64,
    nesterov: bool,
    trace: Vec<T>,
}

impl<T: Scalar> Momentum<T> {
    /// Momentum with decay `μ`.
    ///
    /// # Errors
    /// If `μ` is not at least 0 and below 1.
    pub fn new(decay: f64) -> Result<Self> {
        Ok(Self { decay: check_decay("decay of momentum", decay)?, nesterov: false, trace: Vec::new() })
    }

    /// The same, looking ahead by one step.
    #[must_use]
    pub fn nesterov(mut self) -> Self {
        self.nesterov = true;
        self
    }
}

impl<T: Scalar> Transformation<T> for Momentum<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.trace = vec![T::zero(); layout.elements()];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        let decay = T::of(self.decay);
        match self.nesterov {
            false => sweep_with(update.values(), &mut self.trace, |u, trace| {
                *trace = decay * *trace + *u;
                *u = *trace;
            }),
            true => sweep_with(update.values(), &mut self.trace, |u, trace| {
                *trace = decay * *trace + *u;
                *u = decay * *trace + *u;
            }),
        }
    }

    fn save(&self, state: &mut Vec<f64>) {
        append(state, &self.trace);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.trace)
    }

    fn describe(&self) -> String {
        format!("{}momentum {}", if self.nesterov { "Nesterov's " } else { "" }, self.decay)
    }
}
