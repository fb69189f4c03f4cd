//! Poisson subsampling in time proportional to the batch.

mod thresholds;

use std::ops::Range;

use rand_core::Rng;

use crate::stream::Bits;
use crate::subsampling::{check_batch_length, check_records, deviations, sealed::Sealed};
use crate::words::Words;
use crate::{Error, Purpose, Result, Scheme, Seed, Streams, Subsampler, Subsampling};

use thresholds::{MOST_DEVIATION, MOST_TERMS, Thresholds};

/// Plans Poisson subsampling: each record is in each batch with probability `rate`, independently.
///
/// # Privacy
///
/// This is the scheme that amplification theorems for add/remove neighbours assume, because the other records
/// of a batch say nothing about whether a given one is in it. Batches differ in length, and their length is
/// secret: divide by [`expected_batch`](Subsampler::expected_batch), never by the length that came out.
///
/// ```
/// use dp_sampler::{Poisson, Seed, Subsampler, Subsampling};
///
/// let mut sampler = Poisson::rate(0.01)?.bind(1 << 40, &Seed::for_tests(1))?; // a trillion records
/// assert!(sampler.deviation(1) < 2_f64.powi(-60)); // of one batch
/// let mut sampler = Poisson::rate(0.01)?.bind(10_000, &Seed::for_tests(1))?;
/// let mut batch = Vec::with_capacity(sampler.max_batch_hint());
/// sampler.draw(0, &mut batch);
/// assert!((40..200).contains(&batch.len()));
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    rate: f64,
}

impl Poisson {
    /// Includes each record with this probability, which is taken as the exact number that the double is.
    ///
    /// # Errors
    ///
    /// [`Error::Rate`] unless 0 < rate ≤ 1.
    pub fn rate(rate: f64) -> Result<Self> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(Error::Rate(rate));
        }
        Ok(Self { rate })
    }
}

impl Sealed for Poisson {}

impl Subsampling for Poisson {
    type Sampler = PoissonSampler;

    fn bind(&self, records: u64, seed: &Seed) -> Result<PoissonSampler> {
        PoissonSampler::new(self.rate, records, seed.streams(Purpose::Subsample))
    }

    fn scheme(&self, records: u64) -> Result<Scheme> {
        check_records(records)?;
        Ok(Scheme::Poisson { rate: self.rate })
    }

    fn deviation(&self, records: u64, steps: u64) -> f64 {
        if self.rate >= 1.0 {
            // Every record, whatever the words are.
            return 0.0;
        }
        // The most blocks that this many records may be cut into, whatever the number of records is in truth:
        // fewer are cut into blocks of the same length, or are one block.
        let blocks = ((records.max(1) - 1) >> doublings(self.rate)) + 1;
        deviations(steps, deviations(blocks, MOST_DEVIATION))
    }
}

/// The logarithm of the length of a block, where there are records enough: the longest one with a mean below
/// 16.
fn doublings(rate: f64) -> u32 {
    let mut doublings = WORD_DOUBLINGS;
    // Rates go down to 2^-1074, records only up to 2^63.
    while doublings < 63 && rate * 2_f64.powi(doublings as i32 + 1) < 16.0 {
        doublings += 1;
    }
    doublings
}

/// Blocks of records that are drawn one after the other from one run of words. Runs can be drawn side by
/// side: few blocks, so that many units of a device find work; enough for what is left over of a run's last
/// words to be little.
pub(crate) const RUN: u64 = 16;

/// Blocks of words between the beginnings of runs: 2¹⁵ words, of which a run takes about a hundred to a
/// thousand.
///
/// That it needs more has a probability below e⁻⁴⁰⁰⁰, and then it shares words with the next. Proof: a
/// position is drawn again with probability at most ½ (at most half of a word's 64 records are drawn), or at
/// most 111/2ˢ for blocks of 2ˢ > 64 records and at most 111 members (`thresholds`). 2¹⁵ words are at least
/// 147,000 positions of up to 7 bits, or 16,000 of up to 63; of these more than 1,776 = 16 · 111 are not
/// repetitions but with the probability of so few successes of at least 0.13 (7 bits) or 0.56 in as many
/// tries, which Chernoff's bound puts below e⁻⁴⁰⁰⁰. With at most 2⁶³ records there are at most 2⁵³ runs, so
/// no number of a block exceeds 2⁶⁴.
pub(crate) const RUN_BLOCKS: u64 = 1 << 11;

/// Blocks of words that are computed at once: what a run of a few small blocks of records takes, so that
/// little is left over.
const WORD_LANES: usize = 8;

/// Blocks of up to this many records are sets in one machine word.
pub(crate) const WORD_DOUBLINGS: u32 = 6;

/// Draws Poisson batches; made by [`Poisson`].
///
/// The records are cut into blocks of M = 2ˢ with about 8 to 16 expected members (64 records where more than
/// an eighth is drawn). For each block one word, compared with precomputed integers, says how many members it
/// has; then that many distinct positions are drawn, s bits each, exactly uniformly. The last block is
/// imagined full and what lies beyond the records is left out, which changes nothing for the others. So a
/// draw takes O(expected batch + 1) time whatever the number of records, and no floating-point number
/// decides.
///
/// # The words
///
/// Sixteen blocks make up a run, and run i takes 64-bit words (low half first) in turn from block 2¹¹ i of
/// the step's stream on. A block takes one word for the number of its members, and a second one if the first
/// decides nothing; then positions, s bits at a time from the lowest on, from a word that lasts over the
/// blocks of a run until fewer than s bits are left of it.
///
/// # Accuracy
///
/// Only the integer thresholds are rounded; [`deviation`](Subsampler::deviation) bounds what that does to
/// batches: the number of blocks times (K + 1) · 2⁻¹²⁸, where K ≤ 112 is the length of the threshold table,
/// below 2⁻⁶⁰ for every rate and number of records.
pub struct PoissonSampler {
    rate: f64,
    records: u64,
    doublings: u32,
    thresholds: Thresholds,
    longest: usize,
    streams: Streams,
}

