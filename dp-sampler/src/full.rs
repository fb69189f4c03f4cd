//! Every record at every step.

use crate::subsampling::{check_batch_length, check_records, sealed::Sealed};
use crate::{Result, Scheme, Streams, Subsampler, Subsampling};

/// Plans to use every record at every step.
///
/// ```
/// use dp_sampler::{FullBatch, Scheme, Seed, Subsampler, Subsampling};
///
/// let mut sampler = FullBatch.bind(3, &Seed::from_os()?)?;
/// let mut batch = Vec::with_capacity(sampler.max_batch_hint());
/// sampler.draw(0, &mut batch);
/// assert_eq!(batch, [0, 1, 2]);
/// assert_eq!(sampler.scheme(), Scheme::Full);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FullBatch;

/// Draws every record; made by [`FullBatch`].
#[derive(Debug)]
pub struct FullBatchSampler {
    records: u64,
    length: usize,
    secret: bool,
}

impl Sealed for FullBatch {}
impl Sealed for FullBatchSampler {}

impl Subsampling for FullBatch {
    type Sampler = FullBatchSampler;

    fn bind_streams(&self, records: u64, streams: Streams) -> Result<FullBatchSampler> {
        check_records(records)?;
        Ok(FullBatchSampler { records, length: check_batch_length(records)?, secret: streams.is_secret() })
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        check_records(records)?;
        Ok(Scheme::Full)
    }

    fn deviation(&self, _records: u64, _steps: u64) -> f64 {
        0.0
    }
}

impl Subsampler for FullBatchSampler {
    fn scheme(&self) -> Scheme {
        Scheme::Full
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn expected_batch(&self) -> f64 {
        self.records as f64
    }

    fn max_batch_hint(&self) -> usize {
        self.length
    }

    fn draw(&mut self, _step: u64, batch: &mut Vec<u64>) {
        batch.clear();
        batch.extend(0..self.records);
    }

    fn deviation(&self, _steps: u64) -> f64 {
        0.0
    }

    fn is_secret(&self) -> bool {
        self.secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Seed};

    #[test]
    fn refuses_what_cannot_be_drawn() {
        let seed = Seed::for_tests(1);
        assert!(matches!(FullBatch.bind(0, &seed), Err(Error::NoRecords)));
        assert!(matches!(FullBatch.scheme(u64::MAX), Err(Error::TooManyRecords { records: u64::MAX })));
        assert!(matches!(FullBatch.bind(1 << 63, &seed), Err(Error::BatchTooLong { .. })));
    }
}
