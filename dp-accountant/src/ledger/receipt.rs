//! The proof that a debit was made, which a mechanism consumes.

use super::Ledger;
use crate::{Composition, Error, Event, Result};

/// Proof that uses of events have been debited from a ledger.
///
/// A debit makes one, and it can be neither copied nor cloned. A mechanism that takes receipts by value, one for each
/// release, therefore makes no release without one and none twice with the same: such a program does not compile. What
/// the compiler does not see is which ledger was debited: a clone of a ledger, a file that was only
/// [read](crate::FileLedger::read), and [`reissue`](crate::Ledger::reissue), which is for runs that go on, make
/// receipts, too.
///
/// ```
/// use dp_accountant::{Budget, Event, Ledger, Mechanism, Receipt, Relation, Sampling};
///
/// /// A mechanism: it releases only for a receipt of its own event.
/// fn release(receipt: Receipt, event: Event) -> f64 {
///     assert!(receipt.is_for(event, 1));
///     0.25 // a noisy number
/// }
///
/// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
/// let mut receipt = ledger.debit(event, 3)?;
/// let first = receipt.take(event, 1).expect("three uses were debited");
/// release(first, event);
/// assert!(receipt.is_for(event, 2));
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// A receipt cannot be used twice:
///
/// ```compile_fail,E0382
/// # use dp_accountant::{Budget, Event, Ledger, Mechanism, Receipt, Relation, Sampling};
/// # fn release(receipt: Receipt) {}
/// # let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove }).unwrap();
/// # let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None).unwrap();
/// let receipt = ledger.debit(event, 1).unwrap();
/// release(receipt);
/// release(receipt);
/// ```
#[derive(Debug, PartialEq)]
pub struct Receipt {
    debited: Composition,
}

impl Receipt {
    pub(super) fn for_debit(debit: &Composition) -> Self {
        Self { debited: debit.clone() }
    }

    /// The events it is for, with their counts.
    #[must_use]
    pub fn debited(&self) -> &Composition {
        &self.debited
    }

    /// Whether it is for exactly this number of uses of this event, and for nothing else.
    #[must_use]
    pub fn is_for(&self, event: Event, count: u64) -> bool {
        self.debited == Composition::single(event, count)
    }

    /// Splits off `count` uses of an event; `None`, and nothing changes, if there are fewer.
    #[must_use]
    pub fn take(&mut self, event: Event, count: u64) -> Option<Self> {
        let mut left = Composition::new();
        let mut wanted = count;
        for (other, uses) in self.debited.iter() {
            let taken = if other == event { uses.min(wanted) } else { 0 };
            wanted -= taken;
            left.push(other, uses - taken);
        }
        (wanted == 0).then(|| {
            self.debited = left;
            Self { debited: Composition::single(event, count) }
        })
    }
}

impl Ledger {
    /// A receipt for uses that were debited from this ledger before: for a run that was interrupted between
    /// its payment and its releases and is resumed by another process.
    ///
    /// # Privacy
    /// The receipt that was given for the debit must have been lost with its process. A run that is resumed
    /// twice from the same state makes the same releases with the same random words, and the same release
    /// twice tells no more than once. For anything else make a new debit.
    ///
    /// # Errors
    /// [`Error::NotDebited`] if the ledger has fewer uses of one of the events.
    ///
    /// ```
    /// use dp_accountant::{Budget, Composition, Error, Event, Ledger, Mechanism, Relation, Sampling};
    ///
    /// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
    /// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
    /// ledger.debit(event, 3)?;
    /// assert!(ledger.reissue(&Composition::single(event, 2))?.is_for(event, 2));
    /// let refused = ledger.reissue(&Composition::single(event, 4));
    /// assert!(matches!(refused, Err(Error::NotDebited { recorded: 3, wanted: 4, .. })));
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn reissue(&self, debited: &Composition) -> Result<Receipt> {
        let uses = |all: &Composition, event: Event| {
            let same = all.iter().filter(|(other, _)| *other == event);
            same.fold(0_u64, |sum, (_, count)| sum.saturating_add(count))
        };
        for (event, _) in debited.iter() {
            let (recorded, wanted) = (uses(&self.events, event), uses(debited, event));
            if recorded < wanted {
                return Err(Error::NotDebited { recorded, wanted, event });
            }
        }
        Ok(Receipt::for_debit(debited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Mechanism, Relation, Sampling};

    fn gaussian(noise_multiplier: f64) -> Event {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
    }

    #[test]
    fn what_is_taken_and_what_is_left_are_what_was_debited() {
        let mut ledger =
            Ledger::new(Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove }).expect("valid");
        let (one, other) = (gaussian(20.0), gaussian(30.0));
        let mut both = Composition::single(one, 3);
        both.push(other, 1);
        let mut receipt = ledger.debit_all(&both).expect("affordable");
        assert_eq!(receipt.debited(), &both);
        assert_eq!(receipt.take(one, 4), None);
        assert_eq!(receipt.take(gaussian(40.0), 1), None);
        assert_eq!(receipt.debited(), &both);
        assert!(receipt.take(one, 2).expect("three").is_for(one, 2));
        assert!(!receipt.is_for(one, 1));
        assert!(receipt.take(other, 1).expect("one").is_for(other, 1));
        assert!(receipt.is_for(one, 1) && receipt.take(other, 1).is_none());
        assert!(receipt.take(one, 1).is_some() && receipt.debited().is_empty());
        // A debit that was refused makes none, and one of nothing is for nothing.
        assert!(ledger.debit(gaussian(0.01), 1).is_err());
        assert!(ledger.debit(one, 0).expect("nothing").debited().is_empty());
    }

    #[test]
    fn a_receipt_is_issued_again_for_no_more_than_was_debited() {
        let mut ledger =
            Ledger::new(Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove }).expect("valid");
        let (one, other, never) = (gaussian(20.0), gaussian(30.0), gaussian(40.0));
        // Uses of an event count together, whichever debits they are of.
        for (event, count) in [(one, 2), (other, 1), (one, 1)] {
            ledger.debit(event, count).expect("affordable");
        }
        let of = |ones: u64, others: u64| {
            let mut both = Composition::single(one, ones);
            both.push(other, others);
            both
        };
        let again = ledger.reissue(&of(3, 1)).expect("debited");
        assert_eq!(again.debited(), &of(3, 1));
        assert!(ledger.reissue(&Composition::single(one, 2)).expect("debited").is_for(one, 2));
        for (wanted, recorded, most, event) in
            [(of(4, 1), 3, 4, one), (of(3, 2), 1, 2, other), (Composition::single(never, 1), 0, 1, never)]
        {
            assert_eq!(ledger.reissue(&wanted), Err(Error::NotDebited { recorded, wanted: most, event }));
        }
        assert_eq!(ledger.debits().len(), 3);
    }
}
