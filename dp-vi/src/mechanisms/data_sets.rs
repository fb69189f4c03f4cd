//! The data sets that a mechanism is prepared for.

use crate::error::{Error, Result};
use crate::sensitive_value::{Private, RelationOf};
use dp_accountant::Relation;
use ppl_core::finite::{AddRemove, Adjacency, Check, Dist, Histogram, Loss, ReplaceOne, Weight, histograms};
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// All data sets that a mechanism is prepared for: public, and finitely many.
///
/// | relation | data sets |
/// |---|---|
/// | replace-one | all histograms of a public number of records |
/// | add/remove | all histograms whose counts are at most a public number; in any other, larger counts are clamped to it |
///
/// Clamping each count takes neighbours by add/remove to neighbours, or to the same data set: so what is
/// proven of neighbours among the clamped data sets holds for any number of records.
///
/// ```
/// use dp_vi::mechanisms::DataSets;
/// assert_eq!(DataSets::of_records(&[true, false], 5).all(100)?.len(), 6);
/// assert_eq!(DataSets::with_counts_up_to(&[true, false], 5).all(100)?.len(), 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataSets<T> {
    alphabet: Vec<T>,
    /// The number of records, or the largest count.
    number: u64,
    relation: Relation,
}

impl<T: Ord + Clone> DataSets<T> {
    /// Of a public number of records with these values, for replace-one.
    #[must_use]
    pub fn of_records(alphabet: &[T], records: u64) -> Self {
        Self { alphabet: alphabet.to_vec(), number: records, relation: Relation::ReplaceOne }
    }

    /// Of any number of records with these values, each count at most a public number, for add/remove.
    #[must_use]
    pub fn with_counts_up_to(alphabet: &[T], most: u64) -> Self {
        Self { alphabet: alphabet.to_vec(), number: most, relation: Relation::AddRemove }
    }

    /// The relation of neighbours.
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The values of records.
    #[must_use]
    pub fn alphabet(&self) -> &[T] {
        &self.alphabet
    }

    /// The public number of records (replace-one), or the largest count (add/remove).
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The numbers of records that they have.
    #[must_use]
    pub fn totals(&self) -> RangeInclusive<u64> {
        match self.relation {
            Relation::ReplaceOne => self.number..=self.number,
            Relation::AddRemove => 0..=self.number.saturating_mul(self.alphabet.len() as u64),
        }
    }

    /// All of them.
    ///
    /// # Errors
    /// [`ppl_core::Error::TooMany`] if there are more than `limit`, and an alphabet that repeats a value or
    /// has none.
    pub fn all(&self, limit: u128) -> Result<Vec<Histogram<T>>> {
        if self.relation == Relation::ReplaceOne {
            return Ok(histograms(self.alphabet.clone(), self.totals(), limit)?);
        }
        let each = u128::from(self.number) + 1;
        let count = self.alphabet.iter().fold(1_u128, |product, _| product.saturating_mul(each));
        if count > limit {
            return Err(ppl_core::Error::TooMany { what: "histograms", count, limit }.into());
        }
        let none = Histogram::new(self.alphabet.clone(), vec![0; self.alphabet.len()])?;
        let mut all = Vec::with_capacity(count as usize);
        let mut counts = none.counts().to_vec();
        for _ in 0..count {
            all.push(none.with_counts(counts.clone())?);
            for count in counts.iter_mut().rev() {
                if *count < self.number {
                    *count += 1;
                    break;
                }
                *count = 0;
            }
        }
        Ok(all)
    }

    /// A data set as a mechanism sees it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it has another alphabet or, under replace-one, another number of records.
    pub fn seen(&self, data: &Histogram<T>) -> Result<Histogram<T>> {
        let records = (self.relation == Relation::ReplaceOne).then_some(self.number);
        super::check_histogram(data, self.alphabet.len(), records)?;
        match self.relation {
            Relation::ReplaceOne => Ok(data.clone()),
            Relation::AddRemove => {
                let clamped = data.counts().iter().map(|&count| count.min(self.number)).collect();
                Ok(data.with_counts(clamped)?)
            }
        }
    }

    /// Unordered pairs of neighbours among all of them, by their places.
    pub(super) fn pairs(&self, all: &[Histogram<T>]) -> Vec<(usize, usize)> {
        let places: HashMap<&[u64], usize> =
            all.iter().enumerate().map(|(place, data)| (data.counts(), place)).collect();
        let mut pairs = Vec::new();
        for (place, data) in all.iter().enumerate() {
            let above = match self.relation {
                Relation::ReplaceOne => ReplaceOne.above(data.counts()),
                Relation::AddRemove => AddRemove.above(data.counts()),
            };
            pairs.extend(above.iter().filter_map(|counts| Some((place, *places.get(&counts[..])?))));
        }
        pairs
    }

    /// The loss of a law over all neighbours among them.
    pub(super) fn check<O, W, E>(
        &self,
        law: impl Fn(&Histogram<T>) -> Result<Dist<O, W>, E>,
    ) -> Result<Loss<T, O, W>>
    where
        O: Ord + Clone,
        W: Weight,
        E: Display,
    {
        let check = Check::new(law).records(self.totals()).alphabet(self.alphabet.clone());
        Ok(match self.relation {
            Relation::ReplaceOne => check.neighbours(ReplaceOne).run()?,
            Relation::AddRemove => check.neighbours(AddRemove).run()?,
        })
    }
}

impl<T: Ord + Clone, F> Private<'_, T, F> {
    /// The data sets that a mechanism is prepared for.
    pub(super) fn data_sets<R: RelationOf>(&self) -> Result<DataSets<T>> {
        let alphabet = self.records().alphabet();
        match (self.records().public_total(R::RELATION), self.most()) {
            (Some(records), _) => Ok(DataSets::of_records(alphabet, records)),
            (None, Some(most)) => Ok(DataSets::with_counts_up_to(alphabet, most)),
            (None, None) => Err(Error::Missing {
                what: "the largest count",
                why: "under add/remove the number of records is secret, and counts are clamped: Private::at_most(…), from \
                      public knowledge",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clamping takes neighbours to neighbours or to the same, whatever the counts.
    #[test]
    fn clamping_keeps_neighbours() {
        let sets = DataSets::with_counts_up_to(&['a', 'b', 'c'], 3);
        let all = sets.all(64).unwrap();
        let pairs: std::collections::BTreeSet<(usize, usize)> = sets.pairs(&all).into_iter().collect();
        let place = |data: &Histogram<char>| {
            let seen = sets.seen(data).unwrap();
            all.iter().position(|other| *other == seen).unwrap()
        };
        for data in histograms(vec!['a', 'b', 'c'], 0..=9, 1000).unwrap() {
            for counts in AddRemove.above(data.counts()) {
                let (one, other) = (place(&data), place(&data.with_counts(counts.into()).unwrap()));
                assert!(one == other || pairs.contains(&(one, other)), "{data:?}");
            }
        }
        assert!(sets.all(63).unwrap_err().to_string().contains("64 histograms, and the limit is 63"));
        assert!(DataSets::with_counts_up_to(&['a', 'a'], 1).all(9).is_err());
        let huge = DataSets::with_counts_up_to(&[0; 200], u64::MAX);
        assert!(huge.all(1000).is_err());
    }
}
