//! How many of a block's records are drawn, decided by integer comparisons alone.
//!
//! # Why the thresholds are right
//!
//! Let p(m) be the exact distribution of Binomial(m, q) for the double q, and a(m) what is computed, in units
//! of u = 2⁻²⁵⁶. Start: a(1) = (1 − q, q), each at most u too small. Doubling: a(2m)ₖ = Σᵢ a(m)ᵢ a(m)ₖ₋ᵢ,
//! each product rounded down; terms at and above K are never needed for those below it. All rounding is
//! downwards, so a ≤ p, and the shortfall D(m) = Σ_{k<K} p(m)ₖ − a(m)ₖ obeys
//!
//! ```text
//! D(1) ≤ 2u,   D(2m) ≤ 2 D(m) + K(K+1)/2 · u      so      D(M) ≤ M (K(K+1)/2 + 2) u
//! ```
//!
//! With M ≤ 2⁶³ and K ≤ 112: D < 2⁶³ · 2¹³ · 2⁻²⁵⁶ = 2⁻¹⁸⁰. The thresholds are Tₖ = ⌊2¹²⁸ Σ_{j≤k} aⱼ⌋, and a
//! uniform 128-bit integer U gives k = #{j < K − 1 : U ≥ Tⱼ}; the last value takes what is left over. Each
//! cumulative probability is thus low by less than 2⁻¹²⁸ + D, and
//!
//! ```text
//! total variation ≤ (K − 1)(2⁻¹²⁸ + 2⁻¹⁸⁰) + P(Binomial(M, q) ≥ K) ≤ K · 2⁻¹²⁸ + remainder < 2⁻¹²⁰
//! ```
//!
//! where remainder = 1 − Σ_{k<K} aₖ bounds the tail from above. It is below 2⁻¹²⁸ at the latest at K = 112
//! (unless K exceeds M, when there is no tail at all), since a block has 64 records at most, or a mean μ
//! below 16, and by Chernoff's bound
//!
//! ```text
//! P(Binomial ≥ 112) ≤ exp(−(112 ln(112/μ) − 112 + μ)) < exp(−121) < 2⁻¹⁷⁴
//! ```
//!
//! So one draw is within (K + 1) · 2⁻¹²⁸ ≤ 113 · 2⁻¹²⁸. (That has room, too, for words that two runs share:
//! see `RUN_BLOCKS`, e⁻⁴⁰⁰⁰.)

use rand_core::Rng;

use crate::fraction::Fraction;

/// The longest table. Binomials of mean at most 16 have less than 2⁻¹²⁸ beyond it; see the test.
pub(super) const MOST_TERMS: usize = 112;
/// The largest bound on the total variation of one draw: K + 1 units of 2⁻¹²⁸, the tail counting for one of
/// them.
pub(super) const MOST_DEVIATION: f64 =
    (MOST_TERMS + 1) as f64 / (1_u128 << 64) as f64 / (1_u128 << 64) as f64;
/// Entries of the guide table: a word's first six bits.
const GUIDES: usize = 64;

/// The quantile function of Binomial(2^doublings, rate) on 128-bit integers.
pub(crate) struct Thresholds {
    /// The first words of T₀, …, T_{K−2}, then `u64::MAX`.
    high: Vec<u64>,
    /// Their second words.
    low: Vec<u64>,
    /// Where to start looking, by a word's first bits.
    guide: [u8; GUIDES],
    /// Bound on the total variation between one draw and the exact binomial.
    deviation: f64,
}

impl Thresholds {
    pub(super) fn new(rate: f64, doublings: u32) -> Self {
        let mut masses = binomial(rate, doublings);
        let all_terms = doublings < 63 && masses.len() as u64 == (1 << doublings) + 1;

        // Cumulative sums, as far as they tell anything: once less than 2^-128 is left, the rest is one
        // value.
        let mut cumulative = Fraction::ZERO;
        let mut thresholds = Vec::with_capacity(masses.len());
        let mut remainder = Fraction::ALMOST_ONE;
        let last = masses.len() - 1;
        masses.truncate(last);
        for mass in masses {
            cumulative = cumulative.plus(mass);
            thresholds.push(cumulative.top());
            remainder = cumulative.complement();
            if remainder.top() == 0 {
                break;
            }
        }
        let terms = thresholds.len() + 1;
        // With every term present the last value takes exactly the mass it should; otherwise the tail is cut
        // off, and `remainder`, rounded up, is more than the tail.
        let tail = if all_terms && terms == last + 1 { 0.0 } else { remainder.top() as f64 + 1.0 };
        let deviation = (terms as f64 + tail) * 2_f64.powi(-128);

        let mut high: Vec<u64> = thresholds.iter().map(|t| (t >> 64) as u64).collect();
        let mut low: Vec<u64> = thresholds.iter().map(|t| *t as u64).collect();
        high.push(u64::MAX);
        low.push(u64::MAX);
        let mut guide = [0; GUIDES];
        for (first_bits, start) in guide.iter_mut().enumerate() {
            let smallest = (first_bits as u64) << 58;
            *start = high.iter().position(|&t| t >= smallest).unwrap_or(0) as u8;
        }
        Self { high, low, guide, deviation }
    }

