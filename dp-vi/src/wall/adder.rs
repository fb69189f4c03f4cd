//! What adds noise to a sum.

use super::grid::{Grid, PrivacyNoise};
use crate::error::Result;
use crate::wall::bound::clip::Rule;
use crate::wall::bound::quantile::Adaptive;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ppl_core::{RecordGradient, Records};
use zeroize::Zeroizing;

/// Whose noise it is: releases of different kinds have streams of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoiseOf {
    Steps,
    Curvature,
    /// The curvature during the run.
    EarlyCurvature,
    SecondMoments,
}

impl NoiseOf {
    fn purpose(self, noise: PrivacyNoise) -> Purpose {
        match (self, noise) {
            (Self::Steps, PrivacyNoise::Exact) => Purpose::RoundedGaussianNoise,
            (Self::Steps, PrivacyNoise::Continuous) => Purpose::GaussianNoise,
            (Self::Curvature, PrivacyNoise::Exact) => Purpose::Custom("curvature release on a grid"),
            (Self::Curvature, PrivacyNoise::Continuous) => Purpose::Custom("curvature release"),
            (Self::EarlyCurvature, PrivacyNoise::Exact) => {
                Purpose::Custom("curvature release during the run on a grid")
            }
            (Self::EarlyCurvature, PrivacyNoise::Continuous) => {
                Purpose::Custom("curvature release during the run")
            }
            (Self::SecondMoments, PrivacyNoise::Exact) => Purpose::Custom("second moments on a grid"),
            (Self::SecondMoments, PrivacyNoise::Continuous) => Purpose::Custom("second moments"),
        }
    }
}

/// Adds Gaussian noise to sums of bounded contributions, exactly or in floating point.
pub(crate) enum Adder {
    Exact(Box<Grid>),
    Continuous(Box<Continuous>),
}

/// Floating-point noise on a floating-point sum.
pub(crate) struct Continuous {
    source: GaussianNoise,
    noise_multiplier: f64,
    /// Whether a count is released beside the sum.
    count: bool,
    /// The standard normals of the last release.
    standard: Zeroizing<Vec<f64>>,
}

/// What a release is about: its number, which chooses its random words; the norm `C` of a contribution; the
/// fraction that the sum is divided by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReleaseScale {
    pub(crate) number: u64,
    pub(crate) norm: f64,
    pub(crate) rate: f64,
}

impl Adder {
    /// Noise for `elements` numbers that makes a release as private as Gaussian noise of this multiplier.
    /// `program` forms the sums. With `count`, a centred count is released beside them, and shares the
    /// multiplier with them as at [`Quantile`](crate::Quantile).
    pub(crate) fn new(
        noise: PrivacyNoise,
        (of, seed): (NoiseOf, &Seed),
        elements: usize,
        noise_multiplier: f64,
        program: &RecordGradient<f64>,
        count: bool,
    ) -> Result<Self> {
        let streams = seed.streams(of.purpose(noise));
        Ok(match noise {
            PrivacyNoise::Exact => {
                Self::Exact(Box::new(Grid::new(streams, elements, noise_multiplier, program, count)?))
            }
            PrivacyNoise::Continuous => Self::Continuous(Box::new(Continuous {
                source: GaussianNoise::from_streams(streams),
                noise_multiplier,
                count,
                standard: Zeroizing::new(vec![0.0; elements + usize::from(count)]),
            })),
        })
    }

    /// Takes over sums that another program forms.
    pub(crate) fn take_over(&mut self, program: &RecordGradient<f64>) {
        if let Self::Exact(grid) = self {
            grid.take_over(program);
        }
    }

    /// What kind of noise it adds.
    pub(crate) fn noise(&self) -> PrivacyNoise {
        match self {
            Self::Exact(_) => PrivacyNoise::Exact,
            Self::Continuous(_) => PrivacyNoise::Continuous,
        }
    }

    /// Writes the sum of a batch's contributions under a rule, whose norm is this, as precisely as the noise
    /// needs it.
    pub(crate) fn sum(
        &mut self,
        (rule, norm): (&Rule, f64),
        program: &mut RecordGradient<f64>,
        (records, batch): (&Records, &[u64]),
        sum: &mut [f64],
    ) -> Result<()> {
        match self {
            Self::Exact(grid) => grid.sum((rule, norm), program, (records, batch), sum),
            Self::Continuous(_) => rule.sum(program, records, batch, sum),
        }
    }

    /// Writes a sum with noise, divided by the rate, and returns the standard deviation of the noise in it.
    pub(crate) fn add(&mut self, sum: &[f64], scale: ReleaseScale, out: &mut [f64]) -> f64 {
        let ReleaseScale { number, norm, rate } = scale;
        match self {
            Self::Exact(grid) => {
                grid.add_noise(sum, (number, norm, 1.0 / rate), out);
                grid.noise_scale(norm) / rate
            }
            Self::Continuous(continuous) => {
                let Continuous { source, noise_multiplier, count, standard } = &mut **continuous;
                source.fill(number, standard);
                let multiplier = match count {
                    true => Adaptive::gradient_multiplier(*noise_multiplier),
                    false => *noise_multiplier,
                };
                let deviation = multiplier * norm;
                for ((out, &sum), z) in out.iter_mut().zip(sum).zip(standard.iter()) {
                    // Terms of norm C add up to a finite sum; should one not, it must not show that it was
                    // there.
                    let sum = if sum.is_finite() { sum } else { 0.0 };
                    *out = (sum + deviation * z) / rate;
                }
                deviation / rate
            }
        }
    }

    /// The count of the release whose sum got its noise last: of halves, with its noise, in units of one.
    pub(crate) fn noisy_count(&self, halves: i64) -> f64 {
        match self {
            Self::Exact(grid) => grid.noisy_count(halves),
            Self::Continuous(continuous) => {
                let Continuous { noise_multiplier, standard, .. } = &**continuous;
                let z = standard.last().copied().unwrap_or(0.0);
                0.5 * halves as f64 + Adaptive::count_multiplier(*noise_multiplier) * z
            }
        }
    }

    /// The noise of the last release, in standard deviations.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> Vec<f64> {
        match self {
            Self::Exact(grid) => grid.last_noise(),
            Self::Continuous(continuous) => continuous.standard.to_vec(),
        }
    }

    /// A batch larger than this is summed as integers: for tests of that way on few records.
    #[cfg(test)]
    pub(crate) fn limit_tiles_to(&mut self, records: u64) {
        if let Self::Exact(grid) = self {
            grid.limit_tiles_to(records);
        }
    }
}
