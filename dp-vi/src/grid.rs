//! Sums on a grid with exact noise: a release without a floating-point hole.

use crate::clip::Rule;
use crate::error::{Error, Result};
use crate::mechanism::NoisySum;
use crate::quantile::Adaptive;
use crate::streams::OncePerStep;
use dp_sampler::{NoiseDistribution, RoundedGaussianNoise, Streams};
use ppl_core::{RecordGradient, Records};
use serde::Serialize;
use std::fmt;

/// What kind of numbers noise is added to.
///
/// # Privacy
/// *Continuous.* Gradients are added up in floating point, and Gaussian noise in floating point is added. The proof takes both for real numbers. In
/// floating point a sum moves by some `1e-16` of itself with the order of its terms, and which numbers `sum + noise` can be depends on the
/// sum in its last digits: nobody has shown how much that tells, and it is not in ε.
///
/// *On a grid.* Everything between a record's gradient and the released number is exact. With `s = 2⁴⁰` and `K = ⌊s/σ⌋ − 1` steps for a norm of `C`,
///
/// ```text
/// m_i = trunc(clip_C(v_i) · K/C)         integers, towards zero; if Σ_j m_ij² > K², then m_i = 0
/// M   = Σ_{i ∈ batch} m_i + X            X_j = round(s Z_j), Z_j standard normal, drawn exactly
/// u   = M · (C/K) / q
/// ```
///
/// 1. `m_i` is, bit for bit, a function of the record's own row and of what was released before: each gradient is
///    computed [by itself](ppl_core::RecordGradient::each_weighted), and rounding happens before anything is added up. (Where records have latent
///    values of their own, it is a function of their noise, too, which has the same law whoever else is there: see
///    [`Amortised`](crate::Amortised).)
/// 2. `‖m_i‖ ≤ K`, because that is checked in integers. No rounding error has to be bounded for it. (Truncation does not lengthen a
///    vector, and `C` is lowered by `2⁻⁴⁰` of itself first, so that the check never fails in practice.)
/// 3. So neighbours' integer sums differ by at most `K` (added or removed) or `2K` (replaced) in the Euclidean norm, exactly.
/// 4. `round` commutes with adding integers: `Σ m_i + round(sZ) = round(Σ m_i + sZ)`. The release is a function of what the Gaussian
///    mechanism with real noise of standard deviation `s` gives on these sums, so it reveals no more. Its multiplier is `s/K > σ`: the event of the continuous
///    release, on batches of any scheme, is sound for it, and no formula for discrete noise is needed. (The noise's law has a total variation
///    distance of at most 2⁻²⁴⁰ for a number, which is part of δ.)
/// 5. `u` is computed from `M` in floating point, which is post-processing.
///
/// What it costs: a record by itself takes longer than in a tile, where records share vector instructions, and exact noise some 0.1 µs a number. Truncation
/// moves an element of the sum of `n` records by less than `n σC·2⁻⁴⁰`: a thousandth of the noise for 10⁹ records.
///
/// # References
/// Mironov 2012, "On significance of the least significant bits for differential privacy"; Canonne, Kamath, Steinke 2020 (noise on integers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrivacyNoise {
    /// Floating-point noise on floating-point sums: fast.
    #[default]
    Continuous,
    /// Exact noise on sums of integers.
    OnGrid,
}

/// Most numbers of a release: as many elements as can be clipped, and a count.
const MOST_NUMBERS: f64 = ((1_u64 << 32) + 1) as f64;

impl PrivacyNoise {
    /// A bound on the total variation distance of the noise of one release from that of the mechanism that is accounted for. Noise that is taken
    /// for real numbers has none: that it is so taken is among what a report assumes.
    pub(crate) fn deviation(self) -> f64 {
        match self {
            Self::Continuous => 0.0,
            Self::OnGrid => MOST_NUMBERS * RoundedGaussianNoise::DEVIATION,
        }
    }
}

/// The noise's standard deviation is two to this many steps of the grid.
const BITS: u32 = RoundedGaussianNoise::MAX_BITS;