impl PoissonSampler {
    fn new(rate: f64, records: u64, streams: Streams) -> Result<Self> {
        check_records(records)?;
        let longest = check_batch_length(likely_maximum(rate, records))?;
        // No longer than the records.
        let enough = (records - 1).checked_ilog2().map_or(0, |log| log + 1);
        let doublings = doublings(rate).min(enough);
        Ok(Self { rate, records, doublings, thresholds: Thresholds::new(rate, doublings), longest, streams })
    }

    pub(crate) fn blocks(&self) -> u64 {
        ((self.records - 1) >> self.doublings) + 1
    }

    /// Draws blocks of at most 64 records as sets of bits.
    fn draw_words(&self, blocks: Range<u64>, stream: &mut impl Rng, batch: &mut Vec<u64>) {
        let size = 1_usize << self.doublings;
        let everything = u64::MAX >> (64 - size);
        let mut bits = Bits::new();
        for block in blocks {
            let base = block << self.doublings;
            let members = self.thresholds.draw(stream);
            // Of the members and the others, the fewer are drawn.
            let fewer = members.min(size - members);
            let (mut set, mut drawn) = (0_u64, 0);
            while drawn < fewer {
                let position = bits.take(self.doublings, stream);
                drawn += usize::from(set >> position & 1 == 0);
                set |= 1 << position;
            }
            if fewer < members {
                set ^= everything;
            }
            let inside = self.records - base;
            if inside < 64 {
                set &= (1 << inside) - 1;
            }
            while set != 0 {
                batch.push(base + u64::from(set.trailing_zeros()));
                set &= set - 1;
            }
        }
    }

    /// Draws blocks of more than 64 records as short lists; `chosen` is room for one.
    fn draw_lists(
        &self,
        blocks: Range<u64>,
        stream: &mut impl Rng,
        chosen: &mut [u64; MOST_TERMS],
        batch: &mut Vec<u64>,
    ) {
        let mut bits = Bits::new();
        let last = self.blocks() - 1;
        for block in blocks {
            let base = block << self.doublings;
            let members = self.thresholds.draw(stream);
            // Positions by their last ten bits: only where one was seen before can it be a repetition.
            let mut seen = [0_u64; 16];
            let mut drawn = 0;
            while drawn < members {
                let position = bits.take(self.doublings, stream);
                let (word, bit) = (position as usize >> 6 & 15, position & 63);
                let repeated = seen[word] >> bit & 1 == 1 && chosen[..drawn].contains(&(base + position));
                if !repeated {
                    seen[word] |= 1 << bit;
                    chosen[drawn] = base + position;
                    drawn += 1;
                }
            }
            if block < last {
                batch.extend_from_slice(&chosen[..drawn]);
            } else {
                batch.extend(chosen[..drawn].iter().filter(|&&record| record < self.records));
            }
        }
    }
}

#[cfg(feature = "gpu")]
impl PoissonSampler {
    /// The logarithm of the number of records in a block.
    pub(crate) fn doublings(&self) -> u32 {
        self.doublings
    }

    /// The number of runs.
    pub(crate) fn runs(&self) -> u64 {
        self.blocks().div_ceil(RUN)
    }

    pub(crate) fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Exchanges the thresholds for two of these first and second words, the second of which has a first word
    /// that is larger by `next`.
    #[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
    pub(crate) fn set_thresholds(&mut self, first: u64, second: [u64; 2], next: u64) {
        self.thresholds = Thresholds::for_tests([first, first.saturating_add(next)], second);
    }
}

impl Sealed for PoissonSampler {}

impl Subsampler for PoissonSampler {
    fn scheme(&self) -> Scheme {
        Scheme::Poisson { rate: self.rate }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn expected_batch(&self) -> f64 {
        self.records as f64 * self.rate
    }

    fn max_batch_hint(&self) -> usize {
        self.longest
    }

    fn draw(&mut self, step: u64, batch: &mut Vec<u64>) {
        batch.clear();
        let mut stream = Words::<WORD_LANES>::new(self.streams.blocks(step));
        let mut chosen = [0_u64; MOST_TERMS];
        let blocks = self.blocks();
        for run in 0..blocks.div_ceil(RUN) {
            if run > 0 {
                stream.go_to_block(run * RUN_BLOCKS);
            }
            let here = run * RUN..blocks.min((run + 1) * RUN);
            if self.doublings <= WORD_DOUBLINGS {
                self.draw_words(here, &mut stream, batch);
            } else {
                self.draw_lists(here, &mut stream, &mut chosen, batch);
            }
        }
    }

    fn deviation(&self, steps: u64) -> f64 {
        if self.rate >= 1.0 {
            return 0.0;
        }
        deviations(steps, deviations(self.blocks(), self.thresholds.deviation()))
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

/// A length that Binomial(records, rate) exceeds with probability below 2⁻¹⁰⁰.
///
/// Bernstein's inequality, P(X ≥ mean + x) ≤ exp(−x² / (2 mean + 2x/3)), solved for 100 ln 2 < 70.
pub(crate) fn likely_maximum(rate: f64, records: u64) -> u64 {
    let mean = rate * records as f64;
    let third = 70.0 / 3.0;
    let bound = mean + third + (third * third + 2.0 * 70.0 * mean).sqrt();
    // Saturates; one more than rounding up makes up for the roundings above.
    (bound.ceil() as u64).saturating_add(1).min(records)
}

#[cfg(test)]
mod tests;
