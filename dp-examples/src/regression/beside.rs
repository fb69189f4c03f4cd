//! What a fit keeps beside its checkpoint, and how it recognises both when it goes on.
//!
//! A fit releases more than its steps: coordinates before them, a scale or a dispersion before and after. With a
//! checkpoint `FILE`, what was released is in `FILE.whitening` and `FILE.nuisance`, and `FILE.run` says what run all
//! of it is of.
//!
//! # Why a fit that goes on states the truth
//!
//! A statement counts each release once. That is true of a release that is made twice if both are the same, bit for
//! bit; it is not if they have other noise, and it is far from it if the *same* noise is added to sums over other
//! records, for then the difference of the two has none. So
//!
//! - the noise of what is released after the steps is a pseudorandom function of a secret in `FILE.run`, **of the
//!   records and of what is asked of them** (keyed BLAKE3, from which the key of ChaCha20 is made): the same question
//!   of the same records has the same answer, and any other one has noise of its own;
//! - a checkpoint, finished or not, is gone on with only where formula, family, schema, priors and *records* are those
//!   that it was begun with. That is checked before anything is read of them, and by [`DpVi`](dp_vi::DpVi) again;
//! - a file beside a checkpoint names the run that it is of. One of another run is refused, one without a checkpoint is
//!   not read.
//!
//! A fit that is killed after it was debited and before it has kept what it released is debited again when it goes
//! on, for the same release: a ledger then counts too much, and not too little.
//!
//! # What the files give away
//!
//! They are as secret as the data while the run is not over: the checkpoint has the seed of the steps, and `FILE.run`
//! the secret of what comes after. Both are left out when it is over. To recognise the records there has to be
//! something that tells them from others, and this would tell guesses from the truth as well, however slow or short a
//! hash it were. So it is parted: the checkpoint has a print of the records under a key, and `FILE.run` the key. The
//! print without the key is a pseudorandom number, and the key was drawn before a record was read: each of the two
//! alone says nothing about them. Both together let those who have them try guesses of *all* records, one of which
//! may be all that they lack; so never hand on both. What is meant to be handed on is the model.

use std::error::Error as StdError;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use dp_accountant::Budget;
use dp_sampler::{Purpose, Seed};
use dp_vi::guides::Guide;
use dp_vi::{Checkpoint, DpVi};
use ppl_core::{Model, Records};
use rand_core::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use super::nuisance::Nuisance;
use super::specification::Specification;
use crate::output::write_whole;
use crate::regression::whitening::{Counted, Whitening};
use crate::{Error, Result};

/// Of the text of `FILE.run`.
const VERSION: u64 = 1;

/// The lines by which a checkpoint names its run and its records.
const RUN: &str = "run of the program fit";
const RECORDS: &str = "print of the records under the key of that run";

/// What `FILE.run` says.
#[derive(Serialize, Deserialize)]
struct Stored {
    run: u64,
    /// What is fitted, in words.
    about: String,
    /// The hash of all that is public about it.
    specification: String,
    /// With which records are recognised.
    key: String,
    /// From which noise after the steps is drawn; not in a run that is over.
    secret: Option<String>,
    /// Whether that came from the operating system.
    is_secret: bool,
}

/// What was released for a run, with the name of the run.
#[derive(Serialize, Deserialize)]
struct Named {
    of_run: String,
    released: Value,
}

/// What is kept beside the checkpoint of a fit, if it has one.
pub(super) struct Beside<'a> {
    checkpoint: Option<&'a Path>,
    goes_on: bool,
    specification: &'a Specification,
    key: Zeroizing<[u8; 32]>,
    secret: Option<Zeroizing<[u8; 32]>>,
    is_secret: bool,
    /// Of the records, under the key; empty without a checkpoint.
    print: String,
}

