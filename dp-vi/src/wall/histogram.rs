//! The wall's door for mechanisms on histograms: one draw from a law, for a receipt of its event.

use crate::error::{Error, Result};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Receipt, Relation};
use ppl_core::Records;
use ppl_core::finite::Histogram;

impl<T: Ord + Clone> Sensitive<Histogram<T>> {
    /// The values that records may have: public.
    ///
    /// ```
    /// use dp_vi::Sensitive;
    /// use ppl_core::finite::Histogram;
    /// let coins = Sensitive::new(Histogram::of([true, false, true])?);
    /// assert_eq!(coins.alphabet(), [false, true]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn alphabet(&self) -> &[T] {
        self.behind_the_wall().alphabet()
    }

    /// The number of records, where neighbours have the same number and it is public.
    pub(crate) fn public_total(&self, relation: Relation) -> Option<u64> {
        match relation {
            Relation::ReplaceOne => Some(self.behind_the_wall().total()),
            Relation::AddRemove => None,
        }
    }

    /// One draw from a mechanism's law at the counts, for a receipt of one release of its event.
    ///
    /// `draw` has to be the sampler of that mechanism, whose law is such that the event covers it.
    pub(crate) fn draw_once<O>(
        &self,
        (receipt, event): (Receipt, Event),
        draw: impl FnOnce(&Histogram<T>) -> Result<O>,
    ) -> Result<O> {
        match receipt.is_for(event, 1) {
            true => draw(self.behind_the_wall()),
            false => Err(Error::Conflict("the receipt is not for one release of this event")),
        }
    }
}

impl Sensitive<Records> {
    /// How often each value of a column of single numbers occurs, still behind the wall. The list of values
    /// is public and must not be made from the data.
    ///
    /// ```
    /// use dp_vi::Sensitive;
    /// use ppl_core::Records;
    /// let people = Sensitive::new(Records::from_columns([("smokes", vec![0.0, 1.0, 1.0])])?);
    /// let smokers = people.histogram("smokes", &[(0.0, false), (1.0, true)])?;
    /// assert_eq!(smokers.alphabet(), [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such column of single numbers, a value of the list occurs twice, or a record has a
    /// value that is not in the list. Which record it is, and its value, are not said.
    pub fn histogram<T: Ord + Clone>(
        &self,
        column: &str,
        values: &[(f64, T)],
    ) -> Result<Sensitive<Histogram<T>>> {
        let places: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
        // The last number counts what is in no list.
        let count = |value: f64, sums: &mut [i128]| {
            sums[places.iter().position(|&place| place == value).unwrap_or(places.len())] += 1;
        };
        let sums = self.sums_of_column((column, 0), places.len() + 1, count)?;
        let (counts, unlisted) = sums.into_counts();
        if unlisted > 0 {
            return Err(Error::NotListed { column: column.to_owned() });
        }
        let alphabet = values.iter().map(|(_, value)| value.clone()).collect();
        Ok(Sensitive::new(Histogram::new(alphabet, counts)?))
    }
}
