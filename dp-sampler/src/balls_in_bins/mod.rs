//! Epochs in which every record chooses a step for itself.

mod halving;

use crate::permutation::Permutation;
use crate::poisson::likely_maximum;
use crate::subsampling::{check_batch_length, check_records, deviation_of_order, deviations, sealed::Sealed};
use crate::{Error, MAX_RECORDS, Purpose, Result, Scheme, Seed, Streams, Subsampler, Subsampling};

/// Plans epochs of K steps, each record at exactly one of them, uniformly and independently of the others.
///
/// ```text
/// step s: bin (s mod K) of epoch ⌊s/K⌋      a bin alone is a Poisson batch at rate 1/K; an epoch's bins divide the records
/// ```
///
/// # Privacy
///
/// Like Poisson subsampling the other records of a batch say nothing about whether a given one is in it, and
/// like shuffling each record is used exactly once an epoch. The batches of an epoch depend on each other, so
/// an accountant must have a theorem for this very scheme. The lengths of batches are secret: divide by
/// [`expected_batch`](Subsampler::expected_batch).
///
/// ```
/// use dp_sampler::{BallsInBins, Seed, Subsampler, Subsampling};
///
/// let mut sampler = BallsInBins::bins(3)?.bind(10, &Seed::for_tests(1))?;
/// let (mut batch, mut epoch) = (Vec::with_capacity(sampler.max_batch_hint()), Vec::new());
/// for step in 0..3 {
///     sampler.draw(step, &mut batch);
///     epoch.extend_from_slice(&batch);
/// }
/// epoch.sort();
/// assert_eq!(epoch, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// Chua, Ghazi, Harrison, Leeman, Kamath, Kumar, Manurangsi, Sinha, Zhang (2025), *Balls-and-bins sampling
/// for DP-SGD*. Goldreich, Goldwasser, Nussboim (2003), *On the implementation of huge random objects*, for
/// trees of binomial numbers that are evaluated at one leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BallsInBins {
    division: Division,
    exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Division {
    Bins(u64),
    Batch(u64),
}

impl BallsInBins {
    /// Epochs of this many steps.
    ///
    /// # Errors
    ///
    /// [`Error::Bins`] unless there are between 1 and 2⁶³.
    pub fn bins(bins: u64) -> Result<Self> {
        if !(1..=MAX_RECORDS).contains(&bins) {
            return Err(Error::Bins(bins));
        }
        Ok(Self { division: Division::Bins(bins), exact: false })
    }

    /// As many steps as batches of this size would need, ⌈N/B⌉.
    ///
    /// # Privacy
    ///
    /// The number of steps is then a function of the number of records, and shows it. Where that number is
    /// protected, as it is for neighbours that differ by the presence of a record, name the
    /// [`bins`](Self::bins) instead.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyBatch`] for 0.
    pub fn batch(batch: u64) -> Result<Self> {
        if batch == 0 {
            Err(Error::EmptyBatch)
        } else {
            Ok(Self { division: Division::Batch(batch), exact: false })
        }
    }

    /// Writes each epoch's order out instead of computing it from a key: exactly uniform for any number of
    /// records.
    ///
    /// It takes 16 bytes a record, and entering an epoch takes time in proportion to the records.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    fn bins_for(self, records: u64) -> Result<u64> {
        check_records(records)?;
        match self.division {
            Division::Bins(bins) => Ok(bins),
            Division::Batch(batch) if batch > records => Err(Error::BatchExceedsRecords { batch, records }),
            Division::Batch(batch) => Ok(records.div_ceil(batch)),
        }
    }

    fn batch_named(&self) -> Option<u64> {
        match self.division {
            Division::Bins(_) => None,
            Division::Batch(batch) => Some(batch),
        }
    }
}

impl Sealed for BallsInBins {}

impl Subsampling for BallsInBins {
    type Sampler = BallsInBinsSampler;

    fn bind(&self, records: u64, seed: &Seed) -> Result<BallsInBinsSampler> {
        let bins = self.bins_for(records)?;
        let longest = check_batch_length(likely_maximum(1.0 / bins as f64, records))?;
        let epochs = seed.streams(Purpose::Subsample);
        let streams = epochs.child(0);
        let order = if self.exact { Permutation::exact } else { Permutation::new };
        let permutation = order(records, &mut streams.at(0))?;
        let path = Vec::with_capacity(DEEPEST);
        let batch = self.batch_named();
        Ok(BallsInBinsSampler { bins, batch, records, longest, epoch: 0, permutation, path, streams, epochs })
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        Ok(Scheme::BallsInBins { bins: self.bins_for(records)?, batch: self.batch_named() })
    }

    fn deviation(&self, records: u64, steps: u64) -> f64 {
        let bins = match self.division {
            Division::Bins(bins) => bins,
            Division::Batch(batch) => records.div_ceil(batch),
        };
        deviation_of_order(records, self.exact).max(deviation_of_lengths(bins, records, steps))
    }
}

