//! Design matrices: from a formula and a frame of columns to numbers.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::coding::{self, Product};
use super::expression::{Expression, Range};
use super::spline::{b_splines, legendre};
use super::{Factor, Formula, Group, Term, name};
use crate::schema::{Frame, Values};
use crate::{Error, Result};

/// Most columns of a design matrix.
pub const MOST_COLUMNS: usize = 2_000;

/// Most numbers of a design matrix: 8 GiB.
const MOST_ENTRIES: usize = 1 << 30;

/// Most groups of a term: their names are written down before what a model may have of coefficients is known.
const MOST_GROUPS: usize = 1 << 20;

/// What is publicly known of a column of a design matrix.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ColumnOf {
    /// `age`, `sex[T.male]`, `age:sex[female]`, as formulaic names them.
    pub name: String,
    /// The term it belongs to.
    pub term: String,
    /// The smallest value by the public bounds.
    pub low: f64,
    /// The largest value by the public bounds.
    pub high: f64,
    /// Whether it is 0 or 1: a product of categories only.
    pub indicator: bool,
    /// The numbers that it is a product of powers of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub powers: Vec<Power>,
    /// The categories that it is multiplied by: names of their columns where none is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Whether it is one of some columns that add up to 1 for each record, where there is no intercept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans: bool,
}

/// A power of a number in a product.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Power {
    /// The number: a column, or a function of some.
    pub of: String,
    /// Its exponent.
    pub exponent: u32,
    /// The smallest value of the number by the public bounds.
    pub low: f64,
    /// The largest value of the number by the public bounds.
    pub high: f64,
}

/// Numbers of records: a column for each coefficient.
#[derive(Clone, PartialEq)]
pub struct Matrix {
    /// Records × columns, in the units of the file. **As sensitive as the file.**
    pub values: Array2<f64>,
    /// What the columns are, in their order.
    pub columns: Vec<ColumnOf>,
}

/// Coefficients that differ by group, for all records.
#[derive(Clone, PartialEq)]
pub struct GroupMatrix {
    /// The column of the groups, or those whose combinations they are: `school:class`.
    pub column: String,
    /// The groups.
    pub levels: Vec<String>,
    /// Which group a record belongs to, from 0.
    pub codes: Vec<i64>,
    /// What is multiplied by a group's coefficients.
    pub matrix: Matrix,
}

/// Everything that a formula makes of records.
#[derive(Clone, PartialEq)]
pub struct Design {
    /// Terms that all records share.
    pub matrix: Matrix,
    /// Terms by group.
    pub groups: Vec<GroupMatrix>,
    /// The sum of the offsets, where there are some.
    pub offset: Option<Vec<f64>>,
    /// The smallest and largest that the public bounds allow the sum of the offsets to be.
    pub offset_range: (f64, f64),
}

impl Design {
    /// The numbers of a frame's records.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] for categories where a number is needed and the other way round, for functions that are
    /// not finite somewhere within the public bounds, for knots beyond them, and for matrices that are too large.
    pub fn new(formula: &Formula, frame: &Frame) -> Result<Self> {
        let matrix = matrix(&formula.terms, frame)?;
        if matrix.columns.is_empty() {
            return Err(wrong(format!("'{formula}' has no term: there is nothing to fit")));
        }
        let mut offset: Option<Vec<f64>> = None;
        let mut offset_range = (0.0, 0.0);
        for expression in &formula.offsets {
            let (values, (low, high)) = numbers(expression, frame)?;
            offset_range = (offset_range.0 + low, offset_range.1 + high);
            offset = Some(match offset {
                None => values,
                Some(sum) => sum.iter().zip(values).map(|(a, b)| a + b).collect(),
            });
        }
        let groups = formula.groups.iter().map(|group| {
            let (codes, levels) = groups_of(group, frame)?;
            Ok(GroupMatrix {
                column: group.name(),
                levels,
                codes,
                matrix: self::matrix(&group.terms, frame)?,
            })
        });
        let groups = groups.collect::<Result<_>>()?;
        Ok(Self { matrix, groups, offset, offset_range })
    }
}