    /// T₀, …, T_{K−2} and the sentinel as four words each, high ones first; then where to start looking, by a
    /// word's first six bits.
    #[cfg(feature = "gpu")]
    pub(crate) fn words(&self) -> (Vec<u32>, &[u8; GUIDES]) {
        let halves = |value: u64| [(value >> 32) as u32, value as u32];
        let words = self.high.iter().zip(&self.low).flat_map(|(&high, &low)| [halves(high), halves(low)]);
        (words.flatten().collect(), &self.guide)
    }

    /// The most members that a block of records can have.
    #[cfg(feature = "gpu")]
    pub(crate) fn most(&self) -> usize {
        self.high.len() - 1
    }

    /// Two thresholds of these first and second words.
    #[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
    pub(crate) fn for_tests(high: [u64; 2], low: [u64; 2]) -> Self {
        let with_sentinel = |words: [u64; 2]| words.into_iter().chain([u64::MAX]).collect();
        Self { high: with_sentinel(high), low: with_sentinel(low), guide: [0; GUIDES], deviation: 0.0 }
    }

    /// A draw from the binomial distribution.
    #[inline]
    pub(super) fn draw(&self, stream: &mut impl Rng) -> usize {
        let word = stream.next_u64();
        let mut k = usize::from(self.guide[(word >> 58) as usize]);
        // Ends at the latest at the sentinel, which no word exceeds.
        while word > self.high[k] {
            k += 1;
        }
        if word == self.high[k] { self.break_tie(word, k, stream) } else { k }
    }

    /// The first words are equal, once in about 2⁵⁸ draws: the second ones decide.
    #[cold]
    fn break_tie(&self, word: u64, mut k: usize, stream: &mut impl Rng) -> usize {
        let second = stream.next_u64();
        let last = self.high.len() - 1;
        while k < last && (word, second) >= (self.high[k], self.low[k]) {
            k += 1;
        }
        k
    }

    /// Bound on the total variation distance between a draw and the exact binomial.
    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }
}

