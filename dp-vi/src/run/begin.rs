//! How a run begins, whatever is fitted: from its start or its checkpoint, with its seed, and who pays.

use super::checkpoint::{Checkpoint, PaidFrom, exists};
use crate::cost::charges::Charges;
use crate::error::{Error, Result};
use dp_accountant::{Budget, Ledger, Purse, Receipt};
use dp_sampler::Seed;
use std::path::{Path, PathBuf};

/// Where a run begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Start,
    Checkpoint,
    /// At a checkpoint, and it ends there.
    End,
}

/// The checkpoint that a run goes on from, if it does; `place` is its file, and how often one is left there.
pub(crate) fn stored(place: Option<&(PathBuf, u64)>, from: From) -> Result<Option<(Checkpoint, &Path)>> {
    if let Some((path, every)) = place {
        if *every == 0 {
            let (what, requirement) = ("number of steps between checkpoints", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        if from == From::Start && exists(path) {
            return Err(Error::CheckpointExists { path: path.display().to_string() });
        }
    }
    match (from, place) {
        (From::Start, _) => Ok(None),
        (_, Some((path, _))) => Ok(Some((Checkpoint::read(path)?, path.as_path()))),
        (_, None) => Err(Error::Missing {
            what: "the checkpoint",
            why: "a run is resumed from a file; name it with .checkpoint(…)",
        }),
    }
}

/// The seed of a run, and whether it is complete: that of its checkpoint, or the one that was named, or one from the
/// operating system.
pub(crate) fn seed(stored: Option<&mut Checkpoint>, named: Option<Seed>) -> Result<(Seed, bool)> {
    match (stored.map(|checkpoint| checkpoint.seed.take()), named) {
        (Some(_), Some(_)) => Err(Error::Conflict("a resumed run has the seed of its checkpoint: name none")),
        (Some(Some(seed)), None) => Ok((seed, false)),
        // A complete run makes no release any more, so any seed will do.
        (Some(None), None) => Ok((Seed::from_os()?, true)),
        (None, Some(seed)) => Ok((seed, false)),
        (None, None) => Ok((Seed::from_os()?, false)),
    }
}

/// Who pays: nobody without privacy, the purse that was named, or a new ledger that holds just the budget.
pub(crate) fn payer<'p, 'o: 'p>(
    purse: Option<&'o mut (dyn Purse + 'o)>,
    budget: Option<Budget>,
    own: &'p mut Option<Ledger>,
) -> Result<Option<&'p mut (dyn Purse + 'p)>> {
    match (purse, budget) {
        (_, None) => Ok(None),
        (Some(purse), Some(budget)) => {
            if purse.ledger().budget().relation != budget.relation {
                let reason = "the ledger and the budget of the fit are for different relations";
                return Err(Error::Conflict(reason));
            }
            Ok(Some(purse))
        }
        (None, Some(budget)) => Ok(Some(own.insert(Ledger::new(budget)?))),
    }
}

/// Fails unless a checkpoint is of records with this fingerprint. A complete run needs none any more.
pub(crate) fn check_records(
    checkpoint: &Checkpoint,
    path: &Path,
    print: [u64; 3],
    complete: bool,
) -> Result<()> {
    match complete || checkpoint.records == print {
        true => Ok(()),
        false => Err(Error::CheckpointOfAnother {
            path: path.display().to_string(),
            what: "records".to_owned(),
            found: "others".to_owned(),
            here: "not the same in number or values".to_owned(),
        }),
    }
}

/// Fails if a checkpoint without a seed, of which no records are asked, has steps left to make: it was not written
/// here.
pub(crate) fn check_seed(path: &Path, complete: bool, over: bool) -> Result<()> {
    match over || !complete {
        true => Ok(()),
        false => Err(Error::Checkpoint {
            path: path.display().to_string(),
            reason: "the run is not complete and yet has no seed".to_owned(),
        }),
    }
}

/// The receipt for everything that a resumed run has paid for, which its ledger has to have. A ledger of the
/// run's own is a new one, and is debited.
///
/// Whether the rest is affordable shows block by block: after a kill between payment and checkpoint it may
/// not be, and what can be had is still had then.
pub(crate) fn paid_before(
    charges: &Charges,
    purse: &mut dyn Purse,
    steps: u64,
    shared: bool,
) -> Result<Receipt> {
    let paid = charges.with_steps(steps);
    if !shared {
        return Ok(purse.debit_all(&paid)?);
    }
    purse.ledger().reissue(&paid).map_err(|error| match error {
        dp_accountant::Error::NotDebited { recorded, wanted, event } => {
            Error::ForeignLedger { recorded, paid: wanted, event }
        }
        other => other.into(),
    })
}

/// What a checkpoint says of the ledger that everything up to now has been paid from.
pub(crate) fn paid_from(purse: Option<&dyn Purse>, shared: bool) -> PaidFrom {
    match purse {
        None => PaidFrom::Nothing,
        purse => PaidFrom::of(purse.filter(|_| shared)),
    }
}

/// What it takes to leave checkpoints.
pub(crate) struct Keeper {
    pub(crate) path: PathBuf,
    pub(crate) every: u64,
    pub(crate) seed: Seed,
    pub(crate) settings: String,
    pub(crate) print: [u64; 3],
}

impl Keeper {
    /// Writes what `checkpoint` makes of the seed and of the records' fingerprint, which a complete run's file does not
    /// hold: it makes no release any more, so any records will do.
    pub(crate) fn keep(
        &self,
        complete: bool,
        checkpoint: impl FnOnce(Option<Seed>, &str, [u64; 3]) -> Checkpoint,
    ) -> Result<()> {
        let (seed, print) = match complete {
            true => (None, [0; 3]),
            false => (Some(Seed::from_exposed(&zeroize::Zeroizing::new(self.seed.expose()))?), self.print),
        };
        checkpoint(seed, &self.settings, print).write(&self.path)
    }
}
