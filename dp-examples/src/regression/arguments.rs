//! The options of `fit` with a formula, and of `fit schema` and `fit predict`.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::family::Family;
use super::prior::NamedPrior;
use crate::formula::Formula;
use crate::logistic::arguments::{delta, file, identity, positive, test_fraction};
use crate::output::check_writable;
use crate::{Error, Result};

/// `fit FORMULA DATA`.
#[derive(Debug, Clone, Parser)]
#[command(name = "fit", version)]
#[command(about = "Fits a Bayesian regression to a CSV file under differential privacy.", long_about = None)]
#[command(
    after_help = "Other forms:\n  fit schema DATA            drafts a schema from the header\n  fit predict \
     MODEL DATA     predicts from a model file\n  \
                        fit --data … --positive-if …   the short form of a logistic regression (fit --help)"
)]
pub struct RegressionArguments {
    /// Such as 'income ~ age + hours*sex + (1 | job)'; 'rings >= 10 ~ …' and y['yes'] ~ … make yes or no
    pub formula: Formula,

    /// CSV file with a header line, compressed by gzip or not
    #[arg(value_parser = file)]
    pub data: PathBuf,

    /// TOML file of what is publicly known of the columns: `age = [17, 90]`, `sex = ["F", "M"]`; see 'fit schema'
    #[arg(long, alias = "bounds", value_name = "FILE", value_parser = file)]
    pub schema: Option<PathBuf>,

    /// bernoulli, gaussian, student, poisson, negative-binomial, zero-inflated-poisson or ordinal [default: bernoulli
    /// for outcomes that are yes or no]
    #[arg(long)]
    pub family: Option<Family>,

    /// A prior on the scale of the public bounds, such as 'age=normal(0,2)', 'sigma=halfnormal(1)' or
    /// 'sd(job)=halfnormal(1)'; may be repeated [default: coefficients normal(0,10) of yes or no and of ordinal without
    /// groups, normal(0,4) with groups, normal(0,2) of gaussian and student, normal(0,1) of counts]
    #[arg(long, value_name = "PRIOR")]
    pub prior: Vec<NamedPrior>,

    /// Privacy budgets epsilon, above 0: one, or several separated by commas, each of a fit of its own
    #[arg(long, value_parser = positive, value_delimiter = ',', required = true, allow_hyphen_values = true)]
    pub epsilon: Vec<f64>,

    /// Privacy budget delta of each fit, far below 1 / (number of records)
    #[arg(long, value_parser = delta, default_value = "1e-6", allow_hyphen_values = true)]
    pub delta: f64,

    /// Read the categories of text columns without an entry from the data, and treat them as public: they are NOT
    /// protected, and the privacy statement says so
    #[arg(long)]
    pub public_categories: bool,

    /// Share of the records held back to test predictions, from 0 to below 1
    #[arg(long, value_name = "FRACTION", default_value = "0", value_parser = test_fraction, allow_hyphen_values = true)]
    pub test_fraction: f64,

    /// Spend this much on the test figures, which then have noise and are covered by a guarantee of their own
    #[arg(long, value_name = "EPSILON", value_parser = positive, allow_hyphen_values = true)]
    pub private_metrics: Option<f64>,

    /// A ledger that this fit is paid from; it must exist, or be made by --ledger-epsilon
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub ledger: Option<PathBuf>,

    /// Make the ledger, with this much for all who pay from it
    #[arg(long, value_name = "EPSILON", value_parser = positive, requires = "ledger", allow_hyphen_values = true)]
    pub ledger_epsilon: Option<f64>,

    /// Leave checkpoints in this file, which is as secret as the data
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub checkpoint: Option<PathBuf>,

    /// Go on from the checkpoint, which has to be there: without this option a new run begins, and is paid for
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,

    /// Write the model to this JSON file, from which 'fit predict' predicts; of several fits the last
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub model: Option<PathBuf>,

    /// Write mean, standard deviation and 90 % interval of all coefficients and what is beside them, of every fit, to
    /// this CSV file: the privacy statement is in the text, the model and the report
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub coefficients: Option<PathBuf>,

    /// Write a report to this HTML file
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub html: Option<PathBuf>,

    /// Write a forest plot to this SVG file
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub svg: Option<PathBuf>,

    /// Number of noisy gradient steps
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    pub steps: Option<u64>,

    /// Largest norm of one record's gradient, above 0
    #[arg(long, value_name = "NORM", value_parser = positive, allow_hyphen_values = true)]
    pub clip_norm: Option<f64>,

    /// Show in an error what the cell holds that it is about: it is a record's, and for nobody else
    #[arg(long)]
    pub show_values: bool,

    /// Say, to the standard error, how many values lie outside their public bounds: exact figures, NOT covered by the
    /// guarantee
    #[arg(long)]
    pub count_clamped: bool,

    /// Fixed seed for tests: the run can be repeated by anybody who knows it and is NOT private
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub test_seed_not_private: Option<u64>,
}

