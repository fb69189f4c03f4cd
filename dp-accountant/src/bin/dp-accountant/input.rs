//! Files of events: as a list, as an answer of this command, or as an event tree of dp_accounting.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dp_accountant::interop::dp_event;
use dp_accountant::{Budget, Composition, FileLedger, Mechanism, Relation};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::failure::{Failure, Outcome};

/// The most bytes of a file of events. An event takes about a hundred, and compositions of more than a few
/// thousand different ones have no answer; so this is enough, and nonsense is refused at once.
const MOST_BYTES: u64 = 4 << 20;

/// Events, and the relation under which they were stated, where that is known.
#[derive(Debug)]
pub(crate) struct Stated {
    events: Composition,
    /// The relation, and the name of the file that says so.
    relation: Option<(Relation, String)>,
}

/// The part of an answer of this command that is read again.
#[derive(Deserialize)]
struct Answer {
    events: Composition,
    relation: Option<Relation>,
    /// Ledgers print the relation here.
    budget: Option<Budget>,
}

impl From<Composition> for Stated {
    fn from(events: Composition) -> Self {
        Self { events, relation: None }
    }
}

impl Stated {
    /// The events, to be accounted under this relation.
    ///
    /// Noise and sampling mean the same under both relations. A guarantee does not: it holds under the
    /// relation that it was stated for.
    pub(crate) fn under(self, relation: Relation) -> Outcome<Composition> {
        if let Some((stated, file)) = self.relation.filter(|(stated, _)| *stated != relation) {
            let guarantee = self.events.iter().find(|(event, _)| {
                matches!(event.mechanism(), Mechanism::PureDp { .. } | Mechanism::ApproximateDp { .. })
            });
            if let Some((event, _)) = guarantee {
                return Err(Failure::Usage(format!(
                    "{file}: \"{event}\" was stated under {stated}, and is not known under {relation}"
                )));
            }
        }
        Ok(self.events)
    }
}

/// Reads the events of a file; `-` is the standard input.
pub(crate) fn read(file: &Path) -> Outcome<Stated> {
    let name = shown(file);
    let nonsense = |problem: String| Failure::Usage(format!("{name}: {problem}"));
    let text = bytes(file, MOST_BYTES)?;
    let text = std::str::from_utf8(&text).map_err(|error| nonsense(format!("this is no text: {error}")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    if text.starts_with("dp-accountant ledger ") {
        return Err(nonsense("this is a ledger; name it with compose --ledger, or give what \"ledger show --json\" prints about it".into()));
    }
    // Each form is read from the text and not from a tree of values, which would drop all but the last of a
    // field's repetitions and forget where in the file an error is.
    match form(text).map_err(nonsense)? {
        Form::List => {
            let events: Composition =
                serde_json::from_str(text).map_err(|error| nonsense(format!("a list of events: {error}")))?;
            Ok(events.into())
        }
        Form::Answer => {
            let answer: Answer =
                serde_json::from_str(text).map_err(|error| nonsense(format!("an answer: {error}")))?;
            let relation = answer.relation.or(answer.budget.map(|budget| budget.relation));
            Ok(Stated { events: answer.events, relation: relation.map(|relation| (relation, name)) })
        }
        Form::Tree => Ok(dp_event::from_json(text).map_err(|error| nonsense(error.to_string()))?.into()),
    }
}

/// Reads all that was debited from a ledger.
pub(crate) fn read_ledger(file: &Path) -> Outcome<Stated> {
    let ledger = FileLedger::read(file)?;
    Ok(Stated { events: ledger.events().clone(), relation: Some((ledger.budget().relation, shown(file))) })
}

/// How events are written down.
#[derive(Debug, PartialEq)]
enum Form {
    List,
    Answer,
    Tree,
}

/// The names at the top of an object; their values are looked at later.
#[derive(Deserialize)]
struct Names {
    class_name: Option<IgnoredAny>,
    events: Option<IgnoredAny>,
}

fn form(text: &str) -> Result<Form, String> {
    const EXPECTED: &str = "expected a list of events and counts, an answer that this command prints with --json, or an event tree \
                            of dp_accounting as JSON";
    if text.is_empty() {
        return Err(format!("this is empty; {EXPECTED}"));
    }
    if text.starts_with('[') {
        return Ok(Form::List);
    }
    if !text.starts_with('{') {
        return Err(format!("this is neither a list nor an object; {EXPECTED}"));
    }
    let names: Names = serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
    match names {
        Names { class_name: Some(_), .. } => Ok(Form::Tree),
        Names { events: Some(_), .. } => Ok(Form::Answer),
        _ => Err(format!("this object has neither \"events\" nor \"class_name\"; {EXPECTED}")),
    }
}

/// The contents of a file, or of the standard input for `-`, if they are not larger than that.
pub(crate) fn bytes(file: &Path, most: u64) -> Outcome<Vec<u8>> {
    let failed = |error: std::io::Error| Failure::Other(format!("{}: {error}", shown(file)));
    let mut read = Vec::new();
    // One byte more, to see whether there is one. The size that the operating system states is that of plain
    // files only.
    let taken = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(most + 1).read_to_end(&mut read),
        _ => File::open(file).and_then(|opened| opened.take(most + 1).read_to_end(&mut read)),
    };
    taken.map_err(failed)?;
    if read.len() as u64 > most {
        return Err(Failure::Usage(format!("{}: this is larger than {} MiB", shown(file), most >> 20)));
    }
    Ok(read)
}

/// A file's name in messages.
pub(crate) fn shown(file: &Path) -> String {
    if file == Path::new("-") { "standard input".into() } else { file.display().to_string() }
}
