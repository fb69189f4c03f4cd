//! From a table to numbers: the design matrix, the labels, and what each coefficient means.

mod parts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dp_vi::FeatureNorms;
use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use crate::error::quoted;
use crate::formula::matrix::{BLOCK, check_size, rows_of};
use crate::schema::Entry;
use crate::schema::bounds::{Bound, Bounds, toml_key};
use crate::schema::draft::looks_like_identifier;
use crate::table::condition::{Comparand, Condition};
use crate::table::split::Split;
use crate::table::{Cell, Table};
use crate::{Error, Result};

/// Most categories that a text column without a list may have.
///
/// Texts found in the file can be declared public. A handful of answers to a question may be; a column of
/// names is not.
pub const MOST_INFERRED_CATEGORIES: usize = 50;

/// Whether the model has a constant term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intercept {
    /// The first column of the design matrix is 1.
    Included,
    /// There is no such column.
    Omitted,
}

/// An affine map from `[low, high]` to `[-1, 1]`.
///
/// ```text
/// scaled = 2 (clamp(value, low, high) − low) / (high − low) − 1
/// ```
///
/// # Privacy
///
/// The map depends on public bounds only and treats each record alone, so it costs no privacy. How many
/// values were clamped would depend on the data; it is neither counted nor reported.
///
/// # Accuracy
///
/// The result lies in `[-1, 1]` exactly and is off by at most `1e-15`.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::design::Scale;
///
/// let percent = Scale::new(0.0, 100.0)?;
/// assert_eq!(percent.apply(75.0), 0.5);
/// assert_eq!(percent.apply(1000.0), 1.0);
/// assert_eq!(percent.invert(0.5), 75.0);
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The map for values from `low` to `high`.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] unless `high − low` is positive and finite.
    pub fn new(low: f64, high: f64) -> Result<Self> {
        if !(low < high && (high - low).is_finite()) {
            let expected = "positive and finite";
            return Err(Error::Value { what: "the width of the bounds".into(), expected, value: high - low });
        }
        Ok(Self { low, high })
    }

    /// The lower public bound.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The upper public bound.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The scaled value, clamped; NaN stays NaN.
    pub fn apply(&self, value: f64) -> f64 {
        let inside = value.clamp(self.low, self.high);
        (2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0).clamp(-1.0, 1.0)
    }

    /// The value in original units that is scaled to `scaled`.
    pub fn invert(&self, scaled: f64) -> f64 {
        // Weighted ends rather than low + half the width: no cancellation, and no overflow between wide
        // bounds.
        self.low * (0.5 - 0.5 * scaled) + self.high * (0.5 + 0.5 * scaled)
    }
}

/// What a column of the design matrix holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// 1 for every record.
    Intercept,
    /// A numeric column, scaled.
    Scaled {
        /// The column of the file.
        column: String,
        /// How it was scaled.
        scale: Scale,
    },
    /// 1 where a text column is `category`, 0 elsewhere.
    Indicator {
        /// The column of the file.
        column: String,
        /// The category.
        category: String,
        /// The category that has no coefficient of its own.
        baseline: String,
    },
}

/// A column of the design matrix: its name and what it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficient {
    name: String,
    meaning: Meaning,
}

impl Coefficient {
    /// `length`, `sex=F` or `(intercept)`; all names of a design differ.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the column holds.
    pub fn meaning(&self) -> &Meaning {
        &self.meaning
    }
}

/// A linear predictor in the file's own units: `constant + Σ slopes[j] · value[j]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginalUnits {
    /// The predictor where every numeric column is 0 and every text column its baseline.
    pub constant: f64,
    /// One slope per coefficient in the design's order: per unit of a numeric column, or against the baseline
    /// of a text column; 0 in the place of the intercept, which is in `constant`.
    pub slopes: Vec<f64>,
}

