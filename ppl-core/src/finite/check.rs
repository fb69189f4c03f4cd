//! The largest log ratio between the probabilities of an outcome at two neighbouring inputs, by enumeration.

use super::neighbours::{DEFAULT_LIMIT, histograms, pairs};
use super::{Adjacency, Dist, Histogram, Interval, Weight, hockey_stick, hockey_stick_at_ratio};
use crate::base::{Error, Result};
use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// What happened: an outcome, or a failure with its message. That a program fails is seen, so it is an
/// outcome like any other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome<O> {
    /// The program's own outcome.
    Value(O),
    /// It failed, with this message.
    Failure(String),
}

/// What the function under check may return: a law, or a `Result` of one.
pub trait IntoLaw {
    /// Outcomes of the law.
    type Outcome: Ord + Clone;
    /// Its weights.
    type Weight: Weight;

    /// The law, with failure as one of its outcomes.
    fn into_law(self) -> Dist<Outcome<Self::Outcome>, Self::Weight>;
}

impl<O: Ord + Clone, W: Weight> IntoLaw for Dist<O, W> {
    type Outcome = O;
    type Weight = W;
    fn into_law(self) -> Dist<Outcome<O>, W> {
        self.map(Outcome::Value)
    }
}

impl<O: Ord + Clone, W: Weight, E: Display> IntoLaw for Result<Dist<O, W>, E> {
    type Outcome = O;
    type Weight = W;
    fn into_law(self) -> Dist<Outcome<O>, W> {
        match self {
            Ok(law) => law.into_law(),
            Err(error) => Dist::point(Outcome::Failure(error.to_string())),
        }
    }
}

/// A check of a law, a distribution of outcomes for each histogram, over all pairs of neighbours.
///
/// ```
/// use ppl_core::finite::{Check, Dist, Histogram, Probability, Rational, ReplaceOne};
///
/// // One record, told truly with probability 3/4.
/// let law = |coins: &Histogram<bool>| -> ppl_core::Result<Dist<bool, Rational>> {
///     let numerator = if coins.count(&true) == 1 { 3 } else { 1 };
///     Ok(Dist::bernoulli(Probability::new(numerator, 4)?))
/// };
/// let loss = Check::new(law).records(1..=1).alphabet([true, false]).neighbours(ReplaceOne).run()?;
/// assert!(loss.epsilon().contains(3.0_f64.ln()) && loss.epsilon().width() < 1e-12);
/// assert_eq!(loss.ratio(), Some(Rational::ratio(3, 1)));
/// assert_eq!(loss.delta_at_ratio(&Rational::ratio(2, 1)), Rational::ratio(1, 4)); // 3/4 − 2 · 1/4
/// assert!((loss.epsilon_at(0.25).upper() - 2.0_f64.ln()).abs() < 1e-8);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub struct Check<T, F, R = ()> {
    law: F,
    records: Option<RangeInclusive<u64>>,
    alphabet: Option<Vec<T>>,
    relation: R,
    limit: u128,
    of: PhantomData<fn(&T)>,
}

impl<T: Ord + Clone, F> Check<T, F, ()> {
    /// Of this law.
    pub fn new<L>(law: F) -> Self
    where
        F: Fn(&Histogram<T>) -> L,
        L: IntoLaw,
    {
        Self { law, records: None, alphabet: None, relation: (), limit: DEFAULT_LIMIT, of: PhantomData }
    }
}

impl<T: Ord + Clone, F, R> Check<T, F, R> {
    /// Over data sets of these numbers of records.
    #[must_use]
    pub fn records(self, records: RangeInclusive<u64>) -> Self {
        Self { records: Some(records), ..self }
    }

    /// Over records with these values.
    #[must_use]
    pub fn alphabet(self, values: impl Into<Vec<T>>) -> Self {
        Self { alphabet: Some(values.into()), ..self }
    }

    /// Another limit on the number of histograms than [`DEFAULT_LIMIT`](super::DEFAULT_LIMIT).
    #[must_use]
    pub fn limit(self, limit: u128) -> Self {
        Self { limit, ..self }
    }

    /// Over neighbours by this relation. Without it a check does not run.
    #[must_use]
    pub fn neighbours<N: Adjacency>(self, relation: N) -> Check<T, F, N> {
        let Self { law, records, alphabet, limit, of, .. } = self;
        Check { law, records, alphabet, relation, limit, of }
    }
}

