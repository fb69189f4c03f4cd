//! Gaussian noise rounded to a grid.

use super::words::Words;
use super::{Draw, fill_from};
use crate::noise::sealed::FillFrom;
use crate::subsampling::{deviations, sealed::Sealed};
use crate::{Error, Noise, NoiseDistribution, Purpose, Result, Seed, Streams};

/// Gaussian noise rounded to a grid, sampled exactly: integers, of which one stands for σ · 2^−bits.
///
/// ```text
/// X = round(2^bits Z),   Z standard normal
/// P(x) = Φ((x + ½)/2^bits) − Φ((x − ½)/2^bits)
/// ```
///
/// Choose the grid by the noise: with a standard deviation σ to be had, h = σ · 2^−bits. Round every record's
/// contribution to multiples of h first (and take the sensitivity of what is rounded), add the integers up,
/// add X, multiply by h.
///
/// # Accuracy
///
/// The law of X is exact up to a total variation distance of 2⁻²⁴⁰ for a value: the noise is not a rounded
/// floating-point number but has its digits drawn one after the other by comparisons of random real numbers,
/// of which ever more digits are drawn until they differ, up to 256 bits. (Counts that have probability
/// exp(−32,768) are drawn again, so that no integer overflows.)
///
/// # Privacy
///
/// The loss is at most that of the Gaussian mechanism with standard deviation σ, under every notion that
/// allows post-processing. Proof: let s be a sum on the grid, in steps of h. Rounding to the nearest integer
/// commutes with adding an integer, so s + round(Z′) = round(s + Z′) wherever Z′ is not half an odd integer,
/// which has probability 0. The right-hand side is a function of s + Z′, the output of the Gaussian mechanism
/// on s. In many dimensions this holds for each coordinate, with independent noise. It needs s on the grid:
/// for sums of real numbers that are not, it says nothing. Sums of such noises are roundings of nothing in
/// particular; the exact statement is for one noise and one sum.
///
/// # The values
///
/// Words, runs and coins are those of [`DiscreteLaplaceNoise`](crate::DiscreteLaplaceNoise). Let x be a real
/// number in [0, 1) whose 32-bit digits are words, each drawn when it is first needed; coin(x) compares x
/// with another such number, digit by digit, and is true where that is smaller. One value is
///
/// ```text
/// 1    k = the number of coin(exp −½) that are true in a row, in which coin(½) is the coin that is called coin(γ)
/// 2    k(k − 1)/2 times coin(exp −1);  at the first that is false back to 1
/// 3    a new x;  k times coin(exp −x), then coin(exp −x²/2), for which coin(x²/2) is coin(x), coin(x) and coin(½), in this order
///      and only while they are true;  at the first that is false back to 1
/// 4    |X| = ⌊2^bits (k + x) + ½⌋;  the sign is the highest bit of a word, 1 for minus
/// ```
///
/// # Method
///
/// This is the method of Karney (2016) with coins in place of his series: k + x has density ∝ e^{−k/2}
/// e^{−k(k−1)/2} e^{−kx} e^{−x²/2} = e^{−(k+x)²/2}.
///
/// ```
/// use dp_sampler::{NoiseSource, RoundedGaussianNoise, Seed};
///
/// let noise = RoundedGaussianNoise::new(&Seed::for_tests(1), 10)?; // σ is 1,024 steps of the grid
/// let mut z = [0; 1_000];
/// noise.fill(0, &mut z);
/// let deviation = (z.iter().map(|z| z * z).sum::<i64>() as f64 / 1_000.0).sqrt();
/// assert!((900.0..1_150.0).contains(&deviation));
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// Karney (2016), *Sampling exactly from the normal distribution*, algorithm N.
pub struct RoundedGaussianNoise {
    bits: u32,
    streams: Streams,
}

impl RoundedGaussianNoise {
    /// The finest grid has this many binary digits in a standard deviation.
    pub const MAX_BITS: u32 = 40;

    /// A bound on the total variation distance of a value from its law, 2⁻²⁴⁰: see [`Noise::deviation`].
    pub const DEVIATION: f64 = 1.0 / (1_u128 << 120) as f64 / (1_u128 << 120) as f64;

    /// Noise of standard deviation 2^`bits`, from the streams of [`Purpose::RoundedGaussianNoise`].
    ///
    /// # Errors
    ///
    /// [`Error::GridBits`] above [`MAX_BITS`](Self::MAX_BITS).
    pub fn new(seed: &Seed, bits: u32) -> Result<Self> {
        Self::from_streams(seed.streams(Purpose::RoundedGaussianNoise), bits)
    }

    /// The same from these streams, from which nothing else may draw.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_streams(streams: Streams, bits: u32) -> Result<Self> {
        if bits > Self::MAX_BITS {
            return Err(Error::GridBits { bits });
        }
        Ok(Self { bits, streams })
    }
}

/// As many digits of a random real number as are ever looked at.
const DIGITS: usize = 8;

/// A random real number in [0, 1) whose digits, of 32 bits, are drawn when they are first needed.
struct Lazy {
    digits: [u32; DIGITS],
    known: usize,
}

impl Lazy {
    fn new() -> Self {
        Self { digits: [0; DIGITS], known: 0 }
    }

    #[inline(always)]
    fn digit(&mut self, index: usize, words: &mut Words) -> u32 {
        if index == self.known {
            self.digits[index] = words.word();
            self.known += 1;
        }
        self.digits[index]
    }

    /// Whether another such number is smaller. That none of the 256 bits differs has probability 2⁻²⁵⁶; then
    /// it counts as not.
    #[inline(always)]
    fn exceeds_another(&mut self, words: &mut Words) -> bool {
        for index in 0..DIGITS {
            let digit = self.digit(index, words);
            let other = words.word();
            if other != digit {
                return other < digit;
            }
        }
        false
    }
}

/// k beyond this is drawn again, so that no integer overflows.
const MOST: u64 = 1 << 16;

impl Draw for RoundedGaussianNoise {
    #[inline(always)]
    fn draw(&self, words: &mut Words) -> i64 {
        'again: loop {
            let mut k = 0;
            while words.exp_minus(|words| words.short_ratio(1, 2)) {
                k += 1;
                if k == MOST {
                    continue 'again;
                }
            }
            if k > 1 && !words.exp_minus_integer(u128::from(k * (k - 1) / 2)) {
                continue;
            }
            let mut x = Lazy::new();
            for _ in 0..k {
                if !words.exp_minus(|words| x.exceeds_another(words)) {
                    continue 'again;
                }
            }
            if !words.exp_minus(|words| {
                x.exceeds_another(words) && x.exceeds_another(words) && words.short_ratio(1, 2)
            }) {
                continue;
            }
            // The first 64 bits of x hold bits + 1 digits behind the point; k + x < 2^16, so this is below
            // 2^57.
            let high = u64::from(x.digit(0, words)) << 32 | u64::from(x.digit(1, words));
            let twice = k << (self.bits + 1) | high >> (63 - self.bits);
            let magnitude = twice.div_ceil(2) as i64;
            return if words.bit() { -magnitude } else { magnitude };
        }
    }
}

impl Sealed for RoundedGaussianNoise {}

impl Noise for RoundedGaussianNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::RoundedGaussian { bits: self.bits }
    }

    fn deviation(&self, values: u64) -> f64 {
        deviations(values, Self::DEVIATION)
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

impl FillFrom<i64> for RoundedGaussianNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [i64]) {
        fill_from(self, &self.streams, step, first_value, out);
    }
}