/// Records as numbers, ready to be fitted.
///
/// Shapes: with `n` records and `d` coefficients, [`features`](Self::features) is `n × d` and
/// [`labels`](Self::labels) has `n` entries, each 0 or 1. All entries of `features` lie in `[-1, 1]`.
///
/// # Privacy
///
/// Each row depends on one record and on public bounds, so neighbouring tables give neighbouring designs (add
/// or remove one record), with two exceptions that [`notes`](Self::notes) or the error texts state: the
/// categories of a text column without a list are read from the file where the bounds
/// [say that they are public](Bounds::with_public_categories), and are an error elsewhere; and whether the
/// file is accepted at all depends on all of it. The matrix itself is as sensitive as the file, and so
/// `Design` has no `Debug`.
///
/// # Examples
///
/// ```
/// use dp_examples::schema::bounds::Bounds;
/// use dp_examples::logistic::design::{Design, Intercept};
/// use dp_examples::table::Table;
///
/// let table = Table::parse("a.csv", b"sex,length,rings\nM,0.5,15\nF,0.0,7\nM,2.0,9\n")?;
/// let bounds = Bounds::parse("bounds.toml", b"length = [0.0, 1.0]\nsex = ['M', 'F']")?;
/// let design = Design::new(&table, &bounds, &"rings >= 10".parse()?, None, Intercept::Included)?;
/// assert_eq!(design.names(), ["(intercept)", "sex=F", "length"]);
/// assert_eq!(design.features().row(1).to_vec(), [1.0, 1.0, -1.0]);
/// assert_eq!(design.features().row(2).to_vec(), [1.0, 0.0, 1.0]); // clamped
/// assert_eq!(design.labels().to_vec(), [1.0, 0.0, 0.0]);
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub struct Design {
    features: Array2<f64>,
    labels: Array1<f64>,
    coefficients: Vec<Coefficient>,
    notes: Vec<String>,
}

impl Design {
    /// Turns `table` into numbers: the columns `chosen` (all but the label's where `None`) and the labels
    /// that `condition` makes.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the choice ([`Error::MissingColumn`], [`Error::DuplicateFeature`],
    /// [`Error::LabelAmongFeatures`], [`Error::NoFeatures`]), with the bounds ([`Error::MissingBounds`],
    /// [`Error::MissingCategories`], [`Error::BoundForMissingColumn`], [`Error::Schema`]), with a cell
    /// ([`Error::EmptyCell`], [`Error::NotANumber`], [`Error::NotFinite`], [`Error::UnknownCategory`]), with a column
    /// ([`Error::TooManyCategories`], [`Error::SingleCategory`]), with the labels
    /// ([`Error::MissingValue`], and [`Error::Formula`] where their column cannot hold what is compared with), or with
    /// the size of the matrix ([`Error::DesignSize`]).
    pub fn new(
        table: &Table,
        bounds: &Bounds,
        condition: &Condition,
        chosen: Option<&[String]>,
        intercept: Intercept,
    ) -> Result<Self> {
        Columns::read(table, bounds, condition, chosen, intercept)?.finish()
    }

    /// The design matrix: records × coefficients.
    pub fn features(&self) -> &Array2<f64> {
        &self.features
    }

    /// 1 where the condition holds and 0 where it does not.
    pub fn labels(&self) -> &Array1<f64> {
        &self.labels
    }

    /// What the columns of the matrix hold.
    pub fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    /// The names of the coefficients in order.
    pub fn names(&self) -> Vec<&str> {
        self.coefficients.iter().map(Coefficient::name).collect()
    }

    /// What is public of the norms of records' features, from the bounds alone.
    ///
    /// ```text
    /// largest = √(1 + numbers + columns of texts)          every scaled number at an end, no text its column's baseline
    /// typical = √(1 + numbers/3 + Σ (1 − 1/categories))    numbers spread evenly over their bounds, texts over their categories
    /// ```
    ///
    /// The 1 is that of an intercept.
    pub fn feature_norms(&self) -> FeatureNorms {
        let (mut typical, mut largest) = (0.0_f64, 0.0_f64);
        for coefficient in &self.coefficients {
            match &coefficient.meaning {
                Meaning::Intercept => (typical, largest) = (typical + 1.0, largest + 1.0),
                Meaning::Scaled { .. } => (typical, largest) = (typical + 1.0 / 3.0, largest + 1.0),
                Meaning::Indicator { .. } => {}
            }
        }
        for indicators in self.indicators().values() {
            (typical, largest) = (typical + indicators / (indicators + 1.0), largest + 1.0);
        }
        FeatureNorms { typical: typical.sqrt(), largest: largest.sqrt() }
    }

