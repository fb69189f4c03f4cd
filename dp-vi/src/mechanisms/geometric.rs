//! Counts with two-sided geometric noise.

use super::parameters::Scale;
use super::{Mechanism, check_histogram, sealed};
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{DEFAULT_LIMIT, Dist, Histogram, Interval, LogInterval, Weight};

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
/// Clamping tells nothing less: outside the range all true counts have likelihoods in the same proportions as at its
/// end. For a single count no ε-private release is better whatever is done with it afterwards, for losses that grow
/// with the distance (Ghosh, Roughgarden, Sundararajan 2009); what is done here is [`Mixture`](super::Mixture), and
/// [`bayes_remap`](super::bayes_remap).
///
/// For many values under a small δ, Gaussian noise on all counts together costs less:
/// [`Summaries::histogram`](crate::summaries::Summaries::histogram).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    epsilon: f64,
    pub(super) most: Option<u64>,
}

impl Geometric {
    /// With this ε, rounded down to a multiple of 2⁻⁴⁰.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn new(epsilon: f64) -> Result<Self> {
        Ok(Self { epsilon: super::parameters::epsilon(epsilon)?, most: None })
    }

    /// For a release under add/remove: counts are clamped to this largest number, which must be public knowledge.
    #[must_use]
    pub fn at_most(self, records: u64) -> Self {
        Self { most: Some(records), ..self }
    }

    /// Under replace-one, for a public number of records of so many possible values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are at least two values.
    pub fn for_records(self, categories: usize, records: u64) -> Result<GeometricCounts> {
        let sensitivity = if categories == 2 { 1 } else { 2 };
        GeometricCounts::new(self.epsilon, (categories, sensitivity), records, Relation::ReplaceOne)
    }

    /// Under add/remove, where the number of records is secret: counts are clamped to `most`, a public number.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is at least one value.
    pub fn for_at_most(self, categories: usize, most: u64) -> Result<GeometricCounts> {
        GeometricCounts::new(self.epsilon, (categories, 1), most, Relation::AddRemove)
    }
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
    fn new(
        epsilon: f64,
        (categories, sensitivity): (usize, u64),
        most: u64,
        relation: Relation,
    ) -> Result<Self> {
        let least = if relation == Relation::ReplaceOne { 2 } else { 1 };
        if categories < least {
            let (what, requirement) =
                ("the number of values of a record", "at least 2, or 1 under add/remove");
            return Err(Error::OutOfRange { what, requirement, value: categories as f64 });
        }
        if most > 1 << 40 {
            let (what, requirement) = ("the largest number of records", "at most 2^40");
            return Err(Error::OutOfRange { what, requirement, value: most as f64 });
        }
        let released = if relation == Relation::ReplaceOne && categories == 2 { 1 } else { categories };
        Ok(Self { scale: Scale::new(epsilon, sensitivity)?, released, categories, most, relation })
    }

    /// A mechanism that is wrong on purpose, for tests of the checker: its noise is made for a sensitivity and an ε that
    /// are `claimed`, while it is said to be the one for the right ones. **Not private**, and it cannot be released.
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
    pub(super) fn weight(&self, noisy: u64, count: u64) -> LogInterval {
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
    pub(super) fn counts<'a, T>(&self, data: &'a Histogram<T>) -> Result<&'a [u64]> {
        let records = (self.relation == Relation::ReplaceOne).then_some(self.most);
        check_histogram(data, self.categories, records)?;
        Ok(&data.counts()[..self.released])
    }
}

impl sealed::Sealed for GeometricCounts {}

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
        let outcomes = (u128::from(self.most) + 1).saturating_pow(counts.len() as u32);
        if outcomes > DEFAULT_LIMIT {
            let (what, limit) = ("outcomes of the geometric mechanism", DEFAULT_LIMIT);
            return Err(ppl_core::Error::TooMany { what, count: outcomes, limit }.into());
        }
        // Above `most`, which add/remove does not rule out, a count is at the end.
        let mut law = vec![(Vec::new(), LogInterval::one())];
        for &count in counts {
            // Both ends are at most 2⁴⁰.
            let one = self.scale.clamped_law(count.min(self.most) as i64, (0, self.most as i64));
            let with = |(noisy, weight): &(Vec<u64>, LogInterval)| {
                let more = one.iter().zip(0..).map(|((_, next), value)| {
                    let mut noisy = noisy.clone();
                    noisy.push(value);
                    (noisy, weight.times(next))
                });
                more.collect::<Vec<_>>()
            };
            law = law.iter().flat_map(with).collect();
        }
        Ok(Dist::from_weights(law)?)
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
