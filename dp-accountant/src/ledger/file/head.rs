//! The file beside a ledger that says how far it goes: see [`FileLedger`](super::FileLedger).
//!
//! ```text
//! dp-accountant ledger head 1 0011…ff0300…00b57989e87cabc8fb #0123456789abcdef
//! dp-accountant ledger head 1 0011…ff0200…00227b34154ce1bfac #89abcdef01234567
//! ```
//!
//! Each line is a [`LedgerMark`] in hexadecimal digits and a checksum of the line. Of the two, the one with more debits
//! counts: a mark takes the place of the older one, so that a process which is killed while it writes leaves the other.
//! A mark is written after its debit is on the disk, and so the ledger is never behind it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::super::format::Chain;
use super::super::{LedgerMark, TITLE};
use super::{failure, refuse_special, shown};
use crate::disk::{folder_of, is_at, sync_folder};
use crate::{Error, Result};

/// Where the head of a ledger is. Symbolic links to the ledger are followed, so that each leads to the same head; hard
/// links are names of their own, and a ledger has to be opened by the same one of them.
pub(super) fn place_of(ledger: &Path) -> PathBuf {
    let mut name = std::fs::canonicalize(ledger).unwrap_or_else(|_| ledger.to_owned()).into_os_string();
    name.push(".head");
    name.into()
}

/// The mark that the head of a ledger holds; `None` where there is no head.
///
/// # Errors
/// [`Error::LedgerHead`] for a file that holds none, and [`Error::LedgerFile`] if the operating system refuses.
pub(super) fn read(place: &Path) -> Result<Option<LedgerMark>> {
    let Some(bytes) = bytes(place)? else { return Ok(None) };
    let marks = bytes.chunks(LINE as usize).filter_map(parsed);
    match marks.max_by_key(LedgerMark::debits) {
        Some(newest) => Ok(Some(newest)),
        None => {
            let reason = "neither of its lines is a mark with its checksum".to_owned();
            Err(Error::LedgerHead { path: shown(place), reason })
        }
    }
}

/// Refuses to put a head in the place of anything else than a head: another file may have this name.
fn refuse_others(place: &Path) -> Result<()> {
    let title = format!("{TITLE}{KIND}");
    let is_head = |bytes: &[u8]| title.as_bytes().starts_with(bytes) || bytes.starts_with(title.as_bytes());
    match bytes(place)? {
        Some(bytes) if !is_head(&bytes) => {
            let reason = "the file with the name of the ledger's head is something else".to_owned();
            Err(Error::LedgerHead { path: shown(place), reason })
        }
        _ => Ok(()),
    }
}

/// The beginning of the file at a head's place, which is all of it if it is a head; `None` where there is none.
fn bytes(place: &Path) -> Result<Option<Vec<u8>>> {
    refuse_special(place)?;
    let mut bytes = Vec::new();
    let read = File::open(place).and_then(|file| file.take(8 * LINE).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(|_| Some(bytes)).map_err(|error| failure(place, &error)),
    }
}

/// The bytes of a line: title, mark, blank, checksum with its sign, line break.
const LINE: u64 = (TITLE.len() + KIND.len() + 64 + 18 + 1) as u64;

/// What follows the title: the kind of file and the version of its format.
const KIND: &str = "head 1 ";

fn line(mark: &LedgerMark) -> String {
    let digits: String = mark.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Chain::start().seal(&format!("{TITLE}{KIND}{digits}")).0
}

fn parsed(bytes: &[u8]) -> Option<LedgerMark> {
    let text = std::str::from_utf8(bytes).ok()?;
    let digits = text.strip_prefix(TITLE)?.strip_prefix(KIND)?.get(..64)?;
    let mut mark = [0; 32];
    for (byte, at) in mark.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    let mark = LedgerMark::from_bytes(mark);
    (line(&mark) == text).then_some(mark)
}

/// A new file beside this one, under a name that nothing has.
fn beside(place: &Path) -> std::io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let mut name = place.to_owned().into_os_string();
        name.push(format!(".{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 100 => number += 1,
            opened => return opened.map(|file| (name.into(), file)),
        }
    }
}

/// Gives a file the permissions of another and, as far as the system lets us, its group.
fn same_rights(of: &File, to: &File) -> std::io::Result<()> {
    let about = of.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(to, None, Some(about.gid()));
    }
    to.set_permissions(about.permissions())
}

/// The head of a ledger that is open.
#[derive(Debug)]
pub(super) struct Head {
    file: File,
    place: PathBuf,
}

impl Head {
    /// A new head, or another in the place of one that is there, with the rights that the ledger's file has: who may
    /// spend from it may write its head.
    pub(super) fn make(ledger: &File, place: PathBuf, mark: &LedgerMark) -> Result<Self> {
        refuse_others(&place)?;
        let denied = |error: std::io::Error| {
            let reason = format!(
                "the head of the ledger cannot be made, for which its folder must be writable: {error}"
            );
            Error::LedgerFile { path: shown(&place), reason }
        };
        let (new, mut file) = beside(&place).map_err(denied)?;
        let written = file
            .write_all(line(mark).repeat(2).as_bytes())
            .and_then(|()| same_rights(ledger, &file))
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&new, &place));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&new);
            return Err(denied(error));
        }
        sync_folder(folder_of(&place)).map_err(|error| failure(&place, &error))?;
        Self::open(place)
    }

    /// One that is there.
    pub(super) fn open(place: PathBuf) -> Result<Self> {
        refuse_special(&place)?;
        match OpenOptions::new().write(true).open(&place) {
            Ok(file) => Ok(Self { file, place }),
            Err(error) => Err(failure(&place, &error)),
        }
    }

    #[cfg(test)]
    pub(super) fn of(file: File, place: PathBuf) -> Self {
        Self { file, place }
    }

    /// Whether it is still where the next process looks for it.
    pub(super) fn is_in_place(&self) -> Result<bool> {
        is_at(&self.file, &self.place).map_err(|error| failure(&self.place, &error))
    }

    /// Writes a mark and brings it to the disk.
    pub(super) fn put(&mut self, mark: &LedgerMark) -> Result<()> {
        let written = self
            .file
            .seek(SeekFrom::Start(mark.debits() % 2 * LINE))
            .and_then(|_| self.file.write_all(line(mark).as_bytes()))
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| failure(&self.place, &error))
    }
}
