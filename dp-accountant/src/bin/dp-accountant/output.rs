//! Files that appear whole or not at all.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Writes a new file beside the wanted one, brings it to the disk and renames it. What was there before stays until then.
pub(crate) fn write_whole(path: &Path, contents: &str) -> Outcome<()> {
    let failed = |error: std::io::Error| Failure::Other(format!("{}: {error}", path.display()));
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(Failure::Usage(format!("{}: expected the name of a file", path.display())));
    };
    let mut beside = name.to_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(beside);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(contents.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        // Nothing is left behind, as far as that is possible.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}
