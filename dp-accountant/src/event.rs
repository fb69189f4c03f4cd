//! One use of a mechanism on a random part of the records.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Error, Result};

/// Which two data sets count as neighbours. There is no default: the same run costs about twice as much under one as
/// under the other.
///
/// # Privacy
/// Contributions have norm at most the clip norm, so a sum changes by at most once the clip norm when a record is
/// added or removed, and by at most twice the clip norm when a record is replaced.
///
/// ```
/// assert_eq!(dp_accountant::Relation::AddRemove.to_string(), "add/remove");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
/// Each step draws independently of all others, and which records were drawn stays secret. Batches cut from a
/// shuffled order are none of these schemes.
///
/// ```
/// let sampling = dp_accountant::Sampling::Poisson { rate: 0.01 };
/// assert_eq!(sampling.to_string(), "Poisson sampling at rate 0.01");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::None => f.write_str("no sampling"),
            Sampling::Poisson { rate } => write!(f, "Poisson sampling at rate {rate}"),
            Sampling::WithoutReplacement { batch, records } => {
                write!(f, "sampling {batch} of {records} records without replacement")
            }
        }
    }
}

/// The randomised answer that a step gives about its records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Mechanism {
    /// A sum of vectors, each clipped to Euclidean norm at most C, plus normal noise of standard deviation
    /// `noise_multiplier` · C in every coordinate.
    Gaussian {
        /// Standard deviation of the noise over the clip norm.
        noise_multiplier: f64,
    },
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mechanism::Gaussian { noise_multiplier } => {
                write!(f, "Gaussian mechanism with noise multiplier {noise_multiplier}")
            }
        }
    }
}

/// The format version that events are stored in.
const EVENT_VERSION: u32 = 1;

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EventRecord", into = "EventRecord")]
pub struct Event {
    mechanism: Mechanism,
    sampling: Sampling,
}

impl Event {
    /// The event of running `mechanism` once on what `sampling` chose.
    ///
    /// # Errors
    /// [`Error::NoiseMultiplier`], [`Error::SamplingRate`] or [`Error::Batch`] when a parameter is out of range.
    pub fn new(mechanism: Mechanism, sampling: Sampling) -> Result<Self> {
        match mechanism {
            Mechanism::Gaussian { noise_multiplier: value } => {
                // The range keeps every intermediate quantity, squares included, finite.
                if !(1e-100..=1e100).contains(&value) {
                    return Err(Error::NoiseMultiplier { value });
                }
            }
        }
        match sampling {
            Sampling::None => {}
            Sampling::Poisson { rate: value } => {
                if !(value > 0.0 && value <= 1.0) {
                    return Err(Error::SamplingRate { value });
                }
            }
            Sampling::WithoutReplacement { batch, records } => {
                if batch == 0 || batch > records {
                    return Err(Error::Batch { batch, records });
                }
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

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.mechanism, self.sampling)
    }
}

/// What an event looks like in a file: the same fields, unchecked, with the version of the format.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventRecord {
    version: u32,
    mechanism: Mechanism,
    sampling: Sampling,
}

impl From<Event> for EventRecord {
    fn from(event: Event) -> Self {
        Self { version: EVENT_VERSION, mechanism: event.mechanism, sampling: event.sampling }
    }
}

impl TryFrom<EventRecord> for Event {
    type Error = Error;

    fn try_from(record: EventRecord) -> Result<Self> {
        if record.version != EVENT_VERSION {
            return Err(Error::EventVersion { found: record.version, supported: EVENT_VERSION });
        }
        Event::new(record.mechanism, record.sampling)
    }
}
