//! One use of a mechanism on a random part of the records.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Error, Result};

/// Which two data sets count as neighbours. There is no default: the same run costs about twice as much under
/// one as under the other.
///
/// # Privacy
/// Contributions have norm at most the clip norm, so a sum changes by at most once the clip norm when a
/// record is added or removed, and by at most twice the clip norm when a record is replaced.
///
/// ```
/// assert_eq!(dp_accountant::Relation::AddRemove.to_string(), "add/remove");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Relation {
    /// One data set is the other plus one record.
    AddRemove,
    /// The data sets have the same size and differ in one record.
    ReplaceOne,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::AddRemove => "add/remove",
            Relation::ReplaceOne => "replace-one",
        })
    }
}

/// How the records of one step were chosen. There is no default, and a scheme is never accounted as another.
///
/// # Privacy
/// Which records were drawn stays secret. Each step draws independently of all others, except for
/// [`Shuffle`](Self::Shuffle), whose steps share the order of an epoch.
///
/// ```
/// let sampling = dp_accountant::Sampling::Poisson { rate: 0.01 };
/// assert_eq!(sampling.to_string(), "Poisson sampling at rate 0.01");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[non_exhaustive]
pub enum Sampling {
    /// Every record takes part in every step.
    None,
    /// Each record takes part independently with probability `rate`.
    Poisson {
        /// The probability, above 0 and at most 1.
        rate: f64,
    },
    /// A uniformly random set of `batch` out of `records` records.
    WithoutReplacement {
        /// Records in the batch, at least 1.
        batch: u64,
        /// Records in the data set, at least `batch`.
        records: u64,
    },
    /// `batch` independent uniform draws out of `records` records; a record may be drawn, and counts, several
    /// times.
    WithReplacement {
        /// Draws in a batch, at least 1.
        batch: u64,
        /// Records in the data set, at least 2.
        records: u64,
    },
    /// Consecutive batches of a fresh random order in each epoch. One event is one batch; an epoch has
    /// ⌈records / batch⌉ of them, the last one holding the rest.
    ///
    /// # Privacy
    /// Only whole epochs are accounted: the count of such an event is a multiple of the batches in an epoch,
    /// all of whose steps use the same mechanism. A run that stops early is rounded up. Where an incomplete
    /// last batch is left out, `records` is the number of records that an epoch does visit.
    Shuffle {
        /// Records in a batch, at least 1.
        batch: u64,
        /// Records in the data set, at least `batch`.
        records: u64,
    },
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::None => f.write_str("no sampling"),
            Sampling::Poisson { rate } => write!(f, "Poisson sampling at rate {rate}"),
            Sampling::WithoutReplacement { batch, records } => {
                write!(f, "sampling {batch} of {records} records without replacement")
            }
            Sampling::WithReplacement { batch, records } => {
                write!(f, "sampling {batch} of {records} records with replacement")
            }
            Sampling::Shuffle { batch, records } => {
                write!(f, "batches of {batch} from {records} shuffled records")
            }
        }
    }
}

/// The randomised answer that a step gives about its records.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[non_exhaustive]
pub enum Mechanism {
    /// A sum of vectors, each clipped to Euclidean norm at most C, plus normal noise of standard deviation
    /// `noise_multiplier` · C in every coordinate.
    Gaussian {
        /// Standard deviation of the noise over the clip norm.
        noise_multiplier: f64,
    },
    /// A sum of vectors, each of 1-norm at most C, plus Laplace noise of scale `scale` · C in every
    /// coordinate.
    Laplace {
        /// Scale of the noise over the bound on a record's 1-norm.
        scale: f64,
    },
    /// A sum of integers, each between -`sensitivity` and `sensitivity`, plus discrete normal noise: the
    /// integer x with a probability proportional to exp(-x² / 2 sigma²).
    DiscreteGaussian {
        /// The noise's parameter sigma, close to its standard deviation.
        sigma: f64,
        /// The largest absolute value of a record's contribution.
        sensitivity: u64,
    },
    /// Each record's category, told truly with probability `truth_probability`, otherwise as one of the other
    /// categories, all equally likely.
    RandomizedResponse {
        /// How many categories there are, at least 2.
        categories: u64,
        /// The probability of the true category, at least 1 / `categories` and below 1.
        truth_probability: f64,
    },
    /// Anything that is epsilon-differentially private under the relation that is asked about.
    PureDp {
        /// The guarantee.
        epsilon: f64,
    },
    /// Anything that is (epsilon, delta)-differentially private under the relation that is asked about.
    ApproximateDp {
        /// The guarantee's epsilon.
        epsilon: f64,
        /// The guarantee's delta, at least 0 and below 1.
        delta: f64,
    },
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mechanism::Gaussian { noise_multiplier } => {
                write!(f, "Gaussian mechanism with noise multiplier {noise_multiplier}")
            }
            Mechanism::Laplace { scale } => write!(f, "Laplace mechanism with scale {scale}"),
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                write!(f, "discrete Gaussian mechanism with sigma {sigma} and sensitivity {sensitivity}")
            }
            Mechanism::RandomizedResponse { categories, truth_probability } => {
                write!(
                    f,
                    "randomised response over {categories} categories with truth probability {truth_probability}"
                )
            }
            Mechanism::PureDp { epsilon } => write!(f, "mechanism with epsilon {epsilon}"),
            Mechanism::ApproximateDp { epsilon, delta } => {
                write!(f, "mechanism with epsilon {epsilon} and delta {delta}")
            }
        }
    }
}

