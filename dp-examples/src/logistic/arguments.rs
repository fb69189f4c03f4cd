//! The options of `fit`, each checked where it is read.

use std::path::{Path, PathBuf};

use clap::Parser;

use crate::Result;
use crate::table::condition::Condition;

/// Fits a Bayesian logistic regression to a CSV file under differential privacy.
///
/// # Examples
///
/// ```
/// use clap::Parser;
/// use dp_examples::logistic::arguments::FitArguments;
///
/// let line = "fit --data a.csv --positive-if rings>=10 --features sex,length --epsilon 1 --delta 1e-5";
/// let arguments = FitArguments::try_parse_from(line.split(' '))?;
/// assert_eq!(arguments.features.as_deref(), Some(&["sex".to_string(), "length".to_string()][..]));
/// assert!(FitArguments::try_parse_from(line.replace("1e-5", "0").split(' ')).is_err());
/// # Ok::<(), clap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "fit", version, verbatim_doc_comment)]
#[command(about = "Fits a Bayesian logistic regression to a CSV file under differential privacy.", long_about = None)]
#[command(
    after_help = "Other forms:\n  fit 'y ~ a + b*c + (1 | group)' DATA --family … --epsilon …   any regression \
     (fit 'y ~ 1' --help)\n  \
                        fit schema DATA            drafts a schema from the header\n  fit predict MODEL DATA    \
                         predicts from a model file"
)]
pub struct FitArguments {
    /// CSV file with a header line
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub data: PathBuf,

    /// Which records are positive, such as 'rings>=10' or 'class == "yes"'
    #[arg(long, value_name = "CONDITION")]
    pub positive_if: Condition,

    /// Columns to predict from, separated by commas [default: all but the label's]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = column)]
    pub features: Option<Vec<String>>,

    /// TOML file of public bounds: lines like `length = [0.0, 1.0]` and `sex = ["M", "F", "I"]`
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub bounds: Option<PathBuf>,

    /// Read the categories of text columns that the bounds file has no list for from the data, and treat them
    /// as public: they are NOT protected, and the privacy statement says so
    #[arg(long)]
    pub public_categories: bool,

    /// Privacy budget epsilon, above 0
    #[arg(long, value_parser = positive, allow_hyphen_values = true)]
    pub epsilon: f64,

    /// Privacy budget delta, between 0 and 1 and far below 1 / (number of records)
    #[arg(long, value_parser = delta, allow_hyphen_values = true)]
    pub delta: f64,

    /// Share of the records held back to measure accuracy, from 0 to below 1
    #[arg(long, value_name = "FRACTION", default_value = "0", value_parser = test_fraction, allow_hyphen_values = true)]
    pub test_fraction: f64,

    /// Write the model to this JSON file, from which 'fit predict' predicts
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub model: Option<PathBuf>,

    /// Write weights, intervals and privacy to this JSON file
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub json: Option<PathBuf>,

    /// Write a picture of the posterior to this SVG file
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub svg: Option<PathBuf>,

    /// Number of noisy gradient steps
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    pub steps: Option<u64>,

    /// Probability with which a record takes part in a step, above 0 and at most 1
    #[arg(long, value_name = "RATE", value_parser = sampling_rate, allow_hyphen_values = true)]
    pub sampling_rate: Option<f64>,

    /// Largest norm of one record's gradient, above 0
    #[arg(long, value_name = "NORM", value_parser = positive, allow_hyphen_values = true)]
    pub clip_norm: Option<f64>,

    /// Step size of the optimiser, above 0 and at most 1000
    #[arg(long, value_name = "RATE", value_parser = learning_rate, allow_hyphen_values = true)]
    pub learning_rate: Option<f64>,

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

impl FitArguments {
    /// Checks what the options say together: the results can be written, and overwrite neither an input nor
    /// each other.
    ///
    /// To be called before any work is done.
    ///
    /// # Errors
    ///
    /// [`SameFile`](crate::Error::SameFile) and [`Unwritable`](crate::Error::Unwritable).
    pub fn check_outputs(&self) -> Result<()> {
        crate::regression::arguments::check_outputs(
            &[("--data", Some(&self.data)), ("--bounds", self.bounds.as_deref())],
            &[
                ("--model", self.model.as_deref()),
                ("--json", self.json.as_deref()),
                ("--svg", self.svg.as_deref()),
            ],
        )
    }

