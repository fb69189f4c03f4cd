//! What a weight of a finite distribution can do.

use super::Interval;
use crate::base::Result;
use std::fmt::Debug;

/// A weight: a number that is at least zero, exactly ([`Rational`](super::Rational)) or between two others
/// ([`LogInterval`](super::LogInterval)). Nothing else implements this trait, so no table has weights of
/// unknown error.
pub trait Weight: Clone + Debug + PartialEq + sealed::Sealed {
    /// Zero.
    fn zero() -> Self;

    /// One.
    fn one() -> Self;

    /// `numerator / denominator`; the denominator must not be zero.
    ///
    /// # Panics
    /// If the denominator is zero.
    fn ratio(numerator: u64, denominator: u64) -> Self;

    /// A floating-point number, which is a dyadic rational, exactly.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if it is negative, infinite or NaN.
    fn from_f64(value: f64) -> Result<Self>;

    /// Whether it is zero with certainty.
    fn is_zero(&self) -> bool;

    /// The sum.
    #[must_use]
    fn plus(&self, other: &Self) -> Self;

    /// The product.
    #[must_use]
    fn times(&self, other: &Self) -> Self;

    /// The quotient, `None` where the divisor may be zero.
    #[must_use]
    fn over(&self, other: &Self) -> Option<Self>;

    /// `max(0, self − other)`.
    #[must_use]
    fn excess(&self, other: &Self) -> Self;

    /// Its natural logarithm.
    fn ln(&self) -> Interval;

    /// Its value.
    fn value(&self) -> Interval;
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::finite::Rational {}
    impl Sealed for crate::finite::LogInterval {}
}
