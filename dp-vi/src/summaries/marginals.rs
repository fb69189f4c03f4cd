//! Marginals of tables of categories, and private choices of which ones to release.

use super::Summaries;
use super::grid::{self, BITS, Unit};
use super::tables::{difference, unit};
use crate::cost::pricing::{bounded_range_event, bounded_range_noise_multiplier};
use crate::error::{Error, Result};
use crate::wall::categories::{Categories, Distances};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Composition, Event, Purse, Receipt, Relation};
use dp_sampler::{ExponentialChoice, Purpose, RoundedGaussianNoise, Seed};

/// Noisy counts of all combinations of some columns' values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Marginal {
    /// The columns, by number.
    pub columns: Vec<usize>,
    /// How many records have each combination, with noise; the last column varies fastest.
    pub counts: Vec<f64>,
    /// Standard deviation of the noise of each.
    pub noise: f64,
}

/// A marginal that may be chosen: what is publicly expected of it, and what speaks against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The columns, by number.
    pub columns: Vec<usize>,
    /// The expected count of each combination; the last column varies fastest.
    pub expected: Vec<f64>,
    /// Taken off the distance, in records: what its noise would add to it.
    pub penalty: f64,
}

/// Largest expected count and penalty.
const LARGEST: f64 = 1e12;

/// Releases of marginals, paid for in one debit.
///
/// What is to be released is said first, as [events](Self::counts_event) whose noise is fixed before anything
/// is seen, and [paid for at once](Self::pay). Which marginals they are used for may then depend on earlier
/// ones.
///
/// ```
/// use dp_accountant::{Budget, Composition, Ledger, Relation};
/// use dp_sampler::Seed;
/// use dp_vi::{Sensitive, summaries::{Candidate, Categories, Marginals}};
///
/// let (a, b): (Vec<u32>, Vec<u32>) = (0..900).map(|k| (k % 2, k % 3)).unzip();
/// let records = Sensitive::new(Categories::new(vec![2, 2, 3], vec![a.clone(), a, b])?);
/// let relation = Relation::AddRemove;
/// let mut events = Composition::single(Marginals::counts_event(relation, 3, 4.0)?, 1);
/// events.push(Marginals::choice_event(relation, 0.3)?, 1);
/// events.push(Marginals::counts_event(relation, 1, 4.0)?, 1);
///
/// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-6, relation })?;
/// let mut marginals = Marginals::new(&records, Seed::for_tests(1))?;
/// marginals.pay(&events, &mut ledger)?;
/// let single = marginals.counts(&[vec![0], vec![1], vec![2]], 4.0)?;
/// assert!((single[2].counts[1] - 300.0).abs() < 90.0); // thirteen standard deviations
/// // Which pair is the least independent?
/// for other in [1, 2] {
///     let size = records.sizes()[other] as usize;
///     let expected = vec![900.0 / (2 * size) as f64; 2 * size];
///     marginals.consider(&Candidate { columns: vec![0, other], expected, penalty: 0.0 })?;
/// }
/// assert_eq!(marginals.choose(&[0, 1], 0.3)?, 0);
/// let pair = marginals.counts(&[vec![0, 1]], 4.0)?;
/// assert!((pair[0].counts[3] - 450.0).abs() < 52.0); // thirteen standard deviations
/// assert_eq!(ledger.debits().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Privacy
/// A record is in one cell of each marginal, whatever its values: all cells of `m` marginals that are
/// released together change by √m in norm under add/remove, and by √(2m) under replace-one, where a record
/// leaves a cell and enters another. Nothing is clipped. Counts are integers and their noise is
/// [`RoundedGaussianNoise`], as for all [`Summaries`].
///
/// A choice is the exponential mechanism with the utility `Σ |counts − expected| − penalty`. Expected counts
/// and penalties are public, so under add/remove one count changes by 1 and the utility by at most 1, in
/// either direction: the slope is ε/2. Under replace-one two counts change, and the slope is ε/4. Utilities
/// are integers in units of 2⁻²⁰ records, and the choice is [drawn exactly](ExponentialChoice).
///
/// What a choice costs is less than what ε-differential privacy says of it. The logarithms of its
/// probabilities on neighbours differ by numbers between `t − ε` and `t` for some `t` (bounded range; Durfee
/// and Rogers 2019), and the largest δ of all such pairs at `a`, from −ε to ε, is (Dong, Durfee and Rogers
/// 2020)
///
/// ```text
/// δ(a) = (e^(ε/2) − e^(a/2))² / (e^ε − 1),   δ(0) = tanh(ε/4)
/// ```
///
/// A Gaussian mechanism whose means are `√(2π) ε/4` standard deviations apart has a δ at least as large at
/// every `a`, and so costs no less in any composition, however choices depend on earlier releases. The two
/// are nearest at `a = 0`, where it has `erf(√π ε/8)`. Each choice is paid for as that mechanism, which has
/// two fifths of the divergence of one that is only known to be ε-differentially private.
///
/// Names and sizes of columns are public, and must not be made from the records, but by what was released
/// before.
pub struct Marginals<'r> {
    records: Records<'r>,
    noise: RoundedGaussianNoise,
    seed: Seed,
    next: u64,
    paid: Option<(Receipt, Relation)>,
    distances: Distances,
    penalties: Vec<f64>,
}

