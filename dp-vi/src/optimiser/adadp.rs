//! ADADP: gradient steps that find their own length.

use super::state::append;
use super::{ParameterLayout, SavedState, StepIndex, Transformation, Update, check_floor, check_positive};
use crate::error::{Error, Result};
use ppl_core::Scalar;

/// ADADP: two half steps are compared with one whole step, and the rate follows their difference.
///
/// ```text
/// even steps:  θ₁ = θ + ηg(θ),   θ_½ = θ + ½ηg(θ)                          go to θ_½
/// odd steps:   θ₂ = θ_½ + ½ηg(θ_½),   e = ‖(θ₁ − θ₂) / max(1, |θ₁|)‖₂       element by element
///              η ← η · min(max(√(τ/e), α_min), α_max)                      go to θ₂, or back to θ if e > τ
/// ```
///
/// It is a whole optimiser: nothing that needs a learning rate goes after it. The tolerance `τ` grows with
/// the noise that is put up with.
///
/// # Privacy
/// Rates and decisions depend on released gradients alone: post-processing.
///
/// ```
/// use dp_vi::optimiser::{AdaDp, ParameterLayout, StepIndex, Transformation};
/// let mut optimiser = AdaDp::<f64>::new(1e-3, 0.1)?;
/// optimiser.init(&ParameterLayout::flat(1))?;
/// let mut x = [0.0];
/// for step in 0..400 {
///     let mut gradient = [-2.0 * (x[0] - 3.0)]; // of −(x − 3)²
///     optimiser.ascend(&mut x, &mut gradient, StepIndex { step, steps: 400 });
/// }
/// assert!((x[0] - 3.0).abs() < 1e-3);
/// assert!(optimiser.rate() > 1e-3);
/// # Ok::<(), dp_vi::Error>(())
/// ```
///
/// # References
/// Koskela, Honkela 2020, "Learning rate adaptation for federated and differentially private learning" (arXiv
/// 1809.03832), algorithm 2. The absolute value in `max(1, |θ₁|)` is the paper's; d3p leaves it out, which
/// weighs errors of negative parameters differently from those of positive ones.
#[derive(Clone, Debug)]
pub struct AdaDp<T = f64> {
    start: f64,
    tolerance: f64,
    factors: [f64; 2],
    rate: f64,
    /// Whether the next step is the second half of a pair.
    halfway: bool,
    /// Parameters before the pair, and after a whole step.
    before: Vec<T>,
    whole: Vec<T>,
}

impl<T: Scalar> AdaDp<T> {
    /// ADADP that starts with learning rate `rate` and tolerance `τ`; in one pair of steps the rate changes
    /// by factors from 0.9 to 1.1.
    ///
    /// # Errors
    /// If one is not positive and finite.
    pub fn new(rate: f64, tolerance: f64) -> Result<Self> {
        Ok(Self {
            start: check_positive("learning rate", rate)?,
            tolerance: check_positive("ADADP's tolerance", tolerance)?,
            factors: [0.9, 1.1],
            rate,
            halfway: false,
            before: Vec::new(),
            whole: Vec::new(),
        })
    }

    /// The smallest and the largest factor by which the rate changes.
    ///
    /// # Errors
    /// Unless 0 ≤ `least` ≤ 1 ≤ `most`, both finite.
    pub fn factors(mut self, least: f64, most: f64) -> Result<Self> {
        check_floor("ADADP's smallest factor", least)?;
        check_positive("ADADP's largest factor", most)?;
        for (what, requirement, value, fits) in [
            ("ADADP's smallest factor", "at most 1", least, least <= 1.0),
            ("ADADP's largest factor", "at least 1", most, most >= 1.0),
        ] {
            if !fits {
                return Err(Error::OutOfRange { what, requirement, value });
            }
        }
        self.factors = [least, most];
        Ok(self)
    }

    /// The learning rate now.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

impl<T: Scalar> Transformation<T> for AdaDp<T> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.rate = self.start;
        self.halfway = false;
        self.before = vec![T::zero(); layout.elements()];
        self.whole = vec![T::zero(); layout.elements()];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, parameters: &[T], _: StepIndex) {
        let rate = T::of(self.rate);
        if !self.halfway {
            self.halfway = true;
            self.before.copy_from_slice(parameters);
            for ((whole, &parameter), &u) in self.whole.iter_mut().zip(parameters).zip(update.values().iter())
            {
                *whole = parameter + rate * u;
            }
            update.scale(0.5 * self.rate);
            return;
        }
        self.halfway = false;
        update.scale(0.5 * self.rate);
        let values = update.values();
        let mut error = 0.0;
        for ((&whole, &parameter), &u) in self.whole.iter().zip(parameters).zip(values.iter()) {
            let difference = (whole - (parameter + u)) / whole.abs().max(T::one());
            error += (difference * difference).as_f64();
        }
        let error = error.sqrt();
        // No error at all: any rate would do. An error that is not a number is as bad as can be.
        let wanted = if error.is_nan() { 0.0 } else { (self.tolerance / error).sqrt() };
        self.rate *= wanted.max(self.factors[0]).min(self.factors[1]);
        if error.is_nan() || error > self.tolerance {
            for ((u, &before), &parameter) in values.iter_mut().zip(&self.before).zip(parameters) {
                *u = before - parameter;
            }
        }
    }

    fn save(&self, state: &mut Vec<f64>) {
        append(state, &[self.rate, f64::from(u8::from(self.halfway))]);
        append(state, &self.before);
        append(state, &self.whole);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let mut head = [0.0; 2];
        state.copy_to(&mut head)?;
        (self.rate, self.halfway) = (head[0], head[1] != 0.0);
        state.copy_to(&mut self.before)?;
        state.copy_to(&mut self.whole)
    }

    fn describe(&self) -> String {
        let [least, most] = self.factors;
        format!("ADADP from rate {}, tolerance {}, factors {least} to {most}", self.start, self.tolerance)
    }
}
