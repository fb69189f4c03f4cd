//! Runs that survive the process: everything a run needs to go on, in one file.
//!
//! Between two steps a run is its seed, the number of steps done and paid for and from which ledger, the
//! guide's parameters, what the optimiser remembers and the sum of the tail average. Samplers and noise are
//! functions of seed and step, so nothing else has to be kept.

mod file;
mod fingerprint;
mod format;
mod payment;
mod settings;

pub(crate) use file::exists;
pub(crate) use payment::PaidFrom;
pub(crate) use settings::{described, versions};

use crate::error::{Error, Result};
use dp_sampler::Seed;
use std::path::Path;

/// What a checkpoint's file says.
///
/// # The file
/// It is written beside its place and renamed into it after the operating system has been asked to bring it
/// to the disk, so a process that is killed leaves the old one or the new one. It has a version and a CRC-64
/// over all of it: a file with any byte changed, or cut off anywhere, is an error.
///
/// # Privacy
/// **The file is as secret as the data.** It holds the seed, with which the noise of all releases can be
/// subtracted, and parameters made of releases that are not published. On Unix it is readable by its owner
/// only (mode 0600); elsewhere it inherits the folder's rights. A checksum is no signature: who can write the file can
/// forge it.
///
/// The seed, and the number and fingerprint of the records, are left out of the checkpoint of a run that is complete.
/// What is left there was released. Such a run makes no release any more, so its records are not recognised either:
/// whatever recognises them would, kept for ever, let others try guesses of them. Callers who go on to release
/// something after a run recognise the records themselves, by a line of their own ([`bound_to`](crate::DpVi::bound_to))
/// whose key they keep elsewhere.
///
/// *Resuming* repeats nothing but what was done before. From one checkpoint any number of resumed runs make
/// the same releases, bit for bit, and the same release twice tells no more than once. That rests on the runs
/// being the same: the same noise on sums over other data, or for other parameters, would let the noise be
/// subtracted. So a checkpoint is resumed only
///
/// - with the records it was written with, as long as the run is not complete: their number and a fingerprint of all
///   values, taken with a key from the seed (128 bits of keyed BLAKE3); a run that reads its records again at its end, for
///   a Laplace approximation without privacy, is not complete in this sense;
/// - for the model, guide, optimiser, sampling, budget, noise and settings that it was written with;
/// - by the same versions of this crate, `dp-sampler`, `dp-accountant` and `ppl-core`, on a machine with the
///   same instructions for multiplying matrices, and with libraries that compute the same digits (products
///   and functions are tried at some numbers): last digits that differ are enough to make two releases of
///   one. Distributions are part of the model's program, which is compared.
///
/// What a user-written guide or optimiser does is known by its description only.
///
/// *Payment.* Every block of steps is debited before its first step, and what is paid for is written down
/// before it, too, with a mark of the ledger ([`dp_accountant::LedgerMark`]). A run that was paid from a
/// ledger that others share goes on with that ledger only, with [`resume_from`](crate::DpVi::resume_from):
/// another one, and an old copy of it that lacks debits, is refused, and so is
/// [`resume`](crate::DpVi::resume), which would pay for the rest from nothing. (A ledger in memory and its
/// clones cannot be distinguished; a ledger in a file and a copy in memory are.) A run that is killed between
/// these two pays for the block again when it is resumed: a ledger may count up to one block too many, and
/// never too few. A ledger whose budget is exactly the run's then has no room for the last block; the steps
/// before it are made all the same, and [`conclude`](crate::DpVi::conclude) ends the run with them.
///
/// *What else is left.* A process that is killed while it writes leaves the file's name with `.part` behind
/// it, which is as secret; the next checkpoint overwrites it. Nothing here wipes disks.
pub struct Checkpoint {
    pub(crate) seed: Option<Seed>,
    pub(crate) secret: bool,
    pub(crate) done: u64,
    pub(crate) paid: u64,
    pub(crate) paid_from: PaidFrom,
    /// Lines of `name: value`.
    pub(crate) settings: String,
    /// Number of records, and the fingerprint; zeros in a complete run.
    pub(crate) records: [u64; 3],
    /// Parameters, tail average, optimiser.
    pub(crate) numbers: Vec<f64>,
}

