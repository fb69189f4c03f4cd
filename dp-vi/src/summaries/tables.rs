//! How often the values of several columns occur beside those of one, released together.

use super::grid::Unit;
use super::{Field, Summaries};
use crate::cost::integer_scale::Scale;
use crate::cost::pricing::choice_event;
use crate::error::{Error, Result};
use crate::wall::integers::IntegerSums;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Purse, Relation};
use dp_sampler::DiscreteLaplaceNoise;
use ppl_core::Records;

/// Noisy numbers of records by bin of one field and bin of another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Rows: bins of the field that the tables are by; columns: bins of this table's own field. Fractions and
    /// negative numbers may occur.
    pub counts: Vec<Vec<f64>>,
    /// Standard deviation of the noise of each.
    pub noise: f64,
    law: Law,
}

/// The law of a table's noise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Gaussian,
    Laplace,
}

/// Points of the rule by which [`Table::log_counts`] integrates.
const POINTS: usize = 400;

impl Table {
    /// For each noisy count `x`, the posterior mean of `ln(n + 1)`, where `n` is the true count.
    ///
    /// ```text
    /// E[ln(n + 1) | x] = ∫ ln(n + 1) p(x | n) (n + 1)^(−½) dn / ∫ p(x | n) (n + 1)^(−½) dn        n ≥ 0
    /// ```
    ///
    /// `p(x | n)` is the density of the noise, and the prior is Jeffreys' for the mean of a Poisson count, which
    /// has no scale. Far above the noise this is `ln(x + 1)`. Below the noise it tends slowly downwards, where
    /// the logarithm of a clamped count jumps to 0: a ratio of two counts that are both unknown is then near 1,
    /// instead of whatever the noise says. It is post-processing, so it costs no privacy.
    ///
    /// The integral is a sum at the midpoints of 400 intervals of `√(n + 1)`, in which the prior is flat; with
    /// noise of a standard deviation of at least 1 its error is below 10⁻³.
    #[must_use]
    pub fn log_counts(&self) -> Vec<Vec<f64>> {
        self.counts.iter().map(|row| row.iter().map(|&count| self.log_count(count)).collect()).collect()
    }

    fn log_count(&self, noisy: f64) -> f64 {
        // Outside of this window the density is below e⁻²⁵ of what it is at the nearest count.
        let (reach, scale) = match self.law {
            Law::Gaussian => (8.0 * self.noise, self.noise),
            Law::Laplace => (25.0 * self.noise, self.noise * std::f64::consts::FRAC_1_SQRT_2),
        };
        let (low, high) = (((noisy - reach).max(0.0) + 1.0).sqrt(), (noisy.max(0.0) + reach + 1.0).sqrt());
        // Relative to the density at the nearest count there is, so that it does not vanish everywhere.
        let nearest = (noisy.max(0.0) - noisy) / scale;
        let (mut total, mut sum) = (0.0, 0.0);
        for point in 0..POINTS {
            let root = low + (high - low) * (point as f64 + 0.5) / POINTS as f64;
            let z = (root * root - 1.0 - noisy) / scale;
            let weight = match self.law {
                Law::Gaussian => (0.5 * (nearest * nearest - z * z)).exp(),
                Law::Laplace => (nearest - z.abs()).exp(),
            };
            total += weight;
            sum += weight * 2.0 * root.ln();
        }
        sum / total
    }
}

/// The bin of a value, if it is in one.
fn bin(edges: &[f64], value: f64) -> Option<usize> {
    let above = edges.partition_point(|edge| *edge <= value);
    (above > 0 && above < edges.len()).then(|| above - 1)
}

