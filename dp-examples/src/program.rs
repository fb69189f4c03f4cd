//! What the programs share: reading options, and saying in one line what went wrong.

use std::error::Error as StdError;
use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::error::{one_line, quoted};
use crate::table::text_at;
use crate::twin;

/// The exit code for bad input.
pub const BAD_INPUT: u8 = 2;

/// Why a program ends before its work begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The user asked for help or the version: this is the text.
    Asked(String),
    /// The options are wrong: a single line.
    Wrong(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(text) | Self::Wrong(text) => f.write_str(text),
        }
    }
}

/// Reads options; the first argument is the program's name.
///
/// # Errors
///
/// [`Stop::Wrong`] with one line that names the option and the value, or [`Stop::Asked`] for `--help` and
/// `--version`.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::arguments::FitArguments;
/// use dp_examples::program::{Stop, parse};
///
/// let stop = parse::<FitArguments>(["fit", "--epsilon", "0"]).unwrap_err();
/// let Stop::Wrong(line) = stop else { panic!() };
/// assert!(line.starts_with("error: invalid value '0' for '--epsilon <EPSILON>': expected a number above 0"));
/// ```
pub fn parse<T: Parser>(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<T, Stop> {
    T::try_parse_from(arguments).map_err(|error| {
        let text = error.render().to_string();
        if !error.use_stderr() {
            return Stop::Asked(text);
        }
        // The library follows its message with usage and advice on lines of their own.
        let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.find(mark)).min();
        Stop::Wrong(one_line(&text[..end.unwrap_or(text.len())]))
    })
}

/// An error and its causes in one line: `error: what: why: why that`.
///
/// A cause whose words its effect has already said is left out.
///
/// # Examples
///
/// ```
/// use dp_examples::{Error, program::error_line};
///
/// let error = Error::NotADate { file: "a.csv".into(), line: 12, column: "born".into() };
/// assert_eq!(error_line(&error), "error: a.csv:12: column 'born' does not hold a date like 2024-02-29 here");
/// ```
pub fn error_line(error: &(dyn StdError + 'static)) -> String {
    let mut said = one_line(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = one_line(&error.to_string());
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        cause = error.source();
    }
    format!("error: {said}")
}

/// The whole of a `main`: reads the options, does the job, and turns an error into one line and exit code 2.
///
/// The line goes to the standard error. Nothing is printed otherwise, except help or the version where asked
/// for.
pub fn run<T: Parser>(job: impl FnOnce(T) -> Result<(), Box<dyn StdError>>) -> ExitCode {
    run_with(std::env::args_os(), job)
}

/// As [`run`], with these arguments; the first is the program's name.
pub fn run_with<T: Parser>(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    job: impl FnOnce(T) -> Result<(), Box<dyn StdError>>,
) -> ExitCode {
    match parse::<T>(arguments) {
        Ok(arguments) => match job(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error_line(error.as_ref())),
        },
        Err(Stop::Asked(text)) => {
            // A closed pipe (`fit --help | head -1`) is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(Stop::Wrong(line)) => fail(&line),
    }
}

/// Says something of the records that no guarantee covers, to the standard error: for the person who holds them, and
/// not among what may be shown.
pub fn for_the_holder(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Adds to an error that is about a cell, or a record, what stands there, where the person who holds the file has asked
/// for it.
///
/// # Privacy
///
/// The text is a record's. Without `show` an error names the file, the line and the column, and nothing else.
///
/// # Errors
///
/// That of `result`.
pub fn with_values<T>(show: bool, result: Result<T, Box<dyn StdError>>) -> Result<T, Box<dyn StdError>> {
    result.map_err(|error| {
        let words = |error: &(dyn StdError + 'static)| {
            let mut next = Some(error);
            while let Some(error) = next {
                let of_twin = || match error.downcast_ref() {
                    Some(twin::Error::Table(error)) => Some(error),
                    _ => None,
                };
                let known = error.downcast_ref::<crate::Error>().or_else(of_twin);
                if let Some((file, line, column)) = known.and_then(crate::Error::place) {
                    return text_at(Path::new(file), line, column);
                }
                next = error.source();
            }
            None
        };
        match show.then(|| words(error.as_ref())).flatten() {
            Some(text) => {
                let said = error_line(error.as_ref());
                let said = said.strip_prefix("error: ").unwrap_or(&said);
                format!("{said}; it holds {}, which is a record's: do not publish it", quoted(&text)).into()
            }
            None => error,
        }
    })
}

fn fail(line: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{line}");
    ExitCode::from(BAD_INPUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::arguments::FitArguments;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot\nfit{}", if *.repeat { ": too few records" } else { "" })]
    struct Outer {
        repeat: bool,
        #[source]
        inner: Inner,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("too few records")]
    struct Inner;

    #[test]
    fn causes_follow_once() {
        for repeat in [false, true] {
            assert_eq!(error_line(&Outer { repeat, inner: Inner }), "error: cannot fit: too few records");
        }
    }

    #[test]
    fn help_is_not_an_error() {
        let Err(Stop::Asked(help)) = parse::<FitArguments>(["fit", "--help"]) else {
            panic!("expected help")
        };
        for option in ["--data", "--positive-if", "--bounds", "--test-seed-not-private", "NOT private"] {
            assert!(help.contains(option), "{option} is not in\n{help}");
        }
        assert!(matches!(parse::<FitArguments>(["fit", "--version"]), Err(Stop::Asked(_))));
    }
}
