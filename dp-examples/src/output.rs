//! Files that appear whole or not at all, written by the one writer that all programs share,
//! [`dp_accountant::output`].

use std::path::{Path, PathBuf};

use dp_accountant::output;

use crate::{Error, Result};

/// Writes `contents` to `path` so that other programs see the former file or the whole new one, and never a
/// part.
///
/// See [`dp_accountant::output::write_whole`] for what it does and what it refuses to replace: folders,
/// FIFOs, sockets, devices, and ledgers above all.
///
/// # Errors
///
/// [`Error::Unwritable`] with the reason.
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
    output::write_whole(path, contents).map_err(|error| unwritable(path, error))
}

/// Checks that [`write_whole`] could write to `path` now, and leaves nothing behind.
///
/// For use before a long computation whose result would otherwise be lost.
///
/// # Errors
///
/// As [`write_whole`].
pub fn check_writable(path: &Path) -> Result<()> {
    output::check_writable(path).map_err(|error| unwritable(path, error))
}

/// Rows of cells as CSV text.
///
/// # Errors
///
/// [`Error::Unwritable`] for rows of different lengths, and for cells that are not UTF-8.
pub(crate) fn csv_text<R>(rows: impl IntoIterator<Item = R>) -> Result<String>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let failed = |reason: String| Error::Unwritable { file: "a table".to_owned(), reason };
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// Writes files that would be lost otherwise into a new folder among the system's temporary files, which only this user
/// can read where the system has such rights; the folder, or `None` where that fails, too. Nothing is left then.
pub fn rescue(name: &str, files: &[(&str, &[u8])]) -> Option<PathBuf> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let process = std::process::id();
    let mut places = (0..100).map(|n| std::env::temp_dir().join(format!("{name}-rescued-{process}-{n}")));
    let place = places.find(|place| builder.create(place).is_ok())?;
    let written = files.iter().try_for_each(|(name, bytes)| write_whole(&place.join(name), bytes));
    if written.is_err() {
        let _ = std::fs::remove_dir_all(&place);
        return None;
    }
    Some(place)
}

fn unwritable(path: &Path, error: dp_accountant::Error) -> Error {
    let reason = match error {
        dp_accountant::Error::NotReplaceable { reason, .. }
        | dp_accountant::Error::Unwritable { reason, .. } => reason,
        other => other.to_string(),
    };
    Error::Unwritable { file: path.display().to_string(), reason }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

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
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_would_be_lost_is_rescued() {
        let place = rescue("test", &[("a.json", b"a"), ("b.json", b"b")]).unwrap();
        let other = rescue("test", &[("a.json", b"c")]).unwrap();
        assert_ne!(place, other);
        assert_eq!(fs::read(place.join("a.json")).unwrap(), b"a");
        assert_eq!(fs::read(place.join("b.json")).unwrap(), b"b");
        assert_eq!(fs::read(other.join("a.json")).unwrap(), b"c");
        fs::remove_dir_all(place).unwrap();
        fs::remove_dir_all(other).unwrap();
        assert_eq!(rescue("test", &[("no/such/folder.json", b"a")]), None);
    }

    #[test]
    fn refusals_name_the_file_as_it_was_given_and_the_reason_once() {
        let folder = TestFolder::new();
        let missing = check_writable(&folder.0.join("none/out.json")).unwrap_err().to_string();
        assert!(missing.contains("none/out.json: cannot be written: there is no folder"), "{missing}");
        let directory = write_whole(&folder.0, b"x").unwrap_err().to_string();
        assert!(directory.ends_with("cannot be written: it is a folder, not a plain file"), "{directory}");
        for path in ["", "..", "/"] {
            let error = write_whole(Path::new(path), b"x").unwrap_err().to_string();
            assert!(error.ends_with("cannot be written: this is no name of a file"), "{error}");
            assert_eq!(error.matches("cannot be written").count(), 1, "{error}");
        }
    }
}
