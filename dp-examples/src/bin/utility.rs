//! Measures how good private posteriors are, on one problem or on all of them.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use dp_accountant::Relation;
use dp_examples::arguments::{delta, file, positive};
use dp_examples::condition::Condition;
use dp_examples::program::run;
use dp_examples::utility::Protocol;
use dp_examples::utility::coverage::OwnTable;
use dp_examples::utility::table::{Files, Latent, Line, Problem, all};
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

    /// For 'coverage' and 'statistics': a CSV file to fit again and again; for 'lda': documents as counts, in the format of lda-c
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
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

    /// For 'lda': the vocabulary, a word a line
    #[arg(long, value_name = "FILE", value_parser = file, requires = "data")]
    vocabulary: Option<PathBuf>,

    /// For 'lda': words that are kept, those that most documents have; treated as public
    #[arg(long, requires = "problem", allow_hyphen_values = true)]
    words: Option<usize>,

    /// For 'lda' and 'belief-network': records i with i % 10 equal to this are held back
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..10), requires = "problem", allow_hyphen_values = true)]
    fold: Option<u64>,

    /// For 'lda' and 'belief-network': number of topics, or of hidden units
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000), requires = "problem", allow_hyphen_values = true)]
    topics: Option<u64>,

    /// For 'lda' and 'belief-network': largest norm of one record's statistics; for 'abalone': of its gradient
    #[arg(long, value_name = "NORM", value_parser = positive, requires = "problem", allow_hyphen_values = true)]
    clip_norm: Option<f64>,

    /// For 'lda', 'belief-network' and 'abalone': number of releases
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000), requires = "problem", allow_hyphen_values = true)]
    steps: Option<u64>,

    /// For 'abalone': probability with which a record is in a batch, above 0 and at most 1
    #[arg(long, value_parser = positive, requires = "problem", allow_hyphen_values = true)]
    rate: Option<f64>,

    /// For 'belief-network': labels of the images, whose number is checked
    #[arg(long, value_name = "FILE", value_parser = file, requires = "train")]
    labels: Option<PathBuf>,

    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "add-remove", requires = "problem")]
    relation: Neighbours,

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

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Neighbours {
    /// Those that differ by the presence of one record
    AddRemove,
    /// Those that differ in the values of one record
    ReplaceOne,
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
    let UtilityArguments {
        vocabulary, words, fold, topics, clip_norm, steps, rate, labels, relation, ..
    } = arguments;
    let (own, documents) = match (data, positive_if) {
        (Some(data), Some(positive_if)) => (Some(OwnTable { data, positive_if, features, bounds }), None),
        (Some(_), None) if matches!(problem, Some(Problem::Coverage | Problem::Statistics)) => {
            return Err("--data needs --positive-if <CONDITION> for this problem".into());
        }
        (documents, _) => (None, documents),
    };
    let latent = Latent {
        words,
        fold: fold.map(|fold| fold as usize),
        topics: topics.map(|topics| topics as usize),
        clip_norm,
        steps,
        rate,
    };
    let relation = match relation {
        Neighbours::AddRemove => Relation::AddRemove,
        Neighbours::ReplaceOne => Relation::ReplaceOne,
    };
    let mut out = std::io::stdout().lock();
    if let (Some(problem), Some(epsilon)) = (problem, epsilon) {
        let delta = delta.unwrap_or(problem.delta());
        let runs = runs.unwrap_or(problem.runs());
        let protocol = Protocol { relation, epsilon, delta, runs, first_seed, gradients: gradients.into() };
        let outcome = problem
            .measure(&Files { train, test, groups, own, documents, vocabulary, labels, latent }, &protocol)?;
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
