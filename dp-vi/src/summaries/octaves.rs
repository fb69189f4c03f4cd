//! The release of orders of magnitude that belongs to a run.

use super::Summaries;
use super::grid::{self, Unit};
use super::tables::{difference, unit};
use crate::error::{Error, Result};
use crate::wall::octaves::OCTAVES;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Receipt, Relation};
use dp_sampler::{Purpose, RoundedGaussianNoise, Seed};
use ppl_core::Records;

/// In which octaves the numbers of some columns lie: noisy counts, a histogram of each number of a record.
///
/// A record is in one bin of each of the `m` histograms, whatever its values, so that all counts together change
/// by √m in norm under add/remove and by √(2m) under replace-one.
pub(crate) struct OctaveRelease {
    numbers: usize,
    unit: Unit,
    event: Event,
}

impl OctaveRelease {
    /// The largest noise multiplier, with which an octave of a few million records does not show.
    pub(crate) const MOST_NOISE: f64 = 1e6;

    /// Of this many numbers of a record, with at least this noise multiplier, or the nearest that can be drawn.
    pub(crate) fn new(relation: Relation, numbers: usize, noise_multiplier: f64) -> Result<Self> {
        let unit = unit(relation, numbers, noise_multiplier.clamp(1e-3, Self::MOST_NOISE))?;
        let event = grid::event_of_bits(grid::BITS, relation, difference(relation, numbers, unit))?;
        Ok(Self { numbers, unit, event })
    }

    /// The event of the release.
    pub(crate) fn event(&self) -> Event {
        self.event
    }

    /// The standard deviation of the noise of each count, in records.
    pub(crate) fn deviation(&self) -> f64 {
        Summaries::deviation(self.unit)
    }

    /// The histograms, one after the other, for a receipt of the event. The same for the same seed, which
    /// therefore must be used for nothing else under this purpose.
    pub(crate) fn release(
        &self,
        records: &Sensitive<Records>,
        columns: &[String],
        receipt: Receipt,
        seed: &Seed,
    ) -> Result<Vec<[f64; OCTAVES]>> {
        let streams = seed.streams(Purpose::Custom("orders of magnitude"));
        let noise = RoundedGaussianNoise::from_streams(streams, grid::BITS)?;
        let sums = records.octave_counts(columns, self.unit.steps())?;
        if sums.len() != self.numbers * OCTAVES {
            return Err(Error::Conflict(
                "the columns whose octaves are released are not those that were paid for",
            ));
        }
        let noisy = sums.with_noise((receipt, self.event), &noise, 0)?;
        let histogram = |counts: &[i128]| {
            let mut histogram = [0.0; OCTAVES];
            histogram.iter_mut().zip(counts).for_each(|(to, &count)| *to = self.unit.number(count));
            histogram
        };
        Ok(noisy.chunks_exact(OCTAVES).map(histogram).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::{Budget, Ledger};
    use ndarray::Array2;

    /// Columns with more numbers than were paid for are refused, and nothing is released.
    #[test]
    fn what_was_not_paid_for_is_not_released() {
        let x = Array2::from_shape_fn((500, 2), |(i, j)| 3.0 + (i + j) as f64 / 1e3);
        let records = Sensitive::new(Records::from_columns([("x", x)]).unwrap());
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let release = |numbers| OctaveRelease::new(relation, numbers, 3.0).unwrap();
            let told = |release: OctaveRelease| {
                let mut ledger = Ledger::new(Budget { epsilon: 9.0, delta: 1e-6, relation }).unwrap();
                let receipt = ledger.debit(release.event(), 1).unwrap();
                release.release(&records, &["x".to_owned()], receipt, &Seed::for_tests(1))
            };
            assert!(told(release(1)).is_err() && told(release(3)).is_err());
            let histograms = told(release(2)).unwrap();
            // 3.0 to 3.5 is in the octave of 2; thirteen deviations of √2 · 3.
            let octave = crate::wall::octaves::octave(3.0);
            assert!(histograms.len() == 2 && histograms.iter().all(|all| (all[octave] - 500.0).abs() < 56.0));
        }
    }
}
