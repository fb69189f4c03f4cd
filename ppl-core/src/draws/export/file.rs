//! Files that are there whole or not at all.

use crate::base::{Error, Result};
use std::fs::{self, File};
use std::path::Path;

/// Writes a file beside its place and then moves it there; what stood there before stays until then.
pub(super) fn replace(path: &Path, write: impl FnOnce(File) -> Result<File>) -> Result<()> {
    let told = |what: &str, error: std::io::Error| Error::File {
        path: path.display().to_string(),
        problem: format!("{what}: {error}"),
    };
    let Some(name) = path.file_name() else {
        let problem = "this is no name of a file".to_owned();
        return Err(Error::File { path: path.display().to_string(), problem });
    };
    let mut beside = name.to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let file = File::create_new(&beside).map_err(|error| told("cannot be created", error))?;
    let written =
        write(file).and_then(|file| file.sync_all().map_err(|error| told("cannot be written", error)));
    let moved = written
        .and_then(|()| fs::rename(&beside, path).map_err(|error| told("cannot be put in place", error)));
    if moved.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    moved
}
