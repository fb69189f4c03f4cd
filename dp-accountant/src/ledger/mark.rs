//! Where a ledger stood: what a later process needs in order to recognise it.

use super::Ledger;
use crate::{Budget, Composition, Error, Result};
use std::hash::{BuildHasher, RandomState};

/// Where a [`Ledger`] stood at one moment: which ledger it is, how many debits it had, and a digest of them.
///
/// A run that is interrupted keeps the mark of its ledger after its last debit. Before it goes on,
/// [`Ledger::check_mark`] makes sure that what is to be debited next goes to the same ledger, and that the
/// ledger still has what was debited before.
///
/// # Privacy
/// It says nothing about records: what a ledger holds is public. The digest is no signature, so a forged mark
/// is not noticed, and neither is a ledger that was forged to match one. What is noticed, but for one chance
/// in 2⁶⁴, are the mistakes that happen: the ledger of another data set, also where the same debits were made
/// from it, and an old copy that lacks debits.
///
/// ```
/// use dp_accountant::{Budget, Error, Event, Ledger, Mechanism, LedgerMark, Relation, Sampling};
///
/// let budget = Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove };
/// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
/// let mut ledger = Ledger::new(budget)?;
/// let old_copy = ledger.clone();
/// ledger.debit(release, 3)?;
/// let stored: [u8; 32] = ledger.mark().to_bytes();
///
/// let mark = LedgerMark::from_bytes(stored);
/// ledger.debit(release, 1)?; // later debits do not matter
/// ledger.check_mark(&mark)?;
/// assert!(matches!(old_copy.check_mark(&mark), Err(Error::LostDebits { found: 0, wanted: 1 })));
/// let mut other = Ledger::new(budget)?;
/// other.debit(release, 3)?;
/// assert_eq!(other.check_mark(&mark), Err(Error::OtherLedger));
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerMark {
    ledger: u128,
    debits: u64,
    digest: u64,
}

impl LedgerMark {
    /// How many debits the ledger had.
    #[must_use]
    pub fn debits(&self) -> u64 {
        self.debits
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// The mark as bytes, to be stored: the ledger's number, the number of debits and the digest,
    /// little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.ledger.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.debits.to_le_bytes());
        bytes[24..].copy_from_slice(&self.digest.to_le_bytes());
        bytes
    }

    /// The mark that was stored as these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let (ledger, rest) = bytes.split_at(16);
        // Both parts have sixteen bytes, and each number is read from the little end.
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        Self { ledger: number(ledger), debits: number(&rest[..8]) as u64, digest: number(&rest[8..]) as u64 }
    }
}

/// A number that no other ledger has: 128 bits that the standard library's hash tables are protected with. It
/// is not secret, and nothing but the recognition of a ledger depends on it.
pub(super) fn fresh_number() -> u128 {
    // Keys are drawn anew for every thread, and each table takes other ones; processes that one was split into have the
    // same keys, but not the same number. Zero stands for files without a number.
    let process = std::process::id();
    let word = |k: u8| u128::from(RandomState::new().hash_one((k, process)));
    ((word(0) << 64) | word(1)).max(1)
}

