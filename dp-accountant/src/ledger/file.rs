//! A ledger that is on disk before a debit is acknowledged.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::format::{self, Chain};
use super::{Allowed, DebitNote, Label, Ledger, LedgerMark, Receipt, Timestamp};
use crate::disk::{folder_of, is_at, not_plain, sync_folder};
use crate::{Budget, Composition, Error, Event, Result};
use head::Head;

/// A [`Ledger`] in a text file, one line a debit, that survives the process (feature `ledger-file`).
///
/// Each line has the time at which the debit was made, and its [`Label`] if it has one: see
/// [`Ledger::notes`]. The time is what the clock of the machine says, and nothing depends on it.
///
/// # Privacy
/// What [`Ledger`] says holds here too. Besides:
///
/// - [`debit`](Self::debit) returns after the line has been written and the operating system has been asked
///   to bring it to the disk (`fsync`). A process that is killed at any moment loses no debit that was
///   acknowledged. It may leave one that was not: that counts as spent.
/// - The file is locked while it is open, so that two writers cannot both spend the same rest. The lock is
///   the operating system's for this file, and advisory on Unix: it stops programs that use this type.
///   Network file systems may not honour it.
/// - Only a plain file can be a ledger. A file that has been moved, removed or replaced while it was open
///   takes no further debits, because the next process would not find them at its path. (This is seen on
///   Unix; elsewhere open files cannot be moved.)
/// - Damage is an error that names the line. Only a last line that was never finished is dropped.
/// - A second file beside it, `spent.ledger.head` for `spent.ledger`, says how far the ledger goes: a [`LedgerMark`],
///   written after each debit. So lines that are missing from the end, as in a copy that was cut or a ledger that alone
///   was restored from an old backup, are an error, and so is a missing head. (Ledgers that were made before there were
///   heads, of format 1 to 3, get one when they are opened, but if it is removed, it is not missed.) A ledger moves with its
///   head. What the two do not see is that both were
///   restored from the same old backup, or forged.
///
/// ```
/// use dp_accountant::{Budget, Event, FileLedger, Mechanism, Relation, Sampling};
/// # let folder = std::env::temp_dir().join(format!("dp-accountant-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("spent.ledger");
/// # let _ = std::fs::remove_file(&path);
///
/// let budget = Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove };
/// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
/// {
///     let mut ledger = FileLedger::create(&path, budget)?;
///     ledger.debit(release, 3)?;
/// }
/// // Another day, another process.
/// let mut ledger = FileLedger::open(&path, budget)?;
/// assert_eq!(ledger.ledger().debits().len(), 1);
/// assert!(ledger.debit(release, 1_000).is_err());
/// # drop(ledger);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug)]
pub struct FileLedger {
    ledger: Ledger,
    file: Locked,
    head: Head,
    path: PathBuf,
    /// The same path, whatever the working directory becomes.
    absolute: PathBuf,
    chain: Chain,
    /// Whether a write has failed, after which nobody knows what is on the disk.
    failed: bool,
}

impl FileLedger {
    /// A new file with nothing spent. The folder must exist.
    ///
    /// # Errors
    /// [`Error::LedgerExists`] if there is a file already, unless it holds nothing but the beginning of a
    /// first line for this budget (a creation that was interrupted); [`Error::LedgerHead`] if there is the
    /// head of a ledger with debits that is not there itself; [`Error::LedgerLocked`] if another
    /// process has it open; [`Error::LedgerFile`] if the operating system refuses; those of
    /// [`Budget::validate`].
    pub fn create(path: impl AsRef<Path>, budget: Budget) -> Result<Self> {
        let path = path.as_ref();
        let ledger = Ledger::new(budget)?;
        let (header, chain) = Chain::start().seal(&format::header(&ledger)?);
        // Before a file is made.
        if !path.exists() {
            refuse_widowed(path)?;
        }
        let mut file = open_file(path, true)?;
        let found = read_all(&mut file.0, path)?;
        if !format::is_unfinished_header(&found, &budget)? {
            return Err(Error::LedgerExists { path: shown(path) });
        }
        refuse_widowed(path)?;
        // The head comes first: a ledger without one is refused, and a head without debits stands for no ledger.
        let head = Head::make(&file.0, head::place_of(path), &ledger.mark())?;
        // The number of a ledger that never was is not taken over. What is written is appended, so what is
        // there has to go.
        let written = file
            .0
            .set_len(0)
            .and_then(|()| file.0.write_all(header.as_bytes()))
            .and_then(|()| file.0.sync_all())
            .and_then(|()| sync_folder(folder_of(path)));
        written.map_err(|error| failure(path, &error))?;
        Self::new(ledger, (file, head), path, chain)
    }