/// The records of somebody else, or its own.
enum Records<'r> {
    Borrowed(&'r Sensitive<Categories>),
    Owned(Sensitive<Categories>),
}

impl Records<'_> {
    fn get(&self) -> &Sensitive<Categories> {
        match self {
            Self::Borrowed(records) => records,
            Self::Owned(records) => records,
        }
    }
}

impl<'r> Marginals<'r> {
    /// Marginals of these records. The seed must be used for nothing else.
    ///
    /// # Errors
    /// None at present; kept for kinds of noise that can be refused.
    pub fn new(records: &'r Sensitive<Categories>, seed: Seed) -> Result<Self> {
        Self::with(Records::Borrowed(records), seed)
    }

    /// The same of records that nobody else needs: where values are merged, they take no memory besides.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn owning(records: Sensitive<Categories>, seed: Seed) -> Result<Self> {
        Self::with(Records::Owned(records), seed)
    }

    fn with(records: Records<'r>, seed: Seed) -> Result<Self> {
        let noise = RoundedGaussianNoise::from_streams(seed.streams(Purpose::RoundedGaussianNoise), BITS)?;
        let (distances, penalties) = (Distances::default(), Vec::new());
        Ok(Self { records, noise, seed, next: 0, paid: None, distances, penalties })
    }

    /// The event of releasing `marginals` marginals together. The noise of each count has the standard
    /// deviation `noise_multiplier · √m` under add/remove, and `noise_multiplier · √(m/2)` under replace-one.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no marginal, or the noise multiplier is not between 1e-3 and 1e6.
    pub fn counts_event(relation: Relation, marginals: usize, noise_multiplier: f64) -> Result<Event> {
        if !(1..=1 << 20).contains(&marginals) {
            let (what, requirement) = ("the number of marginals", "between 1 and 2^20");
            return Err(Error::OutOfRange { what, requirement, value: marginals as f64 });
        }
        let unit = unit(relation, marginals, noise_multiplier)?;
        grid::event_of_bits(BITS, relation, difference(relation, marginals, unit))
    }

    /// The event of one choice: a Gaussian mechanism that costs no less, with the noise multiplier
    /// `4/(√(2π) ε)` under add/remove and twice that under replace-one, where the accountant takes neighbours to
    /// be twice as far apart.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 1e-6 and 64.
    pub fn choice_event(relation: Relation, epsilon: f64) -> Result<Event> {
        Ok(bounded_range_event(relation, slope(epsilon, relation)?.1)?)
    }

    /// The noise multiplier of a [choice's event](Self::choice_event) at an ε of 1; at others it is this over ε.
    #[must_use]
    pub fn choice_noise_multiplier(relation: Relation) -> f64 {
        bounded_range_noise_multiplier(relation)
    }

    /// Debits everything that is going to be released, under the relation of the ledger's budget.
    ///
    /// # Errors
    /// If the budget does not allow it, or something was paid for before; then nothing is debited.
    pub fn pay(&mut self, events: &Composition, purse: &mut (impl Purse + ?Sized)) -> Result<()> {
        if self.paid.is_some() {
            return Err(Error::Conflict("marginals are paid for once, in one debit"));
        }
        self.paid = Some((purse.debit_all(events)?, purse.ledger().budget().relation));
        Ok(())
    }

    /// Merges values from here on: column `c`'s value `v` becomes `maps[c][v]`. What was
    /// [considered](Self::consider) before stays as it was.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is a map for each column with an entry for each value.
    pub fn merge(&mut self, maps: &[Vec<u32>]) -> Result<()> {
        match &mut self.records {
            Records::Borrowed(records) => self.records = Records::Owned(records.merged(maps)?),
            Records::Owned(records) => records.merge(maps)?,
        }
        Ok(())
    }

    /// The number of values of each column, as merged.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        self.records.get().sizes()
    }

    /// Releases some marginals, for one [`counts_event`](Self::counts_event) of as many and this noise
    /// multiplier that was paid for.
    ///
    /// # Errors
    /// [`Error::NotPaid`] if it was not; [`Error::OutOfRange`] or [`Error::Conflict`] for columns that do not
    /// exist or occur twice in a marginal, and above 2²⁶ cells. Then nothing is released.
    pub fn counts(&mut self, marginals: &[Vec<usize>], noise_multiplier: f64) -> Result<Vec<Marginal>> {
        let relation = self.relation()?;
        let event = Self::counts_event(relation, marginals.len(), noise_multiplier)?;
        let unit = unit(relation, marginals.len(), noise_multiplier)?;
        let records = self.records.get();
        let sums = records.sums_of_marginals(marginals, unit.steps())?;
        let cells: Vec<usize> = marginals.iter().map(|m| records.cells_of(m)).collect::<Result<_>>()?;
        let (receipt, number) = self.take(event)?;
        let noisy = sums.with_noise((receipt, event), &self.noise, number)?;
        let mut numbers = noisy.into_iter().map(|sum| Unit::number(unit, sum));
        let noise = Summaries::deviation(unit);
        let marginal = |(columns, cells): (&Vec<usize>, usize)| Marginal {
            columns: columns.clone(),
            counts: numbers.by_ref().take(cells).collect(),
            noise,
        };
        Ok(marginals.iter().zip(cells).map(marginal).collect())
    }

    /// Computes how far a candidate is from what is expected of it, and keeps that behind the wall. The first
    /// has the number 0.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is an expected count from 0 to 10¹² for each combination, and a
    /// penalty in that range; and as [`counts`](Self::counts).
    pub fn consider(&mut self, candidate: &Candidate) -> Result<usize> {
        for &value in candidate.expected.iter().chain([&candidate.penalty]) {
            if !(0.0..=LARGEST).contains(&value) {
                let (what, requirement) = ("an expected count or a penalty", "from 0 to 1e12");
                return Err(Error::OutOfRange { what, requirement, value });
            }
        }
        let expected: Vec<u64> = candidate.expected.iter().map(|&count| in_units(count)).collect();
        let number = self.distances.push(self.records.get(), &candidate.columns, &expected)?;
        self.penalties.push(candidate.penalty);
        Ok(number)
    }

    /// Chooses one of some candidates, for one [`choice_event`](Self::choice_event) of this ε that was paid
    /// for: its place in the list. Large distances less penalties are likelier, exponentially.
    ///
    /// # Errors
    /// [`Error::NotPaid`] if it was not; [`Error::Conflict`] for a number that no candidate has, or an empty
    /// list.
    pub fn choose(&mut self, candidates: &[usize], epsilon: f64) -> Result<usize> {
        let relation = self.relation()?;
        if candidates.is_empty() || candidates.iter().any(|&number| number >= self.penalties.len()) {
            return Err(Error::Conflict(
                "a choice is among candidates that were considered, and at least one",
            ));
        }
        let penalties = candidates.iter().map(|&number| in_units(self.penalties[number]));
        let most = penalties.clone().max().unwrap_or(0);
        let bonuses: Vec<(usize, u128)> = candidates
            .iter()
            .zip(penalties)
            .map(|(&number, penalty)| (number, u128::from(most - penalty)))
            .collect();
        let ((slope, bits), exact) = slope(epsilon, relation)?;
        let event = bounded_range_event(relation, exact)?;
        let streams = self.seed.streams(Purpose::Custom("choice of a marginal"));
        let choice = ExponentialChoice::from_streams(streams, slope, bits)?;
        let (receipt, number) = self.take(event)?;
        self.distances.choose((receipt, event), (&choice, number), &bonuses)
    }

    fn relation(&self) -> Result<Relation> {
        self.paid.as_ref().map(|(_, relation)| *relation).ok_or(Error::NotPaid { paid: 0 })
    }

    /// The receipt for one use of an event, and a number that nothing else uses.
    fn take(&mut self, event: Event) -> Result<(Receipt, u64)> {
        let receipt = self.paid.as_mut().and_then(|(receipt, _)| receipt.take(event, 1));
        let receipt = receipt.ok_or(Error::NotPaid { paid: 0 })?;
        self.next += 1;
        Ok((receipt, self.next - 1))
    }
}

/// A count from 0 to 10¹² in units.
fn in_units(count: f64) -> u64 {
    (count * Distances::UNITS as f64).round() as u64
}

/// The slope for this ε as a numerator and an exponent of the denominator, and the ε that it gives exactly:
/// rounded down.
fn slope(epsilon: f64, relation: Relation) -> Result<((u64, u32), f64)> {
    let epsilon = crate::cost::integer_scale::epsilon(epsilon)?;
    // ε in steps of 2⁻³⁶, below 2⁴²; at least 1, for ε is at least 10⁻⁶.
    let steps = (epsilon * 2.0_f64.powi(36)) as u64;
    // ε/(2Δ) with Δ of 2²⁰ units, or 2²¹.
    let doubled = match relation {
        Relation::AddRemove => 1,
        Relation::ReplaceOne => 2,
    };
    Ok(((steps, 36 + Distances::UNITS.ilog2() + doubled), steps as f64 / 2.0_f64.powi(36)))
}

#[cfg(test)]
mod tests;