    /// The expected square of each feature, if numbers were spread evenly over their bounds and texts over their
    /// categories: what is public of it.
    pub fn public_moments(&self) -> Vec<f64> {
        let indicators = self.indicators();
        let of = |coefficient: &Coefficient| match &coefficient.meaning {
            Meaning::Intercept => 1.0,
            Meaning::Scaled { .. } => 1.0 / 3.0,
            Meaning::Indicator { column, .. } => {
                indicators.get(column.as_str()).map_or(1.0, |all| 1.0 / (all + 1.0))
            }
        };
        self.coefficients.iter().map(of).collect()
    }

    /// How many indicators each column of texts has: one less than texts.
    fn indicators(&self) -> BTreeMap<&str, f64> {
        let mut columns = BTreeMap::new();
        for coefficient in &self.coefficients {
            if let Meaning::Indicator { column, .. } = &coefficient.meaning {
                *columns.entry(column.as_str()).or_default() += 1.0;
            }
        }
        columns
    }

    /// What was read from the records and is treated as public, a statement for each column: it belongs in
    /// the privacy statement of whatever is fitted to this design.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The matrix and the labels of some records, by index.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] for an index that is not below the number of records.
    pub fn select(&self, records: &[usize]) -> Result<Labelled> {
        let rows = self.labels.len();
        if let Some(&found) = records.iter().find(|&&record| record >= rows) {
            return Err(Error::Length {
                what: "highest record index plus 1",
                found: found + 1,
                expected: rows,
            });
        }
        Ok((rows_of(self.features.view(), records), self.labels.select(Axis(0), records)))
    }

    /// Takes the records out and parts them: the matrices and labels of training and of test records. What the
    /// columns of the matrix hold stays.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    pub(crate) fn take(&mut self, parts: &Split) -> Result<(Labelled, Labelled)> {
        let test = self.select(&parts.test)?;
        let nothing = (Array2::zeros((0, self.coefficients.len())), Array1::zeros(0));
        // Where none are tested nothing is copied.
        let train = match parts.test.is_empty() && parts.train.len() == self.labels.len() {
            true => (std::mem::take(&mut self.features), std::mem::take(&mut self.labels)),
            false => self.select(&parts.train)?,
        };
        (self.features, self.labels) = nothing;
        Ok((train, test))
    }

    /// Weights of the scaled columns as constant and slopes in the file's own units.
    ///
    /// The two predictors agree on every record whose numbers lie within their bounds. A slope is the weight
    /// of a column bounded by `[low, high]` times `2 / (high − low)`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless there is one weight per coefficient.
    pub fn in_original_units(&self, weights: &[f64]) -> Result<OriginalUnits> {
        let expected = self.coefficients.len();
        if weights.len() != expected {
            return Err(Error::Length { what: "weights", found: weights.len(), expected });
        }
        let (mut constant, mut slopes) = (0.0, Vec::with_capacity(expected));
        for (coefficient, weight) in self.coefficients.iter().zip(weights) {
            slopes.push(match &coefficient.meaning {
                Meaning::Intercept => {
                    constant += weight;
                    0.0
                }
                Meaning::Scaled { scale, .. } => {
                    let slope = weight * (2.0 / (scale.high - scale.low));
                    // Where the scaled value is 0 the column stands at its middle.
                    constant -= slope * scale.invert(0.0);
                    slope
                }
                Meaning::Indicator { .. } => *weight,
            });
        }
        Ok(OriginalUnits { constant, slopes })
    }

    /// The covariance of the constant and then of the slopes other than the intercept's in the file's own units, for
    /// that of weights, row by row: with it the standard deviation of any predictor follows.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless there is a number for each pair of coefficients.
    pub fn covariance_in_original_units(&self, covariance: &[f64]) -> Result<Vec<Vec<f64>>> {
        let count = self.coefficients.len();
        if covariance.len() != count * count {
            let (found, expected) = (covariance.len(), count * count);
            return Err(Error::Length { what: "entries of a covariance", found, expected });
        }
        // The constant and each slope are sums of weights: these are their factors.
        let (mut of_constant, mut factors) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for place in 0..count {
            let alone: Vec<f64> = (0..count).map(|other| if other == place { 1.0 } else { 0.0 }).collect();
            let OriginalUnits { constant, slopes } = self.in_original_units(&alone)?;
            of_constant.push(constant);
            factors.push(slopes[place]);
        }
        let slopes = (0..count).filter(|&place| self.coefficients[place].meaning != Meaning::Intercept);
        let slope = |place: usize| {
            let mut row = vec![0.0; count];
            row[place] = factors[place];
            row
        };
        let sums: Vec<Vec<f64>> = [of_constant].into_iter().chain(slopes.map(slope)).collect();
        let times = |row: &[f64], other: &[f64]| -> f64 { row.iter().zip(other).map(|(a, b)| a * b).sum() };
        let of_sum = |sum: &Vec<f64>| {
            let by_weight: Vec<f64> = covariance.chunks(count.max(1)).map(|row| times(row, sum)).collect();
            sums.iter().map(|other| times(&by_weight, other)).collect()
        };
        Ok(sums.iter().map(of_sum).collect())
    }
}

