//! Weights whose logarithm is known to lie in an interval.

use super::{Interval, Weight};
use crate::base::{Error, Result};

/// A weight by its logarithm, between two numbers that are rounded outward.
///
/// ```
/// use ppl_core::finite::{Interval, LogInterval, Weight};
/// let small = LogInterval::from_ln(Interval::exact(-2000.0)); // e⁻²⁰⁰⁰, which no double holds
/// let doubled = small.plus(&small);
/// let ln = doubled.over(&small).unwrap().ln();
/// assert!(ln.contains(2.0_f64.ln()) && ln.width() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogInterval(Interval);

impl LogInterval {
    /// The weight with this logarithm.
    #[must_use]
    pub fn from_ln(ln: Interval) -> Self {
        Self(ln)
    }

    /// Another weight's logarithm.
    #[must_use]
    pub fn of(weight: &impl Weight) -> Self {
        Self(weight.ln())
    }

    /// The sum of many weights, each term's rounding relative to the largest.
    #[must_use]
    pub fn sum<'a>(weights: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let largest = weights.clone().map(|weight| weight.0.upper()).fold(f64::NEG_INFINITY, f64::max);
        if !largest.is_finite() {
            return weights.fold(Self::zero(), |sum, weight| sum.plus(weight));
        }
        let offset = Interval::exact(largest);
        let total: Interval = weights.map(|weight| (weight.0 - offset).exp()).sum();
        Self(total.ln() + offset)
    }
}

impl Weight for LogInterval {
    fn zero() -> Self {
        Self(Interval::exact(f64::NEG_INFINITY))
    }

    fn one() -> Self {
        Self(Interval::ZERO)
    }

    fn ratio(numerator: u64, denominator: u64) -> Self {
        Self::of(&super::Rational::ratio(numerator, denominator))
    }

    fn from_f64(value: f64) -> Result<Self> {
        if !(value >= 0.0 && value.is_finite()) {
            let (what, requirement) = ("a weight", "finite and at least 0");
            return Err(Error::OutOfRange { what, requirement, value });
        }
        Ok(Self(Interval::exact(value).ln()))
    }

    fn is_zero(&self) -> bool {
        self.0.upper() == f64::NEG_INFINITY
    }

    fn plus(&self, other: &Self) -> Self {
        if self.is_zero() {
            return *other;
        }
        if other.is_zero() {
            return *self;
        }
        // Increasing in both, so that ends go with ends.
        let sum = |a: f64, b: f64| {
            let (large, small) = if a >= b { (a, b) } else { (b, a) };
            if large.is_infinite() {
                return Interval::exact(large);
            }
            let difference = Interval::exact(small) - Interval::exact(large);
            Interval::exact(large) + difference.exp().ln_one_plus()
        };
        let (lower, upper) = (sum(self.0.lower(), other.0.lower()), sum(self.0.upper(), other.0.upper()));
        Self(Interval::between(lower.lower(), upper.upper()))
    }

    fn times(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::zero();
        }
        Self(self.0 + other.0)
    }

    fn over(&self, other: &Self) -> Option<Self> {
        if other.0.lower() == f64::NEG_INFINITY {
            return None;
        }
        Some(if self.is_zero() { *self } else { Self(self.0 - other.0) })
    }

    fn excess(&self, other: &Self) -> Self {
        if other.is_zero() || self.is_zero() {
            return *self;
        }
        // Rising in the first and falling in the second.
        let difference = |a: f64, b: f64| {
            if a <= b {
                return Interval::exact(f64::NEG_INFINITY);
            }
            if b == f64::NEG_INFINITY {
                return Interval::exact(a);
            }
            let ratio = (Interval::exact(b) - Interval::exact(a)).exp_minus_one();
            Interval::exact(a) + (-ratio).ln()
        };
        let lower = difference(self.0.lower(), other.0.upper());
        let upper = difference(self.0.upper(), other.0.lower());
        Self(Interval::between(lower.lower(), upper.upper()))
    }

    fn ln(&self) -> Interval {
        self.0
    }

    fn value(&self) -> Interval {
        self.0.exp()
    }
}
