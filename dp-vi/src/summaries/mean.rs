//! The mean of a field between public bounds.

use super::grid::{self, Unit};
use super::{Field, Summaries, check_bounds};
use crate::error::Result;
use crate::wall::integers::IntegerSums;
use dp_accountant::{Event, Purse, Relation};
use std::f64::consts::SQRT_2;

/// A mean with noise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NoisyMean {
    /// The mean of the clipped values, between the bounds.
    pub value: f64,
    /// About the standard deviation that the noise gives it.
    pub noise: f64,
    /// The number of records it is of: with noise under add/remove, exact under replace-one.
    pub count: f64,
}

/// The grid for the sums of a mean.
pub(super) fn unit(purse: &(impl Purse + ?Sized), noise_multiplier: f64) -> Result<Unit> {
    Unit::new(noise_multiplier, reach(purse.ledger().budget().relation))
}

/// The norm of one record's part.
fn reach(relation: Relation) -> f64 {
    match relation {
        Relation::AddRemove => SQRT_2,
        Relation::ReplaceOne => 1.0,
    }
}

/// Adds a value's place between the bounds, from −1 to 1, and one record, both in units.
pub(super) fn add(value: f64, (lower, upper): (f64, f64), unit: Unit, sums: &mut [i128]) {
    let (middle, half) = (lower + 0.5 * (upper - lower), 0.5 * (upper - lower));
    sums[0] += i128::from(unit.of((value.clamp(lower, upper) - middle) / half));
    // Where the number of records is public, it is not among the sums.
    if let Some(count) = sums.get_mut(1) {
        *count += i128::from(unit.steps());
    }
}

/// By how much neighbours change what is released, in norm and in steps.
fn difference(relation: Relation, unit: Unit) -> f64 {
    match relation {
        // A sum of at most a unit, and one more record.
        Relation::AddRemove => (unit.steps() as f64 * SQRT_2.next_up()).next_up(),
        // From one bound to the other; the number of records is not released.
        Relation::ReplaceOne => 2.0 * unit.steps() as f64,
    }
}

