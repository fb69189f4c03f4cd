//! A multiset of events: everything that a run did to the records.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::Event;

/// A multiset of events, in which order plays no role.
///
/// # Privacy
/// Events compose adaptively: each may depend on the outcomes of those before it, as long as its parameters are
/// the ones listed.
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
        // An equal event joins its line unless the count would overflow; a second line then keeps the sum exact.
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
    use crate::{Accountant, Mechanism, Relation, Sampling};

    fn gaussian(noise_multiplier: f64, sampling: Sampling) -> Event {
        Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("valid")
    }

    #[test]
    fn only_equal_events_share_a_line() {
        let events = [
            gaussian(1.0, Sampling::None),
            gaussian(1.0, Sampling::Poisson { rate: 0.5 }),
            gaussian(1.0, Sampling::Poisson { rate: 0.25 }),
            gaussian(1.0, Sampling::WithoutReplacement { batch: 1, records: 2 }),
            gaussian(1.0, Sampling::WithReplacement { batch: 1, records: 2 }),
            gaussian(1.0f64.next_up(), Sampling::None),
            Event::new(Mechanism::Laplace { scale: 1.0 }, Sampling::None).expect("valid"),
        ];
        let mut composition = Composition::new();
        for count in [2, 3] {
            composition.extend(events.iter().map(|event| (*event, count)));
        }
        let lines: Vec<_> = composition.iter().collect();
        assert_eq!(lines, events.map(|event| (event, 5)));
    }

    #[test]
    fn counts_beyond_the_largest_number_are_not_lost() {
        let event = gaussian(1.0, Sampling::None);
        let mut composition = Composition::single(event, u64::MAX - 1);
        composition.push(event, 1);
        composition.push(event, 7);
        composition.push(event, u64::MAX);
        let total: u128 = composition.iter().map(|(_, count)| u128::from(count)).sum();
        assert_eq!(total, 2 * u128::from(u64::MAX) + 7, "{composition:?}");
        assert!(composition.iter().all(|(line, _)| line == event));
        // What costs twice as much is seen to: epsilon at this noise grows like the square root of the count and faster.
        let loud = gaussian(1e9, Sampling::None);
        let cost = |composition: &Composition| {
            Accountant::new(Relation::AddRemove).with(composition).epsilon(1e-5).expect("an answer")
        };
        let once = Composition::single(loud, u64::MAX);
        let mut twice = once.clone();
        twice.push(loud, u64::MAX);
        assert!(cost(&twice).lower > 1.4 * cost(&once).upper);
    }

    #[test]
    fn what_is_composed_adds_to_what_was() {
        let (first, second) = (gaussian(9.0, Sampling::None), gaussian(9.0, Sampling::Poisson { rate: 0.5 }));
        let both =
            Accountant::new(Relation::AddRemove).compose(first, 2).with(&Composition::single(second, 3));
        assert_eq!(both.composition().iter().collect::<Vec<_>>(), [(first, 2), (second, 3)]);
        let again = both.compose(first, 1).with(&Composition::single(second, 1));
        assert_eq!(again.composition().iter().collect::<Vec<_>>(), [(first, 3), (second, 4)]);
    }
}
