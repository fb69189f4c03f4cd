//! Measures how good private posteriors are, on one problem or on all of them.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use dp_examples::arguments::{delta, file, positive};
use dp_examples::condition::Condition;
use dp_examples::program::run;
use dp_examples::utility::Protocol;
use dp_examples::utility::coverage::OwnTable;
use dp_examples::utility::table::{Files, Line, Problem, all};
use dp_vi::Gradients;

/// Measures how good private posteriors are. Without a problem: all of them, on the data under $DP_DATA.
///
/// Runs have fixed seeds so that they can be repeated: nothing here is a private use of a file.
#[derive(Debug, Parser)]
#[command(name = "utility", version)]
struct UtilityArguments {
    /// Which problem
    #[arg(long, value_name = "NAME", value_enum, requires = "epsilon")]
    problem: Option<Problem>,

    /// CSV file of training records (all records for 'abalone')
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    train: Option<PathBuf>,

    /// CSV file of test records
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    test: Option<PathBuf>,

    /// CSV file of the groups' public traits
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    groups: Option<PathBuf>,

    /// For 'coverage': a CSV file to fit again and again as the program fit does, instead of made-up records
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem", requires = "positive_if")]
    data: Option<PathBuf>,

    /// With --data: which records are positive, such as 'rings>=10' or 'class == "yes"'
    #[arg(long, value_name = "CONDITION", requires = "data")]
    positive_if: Option<Condition>,

    /// With --data: columns to predict from, separated by commas [default: all but the label's]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    features: Option<Vec<String>>,

    /// With --data: TOML file of public bounds; categories that it does not list are read from the file
    #[arg(long, value_name = "FILE", value_parser = file, requires = "data")]
    bounds: Option<PathBuf>,

    /// Privacy budget epsilon of one run, above 0
    #[arg(long, value_parser = positive, allow_hyphen_values = true, requires = "problem")]
    epsilon: Option<f64>,

    /// Privacy budget delta of one run, between 0 and 1 [default: that of the problem's table]
    #[arg(long, value_parser = delta, allow_hyphen_values = true, requires = "problem")]
    delta: Option<f64>,

    /// Number of runs: seeds, splits or data sets [default: that of the problem's table]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000), allow_hyphen_values = true)]
    runs: Option<u64>,

    /// Seed of the first run; the others follow
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    first_seed: u64,

    /// With respect to what a record's gradient is taken and clipped
    #[arg(long, value_name = "KIND", value_enum, default_value = "aligned", requires = "problem")]
    gradients: Kind,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// What of a record is clipped and gets noise.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Gradients with respect to the latent values
    Aligned,
    /// Gradients with respect to the guide's parameters, prior and entropy outside
    Vanilla,
    /// The same, each record with its share of prior and entropy, as in d3p; where a problem states the
    /// number of records
    VanillaWithPrior,
}

impl From<Kind> for Gradients {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Aligned => Self::Aligned,
            Kind::Vanilla => Self::Vanilla,
            Kind::VanillaWithPrior => Self::VanillaWithPrior,
        }
    }
}

fn main() -> ExitCode {
    run(utility)
}

fn utility(arguments: UtilityArguments) -> Result<(), Box<dyn Error>> {
    let UtilityArguments { problem, train, test, groups, epsilon, delta, .. } = arguments;
    let UtilityArguments { runs, first_seed, gradients, json, .. } = arguments;
    let UtilityArguments { data, positive_if, features, bounds, .. } = arguments;
    let own =
        data.zip(positive_if).map(|(data, positive_if)| OwnTable { data, positive_if, features, bounds });
    let mut out = std::io::stdout().lock();
    if let (Some(problem), Some(epsilon)) = (problem, epsilon) {
        let delta = delta.unwrap_or(problem.delta());
        let runs = runs.unwrap_or(problem.runs());
        let protocol = Protocol { epsilon, delta, runs, first_seed, gradients: gradients.into() };
        let outcome = problem.measure(&Files { train, test, groups, own }, &protocol)?;
        if json {
            writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
        } else {
            writeln!(out, "{}\n{}", Line::heads(), Line::new(problem, outcome))?;
        }
        return Ok(());
    }
    let Some(folder) = std::env::var_os("DP_DATA").filter(|folder| !folder.is_empty()) else {
        return Err("the whole table needs the data sets: set DP_DATA to the folder that holds data/, or name a problem \
                    and its files (see --help)"
            .into());
    };
    if !json {
        writeln!(out, "{}", Line::heads())?;
    }
    let outcomes = all(folder.as_ref(), runs, first_seed, |line| {
        if !json {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    if json {
        writeln!(out, "{}", serde_json::to_string(&outcomes)?)?;
    }
    Ok(())
}
