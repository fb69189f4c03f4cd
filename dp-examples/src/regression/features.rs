//! Features in units of their coefficients' priors, made where they are needed.
//!
//! A fit needs them before its steps and after, and other coordinates in between. Kept all the while they would take as
//! much memory as the records themselves; to make them again takes less time than a step.

use std::error::Error as StdError;

use ndarray::{Array1, Array2, ArrayView2, CowArray, Ix2};
use ppl_core::Records;
use rayon::prelude::*;

use super::specification::ScaledColumn;
use crate::formula::matrix::{BLOCK, by_rows};
use crate::regression::whitening::change_features;

/// The features of records, and what they are multiplied by. **As sensitive as the file.**
pub(super) struct Features<'a> {
    values: CowArray<'a, f64, Ix2>,
    units: Vec<f64>,
}

impl<'a> Features<'a> {
    /// Those of records as the model sees them, for coefficients with these priors.
    pub(super) fn of(records: &'a Records, columns: &[ScaledColumn]) -> Result<Self, Box<dyn StdError>> {
        let column = records.column(records.schema().find("x")?.0);
        let shape = (records.len(), columns.len());
        let values = match column.as_slice::<f64>() {
            Some(values) => CowArray::from(ArrayView2::from_shape(shape, values)?),
            None => CowArray::from(Array2::from_shape_vec(shape, column.numbers().collect())?),
        };
        Ok(Self { values, units: columns.iter().map(|column| column.prior.1).collect() })
    }

    /// Records whose features these are, in the memory in which they were.
    pub(super) fn in_place(records: Records, columns: &[ScaledColumn]) -> ppl_core::Result<Records> {
        let units: Vec<f64> = columns.iter().map(|column| column.prior.1).collect();
        change_features(records, columns.len(), |mut all| {
            by_rows(&mut all, |row| row.iter_mut().zip(&units).for_each(|(x, unit)| *x *= unit));
            all
        })
    }

    /// How many features a record has.
    pub(super) fn columns(&self) -> usize {
        self.units.len()
    }

    /// All of them, a row for each record.
    pub(super) fn all(&self) -> Array2<f64> {
        let mut all = self.values.to_owned();
        by_rows(&mut all, |row| row.iter_mut().zip(&self.units).for_each(|(x, unit)| *x *= unit));
        all
    }

    /// The same with more columns, that `fill` writes into the row of each record.
    pub(super) fn and(&self, more: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Array2<f64> {
        let columns = self.columns() + more;
        let mut all = Array2::zeros((self.values.nrows(), columns));
        if let Some(numbers) = all.as_slice_mut().filter(|numbers| !numbers.is_empty()) {
            numbers.par_chunks_mut(columns * BLOCK).enumerate().for_each(|(block, rows)| {
                for (row, to) in rows.chunks_exact_mut(columns).enumerate() {
                    let record = block * BLOCK + row;
                    self.write(record, to);
                    fill(record, to);
                }
            });
        }
        all
    }

    /// The sum of each record's features times these weights.
    pub(super) fn dot(&self, weights: &Array1<f64>) -> Array1<f64> {
        let mut found = Array1::zeros(self.values.nrows());
        if let Some(numbers) = found.as_slice_mut() {
            numbers.par_chunks_mut(BLOCK).enumerate().for_each(|(block, sums)| {
                let mut row = Array1::zeros(self.columns());
                for (place, sum) in sums.iter_mut().enumerate() {
                    if let Some(to) = row.as_slice_mut() {
                        self.write(block * BLOCK + place, to);
                    }
                    *sum = row.dot(weights);
                }
            });
        }
        found
    }

    fn write(&self, record: usize, to: &mut [f64]) {
        let numbers = to.iter_mut().zip(self.values.row(record)).zip(&self.units);
        numbers.for_each(|((to, x), unit)| *to = x * unit);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, concatenate};

    use super::*;
    use crate::formula::matrix::ColumnOf;

    /// Whatever is made of them record by record is what it would be of all of them at once, to the last bit.
    #[test]
    fn they_are_those_of_a_matrix() {
        let x = Array2::from_shape_fn((2 * BLOCK + 7, 3), |(i, j)| (i as f64 + 0.3).sin() / (j + 3) as f64);
        let column = |unit: f64| ScaledColumn {
            of: ColumnOf {
                name: String::new(),
                term: String::new(),
                low: 0.0,
                high: 1.0,
                indicator: false,
                powers: Vec::new(),
                categories: Vec::new(),
                spans: false,
            },
            less: Vec::new(),
            centre: 0.0,
            width: 1.0,
            prior: (0.0, unit),
        };
        let columns = [10.0, 1.0 / 3.0, 2.5].map(column);
        let records = Records::from_columns([("x", x.clone())]).unwrap();
        let features = Features::of(&records, &columns).unwrap();
        let mut expected = x;
        expected.columns_mut().into_iter().zip(&columns).for_each(|(mut x, column)| x *= column.prior.1);
        assert_eq!(features.all(), expected);
        let scaled = Features::in_place(records.clone(), &columns).unwrap();
        assert_eq!(scaled.column(0).as_slice(), expected.as_slice());
        let weights = Array1::from(vec![0.1, -7.3, 1e-3]);
        assert_eq!(features.dot(&weights), expected.dot(&weights));
        let more = Array1::from_iter((0..expected.nrows()).map(|i| i as f64)).insert_axis(Axis(1));
        let both = features.and(1, |record, row| row[3] = record as f64);
        assert_eq!(both, concatenate![Axis(1), expected, more]);
        assert_eq!(features.columns(), 3);
        let none = Records::from_columns([("x", Array2::<f64>::zeros((0, 3)))]).unwrap();
        let none = Features::of(&none, &columns).unwrap();
        assert_eq!(
            (none.all().dim(), none.and(1, |_, _| ()).dim(), none.dot(&weights).len()),
            ((0, 3), (0, 4), 0)
        );
    }
}
