//! What is public of each column.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::{Error, Result};
use crate::bounds::{Bound, Bounds};

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
    /// One of these texts.
    Categories(Vec<String>),
}

/// The columns of a twin, in the order of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    file: String,
    kinds: BTreeMap<String, Kind>,
    bounds: Bounds,
}

/// Most columns, and most categories of one.
const MOST_COLUMNS: usize = 2_000;
const MOST_CATEGORIES: usize = 1 << 17;

impl Schema {
    /// Reads a schema file: lines like those of a [bounds file](Bounds).
    ///
    /// ```toml
    /// age = [17, 90]              # whole numbers: bounds without a decimal point
    /// length = [0.0, 1.0]         # other numbers
    /// sex = ["female", "male"]
    /// ```
    ///
    /// # Errors
    /// What [`Bounds::read`] finds wrong, and more columns or categories than there may be.
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
        let bounds = Bounds::parse(name, bytes)?;
        let text = crate::table::utf8(name, bytes)?;
        // The same text, for whether a bound is written as a whole number.
        let entries: BTreeMap<String, Value> =
            toml::from_str(text).map_err(|error| Error::input(format!("{name}: {}", error.message())))?;
        if entries.is_empty() {
            return Err(Error::input(format!("{name}: no columns; expected lines like `age = [17, 90]`")));
        }
        if entries.len() > MOST_COLUMNS {
            return Err(Error::input(format!("{name}: {} columns, at most {MOST_COLUMNS}", entries.len())));
        }
        let mut kinds = BTreeMap::new();
        for (column, entry) in entries {
            let Some(bound) = bounds.get(&column) else { continue };
            let kind = match (bound, entry.as_array().map(Vec::as_slice)) {
                (Bound::Range { .. }, Some([Value::Integer(low), Value::Integer(high)])) => {
                    // Beyond 2⁵³ a number is no longer known to one.
                    match low.unsigned_abs().max(high.unsigned_abs()) <= 1 << 53 {
                        true => Kind::Whole { low: *low, high: *high },
                        false => Kind::Real { low: *low as f64, high: *high as f64 },
                    }
                }
                (Bound::Range { low, high }, _) => Kind::Real { low: *low, high: *high },
                (Bound::Categories(names), _) if names.len() > MOST_CATEGORIES => {
                    let told = format!(
                        "{name}: column '{column}' has {} categories, at most {MOST_CATEGORIES}",
                        names.len()
                    );
                    return Err(Error::input(told));
                }
                (Bound::Categories(names), _) => Kind::Categories(names.clone()),
            };
            kinds.insert(column, kind);
        }
        Ok(Self { file: name.to_owned(), kinds, bounds })
    }

    /// The file's name as it appears in errors.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What is public of a column, where the file has a line for it.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Kind> {
        self.kinds.get(column)
    }

    /// The bounds, for checks of names.
    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }
}
