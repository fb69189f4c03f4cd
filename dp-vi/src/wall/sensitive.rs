//! The privacy wall, as a type.

use super::integers::IntegerSums;
use crate::error::{Error, Result, without_the_value};
use dp_accountant::Relation;
use ppl_core::records::ColumnData;
use ppl_core::{Graph, Model, Records, Schema, Trace, Values, record_log_likelihoods};

/// Sensitive data behind a wall.
///
/// What is inside cannot be printed, compared, cloned, serialised or reached; the mechanisms of this crate
/// compute on it and let noisy results out.
///
/// # Privacy
/// Names and shapes of columns are public. Values, and under
/// [`AddRemove`](dp_accountant::Relation::AddRemove) the number of records, are not. An error of this crate
/// may say *that* records do not fit a model, so errors are for those who hold the records; it does not say
/// which record, or quote a value.
///
/// ```
/// use dp_vi::Sensitive;
/// use ndarray::array;
/// use ppl_core::Records;
/// let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])])?);
/// assert_eq!(records.schema().columns().count(), 1);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// ```compile_fail
/// # use dp_vi::Sensitive;
/// # use ndarray::array;
/// # use ppl_core::Records;
/// # let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])]).unwrap());
/// println!("{records:?}"); // does not compile
/// ```
///
/// ```compile_fail
/// # use dp_vi::Sensitive;
/// # use ndarray::array;
/// # use ppl_core::Records;
/// # let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])]).unwrap());
/// let n = records.len(); // nor does this
/// ```
///
/// ```compile_fail,E0624
/// # use dp_vi::Sensitive;
/// # let records = Sensitive::new(vec![31.0, 64.0]);
/// let exact_sum: f64 = records.behind_the_wall().iter().sum(); // nor this
/// ```
pub struct Sensitive<T>(T);

/// The No-U-Turn sampler takes public records, for its draws are exact functions of them:
///
/// ```
/// # use ppl_core::draws::nuts::Nuts;
/// # use ppl_core::{Ctx, Records, Result};
/// # use ppl_distributions::Normal;
/// # fn model(ctx: &mut Ctx) -> Result<()> { ctx.sample("a", Normal::new(0.0, 1.0)).map(|_| ()) }
/// let records = Records::from_columns([("age", vec![31.0, 64.0])]).unwrap();
/// Nuts::new(&model).tune(10).draws(10).run(&records).unwrap();
/// ```
///
/// The same records behind the wall do not compile:
///
/// ```compile_fail,E0308
/// # use ppl_core::draws::nuts::Nuts;
/// # use ppl_core::{Ctx, Records, Result};
/// # use ppl_distributions::Normal;
/// # fn model(ctx: &mut Ctx) -> Result<()> { ctx.sample("a", Normal::new(0.0, 1.0)).map(|_| ()) }
/// let records = dp_vi::Sensitive::new(Records::from_columns([("age", vec![31.0, 64.0])]).unwrap());
/// Nuts::new(&model).tune(10).draws(10).run(&records).unwrap();
/// ```
#[cfg(all(doctest, feature = "nuts"))]
struct NoSamplerBehindTheWall;

impl<T> Sensitive<T> {
    /// Puts data behind the wall.
    pub fn new(data: T) -> Self {
        Self(data)
    }

    /// The data, for the code of the wall alone.
    pub(in crate::wall) fn behind_the_wall(&self) -> &T {
        &self.0
    }

    /// The same, where they are changed record by record.
    pub(in crate::wall) fn behind_the_wall_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Sensitive<Records> {
    /// Names and shapes of the columns.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.0.schema()
    }

    /// The number of records, where neighbours have the same number and it is public.
    pub(crate) fn public_number(&self, relation: Relation) -> Option<u64> {
        match relation {
            Relation::ReplaceOne => Some(self.0.len() as u64),
            Relation::AddRemove => None,
        }
    }

    /// Checks that every record fits a model. The error names no record and quotes no value.
    pub(crate) fn check_fit(&self, trace: &Trace<'_>, graph: &Graph) -> Result<()> {
        trace.check_observations(&self.0).map_err(without_the_value)?;
        graph.check_indices(&self.0).map_err(without_the_value)
    }

