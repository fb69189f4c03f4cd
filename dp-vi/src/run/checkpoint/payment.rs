//! Which ledger a run was paid from, and who may go on paying.

use crate::error::{Error, Result};
use dp_accountant::{LedgerMark, Purse};
use std::path::Path;

/// Which ledger a run was paid from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaidFrom {
    /// None: the run is without privacy.
    Nothing,
    /// A ledger of the run's own, which holds just its budget and does not outlive it.
    Own,
    /// A ledger in memory that others may share, with its mark for everything that had been debited by then.
    Shared(LedgerMark),
    /// The same, in a file. A copy of it in memory would do for the mark, but what is debited from the copy
    /// never reaches the file.
    Stored(LedgerMark),
}

impl PaidFrom {
    /// A kind, and a mark or zeros.
    pub(super) const LENGTH: usize = 33;

    /// What is to be said of a run that is paid from this purse; `None` stands for a ledger of its own.
    pub(crate) fn of(shared: Option<&dyn Purse>) -> Self {
        match shared {
            None => Self::Own,
            Some(purse) if purse.is_stored() => Self::Stored(purse.ledger().mark()),
            Some(purse) => Self::Shared(purse.ledger().mark()),
        }
    }

    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let (kind, mark) = match self {
            Self::Nothing => (0, None),
            Self::Own => (1, None),
            Self::Shared(mark) => (2, Some(mark)),
            Self::Stored(mark) => (3, Some(mark)),
        };
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = kind;
        bytes[1..].copy_from_slice(&mark.map_or([0; 32], |mark| mark.to_bytes()));
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; Self::LENGTH]) -> Option<Self> {
        let (kind, mark) = bytes.split_first()?;
        let mark: [u8; 32] = mark.try_into().ok()?;
        match (kind, mark == [0; 32]) {
            (0, true) => Some(Self::Nothing),
            (1, true) => Some(Self::Own),
            (2, _) => Some(Self::Shared(LedgerMark::from_bytes(mark))),
            (3, _) => Some(Self::Stored(LedgerMark::from_bytes(mark))),
            _ => None,
        }
    }

    /// Makes sure that a run with this checkpoint may go on, paid from this purse; `None` stands for a ledger
    /// of its own.
    ///
    /// Steps that are paid from another ledger than those before would leave both with less than was spent on
    /// the records.
    pub(crate) fn check(self, path: &Path, is_private: bool, shared: Option<&dyn Purse>) -> Result<()> {
        let refuse =
            |reason: String| Err(Error::CheckpointPaidFrom { path: path.display().to_string(), reason });
        match (self, shared) {
            (Self::Nothing, _) if !is_private => Ok(()),
            (Self::Own, None) if is_private => Ok(()),
            (Self::Own, Some(_)) if is_private => refuse(
                "the run was paid from a ledger of its own, so this one lacks the steps that were made: go on with DpVi::resume"
                    .to_owned(),
            ),
            (Self::Shared(_) | Self::Stored(_), None) if is_private => refuse(
                "the run was paid from a ledger that others share, and every further step has to be paid from it, too: go on with \
                 DpVi::resume_from and that ledger, or end the run where it is with DpVi::conclude"
                    .to_owned(),
            ),
            (Self::Stored(_), Some(purse)) if is_private && !purse.is_stored() => refuse(
                "the run was paid from a ledger in a file, and this one is in memory, from where no debit reaches the file: open it with \
                 FileLedger::open"
                    .to_owned(),
            ),
            (Self::Shared(mark) | Self::Stored(mark), Some(purse)) if is_private => {
                match purse.ledger().check_mark(&mark) {
                    Ok(()) => Ok(()),
                    Err(error) => refuse(format!("{error}; go on with the ledger that the run was paid from")),
                }
            }
            _ => refuse("what it says of its ledger does not go with its budget".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::{Budget, Event, FileLedger, Ledger, Mechanism, Relation, Sampling};

    #[test]
    fn who_may_go_on_paying() {
        let budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut ledger = Ledger::new(budget).unwrap();
        let early = ledger.clone();
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 30.0 }, Sampling::None).unwrap();
        ledger.debit(event, 3).unwrap();
        let shared = PaidFrom::of(Some(&ledger));
        assert_eq!((shared, PaidFrom::of(None)), (PaidFrom::Shared(ledger.mark()), PaidFrom::Own));
        let other = Ledger::new(budget).unwrap();
        let told = |from: PaidFrom, is_private: bool, ledger: Option<&dyn Purse>| {
            let error =
                from.check(Path::new("a.checkpoint"), is_private, ledger).err().map(|e| e.to_string());
            assert!(error.iter().all(|told| told.starts_with("checkpoint a.checkpoint: ")));
            error.unwrap_or_default()
        };
        assert_eq!(told(PaidFrom::Nothing, false, None), "");
        assert_eq!(told(PaidFrom::Own, true, None), "");
        assert_eq!(told(shared, true, Some(&ledger)), "");
        ledger.debit(event, 1).unwrap();
        assert_eq!(told(shared, true, Some(&ledger)), "");
        assert!(told(PaidFrom::Own, true, Some(&ledger)).contains("DpVi::resume"));
        assert!(told(shared, true, None).contains("DpVi::resume_from"));
        assert!(told(shared, true, Some(&early)).contains("restored from an old copy"));
        assert!(told(shared, true, Some(&other)).contains("another one"));
        for (from, is_private) in [(PaidFrom::Nothing, true), (PaidFrom::Own, false), (shared, false)] {
            assert!(told(from, is_private, None).contains("does not go with its budget"));
        }

        // In a file: a copy of it in memory is not enough.
        let file = std::env::temp_dir().join(format!("dp-vi-payment-{}.ledger", std::process::id()));
        let mut stored = FileLedger::create(&file, budget).unwrap();
        stored.debit(event, 1).unwrap();
        let from = PaidFrom::of(Some(&stored));
        assert_eq!(from, PaidFrom::Stored(stored.ledger().mark()));
        assert_eq!(told(from, true, Some(&stored)), "");
        assert!(told(from, true, Some(&FileLedger::read(&file).unwrap())).contains("FileLedger::open"));
        assert!(told(from, true, None).contains("DpVi::resume_from"));
        assert!(told(from, true, Some(&ledger)).contains("FileLedger::open"));
        assert!(told(shared, true, Some(&stored)).contains("another one"));
        for file in [format!("{}.head", file.display()).into(), file] {
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn bytes_that_mean_nothing_are_refused() {
        let mut bytes = [7; 33];
        for kind in 0..=255 {
            bytes[0] = kind;
            let read = PaidFrom::from_bytes(bytes);
            assert_eq!(read.is_some(), kind == 2 || kind == 3);
            assert!(read.is_none_or(|read| read.to_bytes() == bytes));
        }
        assert_eq!(PaidFrom::from_bytes([0; 33]), Some(PaidFrom::Nothing));
    }
}
