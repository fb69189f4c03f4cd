//! What is public of each column.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::constraint::Constraint;
use super::{Error, Result};
use crate::schema::{self, Entry, date};

/// What values a column may have, beside missing ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Whole numbers between two bounds, both included.
    Whole {
        /// The smallest.
        low: i64,
        /// The largest.
        high: i64,
    },
    /// Numbers between two bounds.
    Real {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Dates between two, both included, as days since 1970-01-01.
    Dates {
        /// The first.
        low: i64,
        /// The last.
        high: i64,
    },
    /// One of these texts.
    Categories(Vec<String>),
}

impl Kind {
    /// The least and the largest number; places of categories.
    pub(super) fn range(&self) -> (f64, f64) {
        match self {
            Self::Whole { low, high } | Self::Dates { low, high } => (*low as f64, *high as f64),
            Self::Real { low, high } => (*low, *high),
            Self::Categories(names) => (0.0, names.len() as f64 - 1.0),
        }
    }

    /// The finite number that a text stands for, a date's day; none for categories.
    pub(super) fn number(&self, text: &str) -> Option<f64> {
        match self {
            Self::Dates { .. } => date::days(text).map(|day| day as f64),
            Self::Whole { .. } | Self::Real { .. } => text.parse().ok().filter(|x: &f64| x.is_finite()),
            Self::Categories(_) => None,
        }
    }
}

/// The columns of a twin: a [schema](schema::Schema), as `fit` reads it too.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    kinds: BTreeMap<String, Kind>,
    constraints: Vec<Constraint>,
    schema: schema::Schema,
}

/// Most columns, and most categories of one.
const MOST_COLUMNS: usize = 2_000;
const MOST_CATEGORIES: usize = 1 << 17;

impl Schema {
    /// Reads a schema file.
    ///
    /// ```toml
    /// age = [17, 90]                                                # whole numbers: bounds without a decimal point
    /// length = [0.0, 1.0]                                           # other numbers
    /// sex = ["female", "male"]
    /// hours = { range = [1, 99], missing = "drop" }                 # records without hours are left out
    /// job = { categories = ["clerk", "nurse"], missing_texts = ["?"] }
    /// born = { range = ["1920-01-01", "2020-12-31"], since = "1970-01-01" }
    /// married = { categories = ["no", "yes"], constraints = ["married = yes => age >= 14"] }
    /// ```
    ///
    /// Constraints are public, and hold of every row of a twin: `A => B`, or `B` alone, where both are comparisons
    /// (`=`, `!=`, `<`, `<=`, `>`, `>=`) of a column with a value, several of them joined by `and`. What has no
    /// value violates none. Records that do not keep them are no error: that would say something of them.
    ///
    /// Missing values are a category of their own, but for columns with `missing = "drop"`; the other policies are for
    /// regressions. Days are written as dates again.
    ///
    /// # Errors
    /// What [`schema::Schema::read`] finds wrong, and more columns or categories than there may be.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&path.display().to_string(), &crate::table::read_file(path)?)
    }

    /// The same of a file's bytes; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// ```
    /// use dp_examples::twin::{Kind, Schema};
    /// let schema = Schema::parse("s.toml", b"age = [17, 90]\nlength = [0.0, 1]")?;
    /// assert_eq!(schema.get("age"), Some(&Kind::Whole { low: 17, high: 90 }));
    /// assert_eq!(schema.get("length"), Some(&Kind::Real { low: 0.0, high: 1.0 }));
    /// # Ok::<(), dp_examples::twin::Error>(())
    /// ```
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let schema = schema::Schema::parse(name, bytes)?;
        let columns = &schema.columns;
        if columns.is_empty() {
            return Err(Error::input(format!("{name}: no columns; expected lines like `age = [17, 90]`")));
        }
        if columns.len() > MOST_COLUMNS {
            return Err(Error::input(format!("{name}: {} columns, at most {MOST_COLUMNS}", columns.len())));
        }
        let mut kinds = BTreeMap::new();
        for (column, entry) in columns {
            let kind = match &entry.kind {
                schema::Kind::Range { low, high } if entry.whole => {
                    Kind::Whole { low: *low as i64, high: *high as i64 }
                }
                schema::Kind::Range { low, high } => Kind::Real { low: *low, high: *high },
                // Whole numbers of days, from days since another date.
                schema::Kind::Dates { low, high, since } => {
                    Kind::Dates { low: *low as i64 + since, high: *high as i64 + since }
                }
                schema::Kind::Categories(names) if names.len() > MOST_CATEGORIES => {
                    let told = format!(
                        "{name}: column '{column}' has {} categories, at most {MOST_CATEGORIES}",
                        names.len()
                    );
                    return Err(Error::input(told));
                }
                schema::Kind::Categories(names) => Kind::Categories(names.clone()),
            };
            kinds.insert(column.clone(), kind);
        }
        let mut constraints = Vec::new();
        for (column, entry) in columns {
            for text in &entry.constraints {
                let find = |name: &str| kinds.get_key_value(name);
                constraints.push(Constraint::parse(text, find).map_err(|reason| {
                    Error::input(format!("{name}: column '{column}': constraint '{text}': {reason}"))
                })?);
            }
        }
        Ok(Self { kinds, constraints, schema })
    }

    /// What is public of a column, where the file has a line for it.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Kind> {
        self.kinds.get(column)
    }

    /// What is known to hold of every record.
    pub(super) fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The column's line: what counts as missing, and what happens then.
    pub(super) fn entry(&self, column: &str) -> Option<&Entry> {
        self.schema.get(column)
    }

    /// The schema that `fit` reads from the same file.
    pub fn schema(&self) -> &schema::Schema {
        &self.schema
    }
}