    /// Checks that a small sampling rate comes with a number of steps: the number at which sampling costs no more than
    /// 5 % of noise grows as `1/rate²`, and is a million and more below a rate of 0.001.
    ///
    /// # Errors
    ///
    /// A message that says so.
    pub fn check_sampling(&self) -> std::result::Result<(), String> {
        match (self.sampling_rate, self.steps) {
            (Some(rate), None) if rate < LEAST_RATE => Err(format!(
                "--sampling-rate {rate}: below {LEAST_RATE} give --steps too; the noise of full batches would take more than a million steps"
            )),
            _ => Ok(()),
        }
    }
}

/// Rates below this ask for a number of steps too.
const LEAST_RATE: f64 = 1e-3;

/// The same path for every spelling of one file, as far as the file or its folder exists.
pub(crate) fn identity(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Reads the name of a file, for clap.
///
/// # Errors
///
/// What was expected.
pub fn file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("expected the name of a file".into()) } else { Ok(text.into()) }
}

fn column(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected names of columns separated by single commas".into()),
        name => Ok(name.to_owned()),
    }
}

fn number(text: &str, inside: fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        // Written so that NaN is outside.
        Ok(number) if inside(number) => Ok(number),
        _ => Err(format!("expected a number {expected}")),
    }
}

/// Reads a number above 0 and finite, for clap.
///
/// # Errors
///
/// What was expected.
pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |number| number > 0.0 && number.is_finite(), "above 0 and finite")
}

/// Reads a number strictly between 0 and 1, for clap.
///
/// # Errors
///
/// What was expected.
pub fn delta(text: &str) -> Result<f64, String> {
    number(text, |number| number > 0.0 && number < 1.0, "above 0 and below 1")
}

pub(crate) fn test_fraction(text: &str) -> Result<f64, String> {
    number(text, |number| (0.0..1.0).contains(&number), "of at least 0 and below 1")
}

/// Adam moves a weight by up to the rate in a step, and a hundred standard deviations of the widest prior are 1000:
/// with more, no step leads anywhere, and the whole fit would show it only at its end.
fn learning_rate(text: &str) -> Result<f64, String> {
    number(text, |number| number > 0.0 && number <= 1e3, "above 0 and at most 1000")
}

