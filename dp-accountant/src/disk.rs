//! What ledgers and output files share: which files may be touched at all, and what brings them to the disk.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Brings the names of a folder's files to the disk: a new file whose name is not there is lost in a crash.
#[cfg(feature = "ledger-file")]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems than Unix do not open folders.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Why something is not a plain file; `None` for a plain file. Symbolic links have been followed.
pub(crate) fn not_plain(found: &Metadata) -> Option<String> {
    (!found.is_file()).then(|| format!("it is {}, not a plain file", kind(found)))
}

fn kind(found: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return "a FIFO (a named pipe)";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a folder" } else { "something special" }
}

/// Whether an open file is still the one at this place, or has been moved, removed or replaced since it was
/// opened.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let open = file.metadata()?;
        Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
    }
    // Elsewhere an open file can be neither replaced nor removed, and the standard library gives files no
    // identity.
    #[cfg(not(unix))]
    {
        let _ = (file, there);
        Ok(true)
    }
}
