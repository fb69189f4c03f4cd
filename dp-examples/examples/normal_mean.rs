//! The mean of a normal distribution, of records on a grid, released in four ways; each with the ε that it
//! claims, the ε that enumeration over all neighbours finds, and how far from the true posterior it is on
//! average.
//!
//! ```sh
//! cargo run --release -p dp-examples --example normal_mean -- --records 6 --epsilon 1 --json
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::finite::{Name, Question, Reports, compare, over_normal_mean, written};
use std::process::ExitCode;

/// The mean of a normal distribution, of records on a grid, released in four ways.
#[derive(Debug, clap::Parser)]
#[command(name = "normal_mean", version)]
struct Arguments {
    /// Number of records, which is public
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u64).range(1..=8))]
    records: u64,

    /// The privacy budget of a release
    #[arg(long, default_value = "1")]
    epsilon: f64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn reports(records: u64, epsilon: f64) -> Result<Reports, Box<dyn std::error::Error>> {
    compare(&[Name::Laplace], |name| over_normal_mean(Question::new(name, records, epsilon)))
}

pub(crate) fn main() -> ExitCode {
    dp_examples::program::run(|arguments: Arguments| {
        println!("{}", written(&reports(arguments.records, arguments.epsilon)?, arguments.json)?);
        Ok(())
    })
}
