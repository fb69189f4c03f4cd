//! The one error type of this crate.

use crate::base::{Origin, Shape};
use std::fmt;
use std::panic::Location;

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in the caller's source an operation was written.
///
/// Errors found while tracing point at the line of the *model*, not at a line of this crate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Source(&'static Location<'static>);

impl Source {
    /// The place that called the function this is called from.
    #[track_caller]
    pub fn caller() -> Self {
        Self(Location::caller())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.0.file(), self.0.line(), self.0.column())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What can go wrong while a model is traced, planned or run.
///
/// `Debug` prints the same words as `Display`: a `main` that returns an error prints it by `Debug`.
///
/// ```
/// use ppl_core::{Records, Schema};
/// let error = Schema::new([("x", 3)])?.dim("y").unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(format!("{error:?}").starts_with("there is no column 'y'"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands whose shapes do not go together.
    #[error("{operation}: shapes {left} and {right} do not go together ({source_line})")]
    ShapeMismatch {
        /// The operation, by the name of its method.
        operation: &'static str,
        /// Shape of the first operand.
        left: Shape,
        /// Shape of the second operand.
        right: Shape,
        /// Line of the model.
        source_line: Source,
    },
    /// One operand (or value) of a shape that is not allowed there.
    #[error("{operation}: expected {expected}, got shape {got} ({source_line})")]
    UnexpectedShape {
        /// The operation or statement.
        operation: &'static str,
        /// What would have been right, in words.
        expected: String,
        /// The shape that came.
        got: Shape,
        /// Line of the model.
        source_line: Source,
    },
    /// A shape with more elements than can be addressed.
    #[error("shape {0} has too many elements (the bound is 2^31)")]
    TooLarge(Shape),
    /// Values of two different graphs in one operation.
    #[error("{operation}: the operands belong to different graphs ({source_line})")]
    MixedGraphs {
        /// The operation.
        operation: &'static str,
        /// Line of the model.
        source_line: Source,
    },
    /// A value of one record where only values shared by all records may stand.
    #[error("{what} would mix records: it depends on the record at hand, but {rule} ({source_line})")]
    MixesRecords {
        /// What was attempted.
        what: String,
        /// The rule it breaks.
        rule: &'static str,
        /// Line of the model.
        source_line: Source,
    },
    /// An error that happened while the named site was being built.
    #[error("site '{site}': {source}")]
    AtSite {
        /// Name of the site.
        site: String,
        /// What happened.
        source: Box<Error>,
    },
    /// Two sites, or two inputs, of one name.
    #[error("the name '{name}' is used by two sites of the model ({source_line})")]
    DuplicateSite {
        /// The name.
        name: String,
        /// Line of the second use.
        source_line: Source,
    },
    /// An input declared twice with different shapes.
    #[error("input '{name}' was declared with shape {first} and again with shape {second}")]
    InputRedeclared {
        /// The input's name.
        name: String,
        /// Its first shape.
        first: Shape,
        /// The other shape.
        second: Shape,
    },
    /// A parameter of a distribution outside its domain.
    #[error("{distribution}: {parameter} must be {requirement}, got {value} ({source_line})")]
    Parameter {
        /// The distribution's name.
        distribution: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// The domain, in words.
        requirement: String,
        /// The value given.
        value: f64,
        /// Line of the model.
        source_line: Source,
    },
    /// A latent value or parameter that may be any real number, where a distribution takes no such number.
    #[error(
        "{distribution}: {parameter} must be {requirement}, but '{site}' may be any real number; give it another \
         prior or constraint, or take its exp or softplus ({source_line})"
    )]
    ParameterIsReal {
        /// The distribution's name.
        distribution: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// The domain, in words.
        requirement: String,
        /// The site whose value was given.
        site: String,
        /// Line of the model.
        source_line: Source,
    },
    /// A value outside the support of its site's distribution.
    #[error("site '{site}': value {value}{place} is outside the support ({support})")]
    OutsideSupport {
        /// Name of the site.
        site: String,
        /// The value.
        value: f64,
        /// Which element or record, in words; may be empty.
        place: String,
        /// The support, in words.
        support: String,
    },
    /// A column the records do not have.
    #[error("there is no column '{name}'; the records have {known}")]
    UnknownColumn {
        /// The name that was looked up.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A value for a site the model does not have, or a missing one.
    #[error("{0}")]
    Values(String),
    /// Columns that do not make a table of records.
    #[error("records: {0}")]
    Records(String),
    /// A record index outside the table.
    #[error("record index {index} is out of range: there are {records} records")]
    RecordIndex {
        /// The index.
        index: u64,
        /// The number of records.
        records: usize,
    },
    /// A number that chooses no row of a table.
    #[error("{}index {value}{place} is not an integer from 0 to {rows} - 1 ({source_line})", of_site(.source_line))]
    Index {
        /// The number.
        value: f64,
        /// Rows of the table.
        rows: usize,
        /// Which column and record, in words; may be empty.
        place: String,
        /// Line of the model, and the site that was being built there.
        source_line: Origin,
    },
    /// Records whose columns are not those the program was planned for.
    #[error("these records have columns {got}, but the program was planned for {expected}")]
    SchemaMismatch {
        /// Columns planned for.
        expected: String,
        /// Columns given.
        got: String,
    },
    /// A file that cannot be written.
    #[error("file '{path}' {problem}")]
    File {
        /// Its path.
        path: String,
        /// What went wrong, in words.
        problem: String,
    },
    /// A model that does something this version has no rule for.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// A number outside its range.
    #[error("{what} must be {requirement}, got {value}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its range, in words.
        requirement: &'static str,
        /// The value given.
        value: f64,
    },
    /// A finite distribution without any weight: it was conditioned on an event of probability zero, or all of its
    /// weights were zero.
    #[error("{0}: no outcome has a positive weight, so there is nothing to normalise")]
    Impossible(&'static str),
    /// A finite distribution whose weights have to add up to one and do not.
    #[error("{what} must have total weight 1, but it lies in [{lower}, {upper}]")]
    Unnormalised {
        /// What the distribution is.
        what: &'static str,
        /// Lower end of the total.
        lower: f64,
        /// Upper end of the total.
        upper: f64,
    },
    /// A list of values that holds one of them twice.
    #[error("{what} must hold each value once, but value number {number} occurred before")]
    Repeated {
        /// What the list is.
        what: &'static str,
        /// The place of the second occurrence, from 0.
        number: usize,
    },
    /// An enumeration with more members than its limit; nothing has been computed.
    #[error("there are {count} {what}, and the limit is {limit}")]
    TooMany {
        /// What would be enumerated.
        what: &'static str,
        /// How many there are.
        count: u128,
        /// The limit.
        limit: u128,
    },
    /// A guide whose sites are not those of its model.
    #[error("the guide does not go with the model: {0}")]
    Guide(String),
}

impl Error {
    /// The same error, with this line of the model where it has one.
    pub(crate) fn at_line(mut self, line: Source) -> Self {
        match &mut self {
            Error::ShapeMismatch { source_line, .. }
            | Error::UnexpectedShape { source_line, .. }
            | Error::MixedGraphs { source_line, .. }
            | Error::MixesRecords { source_line, .. }
            | Error::Parameter { source_line, .. }
            | Error::ParameterIsReal { source_line, .. } => *source_line = line,
            _ => {}
        }
        self
    }

    /// The same error, said of a site. An error that names its site already is left as it is.
    #[must_use]
    pub fn at_site(self, site: &str) -> Self {
        match self {
            Error::AtSite { .. } | Error::OutsideSupport { .. } | Error::DuplicateSite { .. } => self,
            Error::Index { ref source_line, .. } if source_line.site().is_some() => self,
            other => Error::AtSite { site: site.to_owned(), source: Box::new(other) },
        }
    }
}

/// As `Display`, since `fn main() -> Result<(), Box<dyn Error>>` prints this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The beginning of a message about a site.
fn of_site(origin: &Origin) -> String {
    origin.site().map(|site| format!("site '{site}': ")).unwrap_or_default()
}