    /// Opens a file that was created for this budget.
    ///
    /// # Errors
    /// [`Error::LedgerBudget`] if it was created for another budget or relation, [`Error::LedgerVersion`] if
    /// another version wrote it, [`Error::LedgerLine`] if it is damaged, [`Error::LedgerHead`] if debits are
    /// missing from its end or its head is missing, [`Error::LedgerLocked`] if another
    /// process has it open, and [`Error::LedgerFile`] if the operating system refuses.
    pub fn open(path: impl AsRef<Path>, budget: Budget) -> Result<Self> {
        Self::resume_if(path.as_ref(), HeadOf::Ledger, |found| match found == budget {
            true => Ok(()),
            false => Err(Error::LedgerBudget { path: shown(path.as_ref()), found, wanted: budget }),
        })
    }

    /// A new file, or the one that is there: [`create`](Self::create), or [`open`](Self::open) if that is refused
    /// because of what the file holds. So a creation that was interrupted is begun anew.
    ///
    /// # Errors
    /// Those of both, but for [`Error::LedgerExists`].
    pub fn create_or_open(path: impl AsRef<Path>, budget: Budget) -> Result<Self> {
        match Self::create(path.as_ref(), budget) {
            Err(Error::LedgerExists { .. }) => Self::open(path, budget),
            made => made,
        }
    }