/// A mechanism applied once to the records that a sampling scheme chose; its parameters have been checked.
///
/// # Privacy
/// An event is a claim about what ran. Build it from the sampler's own scheme and the mechanism's own noise.
///
/// ```
/// use dp_accountant::{Event, Mechanism, Sampling};
///
/// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 1.5 }, Sampling::Poisson { rate: 0.1 })?;
/// assert_eq!(event.sampling(), Sampling::Poisson { rate: 0.1 });
/// assert_eq!(event.to_string(), "Gaussian mechanism with noise multiplier 1.5, Poisson sampling at rate 0.1");
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "stored::EventRecord", into = "stored::EventRecord"))]
pub struct Event {
    mechanism: Mechanism,
    sampling: Sampling,
}

impl Event {
    /// The event of running `mechanism` once on what `sampling` chose.
    ///
    /// # Errors
    /// [`Error::NoiseMultiplier`], [`Error::SamplingRate`], [`Error::Batch`] or [`Error::Parameter`] when a
    /// parameter is out of range.
    pub fn new(mechanism: Mechanism, sampling: Sampling) -> Result<Self> {
        match mechanism {
            Mechanism::Gaussian { noise_multiplier: value } => {
                // The range keeps every intermediate quantity, squares included, finite.
                if !(1e-100..=1e100).contains(&value) {
                    return Err(Error::NoiseMultiplier { value });
                }
            }
            Mechanism::Laplace { scale } => {
                check("scale", scale, (1e-100..=1e100).contains(&scale), "between 1e-100 and 1e100")?;
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                check("sigma", sigma, (1e-3..=1e9).contains(&sigma), "between 1e-3 and 1e9")?;
                let largest = 1u64 << 40;
                let fits = (1..=largest).contains(&sensitivity);
                check("sensitivity", sensitivity as f64, fits, "between 1 and 2^40")?;
            }
            Mechanism::RandomizedResponse { categories, truth_probability: p } => {
                check("categories", categories as f64, categories >= 2, "at least 2")?;
                let fits = p * categories as f64 >= 1.0 && p < 1.0;
                check("truth probability", p, fits, "at least 1 / categories and below 1")?;
            }
            Mechanism::PureDp { epsilon } => check_epsilon(epsilon)?,
            Mechanism::ApproximateDp { epsilon, delta } => {
                check_epsilon(epsilon)?;
                check("delta", delta, (0.0..1.0).contains(&delta), "at least 0 and below 1")?;
            }
        }
        match sampling {
            Sampling::None => {}
            Sampling::Poisson { rate: value } => {
                if !(value > 0.0 && value <= 1.0) {
                    return Err(Error::SamplingRate { value });
                }
            }
            Sampling::WithoutReplacement { batch, records } | Sampling::Shuffle { batch, records } => {
                if batch == 0 || batch > records {
                    return Err(Error::Batch { batch, records });
                }
            }
            Sampling::WithReplacement { batch, records } => {
                check("batch", batch as f64, batch > 0, "at least 1")?;
                check("records", records as f64, records > 1, "at least 2")?;
            }
        }
        Ok(Self { mechanism, sampling })
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The sampling scheme.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }
}

fn check(name: &'static str, value: f64, fits: bool, bound: &'static str) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::Parameter { name, value, bound }) }
}

fn check_epsilon(epsilon: f64) -> Result<()> {
    check("epsilon", epsilon, (0.0..=1e6).contains(&epsilon), "between 0 and 1e6")
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.mechanism, self.sampling)
    }
}

/// The stored form.
#[cfg(feature = "serde")]
mod stored {
    use super::{Event, Mechanism, Sampling};
    use crate::{Error, Result};
    use serde::{Deserialize, Serialize};

    /// The newest format version, and the oldest that is read. Version 1 knew the Gaussian mechanism and
    /// three sampling schemes; what it could say is still written as version 1, so that older readers
    /// understand it.
    const EVENT_VERSION: u32 = 2;
    const OLDEST_EVENT_VERSION: u32 = 1;

    /// What an event looks like in a file: the same fields, unchecked, with the version of the format.
    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct EventRecord {
        version: u32,
        mechanism: Mechanism,
        sampling: Sampling,
    }

    impl From<Event> for EventRecord {
        fn from(event: Event) -> Self {
            let old = matches!(event.mechanism, Mechanism::Gaussian { .. })
                && !matches!(event.sampling, Sampling::WithReplacement { .. } | Sampling::Shuffle { .. });
            let version = if old { OLDEST_EVENT_VERSION } else { EVENT_VERSION };
            Self { version, mechanism: event.mechanism, sampling: event.sampling }
        }
    }

    impl TryFrom<EventRecord> for Event {
        type Error = Error;

        fn try_from(record: EventRecord) -> Result<Self> {
            if !(OLDEST_EVENT_VERSION..=EVENT_VERSION).contains(&record.version) {
                return Err(Error::EventVersion { found: record.version, supported: EVENT_VERSION });
            }
            Event::new(record.mechanism, record.sampling)
        }
    }
}
