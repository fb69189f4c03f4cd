//! What can be typed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use dp_accountant::{Budget, Composition, Event, Label, Mechanism, Relation, Sampling};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Stated};

const SAMPLING_HELP: &str = "How records were chosen: none, poisson:RATE, fixed:BATCH/RECORDS (without replacement), \
                             with-replacement:BATCH/RECORDS or shuffle:BATCH/RECORDS";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Epsilon at a delta
    Epsilon(EpsilonOf),
    /// Delta at an epsilon
    Delta(DeltaOf),
    /// What several runs on the same records cost together
    Compose(Compose),
    /// The noise, the number of steps, the rate or the batch that a budget allows
    Calibrate(Calibrate),
    /// What each accountant of the field says about one run
    Compare(Compare),
    /// The trade-off curve of membership tests and delta(epsilon), as numbers and as a picture
    Curve(Curve),
    /// An account in a file that refuses to be overdrawn
    Ledger {
        /// What to do with it
        #[command(subcommand)]
        command: LedgerCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EpsilonOf {
    #[command(flatten)]
    pub(crate) events: EventsOrBatch,
    /// Which data sets are neighbours
    #[arg(long, value_enum, required_unless_present = "batch")]
    relation: Option<RelationName>,
    /// The probability with which the guarantee may fail
    #[arg(long, required_unless_present = "batch", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// A CSV file (- for the standard input) with the columns noise_multiplier, sampling, steps and, unless
    /// given here, delta and relation; one answer a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "noise_multiplier", "mechanism", "sampling", "steps", "input"])]
    pub(crate) batch: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl EpsilonOf {
    /// The relation, where one was named.
    pub(crate) fn common_relation(&self) -> Option<Relation> {
        self.relation.map(Relation::from)
    }

    /// The delta, where one was given.
    pub(crate) fn common_delta(&self) -> Option<f64> {
        self.delta
    }

    pub(crate) fn relation(&self) -> Outcome<Relation> {
        self.common_relation().ok_or_else(|| Failure::Usage("--relation is missing".into()))
    }

    pub(crate) fn delta(&self) -> Outcome<f64> {
        self.delta.ok_or_else(|| Failure::Usage("--delta is missing".into()))
    }
}

#[derive(Debug, Args)]
pub(crate) struct DeltaOf {
    #[command(flatten)]
    pub(crate) events: Events,
    /// Which data sets are neighbours
    #[arg(long, value_enum)]
    pub(crate) relation: RelationName,
    /// The bound on the privacy loss
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("sources").required(true).multiple(true).args(["events", "inputs", "ledgers"])),
    group(ArgGroup::new("questions").required(true).multiple(true).args(["delta", "epsilon"])),
    after_help = COMPOSE_EXAMPLE
)]
pub(crate) struct Compose {
    /// A mechanism, how records were chosen, and how many steps; may be repeated
    #[arg(long = "event", value_name = "MECHANISM@SAMPLING@STEPS", value_parser = counted)]
    pub(crate) events: Vec<Counted>,
    /// A JSON file of events, or - for the standard input: what --json prints, the list in it, or a
    /// dp_accounting event tree; may be repeated
    #[arg(long = "input", value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// An account's file, of which all debits count; may be repeated, and is only read
    #[arg(long = "ledger", value_name = "FILE")]
    pub(crate) ledgers: Vec<PathBuf>,
    /// Which data sets are neighbours
    #[arg(long, value_enum)]
    pub(crate) relation: RelationName,
    /// Print epsilon at this delta: the probability with which the guarantee may fail
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<f64>,
    /// Print delta at this epsilon: the bound on the privacy loss
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPOSE_EXAMPLE: &str = "\
Example: two training runs, one of them on record in an account, and a release of counts

  dp-accountant compose --ledger spent.ledger --input run.json \\
    --event laplace:scale=4@none@3 --relation add-remove --delta 1e-5 --epsilon 2

Everything that is named counts, and counts twice if it is named twice.";

/// Equal steps in words.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) text: String,
    pub(crate) event: Event,
    pub(crate) count: u64,
}