/// `s`
const DEVIATION: f64 = (1_u64 << BITS) as f64;

/// Lowers what is rounded, so that no rounding of it leads beyond the norm: ever so little, and far more than all roundings together.
const MARGIN: f64 = 1.0 - 1.0 / DEVIATION;

/// Refuses noise multipliers for which the grid is too coarse, or finer than numbers are.
pub(crate) fn check(noise_multiplier: f64) -> Result<()> {
    if (1e-3..=1_048_576.0).contains(&noise_multiplier) {
        return Ok(());
    }
    let (what, requirement) = ("noise multiplier of noise on a grid", "between 1e-3 and 2^20");
    Err(Error::OutOfRange { what, requirement, value: noise_multiplier })
}

/// Most steps of the grid for a norm, less one for rounding: `⌊s/σ⌋ − 1`.
fn steps(noise_multiplier: f64) -> u64 {
    ((DEVIATION / noise_multiplier).next_down().floor() - 1.0).max(0.0) as u64
}

/// Adds one record's vector, in steps of `1/scale` and rounded towards zero, or nothing if its norm passes `√limit` steps.
///
/// A number that is none counts as zero, and one beyond all bounds as one that passes the limit.
fn add(sums: &mut [i128], vector: &[f64], scale: f64, limit: u128) {
    let integer = |value: f64| (value * scale) as i64;
    // Each square is at most 2^126.
    let square = vector.iter().fold(0_u128, |square, &value| {
        let size = u128::from(integer(value).unsigned_abs());
        square.saturating_add(size * size)
    });
    if square <= limit {
        sums.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += i128::from(integer(value)));
    }
}

/// Who adds up a part of the records.
struct Taker {
    sums: Vec<i128>,
    /// What is made of a gradient before it is rounded, where anything is.
    vector: Vec<f64>,
}

/// Writes what is made of a record's gradient: a vector that is no longer.
type Map<'a> = &'a (dyn Fn(&[f64], &mut [f64]) + Sync);

/// Sums of integers, and the noise that is added to them.
pub(crate) struct GridSum {
    noise: OncePerStep<RoundedGaussianNoise>,
    /// `K`
    steps: u64,
    /// Steps for a count of one half that is released beside the sum, if there is one.
    count_steps: Option<u64>,
    takers: Vec<Taker>,
    drawn: Vec<i64>,
}

/// Says what it is, and nothing of the sums.
impl fmt::Debug for GridSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2^{BITS} steps of noise, {} steps of norm, count {:?}", self.steps, self.count_steps)
    }
}

impl GridSum {
    /// Sums of `elements` elements that are as private as Gaussian noise of this multiplier makes them. With `count`, a centred count is
    /// released beside them, as in [`Quantile`](crate::Quantile). Nothing else may draw from the streams.
    pub(crate) fn new(streams: Streams, elements: usize, noise_multiplier: f64, count: bool) -> Result<Self> {
        check(noise_multiplier)?;
        let noise = OncePerStep::new(RoundedGaussianNoise::from_streams(streams, BITS)?);
        let (steps, count_steps) = match count {
            false => (steps(noise_multiplier), None),
            true => {
                let gradient = steps(Adaptive::gradient_multiplier(noise_multiplier));
                (gradient, Some(steps(2.0 * Adaptive::count_multiplier(noise_multiplier))))
            }
        };
        let taker = || Taker { sums: vec![0; elements], vector: Vec::new() };
        let takers = (0..rayon::current_num_threads().max(1)).map(|_| taker()).collect();
        let drawn = vec![0; elements + usize::from(count)];
        let this = Self { noise, steps, count_steps, takers, drawn };
        match this.noise_multiplier()? >= noise_multiplier {
            true => Ok(this),
            false => Err(Error::Conflict("the noise of the grid is less than what was planned")),
        }
    }

