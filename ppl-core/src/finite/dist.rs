//! Distributions over finitely many outcomes, as values.

use super::{Interval, Probability, Rational, Weight};
use crate::base::{Error, Result};
use std::collections::BTreeMap;

/// A table of positive weights by outcome: a distribution, or what is left of one after
/// [`observe`](Self::observe).
///
/// The operations are those of the finite distribution monad. Outcomes that have weight zero are not in the
/// table.
///
/// ```
/// use ppl_core::finite::{Dist, Probability, Rational};
///
/// let half = Probability::new(1, 2)?;
/// let coin = Dist::bernoulli(half).map(u32::from);
/// let heads: Dist<u32> = coin.and_then(|&a| coin.clone().map(move |b| a + b));
/// assert_eq!(heads.weight(&1), Rational::ratio(1, 2));
/// let at_least_one = heads.observe(|&n| Dist::point(n > 0))?.infer()?;
/// assert_eq!(at_least_one.weight(&2), Rational::ratio(1, 3));
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// Outcomes are compared, so floating-point numbers are none:
///
/// ```compile_fail,E0277
/// use ppl_core::finite::{Dist, Rational};
/// let d: Dist<f64, Rational> = Dist::point(0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dist<T: Ord, W = Rational> {
    weights: BTreeMap<T, W>,
}

impl<W: Weight> Dist<bool, W> {
    /// True with this probability.
    #[must_use]
    pub fn bernoulli(probability: Probability) -> Self {
        let weight = |p: Probability| W::ratio(p.numerator(), p.denominator());
        Self::collect([(true, weight(probability)), (false, weight(probability.complement()))])
    }
}

impl<T: Ord, W: Weight> Dist<T, W> {
    /// Adds up the weights of equal outcomes, and leaves out those of weight zero.
    fn collect(pairs: impl IntoIterator<Item = (T, W)>) -> Self {
        let pairs: Vec<(T, W)> = pairs.into_iter().filter(|(_, weight)| !weight.is_zero()).collect();
        if pairs.windows(2).all(|two| two[0].0 < two[1].0) {
            // A map is built from what is in order without looking anything up.
            return Self { weights: pairs.into_iter().collect() };
        }
        let mut weights = BTreeMap::<T, W>::new();
        for (value, weight) in pairs {
            match weights.get_mut(&value) {
                Some(sum) => *sum = sum.plus(&weight),
                None => {
                    weights.insert(value, weight);
                }
            }
        }
        Self { weights }
    }

    /// All weight on one outcome.
    #[must_use]
    pub fn point(value: T) -> Self {
        Self { weights: BTreeMap::from([(value, W::one())]) }
    }

    /// These weights as they are, not normalised; those of equal outcomes are added up.
    ///
    /// # Errors
    /// [`Error::Impossible`] if all of them are zero, or there are none.
    pub fn from_weights(pairs: impl IntoIterator<Item = (T, W)>) -> Result<Self> {
        let all = Self::collect(pairs);
        if all.weights.is_empty() { Err(Error::Impossible("a table of weights")) } else { Ok(all) }
    }

    /// The distribution with probabilities in proportion to these numbers, which are taken exactly as they
    /// are.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a number that is negative, infinite or NaN; [`Error::Impossible`] if all are
    /// zero.
    pub fn categorical(pairs: impl IntoIterator<Item = (T, f64)>) -> Result<Self> {
        let weights = pairs.into_iter().map(|(value, weight)| Ok((value, W::from_f64(weight)?)));
        Self::from_weights(weights.collect::<Result<Vec<_>>>()?)?.infer()
    }

    /// All of these values with the same probability.
    ///
    /// # Errors
    /// [`Error::Impossible`] if there are none, [`Error::Repeated`] if one occurs twice.
    pub fn uniform(values: impl IntoIterator<Item = T>) -> Result<Self> {
        let values: Vec<T> = values.into_iter().collect();
        let share = W::ratio(1, values.len().max(1) as u64);
        let mut weights = BTreeMap::new();
        for (number, value) in values.into_iter().enumerate() {
            if weights.insert(value, share.clone()).is_some() {
                return Err(Error::Repeated { what: "the values of a uniform distribution", number });
            }
        }
        if weights.is_empty() {
            Err(Error::Impossible("a uniform distribution"))
        } else {
            Ok(Self { weights })
        }
    }

