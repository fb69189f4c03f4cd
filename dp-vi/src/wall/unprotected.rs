//! Sums without clipping and noise, for runs without privacy.

use super::batches::Batches;
use crate::error::Result;
use crate::wall::sensitive::Sensitive;
use dp_sampler::Subsampler;
use ppl_core::{RecordGradient, Records};

/// Sums of per-record gradients over batches as they are. **Not private.**
pub(crate) struct UnprotectedSum<'r, S> {
    pub(crate) batches: Batches<'r, S>,
    pub(crate) program: RecordGradient<f64>,
}

impl<S: Subsampler> UnprotectedSum<'_, S> {
    /// Writes the sum over the batch of this number, divided by the rate.
    pub(crate) fn write(&mut self, number: u64, out: &mut [f64]) -> Result<()> {
        let rate = self.batches.rate();
        let (records, batch) = self.batches.draw(number, &mut self.program)?;
        // Norms are not needed, but for leaving out a record that is not finite.
        self.program.sum(records, batch, out)?;
        if out.iter().any(|sum| !sum.is_finite()) {
            let whole = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
            self.program.weighted_sum(records, batch, whole, out)?;
        }
        out.iter_mut().for_each(|sum| *sum /= rate);
        Ok(())
    }
}

/// All records, for sums as they are. **Not private.**
pub(crate) struct AllRecords<'r> {
    records: &'r Records,
    all: Vec<u64>,
}

impl<'r> AllRecords<'r> {
    pub(crate) fn of(records: &'r Sensitive<Records>) -> Self {
        let records = records.behind_the_wall();
        Self { records, all: (0..records.len() as u64).collect() }
    }

    /// Writes the sum of a program's gradients.
    pub(crate) fn sum(&self, program: &mut RecordGradient<f64>, out: &mut [f64]) -> Result<()> {
        Ok(program.sum(self.records, &self.all, out)?)
    }
}

/// Writes the sum of a program's gradients over all records as it is. **Not private.**
pub(crate) fn sum_over_all(
    program: &mut RecordGradient<f64>,
    records: &Sensitive<Records>,
    out: &mut [f64],
) -> Result<()> {
    AllRecords::of(records).sum(program, out)
}
