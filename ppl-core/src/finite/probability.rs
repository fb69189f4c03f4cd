//! Probabilities that are small fractions.

use crate::base::{Error, Result};
use std::cmp::Ordering;
use std::fmt;

/// A probability `numerator / denominator` in lowest terms: something a distribution can be *of*, for it can
/// be compared, and `Copy`.
///
/// ```
/// use ppl_core::finite::Probability;
/// assert_eq!(Probability::new(2, 4)?, Probability::new(1, 2)?);
/// assert!(Probability::new(1, 3)? < Probability::new(1, 2)?);
/// assert!(Probability::new(3, 2).is_err() && Probability::new(0, 0).is_err());
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probability {
    numerator: u64,
    denominator: u64,
}

impl Probability {
    /// `numerator / denominator`.
    ///
    /// # Errors
    /// If it is not between 0 and 1, or the denominator is zero.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self> {
        if denominator == 0 || numerator > denominator {
            let value = numerator as f64 / denominator as f64;
            return Err(Error::OutOfRange { what: "a probability", requirement: "between 0 and 1", value });
        }
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Ok(Self { numerator: numerator / a, denominator: denominator / a })
    }

    /// The numerator in lowest terms.
    #[must_use]
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator in lowest terms.
    #[must_use]
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// One minus it.
    #[must_use]
    pub fn complement(self) -> Self {
        Self { numerator: self.denominator - self.numerator, denominator: self.denominator }
    }

    /// The nearest floating-point number, or one next to it.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Ord for Probability {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        cross(self.numerator, other.denominator).cmp(&cross(other.numerator, self.denominator))
    }
}

impl PartialOrd for Probability {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