/// A matrix of features, and a label for each of its rows.
pub type Labelled = (Array2<f64>, Array1<f64>);

/// A column of a design matrix and its numbers.
type Filled = (Coefficient, Vec<f64>);

/// What is read of a table, column by column: a matrix takes as much memory again, and the table is not needed any more
/// when it is made.
pub(crate) struct Columns {
    columns: Vec<Filled>,
    labels: Array1<f64>,
    notes: Vec<String>,
}

impl Columns {
    /// As [`Design::new`].
    pub(crate) fn read(
        table: &Table,
        bounds: &Bounds,
        condition: &Condition,
        chosen: Option<&[String]>,
        intercept: Intercept,
    ) -> Result<Self> {
        bounds.check_columns(table)?;
        bounds.check_use(condition.column())?;
        let columns = feature_columns(table, condition, chosen)?;
        Self::filled(table, bounds, &columns, labels(table, bounds, condition)?, intercept)
    }

    fn filled(
        table: &Table,
        bounds: &Bounds,
        columns: &[&str],
        labels: Array1<f64>,
        intercept: Intercept,
    ) -> Result<Self> {
        let mut read = Self { columns: Vec::new(), labels, notes: Vec::new() };
        if intercept == Intercept::Included {
            let one = Coefficient { name: "(intercept)".into(), meaning: Meaning::Intercept };
            read.columns.push((one, vec![1.0; table.len()]));
        }
        let readers: Vec<_> =
            columns.iter().map(|column| (*column, Reader::new(table, bounds, column))).collect();
        let widths = readers.iter().filter_map(|(_, reader)| reader.as_ref().ok().map(Reader::width));
        check_size(table.len(), widths.fold(read.columns.len(), usize::saturating_add))?;
        // In their order, so that of several mistakes the first is reported.
        for reader in table.read_columns(readers, Reader::take)? {
            reader?.finish(&mut read);
        }
        Ok(read)
    }

