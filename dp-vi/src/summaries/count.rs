//! How many records there are.

use super::Summaries;
use super::grid::{self, Unit};
use crate::error::{Error, Result};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Purse, Receipt, Relation};
use dp_sampler::{Purpose, RoundedGaussianNoise, Seed};
use ppl_core::Records;

impl Summaries<'_> {
    /// The number of records, with noise of standard deviation `noise_multiplier`.
    ///
    /// # Privacy
    /// Under add/remove one record changes the count by 1. Under replace-one it is public: it is returned as
    /// it is, and nothing is debited.
    ///
    /// # Errors
    /// If the noise multiplier is not between 1e-3 and 1e6, or the budget does not allow it; then nothing is
    /// debited.
    pub fn count(&mut self, noise_multiplier: f64, purse: &mut (impl Purse + ?Sized)) -> Result<f64> {
        let unit = Unit::new(noise_multiplier, 1.0)?;
        if let Some(records) = self.records.public_number(purse.ledger().budget().relation) {
            return Ok(records as f64);
        }
        let mut paid = self.pay(purse, unit.steps() as f64, 1)?;
        let noisy = self.release(self.records.count_in(unit.steps()), &mut paid)?;
        Ok(unit.number(noisy[0]))
    }

    /// The event that [`count`](Self::count) debits under add/remove, to plan with before it is made. Its noise
    /// multiplier is the one asked for or the nearest above that is drawn exactly.
    ///
    /// # Errors
    /// If the noise multiplier is not between 1e-3 and 1e6.
    pub fn count_event(noise_multiplier: f64) -> Result<Event> {
        let unit = Unit::new(noise_multiplier, 1.0)?;
        grid::event_of_bits(grid::BITS, Relation::AddRemove, unit.steps() as f64)
    }
}

/// The release of the number of records that belongs to a run, under add/remove.
pub(crate) struct CountRelease {
    unit: Unit,
    event: Event,
}

impl CountRelease {
    /// Total variation distance of the noise from its exact law, as that of every summary.
    pub(crate) const DEVIATION: f64 = 5.66e-73; // 2⁻²⁴⁰, rounded up

    /// With at least this noise multiplier, or the nearest that can be drawn.
    pub(crate) fn new(noise_multiplier: f64) -> Result<Self> {
        let noise_multiplier = noise_multiplier.clamp(1e-3, 1e6);
        let event = Summaries::count_event(noise_multiplier)?;
        Ok(Self { unit: Unit::new(noise_multiplier, 1.0)?, event })
    }

    /// The event of the release.
    pub(crate) fn event(&self) -> Event {
        self.event
    }

    /// The standard deviation of the noise, in records.
    pub(crate) fn deviation(&self) -> f64 {
        Summaries::deviation(self.unit)
    }

    /// The noisy number, for a receipt of the event. The same for the same seed, which therefore must be used
    /// for nothing else under this purpose.
    pub(crate) fn release(&self, records: &Sensitive<Records>, receipt: Receipt, seed: &Seed) -> Result<f64> {
        let streams = seed.streams(Purpose::Custom("number of records"));
        let noise = RoundedGaussianNoise::from_streams(streams, grid::BITS)?;
        let sums = records.count_in(self.unit.steps());
        let noisy = sums.with_noise((receipt, self.event), &noise, 0)?;
        let [noisy] = noisy.as_slice() else {
            return Err(Error::Conflict("a count is one number"));
        };
        Ok(self.unit.number(*noisy))
    }
}
