//! A multiset of events: everything that a run did to the records.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::Event;

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
    pub fn push(&mut self, event: Event, count: u64) {
        if count == 0 {
            return;
        }
        // An equal event joins its line unless the count would overflow; a second line then keeps the sum
        // exact.
        let line = self.entries.iter_mut().find(|e| e.event == event && e.count.checked_add(count).is_some());
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
