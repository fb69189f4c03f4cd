//! The folder of a twin. What was paid for is written first, and elsewhere where there is no room; what can be made
//! again from it comes after.

use std::path::{Path, PathBuf};

use dp_accountant::{Composition, Ledger};
use dp_sampler::{Purpose, Seed};

use super::files::privacy_json;
use super::model::Model;
use super::sample::to_csv;
use super::uncertainty::Sizes;
use super::{Error, Result};
use crate::output::{check_writable, rescue, write_whole};

/// What was paid for, as it is written: nothing of it can be had again without paying once more.
#[derive(Debug, Clone, PartialEq)]
pub struct Paid {
    /// `model.json`.
    pub model: Vec<u8>,
    /// `privacy.json`.
    pub privacy: Vec<u8>,
}

impl Paid {
    /// The model, and what was spent for it.
    ///
    /// # Errors
    /// None after a debit that was made.
    pub fn new(model: &Model, sizes: Sizes, events: &Composition, ledger: &Ledger) -> Result<Self> {
        Ok(Self { model: model.to_json()?, privacy: privacy_json(model, sizes, events, ledger)? })
    }

    fn files(&self) -> [(&'static str, &[u8]); 2] {
        [("model.json", &self.model), ("privacy.json", &self.privacy)]
    }

    /// Writes both into a folder, which is made if there is none: both are there, or none is. With `replace` the files
    /// of a folder that exists are replaced, each whole, and rows and page of its former model are removed.
    ///
    /// # Errors
    /// A folder that exists, without `replace`; whatever the disk refuses. Then both are in a new folder among
    /// the system's temporary files, which the message names. Where that cannot be written either, the error is
    /// [`Error::Unsaved`], which holds the model.
    pub fn write(&self, folder: &Path, replace: bool) -> Result<()> {
        let placed = check_folder(folder, replace).and_then(|()| match folder.exists() {
            true => self.replace(folder),
            false => self.place(folder),
        });
        placed.map_err(|error| match rescue("twin", &self.files()) {
            Some(place) => Error::input(format!(
                "{error}; the model was paid for, and is in {0} with its privacy statement: `twin sample {0}/model.json` draws \
                 rows, and `twin report` makes the page",
                place.display()
            )),
            None => Error::Unsaved { reason: error.to_string(), model: self.model.clone() },
        })
    }

    /// Into a hidden folder first, which is then renamed.
    fn place(&self, folder: &Path) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::input(format!("{}: cannot be written: {error}", folder.display()));
        let hidden = hidden(folder)?;
        std::fs::create_dir(&hidden).map_err(failed)?;
        let written = self
            .files()
            .iter()
            .try_for_each(|(name, bytes)| -> Result<()> { Ok(write_whole(&hidden.join(name), bytes)?) });
        let placed = written.and_then(|()| std::fs::rename(&hidden, folder).map_err(failed));
        if placed.is_err() {
            // Half of it is of no use to anybody.
            let _ = std::fs::remove_dir_all(&hidden);
        }
        placed
    }