/// Which group each record belongs to, and the names of all groups: categories of a column, or all combinations of those
/// of several, of which those of the last change fastest.
fn groups_of(group: &Group, frame: &Frame) -> Result<(Vec<i64>, Vec<String>)> {
    let (mut codes, mut levels) = (vec![0; frame.len()], Vec::new());
    for column in &group.columns {
        let Values::Categories { codes: own, names } = frame.column(column)? else {
            return Err(wrong(format!(
                "({} | {}): groups are categories, and {} is a column of numbers; list its values as categories",
                group.terms.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "),
                group.written(),
                name(column)
            )));
        };
        if levels.len().max(1).saturating_mul(names.len()) > MOST_GROUPS {
            return Err(wrong(format!("the groups {} are more than {MOST_GROUPS}", group.written())));
        }
        codes
            .iter_mut()
            .zip(own)
            .for_each(|(code, &own)| *code = *code * names.len() as i64 + i64::from(own));
        levels = match levels.is_empty() {
            true => names.clone(),
            false => levels
                .iter()
                .flat_map(|level| names.iter().map(move |name| format!("{level}:{name}")))
                .collect(),
        };
    }
    Ok((codes, levels))
}

impl Matrix {
    /// Adds the rows of more records.
    fn append(&mut self, more: &Self) -> Result<()> {
        check_size(self.values.nrows() + more.values.nrows(), self.values.ncols())?;
        self.values.append(Axis(0), more.values.view()).map_err(|error| wrong(error.to_string()))
    }

    fn select(&self, records: &[usize]) -> Self {
        Self { values: rows_of(self.values.view(), records), columns: self.columns.clone() }
    }
}

/// Rows that are worked on together: few enough that their numbers stay in a cache while one column after another is
/// written.
pub(crate) const BLOCK: usize = 256;

/// Some rows of a matrix, by index; each has to be below their number.
pub(crate) fn rows_of(values: ArrayView2<'_, f64>, rows: &[usize]) -> Array2<f64> {
    let mut found = Array2::zeros((rows.len(), values.ncols()));
    found.rows_mut().into_iter().zip(rows).for_each(|(mut to, &row)| to.assign(&values.row(row)));
    found
}

/// Changes each row of a matrix by itself, on all threads.
pub(crate) fn by_rows(values: &mut Array2<f64>, change: impl Fn(&mut [f64]) + Send + Sync) {
    let columns = values.ncols().max(1);
    by_blocks(values, |block| block.chunks_exact_mut(columns).for_each(&change));
}

/// Changes some rows of a matrix after others, on all threads: what a row becomes may depend on itself alone, for how
/// many are changed together is not said.
pub(crate) fn by_blocks(values: &mut Array2<f64>, change: impl Fn(&mut [f64]) + Send + Sync) {
    if !values.is_standard_layout() {
        *values = values.as_standard_layout().into_owned();
    }
    let rows = BLOCK * values.ncols().max(1);
    if let Some(all) = values.as_slice_mut() {
        all.par_chunks_mut(rows).for_each(change);
    }
}

impl Design {
    /// The same of some records, by index; each has to be below the number of records.
    #[must_use]
    pub fn select(&self, records: &[usize]) -> Self {
        let group = |group: &GroupMatrix| GroupMatrix {
            column: group.column.clone(),
            levels: group.levels.clone(),
            codes: records.iter().map(|&record| group.codes[record]).collect(),
            matrix: group.matrix.select(records),
        };
        let offset =
            self.offset.as_ref().map(|offset| records.iter().map(|&record| offset[record]).collect());
        let (matrix, groups) = (self.matrix.select(records), self.groups.iter().map(group).collect());
        Self { matrix, groups, offset, offset_range: self.offset_range }
    }

    /// Adds more records of the same formula and schema, after those that there are.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] for a matrix that becomes too large.
    pub(crate) fn append(&mut self, more: Self) -> Result<()> {
        self.matrix.append(&more.matrix)?;
        for (group, more) in self.groups.iter_mut().zip(more.groups) {
            group.codes.extend(more.codes);
            group.matrix.append(&more.matrix)?;
        }
        if let (Some(offset), Some(more)) = (&mut self.offset, more.offset) {
            offset.extend(more);
        }
        Ok(())
    }
}

pub(super) fn wrong(reason: String) -> Error {
    Error::Formula { reason }
}

/// One column of a factor.
struct Encoded<'f> {
    name: String,
    values: Entries<'f>,
    range: Range,
    indicator: bool,
    /// The number that it is a power of; itself, where it is a number and nothing else is known.
    power: Option<Power>,
}

