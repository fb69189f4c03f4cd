//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Writes `contents` to `path` so that other programs see the old file, or the whole new one, and never a part.
///
/// A temporary file in the same folder is written, flushed to the disk and then renamed. Where anything fails it is
/// removed and an existing file keeps its contents. A symbolic link is followed, and the permissions of a file that
/// is replaced are kept.
///
/// # Errors
///
/// [`Error::Unwritable`] with the reason: the folder is missing, the path is a folder or a device, the existing file
/// is read-only, or what the operating system says.
///
/// # Examples
///
/// ```
/// use dp_examples::output::{check_writable, write_whole};
///
/// let path = std::env::temp_dir().join(format!("dp-examples-doc-{}.txt", std::process::id()));
/// check_writable(&path)?;
/// assert!(!path.exists()); // checking leaves nothing behind
/// write_whole(&path, b"one")?;
/// write_whole(&path, b"two")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"two");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<()> {
    let (target, permissions) = target(path)?;
    write_then_rename(&target, permissions, contents).map_err(|error| unwritable(path, error.to_string()))
}

/// Checks that [`write_whole`] could write to `path` now, and leaves nothing behind.
///
/// For use before a long computation whose result would otherwise be lost.
///
/// # Errors
///
/// As [`write_whole`].
pub fn check_writable(path: &Path) -> Result<()> {
    let (target, _) = target(path)?;
    Temporary::beside(&target).map(drop).map_err(|error| unwritable(path, error.to_string()))
}

fn unwritable(path: &Path, reason: impl Into<String>) -> Error {
    Error::Unwritable { file: path.display().to_string(), reason: reason.into() }
}

/// The file to replace, links followed, and the permissions it has where it exists.
fn target(path: &Path) -> Result<(PathBuf, Option<fs::Permissions>)> {
    if path.file_name().is_none() {
        return Err(unwritable(path, "expected the name of a file"));
    }
    match fs::metadata(path) {
        // Renaming over a device or a pipe would put a plain file in its place.
        Ok(metadata) if !metadata.is_file() => Err(unwritable(path, "it exists and is not a plain file")),
        // Renaming needs no right to write the old file, so that right is checked here.
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(unwritable(path, "it exists and is read-only"))
        }
        Ok(metadata) => {
            let target = fs::canonicalize(path).map_err(|error| unwritable(path, error.to_string()))?;
            Ok((target, Some(metadata.permissions())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                return Err(unwritable(path, "it is a symbolic link to nothing"));
            }
            let folder = folder_of(path);
            if !folder.is_dir() {
                return Err(unwritable(path, format!("there is no folder {}", folder.display())));
            }
            Ok((path.to_owned(), None))
        }
        Err(error) => Err(unwritable(path, error.to_string())),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn write_then_rename(target: &Path, permissions: Option<fs::Permissions>, contents: &[u8]) -> io::Result<()> {
    let mut temporary = Temporary::beside(target)?;
    temporary.file.write_all(contents)?;
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, target)?;
    temporary.renamed = true;
    // The rename itself lasts once the folder is flushed. Not every file system can, and the file is whole anyway.
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A new file that is removed when dropped unless it was renamed.
struct Temporary {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Temporary {
    fn beside(target: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // The process and a counter make the name new among running processes. A file left by a process that was
        // killed may still have it, so a few names are tried; `create_new` never opens what is there.
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..100 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder_of(target).join(format!(".dp-examples-{}-{count}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Self { path, file, renamed: false });
                }
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
pub(crate) mod tests {
    use super::*;

    /// A folder of its own for one test, removed afterwards.
    pub(crate) struct TestFolder(pub(crate) PathBuf);

    impl TestFolder {
        pub(crate) fn new() -> Self {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("dp-examples-test-{}-{count}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn replaces_a_file_and_leaves_nothing_else() {
        let folder = TestFolder::new();
        let path = folder.0.join("out.json");
        write_whole(&path, b"one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_whole(&path, b"longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"longer");
        assert_eq!(folder.names(), ["out.json"]);
    }

    #[test]
    fn checking_leaves_nothing() {
        let folder = TestFolder::new();
        let path = folder.0.join("out.json");
        check_writable(&path).unwrap();
        assert!(folder.names().is_empty());
        write_whole(&path, b"kept").unwrap();
        check_writable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        assert_eq!(folder.names(), ["out.json"]);
    }

    #[test]
    fn destinations_that_cannot_be() {
        let folder = TestFolder::new();
        let missing = check_writable(&folder.0.join("none/out.json")).unwrap_err().to_string();
        assert!(missing.contains("none/out.json: cannot be written: there is no folder"), "{missing}");
        let directory = check_writable(&folder.0).unwrap_err().to_string();
        assert!(directory.ends_with("cannot be written: it exists and is not a plain file"), "{directory}");
        for path in ["", "..", "/"] {
            let error = write_whole(Path::new(path), b"x").unwrap_err().to_string();
            assert!(error.ends_with("cannot be written: expected the name of a file"), "{error}");
        }
        fs::write(folder.0.join("file"), b"x").unwrap();
        assert!(matches!(check_writable(&folder.0.join("file/out.json")), Err(Error::Unwritable { .. })));
        assert_eq!(folder.names(), ["file"]);
    }

    #[test]
    fn a_failure_keeps_the_old_file_and_removes_the_new_one() {
        let folder = TestFolder::new();
        // Renaming a file over a folder fails after the contents were written.
        let target = folder.0.join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("old"), b"old").unwrap();
        assert!(write_then_rename(&target, None, b"new").is_err());
        assert_eq!(folder.names(), ["target"]);
        assert_eq!(fs::read(target.join("old")).unwrap(), b"old");
    }

    #[test]
    fn read_only_files_stay() {
        let folder = TestFolder::new();
        let path = folder.0.join("out.json");
        fs::write(&path, b"kept").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = write_whole(&path, b"new").unwrap_err().to_string();
        assert!(error.ends_with("cannot be written: it exists and is read-only"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"kept");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = TestFolder::new();
        let (file, link, nowhere) = (folder.0.join("file"), folder.0.join("link"), folder.0.join("nowhere"));
        fs::write(&file, b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        symlink(folder.0.join("none"), &nowhere).unwrap();
        write_whole(&link, b"new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(write_whole(&nowhere, b"x").is_err());
        assert!(write_whole(Path::new("/dev/null"), b"x").is_err());
    }
}