    /// A lower bound on the multiplier of the Gaussian mechanism that all of a release is a function of: `s/√(K² + K_count²)`, by what the
    /// noise says of itself.
    fn noise_multiplier(&self) -> Result<f64> {
        let NoiseDistribution::RoundedGaussian { bits, .. } = self.noise.distribution() else {
            return Err(Error::Conflict(
                "noise on a grid is rounded Gaussian, and no other has an event here",
            ));
        };
        // Three roundings to the nearest: of the sum of squares, of its root and of the quotient.
        let norm = (square(self.steps) + self.count_steps.map_or(0, square)) as f64;
        Ok(2.0_f64.powi(bits as i32) / norm.sqrt() * (1.0 - 4.0 * f64::EPSILON))
    }

    /// Standard deviation of the noise in each element, for a norm `C`.
    pub(crate) fn noise_scale(&self, norm: f64) -> f64 {
        DEVIATION / self.steps as f64 * norm
    }

    /// Adds up the records of a batch: their gradients under a rule, or what `map` makes of them, of norm at most `norm`.
    pub(crate) fn sum(
        &mut self,
        (rule, norm): (&Rule, f64),
        gradient: &mut RecordGradient<f64>,
        (records, batch): (&Records, &[u64]),
        map: Option<Map<'_>>,
    ) -> Result<()> {
        let (scale, limit) = (self.steps as f64 / norm * MARGIN, square(self.steps));
        for Taker { sums, vector } in &mut self.takers {
            sums.fill(0);
            vector.resize(if map.is_some() { sums.len() } else { 0 }, 0.0);
        }
        rule.each(
            gradient,
            records,
            batch,
            &mut self.takers,
            |Taker { sums, vector }, gradient| match map {
                None => add(sums, gradient, scale, limit),
                Some(map) => {
                    map(gradient, vector);
                    add(sums, vector, scale, limit);
                }
            },
        )?;
        if let Some((first, others)) = self.takers.split_first_mut() {
            for other in others {
                first.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
            }
        }
        Ok(())
    }

    /// Writes the sums with the noise of this number, for the norm they were made with.
    pub(crate) fn add_noise(
        &mut self,
        number: u64,
        norm: f64,
        mut write: impl FnMut(usize, f64),
    ) -> Result<()> {
        self.noise.fill(number, &mut self.drawn)?;
        let step = norm / self.steps as f64;
        // Fewer than 2^64 contributions of at most 2^50 each, and noise below 2^57.
        let sums = self.takers.first().map_or(&[][..], |taker| &taker.sums);
        for (element, (sum, drawn)) in sums.iter().zip(&self.drawn).enumerate() {
            write(element, (sum + i128::from(*drawn)) as f64 * step);
        }
        Ok(())
    }

    /// A count of halves with its noise, in units of one; what [`add_noise`](Self::add_noise) has drawn last.
    fn noisy_count(&self, halves: i64) -> f64 {
        let (steps, drawn) = (self.count_steps.unwrap_or(1), self.drawn.last().copied().unwrap_or(0));
        // Half a unit is so many steps.
        (i128::from(halves) * i128::from(steps) + i128::from(drawn)) as f64 / (2.0 * steps as f64)
    }
}

fn square(steps: u64) -> u128 {
    u128::from(steps) * u128::from(steps)
}

impl NoisySum {
    /// Makes one release on the grid into `out`, and tells the standard deviation of the noise in each element.
    pub(crate) fn release_on_grid(
        &mut self,
        gradient: &mut RecordGradient<f64>,
        (records, batch): (&Records, &[u64]),
        (number, rate): (u64, f64),
        out: &mut [f64],
    ) -> Result<f64> {
        let norm = self.clip.norm();
        let Some(grid) = &mut self.grid else {
            return Err(Error::Conflict("this sum has no grid"));
        };
        grid.sum((&self.rule, norm), gradient, (records, batch), None)?;
        grid.add_noise(number, norm, |element, noisy| out[element] = noisy / rate)?;
        if let Rule::Quantile(adaptive) = &mut self.rule {
            let halves = adaptive.halves(batch.len());
            adaptive.follow(grid.noisy_count(halves))?;
            self.clip = adaptive.clip();
        }
        Ok(grid.noise_scale(norm) / rate)
    }
}

#[cfg(test)]
mod tests;
