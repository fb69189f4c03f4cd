//! Where runs find their files, and how large they are.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::experiment::Size;
use crate::harness::utility::Failure;
use crate::table::Table;

/// A data file of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// Its name in the folder `data` of `$DP_DATA`.
    pub file: &'static str,
    /// Hash (BLAKE3) of the file that the published figures were measured on; empty where none was at hand.
    pub hash: &'static str,
}

/// What a run sees of the world: a size, and files by their names.
///
/// ```
/// use dp_examples::harness::papers::{Lab, Size};
///
/// let lab = Lab::new(Size::Quick, None);
/// assert!(lab.warnings().is_empty() && lab.hashes().is_empty());
/// ```
#[derive(Debug)]
pub struct Lab {
    size: Size,
    folder: Option<PathBuf>,
    /// Hashes of the files that were read.
    hashes: Mutex<BTreeMap<String, String>>,
    warnings: Mutex<BTreeSet<String>>,
}

impl Lab {
    /// Runs of this size, on the files in the folder `data` of this one.
    #[must_use]
    pub fn new(size: Size, folder: Option<PathBuf>) -> Self {
        Self { size, folder, hashes: Mutex::default(), warnings: Mutex::default() }
    }

    /// How large the runs are.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Whether runs are on stand-ins, so that no file is read.
    pub(super) fn is_quick(&self) -> bool {
        self.size == Size::Quick
    }

    fn place(&self, input: &Input) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("data").join(input.file))
    }

    /// Those of an experiment's files that are not there.
    #[must_use]
    pub fn missing<'i>(&self, inputs: &'i [Input]) -> Vec<&'i str> {
        let is_there = |input: &Input| self.place(input).is_some_and(|path| path.is_file());
        inputs.iter().filter(|input| !self.is_quick() && !is_there(input)).map(|input| input.file).collect()
    }

    /// Whether all of these files are there; experiments may have a use for files that they do not need.
    pub(super) fn has(&self, inputs: &[Input]) -> bool {
        self.missing(inputs).is_empty()
    }

    /// The path of a file, whose hash is taken note of; another one than expected is a warning.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub(super) fn path(&self, input: &Input) -> Result<PathBuf, Failure> {
        let path =
            self.place(input).ok_or("there is no folder of data: set DP_DATA to one that holds data/")?;
        if !lock(&self.hashes).contains_key(input.file) {
            let found = hash(&path)?;
            if found != input.hash && !input.hash.is_empty() {
                let told = format!(
                    "{}: not the file that the published figures were measured on (its hash differs)",
                    path.display()
                );
                lock(&self.warnings).insert(told);
            }
            lock(&self.hashes).insert(input.file.to_owned(), found);
        }
        Ok(path)
    }

    /// A CSV file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is none of columns.
    pub(super) fn table(&self, input: &Input) -> Result<Table, Failure> {
        Ok(Table::read(&self.path(input)?)?)
    }

    /// What to know of the files that were read.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).iter().cloned().collect()
    }

    /// Hashes of the files that were read, by name.
    #[must_use]
    pub fn hashes(&self) -> BTreeMap<String, String> {
        lock(&self.hashes).clone()
    }
}

/// A thread that panicked leaves what it had noted.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The hash of a file's bytes as they are on disk, compressed or not.
fn hash(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| crate::Error::Unreadable {
        file: path.display().to_string(),
        reason: error.to_string(),
    };
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut bytes).map_err(unreadable)?;
        if count == 0 {
            break;
        }
        hasher.update(&bytes[..count]);
    }
    Ok(hasher.finalize().to_hex().to_string())
}
