//! Epsilon over time: what the debits up to each point cost.

use super::Ledger;
use crate::{Accountant, Certified, Composition, Event, Result};

/// Where an account stood after some of its debits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// How many debits had been begun; the last one may have been partly carried out.
    pub debits: usize,
    /// How many events had happened, all debits together.
    pub events: u64,
    /// What these events cost at the budget's delta.
    pub epsilon: Certified,
}

/// The readings of a ledger, one after the other, each computed when it is asked for.
///
/// # Privacy
/// The reading after k events is the exact price of *those* k events with parameters fixed in advance: a true
/// statement about what had been released by then. It is not an odometer in the sense of Rogers and others
/// (2016), whose readings hold all at once for parameters that are chosen along the way. In particular, if
/// outputs decide when to stop, the guarantee for the whole is that of the longest run that was possible,
/// which the budget bounds, and not the reading at which it happened to stop.
///
/// ```
/// use dp_accountant::{Budget, Event, Ledger, Mechanism, Relation, Sampling};
///
/// let mut ledger = Ledger::new(Budget { epsilon: 3.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 8.0 }, Sampling::None)?;
/// ledger.debit(release, 10)?;
/// ledger.debit(release, 5)?;
/// let after_each: Vec<u64> = ledger.odometer().map(|r| Ok(r?.events)).collect::<dp_accountant::Result<_>>()?;
/// assert_eq!(after_each, [10, 15]);
/// let in_blocks: Vec<u64> = ledger.odometer_every(4).map(|r| Ok(r?.events)).collect::<dp_accountant::Result<_>>()?;
/// assert_eq!(in_blocks, [4, 8, 10, 14, 15]);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Odometer<'l> {
    ledger: &'l Ledger,
    block: u64,
    so_far: Composition,
    events: u64,
    debits: usize,
    /// What is left of the debit that has been begun, last event first.
    rest: Vec<(Event, u64)>,
}

impl Ledger {
    /// Epsilon after each debit.
    #[must_use]
    pub fn odometer(&self) -> Odometer<'_> {
        self.odometer_every(u64::MAX)
    }

    /// Epsilon after each block of `block` events of a debit, and at the end of each debit. A block of zero
    /// is taken as one. A block that ends within an epoch of a shuffled run has no price, and its reading is
    /// an error.
    #[must_use]
    pub fn odometer_every(&self, block: u64) -> Odometer<'_> {
        let block = block.max(1);
        Odometer { ledger: self, block, so_far: Composition::new(), events: 0, debits: 0, rest: Vec::new() }
    }
}

impl Iterator for Odometer<'_> {
    type Item = Result<Reading>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            let debit = self.ledger.debits.get(self.debits)?;
            self.debits += 1;
            self.rest = debit.iter().collect();
            self.rest.reverse();
        }
        let mut room = self.block;
        while room > 0 {
            let Some((event, left)) = self.rest.pop() else { break };
            let used = left.min(room);
            self.so_far.push(event, used);
            self.events = self.events.saturating_add(used);
            room -= used;
            if used < left {
                self.rest.push((event, left - used));
            }
        }
        let budget = &self.ledger.budget;
        let at_the_end = self.rest.is_empty() && self.debits == self.ledger.debits.len();
        let epsilon = if at_the_end {
            self.ledger.spent()
        } else {
            Accountant::new(budget.relation).with(&self.so_far).epsilon(budget.delta)
        };
        Some(epsilon.map(|epsilon| Reading { debits: self.debits, events: self.events, epsilon }))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Accountant, Budget, Composition, Event, Ledger, Mechanism, Relation, Sampling};

    #[test]
    fn readings_are_prices_of_prefixes() {
        let budget = Budget { epsilon: 4.0, delta: 1e-6, relation: Relation::ReplaceOne };
        let event = |noise_multiplier| {
            Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
        };
        let mut ledger = Ledger::new(budget).expect("valid");
        assert!(ledger.odometer().next().is_none());
        let mut both = Composition::single(event(50.0), 3);
        both.push(event(40.0), 4);
        ledger.debit_all(&both).expect("affordable");
        ledger.debit(event(60.0), 2).expect("affordable");
        let readings: Vec<_> = ledger.odometer_every(2).map(|reading| reading.expect("an answer")).collect();
        assert_eq!(
            readings.iter().map(|r| (r.debits, r.events)).collect::<Vec<_>>(),
            [(1, 2), (1, 4), (1, 6), (1, 7), (2, 9)]
        );
        let counts = [(2, 0, 0), (3, 1, 0), (3, 3, 0), (3, 4, 0), (3, 4, 2)];
        for (reading, (first, second, third)) in readings.iter().zip(counts) {
            let prefix = Accountant::new(Relation::ReplaceOne)
                .compose(event(50.0), first)
                .compose(event(40.0), second)
                .compose(event(60.0), third);
            assert_eq!(reading.epsilon, prefix.epsilon(1e-6).expect("an answer"));
        }
        assert!(readings.windows(2).all(|pair| pair[0].epsilon.lower <= pair[1].epsilon.upper));
        assert_eq!(ledger.odometer().count(), 2);
        assert_eq!(ledger.odometer_every(0).count(), 9);
    }
}
