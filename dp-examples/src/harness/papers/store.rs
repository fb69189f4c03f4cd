//! The folder of results: a file for each run, written whole when the run ends.

use std::fs;
use std::path::{Path, PathBuf};

use super::experiment::{Experiment, Outcome, Size};
use super::find;
use crate::harness::utility::Failure;
use crate::output::{check_writable, write_whole};

/// A folder that holds runs of one size, and of one kind of settings for each experiment.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    outcomes: Vec<Outcome>,
}

impl Store {
    /// A folder to write to, made where there is none.
    ///
    /// # Errors
    ///
    /// A folder that cannot be made, read or written, and one that holds anything else in JSON than runs of
    /// this size with the settings that experiments have now: they would be mixed.
    pub fn create(folder: &Path, size: Size) -> Result<Self, Failure> {
        let told = |error: &dyn std::fmt::Display| Failure::from(format!("{}: {error}", folder.display()));
        if folder.exists() && !folder.is_dir() {
            return Err(told(&"it is a file, expected a folder for results"));
        }
        if !folder.exists() {
            fs::create_dir(folder).map_err(|error| told(&format!("cannot be made: {error}")))?;
        }
        check_writable(&folder.join("probe.json"))?;
        let store = Self::open(folder)?;
        for outcome in &store.outcomes {
            if outcome.size != size {
                let (has, wanted) = (outcome.size.pick("full", "quick"), size.pick("full", "quick"));
                return Err(told(&format!(
                    "it holds {has} runs, and these are {wanted} ones: name another folder"
                )));
            }
        }
        Ok(store)
    }

    /// A folder to read.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, and a JSON file in it that is not a run of an experiment as it is now.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let unreadable =
            |path: &Path, why: &dyn std::fmt::Display| Failure::from(format!("{}: {why}", path.display()));
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
            let path = entry.map_err(|error| unreadable(folder, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut outcomes = Vec::new();
        for path in paths {
            let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
            let outcome: Outcome = serde_json::from_slice(&bytes)
                .map_err(|error| unreadable(&path, &format!("not a run of this program: {error}")))?;
            let experiment = find(&outcome.experiment).map_err(|error| unreadable(&path, &error))?;
            // Through text, as the file's have been: numbers may differ in their last digit after it.
            let text = serde_json::to_string(&(experiment.settings)(outcome.size))?;
            let now: serde_json::Value = serde_json::from_str(&text)?;
            if now != outcome.settings || outcome.version != env!("CARGO_PKG_VERSION") {
                let why = "it is of other settings than this program's; name another folder";
                return Err(unreadable(&path, &why));
            }
            outcomes.push(outcome);
        }
        if let [first, others @ ..] = &outcomes[..]
            && others.iter().any(|other: &Outcome| other.size != first.size)
        {
            return Err(unreadable(folder, &"it holds quick and full runs"));
        }
        outcomes.sort_by(|a, b| (&a.experiment, a.seed).cmp(&(&b.experiment, b.seed)));
        Ok(Self { folder: folder.to_owned(), outcomes })
    }

    /// All runs that were there when the folder was opened.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// A run that was there already.
    #[must_use]
    pub fn find(&self, experiment: &Experiment, seed: u64) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.experiment == experiment.name && outcome.seed == seed)
    }

    /// Writes a run.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(&self, outcome: &Outcome) -> Result<(), Failure> {
        let path = self.folder.join(format!("{}.{}.json", outcome.experiment, outcome.seed));
        let mut text = serde_json::to_string_pretty(outcome)?;
        text.push('\n');
        Ok(write_whole(&path, text.as_bytes())?)
    }
}