impl<'a> Beside<'a> {
    /// What is beside a checkpoint that is there and is to be gone on with, or what will be.
    ///
    /// # Errors
    ///
    /// Where a checkpoint is there and is not to be gone on with, or is to be gone on with and is not there, or is of
    /// another fit or of other records.
    pub(super) fn new(
        place: Option<(&'a Path, bool)>,
        specification: &'a Specification,
        records: &Records,
        seed: &Seed,
    ) -> Result<Self, Box<dyn StdError>> {
        let Some((path, resume)) = place else {
            return Ok(Self::begun(None, specification, records, seed));
        };
        match (resume, path.symlink_metadata().is_ok()) {
            // One that is not there cannot be read: a new run would be paid for without having been asked for.
            (true, _) => Self::found(path, specification, records),
            (false, true) => Err(dp_vi::Error::CheckpointExists { path: path.display().to_string() }.into()),
            (false, false) => Ok(Self::begun(Some(path), specification, records, seed)),
        }
    }

    fn begun(
        checkpoint: Option<&'a Path>,
        specification: &'a Specification,
        records: &Records,
        seed: &Seed,
    ) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        seed.streams(Purpose::Custom("beside the run")).at(0).fill_bytes(&mut *secret);
        let key = Zeroizing::new(*blake3::keyed_hash(&secret, b"key of the records").as_bytes());
        let print = checkpoint.map_or_else(String::new, |_| print(&key, records));
        let is_secret = seed.is_secret();
        Self { checkpoint, goes_on: false, specification, key, secret: Some(secret), is_secret, print }
    }

    fn found(
        path: &'a Path,
        specification: &'a Specification,
        records: &Records,
    ) -> Result<Self, Box<dyn StdError>> {
        let checkpoint = Checkpoint::read(path)?;
        let file = run_beside(path);
        let wrong = |reason: String| Error::Unreadable { file: file.display().to_string(), reason };
        if !file.exists() {
            let reason = format!(
                "it is not there, and without it nothing tells whether the records are those that the checkpoint {} was begun with: \
                 put it back, or begin anew with another --checkpoint, and count what this one has spent",
                path.display()
            );
            return Err(wrong(reason).into());
        }
        let stored: Stored = read(&file)?;
        if stored.run != VERSION {
            let told = format!("it is of version {}, and this program reads {VERSION}", stored.run);
            return Err(wrong(told).into());
        }
        let key = bytes(&stored.key).ok_or_else(|| wrong("its key is damaged".to_owned()))?;
        let damaged = || wrong("its secret is damaged".to_owned());
        let secret = stored.secret.as_ref().map(|digits| bytes(digits).ok_or_else(damaged)).transpose()?;
        let print = print(&key, records);
        let is_secret = stored.is_secret;
        let found =
            Self { checkpoint: Some(path), goes_on: true, specification, key, secret, is_secret, print };
        let says = |name: &str, value: &str| {
            let line = format!("{name}: {value}");
            checkpoint.settings().lines().any(|found| found == line)
        };
        let refuse = |reason: String| -> Result<Self, Box<dyn StdError>> {
            Err(Error::AnotherRun { file: path.display().to_string(), reason }.into())
        };
        if !says(RUN, &found.name()) {
            return refuse(format!(
                "{} is of another run: a checkpoint and what is beside it go together",
                file.display()
            ));
        }
        let here = about(specification);
        if stored.about != here {
            return refuse(format!(
                "it is of another regression: it was begun with {}, and here there is {here}",
                stored.about
            ));
        }
        if stored.specification != hash_of(specification) {
            return refuse(format!(
                "it is of another regression: it is {here} as well, but bounds, categories or priors are not those that it was begun \
                 with"
            ));
        }
        if !says(RECORDS, &found.print) {
            return refuse(
                "it was begun with other records, and the statement of a run is of one set of records: their number, order or values \
                 are not the same. Go on with the file that it was begun with, or begin anew with another --checkpoint"
                    .to_owned(),
            );
        }
        Ok(found)
    }

    /// Whether a run goes on.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The run's name: a number that says nothing about its key.
    fn name(&self) -> String {
        digits(&blake3::keyed_hash(&self.key, b"name of the run").as_bytes()[..16])
    }

    /// An inference whose checkpoint is of this run and these records.
    pub(super) fn bind<M: Model, G: Guide, S>(&self, vi: DpVi<M, G, S>) -> DpVi<M, G, S> {
        match self.checkpoint {
            Some(_) => vi.bound_to(RUN, self.name()).bound_to(RECORDS, self.print.clone()),
            None => vi,
        }
    }

