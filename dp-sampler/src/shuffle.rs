//! Epochs in random order, cut into batches.

use crate::permutation::Permutation;
use crate::subsampling::{check_batch_length, check_records, deviation_of_order, sealed::Sealed};
use crate::{Error, Purpose, Result, Scheme, Seed, Streams, Subsampler, Subsampling};

/// Plans epochs: every record exactly once in an epoch, in an order that is new and secret for each.
///
/// ```text
/// steps of an epoch: ⌈N/B⌉      step s: batch (s mod ⌈N/B⌉) of epoch ⌊s/⌈N/B⌉⌋, records B·j, …, B·j + B − 1 of its order
/// ```
///
/// The last batch of an epoch is shorter where the batch size does not divide the number of records.
///
/// # Privacy
///
/// This is what training loops usually do, and it is *not* Poisson subsampling: the batches of an epoch
/// depend on each other, and a record that was not in the others is in the last for certain. An accountant
/// must have a theorem for this very scheme. How long each batch is, is public.
///
/// ```
/// use dp_sampler::{Seed, Shuffle, Subsampler, Subsampling};
///
/// let mut sampler = Shuffle::batch(4)?.bind(10, &Seed::for_tests(1))?;
/// let (mut batch, mut epoch) = (Vec::with_capacity(sampler.max_batch_hint()), Vec::new());
/// for step in 0..3 {
///     sampler.draw(step, &mut batch); // 4, 4 and 2 records
///     epoch.extend_from_slice(&batch);
/// }
/// epoch.sort();
/// assert_eq!(epoch, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shuffle {
    batch: u64,
    exact: bool,
}

impl Shuffle {
    /// Batches of this many records, except for what is left at the end of an epoch.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyBatch`] for 0.
    pub fn batch(batch: u64) -> Result<Self> {
        if batch == 0 { Err(Error::EmptyBatch) } else { Ok(Self { batch, exact: false }) }
    }

    /// Writes each epoch's order out instead of computing it from a key: exactly uniform for any number of
    /// records.
    ///
    /// It takes 16 bytes a record, and entering an epoch takes time in proportion to the records.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }
}

impl Sealed for Shuffle {}

impl Subsampling for Shuffle {
    type Sampler = ShuffleSampler;

    fn bind(&self, records: u64, seed: &Seed) -> Result<ShuffleSampler> {
        self.scheme(records)?;
        let length = check_batch_length(self.batch)?;
        let streams = seed.streams(Purpose::Subsample);
        let order = if self.exact { Permutation::exact } else { Permutation::new };
        let permutation = order(records, &mut streams.at(0))?;
        let steps = records.div_ceil(self.batch);
        Ok(ShuffleSampler { batch: self.batch, records, length, steps, epoch: 0, permutation, streams })
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        check_records(records)?;
        if self.batch > records {
            return Err(Error::BatchExceedsRecords { batch: self.batch, records });
        }
        Ok(Scheme::Shuffle { batch: self.batch, records })
    }

    fn deviation(&self, records: u64, _steps: u64) -> f64 {
        deviation_of_order(records, self.exact)
    }
}

/// Draws the batches of shuffled epochs; made by [`Shuffle`].
///
/// Steps are random access: a draw takes O(batch) time in any order, a little more where it enters an epoch,
/// and the sampler O(1) memory (a table for up to 1,024 records), because an order is a keyed [`Permutation`]
/// of which a batch evaluates its own slice.
///
/// # Accuracy
///
/// The orders are as uniform as the [`Permutation`]: exactly for up to 1,024 records; above, in part measured
/// instead of proven unless the plan is [`exact`](Shuffle::exact). The division into epochs and batches is
/// exact.
pub struct ShuffleSampler {
    batch: u64,
    records: u64,
    length: usize,
    /// In an epoch.
    steps: u64,
    /// Whose order the permutation is.
    epoch: u64,
    permutation: Permutation,
    streams: Streams,
}

impl ShuffleSampler {
    /// The number of steps that make up an epoch, ⌈N/B⌉.
    #[must_use]
    pub fn steps_per_epoch(&self) -> u64 {
        self.steps
    }
}

impl Sealed for ShuffleSampler {}

impl Subsampler for ShuffleSampler {
    fn scheme(&self) -> Scheme {
        Scheme::Shuffle { batch: self.batch, records: self.records }
    }

    fn records(&self) -> u64 {
        self.records
    }

    /// The mean over an epoch, N/⌈N/B⌉: sums over batches divided by it add up to the right sum in every
    /// epoch.
    fn expected_batch(&self) -> f64 {
        self.records as f64 / self.steps as f64
    }

    fn max_batch_hint(&self) -> usize {
        self.length
    }

    fn draw(&mut self, step: u64, batch: &mut Vec<u64>) {
        let (epoch, position) = (step / self.steps, step % self.steps);
        if epoch != self.epoch {
            self.permutation.rekey(&mut self.streams.at(epoch));
            self.epoch = epoch;
        }
        let start = position * self.batch;
        // At most `length`, which fits.
        let count = self.batch.min(self.records - start) as usize;
        self.permutation.images_into(start, count, batch);
    }

    fn deviation(&self, _steps: u64) -> f64 {
        deviation_of_order(self.records, self.permutation.is_exact())
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be_drawn() {
        let seed = Seed::for_tests(1);
        assert!(matches!(Shuffle::batch(0), Err(Error::EmptyBatch)));
        let plan = Shuffle::batch(5).unwrap();
        assert!(matches!(plan.bind(4, &seed), Err(Error::BatchExceedsRecords { batch: 5, records: 4 })));
        assert!(matches!(plan.bind(0, &seed), Err(Error::NoRecords)));
        assert!(matches!(plan.scheme((1 << 63) + 1), Err(Error::TooManyRecords { .. })));
        assert!(matches!(
            Shuffle::batch(1 << 62).unwrap().bind(1 << 63, &seed),
            Err(Error::BatchTooLong { .. })
        ));
    }

    #[test]
    fn an_epoch_has_every_record_once_and_batches_of_the_planned_lengths() {
        for (batch, records) in [(1, 1), (3, 10), (10, 10), (7, 1_024), (100, 1_025), (999, 5_000)] {
            let mut sampler = Shuffle::batch(batch).unwrap().bind(records, &Seed::for_tests(41)).unwrap();
            let steps = sampler.steps_per_epoch();
            let mut drawn = Vec::new();
            for epoch in [3, 0, (u64::MAX / steps) - 1] {
                let mut seen = vec![false; records as usize];
                // Backwards: no step needs another.
                for position in (0..steps).rev() {
                    sampler.draw(epoch * steps + position, &mut drawn);
                    let last = position + 1 == steps;
                    assert_eq!(drawn.len() as u64, if last { records - (steps - 1) * batch } else { batch });
                    for &record in &drawn {
                        assert!(!std::mem::replace(&mut seen[record as usize], true));
                    }
                }
                assert!(seen.iter().all(|&seen| seen));
            }
            assert_eq!(sampler.expected_batch() * steps as f64, records as f64);
        }
    }
}
