//! Private summaries: counts, histograms, means and quantiles of single columns and second moments of a vector column,
//! for preprocessing; the mean
//! log-likelihood; marginals of tables of categories, and private choices of them.

mod count;
mod counts;
mod field;
mod grid;
mod histogram;
mod log_likelihood;
mod marginals;
mod mean;
mod moments;
mod octaves;
mod quantile;
mod tables;

pub(crate) use count::CountRelease;
pub use field::Field;
pub use histogram::Histogram;
pub use marginals::{Candidate, Marginal, Marginals};
pub use mean::NoisyMean;
pub use moments::SecondMoments;
pub(crate) use octaves::OctaveRelease;
pub use quantile::{NoisyQuantile, Range};
pub use tables::{Binned, Table};

use crate::error::{Error, Result};
pub use crate::wall::categories::Categories;
use crate::wall::sensitive::Sensitive;
use dp_sampler::{Purpose, RoundedGaussianNoise, Seed};
use ppl_core::Records;

/// Releases of simple statistics, each paid for from a ledger before it is made.
///
/// ```
/// use dp_accountant::{Budget, Ledger, Relation};
/// use dp_sampler::Seed;
/// use dp_vi::summaries::{Range, Summaries};
/// use dp_vi::Sensitive;
/// use ppl_core::Records;
///
/// let ages: Vec<f64> = (0..2000).map(|k| 20.0 + f64::from(k % 50)).collect();
/// let records = Sensitive::new(Records::from_columns([("age", ages)])?);
/// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })?;
/// let mut summaries = Summaries::new(&records, Seed::from_os()?)?;
///
/// let people = summaries.count(30.0, &mut ledger)?;
/// let mean = summaries.mean("age", (0.0, 120.0), 30.0, &mut ledger)?;
/// let median = summaries.quantile("age", 0.5, Range::new(0.0, 128.0, 7)?, 30.0, &mut ledger)?;
/// assert!((people - 2000.0).abs() < 400.0); // 13 standard deviations of the noise
/// assert!((mean.value - 44.5).abs() < 20.0 && (median.value - 45.0).abs() < 20.0);
/// assert!(ledger.spent()?.upper < 0.4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The noise multiplier
/// Each release costs what one release of the Gaussian mechanism costs with the noise multiplier that is
/// named, without sampling; larger is more private. [`dp_accountant::calibrate_noise_multiplier`] finds one
/// for a budget. Only [`Summaries::tables_with_laplace_noise`] is another mechanism, without δ.
///
/// # Privacy
/// Bounds, edges and ranges must be chosen without looking at the data: the smallest and the largest value of
/// a column each belong to a record.
///
/// *No number is a floating-point sum.* What a record contributes is rounded to integers, the integers are
/// added up exactly, and the noise is [`RoundedGaussianNoise`]: the outcome is then a function of what the
/// Gaussian mechanism would give, whose event is debited. The sensitivity is that of the rounded
/// contributions. Each number of noise has its law up to a total variation distance of 2⁻²⁴⁰, which adds
/// `(1 + e^ε) 2⁻²⁴⁰` a number to the ledger's δ: with fewer than 2⁶⁴ numbers and ε ≤ 50, less than 10⁻³¹.
/// [`second_moments`](Summaries::second_moments) alone is a sum of bounded vectors rounded to a grid, as the steps of a
/// fit are ([`PrivacyNoise::Exact`](crate::PrivacyNoise)): its sums are computed within proven bounds, which the noise
/// is charged for, and a release is drawn exactly up to 2⁻⁸⁸, which a fit that [names it](crate::DpVi::released_before)
/// counts.
///
/// *Relations.* The ledger's budget says which. With `Δ` the largest Euclidean norm by which the integer sums
/// of two neighbours differ and `s` the noise's standard deviation, the event's noise multiplier is `s/Δ`
/// under add/remove and `2s/Δ` under replace-one, for there the accountant takes a sum to move by twice the
/// clip norm. It is rounded down.
///
/// Under replace-one the number of records is public. A NaN is an error, which is for those who hold the
/// data.
pub struct Summaries<'r> {
    records: &'r Sensitive<Records>,
    noise: RoundedGaussianNoise,
    seed: Seed,
    /// Noise is used once: the next step of its stream.
    next: u64,
    secret: bool,
}

impl<'r> Summaries<'r> {
    /// Summaries of these records. The seed must be used for nothing else.
    ///
    /// # Errors
    /// None at present; kept for kinds of noise that can be refused.
    pub fn new(records: &'r Sensitive<Records>, seed: Seed) -> Result<Self> {
        let secret = seed.is_secret();
        let noise =
            RoundedGaussianNoise::from_streams(seed.streams(Purpose::RoundedGaussianNoise), grid::BITS)?;
        Ok(Self { records, noise, seed, next: 0, secret })
    }

    /// Whether the seed came from the operating system, so that the noise is secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

/// Bounds of values that have something between them.
fn check_bounds(lower: f64, upper: f64) -> Result<()> {
    let fits = lower.is_finite() && upper.is_finite() && lower < upper && (upper - lower).is_finite();
    match fits {
        true => Ok(()),
        false => Err(Error::Bounds { lower, upper }),
    }
}
