//! Laplace noise.

use super::continuous::Sources;
use super::sealed::FillFrom;
use super::{Noise, NoiseDistribution, double, single};
use crate::subsampling::sealed::Sealed;
use crate::{Purpose, Seed, Streams};

/// Laplace numbers of scale 1, `f32` or `f64`, from ChaCha20 streams.
///
/// ```text
/// density exp(−|x|) / 2,     z = ± ln u
/// ```
///
/// Value i takes one word (of 32 or 64 bits), number i of its source: bit 0 is the sign, the others make u
/// just as the radius of [`GaussianNoise`](crate::GaussianNoise) is made, with W − 1 bits in place of W: the
/// word is folded, its last bit dropped, and where the folded word is below 2²² (2⁵²) more bits come from
/// block i of the source's child 0.
///
/// # Accuracy
///
/// With ulp 2⁻²³ (2⁻⁵²) there is a true Laplace variable Z, a function of the same bits and further ones,
/// such that
/// |z − Z| ≤ 5 ulp |Z|, but for 2⁻¹⁰⁰ of all cases: those in which Z is smaller than that, or larger than 69. (Values reach 88.)
/// The law is exactly symmetric.
///
/// # Privacy
///
/// Scaled by b and added to a real number that one record changes by at most Δ, Laplace noise gives ε = Δ/b,
/// if both were real numbers. The sum of floating-point numbers shows more than that (Mironov 2012):
/// [`DiscreteLaplaceNoise`](crate::DiscreteLaplaceNoise) has no such hole.
///
/// ```
/// use dp_sampler::{LaplaceNoise, NoiseSource, Seed};
///
/// let noise = LaplaceNoise::new(&Seed::for_tests(1));
/// let mut z = [0.0; 1_000];
/// noise.fill(0, &mut z);
/// assert!((z.iter().map(|z: &f64| z.abs()).sum::<f64>() / 1_000.0 - 1.0).abs() < 0.2);
/// ```
///
/// # References
///
/// Dwork, McSherry, Nissim, Smith (2006), *Calibrating noise to sensitivity in private data analysis*.
/// Mironov (2012), *On significance of the least significant bits for differential privacy*.
pub struct LaplaceNoise {
    sources: Sources,
}

impl LaplaceNoise {
    /// Noise for a mechanism, from the streams of [`Purpose::LaplaceNoise`].
    #[must_use]
    pub fn new(seed: &Seed) -> Self {
        Self::with_purpose(seed, Purpose::LaplaceNoise)
    }

    /// Laplace numbers for another purpose.
    #[must_use]
    pub fn with_purpose(seed: &Seed, purpose: Purpose) -> Self {
        Self::from_streams(seed.streams(purpose))
    }

    /// Laplace numbers from the children 2⁶⁴ − 1 and 2⁶⁴ − 2 of these streams: nothing else may draw from
    /// those.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // Taken by value, so that nothing else can draw from them.
    pub fn from_streams(streams: Streams) -> Self {
        Self { sources: Sources::new(&streams) }
    }
}

impl Sealed for LaplaceNoise {}

impl Noise for LaplaceNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::StandardLaplace {}
    }

    fn deviation(&self, values: u64) -> f64 {
        if values == 0 { 0.0 } else { 1.0 }
    }

    fn is_secret(&self) -> bool {
        self.sources.secret
    }
}

impl FillFrom<f32> for LaplaceNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [f32]) {
        self.sources.single.fill::<single::Laplace, 1, 1>(step, first_value, out);
    }
}

impl FillFrom<f64> for LaplaceNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [f64]) {
        self.sources.double.fill::<double::Laplace, 2, 1>(step, first_value, out);
    }
}
