//! The crate's error type.

pub(crate) mod wording;

use wording::{bounds_hint, header, listed, path};
pub(crate) use wording::{one_line, quoted};

/// Everything that can be wrong with a file, an option or a destination.
///
/// Each message is a single line that names the file, the line and the value it is about; text taken from a
/// file is escaped and cut, so that a cell cannot break the line or send control codes to a terminal.
///
/// # Privacy
///
/// No message holds what a cell says; it names the line and the column. That there is a mistake on some line is
/// itself a fact about the records: messages are meant for the person who holds the data, never for release.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("{}: cannot be read: {}", path(file), one_line(reason))]
    Unreadable {
        /// The file as the user named it.
        file: String,
        /// What the operating system said.
        reason: String,
    },
    /// The file holds nothing.
    #[error("{}:1: the file is empty, expected a header line and at least one record", path(file))]
    EmptyFile {
        /// The file as the user named it.
        file: String,
    },
    /// There is a header and nothing below it.
    #[error("{}:{line}: no records after the header line", path(file))]
    NoRecords {
        /// The file as the user named it.
        file: String,
        /// The header's line.
        line: u64,
    },
    /// The file holds bytes that are not UTF-8.
    #[error("{}:{line}: here is a byte that is not UTF-8 text, expected a UTF-8 file", path(file))]
    NotUtf8 {
        /// The file as the user named it.
        file: String,
        /// The line of the first such byte, which may be of a cell and is not told.
        line: u64,
    },
    /// A quoted cell runs to the end of the file.
    #[error("{}:{line}: the quote opened on this line is never closed", path(file))]
    UnclosedQuote {
        /// The file as the user named it.
        file: String,
        /// The line of the opening quote.
        line: u64,
    },
    /// The CSV reader refused the file for another reason.
    #[error("{}:{line}: not a CSV file: {}", path(file), one_line(reason))]
    NotCsv {
        /// The file as the user named it.
        file: String,
        /// The line reached.
        line: u64,
        /// What the reader said.
        reason: String,
    },
    /// The header is one column that looks like several.
    #[error(
        "{}:{line}: the header is one column, with {separator} in its name; columns are separated by commas: \
         save the file so",
        path(file)
    )]
    OtherSeparator {
        /// The file as the user named it.
        file: String,
        /// The header's line.
        line: u64,
        /// What seems to separate columns.
        separator: &'static str,
    },
    /// A column has no name.
    #[error("{}:{line}: column {position} has no name, expected one in the header", path(file))]
    EmptyColumnName {
        /// The file as the user named it.
        file: String,
        /// The header's line.
        line: u64,
        /// The column's place, counted from 1.
        position: usize,
    },
    /// Two columns have the same name.
    #[error("{}:{line}: columns {first} and {second} are both named {}", path(file), quoted(column))]
    DuplicateColumnName {
        /// The file as the user named it.
        file: String,
        /// The header's line.
        line: u64,
        /// The shared name.
        column: String,
        /// The first column's place, counted from 1.
        first: usize,
        /// The second column's place, counted from 1.
        second: usize,
    },
    /// A record has more or fewer cells than the header.
    #[error(
        "{}:{line}: {found} cells, expected {expected} as in the header; a cell that holds a comma has to be in quotes",
        path(file)
    )]
    RaggedRow {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// How many cells the record has.
        found: usize,
        /// How many columns the header has.
        expected: usize,
    },
    /// A named column is not in the file.
    #[error("{}: no column {}; {}", path(file), quoted(column), header(column, columns))]
    MissingColumn {
        /// The file as the user named it.
        file: String,
        /// The requested column.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A cell of a numeric column is not a number.
    #[error(
        "{}:{line}: column {} does not hold a number here; correct it, or list the text in the schema as one \
         that stands for \
         a missing value: missing_texts = [...]",
        path(file),
        quoted(column)
    )]
    NotANumber {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
    },
    /// A cell is a number that is not finite.
    #[error("{}:{line}: column {} does not hold a finite number here", path(file), quoted(column))]
    NotFinite {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
    },
    /// A cell that is needed is empty.
    #[error("{}:{line}: column {}: the cell is empty, expected {expected}", path(file), quoted(column))]
    EmptyCell {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
        /// What the cell should hold.
        expected: &'static str,
    },
    /// The bounds file is not TOML.
    #[error("{}:{line}: not a line like `length = [0.0, 1.0]`: {}", path(file), one_line(reason))]
    BoundsSyntax {
        /// The file as the user named it.
        file: String,
        /// The line of the mistake.
        line: u64,
        /// What the TOML reader said.
        reason: String,
    },
    /// A bounds file's entry is neither an interval nor a list of categories.
    #[error("{}:{line}: column {}: {}, expected {expected}", path(file), quoted(column), quoted(value))]
    InvalidBound {
        /// The file as the user named it.
        file: String,
        /// The entry's line.
        line: u64,
        /// The column.
        column: String,
        /// The entry's value.
        value: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A bounds file names a column that the data do not have.
    #[error(
        "{}:{line}: no column {} in {}; {}",
        path(file),
        quoted(column),
        path(table),
        header(column, columns)
    )]
    BoundForMissingColumn {
        /// The bounds file.
        file: String,
        /// The entry's line.
        line: u64,
        /// The column it names.
        column: String,
        /// The data file.
        table: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A numeric column has no public bounds.
    #[error(
        "{}: column {} holds numbers and has no public bounds; bounds taken from the data would leak the most extreme \
         records, so {} a line like `{} = [LOW, HIGH]`",
        path(file), quoted(column), bounds_hint(bounds_file.as_deref()), one_line(key)
    )]
    MissingBounds {
        /// The data file.
        file: String,
        /// The column.
        column: String,
        /// The column's name as a TOML key.
        key: String,
        /// The bounds file, where one was given.
        bounds_file: Option<String>,
    },
    /// A text column has no public list of categories.
    #[error(
        "{}: column {} holds texts and has no public list of categories; a list taken from the data would show \
         which texts \
         occur, so {} a line like `{} = [\"A\", \"B\"]`, or say that they are public: --public-categories",
        path(file), quoted(column), bounds_hint(bounds_file.as_deref()), one_line(key)
    )]
    MissingCategories {
        /// The data file.
        file: String,
        /// The column.
        column: String,
        /// The column's name as a TOML key.
        key: String,
        /// The bounds file, where one was given.
        bounds_file: Option<String>,
    },
    /// A condition could not be understood.
    #[error("{} at character {position}: {expected}", quoted(expression))]
    ConditionSyntax {
        /// The whole expression.
        expression: String,
        /// Where the mistake is, in characters counted from 1.
        position: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// A cell is none of the column's categories.
    #[error(
        "{}:{line}: column {} does not hold one of the categories {} here",
        path(file),
        quoted(column),
        listed(categories)
    )]
    UnknownCategory {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
        /// The categories listed for the column.
        categories: Vec<String>,
    },
    /// A text column without a list holds too many different texts to be categories that everybody knows.
    #[error(
        "{}: column {} holds more than {limit} different texts, the most that are read from a file; list the \
         categories \
         or leave the column out of the features",
        path(file),
        quoted(column)
    )]
    TooManyCategories {
        /// The file as the user named it.
        file: String,
        /// The column.
        column: String,
        /// How many different texts it holds.
        found: usize,
        /// How many are accepted as categories without a list.
        limit: usize,
    },
    /// A text column without a list holds one text only.
    #[error(
        "{}: column {} has the same text in every record, expected at least two categories",
        path(file),
        quoted(column)
    )]
    SingleCategory {
        /// The file as the user named it.
        file: String,
        /// The column.
        column: String,
    },
    /// The label's column is also a feature.
    #[error("column {} makes the label {} and cannot be a feature too", quoted(column), quoted(expression))]
    LabelAmongFeatures {
        /// The column.
        column: String,
        /// The condition.
        expression: String,
    },
    /// A feature is named twice.
    #[error("feature {} is named twice", quoted(column))]
    DuplicateFeature {
        /// The column.
        column: String,
    },
    /// Nothing is left to predict from.
    #[error("{}: no features, expected at least one column besides {}", path(file), quoted(label))]
    NoFeatures {
        /// The data file.
        file: String,
        /// The label's column.
        label: String,
    },
    /// Two coefficients would get the same name.
    #[error("two coefficients would both be named {}; rename the column", quoted(name))]
    DuplicateCoefficient {
        /// The shared name.
        name: String,
    },
    /// A test fraction outside its range.
    #[error("test fraction must be at least 0 and below 1, got {value}")]
    TestFraction {
        /// The value given.
        value: f64,
    },
    /// A random split left one side empty.
    #[error("no record fell into the {part} set: test fraction {fraction} of so few records")]
    EmptyPart {
        /// `training` or `test`.
        part: &'static str,
        /// The test fraction.
        fraction: f64,
    },
    /// Two things that belong together have different lengths.
    #[error("{what}: got {found}, expected {expected}")]
    Length {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A number outside its range.
    #[error("{what} must be {expected}, got {value}")]
    Value {
        /// What the number is.
        what: String,
        /// The range it broke.
        expected: &'static str,
        /// The number.
        value: f64,
    },
    /// A result cannot be written.
    #[error("{}: cannot be written: {}", path(file), one_line(reason))]
    Unwritable {
        /// The destination as the user named it.
        file: String,
        /// Why.
        reason: String,
    },
    /// One file would be used for two things.
    #[error("{first} and {second} are the same file, {}", path(file))]
    SameFile {
        /// The option that names it first.
        first: &'static str,
        /// The option that names it second.
        second: &'static str,
        /// The file.
        file: String,
    },
    /// A formula cannot be read.
    #[error("{} at character {position}: expected {expected}", quoted(formula))]
    FormulaSyntax {
        /// The whole formula.
        formula: String,
        /// Where the mistake is, in characters counted from 1.
        position: usize,
        /// What was expected there.
        expected: String,
    },
    /// A budget for which more noise would be needed than can be drawn.
    #[error(
        "--epsilon {epsilon:e} is too small for this fit at --delta {delta:e}: the smallest that works is {smallest:e}, for more noise \
         cannot be drawn ({})",
        one_line(reason)
    )]
    EpsilonTooSmall {
        /// The epsilon that was named.
        epsilon: f64,
        /// The delta beside it.
        delta: f64,
        /// The smallest epsilon that works, rounded up.
        smallest: f64,
        /// What noise would be needed.
        reason: String,
    },
    /// A checkpoint, or a file beside it, of another run than the one that is to go on.
    #[error("{}: {}", path(file), one_line(reason))]
    AnotherRun {
        /// The file as the user named it.
        file: String,
        /// What is another, and what to do.
        reason: String,
    },
    /// A formula cannot be fitted to these columns.
    #[error("{}", one_line(reason))]
    Formula {
        /// Why, and what to do.
        reason: String,
    },
    /// A design matrix would be too large.
    #[error(
        "the design has {columns} columns; at most {most_columns} columns and {most_numbers} numbers are fitted. A column of \
         many categories belongs into a group, as in (1 | column), or is left out"
    )]
    DesignSize {
        /// How many columns it would have.
        columns: usize,
        /// How many it may have.
        most_columns: usize,
        /// How many numbers it may have, in all records together.
        most_numbers: usize,
    },
    /// An entry of a schema cannot be understood.
    #[error("{}:{line}: column {}: {}", path(file), quoted(column), one_line(reason))]
    Schema {
        /// The file as the user named it.
        file: String,
        /// The entry's line.
        line: u64,
        /// The column.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// A cell has no value and the schema does not say what to do.
    #[error(
        "{}:{line}: column {} has no value here; say in the schema what to do: missing = \"drop\" leaves such records \
         out, a public number (of ranges) or \"category\" (of categories) takes its place",
        path(file),
        quoted(column)
    )]
    MissingValue {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
    },
    /// A cell is not a date.
    #[error("{}:{line}: column {} does not hold a date like 2024-02-29 here", path(file), quoted(column))]
    NotADate {
        /// The file as the user named it.
        file: String,
        /// The record's line.
        line: u64,
        /// The column.
        column: String,
    },
    /// All records lack a value.
    #[error("{}: every record lacks a value that is needed, and is left out: nothing is left", path(file))]
    NoRecordsLeft {
        /// The file as the user named it.
        file: String,
    },
    /// A column that identifies persons is used.
    #[error(
        "{}: column {} looks like an identifier of persons, from which nothing can be learned; leave it out, or \
         give it a line in the schema if it is something else",
        path(file),
        quoted(column)
    )]
    Identifier {
        /// The file as the user named it.
        file: String,
        /// The column.
        column: String,
    },
    /// A text is not a stored schema.
    #[error("{}: cannot be used as a schema: {}", path(file), one_line(reason))]
    SchemaFile {
        /// The file as the user named it.
        file: String,
        /// Why.
        reason: String,
    },
    /// A file is not a fitted regression.
    #[error("{}: cannot be used as a model: {}", path(file), one_line(reason))]
    ModelFile {
        /// The file as the user named it.
        file: String,
        /// Why.
        reason: String,
    },
    /// The picture could not be drawn.
    #[error("the picture could not be drawn: {}", one_line(reason))]
    Plot {
        /// What the drawing library said.
        reason: String,
    },
}

/// As words, too: what a `main` that returns an error prints is its debugging form.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The file, the line and the column of the cell that it is about, or of the record where there is no column.
    pub(crate) fn place(&self) -> Option<(&str, u64, Option<&str>)> {
        match self {
            Self::NotANumber { file, line, column }
            | Self::NotFinite { file, line, column }
            | Self::EmptyCell { file, line, column, .. }
            | Self::UnknownCategory { file, line, column, .. }
            | Self::MissingValue { file, line, column }
            | Self::NotADate { file, line, column } => Some((file, *line, Some(column))),
            Self::RaggedRow { file, line, .. } => Some((file, *line, None)),
            _ => None,
        }
    }
}
