//! Batches of fixed size, drawn without replacement.

use zeroize::Zeroizing;

use crate::permutation::Permutation;
use crate::stream::Below;
use crate::subsampling::{check_batch_length, check_records, deviation_of_order, sealed::Sealed};
use crate::{Error, Purpose, Result, Scheme, Seed, Stream, Streams, Subsampler, Subsampling};

/// Plans batches of one size: every subset of that size is equally likely, independently at every step.
///
/// # Privacy
///
/// Amplification theorems for sampling without replacement are for replace-one neighbours, where both data
/// sets have the same size. For add/remove neighbours plan with [`Poisson`](crate::Poisson).
///
/// ```
/// use dp_sampler::{FixedSize, Seed, Subsampler, Subsampling};
///
/// let mut sampler = FixedSize::batch(128)?.bind(60_000, &Seed::for_tests(1))?;
/// let mut batch = Vec::with_capacity(sampler.max_batch_hint());
/// sampler.draw(0, &mut batch);
/// assert_eq!(batch.len(), 128);
/// assert_eq!(sampler.scheme().to_string(), "exactly 128 of 60000 records, every subset of that size equally likely");
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSize {
    batch: u64,
    by_permutation: bool,
}

impl FixedSize {
    /// Batches of this many records, drawn exactly: uniform integers, redrawn when they repeat.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyBatch`] for 0.
    pub fn batch(batch: u64) -> Result<Self> {
        if batch == 0 {
            return Err(Error::EmptyBatch);
        }
        Ok(Self { batch, by_permutation: false })
    }

    /// Draws by a secret [`Permutation`] instead: the images of 0, …, batch − 1 under a new one at every
    /// step.
    ///
    /// It needs no table of what was drawn, which suits memory-poor devices and batches split over machines;
    /// each member can be had without the others. In exchange, uniformity is in part measured instead of
    /// proven (see [`Permutation`]), except for up to 1,024 records, where it is exact too.
    #[must_use]
    pub fn by_permutation(self) -> Self {
        Self { by_permutation: true, ..self }
    }
}

impl Sealed for FixedSize {}

impl Subsampling for FixedSize {
    type Sampler = FixedSizeSampler;

    fn bind(&self, records: u64, seed: &Seed) -> Result<FixedSizeSampler> {
        self.scheme(records)?;
        let length = check_batch_length(self.batch)?;
        let streams = seed.streams(Purpose::Subsample);
        let method = if self.by_permutation {
            Method::Permutation(Permutation::new(records, &mut streams.at(0))?)
        } else if self.batch > records / 4 {
            // A bit per record is then at most four bits per member.
            Method::Set(Zeroizing::new(vec![0; records.div_ceil(64) as usize]))
        } else {
            // Between a quarter and a half full; no longer than the number of records.
            Method::Table(Zeroizing::new(vec![0; check_batch_length((2 * self.batch).next_power_of_two())?]))
        };
        Ok(FixedSizeSampler { batch: self.batch, records, length, method, streams })
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        check_records(records)?;
        if self.batch > records {
            return Err(Error::BatchExceedsRecords { batch: self.batch, records });
        }
        Ok(Scheme::WithoutReplacement { batch: self.batch, records })
    }

    fn deviation(&self, records: u64, _steps: u64) -> f64 {
        deviation_of_order(records, !self.by_permutation)
    }
}

/// Draws batches of one size; made by [`FixedSize`].
///
/// A draw takes O(batch) time and the sampler O(batch) memory, whatever the number of records.
///
/// # Accuracy
///
/// Exact, given uniformly random words: members are uniform integers below the number of records, by
/// rejection, and one that repeats an earlier one is drawn again, so each is uniform over what is left.
/// (Where the batch is more than half of the records, the others are drawn.)
pub struct FixedSizeSampler {
    batch: u64,
    records: u64,
    length: usize,
    method: Method,
    streams: Streams,
}

#[cfg(feature = "gpu")]
impl FixedSizeSampler {
    /// The permutation that draws, if one does.
    pub(crate) fn permutation(&self) -> Option<&Permutation> {
        if let Method::Permutation(permutation) = &self.method { Some(permutation) } else { None }
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }
}

enum Method {
    /// One bit per record.
    Set(Zeroizing<Vec<u64>>),
    /// A hash table of members plus one, 0 for none, probed linearly. Members are uniform, so their own last
    /// bits hash them.
    Table(Zeroizing<Vec<u64>>),
    /// Images of the first numbers.
    Permutation(Permutation),
}

fn draw_set(set: &mut [u64], size: u64, records: u64, stream: &mut Stream, batch: &mut Vec<u64>) {
    set.fill(0);
    let fewer = size.min(records - size);
    let (uniform, mut drawn) = (Below::new(records), 0);
    while drawn < fewer {
        let record = uniform.draw(stream);
        let word = &mut set[(record / 64) as usize];
        drawn += u64::from(*word >> (record % 64) & 1 == 0);
        *word |= 1 << (record % 64);
    }
    let flip = if fewer < size { u64::MAX } else { 0 };
    for (base, &word) in (0..records).step_by(64).zip(set.iter()) {
        let mut word = word ^ flip;
        if records - base < 64 {
            word &= (1 << (records - base)) - 1;
        }
        while word != 0 {
            batch.push(base + u64::from(word.trailing_zeros()));
            word &= word - 1;
        }
    }
}

