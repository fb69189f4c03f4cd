//! What a mechanism pays from, wherever the account is kept.

#[cfg(feature = "ledger-file")]
use super::FileLedger;
use super::{Label, Ledger, Receipt};
use crate::{Composition, Event, Result};

/// Something that debits can be made from: a [`Ledger`] in memory, or a `FileLedger` (feature `ledger-file`).
///
/// # Privacy
/// Only this crate implements it, so a mechanism that is paid from a purse may rely on what [`Ledger`] says
/// of debits: they come before the release, and the budget cannot be overdrawn.
///
/// ```
/// use dp_accountant::{Budget, Event, Ledger, Mechanism, Purse, Receipt, Relation, Sampling};
///
/// fn pay(purse: &mut impl Purse) -> dp_accountant::Result<Receipt> {
///     let event = Event::new(Mechanism::Gaussian { noise_multiplier: 10.0 }, Sampling::None)?;
///     purse.debit(event, 1)
/// }
///
/// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let receipt = pay(&mut ledger)?; // which the mechanism consumes when it releases
/// assert_eq!(ledger.debits().len(), 1);
/// # let _ = receipt;
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub trait Purse: sealed::Sealed {
    /// The account: its budget, what is spent, what is left.
    fn ledger(&self) -> &Ledger;

    /// Whether a debit is on the disk before it is acknowledged, so that it survives the process. What
    /// `FileLedger::read` returns is a copy in memory, and debits from it never reach the file.
    fn is_stored(&self) -> bool {
        false
    }

    /// Records all events of a composition as one debit, or none of them.
    ///
    /// # Errors
    /// Those of [`Ledger::debit_all`], and for a ledger in a file those of writing it.
    fn debit_all(&mut self, debit: &Composition) -> Result<Receipt>;

    /// As [`debit_all`](Self::debit_all), with the purpose of the debit.
    ///
    /// # Errors
    /// Those of [`debit_all`](Self::debit_all).
    fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt>;

    /// Records `count` uses of an event, if the budget allows all of them.
    ///
    /// # Errors
    /// Those of [`debit_all`](Self::debit_all).
    fn debit(&mut self, event: Event, count: u64) -> Result<Receipt> {
        self.debit_all(&Composition::single(event, count))
    }
}

impl Purse for Ledger {
    fn ledger(&self) -> &Ledger {
        self
    }

    fn debit_all(&mut self, debit: &Composition) -> Result<Receipt> {
        Ledger::debit_all(self, debit)
    }

    fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt> {
        Ledger::debit_labelled(self, debit, label)
    }
}

#[cfg(feature = "ledger-file")]
impl Purse for FileLedger {
    fn ledger(&self) -> &Ledger {
        FileLedger::ledger(self)
    }

    fn is_stored(&self) -> bool {
        true
    }

    fn debit_all(&mut self, debit: &Composition) -> Result<Receipt> {
        FileLedger::debit_all(self, debit)
    }

    fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt> {
        FileLedger::debit_labelled(self, debit, label)
    }
}

impl<P: Purse + ?Sized> Purse for &mut P {
    fn ledger(&self) -> &Ledger {
        (**self).ledger()
    }

    fn is_stored(&self) -> bool {
        (**self).is_stored()
    }

    fn debit_all(&mut self, debit: &Composition) -> Result<Receipt> {
        (**self).debit_all(debit)
    }

    fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt> {
        (**self).debit_labelled(debit, label)
    }
}

/// Keeps the trait to this crate's types.
mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Ledger {}
    #[cfg(feature = "ledger-file")]
    impl Sealed for super::FileLedger {}
    impl<P: super::Purse + ?Sized> Sealed for &mut P {}
}
