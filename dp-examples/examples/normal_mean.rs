//! The mean of a normal distribution of records on a grid, released in four ways; each with the ε that it claims, the ε that enumeration over all neighbours
//! finds, and how far from the true posterior it is on average.
//!
//! ```sh
//! cargo run --release -p dp-examples --example normal_mean -- --records 6 --epsilon 1 --json
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::finite::{Name, Report, over_normal_mean};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// The mean of a normal distribution of records on a grid, released in four ways.
#[derive(Debug, clap::Parser)]
#[command(name = "normal_mean", version)]
pub(crate) struct Arguments {
    /// Number of records, which is public
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u64).range(1..=8))]
    pub(crate) records: u64,

    /// The privacy budget of a release
    #[arg(long, default_value = "1")]
    pub(crate) epsilon: f64,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The mechanisms, by name.
pub(crate) const MECHANISMS: [(&str, Name); 4] = [
    ("laplace", Name::Laplace),
    ("exponential", Name::Exponential),
    ("exponential_calibrated", Name::ExponentialCalibrated),
    ("posterior_sample", Name::PosteriorSample),
];

pub(crate) fn reports(
    records: u64,
    epsilon: f64,
) -> Result<BTreeMap<&'static str, Report>, Box<dyn std::error::Error>> {
    MECHANISMS
        .iter()
        .map(|&(name, which)| Ok((name, over_normal_mean(which, records, epsilon, None)?)))
        .collect()
}

pub(crate) fn main() -> ExitCode {
    dp_examples::program::run(|arguments: Arguments| {
        let reports = reports(arguments.records, arguments.epsilon)?;
        if arguments.json {
            println!("{}", serde_json::to_string_pretty(&reports)?);
            return Ok(());
        }
        for (name, report) in reports {
            let distance = report.expected_hellinger.unwrap_or(f64::NAN);
            println!(
                "{name:24} claimed {:.4}  checked {:.4}  expected Hellinger distance {distance:.4}",
                report.claimed, report.checked.upper
            );
        }
        Ok(())
    })
}
