//! Counts with two-sided geometric noise.

use super::noisy_counts::CountNoise;
use super::{Mechanism, check_histogram, product_law, sealed};
use crate::cost::integer_scale::Scale;
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{Dist, Histogram, Interval, LogInterval, Weight};

/// The geometric mechanism: discrete Laplace noise on counts, then clamped to the range that they may have.
///
/// ```text
/// P(z) = (1 − α)/(1 + α) α^|z|,   α = e^(−ε/Δ)        clamped: what lies outside counts at the nearest end
/// ```
///
/// | relation | released | Δ |
/// |---|---|---|
/// | replace-one, two values | the count of the first value of the alphabet; the number of records is public | 1 |
/// | replace-one, more values | every count | 2 |
/// | add/remove | every count | 1 |
///
/// Clamping tells nothing less: outside the range all true counts have likelihoods in the same proportions as
/// at its end. For a single count no ε-private release is better whatever is done with it afterwards, for
/// losses that grow with the distance (Ghosh, Roughgarden, Sundararajan 2009); what is done here is
/// [`Mixture`](super::Mixture), and [`bayes_remap`](super::bayes_remap).
///
/// For many values under a small δ, Gaussian noise on all counts together costs less:
/// [`Summaries::histogram`](crate::summaries::Summaries::histogram).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    epsilon: f64,
}

impl Geometric {
    /// With this ε, rounded down to a multiple of 2⁻⁴⁰.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn new(epsilon: f64) -> Result<Self> {
        Ok(Self { epsilon: crate::cost::integer_scale::epsilon(epsilon)? })
    }

    /// Under replace-one, for a public number of records of so many possible values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are at least two values.
    pub fn for_records(self, categories: usize, records: u64) -> Result<GeometricCounts> {
        self.counts(categories, records, Relation::ReplaceOne)
    }

    /// Under add/remove, where the number of records is secret: counts are clamped to `most`, a public
    /// number.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is at least one value.
    pub fn for_at_most(self, categories: usize, most: u64) -> Result<GeometricCounts> {
        self.counts(categories, most, Relation::AddRemove)
    }

    pub(super) fn counts(self, categories: usize, most: u64, relation: Relation) -> Result<GeometricCounts> {
        let released = released(categories, most, relation)?;
        let sensitivity = if relation == Relation::ReplaceOne && categories > 2 { 2 } else { 1 };
        let scale = Scale::new(self.epsilon, sensitivity)?;
        Ok(GeometricCounts { scale, released, categories, most, relation })
    }
}

/// How many of so many counts are released: all, or the first of two whose sum is public.
pub(super) fn released(categories: usize, most: u64, relation: Relation) -> Result<usize> {
    let least = if relation == Relation::ReplaceOne { 2 } else { 1 };
    if categories < least {
        let (what, requirement) = ("the number of values of a record", "at least 2, or 1 under add/remove");
        return Err(Error::OutOfRange { what, requirement, value: categories as f64 });
    }
    if most > 1 << 40 {
        let (what, requirement) = ("the largest number of records", "at most 2^40");
        return Err(Error::OutOfRange { what, requirement, value: most as f64 });
    }
    Ok(if relation == Relation::ReplaceOne && categories == 2 { 1 } else { categories })
}

/// [`Geometric`], prepared for an alphabet and a number of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricCounts {
    scale: Scale,
    /// How many counts are released.
    released: usize,
    categories: usize,
    most: u64,
    relation: Relation,
}

impl GeometricCounts {
    /// A mechanism that is wrong on purpose, for tests of the checker: its noise is made for a sensitivity
    /// and an ε that are `claimed`, while it is said to be the one for the right ones. **Not private**, and
    /// it cannot be released.
    #[must_use]
    #[doc(hidden)]
    pub fn with_scale_for(self, sensitivity: u64, factor: (u64, u64)) -> FaultyGeometric {
        let numerator = self.scale.numerator / self.scale.sensitivity * sensitivity;
        let scale = Scale { numerator: numerator / factor.1 * factor.0, ..self.scale };
        FaultyGeometric(Self { scale, ..self })
    }

