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
    let part = part(path);
    let file = open_part(&part).map_err(|error| failure(&part, &error))?;
    write_into(file, &part, path, checkpoint)
}

/// Writes into the unfinished file that was opened, and renames it.
fn write_into(file: File, part: &Path, path: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let bytes = format::encode(checkpoint);
    let two_runs = || {
        let reason = "another process is writing it: two runs have the same checkpoint".to_owned();
        Error::Checkpoint { path: shown(path), reason }
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(two_runs()),
        Err(TryLockError::Error(error)) => return Err(failure(part, &error)),
    }
    // Another writer may have renamed what was opened here before it was locked: then it is the checkpoint itself.
    if !is_at(&file, part) {
        return Err(two_runs());
    }
    let written = || -> std::io::Result<()> {
        // What a process that was killed left there.
        file.set_len(0)?;
        (&file).write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(part, path)?;
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

/// Whether an open file is still the one at this place.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |data: std::fs::Metadata| (data.dev(), data.ino());
    file.metadata().ok().map(place).is_some_and(|own| path.symlink_metadata().ok().map(place) == Some(own))
}

/// Elsewhere a file has no number that the standard library shows.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
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

    /// Opened before another writer renamed it and locked after: what is open is the other one's checkpoint.
    #[cfg(unix)]
    #[test]
    fn a_writer_that_comes_late_does_not_touch_what_another_has_written() {
        let folder = folder("late");
        let path = folder.join("run.checkpoint");
        let late = open_part(&part(&path)).unwrap();
        write(&path, &checkpoint(1)).unwrap();
        let told = write_into(late, &part(&path), &path, &checkpoint(2)).unwrap_err().to_string();
        assert!(told.contains("two runs"), "{told}");
        assert_eq!(read(&path).unwrap().done, 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