    /// Opens a file with the budget that it was created for.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), but for the first.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        Self::resume_if(path.as_ref(), HeadOf::Ledger, |_| Ok(()))
    }

    /// Opens a file as it is, whatever its head says, and writes the head anew: for a ledger that has lost its head,
    /// and for one that has lost debits which are paid for elsewhere.
    ///
    /// # Privacy
    /// A debit that is missing from the file is forgotten: what it stood for may be spent again. Make sure that none
    /// is, or count those as spent in another way, before this is called.
    ///
    /// # Errors
    /// Those of [`resume`](Self::resume), but for [`Error::LedgerHead`].
    pub fn accept(path: impl AsRef<Path>) -> Result<Self> {
        Self::resume_if(path.as_ref(), HeadOf::None, |_| Ok(()))
    }

    fn resume_if(path: &Path, known: HeadOf, accepts: impl Fn(Budget) -> Result<()>) -> Result<Self> {
        let mut file = open_file(path, false)?;
        let bytes = read_all(&mut file.0, path)?;
        let stored = format::read(&bytes, &shown(path))?;
        accepts(*stored.ledger.budget())?;
        let place = head::place_of(path);
        let marked = match known {
            HeadOf::Ledger => {
                let marked = head::read(&place)?;
                check_head(&stored, marked.as_ref(), &place)?;
                marked
            }
            HeadOf::None => None,
        };
        // A debit must not be appended to a line that was never finished, or that lacks its line break.
        let repaired = if stored.complete < bytes.len() {
            file.0.set_len(stored.complete as u64).and_then(|()| file.0.sync_all())
        } else if stored.unbroken {
            file.0.write_all(b"\n").and_then(|()| file.0.sync_all())
        } else {
            // What the last process wrote and never synchronised has counted here: it must not be lost now.
            file.0.sync_all()
        };
        repaired.and_then(|()| sync_folder(folder_of(path))).map_err(|error| failure(path, &error))?;
        let mark = stored.ledger.mark();
        let head = match marked {
            None => Head::make(&file.0, place, &mark)?,
            Some(marked) => {
                let mut head = Head::open(place)?;
                // The last process may have been killed between a debit and its mark.
                if marked != mark {
                    head.put(&mark)?;
                }
                head
            }
        };
        Self::new(stored.ledger, (file, head), path, stored.chain)
    }

    fn new(ledger: Ledger, (file, head): (Locked, Head), path: &Path, chain: Chain) -> Result<Self> {
        let absolute = std::path::absolute(path).map_err(|error| failure(path, &error))?;
        Ok(Self { ledger, file, head, path: path.into(), absolute, chain, failed: false })
    }

    /// What a file says, without opening it for debits and without its lock: a copy in memory.
    ///
    /// # Errors
    /// [`Error::LedgerVersion`], [`Error::LedgerLine`], [`Error::LedgerHead`] and [`Error::LedgerFile`], as for
    /// [`open`](Self::open).
    pub fn read(path: impl AsRef<Path>) -> Result<Ledger> {
        let path = path.as_ref();
        refuse_special(path)?;
        let place = head::place_of(path);
        let read = || {
            // First the head: another process may spend meanwhile, and then the ledger goes further.
            let marked = head::read(&place);
            let bytes = std::fs::read(path).map_err(|error| failure(path, &error))?;
            let stored = format::read(&bytes, &shown(path))?;
            check_head(&stored, marked?.as_ref(), &place)?;
            Ok(stored.ledger)
        };
        match read() {
            // It may have been made between the two.
            Err(Error::LedgerHead { .. }) => read(),
            found => found,
        }
    }

    /// As [`Ledger::debit`], and on the disk before it returns.
    ///
    /// # Errors
    /// Those of [`Ledger::debit`]; [`Error::LedgerFile`] if it could not be written, after which the debit
    /// may or may not have been stored. Then further debits are refused until the file has been opened anew.
    pub fn debit(&mut self, event: Event, count: u64) -> Result<Receipt> {
        self.debit_all(&Composition::single(event, count))
    }

    /// As [`Ledger::debit_all`], and on the disk before it returns.
    ///
    /// # Errors
    /// Those of [`debit`](Self::debit).
    pub fn debit_all(&mut self, debit: &Composition) -> Result<Receipt> {
        self.debit_noted(debit, None)
    }

    /// As [`Ledger::debit_labelled`], and on the disk before it returns.
    ///
    /// # Errors
    /// Those of [`debit`](Self::debit).
    pub fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt> {
        self.debit_noted(debit, Some(label))
    }

    fn debit_noted(&mut self, debit: &Composition, label: Option<Label>) -> Result<Receipt> {
        if self.failed {
            let reason = "an earlier write failed; open the file anew to see what was stored".into();
            return Err(Error::LedgerFile { path: shown(&self.path), reason });
        }
        let Some(allowed) = self.ledger.check(debit)? else { return Ok(Receipt::for_debit(debit)) };
        self.require_place()?;
        let number = self.ledger.debits().len() as u64 + 1;
        let note = DebitNote { time: Timestamp::now(), label };
        let (line, chain) = self.chain.seal(&format::debit(number, debit, &note)?);
        self.append(&line)?;
        self.chain = chain;
        self.ledger.record(debit.clone(), note, allowed);
        // The debit is on the disk, and counts; where its mark is not, nothing is known of the disk.
        self.failed = true;
        self.head.put(&self.ledger.mark())?;
        self.failed = false;
        Ok(Receipt::for_debit(debit))
    }

    /// Writes a line and brings it to the disk. After a failure no further line may follow: nobody knows what
    /// is on the disk.
    fn append(&mut self, line: &str) -> Result<()> {
        // After a failed fsync the operating system may report success for data that it has dropped: never
        // try again.
        self.failed = true;
        self.file
            .0
            .write_all(line.as_bytes())
            .and_then(|()| self.file.0.sync_data())
            .map_err(|error| failure(&self.path, &error))?;
        self.failed = false;
        Ok(())
    }

    /// A debit must be where the next process looks for it.
    fn require_place(&self) -> Result<()> {
        let is_there = is_at(&self.file.0, &self.absolute).map_err(|error| failure(&self.path, &error))?;
        if is_there && self.head.is_in_place()? {
            return Ok(());
        }
        let which = if is_there { "its head" } else { "the file" };
        let reason = format!(
            "{which} has been moved, removed or replaced since it was opened, so that a debit would be lost"
        );
        Err(Error::LedgerFile { path: shown(&self.path), reason })
    }

    /// The account in memory: what is spent, what is left, what is affordable, the odometer.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Ledger {
    /// Enters a debit that was accepted when it was stored.
    pub(super) fn restore(&mut self, debit: Composition, note: DebitNote) {
        let mut total = self.events.clone();
        total.extend(debit.iter());
        self.record(debit, note, Allowed { total, price: None });
    }
}

