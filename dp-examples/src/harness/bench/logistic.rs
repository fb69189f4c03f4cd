//! Bayesian logistic regression: 10,000 records of 5 features, batches of 100 on average.

use ndarray::Array2;
use ppl_core::{Column, Records};

use super::by_hand::ByHand;
use super::data::{labels, normals, seed};
use super::inference::{Inference, ModelFunction};
use super::{Failure, Measurement, Stopwatch};
use crate::logistic::model;

/// Number of records.
pub const RECORDS: usize = 10_000;
/// Number of features.
pub const WIDTH: usize = 5;
/// Sampling rate.
pub const RATE: f64 = 0.01;
/// Clip norm.
pub const CLIP_NORM: f64 = 1.0;

/// The weights that labels are drawn with.
const TRUTH: [f64; WIDTH] = [-0.8, -2.0, 0.6, 0.75, -0.3];

/// Standard normal features, record after record, and labels.
#[must_use]
pub fn data() -> (Vec<f64>, Vec<f64>) {
    let x = normals(1, RECORDS * WIDTH);
    let logits: Vec<f64> = x.chunks(WIDTH).map(|x| x.iter().zip(TRUTH).map(|(x, w)| x * w).sum()).collect();
    let y = labels(2, &logits);
    (x, y)
}

/// The model with its records.
///
/// # Errors
///
/// None with the data above.
pub fn inference() -> Result<Inference<ModelFunction>, Failure> {
    let (x, y) = data();
    let x = Array2::from_shape_vec((RECORDS, WIDTH), x)?;
    let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?;
    Ok(Inference { model: model as ModelFunction, records, rate: RATE, clip_norm: CLIP_NORM })
}

/// Times the workload, beside the same step by hand.
///
/// # Errors
///
/// What any of its parts finds wrong.
pub fn measure(stopwatch: &Stopwatch) -> Result<Measurement, Failure> {
    let inference = inference()?;
    // The noise multiplier does not matter for the time.
    let mut by_hand = ByHand::new(1.0, &seed())?;
    inference.measure(Some(&mut || by_hand.step()), stopwatch)
}