fn counted(text: &str) -> Result<Counted, String> {
    let parts: Vec<&str> = text.split('@').collect();
    let [kind, scheme, steps] = parts[..] else {
        return Err("expected MECHANISM@SAMPLING@STEPS, as in laplace:scale=4@none@3".into());
    };
    let event = Event::new(mechanism(kind)?, sampling(scheme)?).map_err(|error| error.to_string())?;
    let count = steps.parse().map_err(|_| format!("expected a whole number of steps, got \"{steps}\""))?;
    Ok(Counted { text: text.into(), event, count })
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Unknown {
    /// The least noise multiplier
    Noise,
    /// The most steps
    Steps,
    /// The largest sampling rate: write it as ?, in --sampling poisson:?
    Rate,
    /// The largest batch: write it as ?, for example in --sampling fixed:?/60000
    Batch,
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    #[command(flatten)]
    pub(crate) budget: BudgetOf,
    /// What to look for
    #[arg(long = "for", value_enum, default_value = "noise")]
    pub(crate) unknown: Unknown,
    /// As for epsilon, with ? in place of the rate or the batch that is looked for
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) sampling: String,
    /// How many steps, unless they are looked for
    #[arg(long)]
    pub(crate) steps: Option<u64>,
    /// Standard deviation of the noise over the clip norm, unless it is looked for
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) noise_multiplier: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) events: Events,
    /// Which data sets are neighbours
    #[arg(long, value_enum)]
    pub(crate) relation: RelationName,
    /// The probability with which the guarantee may fail
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Curve {
    #[command(flatten)]
    pub(crate) events: Events,
    /// Which data sets are neighbours
    #[arg(long, value_enum)]
    pub(crate) relation: RelationName,
    /// How far the two ends of the curve may be apart
    #[arg(long, default_value = "1e-3", allow_hyphen_values = true)]
    pub(crate) width: f64,
    /// Where to draw both curves (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Create an account with nothing spent
    New {
        #[command(flatten)]
        file: LedgerFile,
        #[command(flatten)]
        budget: BudgetOf,
    },
    /// Spend, before the mechanism runs: refused if the budget does not allow it
    Debit {
        #[command(flatten)]
        file: LedgerFile,
        #[command(flatten)]
        events: Events,
        /// The purpose, in at most 200 characters; it is stored in plain text
        #[arg(long, value_name = "TEXT")]
        label: Option<Label>,
    },
    /// What was spent by which debit, when and for what, and what is left
    Show {
        #[command(flatten)]
        file: LedgerFile,
    },
    /// Take a ledger that has lost its head, or debits that count as spent elsewhere, as it is
    Accept {
        #[command(flatten)]
        file: LedgerFile,
    },
    /// How many more steps the budget allows
    Affordable {
        #[command(flatten)]
        file: LedgerFile,
        #[command(flatten)]
        event: OneEvent,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LedgerFile {
    /// The account's file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BudgetOf {
    /// The bound on the privacy loss
    #[arg(long, allow_hyphen_values = true)]
    epsilon: f64,
    /// The probability with which the guarantee may fail
    #[arg(long, allow_hyphen_values = true)]
    delta: f64,
    /// Which data sets are neighbours
    #[arg(long, value_enum)]
    relation: RelationName,
}

impl From<&BudgetOf> for Budget {
    fn from(arguments: &BudgetOf) -> Self {
        Self { epsilon: arguments.epsilon, delta: arguments.delta, relation: arguments.relation.into() }
    }
}

/// A mechanism and a sampling scheme.
#[derive(Debug, Args)]
pub(crate) struct OneEvent {
    /// Gaussian mechanism: standard deviation of the noise over the clip norm
    #[arg(long, required_unless_present = "mechanism", allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// Any mechanism, as NAME:PARAMETER=VALUE,… (for example gaussian:noise_multiplier=1)
    #[arg(long, conflicts_with = "noise_multiplier", value_parser = mechanism)]
    mechanism: Option<Mechanism>,
    #[arg(long, help = SAMPLING_HELP, value_parser = sampling, allow_hyphen_values = true)]
    sampling: Sampling,
}

impl OneEvent {
    pub(crate) fn event(&self) -> Outcome<Event> {
        event(self.noise_multiplier, self.mechanism, self.sampling)
    }
}

/// Equal steps, or a file of events.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Gaussian mechanism: standard deviation of the noise over the clip norm
    #[arg(long, required_unless_present_any = ["mechanism", "input"], allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// Any mechanism, as NAME:PARAMETER=VALUE,… (for example gaussian:noise_multiplier=1)
    #[arg(long, conflicts_with = "noise_multiplier", value_parser = mechanism)]
    mechanism: Option<Mechanism>,
    #[arg(long, help = SAMPLING_HELP, required_unless_present = "input", value_parser = sampling, allow_hyphen_values = true)]
    sampling: Option<Sampling>,
    /// How many steps
    #[arg(long, required_unless_present = "input")]
    steps: Option<u64>,
    /// A JSON file of events, or - for the standard input: what --json prints, the list in it, or a
    /// dp_accounting event tree
    #[arg(long, value_name = "FILE", conflicts_with_all = ["noise_multiplier", "mechanism", "sampling", "steps"])]
    input: Option<PathBuf>,
}

/// As [`Events`], but none are needed where a whole file of questions is asked.
#[derive(Debug, Args)]
pub(crate) struct EventsOrBatch {
    /// Gaussian mechanism: standard deviation of the noise over the clip norm
    #[arg(long, required_unless_present_any = ["mechanism", "input", "batch"], allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// Any mechanism, as NAME:PARAMETER=VALUE,… (for example gaussian:noise_multiplier=1)
    #[arg(long, conflicts_with = "noise_multiplier", value_parser = mechanism)]
    mechanism: Option<Mechanism>,
    #[arg(long, help = SAMPLING_HELP, required_unless_present_any = ["input", "batch"], value_parser = sampling, allow_hyphen_values = true)]
    sampling: Option<Sampling>,
    /// How many steps
    #[arg(long, required_unless_present_any = ["input", "batch"])]
    steps: Option<u64>,
    /// A JSON file of events, or - for the standard input: what --json prints, the list in it, or a
    /// dp_accounting event tree
    #[arg(long, value_name = "FILE", conflicts_with_all = ["noise_multiplier", "mechanism", "sampling", "steps"])]
    input: Option<PathBuf>,
}

impl Events {
    /// The events, and under which relation they were stated if a file says so.
    pub(crate) fn stated(&self) -> Outcome<Stated> {
        if let Some(file) = &self.input {
            return input::read(file);
        }
        let (Some(sampling), Some(steps)) = (self.sampling, self.steps) else {
            return Err(Failure::Usage("--sampling and --steps are needed, or --input".into()));
        };
        Ok(Composition::single(event(self.noise_multiplier, self.mechanism, sampling)?, steps).into())
    }

    /// The events, to be accounted under a relation.
    pub(crate) fn composition(&self, relation: Relation) -> Outcome<Composition> {
        self.stated()?.under(relation)
    }
}

impl EventsOrBatch {
    /// As [`Events::composition`].
    pub(crate) fn composition(&self, relation: Relation) -> Outcome<Composition> {
        let Self { noise_multiplier, mechanism, sampling, steps, input } = self;
        let (noise_multiplier, mechanism, sampling) = (*noise_multiplier, *mechanism, *sampling);
        Events { noise_multiplier, mechanism, sampling, steps: *steps, input: input.clone() }
            .composition(relation)
    }
}

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RelationName {
    /// One data set is the other plus one record
    AddRemove,
    /// The data sets have the same size and differ in one record
    ReplaceOne,
}

impl From<RelationName> for Relation {
    fn from(name: RelationName) -> Self {
        match name {
            RelationName::AddRemove => Relation::AddRemove,
            RelationName::ReplaceOne => Relation::ReplaceOne,
        }
    }
}

fn event(noise_multiplier: Option<f64>, mechanism: Option<Mechanism>, sampling: Sampling) -> Outcome<Event> {
    let gaussian = noise_multiplier.map(|noise_multiplier| Mechanism::Gaussian { noise_multiplier });
    let mechanism = mechanism.or(gaussian);
    let mechanism = mechanism.ok_or_else(|| Failure::Usage("--noise-multiplier is missing".into()))?;
    Ok(Event::new(mechanism, sampling)?)
}

/// A sampling scheme in words. It is put together in its stored form, so that a new scheme of the library
/// needs no more than its name here.
pub(crate) fn sampling(text: &str) -> Result<Sampling, String> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let name = match name {
        "none" if parameters.is_empty() => return Ok(Sampling::None),
        "poisson" => {
            let rate = match parameters.split_once('/') {
                Some((part, whole)) => number(part)? / number(whole)?,
                None => number(parameters)?,
            };
            return Ok(Sampling::Poisson { rate });
        }
        "fixed" | "without-replacement" => "without_replacement",
        "with-replacement" => "with_replacement",
        "shuffle" => "shuffle",
        _ => {
            return Err(
                "expected none, poisson:RATE, fixed:BATCH/RECORDS, with-replacement:BATCH/RECORDS or \
                         shuffle:BATCH/RECORDS"
                    .into(),
            );
        }
    };
    let (batch, records) = parameters.split_once('/').ok_or_else(|| {
        format!("expected the sizes of a batch and of the data set, BATCH/RECORDS, got \"{parameters}\"")
    })?;
    from_stored(json!({ name: { "batch": count(batch)?, "records": count(records)? } }))
}

/// A mechanism in words: its stored form without the brackets.
pub(crate) fn mechanism(text: &str) -> Result<Mechanism, String> {
    let (name, parameters) =
        text.split_once(':').ok_or("expected NAME:PARAMETER=VALUE, as in gaussian:noise_multiplier=1")?;
    let mut fields = Map::new();
    for parameter in parameters.split(',') {
        let (key, value) = parameter
            .split_once('=')
            .ok_or_else(|| format!("expected PARAMETER=VALUE, got \"{parameter}\""))?;
        // A count must stay a whole number; anything else is a floating-point one.
        let value = match value.parse::<u64>() {
            Ok(whole) => json!(whole),
            Err(_) => json!(number(value)?),
        };
        if fields.insert(key.replace('-', "_"), value).is_some() {
            return Err(format!("\"{key}\" is given twice"));
        }
    }
    let name = name.replace('-', "_");
    from_stored(json!({ name: Value::Object(fields) }))
}

fn from_stored<T: DeserializeOwned>(stored: Value) -> Result<T, String> {
    serde_json::from_value(stored).map_err(|error| error.to_string())
}

fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("expected a number, got \"{text}\"")),
    }
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number of records, got \"{text}\""))
}