impl<T: Ord + Clone, F, R: Adjacency> Check<T, F, R> {
    /// Computes the law at every histogram, and compares those of neighbours.
    ///
    /// # Errors
    /// [`Error::Values`] if numbers of records or an alphabet were not stated, or no two data sets are
    /// neighbours, [`Error::Repeated`] for an alphabet with repeats, [`Error::TooMany`] if there are more
    /// histograms than the limit (nothing has been computed then), [`Error::Unnormalised`] if a law's weights
    /// do not add up to one. A law that fails is no error: see [`Outcome::Failure`].
    pub fn run<L>(self) -> Result<Loss<T, L::Outcome, L::Weight>>
    where
        F: Fn(&Histogram<T>) -> L,
        L: IntoLaw,
    {
        let missing = |what| Error::Values(format!("a check needs {what}"));
        let records = self.records.ok_or_else(|| missing("the numbers of records: .records(0..=12)"))?;
        let alphabet = self.alphabet.ok_or_else(|| missing("an alphabet: .alphabet([true, false])"))?;
        let histograms = histograms(alphabet, records, self.limit)?;
        let mut laws = Vec::with_capacity(histograms.len());
        for histogram in &histograms {
            let law = (self.law)(histogram).into_law();
            law.check_normalised("the law of a mechanism")?;
            laws.push(law);
        }
        let pairs = pairs(&histograms, self.relation);
        if pairs.is_empty() {
            return Err(Error::Values(format!(
                "no two of these data sets are neighbours by {}: other numbers of records, or more values, are needed",
                R::NAME
            )));
        }
        let mut loss = Loss {
            epsilon: Interval::ZERO,
            ratio: None,
            witness: None,
            relation: R::NAME,
            histograms,
            laws,
            pairs,
        };
        loss.compare();
        Ok(loss)
    }
}

/// Two neighbours, and the outcome that tells most: its probability at `first` is larger than at `second`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Witness<T, O> {
    /// The data set at which the outcome is more likely.
    pub first: Histogram<T>,
    /// Its neighbour.
    pub second: Histogram<T>,
    /// The outcome.
    pub outcome: Outcome<O>,
}

/// How much a law tells of which of two neighbours it was run on, over all of them.
#[derive(Debug)]
pub struct Loss<T, O: Ord, W> {
    epsilon: Interval,
    ratio: Option<W>,
    witness: Option<Witness<T, O>>,
    relation: &'static str,
    histograms: Vec<Histogram<T>>,
    laws: Vec<Dist<Outcome<O>, W>>,
    pairs: Vec<(u32, u32)>,
}

/// The logarithms of a law's weights, in the order of its outcomes.
type Logs<'a, O> = Vec<(&'a Outcome<O>, Interval)>;

/// An outcome that may be the one that tells most: the places of two neighbours, and its log ratio there.
type Candidate<'a, O> = (usize, usize, &'a Outcome<O>, Interval);

impl<T: Ord + Clone, O: Ord + Clone, W: Weight> Loss<T, O, W> {
    /// Finds the largest log ratio.
    fn compare(&mut self) {
        let logs: Vec<Logs<'_, O>> = (self.laws.iter())
            .map(|law| law.iter().map(|(outcome, weight)| (outcome, weight.ln())).collect())
            .collect();
        let mut candidates: Vec<Candidate<'_, O>> = Vec::new();
        let mut largest = Interval::ZERO;
        for &(i, j) in &self.pairs {
            let (i, j) = (i as usize, j as usize);
            each_ratio(&logs[i], &logs[j], |outcome, ratio| {
                for (i, j, ratio) in [(i, j, ratio), (j, i, -ratio)] {
                    if ratio.upper() > 0.0 && ratio.upper() >= largest.lower() {
                        largest = largest.max(ratio);
                        candidates.push((i, j, outcome, ratio));
                    }
                }
            });
            if candidates.len() > 4096 {
                candidates.retain(|(.., ratio)| ratio.upper() >= largest.lower());
            }
        }
        candidates.retain(|(.., ratio)| ratio.upper() >= largest.lower());
        // Ends may be those of several candidates; the witness is the likeliest of them.
        let found = candidates.iter().max_by(|(.., a), (.., b)| a.estimate().total_cmp(&b.estimate()));
        let found = found.map(|&(i, j, outcome, _)| (i, j, outcome.clone()));
        self.epsilon = largest;
        let Some((i, j, outcome)) = found else {
            self.ratio = Some(W::one());
            return;
        };
        self.ratio = self.laws[i].weight(&outcome).over(&self.laws[j].weight(&outcome));
        self.witness =
            Some(Witness { first: self.histograms[i].clone(), second: self.histograms[j].clone(), outcome });
    }

