//! All histograms up to some number of records, and pairs of neighbours among them.

use super::histogram::check_alphabet;
use super::{Divergence, FiniteType, Histogram, Interval, Posterior};
use crate::base::{Error, Result};
use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The most histograms that are enumerated where no other limit is stated.
pub const DEFAULT_LIMIT: u128 = 1_000_000;

/// Which two histograms are neighbours: [`ReplaceOne`] or [`AddRemove`], and nothing else.
pub trait Adjacency: Copy + Debug + Default + sealed::Sealed + 'static {
    /// In words.
    const NAME: &'static str;

    /// The neighbours of these counts, such that going over all counts gives every unordered pair once.
    fn above(self, counts: &[u64]) -> Vec<Box<[u64]>>;
}

/// Two data sets of the same size that differ in one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplaceOne;

/// Two data sets of which one is the other with one more record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddRemove;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ReplaceOne {}
    impl Sealed for super::AddRemove {}
}

impl Adjacency for ReplaceOne {
    const NAME: &'static str = "replace-one";

    fn above(self, counts: &[u64]) -> Vec<Box<[u64]>> {
        let mut all = Vec::new();
        for from in (0..counts.len()).filter(|&from| counts[from] > 0) {
            for to in from + 1..counts.len() {
                let mut moved: Box<[u64]> = counts.into();
                moved[from] -= 1;
                moved[to] += 1;
                all.push(moved);
            }
        }
        all
    }
}

impl Adjacency for AddRemove {
    const NAME: &'static str = "add/remove";

    fn above(self, counts: &[u64]) -> Vec<Box<[u64]>> {
        let more = |to: usize| {
            let mut more: Box<[u64]> = counts.into();
            more[to] = more[to].checked_add(1)?;
            Some(more)
        };
        (0..counts.len()).filter_map(more).collect()
    }
}

/// How many histograms of a number of records in this range there are: `Σ_n C(n + k − 1, k − 1)`.
fn number_of_histograms(records: &RangeInclusive<u64>, values: usize) -> u128 {
    let of = |n: u64| {
        (1..values as u128).try_fold(1_u128, |product, j| Some(product.checked_mul(u128::from(n) + j)? / j))
    };
    // The largest first, so that a range of astronomical size is not walked through.
    let largest = of(*records.end()).unwrap_or(u128::MAX);
    if records.is_empty() {
        return 0;
    }
    if largest > u128::from(u32::MAX) || records.end() - records.start() > u64::from(u32::MAX) {
        return largest.max(u128::from(records.end() - records.start()));
    }
    records.clone().map(|n| of(n).unwrap_or(u128::MAX)).fold(0, u128::saturating_add)
}

/// All histograms of a number of records in a range, over an alphabet.
///
/// # Errors
/// [`Error::Repeated`] or [`Error::OutOfRange`] for an alphabet that repeats a value or has none,
/// [`Error::TooMany`] if there are more than `limit`; then nothing has been enumerated.
pub fn histograms<T: Ord>(
    alphabet: Vec<T>,
    records: RangeInclusive<u64>,
    limit: u128,
) -> Result<Vec<Histogram<T>>> {
    check_alphabet(&alphabet)?;
    let count = number_of_histograms(&records, alphabet.len());
    if count > limit {
        return Err(Error::TooMany { what: "histograms", count, limit });
    }
    let alphabet: Arc<[T]> = alphabet.into();
    let mut all = Vec::with_capacity(count as usize);
    for n in records {
        let mut counts: Box<[u64]> = vec![0; alphabet.len()].into();
        fill(&mut counts, 0, n, &mut |counts| all.push(Histogram::from_parts(&alphabet, counts.into())));
    }
    Ok(all)
}

/// Hands out all ways to divide `left` records among the places from `place` on.
fn fill(counts: &mut [u64], place: usize, left: u64, take: &mut impl FnMut(&[u64])) {
    if place + 1 == counts.len() {
        counts[place] = left;
        take(counts);
        return;
    }
    for here in 0..=left {
        counts[place] = here;
        fill(counts, place + 1, left - here, take);
    }
}

/// Unordered pairs of neighbours among these histograms, by their places.
pub(super) fn pairs<T>(histograms: &[Histogram<T>], relation: impl Adjacency) -> Vec<(u32, u32)> {
    let places: HashMap<&[u64], u32> =
        histograms.iter().zip(0..).map(|(histogram, place)| (histogram.counts(), place)).collect();
    let mut all = Vec::new();
    for (histogram, place) in histograms.iter().zip(0..) {
        let above = relation.above(histogram.counts());
        all.extend(above.iter().filter_map(|counts| Some((place, *places.get(&counts[..])?))));
    }
    all
}

/// Neighbouring data sets of up to `records` records over all values of a type.
///
/// ```
/// use ppl_core::finite::{Beta, Conjugate, Hellinger, Histogram, ReplaceOne, neighbours};
///
/// let prior = Beta::new(1.0, 1.0)?;
/// let posterior = |coins: &Histogram<bool>| prior.observe_all(coins);
/// let worst = neighbours(20, ReplaceOne).worst::<Hellinger, _>(posterior)?;
/// assert!((worst.value().upper() - 0.46325).abs() < 1e-5);
/// let (one, other) = worst.witness().unwrap();
/// assert_eq!((one.total(), other.total()), (1, 1));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[must_use]
pub fn neighbours<T: FiniteType, R: Adjacency>(records: u64, relation: R) -> Neighbours<T, R> {
    Neighbours::over(T::values(), 0..=records, relation)
}

