//! Exact figures of test records. **Not covered by any guarantee.**

use serde::Serialize;

use super::family::Family;
use super::predict::Prediction;
use crate::table::split::area_under_curve;

/// How predictions of one range of probabilities came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Records.
    pub records: usize,
    /// Mean predicted probability.
    pub predicted: f64,
    /// Share of positive outcomes.
    pub observed: f64,
}

/// How good predictions of test records are, beside those of a constant: the mean of their outcomes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Test records.
    pub records: usize,
    /// The mean outcome: of yes or no the base rate.
    pub base: f64,
    /// Of yes or no: area under the ROC curve, where both occur.
    pub area_under_curve: Option<f64>,
    /// Of yes or no: mean of minus the log-probability of the outcome.
    pub log_loss: Option<f64>,
    /// The same of the base rate, the best constant.
    pub log_loss_of_base: Option<f64>,
    /// Of yes or no: share of right answers, and that of the more frequent one.
    pub accuracy: Option<(f64, f64)>,
    /// Of yes or no: tenths of the records by predicted probability.
    pub calibration: Vec<Calibration>,
    /// Root mean square error.
    pub error: f64,
    /// The same of the mean outcome.
    pub error_of_base: f64,
    /// Always false: these are exact figures of held-back records.
    pub private: bool,
}

impl Metrics {
    /// Of predictions and outcomes.
    #[must_use]
    pub fn new(family: Family, predictions: &[Prediction], outcomes: &[f64]) -> Self {
        let n = outcomes.len() as f64;
        let base = outcomes.iter().sum::<f64>() / n;
        let means: Vec<f64> = predictions.iter().map(|prediction| prediction.mean).collect();
        let square = |of: &dyn Fn(usize) -> f64| {
            (outcomes.iter().enumerate().map(|(i, y)| (y - of(i)).powi(2)).sum::<f64>() / n).sqrt()
        };
        let loss = |of: &dyn Fn(usize) -> f64| {
            let one = |(i, y): (usize, &f64)| -(if *y == 1.0 { of(i) } else { 1.0 - of(i) }).max(1e-15).ln();
            outcomes.iter().enumerate().map(one).sum::<f64>() / n
        };
        let binary = family == Family::Bernoulli;
        let mut order: Vec<usize> = (0..outcomes.len()).collect();
        order.sort_by(|&a, &b| means[a].total_cmp(&means[b]));
        // Records that are predicted alike count alike, whatever their order: each as their mean.
        let mut alike = vec![0.0; outcomes.len()];
        for rows in order.chunk_by(|&a, &b| means[a] == means[b]) {
            let mean = rows.iter().map(|&i| outcomes[i]).sum::<f64>() / rows.len() as f64;
            rows.iter().for_each(|&i| alike[i] = mean);
        }
        let tenth = |k: usize| {
            let rows = &order[k * order.len() / 10..(k + 1) * order.len() / 10];
            (!rows.is_empty()).then(|| Calibration {
                records: rows.len(),
                predicted: rows.iter().map(|&i| means[i]).sum::<f64>() / rows.len() as f64,
                observed: rows.iter().map(|&i| alike[i]).sum::<f64>() / rows.len() as f64,
            })
        };
        let right =
            outcomes.iter().zip(&means).filter(|(y, p)| (**p >= 0.5) == (**y == 1.0)).count() as f64 / n;
        Self {
            records: outcomes.len(),
            base,
            area_under_curve: binary.then(|| area_under_curve(&means, outcomes)).flatten(),
            log_loss: binary.then(|| loss(&|i| means[i])),
            log_loss_of_base: binary.then(|| loss(&|_| base)),
            accuracy: binary.then_some((right, base.max(1.0 - base))),
            calibration: match binary {
                true => (0..10).filter_map(tenth).collect(),
                false => Vec::new(),
            },
            error: square(&|i| means[i]),
            error_of_base: square(&|_| base),
            private: false,
        }
    }
}