fn draw_table(table: &mut [u64], length: usize, records: u64, stream: &mut Stream, batch: &mut Vec<u64>) {
    table.fill(0);
    let (uniform, mask) = (Below::new(records), table.len() - 1);
    while batch.len() < length {
        let record = uniform.draw(stream);
        let mut slot = record as usize & mask;
        while table[slot] != 0 && table[slot] != record + 1 {
            slot = (slot + 1) & mask;
        }
        if table[slot] == 0 {
            table[slot] = record + 1;
            batch.push(record);
        }
    }
}

impl Sealed for FixedSizeSampler {}

impl Subsampler for FixedSizeSampler {
    fn scheme(&self) -> Scheme {
        Scheme::WithoutReplacement { batch: self.batch, records: self.records }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn expected_batch(&self) -> f64 {
        self.batch as f64
    }

    fn max_batch_hint(&self) -> usize {
        self.length
    }

    fn draw(&mut self, step: u64, batch: &mut Vec<u64>) {
        batch.clear();
        let mut stream = self.streams.at(step);
        match &mut self.method {
            Method::Set(set) => draw_set(set, self.batch, self.records, &mut stream, batch),
            Method::Table(table) => draw_table(table, self.length, self.records, &mut stream, batch),
            Method::Permutation(permutation) => {
                permutation.rekey(&mut stream);
                permutation.images_into(0, self.length, batch);
            }
        }
    }

    fn deviation(&self, _steps: u64) -> f64 {
        deviation_of_order(self.records, !matches!(self.method, Method::Permutation(_)))
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{strategies, testing};

    fn sampler(batch: u64, records: u64, by_permutation: bool) -> FixedSizeSampler {
        let plan = FixedSize::batch(batch).unwrap();
        let plan = if by_permutation { plan.by_permutation() } else { plan };
        plan.bind(records, &Seed::for_tests(21)).unwrap()
    }

    /// The p-value of the counts of all subsets over 20,000 draws.
    fn subsets(batch: u64, records: u64, by_permutation: bool) -> f64 {
        let mut sampler = sampler(batch, records, by_permutation);
        let mut counts = std::collections::BTreeMap::new();
        for set in 0..1_u64 << records {
            if u64::from(set.count_ones()) == batch {
                counts.insert(set, 0);
            }
        }
        let mut drawn = Vec::new();
        for step in 0..20_000 {
            sampler.draw(step, &mut drawn);
            *counts.get_mut(&drawn.iter().map(|record| 1 << record).sum()).unwrap() += 1;
        }
        testing::uniformity(&counts.into_values().collect::<Vec<_>>())
    }

    #[test]
    fn all_subsets_are_equally_likely() {
        // 20,000 draws, alpha 1e-6 each: set (fewer and more than half), table, permutation.
        for (batch, records) in [(1, 1), (2, 5), (4, 6), (5, 6), (3, 9), (1, 7), (2, 11), (3, 13)] {
            assert!(subsets(batch, records, false) > 1e-6, "{batch} {records}");
            assert!(subsets(batch, records, true) > 1e-6, "{batch} {records} by permutation");
        }
    }

    #[test]
    fn refuses_what_cannot_be_drawn() {
        let seed = Seed::for_tests(1);
        assert!(matches!(FixedSize::batch(0), Err(Error::EmptyBatch)));
        let plan = FixedSize::batch(5).unwrap();
        assert!(matches!(plan.bind(4, &seed), Err(Error::BatchExceedsRecords { batch: 5, records: 4 })));
        assert!(matches!(plan.bind(0, &seed), Err(Error::NoRecords)));
        assert!(matches!(plan.scheme((1 << 63) + 1), Err(Error::TooManyRecords { .. })));
        let plan = FixedSize::batch(1 << 62).unwrap();
        assert!(matches!(plan.bind(1 << 63, &seed), Err(Error::BatchTooLong { .. })));
    }

    proptest! {
        #[test]
        fn batches_are_distinct_in_range_and_repeatable(
            (batch, records) in strategies::batch_and_records(),
            number in strategies::seed_number(), step in any::<u64>(), by_permutation in any::<bool>(),
        ) {
            let plan = FixedSize::batch(batch)?;
            let plan = if by_permutation { plan.by_permutation() } else { plan };
            let mut first = plan.bind(records, &Seed::for_tests(number))?;
            let mut again = plan.bind(records, &Seed::for_tests(number))?;
            let (mut drawn, mut repeated) = (Vec::new(), vec![1, 2, 3]);
            again.draw(step.wrapping_add(1), &mut repeated);
            first.draw(step, &mut drawn);
            again.draw(step, &mut repeated);
            prop_assert_eq!(&drawn, &repeated);
            prop_assert!(drawn.iter().all(|&record| record < records));
            drawn.sort_unstable();
            drawn.dedup();
            prop_assert_eq!(drawn.len() as u64, batch);
        }
    }
}
