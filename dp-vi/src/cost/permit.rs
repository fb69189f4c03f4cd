//! The right to make a release.

use crate::error::{Error, Result};
use dp_accountant::{Event, Receipt};

/// The rights to make the next releases of one mechanism, which have been debited from a ledger: an iterator
/// of [`Permit`]s.
///
/// Only [`PrivateGradient::pay`](crate::PrivateGradient::pay) makes them.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "releases that have been paid for are made with these"]
pub struct Permits {
    mechanism: u64,
    next: u64,
    end: u64,
}

/// The right to make one release of one mechanism: that of a certain number, which chooses its batch and its
/// noise.
///
/// A permit is consumed by the release and cannot be cloned, so that no release is made without one, and none
/// twice.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    mechanism: u64,
    number: u64,
}

impl Permits {
    /// None yet, of the mechanism with this number.
    pub(crate) fn none(mechanism: u64) -> Self {
        Self { mechanism, next: 0, end: 0 }
    }

    /// Those of releases from number `from` up to `until`, for a receipt of the events that they are.
    pub(crate) fn new(
        mechanism: u64,
        (from, until): (u64, u64),
        receipt: &Receipt,
        (event, count): (Event, u64),
    ) -> Result<Self> {
        match receipt.is_for(event, count) {
            true => Ok(Self { mechanism, next: from, end: until.max(from) }),
            false => Err(Error::Conflict("the receipt is not for these releases")),
        }
    }

    /// Releases that may still be made.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Adds permits that follow these.
    ///
    /// # Errors
    /// If they are of another mechanism, or do not follow.
    pub fn append(&mut self, more: Self) -> Result<()> {
        if self.left() == 0 && self.mechanism == more.mechanism && more.next >= self.end {
            *self = more;
            return Ok(());
        }
        if (self.mechanism, self.end) != (more.mechanism, more.next) {
            return Err(Error::Conflict(
                "these permits do not follow the others, or are another mechanism's",
            ));
        }
        self.end = more.end;
        Ok(())
    }
}

impl Iterator for Permits {
    type Item = Permit;

    fn next(&mut self) -> Option<Permit> {
        let number = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some(Permit { mechanism: self.mechanism, number })
    }
}

impl Permit {
    /// The number of the release, if it is one of this mechanism.
    pub(crate) fn redeem(self, mechanism: u64) -> Result<u64> {
        match self.mechanism == mechanism {
            true => Ok(self.number),
            false => Err(Error::Conflict("this permit is for a release of another mechanism")),
        }
    }

    /// An unpaid permit, for tests that make far more releases than any budget would pay for.
    #[cfg(test)]
    pub(crate) fn for_tests(mechanism: u64, number: u64) -> Self {
        Self { mechanism, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::pricing::event;
    use dp_accountant::{Budget, Ledger, Relation, Sampling};

    fn ledger() -> Ledger {
        Ledger::new(Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove }).unwrap()
    }

    #[test]
    fn only_a_receipt_for_these_very_releases_makes_permits() {
        let [paid, dearer] = [30.0, 20.0].map(|sigma| event(sigma, Sampling::None).unwrap());
        let receipt = ledger().debit(paid, 3).unwrap();
        let permits = |event, count| Permits::new(7, (0, count), &receipt, (event, count));
        assert_eq!(permits(paid, 3).unwrap().left(), 3);
        for (event, count) in [(paid, 4), (paid, 2), (dearer, 3), (dearer, 1)] {
            let told = permits(event, count).unwrap_err().to_string();
            assert!(told.contains("receipt is not for these releases"), "{told}");
        }
    }

    #[test]
    fn permits_are_appended_without_a_gap() {
        let (mut ledger, event) = (ledger(), event(30.0, Sampling::None).unwrap());
        let mut paid = |from: u64, until: u64| {
            let count = until - from;
            let receipt = ledger.debit(event, count).unwrap();
            Permits::new(7, (from, until), &receipt, (event, count)).unwrap()
        };
        let mut permits = paid(0, 2);
        // With the first, number 2 would be released although nobody paid for it.
        for (from, until) in [(3, 4), (1, 3)] {
            let told = permits.append(paid(from, until)).unwrap_err().to_string();
            assert!(told.contains("do not follow"), "{told}");
            assert_eq!(permits.left(), 2);
        }
        permits.append(paid(2, 4)).unwrap();
        let numbers: Vec<u64> = permits.map(|permit| permit.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
