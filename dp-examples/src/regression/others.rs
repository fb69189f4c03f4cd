//! `fit schema` and `fit predict`.

use std::error::Error as StdError;
use std::io::Write;
use std::path::Path;

use super::arguments::{PredictArguments, SchemaArguments, check_outputs};
use super::model_file::ModelFile;
use super::outcome::Outcome;
use super::predict::{Prediction, predict};
use super::prepare::prepare;
use crate::Result;
use crate::formula::Formula;
use crate::output::{csv_text, write_whole};
use crate::program::for_the_holder;
use crate::schema::{EXACT, draft, outside_in_words};
use crate::table::Table;

type Failure = Box<dyn StdError>;

/// Drafts a schema and prints it.
///
/// # Errors
///
/// A file that is no table, and a standard output that is closed.
pub fn schema(arguments: &SchemaArguments) -> Result<(), Failure> {
    let table = Table::read(&arguments.data)?;
    let text = draft::draft(&table, arguments.public_categories)?;
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// Predicts from a model file: for each record its line, the mean outcome, and the ends of the 90 % interval of that
/// mean; of numbers and counts those of the outcome itself, and of ordered categories the probability of each. What is
/// predicted for a value outside its public bounds is the prediction for the nearer bound; how many there are in the
/// file is said to the standard error.
///
/// # Errors
///
/// A model or a table that cannot be read, and columns that do not fit one another.
pub fn predictions(arguments: &PredictArguments) -> Result<(), Failure> {
    let inputs: [(&'static str, Option<&Path>); 2] =
        [("the model", Some(&arguments.model)), ("the data", Some(&arguments.data))];
    check_outputs(&inputs, &[("--out", arguments.out.as_deref())])?;
    let model = ModelFile::read(&arguments.model)?;
    let (formula, table): (Formula, _) = (model.formula.parse()?, Table::read(&arguments.data)?);
    let outside = model.schema.clamped_in(&table, &formula.columns());
    let (_, design, lines) = prepare(formula, table, model.schema)?;
    let found = predict(&model.specification, &model.draws, &design)?;
    let text = csv_of(&found, &lines, &model.specification.outcome)?;
    match &arguments.out {
        Some(path) => write_whole(path, text.as_bytes())?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    if let Some(words) = outside_in_words(&outside) {
        for_the_holder(&format!("{words} {EXACT}"));
    }
    Ok(())
}

/// Seven digits, of numbers of any size.
fn seven_digits(number: f64) -> String {
    format!("{number:.6e}").parse::<f64>().map_or_else(|_| number.to_string(), |short| short.to_string())
}

fn csv_of(found: &[Prediction], lines: &[u64], outcome: &Outcome) -> Result<String> {
    let mut header = vec!["line".to_owned(), "mean".to_owned(), "low".to_owned(), "high".to_owned()];
    if found.first().is_some_and(|first| first.outcome.is_some()) {
        header.extend(["outcome_low", "outcome_high"].map(str::to_owned));
    }
    if found.first().is_some_and(|first| !first.probabilities.is_empty()) {
        header.extend(outcome.levels.iter().map(|level| format!("probability of {level}")));
    }
    let row = |(prediction, line): (&Prediction, &u64)| {
        let own = [prediction.mean, prediction.low, prediction.high].into_iter();
        let ends = prediction.outcome.iter().flat_map(|(low, high)| [*low, *high]);
        let numbers = own.chain(ends).chain(prediction.probabilities.iter().copied()).map(seven_digits);
        std::iter::once(line.to_string()).chain(numbers).collect()
    };
    csv_text(std::iter::once(header).chain(found.iter().zip(lines).map(row)))
}