    /// The design, record by record in memory, as the columns of a batch are gathered.
    pub(crate) fn finish(self) -> Result<Design> {
        let Self { columns, labels, notes } = self;
        let mut names = HashSet::new();
        if let Some((twice, _)) = columns.iter().find(|(coefficient, _)| !names.insert(&coefficient.name)) {
            return Err(Error::DuplicateCoefficient { name: twice.name.clone() });
        }
        let (rows, width) = (labels.len(), columns.len());
        let mut features = vec![0.0; rows * width];
        features.par_chunks_mut((BLOCK * width).max(1)).enumerate().for_each(|(block, features)| {
            for (place, (_, values)) in columns.iter().enumerate() {
                let to = features.iter_mut().skip(place).step_by(width);
                to.zip(&values[block * BLOCK..]).for_each(|(to, value)| *to = *value);
            }
        });
        let (found, expected) = (features.len(), rows * width);
        let wrong = |_| Error::Length { what: "entries of the design matrix", found, expected };
        let features = Array2::from_shape_vec((rows, width), features).map_err(wrong)?;
        let coefficients = columns.into_iter().map(|(coefficient, _)| coefficient).collect();
        Ok(Design { features, labels, coefficients, notes })
    }
}

/// A column of a table that is being read.
struct Reader<'t> {
    column: &'t str,
    /// What the bounds file says of it.
    entry: Option<&'t Entry>,
    kind: ReaderKind,
    /// What has to be noted about it.
    note: Option<String>,
}

enum ReaderKind {
    Scaled { scale: Scale, values: Vec<f64> },
    Categories { categories: Vec<String>, places: HashMap<String, u32>, codes: Vec<u32> },
}

impl<'t> Reader<'t> {
    fn new(table: &Table, bounds: &'t Bounds, column: &'t str) -> Result<Self> {
        let categories = |categories: Vec<String>| {
            let places = categories.iter().cloned().zip(0..).collect();
            ReaderKind::Categories { categories, places, codes: Vec::new() }
        };
        bounds.check_use(column)?;
        let (kind, note) = match bounds.get(column) {
            Some(Bound::Range { low, high }) => {
                (ReaderKind::Scaled { scale: Scale::new(*low, *high)?, values: Vec::new() }, None)
            }
            Some(Bound::Categories(found)) => (categories(found.clone()), None),
            None if looks_like_identifier(column) => {
                return Err(Error::Identifier { file: table.name().into(), column: column.into() });
            }
            None => {
                let found = inferred_categories(table, bounds, column)?;
                let (count, name) = (found.len(), quoted(column));
                let note = format!("the {count} categories of column {name} were read from the records");
                (categories(found), Some(note))
            }
        };
        Ok(Self { column, entry: bounds.schema().get(column), kind, note })
    }

    fn take(&mut self, cell: Cell<'_>) -> Result<()> {
        match &mut self.kind {
            ReaderKind::Scaled { scale, values } => {
                // Also where the text would be a number. An empty cell has a message of its own.
                if !cell.text().is_empty() && self.entry.is_some_and(|entry| entry.is_missing(cell.text())) {
                    return Err(cell.missing());
                }
                values.push(scale.apply(cell.number()?));
            }
            ReaderKind::Categories { categories, places, codes } => {
                let code = places.get(cell.text()).copied();
                let absent = || self.entry.is_some_and(|entry| entry.is_missing(cell.text()));
                codes.push(code.ok_or_else(|| match !cell.text().is_empty() && absent() {
                    true => cell.missing(),
                    false => cell.unknown(categories),
                })?);
            }
        }
        Ok(())
    }

    /// How many columns of the design it makes.
    fn width(&self) -> usize {
        match &self.kind {
            ReaderKind::Scaled { .. } => 1,
            ReaderKind::Categories { categories, .. } => categories.len() - 1,
        }
    }

    /// Adds the columns of the design that it makes.
    fn finish(self, to: &mut Columns) {
        let column = self.column;
        match self.kind {
            ReaderKind::Scaled { scale, values } => {
                let meaning = Meaning::Scaled { column: column.to_owned(), scale };
                to.columns.push((Coefficient { name: column.to_owned(), meaning }, values));
            }
            ReaderKind::Categories { categories, codes, .. } => {
                let Some((baseline, others)) = categories.split_first() else { return };
                for (place, category) in others.iter().enumerate() {
                    let is = |code: &u32| if *code as usize == place + 1 { 1.0 } else { 0.0 };
                    let meaning = Meaning::Indicator {
                        column: column.to_owned(),
                        category: category.clone(),
                        baseline: baseline.clone(),
                    };
                    let name = format!("{column}={category}");
                    to.columns.push((Coefficient { name, meaning }, codes.iter().map(is).collect()));
                }
            }
        }
        to.notes.extend(self.note);
    }
}

