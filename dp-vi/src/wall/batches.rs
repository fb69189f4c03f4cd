//! Which records a release is made of.

use super::record_noise::RecordNoise;
use crate::cost::pricing::sampling_rate;
use crate::error::Result;
use crate::wall::sensitive::Sensitive;
use dp_sampler::{Purpose, Scheme, Seed, Subsampler, Subsampling};
use ppl_core::{RecordGradient, Records};

/// The batches of a run, and the noise of records' own latent values.
pub(crate) struct Batches<'r, S> {
    records: &'r Sensitive<Records>,
    sampler: S,
    rate: f64,
    drawn: Vec<u64>,
    record_noise: RecordNoise,
}

impl<'r, S: Subsampler> Batches<'r, S> {
    /// The seed comes with the names of per-record inputs that take fresh standard normals at every release.
    pub(crate) fn new(
        subsampling: &impl Subsampling<Sampler = S>,
        records: &'r Sensitive<Records>,
        (seed, record_noise): (&Seed, &[String]),
    ) -> Result<Self> {
        // No sampler draws from nothing. Where there is no record, its draws are thrown away: whether there
        // is one must not show.
        let sampler = subsampling.bind(records.behind_the_wall().len().max(1) as u64, seed)?;
        Ok(Self {
            rate: sampling_rate(&sampler.scheme())?,
            drawn: Vec::with_capacity(sampler.max_batch_hint()),
            record_noise: RecordNoise::new(
                record_noise,
                seed.streams(Purpose::Custom("latent values of records")),
            ),
            records,
            sampler,
        })
    }

    /// The sampling scheme, as the sampler states it.
    pub(crate) fn scheme(&self) -> Scheme {
        self.sampler.scheme()
    }

    /// By how much the batches of this many releases deviate from the scheme, in total variation.
    pub(crate) fn deviation(&self, releases: u64) -> f64 {
        self.sampler.deviation(releases)
    }

    /// The fraction of the records that a batch holds on average.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Draws the batch of this number, and the noise of its records into the program's inputs.
    pub(super) fn draw(
        &mut self,
        number: u64,
        program: &mut RecordGradient<f64>,
    ) -> Result<(&'r Records, &[u64])> {
        let records = self.records.behind_the_wall();
        self.sampler.draw(number, &mut self.drawn);
        if records.is_empty() {
            self.drawn.clear();
        }
        self.record_noise.fill(number, self.drawn.len(), program)?;
        Ok((records, &self.drawn))
    }
}
