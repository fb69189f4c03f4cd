//! The options of `twin`, each checked where it is read.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use dp_accountant::Relation;

use super::sample::MOST_ROWS;
use super::{Error, Result};
use crate::logistic::arguments::{delta, file, positive};
use crate::regression::arguments::SchemaArguments;

/// The options of the program.
#[derive(Debug, Parser)]
#[command(
    name = "twin",
    version,
    about = "Makes a private synthetic copy of any table.",
    arg_required_else_help = false
)]
pub struct Arguments {
    #[command(subcommand)]
    /// What to do.
    pub job: Job,
}

/// The jobs of the program.
#[derive(Debug, Subcommand)]
pub enum Job {
    /// Drafts a schema from the header of a CSV file, for `fit` too
    Schema(SchemaArguments),
    /// Learns a model from a CSV file under differential privacy, and draws a twin from it
    Fit(Fit),
    /// Draws rows from a model: free of further cost
    Sample(Sample),
    /// Compares a twin with real rows: exact figures, NOT private
    Check(Check),
    /// Writes the page about a model again
    Report(Report),
    /// Combines estimates from several twins, with intervals that know of the noise
    Combine(Combine),
}

/// Which tables the guarantee cannot tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Neighbours {
    /// Those that differ by the presence of one record
    AddRemove,
    /// Those that differ by the values of one record
    ReplaceOne,
}

impl From<Neighbours> for Relation {
    fn from(neighbours: Neighbours) -> Self {
        match neighbours {
            Neighbours::AddRemove => Self::AddRemove,
            Neighbours::ReplaceOne => Self::ReplaceOne,
        }
    }
}

/// What a table is taken to be distributed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Structure {
    /// Marginals of columns that depend on each other most, on a junction tree
    Marginals,
    /// A mixture of classes, within which columns are independent
    LatentClasses,
}

/// What `twin fit` is given.
#[derive(Debug, Parser)]
pub struct Fit {
    /// CSV file with a header line, compressed by gzip or not
    #[arg(value_name = "TABLE", value_parser = file)]
    pub data: PathBuf,
    /// TOML file of what is public: lines like `age = [17, 90]` and `sex = ["female", "male"]`; a column
    /// without a line is left out
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub schema: PathBuf,
    /// Privacy budget epsilon, above 0
    #[arg(long, value_parser = positive, allow_hyphen_values = true)]
    pub epsilon: f64,
    /// Privacy budget delta, between 0 and 1 and far below 1 / (number of records)
    #[arg(long, value_parser = delta, default_value = "1e-5", allow_hyphen_values = true)]
    pub delta: f64,
    /// Which tables are neighbours [default: add-remove, or the ledger's]
    #[arg(long, value_enum)]
    pub relation: Option<Neighbours>,
    /// A ledger that this twin is paid from; it must exist, or be made by --ledger-epsilon
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub ledger: Option<PathBuf>,
    /// Make the ledger, with this much for all who pay from it
    #[arg(long, value_name = "EPSILON", value_parser = positive, requires = "ledger", allow_hyphen_values = true)]
    pub ledger_epsilon: Option<f64>,
    /// The model; latent classes take no --target, --together and --twins, and say less at the same budget
    #[arg(long, value_enum, default_value = "marginals")]
    pub model: Structure,
    /// How many latent classes [default: 10]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(2..=100))]
    pub classes: Option<u64>,
    /// A column that is to be predicted from the others: every column is measured together with it
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Columns that will be analysed together, as in 'age,sex,job': each is measured with the target, and all
    /// combinations of them where these are few, so that intervals of a regression of the target on them hold
    /// [default: all columns of a table with few combinations]
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',')]
    pub together: Vec<String>,
    /// Folder for twin.csv, model.json, privacy.json and report.html
    #[arg(long, value_name = "FOLDER", value_parser = file)]
    pub out: PathBuf,
    /// Show in an error what the cell holds that it is about: it is a record's, and for nobody else
    #[arg(long)]
    pub show_values: bool,
    /// Say, to the standard error, how many values lie outside their public bounds: exact figures, NOT covered by the
    /// guarantee
    #[arg(long)]
    pub count_clamped: bool,
    /// Replace the files of a folder that exists; rows and page of its former model are removed
    #[arg(long)]
    pub overwrite: bool,
    /// Rows of the twin [default: the noisy number of records; of each of several twins five times that]
    #[arg(long)]
    pub rows: Option<u64>,
    /// So many twins, for intervals that know of the noise: each is drawn from a model that may have led to
    /// the release, and has five rows for each record, so that the rule of Raghunathan, Reiter and Rubin (2003) for
    /// combining them holds
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub twins: u64,
    /// Fixed seed for tests: the run can be repeated by anybody who knows it and is NOT private
    #[arg(long, value_name = "SEED")]
    pub test_seed_not_private: Option<u64>,
}