fn sampling_rate(text: &str) -> Result<f64, String> {
    number(text, |number| number > 0.0 && number <= 1.0, "above 0 and at most 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;
    use crate::program::parse;

    const REQUIRED: [&str; 8] =
        ["--data", "a.csv", "--positive-if", "y==1", "--epsilon", "1", "--delta", "1e-5"];

    fn arguments(extra: &[&str]) -> Result<FitArguments, String> {
        let all = std::iter::once("fit").chain(REQUIRED).chain(extra.iter().copied());
        parse(all).map_err(|stop| stop.to_string())
    }

    #[test]
    fn defaults_and_lists() {
        let plain = arguments(&[]).unwrap();
        assert_eq!((plain.epsilon, plain.delta, plain.test_fraction), (1.0, 1e-5, 0.0));
        assert_eq!((plain.features, plain.steps, plain.test_seed_not_private), (None, None, None));
        assert!(!plain.public_categories && arguments(&["--public-categories"]).unwrap().public_categories);
        let chosen = arguments(&["--features", "a, b,c", "--steps", "10", "--sampling-rate", "1"]).unwrap();
        assert_eq!(chosen.features.unwrap(), ["a", "b", "c"]);
        assert_eq!((chosen.steps, chosen.sampling_rate), (Some(10), Some(1.0)));
    }

    #[test]
    fn values_outside_their_range_are_one_line_with_the_value() {
        for (option, value, expected) in [
            ("--epsilon", "0", "expected a number above 0 and finite"),
            ("--epsilon", "-1", "expected a number above 0 and finite"),
            ("--epsilon", "nan", "expected a number above 0 and finite"),
            ("--epsilon", "inf", "expected a number above 0 and finite"),
            ("--epsilon", "one", "expected a number above 0 and finite"),
            ("--delta", "0", "expected a number above 0 and below 1"),
            ("--delta", "1", "expected a number above 0 and below 1"),
            ("--delta", "1.5", "expected a number above 0 and below 1"),
            ("--epsilon", "-inf", "expected a number above 0 and finite"),
            ("--delta", "-1e-5", "expected a number above 0 and below 1"),
            ("--delta", "nan", "expected a number above 0 and below 1"),
            ("--test-fraction", "1", "expected a number of at least 0 and below 1"),
            ("--test-fraction", "-0.1", "expected a number of at least 0 and below 1"),
            ("--sampling-rate", "0", "expected a number above 0 and at most 1"),
            ("--sampling-rate", "1.01", "expected a number above 0 and at most 1"),
            ("--clip-norm", "0", "expected a number above 0 and finite"),
            ("--learning-rate", "-2", "expected a number above 0 and at most 1000"),
            ("--learning-rate", "1e300", "expected a number above 0 and at most 1000"),
            ("--steps", "0", "0 is not in 1..18446744073709551615"),
            ("--steps", "1.5", "invalid digit found in string"),
            ("--test-seed-not-private", "-1", "invalid digit found in string"),
            ("--features", "a,,b", "expected names of columns separated by single commas"),
            (
                "--positive-if",
                "y>>1",
                "'y>>1' at character 3: expected a number or a text; a text that begins with one of",
            ),
        ] {
            // An option that is given twice would be its own error.
            let mut all: Vec<&str> = vec!["fit"];
            for pair in REQUIRED.chunks(2).filter(|pair| pair[0] != option) {
                all.extend(pair);
            }
            all.extend([option, value]);
            let shown = parse::<FitArguments>(all).unwrap_err().to_string();
            assert!(shown.starts_with("error: invalid value '"), "{option} {value}: {shown}");
            assert!(shown.contains(option) && shown.contains(expected), "{option} {value}: {shown}");
            assert!(!shown.contains('\n'), "{shown}");
        }
    }

    #[test]
    fn small_rates_come_with_a_number_of_steps() {
        let check = |extra: &[&str]| arguments(extra).unwrap().check_sampling();
        assert!(check(&["--sampling-rate", "1e-9"]).unwrap_err().contains("give --steps too"));
        assert!(check(&["--sampling-rate", "1e-9", "--steps", "10"]).is_ok());
        assert!(check(&["--sampling-rate", "0.001"]).is_ok() && check(&[]).is_ok());
    }

    #[test]
    fn missing_and_unknown_options_are_one_line() {
        let none = parse::<FitArguments>(["fit"]).unwrap_err().to_string();
        assert!(none.contains("--data <FILE>") && none.contains("--delta <DELTA>"), "{none}");
        let unknown = arguments(&["--epsilom", "1"]).unwrap_err();
        assert!(unknown.contains("'--epsilom'"), "{unknown}");
        for shown in
            [none, unknown, arguments(&["--epsilon", "2"]).unwrap_err(), arguments(&["--steps"]).unwrap_err()]
        {
            assert!(
                shown.starts_with("error: ") && !shown.contains('\n') && !shown.contains("Usage"),
                "{shown}"
            );
        }
    }

    #[test]
    fn outputs_must_not_overwrite() {
        let folder = TestFolder::new();
        let path = |name: &str| folder.0.join(name).display().to_string();
        std::fs::write(path("data.csv"), b"x").unwrap();
        let check = |json: &str, svg: &str| {
            let (data, json, svg) = (path("data.csv"), path(json), path(svg));
            let all = ["fit", "--data", &data, "--positive-if", "y==1", "--epsilon", "1", "--delta", "0.1"];
            let all = all.into_iter().chain(["--json", &json, "--svg", &svg]);
            parse::<FitArguments>(all).unwrap().check_outputs().map_err(|error| error.to_string())
        };
        assert_eq!(check("a.json", "a.svg"), Ok(()));
        assert!(check("data.csv", "a.svg").unwrap_err().starts_with("--data and --json are the same file"));
        assert!(check("./a", "a").unwrap_err().starts_with("--json and --svg are the same file"));
        assert!(check("none/a.json", "a.svg").unwrap_err().contains("there is no folder"));
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}