/// The first terms of the distribution of Binomial(2^doublings, rate), all of them where there are few.
fn binomial(rate: f64, doublings: u32) -> Vec<Fraction> {
    let q = Fraction::from_f64(rate);
    let mut masses = vec![q.complement(), q];
    if rate >= 1.0 {
        masses[0] = Fraction::ZERO;
    }
    for _ in 0..doublings {
        let terms = (2 * masses.len() - 1).min(MOST_TERMS);
        masses = (0..terms)
            .map(|k| {
                let from = (k + 1).saturating_sub(masses.len());
                (from..=k.min(masses.len() - 1))
                    .map(|i| masses[i].times(masses[k - i]))
                    .fold(Fraction::ZERO, Fraction::plus)
            })
            .collect();
    }
    masses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scripted;

    #[test]
    fn masses_match_exact_integers() {
        // q = n/2^7 and M = 16: every mass is an integer over 2^112.
        for n in [1_u128, 37, 100, 127] {
            let masses = binomial(n as f64 / 128.0, 4);
            assert_eq!(masses.len(), 17);
            let mut choose = 1_u128;
            for (k, mass) in masses.iter().enumerate() {
                // Exact up to 2^112 · 12870 < 2^126; the thresholds keep 128 bits after the point.
                let numerator = choose * n.pow(k as u32 / 2) * (128 - n).pow((16 - k as u32) / 2);
                let half = n.pow(k as u32 - k as u32 / 2) as f64;
                let rest = (128 - n).pow((16 - k as u32) - (16 - k as u32) / 2) as f64;
                let exact = numerator as f64 * half * rest * 2_f64.powi(-112);
                assert!((mass.to_f64() - exact).abs() <= exact * 1e-15, "{n} {k}");
                choose = choose * (16 - k as u128) / (k as u128 + 1);
            }
        }
        // And bit for bit where the integers are small: q = 3/4, M = 8, masses over 2^16.
        let masses = binomial(0.75, 3);
        let mut choose = 1_u128;
        for (k, mass) in masses.iter().enumerate() {
            let exact = choose * 3_u128.pow(k as u32);
            assert_eq!(mass.top(), exact << 112, "{k}");
            choose = choose * (8 - k as u128) / (k as u128 + 1);
        }
    }

    #[test]
    fn masses_match_the_formula_for_long_blocks() {
        // The recursion over k in doubles. exp(x) of x = M ln(1 - q), of size up to 16, is good to 16
        // roundings and each factor adds four; the fixed-point masses are low by at most D(M).
        for (rate, doublings) in [(0.01, 10), (1e-5, 20), (1e-9, 33), (2_f64.powi(-60), 63)] {
            let m = 2_f64.powi(doublings as i32);
            let shortfall = m * 2_f64.powi(13 - 256);
            let mut exact = (m * (-rate).ln_1p()).exp();
            for (k, mass) in binomial(rate, doublings).iter().enumerate() {
                let tolerance = exact * (20 + 4 * k) as f64 * 2_f64.powi(-53) + shortfall;
                assert!((mass.to_f64() - exact).abs() < tolerance, "{rate} {k}");
                exact *= (m - k as f64) / (k as f64 + 1.0) * (rate / (1.0 - rate));
            }
        }
    }

    #[test]
    fn the_deviation_is_as_small_as_derived() {
        let mut worst = 0_f64;
        for doublings in 0..=63 {
            for mean in [8.0, 11.3, 15.999_999] {
                let rate: f64 = mean * 2_f64.powi(-(doublings as i32));
                if rate <= 1.0 {
                    let thresholds = Thresholds::new(rate, doublings);
                    assert!(thresholds.high.len() <= MOST_TERMS);
                    assert!(thresholds.high.windows(2).all(|pair| pair[0] <= pair[1]));
                    worst = worst.max(thresholds.deviation());
                }
            }
        }
        assert!(worst < 2_f64.powi(-120), "{worst:e}");
    }

    /// A unit for each value, and one for the tail where there is one.
    #[test]
    fn a_tail_counts_as_one_value() {
        let unit = 2_f64.powi(-128);
        let short = Thresholds::new(0.25, 3);
        assert_eq!((short.high.len(), short.deviation()), (9, 9.0 * unit));
        let long = Thresholds::new(2_f64.powi(-17), 20);
        assert_eq!(long.deviation(), (long.high.len() + 1) as f64 * unit);
    }

    #[test]
    fn certain_and_impossible_draws() {
        let mut stream = crate::Seed::for_tests(1).streams(crate::Purpose::Subsample).at(0);
        for doublings in [0, 1, 6] {
            let thresholds = Thresholds::new(1.0, doublings);
            assert!((0..1_000).all(|_| thresholds.draw(&mut stream) == 1 << doublings));
        }
        let never = Thresholds::new(2_f64.powi(-300), 6);
        assert!((0..1_000).all(|_| never.draw(&mut stream) == 0));
    }

    #[test]
    fn ties_are_broken_by_the_second_word() {
        // T0 = 2^127 + 5 at the first word 2^63: second words below 5 give 0, the others 1.
        let thresholds = Thresholds {
            high: vec![1 << 63, u64::MAX],
            low: vec![5, u64::MAX],
            guide: [0; GUIDES],
            deviation: 0.0,
        };
        let streams = crate::Seed::for_tests(1).streams(crate::Purpose::Subsample);
        let second = streams.at(0).next_u64();
        assert_eq!(thresholds.break_tie(1 << 63, 0, &mut streams.at(0)), usize::from(second >= 5));
        let just_above = Thresholds { low: vec![second + 1, u64::MAX], ..thresholds };
        assert_eq!(just_above.break_tie(1 << 63, 0, &mut streams.at(0)), 0);
        // The sentinel is never passed, whatever the words.
        assert_eq!(just_above.break_tie(u64::MAX, 1, &mut streams.at(0)), 1);
    }

    /// A draw is of 128 bits: beside a threshold's first word the second ones decide, and only there.
    #[test]
    fn draws_compare_both_words() {
        let thresholds = Thresholds {
            high: vec![1 << 63, u64::MAX],
            low: vec![5, u64::MAX],
            guide: [0; GUIDES],
            deviation: 0.0,
        };
        for (words, drawn) in [
            (vec![(1 << 63) - 1], 0),
            (vec![1 << 63, 0], 0),
            (vec![1 << 63, 4], 0),
            (vec![1 << 63, 5], 1),
            (vec![1 << 63, u64::MAX], 1),
            (vec![(1 << 63) + 1], 1),
            (vec![u64::MAX, u64::MAX], 1),
        ] {
            let mut script = Scripted(words.clone());
            assert_eq!(thresholds.draw(&mut script), drawn, "{words:x?}");
            assert!(script.0.is_empty());
        }
    }
}
