//! What can go wrong, and the exit code that says it: 2 for what was asked wrongly, 1 for everything else.

use std::fmt;
use std::process::ExitCode;

use dp_accountant::Error;

/// The result of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed makes no sense.
    Usage(String),
    /// The library says no.
    Accountant(Error),
    /// A file, or the terminal.
    Other(String),
}

impl Failure {
    pub(crate) fn code(&self) -> ExitCode {
        let usage = match self {
            Failure::Usage(_) => true,
            Failure::Accountant(error) => matches!(
                error,
                Error::NoiseMultiplier { .. }
                    | Error::SamplingRate { .. }
                    | Error::Batch { .. }
                    | Error::Epsilon { .. }
                    | Error::Delta { .. }
                    | Error::RelativeWidth { .. }
                    | Error::Parameter { .. }
                    | Error::PartOfEpoch { .. }
                    | Error::NotReplaceable { .. }
            ),
            Failure::Other(_) => false,
        };
        ExitCode::from(if usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Other(text) => f.write_str(text),
            Failure::Accountant(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Accountant(error)
    }
}
