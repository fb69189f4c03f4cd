//! Optimisers, as transformations of gradients that are put one after the other.
//!
//! They see only what has already been released, so nothing here touches privacy.

mod adadp;
mod adagrad;
mod adam;
mod average;
mod layout;
mod momentum;
mod noise_limited;
mod recipes;
mod rms_prop;
mod schedule;
mod state;
mod update;
mod yogi;

pub use adadp::AdaDp;
pub use adagrad::ScaleByAdaGrad;
pub use adam::ScaleByAdam;
pub use average::RelativeFactors;
pub(crate) use average::TailAverage;
pub use layout::{ParameterLayout, ScaleByName};
pub use momentum::Momentum;
pub(crate) use noise_limited::{NoiseLimited, StepScale};
pub use recipes::{ada_grad, adam, momentum, rms_prop, sgd, yogi};
pub use rms_prop::ScaleByRms;
pub use schedule::{ScaleBySchedule, Schedule};
pub use state::SavedState;
pub use update::Update;
pub use yogi::ScaleByYogi;

use crate::error::{Error, Result};
use ppl_core::Scalar;

/// Which step of a run this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepIndex {
    /// Steps done before, so that the first one is 0.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
}

/// One stage on the way from a gradient to a step *uphill*: it rewrites the update and may remember
/// something.
///
/// ```text
/// u₀ = gradient,   u₁ = first(u₀),   u₂ = second(u₁), …        parameters += the last
/// ```
///
/// A stage alone is an optimiser, and so is a chain of them: `scale_by_adam.then(scale_by_schedule)`. `T` is
/// the number type of the parameters. What a stage remembers is a list of numbers that can be saved and
/// restored, so that a run can be interrupted.
///
/// # Privacy
/// A stage is given released gradients and the parameters made of them, so whatever it does is
/// post-processing. It must be a *function* of what it is given and of what it remembers: a run that is
/// resumed repeats steps with the same noise, and the guarantee takes it that their updates are then the
/// same, too. A stage with randomness, a clock or hidden memory breaks that.
///
/// # An optimiser of one's own
/// The sign of every element, times a rate:
///
/// ```
/// use dp_vi::optimiser::{ParameterLayout, SavedState, Schedule, ScaleBySchedule, StepIndex, Transformation, Update};
///
/// struct Sign;
///
/// impl Transformation for Sign {
///     fn init(&mut self, _: &ParameterLayout) -> dp_vi::Result<()> {
///         Ok(())
///     }
///     fn transform(&mut self, update: &mut Update<'_>, _: &[f64], _: StepIndex) {
///         update.values().iter_mut().for_each(|u| *u = u.signum());
///     }
///     fn save(&self, _: &mut Vec<f64>) {} // nothing to remember
///     fn restore(&mut self, _: &mut SavedState<'_>) -> dp_vi::Result<()> {
///         Ok(())
///     }
///     fn describe(&self) -> String {
///         "sign".to_owned()
///     }
/// }
///
/// let mut optimiser = Sign.then(ScaleBySchedule::new(Schedule::Constant(0.25))?);
/// optimiser.init(&ParameterLayout::flat(2))?;
/// let mut x = [0.0, 0.0];
/// optimiser.ascend(&mut x, &mut [7.0, -0.1], StepIndex { step: 0, steps: 10 });
/// assert_eq!(x, [0.25, -0.25]);
/// # Ok::<(), dp_vi::Error>(())
/// ```
pub trait Transformation<T: Scalar = f64> {
    /// Forgets everything and prepares for these parameters. Memory is taken here.
    ///
    /// # Errors
    /// If this stage does not fit the parameters.
    fn init(&mut self, layout: &ParameterLayout) -> Result<()>;

    /// Rewrites the update of one step, given the parameters before it. Allocates nothing.
    fn transform(&mut self, update: &mut Update<'_, T>, parameters: &[T], at: StepIndex);

    /// Appends all that is remembered.
    fn save(&self, state: &mut Vec<f64>);

    /// Takes back what [`save`](Self::save) appended, after [`init`](Self::init).
    ///
    /// # Errors
    /// If there are too few numbers.
    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()>;

    /// The stage and all its settings, in words. Two stages that act differently must differ here: a run is
    /// resumed only by an optimiser of the same description.
    fn describe(&self) -> String;

    /// Whether updates are about equally long however long the gradients are, as where each element is divided by a
    /// running root mean square of its own. Not unless a stage says so; a chain is where one of its stages is.
    ///
    /// Where it is not, a [clip norm that follows the gradients](crate::Clipping::Adaptive) is bounded.
    fn is_scale_free(&self) -> bool {
        false
    }

    /// This stage, then another.
    fn then<N: Transformation<T>>(self, next: N) -> Chain<Self, N>
    where
        Self: Sized,
    {
        Chain { first: self, second: next }
    }

    /// One whole step: turns the gradient into an update and adds it to the parameters. The gradient is
    /// overwritten.
    fn ascend(&mut self, parameters: &mut [T], gradient: &mut [T], at: StepIndex) {
        let mut update = Update::new(gradient);
        self.transform(&mut update, parameters, at);
        update.add_to(parameters);
    }
}

/// Two transformations, one after the other; made by [`Transformation::then`].
#[derive(Clone, Debug)]
pub struct Chain<A, B> {
    first: A,
    second: B,
}

impl<T: Scalar, A: Transformation<T>, B: Transformation<T>> Transformation<T> for Chain<A, B> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.first.init(layout)?;
        self.second.init(layout)
    }

    fn transform(&mut self, update: &mut Update<'_, T>, parameters: &[T], at: StepIndex) {
        self.first.transform(update, parameters, at);
        self.second.transform(update, parameters, at);
    }

    fn save(&self, state: &mut Vec<f64>) {
        self.first.save(state);
        self.second.save(state);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        self.first.restore(state)?;
        self.second.restore(state)
    }

    fn describe(&self) -> String {
        format!("{}, {}", self.first.describe(), self.second.describe())
    }

    fn is_scale_free(&self) -> bool {
        self.first.is_scale_free() || self.second.is_scale_free()
    }
}

impl<T: Scalar, X: Transformation<T> + ?Sized> Transformation<T> for Box<X> {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        self.as_mut().init(layout)
    }

    fn transform(&mut self, update: &mut Update<'_, T>, parameters: &[T], at: StepIndex) {
        self.as_mut().transform(update, parameters, at);
    }

    fn save(&self, state: &mut Vec<f64>) {
        self.as_ref().save(state);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        self.as_mut().restore(state)
    }

    fn describe(&self) -> String {
        self.as_ref().describe()
    }

    fn is_scale_free(&self) -> bool {
        self.as_ref().is_scale_free()
    }
}

/// A decay that forgets in the end.
fn check_decay(what: &'static str, value: f64) -> Result<f64> {
    match (0.0..1.0).contains(&value) {
        true => Ok(value),
        false => Err(Error::OutOfRange { what, requirement: "at least 0 and below 1", value }),
    }
}

/// A rate, a tolerance or whatever else has to be above zero.
fn check_positive(what: &'static str, value: f64) -> Result<f64> {
    match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(Error::OutOfRange { what, requirement: "positive and finite", value }),
    }
}

/// A number that is added to where zero would be divided by.
fn check_floor(what: &'static str, value: f64) -> Result<f64> {
    match value >= 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(Error::OutOfRange { what, requirement: "finite and not negative", value }),
    }
}
