//! How many records lie between given edges.

use super::grid::Unit;
use super::{Field, Summaries};
use crate::error::{Error, Result};
use dp_accountant::{Purse, Relation};

/// Noisy numbers of records in bins.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Histogram {
    /// The edges, one more than there are bins. A bin holds its lower edge and not its upper one.
    pub edges: Vec<f64>,
    /// Number of records in each bin, with noise: fractions and negative numbers may occur.
    pub counts: Vec<f64>,
    /// Standard deviation of the noise of each.
    pub noise: f64,
}

/// The bin of a value, if it is in one.
fn bin(edges: &[f64], value: f64) -> Option<usize> {
    let above = edges.partition_point(|edge| *edge <= value);
    (above > 0 && above < edges.len()).then(|| above - 1)
}

/// Adds a value to its bin, in steps.
fn add(value: f64, edges: &[f64], unit: Unit, sums: &mut [i128]) {
    if let Some(bin) = bin(edges, value) {
        sums[bin] += i128::from(unit.steps());
    }
}

/// By how much neighbours change the counts, in norm and in steps.
fn difference(relation: Relation, unit: Unit) -> f64 {
    match relation {
        // One more in one bin.
        Relation::AddRemove => unit.steps() as f64,
        // One more in one bin and one less in another. The root is correctly rounded, and so is the product.
        Relation::ReplaceOne => (unit.steps() as f64 * std::f64::consts::SQRT_2.next_up()).next_up(),
    }
}

impl Summaries<'_> {
    /// How many records lie between each two neighbouring edges. For categories numbered from 0 take the
    /// edges 0, 1, 2, …. Values outside are in no bin.
    ///
    /// # Privacy
    /// Under add/remove one record changes one count by 1: the noise of each has standard deviation
    /// `noise_multiplier`. Under replace-one it changes two by 1, so the norm of the change is √2, and the
    /// standard deviation is `noise_multiplier/√2`.
    ///
    /// # Errors
    /// If there are not at least two finite, increasing edges, no such field, a value that is not a number, a
    /// noise multiplier not between 1e-3 and 1e6, or the budget does not allow it; then nothing is debited.
    pub fn histogram(
        &mut self,
        field: impl Into<Field>,
        edges: &[f64],
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<Histogram> {
        if let Some(pair) =
            edges.windows(2).find(|pair| !(pair[0] < pair[1] && pair[0].is_finite() && pair[1].is_finite()))
        {
            return Err(Error::Bounds { lower: pair[0], upper: pair[1] });
        }
        if edges.len() < 2 {
            let (what, requirement) = ("number of edges", "at least 2");
            return Err(Error::OutOfRange { what, requirement, value: edges.len() as f64 });
        }
        let relation = purse.ledger().budget().relation;
        let reach = match relation {
            Relation::AddRemove => 1.0,
            Relation::ReplaceOne => std::f64::consts::FRAC_1_SQRT_2,
        };
        let unit = Unit::new(noise_multiplier, reach)?;
        let field = field.into();
        let each = |value: f64, sums: &mut [i128]| add(value, edges, unit, sums);
        let sums = self.records.sums_of_column(field.place(), edges.len() - 1, each)?;
        let mut paid = self.pay(purse, difference(relation, unit), 1)?;
        let counts = self.release(sums, &mut paid)?.into_iter().map(|sum| unit.number(sum)).collect();
        Ok(Histogram { edges: edges.to_vec(), counts, noise: Self::deviation(unit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::integers::IntegerSums;
    use proptest::prelude::*;

    #[test]
    fn a_bin_holds_its_lower_edge() {
        let edges = [0.0, 1.0, 2.5];
        let found = [-0.1, 0.0, 0.99, 1.0, 2.49, 2.5, f64::INFINITY].map(|value| bin(&edges, value));
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(1), None, None]);
    }

    proptest! {
        /// Neighbours by both relations, with values in bins and outside.
        #[test]
        fn neighbours_differ_by_no_more_than_stated(
            values in proptest::collection::vec(-1.0..4.0_f64, 1..20),
            other in -1.0..4.0_f64,
            noise_multiplier in 0.01..100.0_f64,
        ) {
            let edges = [0.0, 0.5, 1.0, 3.0];
            let unit = Unit::new(noise_multiplier, 1.0).unwrap();
            let with = |values: &[f64]| {
                let each = |value: f64, sums: &mut [i128]| add(value, &edges, unit, sums);
                IntegerSums::of_values(values.iter().copied(), 3, each).exact().to_vec()
            };
            let norm = |a: &[i128], b: &[i128]| {
                a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
            };
            let whole = with(&values);
            let mut replaced = values.clone();
            replaced[0] = other;
            // A root of squares below 2^110 rounds by less than four units in the last place.
            let slack = 1.0 + 4.0 * f64::EPSILON;
            prop_assert!(norm(&whole, &with(&values[1..])) <= difference(Relation::AddRemove, unit) * slack);
            prop_assert!(norm(&whole, &with(&replaced)) <= difference(Relation::ReplaceOne, unit) * slack);
        }
    }
}
