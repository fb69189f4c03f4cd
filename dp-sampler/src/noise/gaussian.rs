//! Gaussian noise.

use super::continuous::Sources;
use super::sealed::FillFrom;
use super::{Noise, NoiseDistribution, double, single};
use crate::subsampling::sealed::Sealed;
use crate::{Purpose, Seed, Streams};

/// Standard normal numbers, `f32` or `f64`, from ChaCha20 streams.
///
/// ```text
/// z₂ᵢ = r cos(2πv),  z₂ᵢ₊₁ = r sin(2πv),  r = √(−2 ln u)          (Box and Muller)
/// ```
///
/// with (u, v) made from words of 32 bits for `f32` and of 64 bits (low half first) for `f64`. Write W for
/// their length, S for the purpose's [`Streams`], and count words, blocks of sixteen 32-bit words, and values
/// from 0:
///
/// ```text
/// source       S.child(2⁶⁴ − 1) for f64, S.child(2⁶⁴ − 2) for f32; its stream of the step
/// pair i       word a = number 2i, word b = number 2i + 1
/// folding      t = a in the lower half of its range, 2^W − 1 − a in the upper half
/// fraction     f = (t + ½) / 2^W
///              f = (t · 2^E + e + ½) / 2^(W + E)  where t < 2²⁰ (f32, E = 96) or t < 2⁵² (f64, E = 64)
///                                                 e = the first E bits, least significant first, of block i
///                                                 of the step's stream of source.child(0)
/// uniform      u = f in the lower half, 1 − f in the upper half (never formed: −ln(1 − f) is computed from f)
/// angle        the two highest bits of b turn by quarters; of those that follow, 30 (f32) or 52 (f64) say where in the
///              quarter, as the middle of a cell: from −π/4 to π/4
/// ```
///
/// Only additions, multiplications, divisions and square roots are used, so the same numbers come out on
/// every machine.
///
/// # Accuracy
///
/// Let ulp be 2⁻²³ for `f32`, 2⁻⁵² for `f64`. Extending the bits of (u, v) by infinitely many random ones
/// gives a point at which the exact transform is a true standard normal Z. What comes out is within
///
/// ```text
/// |z − Z| ≤ 5 ulp |Z| + g R,     R² = −2 ln u,     g = 2⁻³⁰ (f32), 2⁻⁵² (f64)
/// ```
///
/// of it: f is known to 2⁻²¹ (2⁻⁵³) of itself at both ends of its range and r to two ulp, the angle to g, and
/// arithmetic is good to three ulp. So the probability of an interval is the normal one up to what lies that
/// close to its ends: beyond t the relative error is about 5 ulp t², 4·10⁻⁵ at 8 σ for `f32`. Values reach
/// 13.3 σ; a true normal goes beyond with probability 10⁻⁴⁰. The law is exactly symmetric. Pairs are made of
/// different words in the same way, so they are exactly independent and of one law; the two values of a pair
/// are functions of the same words, and independent as real numbers only. Values near 0 are multiples of
/// about 2⁻³⁰ (2⁻⁵²) times a random radius, finer than any mechanism resolves.
///
/// # Privacy
///
/// Proofs of the Gaussian mechanism are about real numbers. These are floating-point numbers, whose gaps
/// depend on their size, and from the last bits of a *sum* of data and noise an attacker may sometimes tell
/// which data could not have produced it (Mironov 2012). Nothing here closes that hole;
/// [`DiscreteGaussianNoise`](crate::DiscreteGaussianNoise) and
/// [`RoundedGaussianNoise`](crate::RoundedGaussianNoise) do.
///
/// ```
/// use dp_sampler::{GaussianNoise, NoiseSource, Seed};
///
/// let noise = GaussianNoise::new(&Seed::for_tests(1));
/// let (mut a, mut b) = ([0.0; 5], [0.0; 8]);
/// noise.fill(3, &mut a);
/// noise.fill(3, &mut b);
/// assert_eq!(a, b[..5]);
/// ```
///
/// # References
///
/// Box, Muller (1958), *A note on the generation of random normal deviates*. Mironov (2012), *On significance
/// of the least significant bits for differential privacy*.
pub struct GaussianNoise {
    sources: Sources,
}

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

    /// Standard normal numbers from the children 2⁶⁴ − 1 and 2⁶⁴ − 2 of these streams: nothing else may draw
    /// from those.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // Taken by value, so that nothing else can draw from them.
    pub fn from_streams(streams: Streams) -> Self {
        Self { sources: Sources::new(&streams) }
    }
}

#[cfg(feature = "gpu")]
impl GaussianNoise {
    /// The streams that single-precision numbers are made from: of every pair, and of the rare ones.
    pub(crate) fn single_streams(&self) -> [&Streams; 2] {
        self.sources.single.streams()
    }
}

impl Sealed for GaussianNoise {}

impl Noise for GaussianNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::StandardGaussian {}
    }

    fn deviation(&self, values: u64) -> f64 {
        if values == 0 { 0.0 } else { 1.0 }
    }

    fn is_secret(&self) -> bool {
        self.sources.secret
    }
}

impl FillFrom<f32> for GaussianNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [f32]) {
        self.sources.single.fill::<single::Gaussian, 2, 2>(step, first_value, out);
    }
}

impl FillFrom<f64> for GaussianNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [f64]) {
        self.sources.double.fill::<double::Gaussian, 4, 2>(step, first_value, out);
    }
}
