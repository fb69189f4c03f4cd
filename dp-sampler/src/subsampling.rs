//! What a subsampler is: a plan, the sampler made from it, and the scheme it states.

use std::fmt;

use serde::Serialize;

use crate::{Error, MAX_RECORDS, Result, Seed};

/// How a sampler chooses the records of a step, as it says itself.
///
/// The amplification that an accountant may claim depends on this value, so the schemes that claim any can
/// only be had from a sampler: outside this crate every variant except `Full` can be matched (with `..`) but
/// not built.
///
/// ```compile_fail
/// let claimed = dp_sampler::Scheme::Poisson { rate: 1e-9 };
/// ```
///
/// ```
/// use dp_sampler::{Poisson, Scheme, Subsampling};
///
/// let scheme = Poisson::rate(0.01)?.scheme(10_000)?;
/// assert!(matches!(scheme, Scheme::Poisson { rate, .. } if rate == 0.01));
/// assert_eq!(scheme.to_string(), "each record independently with probability 0.01");
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scheme {
    /// Every record at every step: no amplification.
    Full,
    /// Each record independently with the same probability.
    #[non_exhaustive]
    Poisson {
        /// The probability that a given record is in a given batch.
        rate: f64,
    },
    /// A uniformly random subset of fixed size.
    #[non_exhaustive]
    WithoutReplacement {
        /// The size of every batch.
        batch: u64,
        /// The number of records it is drawn from.
        records: u64,
    },
    /// Independent uniform draws, so that a record may come up more than once.
    #[non_exhaustive]
    WithReplacement {
        /// The number of draws in a batch.
        batch: u64,
        /// The number of records they are from.
        records: u64,
    },
    /// Epochs: all records in a new uniformly random order, cut into batches.
    #[non_exhaustive]
    Shuffle {
        /// The size of every batch except the last of an epoch, which has what is left.
        batch: u64,
        /// The number of records in an epoch.
        records: u64,
    },
    /// Epochs: each record at one step of an epoch, chosen uniformly and independently of the others.
    ///
    /// The number of records is not stated: with a named number of bins the scheme does not depend on it, so
    /// it can be published where that number is protected. Bins that follow from a batch size are a function
    /// of the number of records.
    #[non_exhaustive]
    BallsInBins {
        /// The number of steps in an epoch.
        bins: u64,
        /// The batch size that the number of bins was computed from, with the number of records; `None` if
        /// the bins were named.
        batch: Option<u64>,
    },
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "every record at every step"),
            Self::Poisson { rate } => write!(f, "each record independently with probability {rate}"),
            Self::WithoutReplacement { batch, records } => {
                write!(f, "exactly {batch} of {records} records, every subset of that size equally likely")
            }
            Self::WithReplacement { batch, records } => {
                write!(f, "{batch} draws from {records} records, each uniform and independent of the others")
            }
            Self::Shuffle { batch, records } => {
                write!(f, "{batch} at a time of {records} records, in a new random order every epoch")
            }
            Self::BallsInBins { bins, batch } => {
                write!(f, "each record at one of {bins} steps of an epoch, uniformly and independently")?;
                match batch {
                    Some(batch) => write!(f, " (as many steps as batches of {batch} need)"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Keeps the traits below to this crate's types: a scheme is believed, so only what is tested here may state
/// one.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A plan for subsampling that does not know the data or the seed yet.
///
/// Only this crate implements it, because a privacy accountant believes what its samplers say of themselves.
pub trait Subsampling: sealed::Sealed {
    /// What the plan becomes.
    type Sampler: Subsampler;

    /// Plans the draws from `records` records; everything that can be computed ahead is computed here.
    ///
    /// Two samplers bound to one seed draw from the same random words: use one per seed.
    ///
    /// # Errors
    ///
    /// As [`scheme`](Self::scheme), and when batches could not be addressed on this machine.
    fn bind(&self, records: u64, seed: &Seed) -> Result<Self::Sampler>;

    /// The scheme the sampler will state.
    ///
    /// # Errors
    ///
    /// No records, more than [`MAX_RECORDS`], or a batch larger than the data.
    fn scheme(&self, records: u64) -> Result<Scheme>;

    /// A bound on the [deviation](Subsampler::deviation) of every sampler that this plan makes for up to this
    /// many records: it grows with their number, so that a bound for more records than there are holds, and
    /// tells nothing of how many there are.
    ///
    /// ```
    /// use dp_sampler::{FixedSize, MAX_RECORDS, Poisson, Subsampling};
    ///
    /// // A thousand batches of any data set at all.
    /// assert!(Poisson::rate(0.01)?.deviation(MAX_RECORDS, 1_000) < 2_f64.powi(-55));
    /// assert_eq!(FixedSize::batch(100)?.deviation(60_000, 1_000), 0.0);
    /// // Uniform as far as has been measured, and nothing is proven.
    /// assert_eq!(FixedSize::batch(100)?.by_permutation().deviation(60_000, 1_000), 1.0);
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    fn deviation(&self, records: u64, steps: u64) -> f64;
}

/// Draws a batch of record numbers for every step.
///
/// # Privacy
///
/// A batch is secret: the amplification that accountants claim holds only while no one sees which records
/// were drawn, nor how many under Poisson subsampling. How long a draw takes depends on the batch; an
/// attacker who can time single steps is outside what is promised here.
pub trait Subsampler: sealed::Sealed {
    /// How the records are chosen.
    fn scheme(&self) -> Scheme;

    /// The number of records that are drawn from.
    fn records(&self) -> u64;

    /// The expected number of records in a batch, where that differs between steps on average over an epoch.
    /// Public, which the number in any one batch need not be.
    fn expected_batch(&self) -> f64;

    /// A length that a batch exceeds with probability below 2⁻¹⁰⁰.
    fn max_batch_hint(&self) -> usize;

    /// Replaces the contents of `batch` by the batch of this step: numbers below `records()`.
    ///
    /// They are distinct, except where records are drawn [with replacement](crate::WithReplacement); there a
    /// number counts as often as it occurs. A function of the seed and the step alone, so steps can be drawn
    /// in any order and again. Allocates nothing once `batch` has capacity
    /// [`max_batch_hint`](Self::max_batch_hint), unless that rare bound is exceeded. The order within a batch
    /// means nothing.
    fn draw(&mut self, step: u64, batch: &mut Vec<u64>);

    /// A bound, rounded up, on the total variation distance between the batches of steps 0, …, `steps` − 1,
    /// all together, and batches that are drawn exactly as the [scheme](Self::scheme) says: 0 where they are
    /// exact, 1 where nothing is proven.
    ///
    /// # Privacy
    ///
    /// Amplification theorems are about exact schemes. Let M be a mechanism on exact batches, M′ the same on
    /// these, and τ this bound; then for neighbours D, D′ and every set S of outcomes
    ///
    /// ```text
    /// P(M′(D) ∈ S)  ≤  P(M(D) ∈ S) + τ  ≤  e^ε P(M(D′) ∈ S) + δ + τ  ≤  e^ε P(M′(D′) ∈ S) + δ + (1 + e^ε) τ
    /// ```
    ///
    /// so adding (1 + e^ε) τ to δ accounts for it. Steps are independent of each other (epochs are, where
    /// there are any), so the bounds of several of them add up, whatever is done with earlier batches.
    ///
    /// | scheme | bound | proof |
    /// |---|---|---|
    /// | full batches, [`Poisson`](crate::Poisson) at rate 1 | 0 | |
    /// | [`Poisson`](crate::Poisson) | 113 · 2⁻¹²⁸ for each block of records and step | `poisson::thresholds` |
    /// | [`FixedSize`](crate::FixedSize), [`WithReplacement`](crate::WithReplacement) | 0 | integers by rejection |
    /// | [`Shuffle`](crate::Shuffle) | 0 for a written order ([`exact`](crate::Shuffle::exact), or up to 1,024 records) | Fisher and Yates, by rejection |
    /// | [`BallsInBins`](crate::BallsInBins) | 65 (K − 1) · 2⁻¹²⁶ an epoch for a written order | `balls_in_bins::halving` |
    /// | by a keyed [`Permutation`](crate::Permutation) of more than 1,024 records | 1 | measured only |
    fn deviation(&self, steps: u64) -> f64;

    /// Whether the seed came from the operating system; where it did not, nothing is private.
    fn is_secret(&self) -> bool;
}

/// What `count` deviations of at most `each` come to at most, rounded up.
pub(crate) fn deviations(count: u64, each: f64) -> f64 {
    // Converting, multiplying twice: each rounds by 2⁻⁵³ of the number at most.
    (count as f64 * each * (1.0 + 4.0 * f64::EPSILON)).min(1.0)
}

/// Every record chooses among the same places: nothing is proven of a permutation that is computed, and a
/// written one is exact.
pub(crate) fn deviation_of_order(records: u64, exact: bool) -> f64 {
    if exact || records <= crate::permutation::TABLE_LIMIT { 0.0 } else { 1.0 }
}

/// Checks a number of records.
pub(crate) fn check_records(records: u64) -> Result<()> {
    match records {
        0 => Err(Error::NoRecords),
        1..=MAX_RECORDS => Ok(()),
        _ => Err(Error::TooManyRecords { records }),
    }
}

/// Checks that a vector of this many indices can exist on this machine.
pub(crate) fn check_batch_length(batch: u64) -> Result<usize> {
    let bound = (isize::MAX as u64) / 8;
    if batch > bound {
        return Err(Error::BatchTooLong { batch, bound });
    }
    // At most isize::MAX / 8.
    Ok(batch as usize)
}
