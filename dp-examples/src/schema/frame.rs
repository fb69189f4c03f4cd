//! Columns of a table as numbers and categories, by a schema.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Entry, Kind, Missing, Schema, date};
use crate::bounds::toml_key;
use crate::design::MOST_INFERRED_CATEGORIES;
use crate::table::{Cell, Table};
use crate::{Error, Result};

/// The values of a column.
#[derive(Clone, PartialEq)]
pub enum Values {
    /// Numbers within public bounds.
    Numbers {
        /// One for each record.
        values: Vec<f64>,
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
        /// Whether all are 0 or 1 and say whether something holds.
        indicator: bool,
    },
    /// Categories.
    Categories {
        /// The number of each record's category.
        codes: Vec<u32>,
        /// The categories; the first is the baseline.
        names: Vec<String>,
    },
}

/// Columns by name, of the records that are kept. **As sensitive as the table.**
#[derive(Clone)]
pub struct Frame {
    table: String,
    rows: usize,
    columns: BTreeMap<String, Values>,
    missing: Vec<String>,
}

impl Schema {
    /// The table without the records that lack a value of one of these columns, where that is their policy.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`]; [`Error::NoRecordsLeft`].
    pub fn complete(&self, table: Table, columns: &[&str]) -> Result<Table> {
        let mut kept = vec![true; table.len()];
        for column in columns {
            let cells = table.cells(column)?;
            if let Some(entry) = self.get(column).filter(|entry| entry.missing == Missing::Drop) {
                cells.zip(&mut kept).for_each(|(cell, kept)| *kept &= !entry.is_missing(cell.text()));
            }
        }
        match (kept.contains(&true), kept.contains(&false)) {
            (false, _) => Err(Error::NoRecordsLeft { file: table.name().to_owned() }),
            (true, false) => Ok(table),
            (true, true) => Ok(table.keep(&kept)),
        }
    }
}