    /// The largest `ln p/q` over neighbours and outcomes: an interval that contains it, infinite where an
    /// outcome is possible at one neighbour only.
    #[must_use]
    pub fn epsilon(&self) -> Interval {
        self.epsilon
    }

    /// The ratio of the weights at the witness, exactly for rational weights; `None` where it is infinite.
    #[must_use]
    pub fn ratio(&self) -> Option<W> {
        self.ratio.clone()
    }

    /// The neighbours and the outcome that attain it; `None` where no outcome tells neighbours apart.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness<T, O>> {
        self.witness.as_ref()
    }

    /// The relation of the neighbours, in words.
    #[must_use]
    pub fn relation(&self) -> &'static str {
        self.relation
    }

    /// The number of unordered pairs of neighbours that were compared.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The laws and their histograms.
    pub fn laws(&self) -> impl ExactSizeIterator<Item = (&Histogram<T>, &Dist<Outcome<O>, W>)> {
        self.histograms.iter().zip(&self.laws)
    }

    /// The largest `Σ max(0, p − e^ε q)` over neighbours in either order: the least δ for which any event is
    /// at most `e^ε` times as likely at one as at the other, plus δ.
    #[must_use]
    pub fn delta(&self, epsilon: f64) -> Interval {
        let ratio = Interval::exact(epsilon).exp();
        self.over_pairs(|p, q| hockey_stick(ratio, p, q)).fold(Interval::ZERO, Interval::max)
    }

    /// The least ε for which [`delta`](Self::delta) is at most this, to a billionth:
    /// [`epsilon`](Self::epsilon) for 0, and infinite where outcomes that are possible at one neighbour only
    /// are likelier than that.
    #[must_use]
    pub fn epsilon_at(&self, delta: f64) -> Interval {
        if delta.is_nan() || delta <= 0.0 {
            return self.epsilon;
        }
        if self.delta(0.0).upper() <= delta {
            return Interval::ZERO;
        }
        // The least known to be enough, and the most known not to be.
        let bisect = |enough: &dyn Fn(f64) -> bool| {
            let (mut low, mut high) = (0.0, 1.0);
            while !enough(high) {
                if high > 1e3 {
                    return (high, f64::INFINITY);
                }
                (low, high) = (high, 2.0 * high);
            }
            while high - low > 1e-9 * high {
                let middle = 0.5 * (low + high);
                if enough(middle) { high = middle } else { low = middle }
            }
            (low, high)
        };
        let (_, upper) = bisect(&|epsilon| self.delta(epsilon).upper() <= delta);
        let (lower, found) = bisect(&|epsilon| self.delta(epsilon).lower() <= delta);
        match (found == f64::INFINITY, upper == f64::INFINITY) {
            (true, _) => Interval::INFINITE,
            // Where e^ε overflows, only the lower end is known.
            (false, true) => Interval::between(lower, upper),
            (false, false) => Interval::between(lower.min(upper), upper),
        }
    }

    /// The [`delta`](Self::delta) at the ratio `e^ε` itself: exactly, for rational weights.
    #[must_use]
    pub fn delta_at_ratio(&self, ratio: &W) -> W {
        let all = self.over_pairs(|p, q| hockey_stick_at_ratio(ratio, p, q));
        // The larger of two weights is one plus the excess of the other.
        all.fold(W::zero(), |largest, delta| largest.plus(&delta.excess(&largest)))
    }

    fn over_pairs<'a, D>(
        &'a self,
        divergence: impl Fn(&'a Dist<Outcome<O>, W>, &'a Dist<Outcome<O>, W>) -> D + 'a,
    ) -> impl Iterator<Item = D> + 'a {
        let both = self.pairs.iter().flat_map(|&(i, j)| [(i as usize, j as usize), (j as usize, i as usize)]);
        both.map(move |(i, j)| divergence(&self.laws[i], &self.laws[j]))
    }
}

/// Hands out the log ratio of each outcome that either law has, in order.
fn each_ratio<'a, O: Ord>(p: &Logs<'a, O>, q: &Logs<'a, O>, mut take: impl FnMut(&'a Outcome<O>, Interval)) {
    let (mut p, mut q) = (p.iter().peekable(), q.iter().peekable());
    loop {
        let order = match (p.peek(), q.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let one = if order == Ordering::Greater { None } else { p.next() };
        let other = if order == Ordering::Less { None } else { q.next() };
        match (one, other) {
            (Some(&(outcome, one)), Some(&(_, other))) => take(outcome, one - other),
            (Some(&(outcome, _)), None) => take(outcome, Interval::INFINITE),
            (None, Some(&(outcome, _))) => take(outcome, -Interval::INFINITE),
            (None, None) => return,
        }
    }
}