impl Checkpoint {
    /// Reads a file, and checks that it is whole.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] if it cannot be read, was written by another version, or is damaged.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        file::read(path.as_ref())
    }

    /// As [`read`](Self::read), from the bytes of a file.
    ///
    /// ```
    /// let error = dp_vi::Checkpoint::from_bytes(b"epsilon,delta").err().unwrap();
    /// assert!(error.to_string().contains("this is not a checkpoint"));
    /// ```
    ///
    /// # Errors
    /// [`Error::Checkpoint`] as there.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let path = "(bytes)".to_owned();
        format::decode(bytes).map_err(|reason| Error::Checkpoint { path, reason })
    }

    /// Steps that were done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Steps that were paid for.
    #[must_use]
    pub fn paid(&self) -> u64 {
        self.paid
    }

    /// Whether the run was paid from a ledger that others may share. It goes on with
    /// [`resume_from`](crate::DpVi::resume_from) and that ledger then, otherwise with
    /// [`resume`](crate::DpVi::resume).
    #[must_use]
    pub fn is_paid_from_a_shared_ledger(&self) -> bool {
        matches!(self.paid_from, PaidFrom::Shared(_) | PaidFrom::Stored(_))
    }

    /// Whether the run's seed came from the operating system.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// What the run is of: lines of `name: value`.
    #[must_use]
    pub fn settings(&self) -> &str {
        &self.settings
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        file::write(path, self)
    }

    /// Checks that a run of this many steps can have made the steps that were done.
    pub(crate) fn check_steps(&self, path: &Path, steps: u64) -> Result<()> {
        if self.done <= steps {
            return Ok(());
        }
        let reason = format!("{} steps are done of {steps}", self.done);
        Err(Error::Checkpoint { path: file::shown(path), reason })
    }

    /// Checks that the settings are those of the run that is to be resumed.
    pub(crate) fn check_settings(&self, path: &Path, here: &str) -> Result<()> {
        let (mut found, mut wanted) = (self.settings.lines(), here.lines());
        // Both begin with the versions, of which those that differ are named.
        loop {
            let (found, here) = match (found.next(), wanted.next()) {
                (None, None) => return Ok(()),
                (found, here) if found == here => continue,
                (found, here) => (found.unwrap_or_default(), here.unwrap_or_default()),
            };
            let split = |line: &'_ str| match line.split_once(": ") {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => ("a setting".to_owned(), "none".to_owned()),
            };
            let ((name, found), (other, here)) = (split(found), split(here));
            let what = if other == "a setting" { name } else { other };
            let is_fingerprint = [settings::PROGRAMS, settings::FIRST].contains(&what.as_str());
            let (found, here) = match is_fingerprint {
                true => ("others".to_owned(), "not the same".to_owned()),
                false => (found, here),
            };
            return Err(Error::CheckpointOfAnother { path: file::shown(path), what, found, here });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fingerprint::VERSIONS;
    use super::*;
    use crate::guides::AutoNormal;
    use crate::{DpVi, Sensitive};
    use dp_sampler::FullBatch;
    use ppl_core::{Ctx, Records};
    use ppl_distributions::Normal;
    use std::ops::ControlFlow;

    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    }

    /// Files as other versions, or another machine, would have written them: whole, with a right checksum.
    #[test]
    fn a_checkpoint_of_another_version_of_any_crate_is_refused_by_name() {
        let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])]).unwrap());
        let folder = std::env::temp_dir().join(format!("dp-vi-versions-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("run");
        let run = || {
            let vi = DpVi::new(model, AutoNormal::new()).without_privacy().subsample(FullBatch).steps(4);
            vi.checkpoint(&path, 1)
        };
        let stop = |progress: crate::Progress| match progress.done < 2 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        run().on_progress(stop).fit(&records).unwrap();
        let written = Checkpoint::read(&path).unwrap();
        let settings = written.settings.clone();
        let resume_with = |settings: String| {
            let other = Checkpoint {
                settings,
                seed: Some(Seed::for_tests(1)),
                secret: false,
                numbers: Vec::new(),
                ..written
            };
            other.write(&path).unwrap();
            let before = std::fs::read(&path).unwrap();
            let error = run().resume(&records).unwrap_err();
            assert!(matches!(error, Error::CheckpointOfAnother { .. }), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
            error.to_string()
        };
        for (name, version) in VERSIONS {
            let line = format!("version of {name}: {version}\n");
            assert!(settings.contains(&line), "{settings}");
            let told = resume_with(settings.replace(&line, &format!("version of {name}: 0.0.9\n")));
            assert!(told.contains(&format!("version of {name} was 0.0.9, here it is {version}")), "{told}");
            // One that was written before versions of this crate were kept.
            let told = resume_with(settings.replace(&line, ""));
            assert!(told.contains(&format!("version of {name}")), "{told}");
        }
        let (before, arithmetic) = settings.split_once("arithmetic: ").unwrap();
        let told = resume_with(format!("{before}arithmetic: another {arithmetic}"));
        assert!(told.contains("arithmetic was another"), "{told}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
