//! The one error type of this crate.

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a model and a posterior.
///
/// ```
/// let error = dp_vi::Error::from(dp_sampler::Poisson::rate(1.5).unwrap_err());
/// // A `main` that returns an error prints the second.
/// assert_eq!(error.to_string(), "sampling rate must be above 0 and at most 1, got 1.5");
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A mistake in the model, or records that do not fit it.
    #[error(transparent)]
    Model(#[from] ppl_core::Error),
    /// A budget that is not one, or that cannot be met.
    #[error(transparent)]
    Accounting(#[from] dp_accountant::Error),
    /// A sampler that cannot draw as asked.
    #[error(transparent)]
    Sampling(#[from] dp_sampler::Error),
    /// Something that has no default was not said.
    #[error("{what} is missing: {why}")]
    Missing {
        /// What was not said.
        what: &'static str,
        /// Why it has no default, and how to say it.
        why: &'static str,
    },
    /// A number outside its range.
    #[error("{what} must be {requirement}, got {value}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its range, in words.
        requirement: &'static str,
        /// The value given.
        value: f64,
    },
    /// A model that inference cannot do anything for.
    #[error("this model {0}")]
    NothingToInfer(&'static str),
    /// Records that the model cannot hold of. The value is not quoted; `ppl_core::Trace::check_observations`
    /// finds it for those who may see it.
    #[error("site '{site}': an observation is outside the support ({support})")]
    Observation {
        /// Name of the site.
        site: String,
        /// The support, in words.
        support: String,
    },
    /// A record that chooses no row of a table. The index is not quoted; `ppl_core::Graph::check_indices`
    /// finds it for those who may see it.
    #[error("an index of the records is not an integer from 0 to {rows} - 1 ({source_line})")]
    Index {
        /// Rows of the table.
        rows: usize,
        /// Line of the model.
        source_line: String,
    },
    /// Bounds with nothing between them.
    #[error("bounds must be finite and in order, got from {lower} to {upper}")]
    Bounds {
        /// The lower one.
        lower: f64,
        /// The upper one.
        upper: f64,
    },
    /// A column that has a value which is not a number. Which record it is of is not said.
    #[error("column '{column}' has a value that is not a number (NaN): fill it in or leave its record out")]
    NotANumber {
        /// Name of the column.
        column: String,
    },
    /// A column that has a value which is not in the list of its values. Neither the value nor its record is said.
    #[error("column '{column}' has a value that is not in the list of its values")]
    NotListed {
        /// Name of the column.
        column: String,
    },
    /// A bound on the distance of neighbours that does not hold. The witness is made up and belongs to no record.
    #[error(
        "the stated bound {stated} does not hold: enumeration finds a distance of {found} between {witness}"
    )]
    BoundTooSmall {
        /// The bound.
        stated: f64,
        /// The distance that was found, a lower end.
        found: f64,
        /// The neighbours.
        witness: String,
    },
    /// A mechanism whose loss is above what it would be paid for. The witness is made up and belongs to no record.
    #[error("the mechanism's epsilon is {found}, above {claimed}: compare {witness}")]
    LossAboveClaim {
        /// What would be paid for.
        claimed: f64,
        /// The upper end of what enumeration finds.
        found: f64,
        /// Neighbours and an outcome.
        witness: String,
    },
    /// A guide that does not fit the model.
    #[error("the guide ({guide}) {problem}")]
    Guide {
        /// What the guide is.
        guide: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A model without records whose density has no usable slope.
    #[error(
        "the gradient of the log density was not finite at {steps} of {of} steps, more than half: start elsewhere (.initial_values(…)), or keep \
         scales and matrices away from where the density is NaN (by a small number on the diagonal of a covariance, for example)"
    )]
    NotFinite {
        /// Steps without a finite gradient.
        steps: u64,
        /// Steps made.
        of: u64,
    },
    /// A fit that goes on until it has converged cannot begin: the log density is not finite at the start, nor
    /// elsewhere.
    #[error(
        "the log density or its gradient is not finite around the start{}: name values at which the model holds of the data with \
         .initial_values(…), or keep scales and matrices away from where the density is NaN",
        elsewhere(*others)
    )]
    NotFiniteAtStart {
        /// Number of points of the prior that were tried, too.
        others: usize,
    },
    /// A budget whose δ is less than what is not drawn exactly as it is accounted for.
    #[error(
        "delta must be at least {least:e} here, got {delta:e}: batches and noise are drawn exactly up to a total variation distance that \
         takes {deviation:e} of it",
        least = 4.0 * deviation
    )]
    Deviation {
        /// The budget's δ.
        delta: f64,
        /// What it would have to cover, at ε = 0.
        deviation: f64,
    },
    /// More releases than were paid for.
    #[error("no release left: {paid} were paid for from the ledger, and all have been made")]
    NotPaid {
        /// Number of releases that were debited.
        paid: u64,
    },
    /// A report that could not be written as JSON.
    #[cfg(feature = "json")]
    #[error("as JSON: {0}")]
    Json(String),
    /// Two settings that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
    /// A sampling scheme for which there is no rule here.
    #[error("sampling scheme '{0}' has no privacy event here")]
    UnknownScheme(String),
    /// A checkpoint that cannot be read or written, or that is damaged.
    #[error("checkpoint {path}: {reason}")]
    Checkpoint {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A file where a new run was to leave its checkpoint.
    #[error("checkpoint {path}: the file exists already; resume the run it is of, or remove it")]
    CheckpointExists {
        /// The file.
        path: String,
    },
    /// A checkpoint of another run than the one that was to be resumed.
    #[error("checkpoint {path}: it is of another run: {what} was {found}, here it is {here}")]
    CheckpointOfAnother {
        /// The file.
        path: String,
        /// What differs.
        what: String,
        /// What the checkpoint says.
        found: String,
        /// What the run to be resumed has.
        here: String,
    },
    /// A run that was to go on, paid from another ledger than before.
    #[error("checkpoint {path}: {reason}")]
    CheckpointPaidFrom {
        /// The file.
        path: String,
        /// What is wrong, and how to go on.
        reason: String,
    },
    /// A ledger that does not know of what a run has paid.
    #[error(
        "this ledger has {recorded} of the {paid} releases that the run has paid for (\"{event}\"): it is another one, or it was \
         restored from an old copy"
    )]
    ForeignLedger {
        /// Uses of the event that the ledger knows of.
        recorded: u64,
        /// Uses that the checkpoint says were paid for.
        paid: u64,
        /// The event.
        event: dp_accountant::Event,
    },
    /// A saved state of an optimiser that is not this one's.
    #[error("the saved state has {found} numbers, this optimiser needs {wanted}")]
    SavedState {
        /// Numbers there are.
        found: usize,
        /// Numbers that are needed, at least.
        wanted: usize,
    },
    /// A rate for parameters that the guide does not have.
    #[error("no parameter's name begins with '{name}'; there are {known}")]
    UnknownParameter {
        /// The requested name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A site the posterior does not have.
    #[error("the posterior has no site '{name}'; it has {known}")]
    UnknownSite {
        /// The requested name.
        name: String,
        /// The names there are.
        known: String,
    },
}