    /// The largest value of a count.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// How many counts are released.
    #[must_use]
    pub fn released(&self) -> usize {
        self.released
    }

    /// The weight of a clamped noisy count at a true one.
    fn weight(&self, noisy: u64, count: u64) -> LogInterval {
        // Below 2⁵³, so all three are exact.
        let exact = |integer: u64| Interval::exact(integer as f64);
        let step = exact(self.scale.denominator) / exact(self.scale.numerator);
        if self.most == 0 {
            return LogInterval::one();
        }
        let decay = -(exact(noisy.abs_diff(count)) * step);
        let alpha_below_one = (-step).exp_minus_one(); // α − 1
        let sum = (Interval::exact(2.0) + alpha_below_one).ln();
        // A tail from `noisy` on has α^d/(1 + α).
        let tail = noisy == 0 || noisy == self.most;
        let factor = if tail { -sum } else { (-alpha_below_one).ln() - sum };
        LogInterval::from_ln(decay + factor)
    }

    /// The true counts to which noise is added.
    fn counts<'a, T>(&self, data: &'a Histogram<T>) -> Result<&'a [u64]> {
        let records = (self.relation == Relation::ReplaceOne).then_some(self.most);
        check_histogram(data, self.categories, records)?;
        Ok(&data.counts()[..self.released])
    }
}

impl sealed::Sealed for GeometricCounts {}

impl CountNoise for GeometricCounts {
    fn most(&self) -> u64 {
        self.most
    }

    fn log_weights(&self, noisy: u64) -> Vec<f64> {
        (0..=self.most).map(|count| self.weight(noisy, count).ln().estimate()).collect()
    }
}

impl<T: Ord + Clone> Mechanism<T> for GeometricCounts {
    /// Clamped noisy counts: of all values, or of the first of two.
    type Outcome = Vec<u64>;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        self.relation
    }

    fn claim(&self) -> f64 {
        self.scale.epsilon()
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<Vec<u64>, LogInterval>> {
        let counts = self.counts(data)?;
        // Above `most`, which add/remove does not rule out, a count is at the end; both ends are at most 2⁴⁰.
        let one = |count: &u64| {
            let law = self.scale.clamped_law((*count).min(self.most) as i64, (0, self.most as i64));
            law.into_iter().map(|(value, weight)| (value as u64, weight)).collect()
        };
        let sizes = counts.iter().map(|_| u128::from(self.most) + 1);
        product_law("outcomes of the geometric mechanism", sizes, || counts.iter().map(one))
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Vec<u64>> {
        let counts = self.counts(data)?;
        let Scale { numerator, denominator, .. } = self.scale;
        let streams = seed.streams(Purpose::Custom("geometric mechanism"));
        let noise = DiscreteLaplaceNoise::from_streams(streams, numerator, denominator)?;
        let mut drawn = vec![0_i64; counts.len()];
        noise.fill(number, &mut drawn);
        // Noise is below 2⁶³ and a count at most 2⁴⁰ after it is clamped.
        let clamped = |(&count, noise): (&u64, i64)| {
            let noisy = i128::from(count.min(self.most)) + i128::from(noise);
            noisy.clamp(0, i128::from(self.most)) as u64
        };
        Ok(counts.iter().zip(drawn).map(clamped).collect())
    }
}

/// A geometric mechanism with a planted fault: it has a law, to be found out by the checker, and no release.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct FaultyGeometric(GeometricCounts);

impl FaultyGeometric {
    /// The law of the faulty mechanism.
    ///
    /// # Errors
    /// As [`Mechanism::law`].
    pub fn law<T: Ord + Clone>(&self, data: &Histogram<T>) -> Result<Dist<Vec<u64>, LogInterval>> {
        self.0.law(data)
    }
}
