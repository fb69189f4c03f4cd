//! Discrete Gaussian noise.

use super::laplace::magnitude;
use super::words::Words;
use super::{Draw, fill_from, ratio};
use crate::noise::sealed::FillFrom;
use crate::subsampling::{deviations, sealed::Sealed};
use crate::{Error, Noise, NoiseDistribution, Purpose, Result, Seed, Streams};

/// Exact Gaussian noise on the integers.
///
/// ```text
/// P(x) = e^{−x²/(2σ²)} / Σ_y e^{−y²/(2σ²)},     x an integer, σ² = n / d
/// ```
///
/// The variance is at most σ², and differs from it by less than 10⁻⁶ of it from σ = 1 on. For a grid of
/// spacing h, multiply by h: the data must lie on the same grid, and σ is counted in steps of it.
///
/// # Accuracy
///
/// Exact: integers only, and every comparison of a random real number with a ratio is carried on until it is
/// decided. (Counts that have probability exp(−65,536) are drawn again, so that no integer overflows.)
///
/// # Privacy
///
/// Added to integers that one record changes by at most Δ in the ℓ₂ norm, the noise gives
/// Δ²/(2σ²)-zero-concentrated differential privacy, what a real Gaussian of variance σ² gives real numbers,
/// in any number of dimensions: the Rényi divergence of order α between x and x + m is at most α m²/(2σ²) in
/// each coordinate (Canonne, Kamath, Steinke 2020, theorem 4), and divergences of independent coordinates add
/// up. There is no floating-point number whose last bits could tell more. Values are below 2⁴⁰ in size; a sum
/// with `i64` data can still overflow, which the caller has to rule out or check.
///
/// Where several parties add noise, the sum of N discrete Gaussians is not one itself; Kairouz, Liu, Steinke
/// (2021) bound what that costs by τ = 10 Σ_{k=1}^{N−1} exp(−2π²σ² k/(k+1)) for each coordinate: 10⁻¹⁶ for
/// two parties with σ = 2.
///
/// # The values
///
/// Words, runs and coins are those of [`DiscreteLaplaceNoise`](crate::DiscreteLaplaceNoise). With t the
/// smallest power of two for which 2 t² ≥ σ² (so t is within a factor √2 of σ, unless that is below 1), one
/// value is
///
/// ```text
/// 1    U, V as there, with n = t;  y = U + t V
/// 2    the sign is the highest bit of a word, 1 for minus;  for −0: back to 1
/// 3    (y − σ²/t)² / (2σ²) = q + r, q an integer, 0 ≤ r < 1:  q times coin(exp −1), then coin(exp −r);  at the first that is false
///      back to 1
/// ```
///
/// # Method
///
/// ±y has the discrete Laplace law of scale t, and e^{−y/t} times the probability of step 3 is e^{−y²/(2σ²)}
/// times a constant. (The authors take t = ⌊σ⌋ + 1; any positive integer does. With this one U takes plain
/// bits, and at least 65 of 100 tries succeed for large σ.)
///
/// ```
/// use dp_sampler::{DiscreteGaussianNoise, NoiseSource, Seed};
///
/// let noise = DiscreteGaussianNoise::new(&Seed::for_tests(1), 10_000, 1)?; // σ = 100
/// let mut z = [0; 1_000];
/// noise.fill(0, &mut z);
/// let variance = z.iter().map(|z| z * z).sum::<i64>() / 1_000;
/// assert!((7_500..12_500).contains(&variance));
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// Canonne, Kamath, Steinke (2020), *The discrete Gaussian for differential privacy*, algorithm 3. Kairouz,
/// Liu, Steinke (2021), *The distributed discrete Gaussian mechanism for federated learning with secure
/// aggregation*.
pub struct DiscreteGaussianNoise {
    numerator: u64,
    denominator: u64,
    /// Scale of the Laplace numbers that are tried.
    scale: u64,
    /// 2 n d t².
    divisor: u128,
    streams: Streams,
}

/// Both parts of σ² go up to 2 to this.
const BITS: u32 = 46;

impl DiscreteGaussianNoise {
    /// Noise with σ² = `numerator / denominator`, from the streams of [`Purpose::DiscreteGaussianNoise`].
    ///
    /// # Errors
    ///
    /// [`Error::Ratio`] unless both are from 1 to 2⁴⁶ in lowest terms: σ goes up to 2²³ steps of the grid.
    pub fn new(seed: &Seed, numerator: u64, denominator: u64) -> Result<Self> {
        Self::from_streams(seed.streams(Purpose::DiscreteGaussianNoise), numerator, denominator)
    }

