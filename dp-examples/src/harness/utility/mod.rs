//! How good private posteriors are: the problems that the program `utility` runs.
//!
//! | file | what is in it |
//! |---|---|
//! | `files` | numeric CSV files, columns by name |
//! | `logistic` | error and standard deviations against the non-private posterior |
//! | `hierarchical` | area under the curve on test records |
//! | `mixture` | log-likelihood of test records |
//! | `abalone` | accuracy on test records |
//! | `regression` | Gaussian regression by defaults: σ against that without privacy |
//! | `gain` | models of other kinds by defaults: held-back log-likelihood against that without privacy |
//! | `coverage` | how often intervals hold the true weights |
//! | `lda`, `corpus` | perplexity of held-back documents; documents as counts of words |
//! | `belief_network` | pixels of held-back halves of images |
//! | `statistics` | logistic regression by statistics and by gradients: area under the curve |
//! | `table` | all of them at once |
//!
//! Every run has a fixed seed, so that figures can be had again: as a use of real records, none of this would
//! be private. Settings are the defaults of [`DpVi`](dp_vi::DpVi) unless a problem says otherwise, and why.

pub mod abalone;
pub mod arguments;
pub mod belief_network;
pub mod corpus;
pub mod coverage;
pub mod files;
pub mod gain;
pub mod hierarchical;
pub mod lda;
pub mod logistic;
pub mod mixture;
pub mod regression;
pub mod statistics;
pub mod table;

use dp_accountant::{Budget, Relation};
use dp_vi::{Gradients, PrivacyReport};
use ppl_core::{Model, Records, Values, log_density};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// What stands beside a figure that the guide's posterior has, without the correction for the noise.
const GUIDE_ALONE: &str = "guide alone";

/// What goes wrong: whatever a library says.
pub type Failure = Box<dyn std::error::Error>;

/// The mean log-likelihood of test records at values of a model's sites.
///
/// # Errors
///
/// Records or values that do not fit the model.
pub(crate) fn mean_log_likelihood<M: Model + ?Sized>(
    model: &M,
    test: &Records,
    values: &Values,
) -> Result<f64, Failure> {
    Ok(log_density(model, test, values)?.likelihood.mean().unwrap_or(f64::NAN))
}

/// What every problem needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// Which data sets are neighbours.
    pub relation: Relation,
    /// Budget of one run.
    pub epsilon: f64,
    /// Of the budget.
    pub delta: f64,
    /// Number of runs, each with its own seed.
    pub runs: u64,
    /// Seed of the first run; the others follow.
    pub first_seed: u64,
    /// With respect to what a record's gradient is taken and clipped.
    pub gradients: Gradients,
}

impl Protocol {
    /// The budget of one run.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget { epsilon: self.epsilon, delta: self.delta, relation: self.relation }
    }

    /// Makes all runs, several at a time, and sums them up.
    ///
    /// # Errors
    ///
    /// The first failure of a run.
    pub fn measure(
        &self,
        metric: &'static str,
        run: impl Fn(u64) -> Result<RunOutcome, Failure> + Sync,
    ) -> Result<Outcome, Failure> {
        Ok(self.measure_each(metric, |seed| Ok((run(seed)?, ())))?.1)
    }

    /// The same, with what else is found in each run.
    fn measure_each<T: Send>(
        &self,
        metric: &'static str,
        run: impl Fn(u64) -> Result<(RunOutcome, T), Failure> + Sync,
    ) -> Result<(Vec<T>, Outcome), Failure> {
        // Failures need not be fit to travel between threads, their words are.
        let runs: Vec<Result<(RunOutcome, T), String>> = (0..self.runs)
            .into_par_iter()
            .map(|number| {
                run(self.first_seed.wrapping_add(number))
                    .map_err(|error| crate::program::error_line(error.as_ref()))
            })
            .collect();
        let runs: Vec<(RunOutcome, T)> = runs
            .into_iter()
            .collect::<Result<_, String>>()
            .map_err(|line| line.strip_prefix("error: ").unwrap_or(&line).to_owned())?;
        let (runs, others): (Vec<RunOutcome>, Vec<T>) = runs.into_iter().unzip();
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let (mean, standard_error) = mean_and_error(&values);
        let mut more = BTreeMap::new();
        for name in runs.iter().flat_map(|run| run.more.keys()) {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.more.get(name).copied()).collect();
            more.insert(*name, mean_and_error(&values).0);
        }
        let epsilon_upper = runs.iter().map(|run| run.epsilon_upper).fold(f64::NEG_INFINITY, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let (epsilon, delta) = (self.epsilon, self.delta);
        let outcome = Outcome {
            metric,
            mean,
            standard_error,
            epsilon_upper,
            epsilon,
            delta,
            runs: self.runs,
            smallest,
            more,
            weights: Vec::new(),
        };
        Ok((others, outcome))
    }
}

/// What one run came to.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The metric.
    pub value: f64,
    /// Upper end of the ε that was spent, from the ledger.
    pub epsilon_upper: f64,
    /// Further figures by name.
    pub more: BTreeMap<&'static str, f64>,
}

impl RunOutcome {
    /// A run of this value.
    ///
    /// # Errors
    ///
    /// If the value is not finite or the report states no ε.
    pub fn new(value: f64, report: &PrivacyReport) -> Result<Self, Failure> {
        let epsilon = report.epsilon.as_ref().ok_or("a run without privacy has no epsilon to report")?;
        if !value.is_finite() {
            return Err(format!("a run came to {value}").into());
        }
        Ok(Self { value, epsilon_upper: epsilon.upper, more: BTreeMap::new() })
    }
}

/// What all runs came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// What was measured.
    pub metric: &'static str,
    /// Its mean over the runs.
    pub mean: f64,
    /// The mean's standard error over the runs; 0 for a single one.
    pub standard_error: f64,
    /// The largest upper end of ε that a run's ledger states.
    pub epsilon_upper: f64,
    /// The budget's ε.
    pub epsilon: f64,
    /// The budget's δ.
    pub delta: f64,
    /// Number of runs.
    pub runs: u64,
    /// The smallest value of the metric.
    pub smallest: f64,
    /// Means of further figures.
    #[serde(flatten)]
    pub more: BTreeMap<&'static str, f64>,
    /// Weight by weight, for coverage on a table of one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<coverage::WeightCoverage>,
}

/// Which records are trained on, and which are held back: those with `i % 10` equal to `fold`.
///
/// # Errors
///
/// A fold above 9, and records that are all on one side.
pub fn held_back(records: usize, fold: usize) -> Result<(Vec<usize>, Vec<usize>), Failure> {
    if fold > 9 {
        return Err(format!("--fold must be from 0 to 9, got {fold}").into());
    }
    let (train, test): (Vec<usize>, Vec<usize>) = (0..records).partition(|i| i % 10 != fold);
    match train.is_empty() || test.is_empty() {
        true => Err(format!("{records} records are too few to hold some back").into()),
        false => Ok((train, test)),
    }
}

/// Mean and its standard error.
#[must_use]
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