/// By how much neighbours change all cells together, in norm and in steps, where a record is in at most one
/// cell of each of so many tables.
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
    /// For each of several fields, how many records lie in each pair of a bin of it and a bin of `by`: what
    /// naive Bayes learns from. All tables are one release.
    ///
    /// # Privacy
    /// A record is in at most one cell of each of the `m` tables, so under add/remove it changes all cells
    /// together by at most √m in norm, under replace-one by √(2m). The noise of each cell has standard
    /// deviation `noise_multiplier · √m` (replace-one: `noise_multiplier · √(m/2)`). Edges must be chosen
    /// without looking at the data.
    ///
    /// # Errors
    /// If there is no table, edges are not at least two, finite and increasing, there is no such field, a
    /// value is not a number, the noise multiplier is not between 1e-3 and 1e6, or the budget does not allow
    /// it; then nothing is debited.
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
        let cells = Cells::new(&by, fields)?;
        let relation = purse.ledger().budget().relation;
        let reach = match relation {
            Relation::AddRemove => (fields.len() as f64).sqrt(),
            Relation::ReplaceOne => (0.5 * fields.len() as f64).sqrt(),
        };
        let unit = Unit::new(noise_multiplier, reach)?;
        let sums = cells.sums(self.records, unit.steps())?;
        let mut paid = self.pay(purse, difference(relation, fields.len(), unit), 1)?;
        let noisy = self.release(sums, &mut paid)?;
        let numbers = noisy.into_iter().map(|sum| unit.number(sum));
        Ok(cells.tables(numbers, (Self::deviation(unit), Law::Gaussian)))
    }

    /// The same with discrete Laplace noise, for a guarantee without δ.
    ///
    /// # Privacy
    /// Counts are integers. Under add/remove a record changes one cell of each of the `m` tables by 1, so all
    /// cells together by at most `m` in the ℓ₁ norm; under replace-one two of each, so `2m`. The scale of the
    /// noise of each cell is that norm over ε, and ε alone is debited. Edges must be chosen without looking
    /// at the data.
    ///
    /// # Errors
    /// As [`tables`](Self::tables), with ε between 10⁻⁶ and 64 instead of the noise multiplier.
    ///
    /// ```
    /// # use dp_accountant::{Budget, Ledger, Relation};
    /// # use dp_sampler::Seed;
    /// # use dp_vi::{Sensitive, summaries::Summaries};
    /// # use ppl_core::Records;
    /// let y: Vec<f64> = (0..900).map(|k| f64::from(k % 2)).collect();
    /// let x: Vec<f64> = (0..900).map(|k| f64::from(k % 3)).collect();
    /// let records = Sensitive::new(Records::from_columns([("y", y), ("x", x)])?);
    /// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })?;
    /// let mut summaries = Summaries::new(&records, Seed::for_tests(1))?;
    /// let tables = summaries.tables_with_laplace_noise(
    ///     ("y".into(), &[0.0, 1.0, 2.0]), &[("x".into(), &[0.0, 1.0, 2.0, 3.0])], 1.0, &mut ledger)?;
    /// assert!((tables[0].counts[1][2] - 150.0).abs() < 30.0); // probability 10⁻¹³
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tables_with_laplace_noise(
        &mut self,
        by: Binned<'_>,
        fields: &[Binned<'_>],
        epsilon: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<Vec<Table>> {
        let cells = Cells::new(&by, fields)?;
        let scale = Scale::new(epsilon, moved(purse.ledger().budget().relation, fields.len()))?;
        let sums = cells.sums(self.records, 1)?;
        let noise = DiscreteLaplaceNoise::new(&self.seed, scale.numerator, scale.denominator)?;
        let event = choice_event(scale.epsilon())?;
        let receipt = purse.debit(event, 1)?;
        let number = self.next;
        self.next += 1;
        let noisy = sums.with_noise((receipt, event), &noise, number)?;
        let alpha = (-(scale.denominator as f64) / scale.numerator as f64).exp();
        let deviation = (2.0 * alpha).sqrt() / (1.0 - alpha);
        Ok(cells.tables(noisy.into_iter().map(|sum| sum as f64), (deviation, Law::Laplace)))
    }
}

/// By how much neighbours change all cells together, in the ℓ₁ norm.
fn moved(relation: Relation, tables: usize) -> u64 {
    match relation {
        Relation::AddRemove => tables as u64,
        Relation::ReplaceOne => 2 * tables as u64,
    }
}

/// The cells of all tables, one after the other.
struct Cells<'a> {
    by: &'a Binned<'a>,
    /// For each table its field, its edges and its first cell.
    places: Vec<((&'a str, usize), &'a [f64], usize)>,
    count: usize,
}

impl<'a> Cells<'a> {
    fn new(by: &'a Binned<'a>, fields: &'a [Binned<'a>]) -> Result<Self> {
        for (_, edges) in fields.iter().chain([by]) {
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
        let (mut count, mut places) = (0, Vec::with_capacity(fields.len()));
        for (field, edges) in fields {
            places.push((field.place(), *edges, count));
            count += (by.1.len() - 1) * (edges.len() - 1);
        }
        Ok(Self { by, places, count })
    }

    /// How many records are in each cell, times `units`.
    fn sums(&self, records: &Sensitive<Records>, units: i64) -> Result<IntegerSums> {
        let place = |which: usize, row: f64, value: f64| {
            let (_, edges, start) = self.places[which];
            Some(start + bin(self.by.1, row)? * (edges.len() - 1) + bin(edges, value)?)
        };
        let columns: Vec<(&str, usize)> = self.places.iter().map(|(place, ..)| *place).collect();
        records.sums_of_cells((self.by.0.place(), &columns), (self.count, units), place)
    }

    /// Numbers of all cells as tables.
    fn tables(&self, numbers: impl Iterator<Item = f64>, (noise, law): (f64, Law)) -> Vec<Table> {
        let numbers: Vec<f64> = numbers.collect();
        let rows = self.by.1.len() - 1;
        let table = |&(_, edges, start): &(_, &[f64], usize)| {
            let width = edges.len() - 1;
            let counts = numbers[start..start + rows * width].chunks(width).map(<[f64]>::to_vec).collect();
            Table { counts, noise, law }
        };
        self.places.iter().map(table).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Neighbours by both relations, with values outside of all bins; the bound is attained by records
        /// that are in all tables.
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
            let apart = |a: &[i128], b: &[i128]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u128>();
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
            let steps = u128::from(unit.steps().unsigned_abs());
            prop_assert!(apart(&whole, &with(&rows[1..])) <= steps * u128::from(moved(Relation::AddRemove, 2)));
            prop_assert!(apart(&whole, &with(&replaced)) <= steps * u128::from(moved(Relation::ReplaceOne, 2)));
            if inside(rows[0]) {
                prop_assert!(added >= difference(Relation::AddRemove, 2, unit) * (1.0 - 1e-9));
            }
        }
    }

    /// Against a plain sum on a fine grid of counts, up to far beyond the noise.
    #[test]
    fn logarithms_of_counts_are_posterior_means() {
        for law in [Law::Gaussian, Law::Laplace] {
            for noise in [1.0, 7.0, 150.0] {
                for noisy in [-9.0, -3.0, -0.4, 0.0, 0.7, 2.0, 30.0].map(|z| z * noise) {
                    let log_density = |n: f64| match law {
                        Law::Gaussian => -0.5 * ((noisy - n) / noise).powi(2),
                        Law::Laplace => -(noisy - n).abs() / noise * 2.0_f64.sqrt(),
                    };
                    let largest = log_density(noisy.max(0.0));
                    let (mut total, mut sum) = (0.0, 0.0);
                    // The middles of hundredths of a count: the prior's density is that of a real number.
                    for step in 0..(80.0 * noise * 100.0) as u64 {
                        let n = (step as f64 + 0.5) / 100.0;
                        let weight = (log_density(n) - largest).exp() / (n + 1.0).sqrt();
                        total += weight;
                        sum += weight * (n + 1.0).ln();
                    }
                    let table = Table { counts: vec![vec![noisy]], noise, law };
                    let found = table.log_counts()[0][0];
                    assert!(
                        (found - sum / total).abs() < 1e-3,
                        "{law:?} {noise} {noisy}: {found} {}",
                        sum / total
                    );
                }
            }
        }
    }

    /// The noise of a cell has the scale of its claim: its sign-free mean, over all cells of four releases.
    /// Seed 3; with 4,800 numbers the mean is known to 1.4 %, and 7 % is five standard deviations (false
    /// alarm 6e-7).
    #[test]
    fn laplace_noise_has_its_scale() {
        use dp_accountant::{Budget, Ledger};
        let records =
            Records::from_columns([("y", vec![0.5, 1.5]), ("a", vec![0.5, 0.5]), ("b", vec![1.5, 2.5])]);
        let records = Sensitive::new(records.unwrap());
        for (relation, scale) in [(Relation::AddRemove, 4.0), (Relation::ReplaceOne, 8.0)] {
            let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-6, relation }).unwrap();
            let mut summaries = Summaries::new(&records, dp_sampler::Seed::for_tests(3)).unwrap();
            let edges: Vec<f64> = (0..=300).map(f64::from).collect();
            let fields = [("a".into(), &edges[..]), ("b".into(), &edges[..])];
            let mut sum = 0.0;
            for _ in 0..4 {
                let by = ("y".into(), &edges[..3]);
                let tables = summaries.tables_with_laplace_noise(by, &fields, 0.5, &mut ledger).unwrap();
                let all: Vec<f64> = tables.iter().flat_map(|table| table.counts.concat()).collect();
                assert_eq!(all.len(), 1200);
                // Four cells hold one record each, which is 1/300 of a record in the mean.
                sum += all.iter().map(|count| count.abs()).sum::<f64>();
            }
            let alpha = (-1.0_f64 / scale).exp();
            let expected = 2.0 * alpha / (1.0 - alpha * alpha);
            assert!((sum / 4800.0 / expected - 1.0).abs() < 0.07, "{}", sum / 4800.0 / expected);
            assert_eq!(ledger.debits().len(), 4);
        }
    }
}
