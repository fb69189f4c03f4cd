//! Sums rounded to a grid with exact noise: a release whose guarantee floating-point arithmetic cannot break.

mod exact;

use self::exact::{ExactSums, MAGIC};
use crate::error::{Error, Result};
use crate::wall::bound::clip::Rule;
use crate::wall::bound::quantile::Adaptive;
use dp_sampler::{GridGaussianNoise, Noise, NoiseDistribution, NoiseSource, Streams};
use ppl_core::{RecordGradient, Records};
use serde::Serialize;
use std::fmt;
use zeroize::Zeroizing;

/// How noise is added to a sum.
///
/// # Exact noise
/// The sum of the clipped gradients is rounded to a grid, and the noise is an integer number of its steps,
/// drawn from a law that is known to 2⁻¹²⁰. The guarantee then needs nothing of floating-point arithmetic but
/// proven error bounds. With the step `h = σC(1 + c) 2⁻³²`:
///
/// ```text
/// Ŝ = the sum as floating-point arithmetic gives it          ‖Ŝ − Σ_i clip_C(v_i)‖ ≤ ρ n C
/// M = round(Ŝ/h) + X                                         X_j = round(2³² Z_j), Z_j standard normal
/// u = M h / q
/// ```
///
/// 1. *Each record has one contribution.* What is computed for a record, its clipped gradient `clip_C(v_i)`
///    included, is a function of its own row and of what was released before, to the last bit, whichever
///    other records are in the batch ([`RecordGradient::summation_error`]; property tests of `ppl-core`).
///    (Where records have latent values of their own, it is a function of their noise too, which has the same
///    law whichever other records are there: see [`Amortised`](crate::guides::Amortised).) Its norm is at
///    most `C` ([`ClipNorm`](crate::ClipNorm)). So the sums `S` of neighbours in real numbers differ by at
///    most `C` (a record added or removed) or `2C` (replaced).
/// 2. *The computed sum is near that one*, within `2⁻¹⁵ C`, however it is formed. `ρ` bounds what the
///    additions round, in any order and for any number of threads, for each record of a batch of `n`. Batches
///    of `n ≤ L = 2⁻¹⁶/ρ` are summed in tiles. `L` is a hundred million to two billion where each array is
///    used once, and less for arrays used at many positions. In larger batches every record's gradient is
///    computed by itself, written in units of `2⁻⁸⁰ C`, and added up in integers, which takes longer. Let the
///    terms of `S` be these gradients by themselves, each of which is within `ρC` of what enters a sum in
///    tiles: then a sum in tiles is within `2ρLC = 2⁻¹⁵ C` of `S`, and a sum of integers within
///    `(2⁻⁴⁹ √P + 2⁻⁵¹ n) C`, `n` records.
///    So neighbours' computed sums differ by at most `2⁻¹⁴ C` more than the real ones, also if one is formed
///    in one way and one in the other.
/// 3. *Rounding moves each of `P` elements by at most half a step*, and so neighbours by at most `h √P` more.
/// 4. *The charge.* With `c = 2⁻¹⁴ + 1.07 · 2⁻³² σ √P`, rounded sums of neighbours are integer vectors that
///    differ by at most `C(1 + c)/h` steps, or `2C(1 + c)/h` where a record is replaced.
/// 5. *The noise is post-processing of the Gaussian mechanism.* Rounding commutes with adding integers:
///    `m + round(2³² Z) = round(m + 2³² Z)`. The right-hand side is a function of what the Gaussian mechanism
///    gives for the integer vector `m`, with a noise multiplier of `2³² h/(C(1 + c)) ≥ σ`. So its event, on
///    batches of any scheme, is sound for `M`, and no accounting of discrete noise is needed. The distance of
///    the noise's law from the exact one is part of δ.
/// 6. `u` is computed from `M`, which is post-processing too.
///
/// The noise is `1 + c` times as large as continuous noise of the same event, which is 0.006 % more. Steps
/// take about as long.
///
/// # Continuous noise
/// Gaussian noise in floating point is added to the floating-point sum. The proof takes both for real
/// numbers, and they are not: which numbers `sum + noise` can be depends on the sum in its last digits.
/// **This has a working attack.** With one full-batch step and plain gradient descent, all released numbers
/// for one of two neighbouring data sets are of the form `fl(σz)`; for the other, a twentieth of them are
/// not, at any ε. A claimed `δ` of `1e-5` was really above 0.03. Use it to compare with, or where the
/// released numbers are rounded before they are published.
///
/// # References
/// Mironov 2012, "On significance of the least significant bits for differential privacy"; Canonne, Kamath,
/// Steinke 2020 (noise on integers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrivacyNoise {
    /// Exact noise on a rounded sum.
    #[default]
    Exact,
    /// Floating-point noise on a floating-point sum, whose guarantee floating-point arithmetic can break.
    Continuous,
}

