//! Vectors of integers with Laplace noise, whose scale is the value's own bound.

use super::laplace::Laplace;
use super::{DataSets, Mechanism, product_law, sealed};
use crate::cost::integer_scale::Scale;
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{Dist, Divergence, Histogram, L1, LogInterval, Statistic};
use std::fmt::Debug;

/// Most data sets at which the statistic is computed before a release.
const MOST: u128 = 200_000;

impl Laplace {
    /// Of a vector of integers with this bound on its ℓ₁ distance between neighbours among these data sets:
    /// discrete Laplace noise on each element, clamped to the range that it has over all of them. The statistic has to
    /// say the same of a data set each time: it is computed once more for a release.
    ///
    /// # Errors
    /// [`Error::BoundTooSmall`], with a witness, if the statistic of two neighbours differs by more than the
    /// bound; [`ppl_core::Error::TooMany`] above 200,000 data sets; [`Error::OutOfRange`] unless the bound is
    /// at most 2²⁴.
    pub fn over<T: Ord + Clone + Debug, F: Fn(&Histogram<T>) -> Statistic>(
        self,
        statistic: F,
        sets: DataSets<T>,
        distance: f64,
    ) -> Result<LaplaceVector<T, F>> {
        if !(distance >= 0.0 && distance <= f64::from(1 << 24)) {
            let (what, requirement) = ("the bound on the l1 distance", "between 0 and 2^24");
            return Err(Error::OutOfRange { what, requirement, value: distance });
        }
        let all = sets.all(MOST)?;
        let values: Vec<Statistic> = all.iter().map(&statistic).collect();
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for value in &values {
            if ranges.is_empty() {
                ranges = value.elements().iter().map(|&element| (element, element)).collect();
            }
            for (range, &element) in ranges.iter_mut().zip(value.elements()) {
                *range = (range.0.min(element), range.1.max(element));
            }
        }
        for (one, other) in sets.pairs(&all) {
            let found = L1::between(&values[one], &values[other]);
            if found.lower() > distance {
                let witness = format!("{:?} and {:?}", all[one], all[other]);
                return Err(Error::BoundTooSmall { stated: distance, found: found.lower(), witness });
            }
        }
        // Integers move by integers, so the bound is rounded down; noise of a scale for 0 would be none.
        let scale = Scale::new(self.epsilon, (distance as u64).max(1))?;
        Ok(LaplaceVector { statistic, scale, ranges, sets })
    }
}

/// [`Laplace`], prepared for a vector of integers.
#[derive(Clone, Debug)]
pub struct LaplaceVector<T, F> {
    statistic: F,
    scale: Scale,
    ranges: Vec<(i64, i64)>,
    sets: DataSets<T>,
}

impl<T, F> sealed::Sealed for LaplaceVector<T, F> {}

impl<T: Ord + Clone, F: Fn(&Histogram<T>) -> Statistic> Mechanism<T> for LaplaceVector<T, F> {
    /// The noisy elements, clamped.
    type Outcome = Vec<i64>;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        self.sets.relation()
    }

    fn claim(&self) -> f64 {
        self.scale.epsilon()
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<Vec<i64>, LogInterval>> {
        let value = (self.statistic)(&self.sets.seen(data)?);
        let sizes = self.ranges.iter().map(|&(low, high)| u128::from(high.abs_diff(low)) + 1);
        let elements = value.elements().iter().zip(&self.ranges);
        product_law("outcomes of the Laplace mechanism", sizes, || {
            elements.map(|(&element, &range)| self.scale.clamped_law(element, range))
        })
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Vec<i64>> {
        let value = (self.statistic)(&self.sets.seen(data)?);
        let Scale { numerator, denominator, .. } = self.scale;
        let streams = seed.streams(Purpose::Custom("Laplace mechanism on a vector"));
        let noise = DiscreteLaplaceNoise::from_streams(streams, numerator, denominator)?;
        let mut drawn = vec![0_i64; self.ranges.len()];
        noise.fill(number, &mut drawn);
        let noisy = |((&element, noise), &(low, high)): ((&i64, i64), &(i64, i64))| {
            (i128::from(element) + i128::from(noise)).clamp(i128::from(low), i128::from(high)) as i64
        };
        Ok(value.elements().iter().zip(drawn).zip(&self.ranges).map(noisy).collect())
    }
}
