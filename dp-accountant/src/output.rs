//! Output files that appear whole or not at all, and that never take the place of a ledger. Needs the feature
//! `output`.
//!
//! A program that keeps a `FileLedger` and also writes results must not be able to replace the one by the
//! other: with the ledger goes the knowledge of what has been spent. So the writer of output files stands
//! beside the ledger.
//!
//! No crate for atomic writes that was looked at has all that this needs. `atomic-write-file` 0.3
//! synchronises the file and its folder and keeps permissions, but always replaces what is at the path, so
//! that a ledger which another process creates after the check would be lost; `tempfile` 3.27 can refuse to
//! replace, but synchronises neither the file nor the folder; `atomicwrites` 0.4 does both, but does not keep
//! permissions.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::{folder_of, is_at, not_plain};
use crate::ledger::TITLE;
use crate::{Error, Result};

/// Writes `contents` to `path` so that other programs see the former file or the whole new one, and never a
/// part.
///
/// A temporary file in the same folder is written, brought to the disk (`fsync`) and renamed; then the folder
/// is brought to the disk. If anything fails before the rename, the former file keeps its contents and the
/// temporary file is removed. (A process that is killed in between leaves a file named `.dp-output-….tmp`,
/// which may be deleted.) A symbolic link to a plain file is followed and stays a link, and the permissions
/// of a file that is replaced are kept.
///
/// # Errors
/// [`Error::NotReplaceable`] if the path is no name of a file, or if it leads to
/// - a folder, a FIFO, a socket or a device;
/// - a ledger, in any version of the format, also a damaged one, as long as its first words or one of its
///   first lines are left;
/// - a file that another process has locked, as an open ledger is;
/// - a file that is read-only, or that cannot be read, so that it might be a ledger;
/// - nothing, through a symbolic link.
///
/// [`Error::Unwritable`] if the folder is missing or the operating system refuses.
///
/// ```
/// use dp_accountant::output::{check_writable, write_whole};
///
/// let path = std::env::temp_dir().join(format!("dp-accountant-doc-{}.txt", std::process::id()));
/// check_writable(&path)?;
/// assert!(!path.exists()); // checking leaves nothing behind
/// write_whole(&path, b"one")?;
/// write_whole(&path, b"two")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"two");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn write_whole(path: impl AsRef<Path>, contents: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let place = Destination::examine(path)?;
    let write = || {
        let mut temporary = Temporary::beside(&place)?;
        temporary.file.write_all(contents)?;
        place.fill(temporary)
    };
    write().map_err(|error| unwritable(path, &error))
}

/// Checks that [`write_whole`] could write to `path` now, and leaves nothing behind.
///
/// For use before a long computation whose result would otherwise be lost.
///
/// # Errors
/// Those of [`write_whole`].
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let place = Destination::examine(path)?;
    Temporary::beside(&place).map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Unwritable { path: path.display().to_string(), reason: error.to_string() }
}

/// Where a file is to appear, links followed, and what is there now.
#[derive(Debug)]
struct Destination {
    target: PathBuf,
    former: Option<Former>,
}

/// A plain file that may be replaced.
#[derive(Debug)]
struct Former {
    /// Open and, where the file system has locks, locked: while it is, nobody can make a ledger of it.
    file: File,
    permissions: Permissions,
}

