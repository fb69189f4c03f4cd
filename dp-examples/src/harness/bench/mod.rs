//! One training step timed on four workloads, and split into its parts: what the program `bench` runs.
//!
//! | file | what is in it |
//! |---|---|
//! | `stopwatch` | blocks of repeated work, timed in turns |
//! | `parts` | a step's parts, each timed by itself |
//! | `inference` | a model and its records, from `DpVi` to a [`Measurement`] |
//! | `logistic`, `hierarchical`, `mixture`, `vae` | one workload each |
//! | `by_hand` | the logistic step as plain loops, for scale |
//! | `scale` | the logistic step on tables of different sizes |
//! | `data` | numbers that look random, by formula |
//! | `memory` | peak memory, where the system tells |
//!
//! Everything here is synthetic and public, and seeds are fixed, so nothing is private.

pub mod by_hand;
pub mod data;
pub mod hierarchical;
pub mod inference;
pub mod logistic;
pub mod memory;
pub mod mixture;
pub mod parts;
pub mod scale;
pub mod stopwatch;
pub mod vae;

pub use parts::Split;
pub use stopwatch::{Stopwatch, Timing};

use clap::ValueEnum;
use serde::{Serialize, Serializer};

/// What goes wrong in a measurement: whatever a library says.
pub type Failure = Box<dyn std::error::Error>;

/// The workloads, in the order they are run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Workload {
    /// Bayesian logistic regression, N 10,000, d 5, batch 100
    Logistic,
    /// Hierarchical logistic regression, N 500, three groups, batch 50
    Hierarchical,
    /// Gaussian mixture, k 5, d 2, N 2,000, batch 200
    Mixture,
    /// Variational autoencoder 784-400-50, N 10,000, batch 128
    Vae,
}

impl Workload {
    /// The name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::Hierarchical => "hierarchical",
            Self::Mixture => "mixture",
            Self::Vae => "vae",
        }
    }

    /// Runs the workload.
    ///
    /// # Errors
    ///
    /// What any of its parts finds wrong.
    pub fn measure(self, stopwatch: &Stopwatch) -> Result<Measurement, Failure> {
        match self {
            Self::Logistic => logistic::measure(stopwatch),
            Self::Hierarchical => hierarchical::measure(stopwatch),
            Self::Mixture => mixture::measure(stopwatch),
            Self::Vae => vae::measure(stopwatch),
        }
    }
}

/// What was found for one workload. Times are microseconds, medians over blocks unless the name says
/// otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// One private step: draw, gather, per-record gradient, clip, sum, exact noise, divide, Adam.
    pub private_us: f64,
    /// The same step with floating-point noise on floating-point sums
    /// ([`PrivacyNoise::Continuous`](dp_vi::PrivacyNoise)).
    pub continuous_us: f64,
    /// The same step without clipping and noise.
    pub plain_us: f64,
    /// The fastest block of private steps.
    pub private_best_us: f64,
    /// The fastest block of private steps with floating-point noise.
    pub continuous_best_us: f64,
    /// The fastest block of plain steps.
    pub plain_best_us: f64,
    /// A private step at a mirrored pair of draws and with a clip norm that follows a quantile, where `DpVi`
    /// makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_adaptive_us: Option<f64>,
    /// The same private step written by hand, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_us: Option<f64>,
    /// The private step's parts.
    pub split: Split,
    /// Number of elements that are clipped and noised.
    pub frontier: usize,
    /// Number of parameters that Adam moves.
    pub parameters: usize,
    /// Milliseconds to trace the model, differentiate it and plan the per-record program.
    pub prepare_ms: f64,
    /// Most memory the process held while it prepared and made private steps, beyond what it held with only
    /// records and initial parameters; megabytes. Where the system tells, and only of the autoencoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_mb_beside_data: Option<f64>,
}

/// All that one run of `bench` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The measurements by workload, in order.
    #[serde(serialize_with = "by_name")]
    pub workloads: Vec<(Workload, Measurement)>,
}

fn by_name<S: Serializer>(workloads: &[(Workload, Measurement)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(workloads.iter().map(|(workload, measurement)| (workload.name(), measurement)))
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Microseconds a step: medians, with the best block in brackets")?;
        writeln!(
            f,
            "{:<14}{:>24}{:>24}{:>24}{:>8}{:>10}{:>20}{:>12}",
            "",
            "private",
            "continuous noise",
            "plain",
            "ratio",
            "by hand",
            "mirrored, adaptive",
            "prepare/ms"
        )?;
        for (workload, m) in &self.workloads {
            let or_dash = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{us:.2}"));
            let with_best = |median: f64, best: f64| format!("{median:.2} ({best:.2})");
            writeln!(
                f,
                "{:<14}{:>24}{:>24}{:>24}{:>8.2}{:>10}{:>20}{:>12.2}",
                workload.name(),
                with_best(m.private_us, m.private_best_us),
                with_best(m.continuous_us, m.continuous_best_us),
                with_best(m.plain_us, m.plain_best_us),
                m.private_us / m.plain_us,
                or_dash(m.hand_us),
                or_dash(m.private_adaptive_us),
                m.prepare_ms
            )?;
        }
        writeln!(f)?;
        writeln!(f, "Parts of the private step")?;
        write!(f, "{:<14}", "")?;
        for name in Split::NAMES {
            write!(f, "{name:>14}")?;
        }
        for (workload, m) in &self.workloads {
            write!(f, "\n{:<14}", workload.name())?;
            for part in m.split.parts() {
                write!(f, "{part:>14.2}")?;
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_its_workloads() {
        let split = Split {
            draw: 1.0,
            gather: 2.0,
            gradient: 3.0,
            clip_and_sum: 4.0,
            noise: 5.0,
            optimiser: 6.0,
            rest: 7.0,
        };
        let measurement = Measurement {
            private_us: 28.0,
            continuous_us: 26.0,
            plain_us: 14.0,
            private_best_us: 27.0,
            continuous_best_us: 25.0,
            plain_best_us: 13.0,
            private_adaptive_us: Some(40.0),
            hand_us: None,
            split,
            frontier: 5,
            parameters: 10,
            prepare_ms: 0.5,
            peak_mb_beside_data: None,
        };
        let report = Report { workloads: vec![(Workload::Mixture, measurement)] };
        let json = serde_json::to_value(&report).unwrap();
        let mixture = &json["workloads"]["mixture"];
        assert_eq!(mixture["private_us"], 28.0);
        assert_eq!(mixture["continuous_us"], 26.0);
        assert_eq!(mixture["split"]["clip_and_sum"], 4.0);
        assert!(mixture.get("hand_us").is_none() && mixture["private_adaptive_us"] == 40.0);
        let text = report.to_string();
        assert!(
            text.contains("28.00 (27.00)")
                && text.contains("40.00")
                && text.contains("2.00")
                && text.contains("clip_and_sum"),
            "{text}"
        );
    }
}
