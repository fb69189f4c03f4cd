//! Coins with exact probabilities, from integers only.
//!
//! A coin with probability p is "a uniform real number U is below p", and U has infinitely many random
//! digits, of which as many are drawn as it takes to know.

use super::words::Words;

impl Words {
    /// True with probability `numerator / denominator`; numerator ≤ denominator < 2⁹⁵.
    ///
    /// ```text
    /// U = (w + U′) / 2³²:   U < a/b   ⟺   U′ < (2³² a − w b) / b
    /// ```
    ///
    /// which is certain if the right-hand side is at most 0 or at least 1, and the same question again
    /// otherwise, once in b of 2³² times and less.
    #[inline(always)]
    pub(super) fn ratio(&mut self, numerator: u128, denominator: u128) -> bool {
        let mut numerator = numerator as i128;
        let denominator = denominator as i128;
        loop {
            // At most 2^127 − 2^32, and not below −2^127 either.
            let rest = (numerator << 32) - i128::from(self.word()) * denominator;
            if rest <= 0 {
                return false;
            }
            if rest >= denominator {
                return true;
            }
            numerator = rest;
        }
    }

    /// The same for denominators below 2³¹, in 64 bits.
    #[inline(always)]
    pub(super) fn short_ratio(&mut self, numerator: u64, denominator: u64) -> bool {
        let mut numerator = numerator as i64;
        let denominator = denominator as i64;
        loop {
            let rest = (numerator << 32) - i64::from(self.word()) * denominator;
            if rest <= 0 {
                return false;
            }
            if rest >= denominator {
                return true;
            }
            numerator = rest;
        }
    }

    /// True with probability exp(−γ), where `gamma` is a coin with probability γ, in [0, 1].
    ///
    /// Let K be the first k = 1, 2, … at which a coin with probability γ/k shows false. P(K > k) = γᵏ/k!, so
    /// K is odd with probability 1 − γ + γ²/2! − … = exp(−γ). The coin for γ/k is true when those for γ and
    /// 1/k both are. (Canonne, Kamath, Steinke 2020, algorithm 1, case γ ≤ 1.)
    #[inline(always)]
    pub(super) fn exp_minus(&mut self, mut gamma: impl FnMut(&mut Self) -> bool) -> bool {
        let mut k = 1;
        while gamma(self) && (k == 1 || self.short_ratio(1, k)) {
            k += 1;
            // Reached with probability 1/2^20!, far below 2^-10,000,000.
            if k == u64::from(MOST_TERMS) {
                break;
            }
        }
        k % 2 == 1
    }

    /// True with probability exp(−1).
    #[inline(always)]
    pub(super) fn exp_minus_one(&mut self) -> bool {
        self.exp_minus(|_| true)
    }

    /// True with probability exp(−`numerator / denominator`), under the conditions of [`ratio`](Self::ratio).
    #[inline(always)]
    pub(crate) fn exp_minus_ratio(&mut self, numerator: u128, denominator: u128) -> bool {
        if denominator < 1 << 31 {
            self.exp_minus(|words| words.short_ratio(numerator as u64, denominator as u64))
        } else {
            self.exp_minus(|words| words.ratio(numerator, denominator))
        }
    }

    /// True with probability exp(−n): n coins in a row.
    #[inline(always)]
    pub(crate) fn exp_minus_integer(&mut self, n: u128) -> bool {
        let mut left = n;
        while left > 0 {
            if !self.exp_minus_one() {
                return false;
            }
            left -= 1;
        }
        true
    }

    /// How many coins with probability exp(−1) are true in a row: V with P(V ≥ v) = exp(−v). `None` from 2¹⁶
    /// on, which has probability exp(−65,536).
    #[inline(always)]
    pub(super) fn geometric(&mut self) -> Option<u64> {
        let mut count = 0;
        while self.exp_minus_one() {
            count += 1;
            if count == u64::from(MOST) {
                return None;
            }
        }
        Some(count)
    }
}

/// The bound on what is counted, so that no product overflows.
pub(crate) const MOST: u32 = 1 << 16;

/// The bound on the coins that make up one with an exponential probability.
pub(crate) const MOST_TERMS: u32 = 1 << 20;
