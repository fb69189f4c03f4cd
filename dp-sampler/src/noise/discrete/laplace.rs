//! Discrete Laplace noise.

use super::words::Words;
use super::{Draw, fill_from, ratio};
use crate::noise::sealed::FillFrom;
use crate::subsampling::{deviations, sealed::Sealed};
use crate::{Noise, NoiseDistribution, Purpose, Result, Seed, Streams};

/// Exact Laplace noise on the integers.
///
/// ```text
/// P(x) = (e^{1/b} − 1)/(e^{1/b} + 1) · e^{−|x|/b},     x an integer, b = numerator / denominator
/// ```
///
/// For a grid of spacing h, multiply by h: the data must lie on the same grid, and b is counted in steps of
/// it.
///
/// # Accuracy
///
/// Exact: integers only, and every comparison of a random real number with a ratio is carried on until it is
/// decided. (Counts that have probability exp(−65,536) are drawn again, so that no integer overflows.)
///
/// # Privacy
///
/// Added to an integer that one record changes by at most Δ, the noise gives ε = Δ/b exactly; for vectors Δ
/// is the ℓ₁ norm of the change. A sum with `i64` data can overflow, which the caller has to rule out or
/// check: |x| < 2⁶³ − 2⁴⁶ always.
///
/// # The values
///
/// Value i of a step belongs to run ⌊i/16⌋, whose words are those of the blocks from 2²⁰⌊i/16⌋ on in the
/// step's stream of the purpose's [`Streams`]; a run's values take words in turn. With the coins below, each
/// from one word w unless the next is needed to decide, one value is
///
/// ```text
/// coin(a/b)         2³² a ≤ w b: false;  2³² a ≥ (w + 1) b: true;  otherwise coin((2³² a − w b)/b) with the next word
/// coin(exp −γ)      k = 1, 2, … until not (coin(γ) and, for k > 1, coin(1/k));  true if that k is odd;  coin(γ) left out for γ = 1
/// V                 the number of coin(exp −1) that are true in a row
/// 1                 U = uniform below n = numerator (the high half of w n, w one word for n ≤ 2³¹, two above, drawn again while the
///                   low half is below 2³² mod n, or 2⁶⁴ mod n)
/// 2                 unless coin(exp −U/n): back to 1
/// 3                 V, and x = ⌊(U + n V) / denominator⌋
/// 4                 the sign is the highest bit of a word, 1 for minus;  for −0: back to 1
/// ```
///
/// ```
/// use dp_sampler::{DiscreteLaplaceNoise, NoiseSource, Seed};
///
/// let noise = DiscreteLaplaceNoise::new(&Seed::for_tests(1), 3, 2)?; // b = 1.5
/// let mut count = [1_000; 1];
/// let mut z = [0; 1];
/// noise.fill(0, &mut z);
/// count[0] += z[0];
/// assert!((900..1_100).contains(&count[0]));
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// Ghosh, Roughgarden, Sundararajan (2009), *Universally utility-maximizing privacy mechanisms*. Canonne,
/// Kamath, Steinke (2020), *The discrete Gaussian for differential privacy*, algorithm 2.
pub struct DiscreteLaplaceNoise {
    numerator: u64,
    denominator: u64,
    streams: Streams,
}

impl DiscreteLaplaceNoise {
    /// Noise of scale b = `numerator / denominator`, from the streams of [`Purpose::DiscreteLaplaceNoise`].
    ///
    /// # Errors
    ///
    /// [`Error::Ratio`](crate::Error::Ratio) unless both are from 1 to 2⁴⁶ in lowest terms.
    pub fn new(seed: &Seed, numerator: u64, denominator: u64) -> Result<Self> {
        Self::from_streams(seed.streams(Purpose::DiscreteLaplaceNoise), numerator, denominator)
    }

    /// The same from these streams, from which nothing else may draw.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_streams(streams: Streams, numerator: u64, denominator: u64) -> Result<Self> {
        let (numerator, denominator) =
            ratio("the scale of discrete Laplace noise", 46, numerator, denominator)?;
        Ok(Self { numerator, denominator, streams })
    }
}

/// |X| and the sign of a discrete Laplace number of scale `scale`, which is at most 2⁴⁶, before −0 is turned away; below 2⁶³.
#[inline(always)]
pub(super) fn magnitude(words: &mut Words, scale: u64) -> u64 {
    loop {
        let u = words.below(scale);
        let kept = if scale < 1 << 31 {
            words.exp_minus(|words| words.short_ratio(u, scale))
        } else {
            words.exp_minus(|words| words.ratio(u128::from(u), u128::from(scale)))
        };
        if !kept {
            continue;
        }
        if let Some(v) = words.geometric() {
            // (2^16 − 1) 2^46 + 2^46 = 2^62.
            return u + scale * v;
        }
    }
}

impl Draw for DiscreteLaplaceNoise {
    #[inline(always)]
    fn draw(&self, words: &mut Words) -> i64 {
        loop {
            let x = (magnitude(words, self.numerator) / self.denominator) as i64;
            let negative = words.bit();
            if !(negative && x == 0) {
                return if negative { -x } else { x };
            }
        }
    }
}

impl Sealed for DiscreteLaplaceNoise {}

impl Noise for DiscreteLaplaceNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::DiscreteLaplace { numerator: self.numerator, denominator: self.denominator }
    }

    fn deviation(&self, values: u64) -> f64 {
        deviations(values, super::DEVIATION)
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

impl FillFrom<i64> for DiscreteLaplaceNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [i64]) {
        fill_from(self, &self.streams, step, first_value, out);
    }
}
