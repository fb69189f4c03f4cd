//! How often each value occurs among records: the input of a program that cannot depend on their order.

use crate::base::{Error, Result};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A type with finitely many values.
///
/// ```
/// use ppl_core::finite::{Category, FiniteType};
/// assert_eq!(bool::values(), [false, true]);
/// assert_eq!(Category::<3>::values().len(), 3);
/// ```
pub trait FiniteType: Ord + Clone {
    /// All values, each once and in order.
    fn values() -> Vec<Self>;
}

impl FiniteType for bool {
    fn values() -> Vec<Self> {
        vec![false, true]
    }
}

/// One of `K` categories, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Category<const K: usize>(usize);

impl<const K: usize> Category<K> {
    /// The category with this number.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless it is below `K`.
    pub fn new(number: usize) -> Result<Self> {
        if number < K {
            return Ok(Self(number));
        }
        let (what, requirement) = ("the number of a category", "below the number of categories");
        Err(Error::OutOfRange { what, requirement, value: number as f64 })
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> usize {
        self.0
    }
}

impl<const K: usize> FiniteType for Category<K> {
    fn values() -> Vec<Self> {
        (0..K).map(Self).collect()
    }
}

/// How often each value of an alphabet occurs.
///
/// ```
/// use ppl_core::finite::Histogram;
/// let coins = Histogram::of([true, true, false])?;
/// assert_eq!((coins.count(&true), coins.total()), (2, 3));
/// assert!(Histogram::new(vec!['a', 'b', 'a'], vec![1, 0, 2]).unwrap_err().to_string().contains("number 2"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Histogram<T> {
    alphabet: Arc<[T]>,
    counts: Box<[u64]>,
}

impl<T: Ord> Histogram<T> {
    /// Counts of these values, in the same order.
    ///
    /// # Errors
    /// [`Error::Repeated`] if a value occurs twice in the alphabet, [`Error::Records`] if there is not one
    /// count for each value.
    pub fn new(alphabet: Vec<T>, counts: Vec<u64>) -> Result<Self> {
        check_alphabet(&alphabet)?;
        check_counts(alphabet.len(), &counts)?;
        Ok(Self { alphabet: alphabet.into(), counts: counts.into() })
    }

    /// The counts of some records.
    ///
    /// # Errors
    /// None for a type whose values are listed correctly: [`Error::Repeated`] or [`Error::Records`]
    /// otherwise.
    pub fn of(records: impl IntoIterator<Item = T>) -> Result<Self>
    where
        T: FiniteType,
    {
        let alphabet = T::values();
        let mut counts = vec![0; alphabet.len()];
        for record in records {
            let Some(place) = alphabet.iter().position(|value| *value == record) else {
                return Err(Error::Records("a record is not in the list of values of its type".into()));
            };
            counts[place] += 1;
        }
        Self::new(alphabet, counts)
    }

    /// How often a value occurs; never, where it is not in the alphabet.
    #[must_use]
    pub fn count(&self, value: &T) -> u64 {
        self.alphabet.iter().position(|other| other == value).map_or(0, |place| self.counts[place])
    }
}

impl<T> Histogram<T> {
    /// Other counts of the same alphabet, in the same order.
    ///
    /// # Errors
    /// [`Error::Records`] if there is not one count for each value, or they add up to 2⁶⁴ or more.
    pub fn with_counts(&self, counts: Vec<u64>) -> Result<Self> {
        check_counts(self.alphabet.len(), &counts)?;
        Ok(Self { alphabet: Arc::clone(&self.alphabet), counts: counts.into() })
    }

    pub(super) fn from_parts(alphabet: &Arc<[T]>, counts: Box<[u64]>) -> Self {
        Self { alphabet: Arc::clone(alphabet), counts }
    }

    /// The values, each once.
    #[must_use]
    pub fn alphabet(&self) -> &[T] {
        &self.alphabet
    }

    /// The counts, in the order of the alphabet.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of records.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Values and counts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&T, u64)> {
        self.alphabet.iter().zip(self.counts.iter().copied())
    }
}

/// Checks that there is one count for each value, and that their sum is a number of records.
fn check_counts(values: usize, counts: &[u64]) -> Result<()> {
    if counts.len() != values {
        let told = format!("{} counts do not go with an alphabet of {values} values", counts.len());
        return Err(Error::Records(told));
    }
    match counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count)) {
        Some(_) => Ok(()),
        None => Err(Error::Records("the counts add up to 2^64 or more".into())),
    }
}

/// Checks that an alphabet holds each value once, and something at all.
pub(super) fn check_alphabet<T: Ord>(alphabet: &[T]) -> Result<()> {
    if alphabet.is_empty() {
        let (what, requirement) = ("the number of values of an alphabet", "at least 1");
        return Err(Error::OutOfRange { what, requirement, value: 0.0 });
    }
    let mut seen = BTreeSet::new();
    match alphabet.iter().position(|value| !seen.insert(value)) {
        Some(number) => Err(Error::Repeated { what: "an alphabet", number }),
        None => Ok(()),
    }
}

/// Counts by value, such as `{false: 2, true: 1}`.
impl<T: fmt::Debug> fmt::Debug for Histogram<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
