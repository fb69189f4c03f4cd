//! A file of questions, answered line by line.

use std::path::Path;

use dp_accountant::{Accountant, Event, Mechanism, Relation};

use crate::arguments::{EpsilonOf, sampling};
use crate::failure::{Failure, Outcome};
use crate::input;

/// The most bytes of a file of questions, which are about thirty bytes each.
const MOST_BYTES: u64 = 64 << 20;

const ANSWER: [&str; 3] = ["epsilon_lower", "epsilon_estimate", "epsilon_upper"];

/// Answers all lines, or says which one has none.
pub(crate) fn run(file: &Path, arguments: &EpsilonOf) -> Outcome<String> {
    let shown = input::shown(file);
    let reading = |error: csv::Error| Failure::Usage(format!("{shown}: {error}"));
    let bytes = input::bytes(file, MOST_BYTES)?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes.as_slice());
    let header = reader.headers().map_err(reading)?.clone();
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = header.iter().find(|name| !name.is_empty() && !names.insert(*name)) {
        return Err(Failure::Usage(format!("{shown}: there are two columns \"{twice}\"")));
    }
    let column = |name: &str| header.iter().position(|column| column == name);
    let needed = |name: &str| {
        column(name).ok_or_else(|| Failure::Usage(format!("{shown}: there is no column \"{name}\"")))
    };
    let (noise, scheme, steps) = (needed("noise_multiplier")?, needed("sampling")?, needed("steps")?);
    // What is said twice may contradict itself.
    let delta = either("delta", column("delta"), arguments.common_delta(), &shown)?;
    let relation = either("relation", column("relation"), arguments.common_relation(), &shown)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let other = |error: csv::Error| Failure::Other(error.to_string());
    writer.write_record(header.iter().chain(ANSWER)).map_err(other)?;
    for record in reader.records() {
        let record = record.map_err(reading)?;
        let line = record.position().map_or(0, |position| position.line());
        let field = |at: usize| record.get(at).unwrap_or("");
        let nonsense =
            |what: &str, problem: String| Failure::Usage(format!("{shown}, line {line}: {what}: {problem}"));
        let number = |what: &'static str, at: usize| {
            field(at)
                .parse::<f64>()
                .map_err(|_| nonsense(what, format!("expected a number, got \"{}\"", field(at))))
        };
        let noise_multiplier = number("noise_multiplier", noise)?;
        let count = field(steps)
            .parse::<u64>()
            .map_err(|_| nonsense("steps", format!("expected a whole number, got \"{}\"", field(steps))))?;
        let scheme = sampling(field(scheme)).map_err(|problem| nonsense("sampling", problem))?;
        let relation = match relation {
            Given::ForAll(relation) => relation,
            Given::InColumn(at) => match field(at) {
                "add-remove" => Relation::AddRemove,
                "replace-one" => Relation::ReplaceOne,
                found => {
                    return Err(nonsense(
                        "relation",
                        format!("expected add-remove or replace-one, got \"{found}\""),
                    ));
                }
            },
        };
        let delta = match delta {
            Given::ForAll(delta) => delta,
            Given::InColumn(at) => number("delta", at)?,
        };
        let answer = Event::new(Mechanism::Gaussian { noise_multiplier }, scheme)
            .and_then(|event| Accountant::new(relation).compose(event, count).epsilon(delta))
            .map_err(|error| nonsense("no answer", error.to_string()))?;
        let ends = [answer.lower, answer.estimate, answer.upper].map(|end| end.to_string());
        writer.write_record(record.iter().chain(ends.iter().map(String::as_str))).map_err(other)?;
    }
    let bytes = writer.into_inner().map_err(|error| Failure::Other(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Failure::Other(error.to_string()))
}

/// A value for all lines, or the column in which each has its own.
#[derive(Debug, Clone, Copy)]
enum Given<T> {
    ForAll(T),
    InColumn(usize),
}

fn either<T>(name: &str, column: Option<usize>, option: Option<T>, file: &str) -> Outcome<Given<T>> {
    match (column, option) {
        (Some(at), None) => Ok(Given::InColumn(at)),
        (None, Some(value)) => Ok(Given::ForAll(value)),
        (Some(_), Some(_)) => {
            Err(Failure::Usage(format!("{file} has a column \"{name}\": leave --{name} out")))
        }
        (None, None) => {
            Err(Failure::Usage(format!("{file} has no column \"{name}\": name it with --{name}")))
        }
    }
}