/// Most numbers of a release: as many elements as can be clipped, and a count.
const MOST_NUMBERS: f64 = ((1_u64 << 32) + 1) as f64;

impl PrivacyNoise {
    /// A bound on the total variation distance of the noise of one release from that of the mechanism that is
    /// accounted for. Noise that is taken for real numbers has none: that it is so taken is among what a
    /// report assumes.
    pub(crate) fn deviation(self) -> f64 {
        match self {
            Self::Continuous => 0.0,
            Self::Exact => MOST_NUMBERS * GridGaussianNoise::MAX_DEVIATION,
        }
    }
}

/// The noise's standard deviation in steps.
const DEVIATION: f64 = (1_u64 << GridGaussianNoise::BITS) as f64;

/// What the rounding errors of two sums may come to, relative to the norm.
const OF_SUMS: f64 = 1.0 / 16_384.0;

/// The largest charge that is accepted: more noise than that for nothing means that the grid is too coarse.
const MOST_CHARGED: f64 = 1.0 / 16.0;

/// `c`: by what part of the norm `C` rounding may move neighbouring sums of `elements` elements apart, for
/// noise of this multiplier.
fn charge(noise_multiplier: f64, elements: usize) -> f64 {
    // √P 2⁻³² σ (1 + c) with c ≤ 1/16, and the rounding of this line.
    OF_SUMS + 1.07 * noise_multiplier * (elements as f64).sqrt() / DEVIATION
}

/// Refuses noise multipliers for which the grid is too coarse, or finer than 128-bit integers hold.
pub(crate) fn check(noise_multiplier: f64, elements: usize) -> Result<()> {
    if !(1e-12..=1_048_576.0).contains(&noise_multiplier) {
        let (what, requirement) = ("noise multiplier of exact noise", "between 1e-12 and 2^20");
        return Err(Error::OutOfRange { what, requirement, value: noise_multiplier });
    }
    if charge(noise_multiplier, elements) > MOST_CHARGED {
        let what = "noise multiplier of exact noise, times the root of the number of elements,";
        let requirement = "at most 2.5e8";
        let value = noise_multiplier * (elements as f64).sqrt();
        return Err(Error::OutOfRange { what, requirement, value });
    }
    Ok(())
}

/// Adds exact noise to sums.
pub(crate) struct Grid {
    noise: GridGaussianNoise,
    /// Standard deviation of the noise over the norm, `σ(1 + c)`.
    multiplier: f64,
    /// `L`, the records up to which a batch is summed in tiles.
    most_in_tiles: u64,
    /// Steps for a count of one half that is released beside the sum, if there is one.
    count_steps: Option<u64>,
    drawn: Zeroizing<Vec<i64>>,
    /// Integer sums, one for each thread, for batches of more records.
    integers: Vec<ExactSums>,
}

/// Units of a norm in which records are added up as integers: 2⁸⁰, so that 2³² of them stay below 2¹¹².
const UNITS: f64 = (1_u128 << 80) as f64;

/// Records in a batch that sums of integers are charged for.
const MOST_RECORDS: u64 = 1 << 32;

/// Says what it is, and nothing of the sums.
impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "noise of {} times the norm on a grid, count {:?}", self.multiplier, self.count_steps)
    }
}

