//! Batches of fixed size, drawn with replacement.

use crate::stream::Below;
use crate::subsampling::{check_batch_length, check_records, sealed::Sealed};
use crate::{Error, Purpose, Result, Scheme, Seed, Streams, Subsampler, Subsampling};

/// Plans batches of independent draws: each place in a batch is any of the records, with equal probability.
///
/// *A batch may name a record more than once*, and then has to count it as often. It may be larger than the
/// data.
///
/// # Privacy
///
/// A record that is drawn k times contributes k times to a sum over the batch, so a change of one record
/// moves that sum by up to k clip norms; amplification theorems for this scheme take that into account, those
/// for other schemes do not.
///
/// ```
/// use dp_sampler::{Seed, Subsampler, Subsampling, WithReplacement};
///
/// let mut sampler = WithReplacement::batch(128)?.bind(60_000, &Seed::for_tests(1))?;
/// let mut batch = Vec::with_capacity(sampler.max_batch_hint());
/// sampler.draw(0, &mut batch);
/// assert_eq!(batch.len(), 128);
/// // 128 draws from three records: some record comes up at least 43 times.
/// let mut sampler = WithReplacement::batch(128)?.bind(3, &Seed::for_tests(1))?;
/// sampler.draw(0, &mut batch);
/// assert!((0..3).any(|record| batch.iter().filter(|&&drawn| drawn == record).count() >= 43));
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithReplacement {
    batch: u64,
}

impl WithReplacement {
    /// Batches of this many draws.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyBatch`] for 0.
    pub fn batch(batch: u64) -> Result<Self> {
        if batch == 0 { Err(Error::EmptyBatch) } else { Ok(Self { batch }) }
    }
}

impl Sealed for WithReplacement {}

impl Subsampling for WithReplacement {
    type Sampler = WithReplacementSampler;

    fn bind(&self, records: u64, seed: &Seed) -> Result<WithReplacementSampler> {
        check_records(records)?;
        let length = check_batch_length(self.batch)?;
        let (uniform, streams) = (Below::new(records), seed.streams(Purpose::Subsample));
        Ok(WithReplacementSampler { records, length, uniform, streams })
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        check_records(records)?;
        Ok(Scheme::WithReplacement { batch: self.batch, records })
    }

    fn deviation(&self, _records: u64, _steps: u64) -> f64 {
        0.0
    }
}

/// Draws batches with replacement; made by [`WithReplacement`].
///
/// A draw takes O(batch) time and no memory beyond the batch.
///
/// # Accuracy
///
/// Exact, given uniformly random words: uniform integers by rejection.
pub struct WithReplacementSampler {
    records: u64,
    length: usize,
    uniform: Below,
    streams: Streams,
}

impl Sealed for WithReplacementSampler {}

impl Subsampler for WithReplacementSampler {
    fn scheme(&self) -> Scheme {
        Scheme::WithReplacement { batch: self.length as u64, records: self.records }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn expected_batch(&self) -> f64 {
        self.length as f64
    }

    fn max_batch_hint(&self) -> usize {
        self.length
    }

    fn draw(&mut self, step: u64, batch: &mut Vec<u64>) {
        batch.clear();
        let mut stream = self.streams.at(step);
        batch.extend((0..self.length).map(|_| self.uniform.draw(&mut stream)));
    }

    fn deviation(&self, _steps: u64) -> f64 {
        0.0
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
        assert!(matches!(WithReplacement::batch(0), Err(Error::EmptyBatch)));
        let plan = WithReplacement::batch(5).unwrap();
        assert!(matches!(plan.bind(0, &seed), Err(Error::NoRecords)));
        assert!(matches!(plan.scheme((1 << 63) + 1), Err(Error::TooManyRecords { .. })));
        assert!(matches!(
            WithReplacement::batch(1 << 63).unwrap().bind(4, &seed),
            Err(Error::BatchTooLong { .. })
        ));
        // More draws than records are no mistake.
        assert!(plan.bind(1, &seed).is_ok());
    }

    /// A guarantee is claimed for what a plan says, and holds for what is drawn.
    #[test]
    fn a_plan_says_how_many_are_drawn() {
        let seed = Seed::for_tests(1);
        for (batch, records) in [(1, 7), (2, 7), (5, 3), (60, 1000)] {
            let plan = WithReplacement::batch(batch).unwrap();
            let (mut sampler, mut drawn) = (plan.bind(records, &seed).unwrap(), Vec::new());
            sampler.draw(0, &mut drawn);
            let said = Scheme::WithReplacement { batch: drawn.len() as u64, records };
            assert_eq!((plan.scheme(records).unwrap(), sampler.scheme()), (said, said));
        }
    }
}