/// What the lengths of the batches of this many steps deviate by.
///
/// Each of the K − 1 divisions of an epoch uses 2⁻¹²⁶ for every binary digit of the dividing probability,
/// which are 65 on average at the most.
fn deviation_of_lengths(bins: u64, records: u64, steps: u64) -> f64 {
    if records <= halving::TOSSED || bins <= 1 {
        return 0.0;
    }
    deviations(steps.div_ceil(bins), deviations(bins - 1, 65.0 * halving::DEVIATION))
}

/// Bins are divided at powers of two, so each division halves the next power of two that they fit in.
const DEEPEST: usize = 65;

/// Consecutive bins, and which places of the epoch's order fall into them.
#[derive(Clone, Copy)]
struct Node {
    first_bin: u64,
    bins: u64,
    start: u64,
    count: u64,
}

impl Node {
    /// Where the bins are divided: the largest power of two below their number comes first.
    fn first_half(self) -> u64 {
        1 << (self.bins - 1).ilog2()
    }
}

/// Draws the bins of epochs; made by [`BallsInBins`].
///
/// The records are put into a random order, the numbers of records in all bins are multinomial, and a bin is
/// its slice of the order. The numbers are never written down: a binary tree halves the bins, at each node a
/// binomial number of its records goes to the first half, and a draw walks down to its own bin. So steps are
/// random access and take O(batch + log K) time, and the sampler takes O(log K) memory (and a table for up to
/// 1,024 records).
///
/// # Accuracy
///
/// The division into lengths is within 65 (K − 1) · 2⁻¹²⁶ of exact for an epoch, in total variation (below
/// 2⁻⁵⁶ for every number of bins, and exact up to 4,096 records); which records are where is as uniform as
/// the [`Permutation`], exactly for up to 1,024 records; above that in part measured instead of proven,
/// unless the plan is [`exact`](BallsInBins::exact).
pub struct BallsInBinsSampler {
    bins: u64,
    /// What the bins were computed from, for the scheme.
    batch: Option<u64>,
    records: u64,
    longest: usize,
    /// Whose order and tree these are.
    epoch: u64,
    permutation: Permutation,
    /// From the root to the last bin drawn: the next bin shares most of it.
    path: Vec<Node>,
    /// Of the epoch: 0 for the order, then one for every place where bins are divided.
    streams: Streams,
    epochs: Streams,
}

impl BallsInBinsSampler {
    /// The number of steps that make up an epoch, K.
    #[must_use]
    pub fn steps_per_epoch(&self) -> u64 {
        self.bins
    }

    fn enter(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.streams = self.epochs.child(epoch);
            self.permutation.rekey(&mut self.streams.at(0));
            self.path.clear();
            self.epoch = epoch;
        }
    }

    /// Which places of the order are in a bin: the first one and how many.
    fn slice(&mut self, bin: u64) -> (u64, u64) {
        while self.path.pop_if(|node| bin < node.first_bin || bin - node.first_bin >= node.bins).is_some() {}
        let root = Node { first_bin: 0, bins: self.bins, start: 0, count: self.records };
        let mut node = self.path.last().copied().unwrap_or(root);
        if self.path.is_empty() {
            self.path.push(root);
        }
        while node.bins > 1 {
            let first = node.first_half();
            let middle = node.first_bin + first;
            let taken = if node.count == 0 {
                0
            } else {
                halving::binomial(node.count, first, node.bins, &mut self.streams.at(middle))
            };
            node = if bin < middle {
                Node { bins: first, count: taken, ..node }
            } else {
                let (start, count) = (node.start + taken, node.count - taken);
                Node { first_bin: middle, bins: node.bins - first, start, count }
            };
            self.path.push(node);
        }
        (node.start, node.count)
    }
}

impl Sealed for BallsInBinsSampler {}

impl Subsampler for BallsInBinsSampler {
    fn scheme(&self) -> Scheme {
        Scheme::BallsInBins { bins: self.bins, batch: self.batch }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn expected_batch(&self) -> f64 {
        self.records as f64 / self.bins as f64
    }

    fn max_batch_hint(&self) -> usize {
        self.longest
    }

    fn draw(&mut self, step: u64, batch: &mut Vec<u64>) {
        self.enter(step / self.bins);
        let (start, count) = self.slice(step % self.bins);
        // A bin that no vector can hold is as likely as 2⁻¹⁰⁰ and cannot be drawn on this machine.
        self.permutation.images_into(start, count as usize, batch);
    }

    fn deviation(&self, steps: u64) -> f64 {
        let order = deviation_of_order(self.records, self.permutation.is_exact());
        order.max(deviation_of_lengths(self.bins, self.records, steps))
    }

    fn is_secret(&self) -> bool {
        self.epochs.is_secret()
    }
}

#[cfg(test)]
mod tests;
