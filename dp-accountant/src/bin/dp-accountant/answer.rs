//! Answers, as text for people and as JSON for programs.

use std::fmt::Write;

use dp_accountant::{Certified, CertifiedLog, Composition, Relation, rounded_down, rounded_up};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};

/// An answer that is put together line by line.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    lines: Vec<(String, String)>,
    json: Map<String, Value>,
}

impl Answer {
    /// An answer about a composition.
    pub(crate) fn new(relation: Relation, composition: &Composition) -> Self {
        Self::default().stored("relation", relation, &relation.to_string()).events(composition)
    }

    /// The events, one a line.
    pub(crate) fn events(mut self, composition: &Composition) -> Self {
        self.json.insert("events".into(), json!(composition));
        for (event, count) in composition.iter() {
            self.lines.push(("event".into(), format!("{count} x {event}")));
        }
        self
    }

    /// A number that was given or found.
    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        self.stored(name, value, &value.to_string())
    }

    /// A value with a stored form, and its text.
    pub(crate) fn stored(mut self, name: &str, value: impl Serialize, text: &str) -> Self {
        self.json.insert(name.into(), json!(value));
        self.lines.push((name.replace('_', " "), text.into()));
        self
    }

    /// An interval.
    pub(crate) fn certified(self, name: &str, value: Certified) -> Self {
        self.stored(name, value, &value.to_string())
    }

    /// The interval of a logarithm; whether it is worth a line of text, the caller knows.
    pub(crate) fn log(mut self, name: &str, value: CertifiedLog, shown: bool) -> Self {
        // JSON has no infinity: a lower end that is not known is null.
        let finite = |end: f64| if end.is_finite() { json!(end) } else { Value::Null };
        let stored = json!({
            "lower": finite(value.lower), "estimate": finite(value.estimate), "upper": finite(value.upper),
            "lower_engine": value.lower_engine, "upper_engine": value.upper_engine,
        });
        self.json.insert(name.into(), stored);
        if shown {
            // Both ends are negative: away from zero is down.
            let (lower, upper) = (rounded_up(-value.lower), rounded_down(-value.upper));
            self.lines
                .push((name.replace('_', " "), format!("between -{lower} and -{upper} (natural logarithm)")));
        }
        self
    }

    /// A line of text only.
    pub(crate) fn remark(mut self, name: &str, text: String) -> Self {
        self.lines.push((name.into(), text));
        self
    }

    /// A value for programs only.
    pub(crate) fn hidden(mut self, name: &str, value: impl Serialize) -> Self {
        self.json.insert(name.into(), json!(value));
        self
    }

    /// The text to print.
    pub(crate) fn print(self, as_json: bool) -> Outcome<String> {
        if as_json {
            let text =
                serde_json::to_string(&self.json).map_err(|error| Failure::Other(error.to_string()))?;
            return Ok(text + "\n");
        }
        let width = self.lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        Ok(self.lines.iter().fold(String::new(), |mut text, (name, value)| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:width$}  {value}");
            text
        }))
    }
}