    /// Sums of integers over all records: `add` adds what one value of a column's element contributes to
    /// `numbers` sums.
    pub(crate) fn sums_of_column(
        &self,
        (column, element): (&str, usize),
        numbers: usize,
        add: impl Fn(f64, &mut [i128]),
    ) -> Result<IntegerSums> {
        let (index, shape) = self.schema().find(column)?;
        let elements = shape.elements();
        if element >= elements {
            let (what, requirement) = ("element of a field", "below the number of elements of the column");
            return Err(Error::OutOfRange { what, requirement, value: element as f64 });
        }
        let values = || self.0.column(index).numbers().skip(element).step_by(elements);
        if values().any(f64::is_nan) {
            return Err(Error::NotANumber { column: column.to_owned() });
        }
        Ok(IntegerSums::of_values(values(), numbers, add))
    }

    /// Sums of integers over all records: `add` adds what a record contributes to `numbers` sums, by a number that is
    /// made of its row of a column.
    pub(crate) fn sums_of_rows(
        &self,
        column: &str,
        of_record: impl Fn(&[f64]) -> f64,
        numbers: usize,
        add: impl Fn(f64, &mut [i128]),
    ) -> Result<IntegerSums> {
        let (index, shape) = self.schema().find(column)?;
        let mut values = self.0.column(index).numbers();
        if self.0.column(index).numbers().any(|value| value.is_nan()) {
            return Err(Error::NotANumber { column: column.to_owned() });
        }
        let mut row = vec![0.0; shape.elements()];
        let rows = (0..self.0.len()).map(|_| {
            row.iter_mut().zip(&mut values).for_each(|(to, value)| *to = value);
            of_record(&row)
        });
        Ok(IntegerSums::of_values(rows, numbers, add))
    }

    /// Cells that records are in, by a value of one column's element and one of each of several others':
    /// `place` says which cell, if any, for which of the others; a record adds `units` there. A record is in
    /// at most one cell for each of the others.
    pub(crate) fn sums_of_cells(
        &self,
        (by, columns): ((&str, usize), &[(&str, usize)]),
        (cells, units): (usize, i64),
        place: impl Fn(usize, f64, f64) -> Option<usize>,
    ) -> Result<IntegerSums> {
        let values = |(column, element): (&str, usize)| -> Result<Vec<f64>> {
            let (index, shape) = self.schema().find(column)?;
            let elements = shape.elements();
            if element >= elements {
                let (what, requirement) =
                    ("element of a field", "below the number of elements of the column");
                return Err(Error::OutOfRange { what, requirement, value: element as f64 });
            }
            let values: Vec<f64> = self.0.column(index).numbers().skip(element).step_by(elements).collect();
            match values.iter().any(|value| value.is_nan()) {
                true => Err(Error::NotANumber { column: column.to_owned() }),
                false => Ok(values),
            }
        };
        let rows = values(by)?;
        let mut all = Vec::with_capacity(columns.len());
        for (which, &column) in columns.iter().enumerate() {
            let pairs = rows.iter().zip(values(column)?);
            // Cells are few, so their numbers are exact; a record that is in none adds nothing.
            all.extend(pairs.filter_map(|(&row, value)| place(which, row, value)).map(|cell| cell as f64));
        }
        Ok(IntegerSums::of_values(all.into_iter(), cells, |cell, sums| {
            sums[cell as usize] += i128::from(units)
        }))
    }

    /// The same of the log-likelihoods of all records at public values.
    pub(crate) fn sums_of_log_likelihoods(
        &self,
        model: &(impl Model + ?Sized),
        values: &Values,
        numbers: usize,
        add: impl Fn(f64, &mut [i128]),
    ) -> Result<IntegerSums> {
        let likelihoods = record_log_likelihoods(model, &self.0, values).map_err(without_the_value)?;
        Ok(IntegerSums::of_values(likelihoods.iter().copied(), numbers, add))
    }

    /// The number of records times a number of units.
    pub(crate) fn count_in(&self, units: i64) -> IntegerSums {
        let one = std::iter::repeat_n(0.0, self.0.len());
        IntegerSums::of_values(one, 1, |_, sums| sums[0] += i128::from(units))
    }

    /// Checks that no number is NaN. With a NaN observation or feature a record would silently be left out.
    pub(crate) fn check_numbers(&self) -> Result<()> {
        for (index, (name, _)) in self.0.schema().columns().enumerate() {
            let missing = match self.0.column(index) {
                ColumnData::F64(values) => values.iter().any(|value| value.is_nan()),
                ColumnData::F32(values) => values.iter().any(|value| value.is_nan()),
                _ => false,
            };
            if missing {
                return Err(Error::NotANumber { column: name.to_owned() });
            }
        }
        Ok(())
    }
}