    /// The seed of a release after the steps, which is one of this question of these records.
    ///
    /// # Errors
    ///
    /// Where the run is over, and what was released then is not there any more.
    pub(super) fn seed_after(
        &self,
        records: &Records,
        question: &[&[u8]],
    ) -> Result<Seed, Box<dyn StdError>> {
        let Some(secret) = &self.secret else {
            let file = self.checkpoint.map(nuisance_beside).unwrap_or_default().display().to_string();
            let reason = "it lacks what was released after the steps, and the run is over: put the file back that the run left";
            return Err(Error::Unreadable { file, reason: reason.to_owned() }.into());
        };
        let mut hasher = hasher(secret, b"after the steps", records);
        for part in question {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let mut exposed = Zeroizing::new([0; 33]);
        exposed[..32].copy_from_slice(hasher.finalize().as_bytes());
        exposed[32] = u8::from(self.is_secret);
        Ok(Seed::from_exposed(&exposed)?)
    }

    /// Writes what this run is, before its first checkpoint.
    pub(super) fn begin(&self) -> Result<()> {
        match self.checkpoint {
            Some(path) if !self.goes_on => self.write(path, self.secret.as_ref()),
            _ => Ok(()),
        }
    }

    /// Takes that back, where a run was refused before it left a checkpoint.
    pub(super) fn withdraw(&self) {
        if let Some(path) = self.checkpoint.filter(|path| !self.goes_on && path.symlink_metadata().is_err()) {
            // It is not read without a checkpoint.
            let _ = std::fs::remove_file(run_beside(path));
        }
    }

    /// Leaves the secret out, when everything has been released.
    pub(super) fn finish(&self) -> Result<()> {
        match (self.checkpoint, &self.secret) {
            (Some(path), Some(_)) => self.write(path, None),
            _ => Ok(()),
        }
    }

    fn write(&self, checkpoint: &Path, secret: Option<&Zeroizing<[u8; 32]>>) -> Result<()> {
        let mut stored = Stored {
            run: VERSION,
            about: about(self.specification),
            specification: hash_of(self.specification),
            key: digits(&*self.key),
            secret: secret.map(|secret| digits(&**secret)),
            is_secret: self.is_secret,
        };
        // Words, digits and truth values always can be written.
        let text = Zeroizing::new(serde_json::to_string(&stored).unwrap_or_default());
        drop(Zeroizing::new(std::mem::take(&mut stored.key)));
        drop(stored.secret.take().map(Zeroizing::new));
        write_private(&run_beside(checkpoint), text.as_bytes())
    }

    /// Keeps the coordinates of a run.
    pub(super) fn keep_whitening(&self, whitening: &Whitening) -> Result<()> {
        self.keep(whitening_beside, &whitening.to_json())
    }

    /// Keeps what was released of a nuisance value.
    pub(super) fn keep_nuisance(&self, nuisance: &Nuisance) -> Result<()> {
        self.keep(nuisance_beside, &nuisance.to_json())
    }

    fn keep(&self, place: fn(&Path) -> PathBuf, text: &str) -> Result<()> {
        let Some(path) = self.checkpoint else { return Ok(()) };
        let released = serde_json::from_str(text).unwrap_or_default();
        let named = Named { of_run: self.name(), released };
        // What was read from text can be written.
        write_whole(&place(path), serde_json::to_string(&named).unwrap_or_default().as_bytes())
    }

    /// The coordinates of a run that goes on.
    pub(super) fn whitening(&self, of: (usize, Counted), budget: Budget) -> Result<Whitening> {
        self.kept(whitening_beside, |text| Whitening::from_json(text, of, budget))
    }

    /// What was released of a nuisance value, of a run that goes on.
    pub(super) fn nuisance(&self, features: usize) -> Result<Nuisance> {
        self.kept(nuisance_beside, |text| match Nuisance::from_json(text, features)? {
            found if found.is_of(self.specification.family) => Ok(found),
            _ => Err("it is of a regression of another family".to_owned()),
        })
    }

    fn kept<T>(&self, place: fn(&Path) -> PathBuf, of: impl FnOnce(&str) -> Result<T, String>) -> Result<T> {
        let file = self.checkpoint.map(place).unwrap_or_default();
        let wrong = |reason: String| Error::Unreadable { file: file.display().to_string(), reason };
        let named: Named = read(&file)?;
        if named.of_run != self.name() {
            return Err(wrong("it is of another run than the checkpoint that it is beside".to_owned()));
        }
        of(&named.released.to_string()).map_err(wrong)
    }
}

/// What is fitted, in words.
fn about(specification: &Specification) -> String {
    let Specification { family, outcome, columns, groups, offset, .. } = specification;
    let mut terms: Vec<String> = columns.iter().map(|column| column.of.name.clone()).collect();
    terms.extend(groups.iter().map(|group| {
        let names: Vec<&str> = group.columns.iter().map(|column| column.of.name.as_str()).collect();
        format!("({} | {})", names.join(" + "), group.column)
    }));
    if *offset {
        terms.push("an offset".to_owned());
    }
    format!("the family {family} and {} ~ {}", outcome.name, terms.join(" + "))
}

/// The hash of everything about a regression that does not depend on the records.
fn hash_of(specification: &Specification) -> String {
    // Names and numbers always can be written.
    let text = serde_json::to_string(specification).unwrap_or_default();
    digits(&blake3::hash(text.as_bytes()).as_bytes()[..16])
}

/// The print of all records under a key.
fn print(key: &[u8; 32], records: &Records) -> String {
    digits(&hasher(key, b"records", records).finalize().as_bytes()[..16])
}

/// A hash under a key of all numbers of all columns, with their names and lengths.
fn hasher(key: &[u8; 32], purpose: &[u8], records: &Records) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(purpose.len() as u64).to_le_bytes()).update(purpose);
    hasher.update(&(records.len() as u64).to_le_bytes());
    for (index, (name, _)) in records.schema().columns().enumerate() {
        let column = records.column(index);
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hasher.update(&(column.len() as u64).to_le_bytes());
        // Many at once: a hash takes long pieces much faster than short ones.
        let mut waiting = Zeroizing::new(Vec::with_capacity(8192));
        for number in column.numbers() {
            if waiting.len() == 8192 {
                hasher.update(&waiting);
                waiting.clear();
            }
            waiting.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        hasher.update(&waiting);
    }
    hasher
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (k, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * k..2 * k + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Writes a file that its owner alone can read, where the system has such rights.
fn write_private(path: &Path, contents: &[u8]) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        // What replaces a file has its rights from the first byte on.
        let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let made = made.and_then(|file| file.set_permissions(std::fs::Permissions::from_mode(0o600)));
        made.map_err(|error| Error::Unwritable {
            file: path.display().to_string(),
            reason: error.to_string(),
        })?;
    }
    write_whole(path, contents)
}

