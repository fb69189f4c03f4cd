//! Records that speak for themselves, and not always truly.

use super::{Mechanism, check_histogram, sealed};
use crate::error::{Error, Result};
use dp_accountant::{Event, Mechanism as Accounted, Relation, Sampling};
use dp_sampler::{Purpose, Seed};
use ppl_core::finite::{Dist, Histogram, Interval, Probability, Rational, Weight};

/// Most exact weights that are computed for a law.
const MOST: u128 = 8_000_000;

/// Randomised response: each record tells its value with probability `p`, otherwise one of the others, all
/// equally likely. What is released is how often each value was told.
///
/// ```text
/// ε = ln(p (k − 1)/(1 − p))          for k values, under replace-one
/// ```
///
/// The number of records shows, so it is for replace-one only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisedResponse {
    truth: Probability,
}

impl RandomisedResponse {
    /// With this probability of the truth.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless it is below 1.
    pub fn new(truth: Probability) -> Result<Self> {
        if truth.numerator() == truth.denominator() {
            let (what, requirement) = ("the probability of the truth", "below 1");
            return Err(Error::OutOfRange { what, requirement, value: 1.0 });
        }
        Ok(Self { truth })
    }

    /// The largest probability of the truth, with a denominator of 2³⁰, for which ε is at most this.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64, and there are at least two values.
    pub fn for_epsilon(epsilon: f64, categories: usize) -> Result<Self> {
        let epsilon = Interval::exact(crate::cost::integer_scale::epsilon(epsilon)?).exp();
        let others = Interval::exact(categories as f64) - Interval::ONE;
        // p = e^ε/(e^ε + k − 1), rounded down.
        let truth = (epsilon / (epsilon + others)).lower();
        let denominator = 1_u64 << 30;
        let numerator = ((truth * denominator as f64) as u64).min(denominator - 1);
        let new = Self::new(Probability::new(numerator, denominator)?)?;
        new.for_categories(categories)?;
        Ok(new)
    }

    /// For records of so many possible values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are at least two, and the probability of the truth is at least one
    /// in so many.
    pub fn for_categories(self, categories: usize) -> Result<RandomisedCounts> {
        if categories < 2 {
            let (what, requirement) = ("the number of values of a record", "at least 2");
            return Err(Error::OutOfRange { what, requirement, value: categories as f64 });
        }
        let (numerator, denominator) = (self.truth.numerator(), self.truth.denominator());
        if u128::from(numerator) * (categories as u128) < u128::from(denominator) {
            let (what, requirement) = ("the probability of the truth", "at least 1 / the number of values");
            return Err(Error::OutOfRange { what, requirement, value: self.truth.to_f64() });
        }
        Ok(RandomisedCounts { truth: self.truth, categories })
    }
}

/// [`RandomisedResponse`], prepared for an alphabet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisedCounts {
    truth: Probability,
    categories: usize,
}

impl RandomisedCounts {
    /// `p (k − 1)/(1 − p)`, exactly.
    #[must_use]
    pub fn odds(&self) -> Rational {
        let lie = self.truth.complement();
        let others = Rational::ratio(self.categories as u64 - 1, 1);
        let ratio = Rational::ratio(self.truth.numerator(), lie.numerator());
        ratio.times(&others)
    }
}

impl sealed::Sealed for RandomisedCounts {}

impl<T: Ord + Clone> Mechanism<T> for RandomisedCounts {
    /// How often each value was told.
    type Outcome = Vec<u64>;
    type Weight = Rational;

    fn relation(&self) -> Relation {
        Relation::ReplaceOne
    }

    fn claim(&self) -> f64 {
        self.odds().ln().upper().max(0.0)
    }

    fn event(&self) -> Result<Event> {
        // A larger probability of the truth is less private, so it is rounded up.
        let truth_probability = self.truth.to_f64().next_up().min(1.0_f64.next_down());
        let categories = self.categories as u64;
        Ok(Event::new(Accounted::RandomizedResponse { categories, truth_probability }, Sampling::None)?)
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<Vec<u64>, Rational>> {
        check_histogram(data, self.categories, None)?;
        // Each record goes through all outcomes so far, C(n + k − 1, k − 1) in the end.
        let (records, values) = (u128::from(data.total()), self.categories as u128);
        let outcomes = (1..values).try_fold(1_u128, |product, j| Some(product.checked_mul(records + j)? / j));
        let count = outcomes.unwrap_or(u128::MAX).saturating_mul(records.saturating_mul(values));
        if count > MOST {
            return Err(ppl_core::Error::TooMany { what: "exact weights", count, limit: MOST }.into());
        }
        let truth = Rational::ratio(self.truth.numerator(), self.truth.denominator());
        let lie = self.truth.complement();
        let lie = Rational::ratio(lie.numerator(), lie.denominator())
            .times(&Rational::ratio(1, self.categories as u64 - 1));
        let mut law = Dist::<Vec<u64>, Rational>::point(vec![0; self.categories]);
        for (value, &count) in data.counts().iter().enumerate() {
            let told = |told: usize| if told == value { truth.clone() } else { lie.clone() };
            for _ in 0..count {
                let mut pairs = Vec::with_capacity(law.len() * self.categories);
                for (counts, weight) in law.iter() {
                    for other in 0..self.categories {
                        let mut more = counts.clone();
                        more[other] += 1;
                        pairs.push((more, weight.times(&told(other))));
                    }
                }
                law = Dist::from_weights(pairs)?;
            }
        }
        Ok(law)
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Vec<u64>> {
        check_histogram(data, self.categories, None)?;
        let mut stream = seed.streams(Purpose::Custom("randomised response")).at(number);
        let mut told = vec![0; self.categories];
        for (value, &count) in data.counts().iter().enumerate() {
            for _ in 0..count {
                // Integers below a bound are exactly uniform.
                let truth = stream.below(self.truth.denominator()) < self.truth.numerator();
                let other = stream.below(self.categories as u64 - 1) as usize;
                told[if truth { value } else { other + usize::from(other >= value) }] += 1;
            }
        }
        Ok(told)
    }
}
