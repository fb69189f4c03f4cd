//! What ε becomes in integers, rounded towards more privacy.

use crate::error::{Error, Result};
use ppl_core::finite::{Interval, LogInterval, Weight};

/// Checks that an ε is one.
pub(crate) fn epsilon(value: f64) -> Result<f64> {
    if (1e-6..=64.0).contains(&value) {
        return Ok(value);
    }
    let (what, requirement) = ("epsilon of a mechanism", "between 1e-6 and 64");
    Err(Error::OutOfRange { what, requirement, value })
}

/// The scale `numerator/denominator` of discrete Laplace noise on integers that neighbours change by at most
/// `sensitivity` in the ℓ₁ norm, and the ε that it gives: at most the one wanted, and that for which the law
/// is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
    pub(crate) sensitivity: u64,
}

impl Scale {
    /// The finest scale that fits 46 bits; ε is rounded down.
    pub(crate) fn new(wanted: f64, sensitivity: u64) -> Result<Self> {
        let wanted = epsilon(wanted)?;
        if !(1..=1 << 24).contains(&sensitivity) {
            let (what, requirement) = ("the sensitivity of a sum of integers", "between 1 and 2^24");
            return Err(Error::OutOfRange { what, requirement, value: sensitivity as f64 });
        }
        // Both parts below 2⁴⁶: Δ 2^bits, and ε 2^bits with ε ≤ 2⁶.
        let bits = (45 - sensitivity.ilog2()).min(40);
        // Rounded down; at least 1, for ε is at least 10⁻⁶ and bits at least 21.
        let denominator = ((wanted * 2.0_f64.powi(bits as i32)) as u64).max(1);
        Ok(Self { numerator: sensitivity << bits, denominator, sensitivity })
    }

    /// `Δ · denominator/numerator`: exactly, for Δ cancels and a power of two remains.
    pub(crate) fn epsilon(self) -> f64 {
        let power = self.numerator / self.sensitivity;
        self.denominator as f64 / power as f64
    }

    /// The law of a number with the noise, clamped to a range that it lies in: what lies outside counts at
    /// the ends.
    pub(crate) fn clamped_law(self, centre: i64, (low, high): (i64, i64)) -> Vec<(i64, LogInterval)> {
        if low == high {
            return vec![(low, LogInterval::one())];
        }
        // Below 2⁵³, so doubles hold them.
        let exact = |integer: u64| Interval::exact(integer as f64);
        let step = exact(self.denominator) / exact(self.numerator);
        let below_one = (-step).exp_minus_one(); // α − 1
        let ln_sum = (Interval::exact(2.0) + below_one).ln();
        let weight = |z: i64| {
            // A tail from z on has α^d/(1 + α).
            let factor = if z == low || z == high { -ln_sum } else { (-below_one).ln() - ln_sum };
            LogInterval::from_ln(factor - exact(z.abs_diff(centre)) * step)
        };
        (low..=high).map(|z| (z, weight(z))).collect()
    }
}
