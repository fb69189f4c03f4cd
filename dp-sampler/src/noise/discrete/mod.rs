//! Noise on integers, sampled exactly.

mod bernoulli;
mod gaussian;
mod laplace;
mod rounded;
#[cfg(test)]
mod tests;
mod words;

pub use gaussian::DiscreteGaussianNoise;
pub use laplace::DiscreteLaplaceNoise;
pub use rounded::RoundedGaussianNoise;

#[cfg(feature = "gpu")]
pub(crate) use bernoulli::{MOST, MOST_TERMS};
pub(crate) use words::RUN;
#[cfg(feature = "gpu")]
pub(crate) use words::RUN_BLOCKS;

pub(crate) use words::Words;

use super::NOISE_CHUNK;
use crate::{Error, Result, Streams};

/// Bound on the total variation distance of an exact value from its law, 2⁻¹⁰⁰⁰: see
/// [`Noise::deviation`](crate::Noise::deviation).
pub(crate) const DEVIATION: f64 = f64::from_bits((1023 - 1000) << 52);

/// How one value is drawn from words.
trait Draw {
    fn draw(&self, words: &mut Words) -> i64;
}

/// Overwrites `out` with the values of a step from one on that begins a chunk.
fn fill_from(law: &impl Draw, streams: &Streams, step: u64, first_value: u64, out: &mut [i64]) {
    const { assert!(NOISE_CHUNK.is_multiple_of(RUN)) };
    let first_run = first_value / RUN as u64;
    let mut words = Words::of_step(streams, step);
    for (run, values) in (first_run..).zip(out.chunks_mut(RUN)) {
        words.begin(run);
        for value in values {
            *value = law.draw(&mut words);
        }
    }
}

/// A ratio in lowest terms, both parts from 1 to 2^bits.
fn ratio(what: &'static str, bits: u32, numerator: u64, denominator: u64) -> Result<(u64, u64)> {
    let (mut a, mut b) = (numerator, denominator);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let (numerator, denominator) = (numerator / a.max(1), denominator / a.max(1));
    let range = 1..=1 << bits;
    if range.contains(&numerator) && range.contains(&denominator) {
        Ok((numerator, denominator))
    } else {
        Err(Error::Ratio { what, bits, numerator, denominator })
    }
}
