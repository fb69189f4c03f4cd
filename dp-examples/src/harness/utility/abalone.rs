//! Abalone: logistic regression on real measurements, split anew for every run.

use std::path::Path;

use dp_accountant::Budget;
use dp_sampler::{Poisson, Purpose, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, Fit, Gradients, RecordWeights};
use ndarray::{Array1, Array2, Axis};
use serde::Serialize;

use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::{model, records};
use crate::table::Table;
use crate::table::split::{accuracy, probabilities, split};

/// Columns of measurements with public caps: `[0, cap]` is scaled to `[-1, 1]`, and what lies outside is cut
/// off.
const MEASUREMENTS: [(&str, f64); 7] = [
    ("length", 1.0),
    ("diameter", 0.8),
    ("height", 0.4),
    ("whole_weight", 3.0),
    ("shucked_weight", 1.5),
    ("viscera_weight", 0.8),
    ("shell_weight", 1.1),
];

/// Categories of the column `sex`.
const SEXES: [&str; 3] = ["M", "F", "I"];

/// A shell with more rings than this is an old one.
const RINGS: f64 = 9.0;

/// Share of the records that is held back.
const TEST_FRACTION: f64 = 0.2;

/// Features (an intercept, the sexes, the scaled measurements) and labels.
///
/// # Errors
///
/// A missing column, or a cell that is not what the column holds.
pub fn design(table: &Table) -> Result<(Array2<f64>, Array1<f64>), Failure> {
    let mut x = Array2::zeros((table.len(), 1 + SEXES.len() + MEASUREMENTS.len()));
    x.column_mut(0).fill(1.0);
    for (i, cell) in table.cells("sex")?.enumerate() {
        let Some(which) = SEXES.iter().position(|sex| *sex == cell.text()) else {
            let place = format!("{}:{}", table.name(), cell.line());
            return Err(format!(
                "{place}: column 'sex': expected M, F or I, got '{}'",
                cell.text().escape_debug()
            )
            .into());
        };
        x[[i, 1 + which]] = 1.0;
    }
    for (j, (name, cap)) in MEASUREMENTS.iter().enumerate() {
        for (i, cell) in table.cells(name)?.enumerate() {
            x[[i, 1 + SEXES.len() + j]] = (2.0 * cell.number()? / cap - 1.0).clamp(-1.0, 1.0);
        }
    }
    let rings = table.cells("rings")?.map(|cell| cell.number()).collect::<crate::Result<Array1<f64>>>()?;
    Ok((x, rings.mapv(|rings| f64::from(rings > RINGS))))
}

/// Features and outcomes.
pub type Part = (Array2<f64>, Array1<f64>);

/// Records to fit, and a fifth that is held back.
///
/// # Errors
///
/// If there are too few records to split.
pub fn parts(x: &Array2<f64>, y: &Array1<f64>, seed: &Seed) -> crate::Result<[Part; 2]> {
    let parts = split(y.len(), TEST_FRACTION, &mut seed.streams(Purpose::Split).at(0))?;
    Ok([parts.train, parts.test].map(|rows| (x.select(Axis(0), &rows), y.select(Axis(0), &rows))))
}

/// How a fit is made, where it is not left to the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Choice {
    /// Largest norm of a record's gradient, clipped to.
    pub clip_norm: f64,
    /// Probability with which a record is in a batch; 1 for all records.
    pub rate: f64,
    /// Number of steps.
    pub steps: u64,
    /// Adam's rate, held for half of the run and lowered to zero along a cosine.
    pub learning_rate: f64,
    /// Share of the run, at its end, that is averaged.
    pub average: f64,
}

impl Default for Choice {
    fn default() -> Self {
        Self { clip_norm: CLIP_NORM, rate: 1.0, steps: STEPS, learning_rate: LEARNING_RATE, average: 0.5 }
    }
}

/// Fits one part, privately where there is a budget, and measures the accuracy on the other.
///
/// # Errors
///
/// A fit that fails.
pub fn accuracy_of(
    [(train_x, train_y), (test_x, test_y)]: [Part; 2],
    (budget, gradients, draws): (Option<Budget>, Gradients, DrawScheme),
    choice: Choice,
    seed: Seed,
) -> Result<(f64, Fit), Failure> {
    let vi = DpVi::new(model, AutoNormal::new())
        .gradients(gradients)
        .draw_scheme(draws)
        .schedule(Schedule::HoldThenCosine(choice.learning_rate))
        .steps(choice.steps)
        .average_tail(choice.average)
        .clip_norm(choice.clip_norm)
        .clipping(Clipping::Flat)
        .weights(RecordWeights::None)
        .correction(Correction::None)
        .subsample(Poisson::rate(choice.rate)?)
        .seed(seed);
    let vi = match budget {
        Some(budget) => vi.budget(budget),
        None => vi.without_privacy(),
    };
    let fit = vi.fit(&records(train_x, train_y)?)?;
    let w: Vec<f64> = fit.posterior().mean("w")?.iter().copied().collect();
    let right = accuracy(probabilities(test_x.view(), ndarray::aview1(&w))?.view(), test_y.view())?;
    Ok((right, fit))
}

/// Splits the file anew for each run, fits one part and measures the accuracy on the other.
///
/// # Errors
///
/// What is wrong with the file, or a fit that fails.
pub fn measure(train: &Path, choice: Choice, protocol: &Protocol) -> Result<Outcome, Failure> {
    let (x, y) = design(&Table::read(train)?)?;
    let privacy = (Some(protocol.budget()), protocol.gradients, DrawScheme::default());
    protocol.measure("accuracy", |seed| {
        let seed = Seed::for_tests(seed);
        let (right, fit) = accuracy_of(parts(&x, &y, &seed)?, privacy, choice, seed)?;
        RunOutcome::new(right, fit.privacy())
    })
}

/// Weights are of the order of ten, so Adam needs larger steps than by default.
const LEARNING_RATE: f64 = 0.4;
/// More than by default, for the same reason; on full batches they cost time only. Half as many give 0.002 to
/// 0.004 less.
const STEPS: u64 = 800;
/// As with ranks, the direction of the weights is what counts: below the norm of every row, which is at least
/// √2, and clipped to.
const CLIP_NORM: f64 = 0.5;
