//! The parameter that a budget asks for: noise, steps, sampling rate or batch.
//!
//! Each search returns a value whose cost was computed as a [`Ledger`](crate::Ledger) computes it and keeps
//! the budget, or an error that says why none does.

mod guess;
mod noise;
mod sampling;
mod search;

pub use noise::{Calibrated, calibrate, calibrate_noise_multiplier};
pub use sampling::{
    CalibratedBatch, CalibratedRate, CalibratedSteps, calibrate_batch, calibrate_rate, calibrate_steps,
};
