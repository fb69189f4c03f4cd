//! Sums on a grid with Laplace noise.

use super::{Mechanism, check_histogram, sealed};
use crate::cost::integer_scale::Scale;
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{DEFAULT_LIMIT, Dist, Histogram, LogInterval};

/// The Laplace mechanism on a grid: a sum of integers (steps of the grid), one for each record, with discrete
/// Laplace noise, clamped to the range that the sum may have.
///
/// ```text
/// P(z) = (1 − α)/(1 + α) α^|z|,   α = e^(−ε/Δ),   Δ = max v − min v (replace-one) or max |v| (add/remove)
/// ```
///
/// The integers of the values are public, and the sensitivity is computed from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laplace {
    pub(super) epsilon: f64,
}

impl Laplace {
    /// With this ε, rounded down to a multiple of 2⁻²¹ or finer.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn new(epsilon: f64) -> Result<Self> {
        Ok(Self { epsilon: crate::cost::integer_scale::epsilon(epsilon)? })
    }

    /// For records whose values, in the order of the alphabet, are these steps: a public number of records
    /// under replace-one.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless the values differ, by at most 2²⁴ steps.
    pub fn for_records(self, steps: Vec<i64>, records: u64) -> Result<LaplaceSum> {
        LaplaceSum::new(self.epsilon, steps, records, Relation::ReplaceOne)
    }

    /// The same under add/remove, with a public largest number of records.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless some value is not 0, and all are at most 2²⁴ steps.
    pub fn for_at_most(self, steps: Vec<i64>, most: u64) -> Result<LaplaceSum> {
        LaplaceSum::new(self.epsilon, steps, most, Relation::AddRemove)
    }
}

/// [`Laplace`], prepared for values and a number of records.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceSum {
    scale: Scale,
    steps: Vec<i64>,
    records: u64,
    range: (i64, i64),
    relation: Relation,
}

impl LaplaceSum {
    fn new(epsilon: f64, steps: Vec<i64>, records: u64, relation: Relation) -> Result<Self> {
        let out = |what, requirement, value: f64| Err(Error::OutOfRange { what, requirement, value });
        let (Some(&least), Some(&largest)) = (steps.iter().min(), steps.iter().max()) else {
            return out("the number of values of a record", "at least 1", 0.0);
        };
        let reach = largest.unsigned_abs().max(least.unsigned_abs());
        if reach > 1 << 24 {
            return out("a value in steps of the grid", "at most 2^24 in magnitude", reach as f64);
        }
        if records > 1 << 32 {
            return out("the largest number of records", "at most 2^32", records as f64);
        }
        let (sensitivity, n) = match relation {
            Relation::ReplaceOne => ((largest - least) as u64, (records as i64, records as i64)),
            // Any number of records up to that.
            Relation::AddRemove => (reach, (0, records as i64)),
        };
        let low = (least * n.0).min(least * n.1);
        let high = (largest * n.0).max(largest * n.1);
        Ok(Self { scale: Scale::new(epsilon, sensitivity)?, steps, records, range: (low, high), relation })
    }

    /// The sum at a histogram, clamped.
    fn sum<T>(&self, data: &Histogram<T>) -> Result<i64> {
        let records = (self.relation == Relation::ReplaceOne).then_some(self.records);
        check_histogram(data, self.steps.len(), records)?;
        let terms = self.steps.iter().zip(data.counts());
        // Below 2⁶⁴ · 2²⁴ each.
        let sum: i128 = terms.map(|(&step, &count)| i128::from(step) * i128::from(count)).sum();
        Ok(sum.clamp(i128::from(self.range.0), i128::from(self.range.1)) as i64)
    }
}

impl sealed::Sealed for LaplaceSum {}

impl<T: Ord + Clone> Mechanism<T> for LaplaceSum {
    /// The noisy sum in steps, clamped.
    type Outcome = i64;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        self.relation
    }

    fn claim(&self) -> f64 {
        self.scale.epsilon()
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<i64, LogInterval>> {
        let sum = self.sum(data)?;
        let (low, high) = self.range;
        let count = u128::from(high.abs_diff(low)) + 1;
        if count > DEFAULT_LIMIT {
            let (what, limit) = ("outcomes of the Laplace mechanism", DEFAULT_LIMIT);
            return Err(ppl_core::Error::TooMany { what, count, limit }.into());
        }
        Ok(Dist::from_weights(self.scale.clamped_law(sum, self.range))?)
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<i64> {
        let sum = self.sum(data)?;
        let Scale { numerator, denominator, .. } = self.scale;
        let streams = seed.streams(Purpose::Custom("Laplace mechanism on a grid"));
        let noise = DiscreteLaplaceNoise::from_streams(streams, numerator, denominator)?;
        let mut drawn = [0_i64];
        noise.fill(number, &mut drawn);
        let noisy = i128::from(sum) + i128::from(drawn[0]);
        Ok(noisy.clamp(i128::from(self.range.0), i128::from(self.range.1)) as i64)
    }
}
