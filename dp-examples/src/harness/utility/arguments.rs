//! The options of the program `utility`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use dp_accountant::Relation;
use dp_vi::Gradients;

use super::table::Problem;
use crate::logistic::arguments::{delta, file, positive};
use crate::table::condition::Condition;

/// Measures how good private posteriors are. Without a problem: all of them, on the data under $DP_DATA.
///
/// Runs have fixed seeds so that they can be repeated: nothing here is a private use of a file.
#[derive(Debug, Parser)]
#[command(name = "utility", version)]
pub struct UtilityArguments {
    /// Which problem
    #[arg(long, value_name = "NAME", value_enum, requires = "epsilon")]
    pub problem: Option<Problem>,

    /// CSV file of training records (all records for 'abalone')
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    pub train: Option<PathBuf>,

    /// CSV file of test records
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    pub test: Option<PathBuf>,

    /// CSV file of the groups' public traits
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    pub groups: Option<PathBuf>,

    /// For 'coverage' and 'statistics': a CSV file to fit again and again; for 'lda': documents as counts, in
    /// the format of lda-c
    #[arg(long, value_name = "FILE", value_parser = file, requires = "problem")]
    pub data: Option<PathBuf>,

    /// With --data: which records are positive, such as 'rings>=10' or 'class == "yes"'
    #[arg(long, value_name = "CONDITION", requires = "data")]
    pub positive_if: Option<Condition>,

    /// With --data: columns to predict from, separated by commas [default: all but the label's]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    pub features: Option<Vec<String>>,

    /// With --data: TOML file of public bounds; categories that it does not list are read from the file
    #[arg(long, value_name = "FILE", value_parser = file, requires = "data")]
    pub bounds: Option<PathBuf>,

    /// For 'lda': the vocabulary, a word a line
    #[arg(long, value_name = "FILE", value_parser = file, requires = "data")]
    pub vocabulary: Option<PathBuf>,

    /// For 'lda': words that are kept, those that most documents have; treated as public
    #[arg(long, requires = "problem", allow_hyphen_values = true)]
    pub words: Option<usize>,

    /// For 'lda' and 'belief-network': records i with i % 10 equal to this are held back
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..10), requires = "problem", allow_hyphen_values = true)]
    pub fold: Option<u64>,

    /// For 'lda' and 'belief-network': number of topics, or of hidden units
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000), requires = "problem", allow_hyphen_values = true)]
    pub topics: Option<u64>,

    /// For 'lda' and 'belief-network': largest norm of one record's statistics; for 'abalone': of its gradient
    #[arg(long, value_name = "NORM", value_parser = positive, requires = "problem", allow_hyphen_values = true)]
    pub clip_norm: Option<f64>,

    /// For 'lda', 'belief-network' and 'abalone': number of releases
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000), requires = "problem", allow_hyphen_values = true)]
    pub steps: Option<u64>,

    /// For 'abalone': probability with which a record is in a batch, above 0 and at most 1
    #[arg(long, value_parser = positive, requires = "problem", allow_hyphen_values = true)]
    pub rate: Option<f64>,

    /// For 'belief-network': labels of the images, whose number is checked
    #[arg(long, value_name = "FILE", value_parser = file, requires = "train")]
    pub labels: Option<PathBuf>,

    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "add-remove", requires = "problem")]
    pub relation: Neighbours,

    /// Privacy budget epsilon of one run, above 0
    #[arg(long, value_parser = positive, allow_hyphen_values = true, requires = "problem")]
    pub epsilon: Option<f64>,

    /// Privacy budget delta of one run, between 0 and 1 [default: that of the problem's table]
    #[arg(long, value_parser = delta, allow_hyphen_values = true, requires = "problem")]
    pub delta: Option<f64>,

    /// Number of runs: seeds, splits or data sets [default: that of the problem's table]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000), allow_hyphen_values = true)]
    pub runs: Option<u64>,

    /// Seed of the first run; the others follow
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    pub first_seed: u64,

    /// With respect to what a record's gradient is taken and clipped
    #[arg(long, value_name = "KIND", value_enum, default_value = "aligned", requires = "problem")]
    pub gradients: Kind,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Neighbours {
    /// Those that differ by the presence of one record
    AddRemove,
    /// Those that differ in the values of one record
    ReplaceOne,
}

/// What of a record is clipped and gets noise.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
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

impl From<Neighbours> for Relation {
    fn from(neighbours: Neighbours) -> Self {
        match neighbours {
            Neighbours::AddRemove => Self::AddRemove,
            Neighbours::ReplaceOne => Self::ReplaceOne,
        }
    }
}
