//! A checkpoint's file: written beside its place, brought to the disk, renamed.
//!
//! The name of the unfinished file is always the same and the file is locked, for two reasons. Two runs with
//! one checkpoint find each other; and what a killed process leaves, which holds the run's seed, is
//! overwritten by the next checkpoint instead of staying on the disk. Crates for atomic writes
//! (`atomic-write-file` 0.3, `tempfile` 3.27, `atomicwrites` 0.4) choose a new random name for each write and
//! take no lock.

use super::{Checkpoint, format};
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failure(path: &Path, error: &std::io::Error) -> Error {
    Error::Checkpoint { path: shown(path), reason: error.to_string() }
}

/// Whether there is anything at this place.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

pub(super) fn read(path: &Path) -> Result<Checkpoint> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, mut file) = opened.map_err(|error| failure(path, &error))?;
    // All at once: a vector that grows leaves copies of the seed behind.
    let mut bytes =
        Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1)));
    file.read_to_end(&mut bytes).map_err(|error| failure(path, &error))?;
    format::decode(&bytes).map_err(|reason| Error::Checkpoint { path: shown(path), reason })
}

/// Where the file is written before it is renamed: in the same folder, for a file is not renamed across file
/// systems.
fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

pub(super) fn write(path: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let bytes = format::encode(checkpoint);
    let part = part(path);
    let file = open_part(&part).map_err(|error| failure(&part, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let reason = "another process is writing it: two runs have the same checkpoint".to_owned();
            return Err(Error::Checkpoint { path: shown(path), reason });
        }
        Err(TryLockError::Error(error)) => return Err(failure(&part, &error)),
    }
    let written = || -> std::io::Result<()> {
        // What a process that was killed left there.
        file.set_len(0)?;
        (&file).write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&part, path)?;
        // Other systems than Unix do not open folders.
        if cfg!(unix) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    };
    let written = written().map_err(|error| failure(path, &error));
    // Closing is not enough: a process that another thread starts at this moment inherits the open file, and
    // with it the lock.
    let _ = file.unlock();
    written
}

#[cfg(unix)]
fn open_part(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    // One that was there already may have other rights.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_part(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(done: u64) -> Checkpoint {
        let (seed, settings) = (Some(dp_sampler::Seed::for_tests(1)), String::new());
        let paid_from = crate::run::checkpoint::PaidFrom::Own;
        Checkpoint {
            seed,
            secret: false,
            done,
            paid: 9,
            paid_from,
            settings,
            records: [0; 3],
            numbers: vec![],
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dp-vi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = folder("replaced");
        let path = folder.join("run.checkpoint");
        // The rest of a process that was killed, longer than what is written, and open to everybody.
        std::fs::write(folder.join("run.checkpoint.part"), [1; 5000]).unwrap();
        for done in 1..4 {
            write(&path, &checkpoint(done)).unwrap();
            assert_eq!(read(&path).unwrap().done, done);
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error_with_its_name() {
        let folder = folder("missing");
        let path = folder.join("nowhere").join("run.checkpoint");
        assert!(write(&path, &checkpoint(1)).unwrap_err().to_string().contains("nowhere"));
        assert!(read(&path).err().unwrap().to_string().starts_with("checkpoint "));
        assert!(!exists(&path) && exists(&folder));
        // A second writer that holds the lock.
        let path = folder.join("run.checkpoint");
        let other = open_part(&part(&path)).unwrap();
        other.try_lock().unwrap();
        assert!(write(&path, &checkpoint(1)).unwrap_err().to_string().contains("another process"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
