//! Quantiles of a field in a public range.

use super::grid::Unit;
use super::{Field, Summaries, check_bounds};
use crate::error::{Error, Result};
use dp_accountant::{Purse, Relation};

/// A public range, halved a number of times.
///
/// ```
/// use dp_vi::summaries::Range;
/// let range = Range::new(0.0, 64.0, 5)?; // to 64/2⁵ = 2
/// assert_eq!(range.width(), 2.0);
/// # Ok::<(), dp_vi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    lower: f64,
    upper: f64,
    halvings: u32,
}

impl Range {
    /// From `lower` to `upper`, halved `halvings` times.
    ///
    /// # Errors
    /// If the bounds are not finite and in order, or there are not between 1 and 40 halvings.
    pub fn new(lower: f64, upper: f64, halvings: u32) -> Result<Self> {
        check_bounds(lower, upper)?;
        if !(1..=40).contains(&halvings) {
            let (what, requirement) = ("number of halvings of a range", "between 1 and 40");
            return Err(Error::OutOfRange { what, requirement, value: halvings.into() });
        }
        Ok(Self { lower, upper, halvings })
    }

    /// The width of the smallest part.
    #[must_use]
    pub fn width(&self) -> f64 {
        (self.upper - self.lower) / 2.0_f64.powi(self.halvings as i32)
    }

    /// The edge with this number, out of `2^halvings`.
    fn edge(&self, number: u64) -> f64 {
        // At most 2^40, so the fraction is exact.
        self.lower + (self.upper - self.lower) * (number as f64 / 2.0_f64.powi(self.halvings as i32))
    }
}

/// A quantile with noise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NoisyQuantile {
    /// The middle of the part of the range that was found.
    pub value: f64,
    /// Half the width of that part.
    pub resolution: f64,
    /// Standard deviation of the noise that each comparison of ranks had, in records.
    pub rank_noise: f64,
}

/// Adds `1{x < threshold} − p` in steps, of which `share` stand for `p`.
fn add(value: f64, threshold: f64, share: i64, unit: Unit, sums: &mut [i128]) {
    sums[0] += i128::from(if value < threshold { unit.steps() - share } else { -share });
}

/// By how much neighbours change that sum, in steps.
fn difference(relation: Relation, share: i64, unit: Unit) -> f64 {
    match relation {
        // One more term.
        Relation::AddRemove => share.max(unit.steps() - share) as f64,
        // From one side to the other.
        Relation::ReplaceOne => unit.steps() as f64,
    }
}

impl Summaries<'_> {
    /// The value below which a share `probability` of the records lies, to the resolution of the range.
    ///
    /// The range is halved again and again, towards the side of
    ///
    /// ```text
    /// S(t) = Σ_i (1{x_i < t} − p) + noise       below 0: the quantile is above t
    /// ```
    ///
    /// Values outside the range count, and the answer lies in it. No number of records is needed or released.
    ///
    /// # Privacy
    /// One record changes `S` by at most `max(p, 1−p)` under add/remove, by 1 under replace-one. There are as
    /// many releases as halvings, whatever the data; each has √halvings times the noise multiplier, so that
    /// all together cost what one release costs with `noise_multiplier`.
    ///
    /// # Accuracy
    /// A comparison errs by about `rank_noise` records; the value is wrong by however far apart those are.
    ///
    /// # Errors
    /// If `probability` is not strictly between 0 and 1, there is no such field, a value is not a number, the
    /// noise multiplier times √halvings is not between 1e-3 and 1e6, or the budget does not allow it; then
    /// nothing is debited.
    pub fn quantile(
        &mut self,
        field: impl Into<Field>,
        probability: f64,
        range: Range,
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<NoisyQuantile> {
        if !(probability > 0.0 && probability < 1.0) {
            let (what, requirement) = ("probability of a quantile", "strictly between 0 and 1");
            return Err(Error::OutOfRange { what, requirement, value: probability });
        }
        let relation = purse.ledger().budget().relation;
        let reach = match relation {
            Relation::AddRemove => probability.max(1.0 - probability),
            Relation::ReplaceOne => 0.5,
        };
        let unit = Unit::new(noise_multiplier * f64::from(range.halvings).sqrt(), reach)?;
        let (field, share) = (field.into(), unit.of(probability));
        let records = self.records;
        let below = |edge: f64| {
            let each = move |value: f64, sums: &mut [i128]| add(value, edge, share, unit, sums);
            records.sums_of_column(field.place(), 1, each)
        };
        // Everything that can be wrong, before anything is paid for.
        drop(below(range.upper)?);
        let mut paid = self.pay(purse, difference(relation, share, unit), range.halvings.into())?;
        let (mut low, mut width) = (0_u64, 1_u64 << range.halvings);
        for _ in 0..range.halvings {
            width /= 2;
            let below = self.release(below(range.edge(low + width))?, &mut paid)?;
            if below[0] < 0 {
                low += width;
            }
        }
        let resolution = 0.5 * range.width();
        let value = (range.edge(low) + resolution).clamp(range.lower, range.upper);
        Ok(NoisyQuantile { value, resolution, rank_noise: Self::deviation(unit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::integers::IntegerSums;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_differ_by_no_more_than_stated(
            values in proptest::collection::vec(-5.0..5.0_f64, 1..20),
            other in -5.0..5.0_f64,
            (threshold, probability) in (-5.0..5.0_f64, 0.001..0.999_f64),
            noise_multiplier in 0.01..100.0_f64,
        ) {
            let unit = Unit::new(noise_multiplier, 0.5).unwrap();
            let share = unit.of(probability);
            let with = |values: &[f64]| {
                let each = |value: f64, sums: &mut [i128]| add(value, threshold, share, unit, sums);
                IntegerSums::of_values(values.iter().copied(), 1, each).exact()[0]
            };
            let mut replaced = values.clone();
            replaced[0] = other;
            prop_assert!((with(&values) - with(&values[1..])).abs() as f64 <= difference(Relation::AddRemove, share, unit));
            prop_assert!((with(&values) - with(&replaced)).abs() as f64 <= difference(Relation::ReplaceOne, share, unit));
        }
    }

    #[test]
    fn edges_are_those_of_equal_parts() {
        let range = Range::new(-1.0, 3.0, 3).unwrap();
        assert_eq!([0, 1, 4, 8].map(|k| range.edge(k)), [-1.0, -0.5, 1.0, 3.0]);
        assert!(Range::new(1.0, 1.0, 3).unwrap_err().to_string().contains("1"));
        assert!(Range::new(0.0, f64::INFINITY, 3).is_err());
        assert!(Range::new(0.0, 1.0, 0).unwrap_err().to_string().contains("between 1 and 40, got 0"));
        assert!(Range::new(-f64::MAX, f64::MAX, 4).is_err());
    }
}