impl Frame {
    /// The named columns of a table. Records that lack a value and are to be left out have to be left out before:
    /// see [`Schema::complete`].
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`]; [`Error::MissingBounds`], [`Error::MissingCategories`] and [`Error::Identifier`] for
    /// columns that the schema has no entry for; [`Error::MissingValue`], [`Error::NotANumber`], [`Error::NotFinite`],
    /// [`Error::NotADate`] and [`Error::UnknownCategory`] for cells. No message holds what a cell says.
    pub fn new(table: &Table, schema: &Schema, columns: &[&str]) -> Result<Self> {
        let mut entries = Vec::new();
        for column in columns {
            // A misspelt column is reported before anything that the schema lacks.
            let _ = table.cells(column)?;
            entries.push((*column, schema.get(column).ok_or_else(|| no_entry(table, schema, column))?));
        }
        let mut frame = Self {
            table: table.name().to_owned(),
            rows: table.len(),
            columns: BTreeMap::new(),
            missing: Vec::new(),
        };
        for (column, entry) in entries {
            frame.read(table, column, entry)?;
        }
        Ok(frame)
    }

    /// Columns that do not come from a table; each has so many values.
    pub(crate) fn made_up(rows: usize, columns: BTreeMap<String, Values>) -> Self {
        Self { table: "made-up records".to_owned(), rows, columns, missing: Vec::new() }
    }

    fn read(&mut self, table: &Table, column: &str, entry: &Entry) -> Result<()> {
        let cells = table.cells(column)?;
        let (low, high) = match &entry.kind {
            Kind::Categories(names) => {
                let places: HashMap<&str, u32> =
                    names.iter().enumerate().map(|(place, name)| (name.as_str(), place as u32)).collect();
                let mut names = names.clone();
                if entry.missing == Missing::Category {
                    names.push("(missing)".to_owned());
                }
                let code = |cell: Cell<'_>| match places.get(cell.text()) {
                    Some(code) => Ok(*code),
                    None if entry.is_missing(cell.text()) && entry.missing == Missing::Category => {
                        Ok(names.len() as u32 - 1)
                    }
                    None if entry.is_missing(cell.text()) => Err(cell.missing()),
                    None => Err(cell.unknown(&names)),
                };
                let codes = cells.map(code).collect::<Result<_>>()?;
                self.columns.insert(column.to_owned(), Values::Categories { codes, names });
                return Ok(());
            }
            Kind::Range { low, high } | Kind::Dates { low, high, .. } => (*low, *high),
        };
        let mut absent = Vec::new();
        let value = |cell: Cell<'_>| -> Result<f64> {
            if entry.is_missing(cell.text()) {
                return match entry.missing {
                    Missing::Value(value) => {
                        absent.push(1.0);
                        Ok(value)
                    }
                    _ => Err(cell.missing()),
                };
            }
            absent.push(0.0);
            let value = match entry.kind {
                Kind::Dates { since, .. } => {
                    (date::days(cell.text()).ok_or_else(|| cell.not_a_date())? - since) as f64
                }
                _ => cell.number()?,
            };
            Ok(value.clamp(low, high))
        };
        let values = cells.map(value).collect::<Result<_>>()?;
        self.columns.insert(column.to_owned(), Values::Numbers { values, low, high, indicator: false });
        if matches!(entry.missing, Missing::Value(_)) {
            let name = format!("{column}.missing");
            if table.columns().contains(&name) {
                return Err(Error::DuplicateCoefficient { name });
            }
            let values = Values::Numbers { values: absent, low: 0.0, high: 1.0, indicator: true };
            self.columns.insert(name.clone(), values);
            self.missing.push(name);
        }
        Ok(())
    }

    /// A column's values.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`].
    pub fn column(&self, name: &str) -> Result<&Values> {
        self.columns.get(name).ok_or_else(|| Error::MissingColumn {
            file: self.table.clone(),
            column: name.to_owned(),
            columns: self.columns.keys().cloned().collect(),
        })
    }

    /// Columns that say where a public value stands in the place of a missing one.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The number of records.
    #[expect(clippy::len_without_is_empty, reason = "a frame without records is refused when it is made")]
    pub fn len(&self) -> usize {
        self.rows
    }
}

/// Why a column cannot be used for which nothing is publicly known.
fn no_entry(table: &Table, schema: &Schema, column: &str) -> Error {
    let (file, key, bounds_file) = (table.name().to_owned(), toml_key(column), schema.file.clone());
    let column = column.to_owned();
    if super::draft::looks_like_identifier(&column) {
        return Error::Identifier { file, column };
    }
    match is_text(table, &column) {
        true => Error::MissingCategories { file, column, key, bounds_file },
        false => Error::MissingBounds { file, column, key, bounds_file },
    }
}

/// Whether no cell reads as a number.
fn is_text(table: &Table, column: &str) -> bool {
    let Ok(mut cells) = table.cells(column) else { return false };
    !cells.any(|cell| cell.text().parse::<f64>().is_ok_and(f64::is_finite))
}

/// The categories of a text column, read from the records: sorted, without what stands for a missing value. `None`
/// where it holds numbers.
///
/// # Errors
///
/// [`Error::TooManyCategories`] and [`Error::SingleCategory`].
pub fn categories_of(table: &Table, column: &str) -> Result<Option<Vec<String>>> {
    if !is_text(table, column) {
        return Ok(None);
    }
    let mut found = BTreeSet::new();
    for cell in table.cells(column)? {
        if !super::MISSING_TEXTS.contains(&cell.text()) {
            found.insert(cell.text());
        }
        if found.len() > MOST_INFERRED_CATEGORIES {
            let (file, column) = (table.name().to_owned(), column.to_owned());
            return Err(Error::TooManyCategories {
                file,
                column,
                found: found.len(),
                limit: MOST_INFERRED_CATEGORIES,
            });
        }
    }
    if found.len() < 2 {
        return Err(Error::SingleCategory { file: table.name().to_owned(), column: column.to_owned() });
    }
    Ok(Some(found.into_iter().map(str::to_owned).collect()))
}
