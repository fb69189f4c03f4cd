//! Columns of a table as numbers and categories, by a schema.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Entry, Kind, Missing, Schema, date};
use crate::logistic::design::MOST_INFERRED_CATEGORIES;
use crate::schema::bounds::toml_key;
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
        let readers = entries.into_iter().map(|(column, entry)| (column, Ok(Reader::new(entry))));
        let read = table.read_columns(readers.collect(), Reader::take)?;
        // In their order, so that of several mistakes the first is reported.
        for (column, reader) in columns.iter().zip(read) {
            let (values, absent) = reader?.finish();
            if let Some(absent) = absent {
                let name = format!("{column}.missing");
                if table.columns().contains(&name) {
                    return Err(Error::DuplicateCoefficient { name });
                }
                frame.columns.insert(name.clone(), absent);
                frame.missing.push(name);
            }
            frame.columns.insert((*column).to_owned(), values);
        }
        Ok(frame)
    }

    /// Columns that do not come from a table; each has so many values.
    pub(crate) fn made_up(rows: usize, columns: BTreeMap<String, Values>) -> Self {
        Self { table: "made-up records".to_owned(), rows, columns, missing: Vec::new() }
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

/// A column that is being read.
struct Reader<'e> {
    entry: &'e Entry,
    /// The numbers of categories.
    places: HashMap<&'e str, u32>,
    codes: Vec<u32>,
    values: Vec<f64>,
    /// Whether a public value stands in the place of a missing one, where that is the policy.
    absent: Vec<f64>,
}

impl<'e> Reader<'e> {
    fn new(entry: &'e Entry) -> Self {
        let names = match &entry.kind {
            Kind::Categories(names) => names.as_slice(),
            Kind::Range { .. } | Kind::Dates { .. } => &[],
        };
        let places = names.iter().enumerate().map(|(place, name)| (name.as_str(), place as u32)).collect();
        Self { entry, places, codes: Vec::new(), values: Vec::new(), absent: Vec::new() }
    }

    /// The categories, with one for missing values where that is the policy.
    fn names(&self, categories: &[String]) -> Vec<String> {
        let missing = (self.entry.missing == Missing::Category).then(|| "(missing)".to_owned());
        categories.iter().cloned().chain(missing).collect()
    }

    fn take(&mut self, cell: Cell<'_>) -> Result<()> {
        let entry = self.entry;
        let (low, high, since) = match &entry.kind {
            Kind::Categories(names) => {
                let code = match self.places.get(cell.text()) {
                    Some(code) => *code,
                    None if entry.is_missing(cell.text()) && entry.missing == Missing::Category => {
                        names.len() as u32
                    }
                    None if entry.is_missing(cell.text()) => return Err(cell.missing()),
                    None => return Err(cell.unknown(&self.names(names))),
                };
                self.codes.push(code);
                return Ok(());
            }
            Kind::Range { low, high } => (*low, *high, None),
            Kind::Dates { low, high, since } => (*low, *high, Some(*since)),
        };
        let is_missing = entry.is_missing(cell.text());
        let value = match (is_missing, &entry.missing, since) {
            (true, Missing::Value(value), _) => *value,
            (true, ..) => return Err(cell.missing()),
            (false, _, Some(since)) => {
                let days = date::days(cell.text()).ok_or_else(|| cell.not_a_date())?;
                ((days - since) as f64).clamp(low, high)
            }
            (false, _, None) => cell.number()?.clamp(low, high),
        };
        self.values.push(value);
        if matches!(entry.missing, Missing::Value(_)) {
            self.absent.push(f64::from(u8::from(is_missing)));
        }
        Ok(())
    }

    /// The column, and one that says where a public value stands in the place of a missing one.
    fn finish(self) -> (Values, Option<Values>) {
        let (low, high) = match &self.entry.kind {
            Kind::Categories(names) => {
                let names = self.names(names);
                return (Values::Categories { codes: self.codes, names }, None);
            }
            Kind::Range { low, high } | Kind::Dates { low, high, .. } => (*low, *high),
        };
        let indicator = Values::Numbers { values: self.absent, low: 0.0, high: 1.0, indicator: true };
        let absent = matches!(self.entry.missing, Missing::Value(_)).then_some(indicator);
        (Values::Numbers { values: self.values, low, high, indicator: false }, absent)
    }
}

/// Why a column cannot be used for which nothing is publicly known.
pub(crate) fn no_entry(table: &Table, schema: &Schema, column: &str) -> Error {
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
