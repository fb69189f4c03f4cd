//! Gaussian noise.

mod transform;

use rand_core::Rng;

use crate::{Purpose, Seed, Stream, Streams};
use transform::{PAIRS, TINY, normal_pairs, uniform_from_tiny, uniform_from_word};

/// Independent noise of unit variance for every step.
///
/// # Privacy
///
/// A mechanism's proof holds for the distribution its noise really has. Whoever implements this trait answers for
/// unit variance, independence between steps, and the distribution the mechanism names.
pub trait NoiseSource {
    /// Overwrites `out` with the first values of this step: a function of the seed, the step and the position.
    fn fill(&mut self, step: u64, out: &mut [f64]);

    /// Whether the seed came from the operating system; where it did not, nothing is private.
    fn is_secret(&self) -> bool;
}

/// Standard normal numbers from a ChaCha20 stream.
///
/// ```text
/// r = √(−2 ln u),  z₀ = r cos(2πv),  z₁ = r sin(2πv)          (Box and Muller)
/// ```
///
/// with at least 64 bits for u and 54 for v. The same numbers come out on every machine (only additions,
/// multiplications, divisions and square roots of doubles are used), and a longer `fill` begins with the
/// values of a shorter one.
///
/// # Accuracy
///
/// u has full precision however small it is: where the first word begins with twelve zero bits, 64 more bits follow
/// it, so u goes down to 2⁻¹²⁹ and values reach 13.4 σ, beyond which a true Gaussian is found with probability
/// 10⁻⁴⁰. The function from (u, v) to z is good to a few units in the last place.
///
/// # Privacy
///
/// Proofs of the Gaussian mechanism are about real numbers. These are doubles, whose gaps depend on their size,
/// and from the last bits of a *sum* of data and noise an attacker may sometimes tell which data could not have
/// produced it (Mironov 2012). Nothing here closes that hole; it needs noise on a grid.
///
/// ```
/// use dp_sampler::{GaussianNoise, NoiseSource, Seed};
///
/// let mut noise = GaussianNoise::new(&Seed::for_tests(1));
/// let (mut a, mut b) = ([0.0; 5], [0.0; 8]);
/// noise.fill(3, &mut a);
/// noise.fill(3, &mut b);
/// assert_eq!(a, b[..5]);
/// ```
///
/// # References
///
/// Box, Muller (1958), *A note on the generation of random normal deviates*. Mironov (2012), *On significance of
/// the least significant bits for differential privacy*.
pub struct GaussianNoise {
    streams: Streams,
    /// Where the extra bits of tiny uniforms come from, so that they do not shift the others.
    tails: Streams,
}

/// The child of a purpose's streams that continues tiny uniforms. A caller who makes noise from children of streams of
/// their own must leave this label out.
const TAILS: u64 = u64::MAX;

impl GaussianNoise {
    /// Noise for a mechanism, from the streams of [`Purpose::GaussianNoise`].
    #[must_use]
    pub fn new(seed: &Seed) -> Self {
        Self::with_purpose(seed, Purpose::GaussianNoise)
    }

    /// Standard normal numbers for another purpose.
    #[must_use]
    pub fn with_purpose(seed: &Seed, purpose: Purpose) -> Self {
        Self::from_streams(seed.streams(purpose))
    }

    /// Standard normal numbers from these streams and, for the rare tiny uniform, from their child `u64::MAX`: nothing else
    /// may draw from either.
    #[must_use]
    pub fn from_streams(streams: Streams) -> Self {
        let tails = streams.child(TAILS);
        Self { streams, tails }
    }
}

impl NoiseSource for GaussianNoise {
    fn fill(&mut self, step: u64, out: &mut [f64]) {
        let mut stream = self.streams.at(step);
        let mut tail: Option<Stream> = None;
        for chunk in out.chunks_mut(2 * PAIRS) {
            let pairs = chunk.len().div_ceil(2);
            let (mut radii, mut angles) = ([u64::MAX; PAIRS], [0; PAIRS]);
            for (radius, angle) in radii.iter_mut().zip(&mut angles).take(pairs) {
                *radius = stream.next_u64();
                *angle = stream.next_u64();
            }
            let mut uniforms = radii.map(uniform_from_word);
            for (uniform, &word) in uniforms.iter_mut().zip(&radii) {
                if word < TINY {
                    let tail = tail.get_or_insert_with(|| self.tails.at(step));
                    *uniform = uniform_from_tiny(word, tail.next_u64());
                }
            }
            let normals = normal_pairs(&uniforms, &angles);
            for (out, normal) in chunk.iter_mut().zip(normals.as_flattened()) {
                *out = *normal;
            }
        }
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

#[cfg(test)]
mod tests;
