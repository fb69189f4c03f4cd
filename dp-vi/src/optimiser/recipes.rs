//! The usual optimisers, put together.

use super::{
    Chain, Momentum, ScaleByAdaGrad, ScaleByAdam, ScaleByRms, ScaleBySchedule, ScaleByYogi, Schedule,
    Transformation,
};
use crate::error::Result;

/// Plain gradient ascent.
///
/// # Errors
/// If the rate is not positive and finite.
pub fn sgd(schedule: Schedule) -> Result<ScaleBySchedule> {
    ScaleBySchedule::new(schedule)
}

/// Gradient ascent with [`Momentum`].
///
/// # Errors
/// If the rate is not positive and finite, or the decay not at least 0 and below 1.
///
/// ```
/// use dp_vi::optimiser::{Schedule, Transformation, momentum};
/// let optimiser = momentum(0.9, Schedule::Constant(0.01))?;
/// assert_eq!(optimiser.describe(), "momentum 0.9, rate Constant(0.01)");
/// # Ok::<(), dp_vi::Error>(())
/// ```
pub fn momentum(decay: f64, schedule: Schedule) -> Result<Chain<Momentum, ScaleBySchedule>> {
    Ok(Momentum::new(decay)?.then(ScaleBySchedule::new(schedule)?))
}

/// [Adam](ScaleByAdam) with its usual settings.
///
/// # Errors
/// If the rate is not positive and finite.
pub fn adam(schedule: Schedule) -> Result<Chain<ScaleByAdam, ScaleBySchedule>> {
    Ok(ScaleByAdam::new().then(ScaleBySchedule::new(schedule)?))
}

/// [AdaGrad](ScaleByAdaGrad) with its usual settings.
///
/// # Errors
/// If the rate is not positive and finite.
pub fn ada_grad(schedule: Schedule) -> Result<Chain<ScaleByAdaGrad, ScaleBySchedule>> {
    Ok(ScaleByAdaGrad::new().then(ScaleBySchedule::new(schedule)?))
}

/// [RMSProp](ScaleByRms) with its usual settings.
///
/// # Errors
/// If the rate is not positive and finite.
pub fn rms_prop(schedule: Schedule) -> Result<Chain<ScaleByRms, ScaleBySchedule>> {
    Ok(ScaleByRms::new().then(ScaleBySchedule::new(schedule)?))
}

/// [Yogi](ScaleByYogi) with its usual settings.
///
/// # Errors
/// If the rate is not positive and finite.
pub fn yogi(schedule: Schedule) -> Result<Chain<ScaleByYogi, ScaleBySchedule>> {
    Ok(ScaleByYogi::new().then(ScaleBySchedule::new(schedule)?))
}