impl Encoded<'_> {
    fn number(name: String, values: Entries<'_>, (low, high): Range) -> Encoded<'_> {
        let power = Some(Power { of: name.clone(), exponent: 1, low, high });
        Encoded { name, values, range: (low, high), indicator: false, power }
    }
}

/// The numbers of a column of a factor. Those that a frame has are not copied, nor are indicators written down.
enum Entries<'f> {
    Numbers(Cow<'f, [f64]>),
    /// 1 where the category is that of this place, and 0 elsewhere.
    Indicator(&'f [u32], usize),
}

impl Entries<'_> {
    /// Multiplies numbers by those of the records from this one on.
    fn multiply<'v>(&self, products: impl Iterator<Item = &'v mut f64>, first: usize) {
        match self {
            Self::Numbers(values) => {
                products.zip(&values[first..]).for_each(|(product, value)| *product *= value)
            }
            Self::Indicator(codes, place) => products
                .zip(&codes[first..])
                .for_each(|(product, &code)| *product *= f64::from(u8::from(code as usize == *place))),
        }
    }
}

/// A factor's columns; with all of them, and without the first, where it spans the constant.
struct EncodedFactor<'f> {
    columns: Vec<Encoded<'f>>,
    /// Names of the columns other than the first, where the first is left out.
    reduced_names: Option<Vec<String>>,
}

/// The matrix of some terms.
///
/// # Errors
///
/// As [`Design::new`].
pub fn matrix(terms: &[Term], frame: &Frame) -> Result<Matrix> {
    let (numbers, factors) = coding::numbered(terms);
    // Sizes come first, for the columns of large ones would not fit into memory.
    let widths = factors.iter().map(|factor| width(factor, frame)).collect::<Result<Vec<_>>>()?;
    // A term of k factors that span the constant has 2ᵏ products, with a column at least each: too many are not written
    // down to be counted.
    for term in &numbers {
        let spanning = term.iter().filter(|factor| widths[**factor].1).count();
        check_size(frame.len(), 1_usize.checked_shl(spanning as u32).unwrap_or(usize::MAX))?;
    }
    let products = coding::products(&numbers, &|factor| widths[factor].1);
    let columns_of = |product: &Product| {
        product
            .iter()
            .map(|&(factor, reduced)| widths[factor].0 - usize::from(reduced))
            .fold(1, usize::saturating_mul)
    };
    let total = products.iter().flatten().map(columns_of).fold(0, usize::saturating_add);
    check_size(frame.len(), total)?;
    let encoded = factors.iter().map(|factor| encode(factor, frame)).collect::<Result<Vec<_>>>()?;
    let (mut columns, mut entries) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for (term, products) in terms.iter().zip(&products) {
        for product in products {
            push(product, term, &encoded, &mut columns, &mut entries);
        }
    }
    let mut values = vec![0.0; frame.len() * total];
    values.par_chunks_mut((BLOCK * total).max(1)).enumerate().for_each(|(block, values)| {
        values.fill(1.0);
        for (column, factors) in entries.iter().enumerate() {
            for factor in factors {
                factor.multiply(values.iter_mut().skip(column).step_by(total), block * BLOCK);
            }
        }
    });
    let values = Array2::from_shape_vec((frame.len(), total), values);
    // Columns of a model that is read again are found by their names.
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::DuplicateCoefficient { name: twice[0].to_owned() });
    }
    Ok(Matrix { values: values.map_err(|error| wrong(error.to_string()))?, columns })
}

/// Checks that a matrix of so many records and columns is not too large.
///
/// # Errors
///
/// [`Error::DesignSize`].
pub(crate) fn check_size(rows: usize, columns: usize) -> Result<()> {
    if columns > MOST_COLUMNS || columns.saturating_mul(rows) > MOST_ENTRIES {
        return Err(Error::DesignSize { columns, most_columns: MOST_COLUMNS, most_numbers: MOST_ENTRIES });
    }
    Ok(())
}