impl Grid {
    /// Noise for `elements` elements that makes them as private as Gaussian noise of this multiplier on real
    /// numbers. `gradient` forms the sums. With `count`, a centred count is released beside them, as in
    /// [`Quantile`](crate::Quantile). Nothing else may draw from the streams.
    pub(crate) fn new(
        streams: Streams,
        elements: usize,
        noise_multiplier: f64,
        gradient: &RecordGradient<f64>,
        count: bool,
    ) -> Result<Self> {
        check(noise_multiplier, elements)?;
        let noise = GridGaussianNoise::from_streams(streams);
        let (of_gradient, count_steps) = match count {
            false => (noise_multiplier, None),
            true => {
                // Half a unit, rounded down: `half/2³² ≤ 1/(2σ_b)`.
                let half = DEVIATION / (2.0 * Adaptive::count_multiplier(noise_multiplier));
                let of_gradient = Adaptive::gradient_multiplier(noise_multiplier);
                (of_gradient, Some(half.next_down().floor() as u64))
            }
        };
        // Two more roundings for the norm and the step that are made of it, and those of this line.
        let multiplier = of_gradient * (1.0 + charge(of_gradient, elements)) * (1.0 + 8.0 * f64::EPSILON);
        let most_in_tiles = Self::most_in_tiles(gradient);
        let drawn = Zeroizing::new(vec![0; elements + usize::from(count)]);
        Self { noise, multiplier, most_in_tiles, count_steps, drawn, integers: Vec::new() }
            .checked(elements, noise_multiplier)
    }

    /// Refuses noise that is less than what was planned, and a count that is hidden in no step at all.
    fn checked(self, elements: usize, noise_multiplier: f64) -> Result<Self> {
        match self.accounted(elements)? >= noise_multiplier && self.count_steps != Some(0) {
            true => Ok(self),
            false => Err(Error::Conflict("the noise of the grid is less than what was planned")),
        }
    }

    /// Records up to which a batch may be summed in tiles by this program.
    fn most_in_tiles(gradient: &RecordGradient<f64>) -> u64 {
        // Dividing by the step and, for a curvature, weighing its elements round the sum a few times more.
        let rounding = gradient.summation_error() + 8.0 * f64::EPSILON;
        ((0.25 * OF_SUMS / rounding) as u64).min(gradient.most_summed())
    }

    /// Takes over sums that another program forms: what tiles round may be more than before.
    pub(crate) fn take_over(&mut self, gradient: &RecordGradient<f64>) {
        self.most_in_tiles = self.most_in_tiles.min(Self::most_in_tiles(gradient));
    }

    /// A lower bound on the multiplier of the Gaussian mechanism that all of a release is a function of, by
    /// what the noise says of itself: in standard deviations of the noise, a record moves the gradient by
    /// `C(1 + c)/(2^bits h)` and the count by `half/2^bits`.
    fn accounted(&self, elements: usize) -> Result<f64> {
        let NoiseDistribution::RoundedGaussian { bits, .. } = self.noise.distribution() else {
            return Err(Error::Conflict("exact noise is rounded Gaussian, and no other has an event here"));
        };
        let (step, deviation) = (self.multiplier / DEVIATION, 2.0_f64.powi(bits as i32));
        let of_gradient = (1.0 + OF_SUMS + step * (elements as f64).sqrt()) / (deviation * step);
        let of_count = self.count_steps.map_or(0.0, |half| half as f64 / deviation);
        // Seven roundings to the nearest.
        Ok((1.0 - 4.0 * f64::EPSILON) / of_gradient.hypot(of_count))
    }

    /// Standard deviation of the noise in each element, for a norm `C`.
    pub(crate) fn noise_scale(&self, norm: f64) -> f64 {
        self.multiplier * norm
    }