    fn replace(&self, folder: &Path) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::input(format!("{}: cannot be written: {error}", folder.display()));
        // Both are on the disk before anything of the former model goes: what does not fit leaves that whole.
        let new = |name: &str| folder.join(format!(".{name}.{}", std::process::id()));
        let written = self
            .files()
            .iter()
            .try_for_each(|(name, bytes)| -> Result<()> { Ok(write_whole(&new(name), bytes)?) });
        let placed = written.and_then(|()| {
            // A run that is killed here leaves a model without a statement, and none beside another's.
            remove(&folder.join("privacy.json")).map_err(failed)?;
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_str().is_some_and(is_made) {
                    // What cannot be removed is replaced, or the error comes from there.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
            self.files()
                .iter()
                .try_for_each(|(name, _)| std::fs::rename(new(name), folder.join(name)).map_err(failed))
        });
        if placed.is_err() {
            self.files().iter().for_each(|(name, _)| drop(std::fs::remove_file(new(name))));
        }
        placed
    }
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file of a twin's folder can be made again from its model.
fn is_made(name: &str) -> bool {
    let number = name.strip_prefix("twin-").and_then(|rest| rest.strip_suffix(".csv"));
    let numbered =
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    matches!(name, "twin.csv" | "report.html") || numbered
}

/// Draws rows from a model and writes them with the page into the folder of the model. Several twins are drawn
/// independently, each from a [redrawn](Model::redraw) model, and written one by one.
///
/// # Errors
/// Too many rows; whatever the disk refuses. The model is in the folder all the same, and the message says so.
pub fn write_made(folder: &Path, model: &Model, sizes: Sizes, seed: &Seed) -> Result<()> {
    let write = |name: &str, bytes: &[u8]| -> Result<()> { Ok(write_whole(&folder.join(name), bytes)?) };
    let made = || {
        let streams = seed.streams(Purpose::Custom("rows of a twin"));
        // What the page shows, also of several twins.
        let shown = model.sample(Sizes { twins: 1, ..sizes }.rows_of_each(model), streams.at(0))?;
        match sizes.twins {
            1 => write("twin.csv", &to_csv(model, &shown)?)?,
            twins => {
                let rows = sizes.rows_of_each(model);
                for number in 1..=twins {
                    let redrawn = model.redraw(streams.at(2 * number))?;
                    let drawn = redrawn.sample_independently(rows, streams.at(2 * number + 1))?;
                    write(&format!("twin-{number}.csv"), &to_csv(&redrawn, &drawn)?)?;
                }
            }
        }
        write("report.html", super::report(model, &shown, None).as_bytes())
    };
    made().map_err(|error: Error| {
        Error::input(format!(
            "{error}; the model was paid for, and is in {0}: `twin sample {0}` draws rows{1}, and `twin report` makes the page",
            folder.join("model.json").display(),
            if sizes.twins > 1 { ", with --redrawn those of one of several twins" } else { "" }
        ))
    })
}

/// Checks that [`Paid::write`] could begin, before anything is paid for.
///
/// # Errors
/// As there.
pub fn check_folder(folder: &Path, replace: bool) -> Result<()> {
    if folder.exists() {
        return match (folder.is_dir(), replace) {
            (true, true) => ["model.json", "privacy.json", "twin.csv", "report.html"]
                .iter()
                .try_for_each(|name| Ok(check_writable(&folder.join(name))?)),
            (true, false) => {
                Err(Error::input(format!("{}: exists already; --overwrite replaces it", folder.display())))
            }
            _ => Err(Error::input(format!("{}: is not a folder", folder.display()))),
        };
    }
    // Where a file could be written, a folder can. Components have no separator at the end, which the name of a
    // folder may have and that of a file may not.
    Ok(check_writable(&folder.components().collect::<PathBuf>())?)
}

/// Checks that none of these is a file of a folder whose files are replaced.
///
/// # Errors
/// One that is.
pub fn check_inputs(folder: &Path, inputs: &[&Path]) -> Result<()> {
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let is_replaced = |input: &&&Path| {
        let Ok(whole) = input.canonicalize() else { return false };
        let name = whole.file_name().and_then(|name| name.to_str());
        let is_own = name.is_some_and(|name| is_made(name) || matches!(name, "model.json" | "privacy.json"));
        is_own && whole.parent() == Some(folder.as_path())
    };
    match inputs.iter().find(is_replaced) {
        Some(input) => Err(Error::input(format!(
            "{}: --overwrite would replace it, and it is read: name another folder for --out",
            input.display()
        ))),
        None => Ok(()),
    }
}

fn hidden(folder: &Path) -> Result<PathBuf> {
    let name = folder.file_name().ok_or_else(|| Error::input("the name of a folder is needed"))?;
    Ok(folder.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    fn paid() -> Paid {
        Paid { model: b"{\"a\":1}\n".to_vec(), privacy: b"{}\n".to_vec() }
    }

    /// Where the folder cannot be made after all, what was paid for is in a place that the message names.
    #[test]
    fn what_was_paid_for_is_rescued() {
        let folder = TestFolder::new();
        // The folder that --out was to be in has gone since it was checked.
        let told = paid().write(&folder.0.join("gone/out"), false).unwrap_err().to_string();
        let place = told.split_once("is in ").unwrap().1.split_once(" with its").unwrap().0;
        let place = Path::new(place);
        assert_eq!(std::fs::read(place.join("model.json")).unwrap(), paid().model, "{told}");
        assert_eq!(std::fs::read(place.join("privacy.json")).unwrap(), paid().privacy);
        std::fs::remove_dir_all(place).unwrap();
        // And where something else has taken its name.
        std::fs::create_dir(folder.0.join("out")).unwrap();
        let told = paid().write(&folder.0.join("out"), false).unwrap_err().to_string();
        assert!(told.contains("exists already") && told.contains("was paid for"), "{told}");
        let place = Path::new(told.split_once("is in ").unwrap().1.split_once(" with its").unwrap().0);
        std::fs::remove_dir_all(place).unwrap();
        assert_eq!(std::fs::read_dir(folder.0.join("out")).unwrap().count(), 0);
    }

    /// Where the statement cannot be replaced, nothing of the new model is beside the former one.
    #[test]
    fn a_former_statement_is_not_beside_a_new_model() {
        let folder = TestFolder::new();
        std::fs::write(folder.0.join("model.json"), "old").unwrap();
        std::fs::create_dir(folder.0.join("privacy.json")).unwrap();
        let told = paid().replace(&folder.0).unwrap_err().to_string();
        assert!(told.contains("cannot be written"), "{told}");
        assert_eq!(std::fs::read(folder.0.join("model.json")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
    }

    #[test]
    fn rows_of_a_former_model_do_not_stay() {
        let folder = TestFolder::new();
        for name in
            ["twin.csv", "twin-3.csv", "report.html", "model.json", "twin-a.csv", "twin-.csv", "mine.csv"]
        {
            std::fs::write(folder.0.join(name), "old").unwrap();
        }
        assert!(paid().write(&folder.0, false).is_err());
        paid().write(&folder.0, true).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["mine.csv", "model.json", "privacy.json", "twin-.csv", "twin-a.csv"]);
        assert_eq!(std::fs::read(folder.0.join("model.json")).unwrap(), paid().model);
    }

    /// The table that is read is not one of the files that are replaced, whatever it is called by.
    #[test]
    fn a_table_in_the_folder_that_is_replaced_is_refused() {
        let folder = TestFolder::new();
        let out = folder.0.join("d");
        std::fs::create_dir(&out).unwrap();
        for name in ["twin.csv", "twin-2.csv", "model.json", "people.csv"] {
            std::fs::write(out.join(name), "x\n1\n").unwrap();
        }
        let refused = |path: PathBuf| check_inputs(&out, &[&path]).is_err();
        assert!(
            refused(out.join("twin.csv"))
                && refused(out.join("twin-2.csv"))
                && refused(out.join("model.json"))
        );
        assert!(refused(out.join("../d/twin.csv")));
        // It stays where it is.
        assert!(!refused(out.join("people.csv")) && !refused(folder.0.join("twin.csv")));
    }
}