    /// The distribution of a function of the outcome.
    #[must_use]
    pub fn map<U: Ord>(self, function: impl Fn(T) -> U) -> Dist<U, W> {
        Dist::collect(self.weights.into_iter().map(|(value, weight)| (function(value), weight)))
    }

    /// The distribution of the outcome of a kernel, given each outcome of this one.
    #[must_use]
    pub fn and_then<U: Ord>(&self, kernel: impl Fn(&T) -> Dist<U, W>) -> Dist<U, W> {
        let mut all = Vec::new();
        for (value, weight) in &self.weights {
            let next = kernel(value).weights.into_iter();
            all.extend(next.map(|(outcome, conditional)| (outcome, weight.times(&conditional))));
        }
        Dist::collect(all)
    }

    /// Multiplies the weight of each outcome by the probability that `predicate` is true of it. The result is
    /// not normalised: [`infer`](Self::infer) does that.
    ///
    /// # Errors
    /// [`Error::Unnormalised`] if the predicate's weights do not add up to one.
    pub fn observe(self, predicate: impl Fn(&T) -> Dist<bool, W>) -> Result<Self> {
        let mut weights = Vec::with_capacity(self.weights.len());
        for (value, weight) in self.weights {
            let truth = predicate(&value);
            truth.check_normalised("the predicate of an observation")?;
            weights.push((value, weight.times(&truth.weight(&true))));
        }
        Ok(Self::collect(weights))
    }

    /// The distribution in proportion to the weights.
    ///
    /// # Errors
    /// [`Error::Impossible`] if nothing is left.
    pub fn infer(self) -> Result<Self> {
        let total = self.total();
        let normalised = |(value, weight): (T, W)| weight.over(&total).map(|weight| (value, weight));
        let weights: Option<BTreeMap<T, W>> = self.weights.into_iter().map(normalised).collect();
        match weights {
            Some(weights) if !weights.is_empty() => Ok(Self { weights }),
            _ => Err(Error::Impossible("a distribution after its observations")),
        }
    }

    /// Checks that the weights add up to one, as far as is known.
    pub(super) fn check_normalised(&self, what: &'static str) -> Result<()> {
        let total = self.total();
        let sum = total.value();
        if total == W::one() || (sum.contains(1.0) && sum.width() < 1e-6) {
            return Ok(());
        }
        Err(Error::Unnormalised { what, lower: sum.lower(), upper: sum.upper() })
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> W {
        self.weights.values().fold(W::zero(), |sum, weight| sum.plus(weight))
    }

    /// The weight of an outcome; zero where it is not in the table.
    #[must_use]
    pub fn weight(&self, value: &T) -> W {
        self.weights.get(value).cloned().unwrap_or_else(W::zero)
    }

    /// Outcomes and weights, in the order of the outcomes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&T, &W)> {
        self.weights.iter()
    }

    /// Outcomes in order.
    pub fn outcomes(&self) -> impl ExactSizeIterator<Item = &T> {
        self.weights.keys()
    }

    /// Number of outcomes that have weight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether no outcome has weight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// `Σ w(x) f(x)`: the mean of a function, for a distribution.
    #[must_use]
    pub fn mean(&self, function: impl Fn(&T) -> Interval) -> Interval {
        self.weights.iter().map(|(value, weight)| weight.value() * function(value)).sum()
    }

    /// The same distribution with weights that are intervals of logarithms, for tables that are too large for
    /// exact ones.
    #[must_use]
    pub fn logarithms(&self) -> Dist<T, super::LogInterval>
    where
        T: Clone,
    {
        let log = |(value, weight): (&T, &W)| (value.clone(), super::LogInterval::of(weight));
        Dist { weights: self.weights.iter().map(log).collect() }
    }
}
