//! Runs experiments, seed by seed, and leaves each run on disk when it ends.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;

use super::experiment::{Experiment, Machine, NOTICE, Outcome, Size};
use super::lab::Lab;
use super::store::Store;
use crate::harness::utility::Failure;
use crate::program::error_line;

/// What is told while experiments run.
#[derive(Debug)]
pub enum Told<'t> {
    /// An experiment whose files are not there; these are missing.
    Missing(&'static str, Vec<&'t str>),
    /// A run was there already.
    Kept(&'static str, u64),
    /// A run ended.
    Ended(&'t Outcome),
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name, files) => {
                write!(f, "{name}: NOT RUN, the data folder does not hold {}", files.join(", "))
            }
            Self::Kept(name, seed) => write!(f, "{name}: run {seed} is there already"),
            Self::Ended(run) => {
                let seconds = run.seconds.unwrap_or(0.0);
                write!(f, "{}: run {} took {seconds:.1} s", run.experiment, run.seed)?;
                run.warnings.iter().try_for_each(|warning| write!(f, "; WARNING: {warning}"))
            }
        }
    }
}

/// The seed of the first run; the others follow.
pub const FIRST_SEED: u64 = 1;

/// Runs an experiment as often as it is asked, its own number of times by default and once if it is quick,
/// and returns all runs in the order of their seeds. Those that the folder holds are not repeated.
///
/// # Errors
///
/// What a run says that fails, and files that cannot be written.
pub fn run(
    experiment: &'static Experiment,
    runs: Option<u64>,
    (size, data): (Size, Option<&Path>),
    store: Option<&Store>,
    tell: &(dyn Fn(Told<'_>) + Sync),
) -> Result<Vec<Outcome>, Failure> {
    let runs = runs.unwrap_or_else(|| size.pick(experiment.runs, 1));
    let one = |number: u64| -> Result<Outcome, Failure> {
        let seed = FIRST_SEED + number;
        // Each run reads its files: what it takes note of is its own.
        let lab = Lab::new(size, data.map(Path::to_owned));
        if let Some(kept) = store.and_then(|store| store.find(experiment, seed)) {
            check_inputs(experiment, &lab, kept)?;
            tell(Told::Kept(experiment.name, seed));
            return Ok(kept.clone());
        }
        let started = Instant::now();
        let rows = (experiment.run)(&lab, seed)?;
        if let Some(row) = rows.iter().find(|row| !row.value.is_finite()) {
            return Err(format!("'{}' at {} came to {}", row.metric, row.label, row.value).into());
        }
        let outcome = Outcome {
            notice: NOTICE.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            experiment: experiment.name.into(),
            size,
            settings: (experiment.settings)(size),
            inputs: lab.hashes(),
            seed,
            rows,
            warnings: lab.warnings(),
            seconds: Some(started.elapsed().as_secs_f64()),
            machine: Machine::now(),
        };
        if let Some(store) = store {
            store.write(&outcome)?;
        }
        tell(Told::Ended(&outcome));
        Ok(outcome)
    };
    // Failures need not be fit to travel between threads, their words are.
    let said = |number: u64| {
        one(number).map_err(|error| {
            let line = error_line(error.as_ref());
            format!("{}: {}", experiment.name, line.strip_prefix("error: ").unwrap_or(&line))
        })
    };
    let outcomes: Vec<Result<Outcome, String>> = match experiment.alone {
        true => (0..runs).map(said).collect(),
        false => (0..runs).into_par_iter().map(said).collect(),
    };
    Ok(outcomes.into_iter().collect::<Result<Vec<_>, String>>()?)
}

/// A run that is kept must be of the files as they are now.
fn check_inputs(experiment: &Experiment, lab: &Lab, kept: &Outcome) -> Result<(), Failure> {
    for input in experiment.inputs.iter().filter(|input| kept.inputs.contains_key(input.file)) {
        // A file that has gone does no harm: the run was on it.
        if lab.missing(&[*input]).is_empty() {
            lab.path(input)?;
        }
    }
    let now = lab.hashes();
    match kept.inputs.iter().find(|(file, hash)| now.get(*file).is_some_and(|now| now != *hash)) {
        Some((file, _)) => {
            Err(format!("the folder of results holds runs on another file '{file}': name another folder")
                .into())
        }
        None => Ok(()),
    }
}