/// Neighbouring data sets of numbers of records in a range, over an alphabet: made by [`neighbours`], or by
/// [`over`](Self::over).
#[derive(Clone, Debug)]
pub struct Neighbours<T, R> {
    alphabet: Vec<T>,
    records: RangeInclusive<u64>,
    relation: R,
    limit: u128,
}

/// What a function of a histogram may return where a posterior is wanted: a [`Posterior`], or a `Result` of
/// one.
pub trait IntoPosterior {
    /// The posterior.
    type Posterior: Posterior;

    /// The posterior, or what went wrong in words.
    ///
    /// # Errors
    /// Those of the function that computed it.
    fn into_posterior(self) -> Result<Self::Posterior, String>;
}

impl<P: Posterior> IntoPosterior for P {
    type Posterior = P;
    fn into_posterior(self) -> Result<P, String> {
        Ok(self)
    }
}

impl<P: Posterior, E: Display> IntoPosterior for Result<P, E> {
    type Posterior = P;
    fn into_posterior(self) -> Result<P, String> {
        self.map_err(|error| error.to_string())
    }
}

impl<T: Ord + Clone, R: Adjacency> Neighbours<T, R> {
    /// Of records with these values, in these numbers: `0..=20`, or `20..=20` for data sets of that size
    /// alone.
    #[must_use]
    pub fn over(alphabet: impl Into<Vec<T>>, records: RangeInclusive<u64>, relation: R) -> Self {
        Self { alphabet: alphabet.into(), records, relation, limit: DEFAULT_LIMIT }
    }

    /// Another limit on the number of histograms than [`DEFAULT_LIMIT`].
    #[must_use]
    pub fn limit(self, limit: u128) -> Self {
        Self { limit, ..self }
    }

    /// The largest divergence between the values of a function at two neighbours, in either order.
    ///
    /// A function that fails on one of two neighbours and not on the other has an infinite divergence there:
    /// that it failed tells them apart. Failures with the same message are equal.
    ///
    /// # Errors
    /// [`Error::TooMany`] if there are more histograms than the limit; [`Error::Repeated`] or
    /// [`Error::OutOfRange`] for an alphabet that repeats a value or has none.
    pub fn worst<D, P>(self, function: impl Fn(&Histogram<T>) -> P) -> Result<Worst<T, R, D>>
    where
        P: IntoPosterior,
        D: Divergence<P::Posterior>,
    {
        let values_of_records = self.alphabet.len();
        let all = histograms(self.alphabet, self.records.clone(), self.limit)?;
        let values: Vec<_> = all.iter().map(|histogram| function(histogram).into_posterior()).collect();
        let (mut value, mut attained, mut witness) = (Interval::ZERO, f64::NEG_INFINITY, None);
        for (i, j) in pairs(&all, self.relation) {
            for (i, j) in [(i as usize, j as usize), (j as usize, i as usize)] {
                let divergence = match (&values[i], &values[j]) {
                    (Ok(p), Ok(q)) => D::between(p, q),
                    (Err(p), Err(q)) if p == q => Interval::ZERO,
                    _ => Interval::INFINITE,
                };
                if divergence.estimate() > attained {
                    attained = divergence.estimate();
                    witness = Some((all[i].clone(), all[j].clone()));
                }
                value = value.max(divergence);
            }
        }
        Ok(Worst { value, witness, records: self.records, values: values_of_records, of: PhantomData })
    }
}

/// The largest divergence `D` over all pairs of neighbours by `R`, and a pair that attains it.
pub struct Worst<T, R, D> {
    value: Interval,
    witness: Option<(Histogram<T>, Histogram<T>)>,
    records: RangeInclusive<u64>,
    values: usize,
    of: PhantomData<fn(R, D)>,
}

impl<T, R: Adjacency, D> Worst<T, R, D> {
    /// The divergence.
    #[must_use]
    pub fn value(&self) -> Interval {
        self.value
    }

    /// The pair; `None` where there are no neighbours.
    #[must_use]
    pub fn witness(&self) -> Option<(&Histogram<T>, &Histogram<T>)> {
        self.witness.as_ref().map(|(one, other)| (one, other))
    }

    /// The numbers of records of which all histograms have been looked at. Of others nothing is known.
    #[must_use]
    pub fn records(&self) -> RangeInclusive<u64> {
        self.records.clone()
    }

    /// How many values the records' alphabet had.
    #[must_use]
    pub fn values(&self) -> usize {
        self.values
    }
}

impl<T: Debug, R: Adjacency, D> Debug for Worst<T, R, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Worst");
        shown.field("relation", &R::NAME).field("records", &self.records);
        shown.field("value", &self.value).field("witness", &self.witness).finish()
    }
}
