//! A multiset of events: everything that a run did to the records.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::{Event, Sampling};

/// A multiset of events, in which order plays no role.
///
/// # Privacy
/// Events compose adaptively: each may depend on the outcomes of those before it, as long as its parameters
/// are the ones listed.
///
/// ```
/// use dp_accountant::{Composition, Event, Mechanism, Sampling};
///
/// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// let mut run = Composition::single(event, 600);
/// run.push(event, 400);
/// assert_eq!(run, Composition::single(event, 1_000));
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Composition {
    entries: Vec<Entry>,
}

/// One line of a composition: an event and how often it happened.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
struct Entry {
    event: Event,
    count: u64,
}

impl Composition {
    /// A composition of nothing, which costs nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// `count` times the same event.
    pub fn single(event: Event, count: u64) -> Self {
        let mut composition = Self::new();
        composition.push(event, count);
        composition
    }

    /// Adds `count` more of an event.
    ///
    /// Steps on [shuffled](Sampling::Shuffle) records are added up where they are whole epochs. Parts of epochs stand
    /// by themselves, for nothing says that two of them are of one order: from two orders they cost as much as two
    /// epochs. The accountant refuses such a part, so a run is pushed by whole epochs.
    pub fn push(&mut self, event: Event, count: u64) {
        if count == 0 {
            return;
        }
        let is_whole = |count: u64| match event.sampling() {
            Sampling::Shuffle { batch, records } => count.is_multiple_of(records.div_ceil(batch)),
            _ => true,
        };
        // An equal event joins its line unless the count would overflow; a second line then keeps the sum
        // exact.
        let line = self.entries.iter_mut().find(|entry| {
            entry.event == event
                && is_whole(count)
                && is_whole(entry.count)
                && entry.count.checked_add(count).is_some()
        });
        match line {
            Some(entry) => entry.count += count,
            None => self.entries.push(Entry { event, count }),
        }
    }

    /// The distinct events with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        self.entries.iter().map(|entry| (entry.event, entry.count))
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.count == 0)
    }
}

impl Extend<(Event, u64)> for Composition {
    fn extend<I: IntoIterator<Item = (Event, u64)>>(&mut self, events: I) {
        for (event, count) in events {
            self.push(event, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mechanism, Sampling};

    /// Halves of two epochs are two epochs, and looked like one.
    #[test]
    fn parts_of_epochs_are_not_added_up() {
        let shuffled = Sampling::Shuffle { batch: 10, records: 100 };
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 4.0 }, shuffled).expect("valid");
        let mut halves = Composition::single(event, 5);
        halves.push(event, 5);
        assert_eq!(halves.iter().map(|(_, count)| count).collect::<Vec<_>>(), [5, 5]);
        let replaced = crate::Relation::ReplaceOne;
        let told = crate::Accountant::new(replaced).with(&halves).epsilon(1e-5);
        assert!(matches!(told, Err(crate::Error::PartOfEpoch { steps: 5, .. })), "{told:?}");
        halves.push(event, 10);
        halves.push(event, 20);
        assert_eq!(halves.iter().map(|(_, count)| count).collect::<Vec<_>>(), [5, 5, 30]);
    }

    #[test]
    fn counts_do_not_overflow_and_none_is_lost() {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None).expect("valid");
        let mut composition = Composition::single(event, u64::MAX - 1);
        for count in [1, 1, 5, u64::MAX] {
            composition.push(event, count);
        }
        let sum: u128 = composition.iter().map(|(_, count)| u128::from(count)).sum();
        assert_eq!(sum, 2 * u128::from(u64::MAX) + 6);
    }
}