    /// Noise with σ at least this and at most 10⁻⁶ of it more: a variance that is a ratio, rounded up.
    ///
    /// ```
    /// use dp_sampler::{DiscreteGaussianNoise, Noise, Seed};
    ///
    /// let noise = DiscreteGaussianNoise::at_least(&Seed::for_tests(1), 0.5)?;
    /// assert_eq!(noise.distribution().to_string(), "discrete Gaussian with parameter σ² = 8796093022209/35184372088832");
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::StandardDeviation`] unless σ is from 2⁻⁸ to 2²².
    pub fn at_least(seed: &Seed, standard_deviation: f64) -> Result<Self> {
        let (least, most) = (2_f64.powi(-8), 2_f64.powi(22));
        if !(least..=most).contains(&standard_deviation) {
            return Err(Error::StandardDeviation { value: standard_deviation, least, most });
        }
        // The square rounds by half a unit at most; the next double is above it.
        let variance = (standard_deviation * standard_deviation).next_up();
        // As many binary digits as there is room for: a product with a power of two is exact.
        let mut shift = BITS - 1;
        while variance * 2_f64.powi(shift as i32) > 2_f64.powi(BITS as i32 - 1) {
            shift -= 1;
        }
        let numerator = (variance * 2_f64.powi(shift as i32)).ceil() as u64;
        Self::new(seed, numerator, 1 << shift)
    }

    /// The same as [`new`](Self::new) from these streams, from which nothing else may draw.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_streams(streams: Streams, numerator: u64, denominator: u64) -> Result<Self> {
        let (n, d) = ratio("the variance of discrete Gaussian noise", BITS, numerator, denominator)?;
        let mut scale = 1_u64;
        while 2 * u128::from(scale).pow(2) * u128::from(d) < u128::from(n) {
            scale *= 2;
        }
        // t² d < 2 n unless t = 1, so at most 2^94 in both cases.
        let divisor = 2 * u128::from(n) * (u128::from(d) * u128::from(scale).pow(2));
        Ok(Self { numerator: n, denominator: d, scale, divisor, streams })
    }

    /// Step 3 for a value of this size.
    #[inline(always)]
    fn keeps(&self, y: u64, words: &mut Words) -> bool {
        // (y − σ²/t)²/(2σ²) = (y d t − n)²/(2 n d t²). The difference is below 2^16 · 2^47, its square below
        // 2^126.
        let product = u128::from(y) * (u128::from(self.denominator) * u128::from(self.scale));
        let difference = product.abs_diff(u128::from(self.numerator));
        let square = difference * difference;
        if let (Ok(square), Ok(divisor)) = (u64::try_from(square), u64::try_from(self.divisor)) {
            let (quotient, rest) = (square / divisor, square % divisor);
            return words.exp_minus_integer(u128::from(quotient))
                && words.exp_minus_ratio(rest.into(), divisor.into());
        }
        let (quotient, rest) = (square / self.divisor, square % self.divisor);
        words.exp_minus_integer(quotient) && words.exp_minus_ratio(rest, self.divisor)
    }
}

/// What a value is drawn with, for a device.
#[cfg(feature = "gpu")]
pub(crate) struct GaussianParts<'a> {
    /// n of σ² = n/d.
    pub(crate) variance: u64,
    /// t, below 2³¹.
    pub(crate) scale: u32,
    /// d t, below 2⁴⁷.
    pub(crate) unit: u64,
    /// 2 n d t², at most 2⁹⁴.
    pub(crate) divisor: u128,
    pub(crate) streams: &'a Streams,
}

#[cfg(feature = "gpu")]
impl DiscreteGaussianNoise {
    pub(crate) fn parts(&self) -> GaussianParts<'_> {
        GaussianParts {
            variance: self.numerator,
            // At most 2^23, as n is at most 2^46.
            scale: self.scale as u32,
            unit: self.denominator * self.scale,
            divisor: self.divisor,
            streams: &self.streams,
        }
    }
}

impl Draw for DiscreteGaussianNoise {
    #[inline(always)]
    fn draw(&self, words: &mut Words) -> i64 {
        loop {
            let y = magnitude(words, self.scale);
            let negative = words.bit();
            if !(negative && y == 0) && self.keeps(y, words) {
                return if negative { -(y as i64) } else { y as i64 };
            }
        }
    }
}

impl Sealed for DiscreteGaussianNoise {}

impl Noise for DiscreteGaussianNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::DiscreteGaussian { numerator: self.numerator, denominator: self.denominator }
    }

    fn deviation(&self, values: u64) -> f64 {
        deviations(values, super::DEVIATION)
    }

    fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

impl FillFrom<i64> for DiscreteGaussianNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [i64]) {
        fill_from(self, &self.streams, step, first_value, out);
    }
}