/// FNV-1a, continued.
fn feed(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The digest of a ledger without debits.
pub(super) fn first_digest(budget: &Budget) -> u64 {
    let Budget { epsilon, delta, relation } = budget;
    feed(0xcbf2_9ce4_8422_2325, format!("{epsilon} {delta} {relation}\n").as_bytes())
}

/// The digest after a further debit.
pub(super) fn next_digest(before: u64, debit: &Composition) -> u64 {
    // Numbers are written with as many digits as tell them apart.
    let lines = debit.iter().map(|(event, count)| format!("{count} x {event}; "));
    lines.chain(["\n".to_owned()]).fold(before, |digest, line| feed(digest, line.as_bytes()))
}

impl Ledger {
    /// Where the ledger stands now, after all debits that have been made.
    #[must_use]
    pub fn mark(&self) -> LedgerMark {
        let digest = self.digests.last().copied().unwrap_or_else(|| first_digest(&self.budget));
        LedgerMark { ledger: self.number, debits: self.debits.len() as u64, digest }
    }

    /// Makes sure that a mark is this ledger's, and that all debits made before it are still there.
    ///
    /// A clone in memory has the number of the ledger it is of, and each knows its own debits only. So has a
    /// copy of a ledger's file.
    ///
    /// # Errors
    /// [`Error::OtherLedger`] if it is another's; [`Error::LostDebits`] if debits are missing, or are others.
    pub fn check_mark(&self, mark: &LedgerMark) -> Result<()> {
        if mark.ledger != self.number {
            return Err(Error::OtherLedger);
        }
        let then = match mark.debits {
            0 => Some(first_digest(&self.budget)),
            count => usize::try_from(count - 1).ok().and_then(|last| self.digests.get(last)).copied(),
        };
        match then == Some(mark.digest) {
            true => Ok(()),
            false => Err(Error::LostDebits { found: self.debits.len() as u64, wanted: mark.debits }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Mechanism, Relation, Sampling};

    const BUDGET: Budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };

    fn gaussian(noise_multiplier: f64) -> Event {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
    }

    #[test]
    fn bytes_are_read_back() {
        let mut ledger = Ledger::new(BUDGET).expect("valid");
        ledger.debit(gaussian(20.0), 2).expect("affordable");
        let mark = ledger.mark();
        assert_eq!(LedgerMark::from_bytes(mark.to_bytes()), mark);
        assert_eq!(mark.debits(), 1);
        // Each byte counts.
        for at in 0..32 {
            let mut bytes = mark.to_bytes();
            bytes[at] ^= 1;
            assert!(ledger.check_mark(&LedgerMark::from_bytes(bytes)).is_err(), "{at}");
        }
    }

    /// Files of ledgers keep marks, so that what a digest is made of must not change: neither how numbers are written
    /// nor how mechanisms and samplings are named in words.
    #[test]
    fn digests_are_pinned() {
        let kinds = [
            (Mechanism::Gaussian { noise_multiplier: 30.1 }, Sampling::Poisson { rate: 0.01 }, 3),
            (
                Mechanism::Gaussian { noise_multiplier: 40.3 },
                Sampling::WithoutReplacement { batch: 3, records: 70 },
                2,
            ),
            (Mechanism::Gaussian { noise_multiplier: 50.7 }, Sampling::Shuffle { batch: 10, records: 40 }, 4),
            (Mechanism::Laplace { scale: 60.9 }, Sampling::None, 1),
            (Mechanism::DiscreteGaussian { sigma: 70.1, sensitivity: 2 }, Sampling::None, 1),
            (Mechanism::RandomizedResponse { categories: 3, truth_probability: 0.4 }, Sampling::None, 1),
            (Mechanism::PureDp { epsilon: 0.01 }, Sampling::None, 5),
            (Mechanism::ApproximateDp { epsilon: 0.02, delta: 1e-9 }, Sampling::None, 5),
        ];
        let of = |relation| {
            let mut digest = first_digest(&Budget { relation, ..BUDGET });
            for (mechanism, sampling, count) in kinds {
                let event = Event::new(mechanism, sampling).expect("valid");
                digest = next_digest(digest, &Composition::single(event, count));
            }
            digest
        };
        assert_eq!(
            [of(Relation::AddRemove), of(Relation::ReplaceOne)],
            [10_440_168_844_564_788_275, 8_119_030_603_150_953_072]
        );
    }

    #[test]
    fn every_moment_of_a_ledger_is_known_again_and_no_other() {
        let mut ledger = Ledger::new(BUDGET).expect("valid");
        let mut marks = vec![ledger.mark()];
        let mut copies = vec![ledger.clone()];
        for count in 1..5 {
            ledger.debit(gaussian(30.0), count).expect("affordable");
            marks.push(ledger.mark());
            copies.push(ledger.clone());
        }
        for (k, mark) in marks.iter().enumerate() {
            for (j, copy) in copies.iter().enumerate() {
                let (found, wanted) = (j as u64, k as u64);
                let expected = if j >= k { Ok(()) } else { Err(Error::LostDebits { found, wanted }) };
                assert_eq!(copy.check_mark(mark), expected, "mark {k}, ledger {j}");
            }
        }
        // An old copy that has been gone on with: as many debits, and other ones.
        let mut branch = copies.swap_remove(2);
        branch.debit(gaussian(30.0), 7).expect("affordable");
        assert_eq!(branch.check_mark(&marks[3]), Err(Error::LostDebits { found: 3, wanted: 3 }));
        // The same debits from another ledger.
        let mut other = Ledger::new(BUDGET).expect("valid");
        for count in 1..5 {
            other.debit(gaussian(30.0), count).expect("affordable");
        }
        assert!(marks.iter().all(|mark| other.check_mark(mark) == Err(Error::OtherLedger)));
        assert_eq!(other.mark().digest, ledger.mark().digest);
    }

    #[test]
    fn what_a_debit_was_enters_the_digest() {
        let digest = |debits: &[(f64, u64)]| {
            let mut ledger = Ledger::new(BUDGET).expect("valid");
            for &(noise_multiplier, count) in debits {
                ledger.debit(gaussian(noise_multiplier), count).expect("affordable");
            }
            ledger.mark().digest
        };
        let all = [
            digest(&[(30.0, 3)]),
            digest(&[(30.0, 4)]),
            digest(&[(30.0_f64.next_up(), 3)]),
            digest(&[(30.0, 1), (30.0, 2)]),
            digest(&[(30.0, 2), (30.0, 1)]),
            digest(&[]),
        ];
        for (k, one) in all.iter().enumerate() {
            assert!(all[..k].iter().all(|other| other != one), "{k}");
        }
        let wider = Ledger::new(Budget { epsilon: 6.0, ..BUDGET }).expect("valid");
        assert_ne!(wider.mark().digest, all[5]);
    }

    #[test]
    fn numbers_differ_between_ledgers_and_threads() {
        let numbers = || (0..1000).map(|_| fresh_number()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(numbers)).collect();
        let mut all: Vec<u128> =
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
        assert!(all[0] > 0);
    }
}