impl Destination {
    fn examine(path: &Path) -> Result<Self> {
        let refused = |reason: String| Error::NotReplaceable { path: path.display().to_string(), reason };
        let failed = |error: io::Error| unwritable(path, &error);
        // "folder/.." has no file name, and "folder/" has one that hides the slash.
        let slash = path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        if path.file_name().is_none() || slash {
            return Err(refused("this is no name of a file".into()));
        }
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.symlink_metadata().is_ok() {
                    return Err(refused("it is a symbolic link to nothing".into()));
                }
                let folder = folder_of(path);
                if !folder.is_dir() {
                    let error = io::Error::other(format!("there is no folder {}", folder.display()));
                    return Err(failed(error));
                }
                return Ok(Self { target: path.to_owned(), former: None });
            }
            Err(error) => return Err(failed(error)),
        };
        if let Some(reason) = not_plain(&found) {
            return Err(refused(reason));
        }
        // Renaming needs no right to write the former file, so that right is asked for here.
        if found.permissions().readonly() {
            return Err(refused("it is read-only".into()));
        }
        let target = fs::canonicalize(path).map_err(failed)?;
        let mut file = File::open(&target)
            .map_err(|error| refused(format!("it cannot be read, so that it might be a ledger ({error})")))?;
        let ledger = || refused("it is a ledger: without it, what has been spent would be forgotten".into());
        if is_ledger(&mut file).map_err(failed)? {
            return Err(ledger());
        }
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                return Err(refused("another process has it open and locked".into()));
            }
            // Without locks there are no ledgers on this file system either: opening one is an error.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // An empty file may have become one before it was locked.
        if is_ledger(&mut file).map_err(failed)? {
            return Err(ledger());
        }
        Ok(Self { target, former: Some(Former { file, permissions: found.permissions() }) })
    }

    /// Brings a temporary file to the disk and gives it its name.
    fn fill(&self, mut temporary: Temporary) -> io::Result<()> {
        // The handle is opened first, so that the one step that cannot be taken back comes last. A folder
        // that may be searched and not listed cannot be opened; then the name reaches the disk when the
        // operating system likes.
        let folder = if cfg!(unix) { File::open(folder_of(&self.target)).ok() } else { None };
        match &self.former {
            Some(former) => {
                temporary.file.set_permissions(former.permissions.clone())?;
                temporary.file.sync_all()?;
                // What has come to this place since it was examined has not been examined.
                if !is_at(&former.file, &self.target)? {
                    return Err(io::Error::other("it was moved or replaced meanwhile"));
                }
                fs::rename(&temporary.path, &self.target)?;
                temporary.renamed = true;
            }
            None => {
                temporary.file.sync_all()?;
                // A second name replaces nothing, unlike a rename. The first one goes when the temporary file
                // is dropped.
                match fs::hard_link(&temporary.path, &self.target) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                    Err(_) if self.target.symlink_metadata().is_ok() => {
                        return Err(io::ErrorKind::AlreadyExists.into());
                    }
                    // A file system without second names.
                    Err(_) => {
                        fs::rename(&temporary.path, &self.target)?;
                        temporary.renamed = true;
                    }
                    Ok(()) => {}
                }
            }
        }
        drop(temporary);
        match folder.map_or(Ok(()), |folder| folder.sync_all()) {
            // File systems that cannot do this for folders say so.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            done => done,
        }
    }
}

/// Whether a file begins as a ledger does in any version of the format, holds nothing but the beginning of
/// such a beginning (a creation that was interrupted), or has a line near its start that is sealed as the
/// lines of ledgers are.
fn is_ledger(file: &mut File) -> io::Result<bool> {
    const LOOKED_AT: u64 = 1 << 16;
    let mut start = Vec::new();
    file.rewind()?;
    file.take(LOOKED_AT).read_to_end(&mut start)?;
    let title = TITLE.as_bytes();
    let titled = start.starts_with(title) || (!start.is_empty() && title.starts_with(&start));
    Ok(titled || start.split(|&byte| byte == b'\n').any(is_sealed))
}

/// Whether a line ends in a blank, a number sign and the sixteen digits of a checksum.
fn is_sealed(line: &[u8]) -> bool {
    let digits = line.trim_ascii_end().last_chunk::<18>().and_then(|seal| seal.strip_prefix(b" #"));
    digits.is_some_and(|digits| digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// A new file that is removed when dropped unless it was renamed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Temporary {
    fn beside(place: &Destination) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = folder_of(&place.target);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // What replaces a file is at no time open to more people than that file.
        #[cfg(unix)]
        if place.former.is_some() {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        // The process and a counter make the name new among running processes. A file left by a process that
        // was killed may still have it, so a few names are tried; `create_new` never opens what is there.
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..100 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".dp-output-{}-{count}.tmp", std::process::id()));
            match options.open(&path) {
                Ok(file) => return Ok(Self { path, file, renamed: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