/// A factor's number of columns, and whether they add up to 1.
fn width(factor: &Factor, frame: &Frame) -> Result<(usize, bool)> {
    Ok(match factor {
        Factor::Column(column) => match frame.column(column)? {
            Values::Numbers { .. } => (1, false),
            Values::Categories { names, .. } => (names.len(), true),
        },
        Factor::Category(column) => match frame.column(column)? {
            Values::Categories { names, .. } => (names.len(), true),
            Values::Numbers { .. } => {
                return Err(wrong(format!(
                    "{factor}: {} is a column of numbers; list its values as categories in the schema",
                    name(column)
                )));
            }
        },
        Factor::Number(_) => (1, false),
        Factor::Polynomial { degree, .. } => (*degree, false),
        Factor::Spline { knots, degree, intercept, .. } => {
            (knots.len() + degree + usize::from(*intercept), *intercept)
        }
    })
}

/// The columns of a product, and what each is the product of: the first factor changes fastest.
fn push<'e, 'f>(
    product: &Product,
    term: &Term,
    encoded: &'e [EncodedFactor<'f>],
    columns: &mut Vec<ColumnOf>,
    entries: &mut Vec<Vec<&'e Entries<'f>>>,
) {
    let factors: Vec<(&EncodedFactor<'f>, bool)> =
        product.iter().map(|&(factor, reduced)| (&encoded[factor], reduced)).collect();
    let count = |(factor, reduced): &(&EncodedFactor<'f>, bool)| factor.columns.len() - usize::from(*reduced);
    let total: usize = factors.iter().map(count).product();
    for mut place in 0..total {
        let (mut names, mut range, mut indicator) = (Vec::new(), (1.0, 1.0), !factors.is_empty());
        let (mut powers, mut categories) = (Vec::<Power>::new(), Vec::new());
        let mut spans = !factors.is_empty();
        let mut multiplied = Vec::with_capacity(factors.len());
        for (factor, reduced) in &factors {
            let among = factor.columns.len() - usize::from(*reduced);
            let which = place % among;
            place /= among;
            let one = &factor.columns[which + usize::from(*reduced)];
            names.push(match (&factor.reduced_names, reduced) {
                (Some(reduced), true) => reduced[which].clone(),
                _ => one.name.clone(),
            });
            match &one.power {
                Some(power) => match powers.iter_mut().find(|known| known.of == power.of) {
                    Some(known) => known.exponent += power.exponent,
                    None => powers.push(power.clone()),
                },
                None => categories.push(one.name.clone()),
            }
            spans &= factor.reduced_names.is_some() && !reduced;
            multiplied.push(&one.values);
            let (a, b) = range;
            let (c, d) = one.range;
            let corners = [a * c, a * d, b * c, b * d];
            range = (
                corners.iter().copied().fold(f64::INFINITY, f64::min),
                corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
            );
            indicator &= one.indicator;
        }
        let name = if names.is_empty() { "Intercept".to_owned() } else { names.join(":") };
        let ((low, high), term) = (range, term.to_string());
        columns.push(ColumnOf { name, term, low, high, indicator, powers, categories, spans });
        entries.push(multiplied);
    }
}

/// A number's values and public range.
fn numbers(expression: &Expression, frame: &Frame) -> Result<(Vec<f64>, Range)> {
    let range_of = |column: &str| match frame.column(column)? {
        Values::Numbers { low, high, .. } => Ok((*low, *high)),
        Values::Categories { .. } => {
            Err(wrong(format!("{expression}: {} is a column of categories", name(column))))
        }
    };
    let range = expression.range(&range_of, &wrong)?;
    // Found once for each column, not once for each record.
    let columns: Vec<(&str, &[f64])> = expression
        .columns()
        .into_iter()
        .map(|column| match frame.column(column)? {
            Values::Numbers { values, .. } => Ok((column, values.as_slice())),
            Values::Categories { .. } => Err(wrong(format!("{} is a column of categories", name(column)))),
        })
        .collect::<Result<_>>()?;
    let value = |row: usize| {
        let of = |wanted: &str| {
            columns.iter().find(|(column, _)| *column == wanted).map_or(f64::NAN, |(_, values)| values[row])
        };
        // Rounding may carry a value out of the range that the bounds leave it.
        expression.value(&of).clamp(range.0, range.1)
    };
    Ok(((0..frame.len()).into_par_iter().map(value).collect(), range))
}

fn encode<'f>(factor: &Factor, frame: &'f Frame) -> Result<EncodedFactor<'f>> {
    let several = |columns: Vec<Vec<f64>>, ranges: Vec<Range>, first: usize| {
        let column = |(place, (values, range)): (usize, (Vec<f64>, Range))| {
            Encoded::number(format!("{factor}[{}]", place + first), Entries::Numbers(values.into()), range)
        };
        let columns = columns.into_iter().zip(ranges).enumerate().map(column).collect();
        EncodedFactor { columns, reduced_names: None }
    };
    Ok(match factor {
        Factor::Column(column) | Factor::Category(column) => match frame.column(column)? {
            Values::Numbers { values, low, high, indicator } => {
                let numbers = Entries::Numbers(values.as_slice().into());
                let mut column = Encoded::number(factor.to_string(), numbers, (*low, *high));
                column.indicator = *indicator;
                column.power.take_if(|_| *indicator);
                EncodedFactor { columns: vec![column], reduced_names: None }
            }
            Values::Categories { codes, names } => {
                let column = |(place, category): (usize, &String)| Encoded {
                    name: format!("{factor}[{category}]"),
                    values: Entries::Indicator(codes, place),
                    range: (0.0, 1.0),
                    indicator: true,
                    power: None,
                };
                let reduced =
                    names.iter().skip(1).map(|category| format!("{factor}[T.{category}]")).collect();
                EncodedFactor {
                    columns: names.iter().enumerate().map(column).collect(),
                    reduced_names: Some(reduced),
                }
            }
        },
        Factor::Number(of) => {
            let (values, range) = numbers(of, frame)?;
            let mut column = Encoded::number(factor.to_string(), Entries::Numbers(values.into()), range);
            if let Some((base, exponent)) = of.power()
                && let Values::Numbers { low, high, indicator: false, .. } = frame.column(base)?
            {
                column.power = Some(Power { of: name(base).to_string(), exponent, low: *low, high: *high });
            }
            EncodedFactor { columns: vec![column], reduced_names: None }
        }
        Factor::Polynomial { of, degree, raw } => {
            let (values, (low, high)) = numbers(of, frame)?;
            let power = |k: usize| {
                let (a, b) = (low.powi(k as i32), high.powi(k as i32));
                if k.is_multiple_of(2) && low < 0.0 && high > 0.0 {
                    (0.0, a.max(b))
                } else {
                    (a.min(b), a.max(b))
                }
            };
            if *raw {
                let powers =
                    (1..=*degree).map(|k| values.iter().map(|x| x.powi(k as i32)).collect()).collect();
                let ranges: Vec<Range> = (1..=*degree).map(power).collect();
                if ranges.iter().any(|(low, high)| !(low.is_finite() && high.is_finite())) {
                    return Err(wrong(format!(
                        "{factor}: by the public bounds it may be too large to compute with"
                    )));
                }
                let mut found = several(powers, ranges, 0);
                for (column, exponent) in found.columns.iter_mut().zip(1..) {
                    column.power = Some(Power { of: of.to_string(), exponent, low, high });
                }
                found
            } else {
                if low >= high {
                    return Err(wrong(format!("{factor}: {of} is the same for all records")));
                }
                let scaled = |x: &f64| (2.0 * ((x - low) / (high - low)) - 1.0).clamp(-1.0, 1.0);
                let columns = columns_of(&values, *degree, |x| legendre(scaled(x), *degree));
                several(columns, vec![(-1.0, 1.0); *degree], 0)
            }
        }
        Factor::Spline { of, knots, degree, intercept } => {
            let (values, (low, high)) = numbers(of, frame)?;
            if let Some(knot) = knots.iter().find(|knot| !(**knot > low && **knot < high)) {
                return Err(wrong(format!(
                    "{factor}: the knot {knot} does not lie between the public bounds {low} and {high}"
                )));
            }
            let skipped = usize::from(!*intercept);
            let row = |x: &f64| b_splines(*x, (low, high), knots, *degree).split_off(skipped);
            let count = knots.len() + degree + 1 - skipped;
            several(columns_of(&values, count, row), vec![(0.0, 1.0); count], skipped)
        }
    })
}

/// Columns of so many numbers that each value has, without a row of them in memory for each.
fn columns_of(values: &[f64], columns: usize, row: impl Fn(&f64) -> Vec<f64>) -> Vec<Vec<f64>> {
    let mut found = vec![Vec::with_capacity(values.len()); columns];
    for value in values {
        found.iter_mut().zip(row(value)).for_each(|(column, number)| column.push(number));
    }
    found
}