    /// Writes the sum of a batch's gradients under a rule, whose norm is this, near enough to the real one
    /// for [`add_noise`](Self::add_noise).
    pub(crate) fn sum(
        &mut self,
        (rule, norm): (&Rule, f64),
        gradient: &mut RecordGradient<f64>,
        (records, batch): (&Records, &[u64]),
        sum: &mut [f64],
    ) -> Result<()> {
        let count = batch.len() as u64;
        if count <= self.most_in_tiles {
            return rule.sum(gradient, records, batch, sum);
        }
        if count > MOST_RECORDS {
            let (what, requirement) = ("records in a batch for exact noise", "at most 2^32");
            return Err(Error::OutOfRange { what, requirement, value: count as f64 });
        }
        self.integers.resize_with(rayon::current_num_threads().max(1), ExactSums::default);
        self.integers.iter_mut().for_each(|integers| integers.clear(sum.len()));
        let in_units = UNITS / norm;
        rule.each(gradient, records, batch, &mut self.integers, |integers, gradient| {
            integers.add(gradient, in_units);
        })?;
        // Sums of integers do not depend on who added up what.
        self.integers.iter_mut().for_each(ExactSums::carry);
        for (element, sum) in sum.iter_mut().enumerate() {
            *sum =
                self.integers.iter().map(|integers| integers.sums()[element]).sum::<i128>() as f64 / in_units;
        }
        Ok(())
    }

    /// Step of the grid.
    fn step(&self, norm: f64) -> f64 {
        norm * (self.multiplier / DEVIATION)
    }

    /// Writes a rounded sum with the noise of this number, times `factor`, for the norm that the sum was made
    /// with.
    pub(crate) fn add_noise(
        &mut self,
        sum: &[f64],
        (number, norm, factor): (u64, f64, f64),
        out: &mut [f64],
    ) {
        self.noise.fill(number, &mut self.drawn);
        let step = self.step(norm);
        let chunks = sum.chunks(CHUNK).zip(self.drawn.chunks(CHUNK)).zip(out.chunks_mut(CHUNK));
        chunks.for_each(|((sum, drawn), out)| round_and_add(sum, drawn, 1.0 / step, step * factor, out));
    }

    /// A count of halves with its noise, in units of one; what was drawn last is used for it.
    pub(crate) fn noisy_count(&self, halves: i64) -> f64 {
        let (steps, drawn) = (self.count_steps.unwrap_or(1), self.drawn.last().copied().unwrap_or(0));
        // Half a unit has this many steps.
        (i128::from(halves) * i128::from(steps) + i128::from(drawn)) as f64 / (2.0 * steps as f64)
    }

    /// The noise of the last release, in standard deviations.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> Vec<f64> {
        self.drawn.iter().map(|&steps| steps as f64 / DEVIATION).collect()
    }

    /// A batch larger than this is summed as integers: for tests of that way on few records.
    #[cfg(test)]
    pub(crate) fn limit_tiles_to(&mut self, records: u64) {
        self.most_in_tiles = records;
    }
}

/// Numbers that are rounded together.
const CHUNK: usize = 512;

/// `out = (round(sum · in_steps) + drawn) · unit`
fn round_and_add(sum: &[f64], drawn: &[i64], in_steps: f64, unit: f64, out: &mut [f64]) {
    // False for a NaN.
    let are_small = sum.iter().fold(true, |all, x| all & ((x * in_steps).abs() < (1_u64 << 50) as f64));
    // With noise below 2³⁷, integers are added in the last digits of doubles: a straight loop.
    if are_small {
        for ((out, sum), drawn) in out.iter_mut().zip(sum).zip(drawn) {
            let integer = (sum * in_steps + MAGIC).to_bits().wrapping_add(*drawn as u64);
            *out = (f64::from_bits(integer) - MAGIC) * unit;
        }
    } else {
        for ((out, sum), drawn) in out.iter_mut().zip(sum).zip(drawn) {
            // Terms of norm C add up to a finite sum; should one not, it must not show that it was there.
            let rounded = if sum.is_finite() { (sum * in_steps).round() as i128 } else { 0 };
            *out = rounded.saturating_add(i128::from(*drawn)) as f64 * unit;
        }
    }
}

#[cfg(test)]
mod tests;