/// As words, too: what a `main` that returns an error prints is its debugging form.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// What is said where a start is named for a guide that brings its own.
    pub(crate) const START_OF_HAND_WRITTEN: Self = Self::Conflict(
        "a start was named, and where a hand-written guide starts is written in it: change the initial values of its \
         parameters, or use another guide",
    );

    /// Likewise where the caller stopped the search on its way.
    pub(crate) fn stopped_before_a_maximum(guide: &'static str) -> Self {
        let problem = "was stopped where the posterior has no maximum, so no normal goes with it; let it go on for longer";
        Self::Guide { guide, problem: problem.to_owned() }
    }

    /// What is said where second derivatives make no normal.
    pub(crate) fn no_maximum(guide: &'static str) -> Self {
        let problem = "ends where the posterior has no maximum, so no normal goes with it; take more steps, or another guide";
        Self::Guide { guide, problem: problem.to_owned() }
    }
}

fn elsewhere(others: usize) -> String {
    match others {
        0 => String::new(),
        others => format!(", nor at {others} points from the prior"),
    }
}

/// An error that says where the records do not fit, but quotes none of them.
pub(crate) fn without_the_value(error: ppl_core::Error) -> Error {
    match error {
        ppl_core::Error::OutsideSupport { site, support, place, .. } if !place.is_empty() => {
            Error::Observation { site, support }
        }
        ppl_core::Error::Index { rows, source_line, .. } => {
            Error::Index { rows, source_line: source_line.to_string() }
        }
        other => Error::Model(other),
    }
}