impl Summaries<'_> {
    /// The mean of a field, each value clipped to the bounds.
    ///
    /// ```text
    /// S = Σ clip((x − m)/h, −1, 1),   m, h middle and half width of the bounds
    /// add/remove:   (S, N) + σ(z₁, z₂),  mean = m + h S̃/Ñ            one record changes (S, N) by at most √2
    /// replace-one:  S + σz,              mean = m + h S̃/N             one record changes S by at most 2
    /// ```
    ///
    /// The number of records is part of the release and of its price; under replace-one it is public. The
    /// mean is put between the bounds again.
    ///
    /// # Errors
    /// If the bounds are not finite and in order, there is no such field, a value is not a number, the noise
    /// multiplier is not between 1e-3 and 1e6, or the budget does not allow it; then nothing is debited.
    pub fn mean(
        &mut self,
        field: impl Into<Field>,
        bounds: (f64, f64),
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<NoisyMean> {
        check_bounds(bounds.0, bounds.1)?;
        let unit = unit(purse, noise_multiplier)?;
        let each = |value: f64, sums: &mut [i128]| add(value, bounds, unit, sums);
        let sums = self.records.sums_of_column(field.into().place(), self.numbers(purse), each)?;
        self.mean_of(sums, unit, bounds, purse)
    }

    /// The event that [`mean`](Self::mean) debits, to plan with before it is made. Its noise multiplier is the one
    /// asked for or the nearest above that is drawn exactly.
    ///
    /// # Errors
    /// If the noise multiplier is not between 1e-3 and 1e6.
    pub fn mean_event(relation: Relation, noise_multiplier: f64) -> Result<Event> {
        let unit = Unit::new(noise_multiplier, reach(relation))?;
        grid::event_of_bits(grid::BITS, relation, difference(relation, unit))
    }

    /// Sums that a mean is made of: of the numbers, and of the records where their number is protected.
    pub(super) fn numbers(&self, purse: &(impl Purse + ?Sized)) -> usize {
        match purse.ledger().budget().relation {
            Relation::AddRemove => 2,
            Relation::ReplaceOne => 1,
        }
    }

    /// The mean that these sums of numbers between the bounds make, one number of each record.
    pub(super) fn mean_of(
        &mut self,
        sums: IntegerSums,
        unit: Unit,
        bounds: (f64, f64),
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<NoisyMean> {
        let relation = purse.ledger().budget().relation;
        let mut paid = self.pay(purse, difference(relation, unit), 1)?;
        let noisy = self.release(sums, &mut paid)?;
        let sum = noisy.first().map_or(f64::NAN, |&sum| unit.number(sum));
        let count = match (self.records.public_number(relation), noisy.get(1)) {
            (Some(records), _) => records as f64,
            (None, Some(&count)) => unit.number(count),
            (None, None) => f64::NAN,
        };
        let (lower, upper) = bounds;
        let (middle, half) = (lower + 0.5 * (upper - lower), 0.5 * (upper - lower));
        // Less than one record is as good as one.
        let share = (sum / count.max(1.0)).clamp(-1.0, 1.0);
        let per_record = Self::deviation(unit) / count.max(1.0);
        let noise = match relation {
            Relation::AddRemove => half * per_record * (1.0 + share * share).sqrt(),
            Relation::ReplaceOne => half * per_record,
        };
        Ok(NoisyMean { value: (middle + half * share).clamp(lower, upper), noise, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Neighbours by both relations, with values far outside the bounds and infinite ones.
        #[test]
        fn neighbours_differ_by_no_more_than_stated(
            values in proptest::collection::vec(prop_oneof![-50.0..50.0_f64, Just(f64::INFINITY), Just(-1e300), Just(7.0)], 1..20),
            other in prop_oneof![-50.0..50.0_f64, Just(f64::NEG_INFINITY), Just(1e300)],
            noise_multiplier in 0.01..100.0_f64,
            lower in -20.0..5.0_f64,
            width in 1e-3..30.0_f64,
        ) {
            let unit = Unit::new(noise_multiplier, SQRT_2).unwrap();
            let with = |values: &[f64]| {
                let each = |value: f64, sums: &mut [i128]| add(value, (lower, lower + width), unit, sums);
                IntegerSums::of_values(values.iter().copied(), 2, each).exact().to_vec()
            };
            let whole = with(&values);
            let removed = with(&values[1..]);
            let [a, b] = [0, 1].map(|k| (whole[k] - removed[k]) as f64);
            // A root of squares below 2^110 rounds by less than four units in the last place.
            let slack = 1.0 + 4.0 * f64::EPSILON;
            prop_assert!(a.hypot(b) <= difference(Relation::AddRemove, unit) * slack);
            let mut changed = values.clone();
            changed[0] = other;
            let replaced = with(&changed);
            prop_assert!((whole[0] - replaced[0]).abs() as f64 <= difference(Relation::ReplaceOne, unit));
            prop_assert_eq!(whole[1], replaced[1]);
        }
    }

    /// To the last step, also where the middle of the bounds is a rounded number.
    #[test]
    fn a_value_beyond_a_bound_adds_what_the_bound_adds() {
        let unit = Unit::new(1e-3, SQRT_2).unwrap();
        let added = |value: f64, bounds: (f64, f64)| {
            let mut sums = [0; 2];
            add(value, bounds, unit, &mut sums);
            sums
        };
        for bounds in [(-3.0, 7.0), (1000.1, 1000.2), (1_000_000.1, 1_000_000.3)] {
            for beyond in [1.0, 1e300, f64::INFINITY] {
                assert_eq!(added(bounds.0 - beyond, bounds), added(bounds.0, bounds), "{bounds:?} {beyond}");
                assert_eq!(added(bounds.1 + beyond, bounds), added(bounds.1, bounds), "{bounds:?} {beyond}");
            }
        }
    }
}
