//! One of several candidates, by exponential weights.

use crate::noise::discrete::{DEVIATION, Words};
use crate::{Error, Result, Streams};

/// Draws one of several candidates with weights that are exponential in integers, exactly: the exponential
/// mechanism.
///
/// ```text
/// P(c) = exp(s u_c) / Σ_j exp(s u_j),     u_j ≥ 0 integers,  s = slope / 2^bits
/// ```
///
/// # Accuracy
///
/// Exact: a candidate is proposed uniformly and kept with probability exp(−s (max u − u_c)), by integers and
/// by comparisons of random real numbers with ratios that are carried on until they are decided. (Coins that
/// are tossed more than 2²⁰ times stop there, with a probability of 1/2²⁰!; and s (max u − u_c) counts as 2⁶⁴
/// where it is more.) It takes as many proposals as the weights' sum goes into their number times the
/// largest, on average: as many as there are candidates at the most.
///
/// # Privacy
///
/// If neighbours' utilities differ by at most Δ, each in either direction, the choice is 2sΔ-differentially
/// private (McSherry and Talwar); if all of them grow or all of them fall, sΔ. There is no floating-point
/// number whose rounding could change that. How long a draw takes depends on the utilities.
///
/// # The words
///
/// The words of the step's stream in turn, with the coins of
/// [`DiscreteLaplaceNoise`](crate::DiscreteLaplaceNoise). Until a candidate is kept: a candidate by
/// `uniform below n` as it is drawn there; with γ = s (max u − u_c), ⌊γ⌋ times coin(exp −1), then coin(exp
/// −(γ − ⌊γ⌋)), until the first that is false.
///
/// ```
/// use dp_sampler::{ExponentialChoice, Purpose, Seed};
///
/// let streams = Seed::for_tests(1).streams(Purpose::Custom("which model"));
/// let choice = ExponentialChoice::from_streams(streams, 3, 2)?; // s = 3/4
/// assert!(choice.draw(0, &[1_000, 1_001, 990])? < 3);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// McSherry, Talwar (2007), *Mechanism design via differential privacy*. Canonne, Kamath, Steinke (2020),
/// *The discrete Gaussian for differential privacy*, algorithm 1 (the coins). Ilvento (2020), *Implementing
/// the exponential mechanism with base-2 differential privacy* (why not in floating point).
pub struct ExponentialChoice {
    streams: Streams,
    slope: u64,
    bits: u32,
}

impl ExponentialChoice {
    /// The largest exponent of two in the denominator of s.
    pub const MAX_BITS: u32 = 64;

    /// A bound on the total variation distance between a choice and the exact law, 2⁻¹⁰⁰⁰. What it means for
    /// δ is said at [`Subsampler::deviation`](crate::Subsampler::deviation).
    pub const DEVIATION: f64 = DEVIATION;

    /// Choices with s = `slope` / 2^`bits` from these streams, from which nothing else may draw.
    ///
    /// # Errors
    ///
    /// [`Error::SlopeBits`] above [`MAX_BITS`](Self::MAX_BITS).
    pub fn from_streams(streams: Streams, slope: u64, bits: u32) -> Result<Self> {
        if bits > Self::MAX_BITS {
            return Err(Error::SlopeBits { bits });
        }
        Ok(Self { streams, slope, bits })
    }

    /// The number of the candidate that is chosen at a step, which is to be used once.
    ///
    /// # Errors
    ///
    /// [`Error::NoCandidates`] where there are none.
    pub fn draw(&self, step: u64, utilities: &[u128]) -> Result<usize> {
        let Some(&largest) = utilities.iter().max() else { return Err(Error::NoCandidates) };
        let mut words = Words::of_step(&self.streams, step);
        loop {
            let candidate = words.below(utilities.len() as u64) as usize;
            // At most 2^128 − 1, whose whole part is at least 2^64 where that is less than the truth.
            let product = (largest - utilities[candidate]).saturating_mul(u128::from(self.slope));
            let (whole, rest) = (product >> self.bits, product & ((1 << self.bits) - 1));
            if words.exp_minus_integer(whole) && words.exp_minus_ratio(rest, 1 << self.bits) {
                return Ok(candidate);
            }
        }
    }

    /// Whether the seed came from the operating system; where it did not, nothing is private.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::goodness_of_fit;
    use crate::{Purpose, Seed};

    fn choice(seed: u64, slope: u64, bits: u32) -> ExponentialChoice {
        let streams = Seed::for_tests(seed).streams(Purpose::Custom("choice"));
        ExponentialChoice::from_streams(streams, slope, bits).unwrap()
    }

    fn counts(choice: &ExponentialChoice, utilities: &[u128], draws: u64) -> Vec<u64> {
        let mut counts = vec![0; utilities.len()];
        (0..draws).for_each(|step| counts[choice.draw(step, utilities).unwrap()] += 1);
        counts
    }

    /// 10⁵ choices for each of several slopes and utilities; chi-squared, alpha 1e-6 each. A slope that is 3
    /// % off is noticed.
    #[test]
    fn candidates_are_chosen_by_their_weights() {
        let unit = 1_u128 << 32;
        for (number, (slope, utilities)) in [
            (0.7, vec![3.0, 5.0, 4.0]),
            (0.05, vec![10.0, 0.0, 70.0, 30.25, 30.25]),
            (3.0, vec![1e9, 1e9 - 0.5, 1e9 - 0.25]),
            (0.0, vec![1.0, 100.0]),
        ]
        .into_iter()
        .enumerate()
        {
            let integers: Vec<u128> = utilities.iter().map(|u: &f64| (u * unit as f64) as u128).collect();
            let exact = |slope: f64| {
                let largest = utilities.iter().copied().fold(0.0, f64::max);
                let weights: Vec<f64> = utilities.iter().map(|u| (slope * (u - largest)).exp()).collect();
                let total: f64 = weights.iter().sum();
                weights.into_iter().map(|weight| 1e5 * weight / total).collect::<Vec<_>>()
            };
            let scaled = (slope * unit as f64) as u64;
            let found = counts(&choice(number as u64, scaled, 64), &integers, 100_000);
            assert!(goodness_of_fit(&found, &exact(slope)) > 1e-6, "{slope}: {found:?}");
            if slope > 0.0 {
                assert!(goodness_of_fit(&found, &exact(1.03 * slope + 0.01)) < 1e-6, "{slope}: {found:?}");
            }
        }
    }

    #[test]
    fn the_far_and_the_only_candidate() {
        let choice = choice(5, u64::MAX, 0);
        for step in 0..100 {
            assert_eq!(choice.draw(step, &[0, u128::MAX, 0]).unwrap(), 1);
            assert_eq!(choice.draw(step, &[7]).unwrap(), 0);
        }
        let all = counts(&choice, &[u128::MAX; 4], 1_000);
        assert!(all.iter().all(|&count| count > 150), "{all:?}");
        assert_eq!(choice.draw(8, &[1, 1, 1]).unwrap(), choice.draw(8, &[9, 9, 9]).unwrap());
    }

    #[test]
    fn what_cannot_be_chosen_is_an_error() {
        assert!(matches!(choice(1, 1, 0).draw(0, &[]), Err(Error::NoCandidates)));
        let streams = Seed::for_tests(1).streams(Purpose::Split);
        let error = ExponentialChoice::from_streams(streams, 1, 65).err().unwrap();
        assert!(error.to_string().contains("at most 64, got 65"), "{error}");
    }
}