/// What was kept beside a checkpoint.
fn read<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let wrong = |reason: String| Error::Unreadable { file: file.display().to_string(), reason };
    let text = Zeroizing::new(std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?);
    serde_json::from_str(&text).map_err(|error| {
        // Not the error's own words: they might repeat a part of a file that has a secret.
        wrong(format!(
            "it is damaged, or of an older version of this program, at character {}",
            error.column()
        ))
    })
}

/// Where a run with this checkpoint says what it is.
pub(super) fn run_beside(checkpoint: &Path) -> PathBuf {
    named(checkpoint, ".run")
}

/// Where a run with this checkpoint keeps its coordinates. They have been released, and the statement of their run
/// covers them.
pub(super) fn whitening_beside(checkpoint: &Path) -> PathBuf {
    named(checkpoint, ".whitening")
}

/// Where a run with this checkpoint keeps what was released of a scale or dispersion.
pub(super) fn nuisance_beside(checkpoint: &Path) -> PathBuf {
    named(checkpoint, ".nuisance")
}

fn named(checkpoint: &Path, ending: &str) -> PathBuf {
    let mut name = checkpoint.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;
    use crate::regression::family::Family;
    use crate::regression::outcome::Outcome;

    fn specification(family: Family) -> Specification {
        let outcome = Outcome { name: "y".to_owned(), levels: Vec::new(), low: 0.0, high: 1.0 };
        let (columns, groups) = (Vec::new(), Vec::new());
        Specification {
            family,
            outcome,
            columns,
            groups,
            offset: false,
            offset_centre: 0.0,
            outcome_scale: (0.0, 1.0),
            sigma: 1.0,
        }
    }

    fn records(values: &[f64]) -> Records {
        Records::from_columns([("y", values.to_vec())]).unwrap()
    }

    /// The same question of the same records has the same noise; other records, or another question, have noise of
    /// their own: were it the same, the difference of two releases would have none.
    #[test]
    fn noise_after_the_steps_is_of_records_and_question() {
        let of = specification(Family::Gaussian);
        let begun = |seed| Beside::begun(None, &of, &records(&[1.0]), &Seed::for_tests(seed));
        let seed = |beside: &Beside<'_>, values: &[f64], question: &[&[u8]]| {
            beside.seed_after(&records(values), question).unwrap().expose()
        };
        let base = seed(&begun(1), &[1.0, 2.0], &[b"a", b"bc"]);
        assert_eq!(seed(&begun(1), &[1.0, 2.0], &[b"a", b"bc"]), base);
        for other in [
            seed(&begun(1), &[1.0, 2.0_f64.next_up()], &[b"a", b"bc"]),
            seed(&begun(1), &[2.0, 1.0], &[b"a", b"bc"]),
            seed(&begun(1), &[1.0, 2.0, 0.0], &[b"a", b"bc"]),
            seed(&begun(1), &[1.0, 2.0], &[b"ab", b"c"]),
            seed(&begun(1), &[1.0, 2.0], &[b"a"]),
            seed(&begun(2), &[1.0, 2.0], &[b"a", b"bc"]),
        ] {
            assert_ne!(other[..32], base[..32]);
        }
        // As secret as what it is made of, and never that itself.
        assert_eq!(base[32], 0);
        let secret = Beside::begun(None, &of, &records(&[1.0]), &Seed::from_os().unwrap());
        assert!(secret.seed_after(&records(&[1.0]), &[]).unwrap().is_secret());
    }

    /// Neither the key nor the print says anything of the records without the other, and the run's name says nothing
    /// of the key.
    #[test]
    fn the_key_knows_no_record_and_the_print_is_under_it() {
        let of = specification(Family::Gaussian);
        let place = Path::new("c");
        let of_records =
            |values: &[f64], seed| Beside::begun(Some(place), &of, &records(values), &Seed::for_tests(seed));
        let (one, other) = (of_records(&[1.0, 2.0], 1), of_records(&[1.0, 3.0], 1));
        assert_eq!((*one.key, one.name()), (*other.key, other.name()));
        assert_ne!(one.print, other.print);
        assert_ne!(one.print, of_records(&[1.0, 2.0], 2).print);
        assert!(!digits(&*one.key).contains(&one.name()));
        let secret = one.secret.as_ref().unwrap();
        assert_ne!(**secret, *one.key);
        assert_ne!(secret[..], Seed::for_tests(1).expose()[..32]);
    }

    #[test]
    fn what_is_damaged_is_refused_without_its_text() {
        let folder = TestFolder::new();
        let path = folder.0.join("c");
        let of = specification(Family::Gaussian);
        let beside = Beside::begun(Some(&path), &of, &records(&[1.0]), &Seed::for_tests(1));
        beside.begin().unwrap();
        let file = run_beside(&path);
        let text = std::fs::read_to_string(&file).unwrap();
        let secret = digits(&**beside.secret.as_ref().unwrap());
        assert!(text.contains(&secret));
        let stored: Stored = read(&file).unwrap();
        assert_eq!(bytes(&stored.key), Some(beside.key.clone()));
        for cut in 0..text.len() {
            std::fs::write(&file, &text[..cut]).unwrap();
            let told = read::<Stored>(&file).err().expect("an error").to_string();
            assert!(!told.contains(&secret) && !told.contains(&stored.key), "{told}");
        }
        for odd in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(bytes(odd), None, "{odd}");
        }
        // Without a checkpoint the file is taken back; one that goes on leaves it.
        beside.withdraw();
        assert!(!file.exists());
        beside.begin().unwrap();
        std::fs::write(&path, "").unwrap();
        beside.withdraw();
        assert!(file.exists());
        beside.finish().unwrap();
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret));
    }
}
