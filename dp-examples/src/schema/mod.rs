//! What everybody may know of a table: kinds of columns, public bounds and categories, missing values.
//!
//! A schema is a bounds file, with more where it is wanted:
//!
//! ```toml
//! age = [17, 90]
//! sex = ["female", "male"]
//! hours = { range = [1, 99], missing = "drop" }            # records without hours are left out
//! weight = { range = [30, 200], missing = 75 }             # a public value in its place, and a column weight.missing
//! job = { categories = ["clerk", "nurse", "other"], missing = "category", missing_texts = ["?"] }
//! born = { range = ["1920-01-01", "2020-12-31"], since = "1970-01-01" }      # days since a public date
//! married = { categories = ["no", "yes"], constraints = ["married = yes => age >= 14"] }     # of every row of a twin
//! ```
//!
//! Without a policy a missing value is an error. What counts as missing is [`MISSING_TEXTS`], or `missing_texts`; a
//! text among the categories never does.
//!
//! # Privacy
//!
//! Bounds, categories, policies and values in the place of missing ones are part of the algorithm and have to be
//! chosen without looking at the records. With them, whether a record is left out and what it turns into depends on
//! that record alone, so the guarantee for the design matrix is one for the file. `read_from_records = true` admits
//! that categories were read from the file: the privacy statement then says so.

pub mod bounds;
mod clamped;
pub mod date;
pub mod draft;
mod frame;
mod stored;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Value;

pub(crate) use stored::{check_entry, versioned};

pub use clamped::{Clamped, clamped_in_words};
pub(crate) use clamped::{EXACT, outside_in_words};
pub(crate) use frame::no_entry;
pub use frame::{Frame, Values, categories_of};

use self::bounds::Bound;
use crate::table::read_file;
use crate::{Error, Result};

/// Texts that stand for a missing value where a column has no list of its own.
pub const MISSING_TEXTS: [&str; 11] =
    ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "."];

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numbers between public bounds; what lies outside is moved to the nearer one.
    Range {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Dates `2024-02-29`, as days since a public date.
    Dates {
        /// The first date, in days since `since`.
        low: f64,
        /// The last date.
        high: f64,
        /// Day 0, in days since 1970-01-01.
        since: i64,
    },
    /// Categories; the first is the baseline.
    Categories(Vec<String>),
}

/// What happens to a record without a value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// It is an error.
    #[default]
    Refuse,
    /// The record is left out.
    Drop,
    /// A public value takes its place, and a column of zeros and ones says where.
    Value(f64),
    /// It is a category of its own, `(missing)`.
    Category,
}

/// What is publicly known of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it holds.
    pub kind: Kind,
    /// What happens where it has no value.
    #[serde(default)]
    pub missing: Missing,
    /// The texts that stand for no value; [`MISSING_TEXTS`] where there is no list.
    #[serde(default)]
    pub missing_texts: Option<Vec<String>>,
    /// Whether the categories were read from the records, and are treated as public.
    #[serde(default)]
    pub read_from_records: bool,
    /// Whether both ends of a range are written as whole numbers, so that twins have whole numbers there.
    #[serde(default)]
    pub whole: bool,
    /// What is publicly known to hold of every record, such as `married = yes => age >= 14`: for twins.
    #[serde(default)]
    pub constraints: Vec<String>,
}

impl Entry {
    /// A column of this kind, none of whose values may be missing.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            missing: Missing::Refuse,
            missing_texts: None,
            read_from_records: false,
            whole: false,
            constraints: Vec::new(),
        }
    }

    /// Whether a cell's text stands for no value.
    pub(crate) fn is_missing(&self, text: &str) -> bool {
        if matches!(&self.kind, Kind::Categories(names) if names.iter().any(|name| name == text)) {
            return false;
        }
        is_missing(self.missing_texts.as_deref(), text)
    }
}

/// Whether a text that is no category stands for no value, where a column has a list of such texts or none.
pub(crate) fn is_missing(texts: Option<&[String]>, text: &str) -> bool {
    match texts {
        Some(texts) => text.is_empty() || texts.iter().any(|other| other == text),
        None => MISSING_TEXTS.contains(&text),
    }
}