/// The columns to predict from, in the requested order.
fn feature_columns<'a>(
    table: &'a Table,
    condition: &Condition,
    chosen: Option<&'a [String]>,
) -> Result<Vec<&'a str>> {
    let label = condition.column();
    let _ = table.cells(label)?;
    let columns: Vec<&str> = match chosen {
        Some(chosen) => chosen.iter().map(String::as_str).collect(),
        None => table.columns().iter().map(String::as_str).filter(|&column| column != label).collect(),
    };
    let mut seen = HashSet::new();
    for &column in &columns {
        let _ = table.cells(column)?;
        if column == label {
            return Err(Error::LabelAmongFeatures {
                column: column.into(),
                expression: condition.to_string(),
            });
        }
        if !seen.insert(column) {
            return Err(Error::DuplicateFeature { column: column.into() });
        }
    }
    if columns.is_empty() {
        return Err(Error::NoFeatures { file: table.name().into(), label: label.into() });
    }
    Ok(columns)
}

/// For which records the condition holds. None of them lacks a value: that is neither yes nor no.
fn holds(table: &Table, bounds: &Bounds, condition: &Condition) -> Result<Vec<bool>> {
    match bounds.schema().get(condition.column()) {
        Some(entry) => condition.check_described(entry, table)?,
        // One that is misspelt would make all records positive, or none, and be paid for.
        None if matches!(condition.comparand(), Comparand::Text(_)) && !bounds.has_public_categories() => {
            return Err(Error::MissingCategories {
                file: table.name().into(),
                column: condition.column().into(),
                key: toml_key(condition.column()),
                bounds_file: bounds.file().map(str::to_owned),
            });
        }
        None => condition.check_undescribed(table)?,
    }
    condition.evaluate(table)
}

fn labels(table: &Table, bounds: &Bounds, condition: &Condition) -> Result<Array1<f64>> {
    Ok(numbers(holds(table, bounds, condition)?))
}

fn numbers(holds: Vec<bool>) -> Array1<f64> {
    holds.into_iter().map(|positive| if positive { 1.0 } else { 0.0 }).collect()
}

/// The texts of a column that the bounds file is silent about, sorted; an error where the column holds
/// numbers.
///
/// A column is text where no cell reads as a number. One with both counts as numbers, so that a stray text is
/// reported with its line rather than turned into a category.
fn inferred_categories(table: &Table, bounds: &Bounds, column: &str) -> Result<Vec<String>> {
    let cells = table.cells(column)?;
    let finite = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let is_text = |text: &str| !text.is_empty() && text.parse::<f64>().is_err();
    if cells.clone().any(|cell| finite(cell.text())) || !cells.clone().any(|cell| is_text(cell.text())) {
        for cell in cells {
            cell.number()?;
        }
        return Err(Error::MissingBounds {
            file: table.name().into(),
            column: column.into(),
            key: toml_key(column),
            bounds_file: bounds.file().map(str::to_owned),
        });
    }
    // Before anything is said of the texts.
    if !bounds.has_public_categories() {
        return Err(Error::MissingCategories {
            file: table.name().into(),
            column: column.into(),
            key: toml_key(column),
            bounds_file: bounds.file().map(str::to_owned),
        });
    }
    let mut found = BTreeSet::new();
    for cell in cells {
        if cell.text().is_empty() {
            return Err(cell.empty("a category (list '' among the categories to allow it)"));
        }
        found.insert(cell.text());
    }
    if found.len() > MOST_INFERRED_CATEGORIES {
        return Err(Error::TooManyCategories {
            file: table.name().into(),
            column: column.into(),
            found: found.len(),
            limit: MOST_INFERRED_CATEGORIES,
        });
    }
    if found.len() == 1 {
        return Err(Error::SingleCategory { file: table.name().into(), column: column.into() });
    }
    Ok(found.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
