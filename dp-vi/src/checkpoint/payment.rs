//! Which ledger a run was paid from, and who may go on paying.

use crate::error::{Error, Result};
use dp_accountant::{Ledger, Receipt};
use std::path::Path;

/// Which ledger a run was paid from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaidFrom {
    /// None: the run is without privacy.
    Nothing,
    /// A ledger of the run's own, which holds just its budget and does not outlive it.
    Own,
    /// A ledger that others may share, with its receipt for everything that had been debited by then.
    Shared(Receipt),
}

impl PaidFrom {
    /// A kind, and a receipt or zeros.
    pub(super) const LENGTH: usize = 33;

    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        match self {
            Self::Nothing => {}
            Self::Own => bytes[0] = 1,
            Self::Shared(receipt) => {
                bytes[0] = 2;
                bytes[1..].copy_from_slice(&receipt.to_bytes());
            }
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; Self::LENGTH]) -> Option<Self> {
        let (kind, receipt) = bytes.split_first()?;
        let receipt: [u8; 32] = receipt.try_into().ok()?;
        match (kind, receipt == [0; 32]) {
            (0, true) => Some(Self::Nothing),
            (1, true) => Some(Self::Own),
            (2, _) => Some(Self::Shared(Receipt::from_bytes(receipt))),
            _ => None,
        }
    }

    /// Makes sure that a run with this checkpoint may go on, paid from this ledger; `None` stands for one of its own.
    ///
    /// Steps that are paid from another ledger than those before would leave both with less than was spent on the records.
    pub(crate) fn check(self, path: &Path, is_private: bool, shared: Option<&Ledger>) -> Result<()> {
        let refuse =
            |reason: String| Err(Error::CheckpointPaidFrom { path: path.display().to_string(), reason });
        match (self, shared) {
            (Self::Nothing, _) if !is_private => Ok(()),
            (Self::Own, None) if is_private => Ok(()),
            (Self::Own, Some(_)) if is_private => refuse(
                "the run was paid from a ledger of its own, so this one lacks the steps that were made: go on with DpVi::resume"
                    .to_owned(),
            ),
            (Self::Shared(_), None) if is_private => refuse(
                "the run was paid from a ledger that others share, and every further step has to be paid from it, too: go on with \
                 DpVi::resume_from and that ledger, or end the run where it is with DpVi::conclude"
                    .to_owned(),
            ),
            (Self::Shared(receipt), Some(ledger)) if is_private => match ledger.check_receipt(&receipt) {
                Ok(()) => Ok(()),
                Err(error) => refuse(format!("{error}; go on with the ledger that the run was paid from")),
            },
            _ => refuse("what it says of its ledger does not go with its budget".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::{Budget, Event, Mechanism, Relation, Sampling};

    #[test]
    fn who_may_go_on_paying() {
        let budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut ledger = Ledger::new(budget).unwrap();
        let early = ledger.clone();
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 30.0 }, Sampling::None).unwrap();
        ledger.debit(event, 3).unwrap();
        let shared = PaidFrom::Shared(ledger.receipt());
        let other = Ledger::new(budget).unwrap();
        let told = |from: PaidFrom, is_private: bool, ledger: Option<&Ledger>| {
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
    }

    #[test]
    fn bytes_that_mean_nothing_are_refused() {
        let mut bytes = [7; 33];
        for kind in 0..=255 {
            bytes[0] = kind;
            assert_eq!(PaidFrom::from_bytes(bytes).is_some(), kind == 2);
        }
        assert_eq!(PaidFrom::from_bytes([0; 33]), Some(PaidFrom::Nothing));
    }
}
