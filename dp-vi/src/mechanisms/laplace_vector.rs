//! Vectors of integers with Laplace noise, whose scale is the value's own bound.

use super::laplace::Laplace;
use super::parameters::Scale;
use super::{Mechanism, check_histogram, sealed};
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{
    Adjacency, DEFAULT_LIMIT, Dist, Divergence, Histogram, L1, LogInterval, ReplaceOne, Statistic, Weight,
    histograms,
};
use std::fmt::Debug;

/// Most data sets at which the statistic is computed before a release.
const MOST: u128 = 200_000;

impl Laplace {
    /// Of a vector of integers with this bound on its ℓ₁ distance between neighbours, for a public number of records
    /// with these values: discrete Laplace noise on each element, clamped to the range that it has over all data sets.
    ///
    /// # Errors
    /// [`Error::BoundTooSmall`], with a witness, if the statistic of two neighbours differs by more than the bound;
    /// [`ppl_core::Error::TooMany`] above 200,000 data sets; [`Error::OutOfRange`] unless the bound is at most 2²⁴.
    pub fn over<T: Ord + Clone + Debug, F: Fn(&Histogram<T>) -> Statistic>(
        self,
        statistic: F,
        (alphabet, records): (&[T], u64),
        distance: f64,
    ) -> Result<LaplaceVector<F>> {
        if !(distance >= 0.0 && distance <= f64::from(1 << 24)) {
            let (what, requirement) = ("the bound on the l1 distance", "between 0 and 2^24");
            return Err(Error::OutOfRange { what, requirement, value: distance });
        }
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for data in histograms(alphabet.to_vec(), records..=records, MOST)? {
            let value = statistic(&data);
            if ranges.is_empty() {
                ranges = value.elements().iter().map(|&element| (element, element)).collect();
            }
            for (range, &element) in ranges.iter_mut().zip(value.elements()) {
                *range = (range.0.min(element), range.1.max(element));
            }
            for counts in ReplaceOne.above(data.counts()) {
                let other = data.with_counts(counts.into())?;
                let found = L1::between(&value, &statistic(&other));
                if found.lower() > distance {
                    let witness = format!("{data:?} and {other:?}");
                    return Err(Error::BoundTooSmall { stated: distance, found: found.lower(), witness });
                }
            }
        }
        // Integers move by integers, so the bound is rounded down; noise of a scale for 0 would be none.
        let scale = Scale::new(self.epsilon, (distance as u64).max(1))?;
        Ok(LaplaceVector { statistic, scale, ranges, categories: alphabet.len(), records })
    }
}

/// [`Laplace`], prepared for a vector of integers.
#[derive(Clone, Debug)]
pub struct LaplaceVector<F> {
    statistic: F,
    scale: Scale,
    ranges: Vec<(i64, i64)>,
    categories: usize,
    records: u64,
}

impl<F> sealed::Sealed for LaplaceVector<F> {}

impl<T: Ord + Clone, F: Fn(&Histogram<T>) -> Statistic> Mechanism<T> for LaplaceVector<F> {
    /// The noisy elements, clamped.
    type Outcome = Vec<i64>;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        Relation::ReplaceOne
    }

    fn claim(&self) -> f64 {
        self.scale.epsilon()
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<Vec<i64>, LogInterval>> {
        check_histogram(data, self.categories, Some(self.records))?;
        let sizes = self.ranges.iter().map(|&(low, high)| u128::from(high.abs_diff(low)) + 1);
        let count = sizes.fold(1_u128, |product, size| product.saturating_mul(size));
        if count > DEFAULT_LIMIT {
            let (what, limit) = ("outcomes of the Laplace mechanism", DEFAULT_LIMIT);
            return Err(ppl_core::Error::TooMany { what, count, limit }.into());
        }
        let mut law = vec![(Vec::new(), LogInterval::one())];
        for (&element, &range) in (self.statistic)(data).elements().iter().zip(&self.ranges) {
            let one = self.scale.clamped_law(element, range);
            let with = |(noisy, weight): &(Vec<i64>, LogInterval)| {
                let more = one.iter().map(|(value, next)| {
                    let mut noisy = noisy.clone();
                    noisy.push(*value);
                    (noisy, weight.times(next))
                });
                more.collect::<Vec<_>>()
            };
            law = law.iter().flat_map(with).collect();
        }
        Ok(Dist::from_weights(law)?)
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Vec<i64>> {
        check_histogram(data, self.categories, Some(self.records))?;
        let Scale { numerator, denominator, .. } = self.scale;
        let streams = seed.streams(Purpose::Custom("Laplace mechanism on a vector"));
        let noise = DiscreteLaplaceNoise::from_streams(streams, numerator, denominator)?;
        let value = (self.statistic)(data);
        let mut drawn = vec![0_i64; self.ranges.len()];
        noise.fill(number, &mut drawn);
        let noisy = |((&element, noise), &(low, high)): ((&i64, i64), &(i64, i64))| {
            (i128::from(element) + i128::from(noise)).clamp(i128::from(low), i128::from(high)) as i64
        };
        Ok(value.elements().iter().zip(drawn).zip(&self.ranges).map(noisy).collect())
    }
}