/// `fit schema DATA`.
#[derive(Debug, Clone, Parser)]
#[command(name = "fit schema", version)]
#[command(about = "Drafts a schema from the header of a CSV file: what to fill in with public values.", long_about = None)]
pub struct SchemaArguments {
    /// CSV file with a header line
    #[arg(value_parser = file)]
    pub data: PathBuf,

    /// List the texts that occur in text columns, and treat them as public: they are NOT protected
    #[arg(long)]
    pub public_categories: bool,
}

/// `fit predict MODEL DATA`.
#[derive(Debug, Clone, Parser)]
#[command(name = "fit predict", version)]
#[command(about = "Predicts outcomes of new records from a model file.", long_about = None)]
pub struct PredictArguments {
    /// A file that `fit --model` wrote
    #[arg(value_parser = file)]
    pub model: PathBuf,

    /// CSV file with the columns of the formula; the outcome is not needed
    #[arg(value_parser = file)]
    pub data: PathBuf,

    /// Show in an error what the cell holds that it is about: it is a record's, and for nobody else
    #[arg(long)]
    pub show_values: bool,

    /// Write the predictions to this CSV file instead of the standard output
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub out: Option<PathBuf>,
}

/// Checks that results can be written, and overwrite neither an input nor each other.
///
/// # Errors
///
/// [`Error::SameFile`] and [`Error::Unwritable`].
pub fn check_outputs(
    inputs: &[(&'static str, Option<&Path>)],
    outputs: &[(&'static str, Option<&Path>)],
) -> Result<()> {
    let mut taken: Vec<(&'static str, PathBuf)> =
        inputs.iter().filter_map(|(option, path)| Some((*option, identity((*path)?)))).collect();
    for (option, path) in outputs {
        let Some(path) = path else { continue };
        let whole = identity(path);
        if let Some((first, _)) = taken.iter().find(|(_, other)| *other == whole) {
            return Err(Error::SameFile { first, second: option, file: path.display().to_string() });
        }
        check_writable(path)?;
        taken.push((option, whole));
    }
    Ok(())
}

impl RegressionArguments {
    /// Checks what the options say together, before any work is done.
    ///
    /// # Errors
    ///
    /// As [`check_outputs`]; [`Error::Formula`] for options that contradict one another.
    pub fn check(&self) -> Result<()> {
        let wrong = |reason: &str| Err(Error::Formula { reason: reason.to_owned() });
        if self.checkpoint.is_some() && (self.epsilon.len() > 1 || self.test_fraction > 0.0) {
            return wrong(
                "--checkpoint is of one fit on all records: name one epsilon, and no --test-fraction",
            );
        }
        if let (Some(path), true) = (&self.checkpoint, self.resume)
            && path.symlink_metadata().is_err()
        {
            return wrong(&format!(
                "--resume: there is no checkpoint {} to go on from; without --resume a new run begins, and is paid for",
                path.display()
            ));
        }
        if self.private_metrics.is_some() && self.test_fraction == 0.0 {
            return wrong(
                "--private-metrics are figures of held-back records: name --test-fraction, such as 0.2",
            );
        }
        if let (Some(path), None) = (&self.ledger, self.ledger_epsilon)
            && !path.exists()
        {
            return wrong(&format!(
                "--ledger: there is no file {}; name what all who pay from it may spend, --ledger-epsilon 3, \
                 and it is made",
                path.display()
            ));
        }
        // Written beside the checkpoint: they must be none of the files that are named.
        let run = self.checkpoint.as_deref().map(super::beside::run_beside);
        let coordinates = self.checkpoint.as_deref().map(super::beside::whitening_beside);
        let nuisance = self.checkpoint.as_deref().map(super::beside::nuisance_beside);
        check_outputs(
            &[
                ("the data", Some(&self.data)),
                ("--schema", self.schema.as_deref()),
                ("--ledger", self.ledger.as_deref()),
                ("--checkpoint", self.checkpoint.as_deref()),
            ],
            &[
                ("--checkpoint with .run", run.as_deref()),
                ("--checkpoint with .whitening", coordinates.as_deref()),
                ("--checkpoint with .nuisance", nuisance.as_deref()),
                ("--model", self.model.as_deref()),
                ("--coefficients", self.coefficients.as_deref()),
                ("--html", self.html.as_deref()),
                ("--svg", self.svg.as_deref()),
            ],
        )
    }

    /// The family, which an outcome that is yes or no does not have to name.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] where it is not said.
    pub fn family(&self) -> Result<Family> {
        match (self.family, &self.formula.response) {
            (Some(family), _) => Ok(family),
            (None, crate::formula::Response::Column(column)) => Err(Error::Formula {
                reason: format!(
                    "which law has {column}? Name --family, or the category that is a yes, as in {column}['yes'] ~ …: {}",
                    Family::ALL.map(|(name, _)| name).join(", ")
                ),
            }),
            (None, _) => Ok(Family::Bernoulli),
        }
    }
}
