//! What noise can say of itself.

use std::fmt;

use serde::Serialize;

/// The distribution of noise, as the noise says itself.
///
/// The guarantee that an accountant may claim depends on this value, so it can only be had from
/// [`Noise::distribution`](crate::Noise::distribution): outside this crate the variants can be matched (with
/// `..`) but not built.
///
/// ```compile_fail
/// let claimed = dp_sampler::NoiseDistribution::DiscreteLaplace { numerator: 1_000, denominator: 1 };
/// ```
///
/// ```
/// use dp_sampler::{DiscreteGaussianNoise, Noise, NoiseDistribution, Seed};
///
/// let noise = DiscreteGaussianNoise::new(&Seed::for_tests(1), 25, 2)?;
/// let distribution = noise.distribution();
/// assert!(matches!(distribution, NoiseDistribution::DiscreteGaussian { numerator: 25, denominator: 2, .. }));
/// assert_eq!(distribution.to_string(), "discrete Gaussian with parameter σ² = 25/2");
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoiseDistribution {
    /// Normal with mean 0 and variance 1, in floating point.
    #[non_exhaustive]
    StandardGaussian {},
    /// Density exp(−|x|)/2, in floating point: scale 1, variance 2.
    #[non_exhaustive]
    StandardLaplace {},
    /// Integers with P(x) ∝ exp(−x²/(2σ²)), σ² = numerator / denominator in lowest terms.
    #[non_exhaustive]
    DiscreteGaussian {
        /// Of σ².
        numerator: u64,
        /// Of σ².
        denominator: u64,
    },
    /// Integers with P(x) ∝ exp(−|x|/b), b = numerator / denominator in lowest terms.
    #[non_exhaustive]
    DiscreteLaplace {
        /// Of the scale b.
        numerator: u64,
        /// Of the scale b.
        denominator: u64,
    },
    /// The nearest integer to a normal variable with mean 0 and standard deviation 2^bits.
    #[non_exhaustive]
    RoundedGaussian {
        /// The logarithm to base two of the standard deviation in steps of the grid.
        bits: u32,
    },
}

impl fmt::Display for NoiseDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardGaussian {} => write!(f, "standard normal"),
            Self::StandardLaplace {} => write!(f, "Laplace with scale 1"),
            Self::DiscreteGaussian { numerator, denominator } => {
                write!(f, "discrete Gaussian with parameter σ² = {numerator}/{denominator}")
            }
            Self::DiscreteLaplace { numerator, denominator } => {
                write!(f, "discrete Laplace with scale {numerator}/{denominator}")
            }
            Self::RoundedGaussian { bits } => {
                write!(f, "normal with standard deviation 2^{bits}, rounded to integers")
            }
        }
    }
}