/// What is publicly known of a table's columns.
///
/// # Examples
///
/// ```
/// use dp_examples::schema::{Kind, Missing, Schema};
///
/// let text = "age = [17, 90]\nhours = { range = [1, 99], missing = 'drop' }";
/// let schema = Schema::parse("schema.toml", text.as_bytes())?;
/// assert_eq!(schema.get("age").unwrap().kind, Kind::Range { low: 17.0, high: 90.0 });
/// assert_eq!(schema.get("hours").unwrap().missing, Missing::Drop);
/// let told = Schema::parse("s.toml", b"hours = { rnge = [1, 99] }").unwrap_err().to_string();
/// assert!(told.contains("'rnge'") && told.contains("s.toml:1"), "{told}");
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// The file's name as it appears in errors.
    #[serde(skip)]
    pub file: Option<String>,
    /// Columns by name.
    pub columns: BTreeMap<String, Entry>,
    #[serde(skip)]
    lines: BTreeMap<String, u64>,
}

impl Schema {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], and whatever [`Schema::parse`] says.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&path.display().to_string(), &read_file(path)?)
    }

    /// Reads the bytes of a schema; `name` stands for the file in errors.
    ///
    /// # Errors
    ///
    /// As [`Bounds::parse`](crate::schema::bounds::Bounds::parse), and [`Error::Schema`] for a table with what it
    /// cannot have.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let (mut columns, mut lines) = (BTreeMap::new(), BTreeMap::new());
        for (column, (value, line)) in bounds::entries(name, bytes)? {
            let found = entry(&value).map_err(|reason| Error::Schema {
                file: name.to_owned(),
                line,
                column: column.clone(),
                reason,
            })?;
            lines.insert(column.clone(), line);
            columns.insert(column, found);
        }
        Ok(Self { file: Some(name.to_owned()), columns, lines })
    }

    /// What is known of a column, if something is.
    pub fn get(&self, column: &str) -> Option<&Entry> {
        self.columns.get(column)
    }

    /// The line of a column's entry in its file; 1 where there is no file.
    pub(crate) fn line(&self, column: &str) -> u64 {
        self.lines.get(column).copied().unwrap_or(1)
    }

    /// Checks that every entry is for a column of a file: a misspelt name must not pass in silence.
    ///
    /// # Errors
    ///
    /// [`Error::BoundForMissingColumn`] for the first that is not.
    pub fn check_columns(&self, table: &str, columns: &[String]) -> Result<()> {
        let there: HashSet<&String> = columns.iter().collect();
        let stray = self.columns.keys().filter(|column| !there.contains(column));
        match stray.min_by_key(|column| self.line(column)) {
            None => Ok(()),
            Some(column) => Err(Error::BoundForMissingColumn {
                file: self.file.clone().unwrap_or_default(),
                line: self.line(column),
                column: column.clone(),
                table: table.to_owned(),
                columns: columns.to_vec(),
            }),
        }
    }

    /// What was read from the records and is treated as public, a statement for each of these columns.
    pub fn statements(&self, columns: &[&str]) -> Vec<String> {
        let statement = |column: &&str| match self.get(column)? {
            Entry { kind: Kind::Categories(names), read_from_records: true, .. } => Some(format!(
                "the {} categories of column '{column}' were read from the records",
                names.len()
            )),
            _ => None,
        };
        columns.iter().filter_map(statement).collect()
    }
}