impl Fit {
    /// Checks options before anything is paid for, and gives the number of latent classes for a model of these.
    ///
    /// # Errors
    /// Too many rows; what latent classes cannot do; classes of another model.
    pub fn classes(&self) -> Result<Option<usize>> {
        let refused = |what: &str| Err(Error::input(what));
        if let Some(rows) = self.rows.filter(|&rows| rows > MOST_ROWS) {
            return Err(Error::input(format!("--rows: {rows} rows, at most {MOST_ROWS}")));
        }
        match self.model {
            Structure::Marginals if self.classes.is_some() => {
                refused("--classes is for --model latent-classes: marginals have none")
            }
            Structure::Marginals => Ok(None),
            Structure::LatentClasses if self.target.is_some() => refused(
                "--target: latent classes treat all columns alike; leave it out, or take --model marginals",
            ),
            Structure::LatentClasses if !self.together.is_empty() => refused(
                "--together: latent classes measure no columns together; leave it out, or take --model marginals",
            ),
            Structure::LatentClasses if self.twins > 1 => refused(
                "--twins: intervals need a posterior of the model given the noise, which latent classes do not have; \
                 take --model marginals",
            ),
            Structure::LatentClasses => Ok(Some(self.classes.unwrap_or(10) as usize)),
        }
    }
}

/// What `twin sample` is given.
#[derive(Debug, Parser)]
pub struct Sample {
    /// model.json of a twin
    #[arg(value_parser = file)]
    pub model: PathBuf,
    /// How many rows [default: the noisy number of records, and five times that with --redrawn]
    #[arg(long)]
    pub rows: Option<u64>,
    /// From a model that is drawn anew from what the counts leave open: one of several twins, for `twin combine`
    #[arg(long, conflicts_with = "given")]
    pub redrawn: bool,
    /// Only rows with this category, number or date, as in 'sex=female', with one between two, as in 'age=30..39', or,
    /// as in 'age=', without one; of several, rows that keep them all
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub given: Vec<String>,
    /// CSV file to write
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub out: PathBuf,
}

/// What `twin check` is given.
#[derive(Debug, Parser)]
pub struct Check {
    /// model.json of the twin
    #[arg(value_parser = file)]
    pub model: PathBuf,
    /// The twin
    #[arg(value_parser = file)]
    pub twin: PathBuf,
    /// Real rows that are not in the table that the twin was made from
    #[arg(value_parser = file)]
    pub real: PathBuf,
}

/// What `twin report` is given.
#[derive(Debug, Parser)]
pub struct Report {
    /// model.json of a twin
    #[arg(value_parser = file)]
    pub model: PathBuf,
    /// Real rows that are not in the table that the twin was made from: the page gets exact figures of them, which are
    /// NOT private
    #[arg(long, value_name = "TABLE", value_parser = file)]
    pub test: Option<PathBuf>,
    /// HTML file to write
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub out: PathBuf,
}

/// What `twin combine` is given.
#[derive(Debug, Parser)]
pub struct Combine {
    /// CSV file with the columns name, estimate and standard_error: a line for each twin and estimate, as an analysis
    /// of that twin alone gives them
    #[arg(value_parser = file)]
    pub estimates: PathBuf,
    /// Rows of each twin for each record: in privacy.json
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = positive, allow_hyphen_values = true)]
    pub rows_per_record: f64,
    /// How often intervals should hold the truth
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = delta, allow_hyphen_values = true)]
    pub probability: f64,
}
