//! How often the values of several columns occur beside those of one, released together.

use super::grid::Unit;
use super::{Field, Summaries};
use crate::error::{Error, Result};
use dp_accountant::{Purse, Relation};

/// Noisy numbers of records by bin of one field and bin of another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Rows: bins of the field that the tables are by; columns: bins of this table's own field. Fractions and negative
    /// numbers may occur.
    pub counts: Vec<Vec<f64>>,
    /// Standard deviation of the noise of each.
    pub noise: f64,
}

/// The bin of a value, if it is in one.
fn bin(edges: &[f64], value: f64) -> Option<usize> {
    let above = edges.partition_point(|edge| *edge <= value);
    (above > 0 && above < edges.len()).then(|| above - 1)
}

/// By how much neighbours change all cells together, in norm and in steps, where a record is in at most one cell of each
/// of so many tables.
fn difference(relation: Relation, tables: usize, unit: Unit) -> f64 {
    let cells = match relation {
        Relation::AddRemove => tables as f64,
        // One less in a cell of each, and one more in another.
        Relation::ReplaceOne => 2.0 * tables as f64,
    };
    // The root is correctly rounded, and so is the product.
    (unit.steps() as f64 * cells.sqrt().next_up()).next_up()
}

/// A field and the edges of its bins.
pub type Binned<'a> = (Field, &'a [f64]);

impl Summaries<'_> {
    /// For each of several fields, how many records lie in each pair of a bin of it and a bin of `by`: what naive Bayes
    /// learns from. All tables are one release.
    ///
    /// # Privacy
    /// A record is in at most one cell of each of the `m` tables, so under add/remove it changes all cells together by at
    /// most √m in norm, under replace-one by √(2m). The noise of each cell has standard deviation `noise_multiplier · √m`
    /// (replace-one: `noise_multiplier · √(m/2)`). Edges must be chosen without looking at the data.
    ///
    /// # Errors
    /// If there is no table, edges are not at least two, finite and increasing, there is no such field, a value is not a
    /// number, the noise multiplier is not between 1e-3 and 1e6, or the budget does not allow it; then nothing is debited.
    ///
    /// ```
    /// use dp_accountant::{Budget, Ledger, Relation};
    /// use dp_sampler::Seed;
    /// use dp_vi::{Sensitive, summaries::Summaries};
    /// use ppl_core::Records;
    /// let y: Vec<f64> = (0..900).map(|k| f64::from(k % 2)).collect();
    /// let x: Vec<f64> = (0..900).map(|k| f64::from(k % 3)).collect();
    /// let records = Sensitive::new(Records::from_columns([("y", y), ("x", x)])?);
    /// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })?;
    /// let mut summaries = Summaries::new(&records, Seed::for_tests(1))?;
    /// let tables = summaries.tables(
    ///     ("y".into(), &[0.0, 1.0, 2.0]), &[("x".into(), &[0.0, 1.0, 2.0, 3.0])], 5.0, &mut ledger)?;
    /// assert!((tables[0].counts[1][2] - 150.0).abs() < 60.0); // twelve standard deviations
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tables(
        &mut self,
        by: Binned<'_>,
        fields: &[Binned<'_>],
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<Vec<Table>> {
        for (_, edges) in fields.iter().chain([&by]) {
            if let Some(pair) = edges
                .windows(2)
                .find(|pair| !(pair[0] < pair[1] && pair[0].is_finite() && pair[1].is_finite()))
            {
                return Err(Error::Bounds { lower: pair[0], upper: pair[1] });
            }
            if edges.len() < 2 {
                let (what, requirement) = ("number of edges", "at least 2");
                return Err(Error::OutOfRange { what, requirement, value: edges.len() as f64 });
            }
        }
        if fields.is_empty() {
            let (what, requirement) = ("number of tables", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        let relation = purse.ledger().budget().relation;
        let reach = match relation {
            Relation::AddRemove => (fields.len() as f64).sqrt(),
            Relation::ReplaceOne => (0.5 * fields.len() as f64).sqrt(),
        };
        let unit = Unit::new(noise_multiplier, reach)?;
        let rows = by.1.len() - 1;
        let mut cells = 0;
        let mut places = Vec::with_capacity(fields.len());
        for (field, edges) in fields {
            places.push((field.place(), *edges, cells));
            cells += rows * (edges.len() - 1);
        }
        let place = |which: usize, row: f64, value: f64| {
            let (_, edges, start) = places[which];
            Some(start + bin(by.1, row)? * (edges.len() - 1) + bin(edges, value)?)
        };
        let columns: Vec<(&str, usize)> = places.iter().map(|(place, ..)| *place).collect();
        let sums = self.records.sums_of_cells((by.0.place(), &columns), (cells, unit.steps()), place)?;
        let mut paid = self.pay(purse, difference(relation, fields.len(), unit), 1)?;
        let noisy = self.release(sums, &mut paid)?;
        let numbers: Vec<f64> = noisy.into_iter().map(|sum| unit.number(sum)).collect();
        let table = |&(_, edges, start): &(_, &[f64], usize)| {
            let width = edges.len() - 1;
            let counts = numbers[start..start + rows * width].chunks(width).map(<[f64]>::to_vec).collect();
            Table { counts, noise: Self::deviation(unit) }
        };
        Ok(places.iter().map(table).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::sensitive::Sensitive;
    use ppl_core::Records;
    use proptest::prelude::*;

    proptest! {
        /// Neighbours by both relations, with values outside of all bins; the bound is attained by records that are in all
        /// tables.
        #[test]
        fn neighbours_differ_by_no_more_than_stated(
            rows in proptest::collection::vec((-1.0..3.0_f64, -1.0..4.0_f64, -1.0..4.0_f64), 2..12),
            other in (-1.0..3.0_f64, -1.0..4.0_f64, -1.0..4.0_f64),
            noise_multiplier in 0.01..100.0_f64,
        ) {
            let unit = Unit::new(noise_multiplier, 1.0).unwrap();
            let edges = [0.0, 1.0, 2.0, 3.0];
            let with = |rows: &[(f64, f64, f64)]| {
                let column = |of: fn(&(f64, f64, f64)) -> f64| rows.iter().map(of).collect::<Vec<_>>();
                let records =
                    Records::from_columns([("y", column(|r| r.0)), ("a", column(|r| r.1)), ("b", column(|r| r.2))]);
                let place = |which: usize, row: f64, value: f64| {
                    Some(which * 6 + bin(&edges[..3], row)? * 3 + bin(&edges, value)?)
                };
                let records = Sensitive::new(records.unwrap());
                let sums =
                    records.sums_of_cells((("y", 0), &[("a", 0), ("b", 0)]), (12, unit.steps()), place).unwrap();
                sums.exact().to_vec()
            };
            let norm = |a: &[i128], b: &[i128]| {
                a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
            };
            let whole = with(&rows);
            let mut replaced = rows.clone();
            replaced[0] = other;
            let slack = 1.0 + 4.0 * f64::EPSILON;
            let added = norm(&whole, &with(&rows[1..]));
            prop_assert!(added <= difference(Relation::AddRemove, 2, unit) * slack);
            prop_assert!(norm(&whole, &with(&replaced)) <= difference(Relation::ReplaceOne, 2, unit) * slack);
            let inside = |(y, a, b): (f64, f64, f64)| {
                (0.0..2.0).contains(&y) && (0.0..3.0).contains(&a) && (0.0..3.0).contains(&b)
            };
            if inside(rows[0]) {
                prop_assert!(added >= difference(Relation::AddRemove, 2, unit) * (1.0 - 1e-9));
            }
        }
    }
}
