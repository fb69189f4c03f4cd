//! How many counts there are in a column of them, each record clipped.

use super::Summaries;
use super::grid::Unit;
use crate::error::{Error, Result};
use dp_accountant::{Purse, Relation};

/// The largest contribution of `words` counts of norm at most this: all of them equal.
fn most(clip_norm: f64, words: usize) -> f64 {
    clip_norm * (words.max(1) as f64).sqrt()
}

/// What is left of a record's counts when they are clipped to a norm; of negative ones, nothing.
fn clipped(counts: &[f64], clip_norm: f64) -> f64 {
    let (mut sum, mut square) = (0.0, 0.0);
    for count in counts.iter().map(|count| count.max(0.0)) {
        sum += count;
        square += count * count;
    }
    let norm = f64::sqrt(square);
    // A norm that overflows is longer than any that is clipped to.
    let share = if norm.is_finite() { sum / norm } else { (counts.len() as f64).sqrt() };
    if norm <= clip_norm { sum } else { clip_norm * share }
}

/// By how much neighbours change the sum, in steps: each adds between 0 and a unit.
fn difference(unit: Unit) -> f64 {
    unit.steps() as f64
}

/// A unit for sums of numbers from 0 to 1. Replacing one of them moves the sum by at most 1, and not by 2.
fn unit(relation: Relation, noise_multiplier: f64) -> Result<Unit> {
    let reach = match relation {
        Relation::AddRemove => 1.0,
        Relation::ReplaceOne => 0.5,
    };
    Unit::new(noise_multiplier, reach)
}

impl Summaries<'_> {
    /// The number of counts in a column of vectors of `V` counts, each record's clipped to a norm `C` first:
    ///
    /// ```text
    /// S = Σ_i |n_i|₁ min(1, C/‖n_i‖₂),    each term from 0 to C√V
    /// ```
    ///
    /// What [`ConjugatePlan::most_rows`](crate::conjugate::ConjugatePlan::most_rows) needs to know of the data. It is a
    /// single number, of many contributions, so a small part of a budget is enough.
    ///
    /// ```
    /// use dp_accountant::{Budget, Ledger};
    /// use dp_sampler::Seed;
    /// use dp_vi::{Sensitive, summaries::Summaries};
    /// use ndarray::Array2;
    /// use ppl_core::Records;
    /// // Five thousand documents of four words, one count each: their norm is 2.
    /// let counts = Array2::from_shape_fn((5000, 16), |(i, v)| u8::from(v % 4 == i % 4));
    /// let records = Sensitive::new(Records::from_columns([("counts", counts)])?);
    /// let mut ledger = Ledger::new(Budget::add_remove(1.0, 1e-6))?;
    /// let counts = Summaries::new(&records, Seed::for_tests(1))?.clipped_counts("counts", 3.0, 20.0, &mut ledger)?;
    /// assert!((counts - 20_000.0).abs() < 6.0 * 20.0 * 12.0); // six standard deviations of the noise
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the norm is not positive and finite, there is no such column, a count is a NaN, the noise multiplier is not
    /// between 1e-3 and 1e6, or the budget does not allow it; then nothing is debited.
    pub fn clipped_counts(
        &mut self,
        column: &str,
        clip_norm: f64,
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<f64> {
        if !(clip_norm > 0.0 && clip_norm.is_finite()) {
            let (what, requirement) = ("clip norm", "positive and finite");
            return Err(Error::OutOfRange { what, requirement, value: clip_norm });
        }
        let (_, shape) = self.records.schema().find(column)?;
        let most = most(clip_norm, shape.elements());
        let unit = unit(purse.ledger().budget().relation, noise_multiplier)?;
        let of_record = |counts: &[f64]| clipped(counts, clip_norm);
        let add = |counts: f64, sums: &mut [i128]| sums[0] += i128::from(unit.of(counts / most));
        let sums = self.records.sums_of_rows(column, of_record, 1, add)?;
        let mut paid = self.pay(purse, difference(unit), 1)?;
        let noisy = self.release(sums, &mut paid)?;
        Ok(noisy.first().map_or(f64::NAN, |&sum| most * unit.number(sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A record adds between nothing and a unit, whatever is in it, so neighbours by either relation are within
        /// one.
        #[test]
        fn a_record_adds_at_most_a_unit(
            counts in proptest::collection::vec(prop_oneof![0.0..50.0_f64, Just(0.0), Just(1e300), Just(-7.0), Just(f64::INFINITY)], 1..20),
            clip_norm in 1e-3..1e3_f64,
            noise_multiplier in 0.01..1e4_f64,
        ) {
            for relation in [Relation::AddRemove, Relation::ReplaceOne] {
                let unit = unit(relation, noise_multiplier).unwrap();
                let steps = unit.of(clipped(&counts, clip_norm) / most(clip_norm, counts.len()));
                prop_assert!(steps >= 0 && steps as f64 <= difference(unit), "{steps}");
            }
        }
    }

    #[test]
    fn short_records_are_counted_and_long_ones_clipped() {
        assert_eq!(clipped(&[3.0, 0.0, 4.0], 5.0), 7.0);
        assert_eq!(clipped(&[6.0, 0.0, 8.0], 5.0), 7.0);
        assert_eq!(clipped(&[0.0, 0.0], 5.0), 0.0);
        // All equal: the most that there can be.
        assert!((clipped(&[9.0; 4], 5.0) - most(5.0, 4)).abs() < 1e-12);
    }
}