/// What the head of a ledger that is opened has to be.
#[derive(Clone, Copy)]
enum HeadOf {
    /// The ledger's, as far as it goes.
    Ledger,
    /// Whatever is there, or nothing.
    None,
}

/// Checks that a ledger goes as far as its head says; ledgers of older versions have had none.
fn check_head(stored: &format::Stored, marked: Option<&LedgerMark>, place: &Path) -> Result<()> {
    let reason = match marked.map(|marked| stored.ledger.check_mark(marked)) {
        Some(Ok(())) => return Ok(()),
        None if stored.version < format::FIRST_WITH_HEAD => return Ok(()),
        Some(Err(error)) => error.to_string(),
        None => "there is no such file, so that debits may be missing from the end of its ledger".to_owned(),
    };
    Err(Error::LedgerHead { path: shown(place), reason })
}

/// Refuses to begin a ledger where there was one whose debits would be forgotten with that.
fn refuse_widowed(path: &Path) -> Result<()> {
    let place = head::place_of(path);
    match head::read(&place) {
        Ok(Some(mark)) if mark.debits() > 0 => {
            let number = mark.debits();
            let debits = if number == 1 { "1 debit".to_owned() } else { format!("{number} debits") };
            let reason = format!("the ledger that it belongs to had {debits} in it and is gone");
            Err(Error::LedgerHead { path: shown(&place), reason })
        }
        Ok(_) => Ok(()),
        // A head is made as a whole, so that one without a mark has been damaged since, or is something else.
        Err(error) => Err(error),
    }
}

/// A file whose lock ends with this value.
///
/// Closing a file is not enough: a process that another thread starts at the same moment inherits the open
/// file until its own program begins, and the lock would last as long.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // Where this fails, closing the file ends the lock, at the latest when the process ends.
        let _ = self.0.unlock();
    }
}

/// Opens for reading and appending, and locks.
fn open_file(path: &Path, create: bool) -> Result<Locked> {
    refuse_special(path)?;
    let opened = OpenOptions::new().read(true).append(true).create(create).open(path);
    let file = opened.map_err(|error| failure(path, &error))?;
    let file = match file.try_lock() {
        Ok(()) => Locked(file),
        Err(TryLockError::WouldBlock) => return Err(Error::LedgerLocked { path: shown(path) }),
        Err(TryLockError::Error(error)) => return Err(failure(path, &error)),
    };
    // Between opening and locking, another file may have been put in its place.
    if !is_at(&file.0, path).map_err(|error| failure(path, &error))? {
        let reason = "the file was moved, removed or replaced while it was being opened".into();
        return Err(Error::LedgerFile { path: shown(path), reason });
    }
    Ok(file)
}

/// Refuses what is no plain file before it is opened: opening a FIFO waits for its other end, a device may
/// have no end, and neither keeps what is written to it.
fn refuse_special(path: &Path) -> Result<()> {
    match std::fs::metadata(path).ok().as_ref().and_then(not_plain) {
        Some(reason) => Err(Error::LedgerFile { path: shown(path), reason }),
        // Where there is nothing, opening says so.
        None => Ok(()),
    }
}

fn read_all(file: &mut File, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failure(path, &error))?;
    Ok(bytes)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failure(path: &Path, error: &std::io::Error) -> Error {
    Error::LedgerFile { path: shown(path), reason: error.to_string() }
}

mod head;

#[cfg(test)]
mod tests;