/// The entry that a TOML value stands for, or what is wrong with it.
fn entry(value: &Value) -> Result<Entry, String> {
    let Some(table) = value.as_table() else {
        return Ok(Entry { whole: is_whole(value), ..Entry::new(plain(value)?) });
    };
    const KEYS: [&str; 7] =
        ["range", "categories", "since", "missing", "missing_texts", "read_from_records", "constraints"];
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("there is no '{key}', expected some of {}", KEYS.join(", ")));
    }
    let kind = match (table.get("range"), table.get("categories"), table.get("since")) {
        (Some(range), None, None) => match plain(range)? {
            kind @ Kind::Range { .. } => kind,
            _ => return Err("a range is [low, high], or two dates with since".to_owned()),
        },
        (Some(range), None, Some(since)) => dates(range, since)?,
        (None, Some(categories), None) => match plain(categories)? {
            kind @ Kind::Categories(_) => kind,
            _ => return Err("categories are texts".to_owned()),
        },
        _ => return Err("expected either range = [low, high] or categories = [\"a\", \"b\"]".to_owned()),
    };
    let missing = match (table.get("missing"), &kind) {
        (None, _) => Missing::Refuse,
        (Some(Value::String(word)), _) if word == "refuse" => Missing::Refuse,
        (Some(Value::String(word)), _) if word == "drop" => Missing::Drop,
        (Some(Value::String(word)), Kind::Categories(_)) if word == "category" => Missing::Category,
        (Some(Value::Float(value)), Kind::Range { low, high }) if (low..=high).contains(&value) => {
            Missing::Value(*value)
        }
        (Some(Value::Integer(value)), Kind::Range { low, high })
            if (*low..=*high).contains(&(*value as f64)) =>
        {
            Missing::Value(*value as f64)
        }
        (_, Kind::Categories(_)) => return Err("missing is \"refuse\", \"drop\" or \"category\"".to_owned()),
        (_, Kind::Range { .. }) => {
            return Err("missing is \"refuse\", \"drop\" or a public number within the range".to_owned());
        }
        (_, Kind::Dates { .. }) => return Err("missing is \"refuse\" or \"drop\"".to_owned()),
    };
    let missing_texts = texts(table, "missing_texts")?;
    let constraints = texts(table, "constraints")?.unwrap_or_default();
    let whole = table.get("range").is_some_and(is_whole);
    let read_from_records = match table.get("read_from_records") {
        None => false,
        Some(Value::Boolean(read)) => *read,
        Some(_) => return Err("read_from_records is true or false".to_owned()),
    };
    Ok(Entry { kind, missing, missing_texts, read_from_records, whole, constraints })
}

/// A list of texts, where there is one by this name.
fn texts(table: &toml::Table, key: &str) -> Result<Option<Vec<String>>, String> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let texts = value.as_array().ok_or_else(|| format!("{key} is a list of texts"))?;
    let text = |text: &Value| text.as_str().map(str::to_owned);
    let found: Option<Vec<String>> = texts.iter().map(text).collect();
    found.map(Some).ok_or_else(|| format!("{key} are texts, each in quotes"))
}

/// Whether both ends of a range are whole numbers, which doubles hold exactly.
fn is_whole(range: &Value) -> bool {
    let whole = |end: &Value| matches!(end, Value::Integer(number) if number.unsigned_abs() <= 1 << 53);
    range.as_array().is_some_and(|ends| !ends.is_empty() && ends.iter().all(whole))
}

fn plain(value: &Value) -> Result<Kind, String> {
    match bounds::bound(value) {
        Ok(Bound::Range { low, high }) => Ok(Kind::Range { low, high }),
        Ok(Bound::Categories(names)) => Ok(Kind::Categories(names)),
        Err(expected) => Err(format!("expected {expected}")),
    }
}

fn dates(range: &Value, since: &Value) -> Result<Kind, String> {
    const EXPECTED: &str = "dates are texts like \"2024-02-29\": range = [\"1920-01-01\", \"2020-12-31\"], \
     since = \"1970-01-01\"";
    let day = |value: &Value| value.as_str().and_then(date::days).ok_or(EXPECTED);
    let [low, high] = range.as_array().map(Vec::as_slice).ok_or(EXPECTED)? else {
        return Err(EXPECTED.to_owned());
    };
    let (low, high, since) = (day(low)?, day(high)?, day(since)?);
    if low >= high {
        return Err("the first date has to lie before the last".to_owned());
    }
    Ok(Kind::Dates { low: (low - since) as f64, high: (high - since) as f64, since })
}

#[cfg(test)]
mod tests;
