//! Exact weights.

use super::{Interval, Weight};
use crate::base::{Error, Result};
use num_bigint::{BigInt, BigUint};
use num_rational::Ratio;
use num_traits::{One, ToPrimitive, Zero};
use std::fmt;

/// A rational number that is at least zero, on integers of any size.
///
/// ```
/// use ppl_core::finite::{Rational, Weight};
/// let third = Rational::ratio(1, 3);
/// assert_eq!(third.plus(&third).plus(&third), Rational::one());
/// assert_eq!(Rational::from_f64(0.75)?, Rational::ratio(3, 4));
/// assert!(Rational::from_f64(-0.5).unwrap_err().to_string().contains("-0.5"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rational(Ratio<BigUint>);

impl Rational {
    /// `numerator / denominator`.
    ///
    /// # Panics
    /// If the denominator is zero.
    #[must_use]
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        Self(Ratio::new(numerator.into(), denominator.into()))
    }

    /// The numerator in lowest terms, as 64-bit digits, least significant first.
    #[must_use]
    pub fn numerator(&self) -> Vec<u64> {
        self.0.numer().to_u64_digits()
    }

    /// The denominator in lowest terms, as 64-bit digits, least significant first.
    #[must_use]
    pub fn denominator(&self) -> Vec<u64> {
        self.0.denom().to_u64_digits()
    }

    /// To an integer power.
    #[must_use]
    pub fn power(&self, exponent: u32) -> Self {
        Self(Ratio::new_raw(self.0.numer().pow(exponent), self.0.denom().pow(exponent)))
    }

    /// Weights multiplied by their common denominator: integers in the same proportions, as 64-bit digits,
    /// least significant first, for exact samplers.
    #[must_use]
    pub fn as_integers<'a>(weights: impl Iterator<Item = &'a Self> + Clone) -> Vec<Vec<u64>> {
        let common = weights.clone().fold(BigUint::one(), |common, weight| lcm(&common, weight.0.denom()));
        weights.map(|weight| (weight.0.numer() * (&common / weight.0.denom())).to_u64_digits()).collect()
    }
}

/// The least common multiple.
fn lcm(a: &BigUint, b: &BigUint) -> BigUint {
    let (mut x, mut y) = (a.clone(), b.clone());
    while !y.is_zero() {
        (x, y) = (y.clone(), x % y);
    }
    a / x * b
}

/// A positive integer between two doubles times 2 to a power: its leading 53 bits, and one more.
fn leading(x: &BigUint) -> (Interval, i64) {
    let shift = x.bits().saturating_sub(53);
    let top = (x >> shift).to_u64().unwrap_or(u64::MAX) as f64;
    let exact = x.trailing_zeros().unwrap_or(0) >= shift;
    (Interval::between(top, if exact { top } else { top + 1.0 }), shift as i64)
}

/// 2 to this power between two doubles.
fn power_of_two(power: i64) -> Interval {
    if power < -1074 {
        return Interval::between(0.0, f64::from_bits(1));
    }
    if power > 1023 {
        return Interval::between(f64::MAX, f64::INFINITY);
    }
    // In two halves, of which each is in range; their product is exact from 2⁻¹⁰⁷⁴ on.
    let half = power / 2;
    Interval::exact(2.0_f64.powi(half as i32) * 2.0_f64.powi((power - half) as i32))
}

impl Weight for Rational {
    fn zero() -> Self {
        Self(Ratio::zero())
    }

    fn one() -> Self {
        Self(Ratio::one())
    }

    fn ratio(numerator: u64, denominator: u64) -> Self {
        Self::ratio(numerator, denominator)
    }

    fn from_f64(value: f64) -> Result<Self> {
        let (what, requirement) = ("a weight", "finite and at least 0");
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::OutOfRange { what, requirement, value });
        }
        let parts = |x: &BigInt| x.magnitude().clone();
        // Finite, so the conversion is exact and exists.
        let Some(ratio) = Ratio::<BigInt>::from_float(value) else {
            return Err(Error::OutOfRange { what, requirement, value });
        };
        Ok(Self(Ratio::new_raw(parts(ratio.numer()), parts(ratio.denom()))))
    }

    fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    fn plus(&self, other: &Self) -> Self {
        Self(&self.0 + &other.0)
    }

    fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0)
    }

    fn over(&self, other: &Self) -> Option<Self> {
        (!other.is_zero()).then(|| Self(&self.0 / &other.0))
    }

    fn excess(&self, other: &Self) -> Self {
        if self <= other { Self::zero() } else { Self(&self.0 - &other.0) }
    }

    fn ln(&self) -> Interval {
        if self.is_zero() {
            return Interval::exact(f64::NEG_INFINITY);
        }
        // Near one, where a quotient would lose digits, as ln(1 + (a − b)/b).
        let (a, b) = (self.0.numer(), self.0.denom());
        let difference = if a > b { a - b } else { b - a };
        if difference.is_zero() {
            return Interval::ZERO;
        }
        if &difference * 2_u32 < *b {
            let size = Self(Ratio::new_raw(difference, b.clone())).value();
            return if a > b { size.ln_one_plus() } else { (-size).ln_one_plus() };
        }
        let ((a, by), (b, from)) = (leading(a), leading(b));
        // The constant is below ln 2 = 0.693147180559945309417…, by less than half a unit in the last place.
        let ln_2 = Interval::between(std::f64::consts::LN_2, std::f64::consts::LN_2.next_up());
        (a / b).ln() + Interval::exact((by - from) as f64) * ln_2
    }

    fn value(&self) -> Interval {
        if self.is_zero() {
            return Interval::ZERO;
        }
        if self.0.denom().is_one() && self.0.numer().bits() <= 53 {
            return leading(self.0.numer()).0;
        }
        let ((a, by), (b, from)) = (leading(self.0.numer()), leading(self.0.denom()));
        (a / b) * power_of_two(by - from)
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
