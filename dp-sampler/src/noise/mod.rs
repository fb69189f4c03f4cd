//! Noise, and what it says of itself.

mod continuous;
pub(crate) mod discrete;
mod distribution;
mod double;
mod fixed;
mod gaussian;
mod grid;
mod laplace;
pub(crate) mod single;
#[cfg(test)]
mod tests;

pub use discrete::{DiscreteGaussianNoise, DiscreteLaplaceNoise, RoundedGaussianNoise};
pub use distribution::NoiseDistribution;
pub use gaussian::GaussianNoise;
pub use grid::GridGaussianNoise;
pub use laplace::LaplaceNoise;

use crate::subsampling::sealed::Sealed;
use crate::{Error, Result};

/// The values that belong together: [`NoiseSource::fill_chunks`] begins at a multiple of this.
pub const NOISE_CHUNK: usize = 256;

/// How many chunks a step has: 2⁴⁰, which is 2⁴⁸ values.
pub const MAX_NOISE_CHUNKS: u64 = 1 << 40;

/// What noise says of itself, whatever numbers it hands out.
///
/// # Privacy
///
/// A mechanism's proof holds for the distribution its noise really has, so a mechanism takes the distribution
/// from the noise it will add, and only this crate implements this trait: noise that is tested here cannot be
/// passed off as another.
pub trait Noise: Sealed {
    /// The distribution of every value; values are independent of each other, and steps are.
    fn distribution(&self) -> NoiseDistribution;

    /// A bound, rounded up, on the total variation distance between this many values, of whatever steps, and
    /// as many independent values of exactly the stated distribution. It is 1 for floating-point noise, whose
    /// distribution is continuous only in name.
    ///
    /// | noise | a value | because |
    /// |---|---|---|
    /// | [`RoundedGaussianNoise`] | 2⁻²⁴⁰ | a value takes fewer than 2¹⁰ comparisons on average, each undecided after 256 bits with probability 2⁻²⁵⁶ |
    /// | [`GridGaussianNoise`] | 2⁻¹²⁰ | 256-bit arithmetic leaves a value undecided with probability below 2⁻¹²⁶ |
    /// | [`DiscreteGaussianNoise`], [`DiscreteLaplaceNoise`] | 2⁻¹⁰⁰⁰ | counts of probability exp(−65,536) are drawn again, runs share words with probability e⁻³⁹⁰⁰ |
    /// | [`GaussianNoise`], [`LaplaceNoise`] | 1 | numbers of 32 or 64 bits |
    ///
    /// What it means for δ is said at [`Subsampler::deviation`](crate::Subsampler::deviation).
    ///
    /// ```
    /// use dp_sampler::{GaussianNoise, Noise, RoundedGaussianNoise, Seed};
    ///
    /// let seed = Seed::for_tests(1);
    /// assert!(RoundedGaussianNoise::new(&seed, 40)?.deviation(1_000_000) < 2_f64.powi(-220));
    /// assert_eq!(GaussianNoise::new(&seed).deviation(1_000_000), 1.0);
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    fn deviation(&self, values: u64) -> f64;

    /// Whether the seed came from the operating system; where it did not, nothing is private.
    fn is_secret(&self) -> bool;
}

/// Independent noise for every step, as numbers of type `T`: `f32`, `f64` or, on a grid, `i64`.
///
/// Value i of a step is a function of the seed, the noise's purpose, the step and i. It does not depend on
/// how much is requested, on the number of threads, on the features of this crate or on the machine, so a
/// longer fill begins with the values of a shorter one. Nothing is allocated. Values of different types are
/// independent.
///
/// ```
/// use dp_sampler::{GaussianNoise, NOISE_CHUNK, NoiseSource, Seed};
///
/// let noise = GaussianNoise::new(&Seed::for_tests(1));
/// let mut whole = vec![0_f32; 1_000];
/// noise.fill(7, &mut whole);
/// // The same by parts, which could have been made on different machines.
/// let mut parts = vec![0_f32; 1_000];
/// let (head, tail) = parts.split_at_mut(2 * NOISE_CHUNK);
/// noise.fill_chunks(7, 2, tail)?;
/// noise.fill_chunks(7, 0, head)?;
/// assert_eq!(whole, parts);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # Privacy
///
/// Use each step once, and one source of a kind for each seed (two are the same noise): the difference of two
/// releases that share their noise is free of it. Sources are no more to be printed, copied or serialised
/// than seeds are; what a fork of the process means for them is said at [`Seed`](crate::Seed).
pub trait NoiseSource<T = f64>: Noise + sealed::FillFrom<T> {
    /// Overwrites `out` with the first values of this step.
    fn fill(&self, step: u64, out: &mut [T]) {
        self.fill_from(step, 0, out);
    }

    /// Overwrites `out` with the values of this step from number `first_chunk` · [`NOISE_CHUNK`] on.
    ///
    /// # Errors
    ///
    /// [`Error::NoiseChunk`] beyond [`MAX_NOISE_CHUNKS`]; then nothing is written.
    fn fill_chunks(&self, step: u64, first_chunk: u64, out: &mut [T]) -> Result<()> {
        let chunks = out.len().div_ceil(NOISE_CHUNK) as u64;
        match first_chunk.checked_add(chunks) {
            Some(end) if end <= MAX_NOISE_CHUNKS => {
                self.fill_from(step, first_chunk * NOISE_CHUNK as u64, out);
                Ok(())
            }
            _ => Err(Error::NoiseChunk { first_chunk, chunks }),
        }
    }

    /// As [`fill`](Self::fill), by several threads where it is long enough to pay.
    #[cfg(feature = "parallel")]
    fn fill_parallel(&self, step: u64, out: &mut [T])
    where
        Self: Sync,
        T: Send,
    {
        use rayon::prelude::*;

        // About ten microseconds of work for the fastest noise.
        const PART: usize = 32 * NOISE_CHUNK;
        if out.len() <= 2 * PART {
            return self.fill(step, out);
        }
        out.par_chunks_mut(PART)
            .enumerate()
            .for_each(|(i, part)| self.fill_from(step, (i * PART) as u64, part));
    }
}

impl<T, N: Noise + sealed::FillFrom<T>> NoiseSource<T> for N {}

/// What the kinds of noise differ in; private, so that other crates cannot implement it.
mod sealed {
    pub trait FillFrom<T> {
        /// Overwrites `out` with the values of a step from one on that begins a chunk.
        fn fill_from(&self, step: u64, first_value: u64, out: &mut [T]);
    }
}
