//! How much privacy loss is allowed.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::{Error, Relation, Result};

/// An (epsilon, delta) guarantee to be kept under a neighbouring relation.
///
/// # Privacy
/// For neighbouring data sets D, D' and every set S of outcomes:
///
/// ```text
/// Pr[M(D) in S] <= e^epsilon Pr[M(D') in S] + delta
/// ```
///
/// ```
/// use dp_accountant::{Budget, Relation};
///
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// assert!(budget.validate().is_ok());
/// assert!(Budget { delta: 1.0, ..budget }.validate().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Budget {
    /// The bound on the privacy loss, positive and finite.
    pub epsilon: f64,
    /// The probability with which the bound may fail, strictly between 0 and 1.
    pub delta: f64,
    /// Which data sets are neighbours.
    pub relation: Relation,
}

impl Budget {
    /// A budget for data sets that differ by the presence of one record. The numbers are checked where the budget
    /// is used.
    ///
    /// ```
    /// use dp_accountant::{Budget, Relation};
    /// let budget = Budget::add_remove(1.0, 1e-5);
    /// assert_eq!(budget, Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove });
    /// ```
    #[must_use]
    pub const fn add_remove(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta, relation: Relation::AddRemove }
    }

    /// A budget for data sets of the same number that differ in the values of one record; otherwise as
    /// [`add_remove`](Self::add_remove).
    #[must_use]
    pub const fn replace_one(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta, relation: Relation::ReplaceOne }
    }

    /// Checks the ranges of epsilon and delta.
    ///
    /// # Errors
    /// [`Error::Epsilon`] or [`Error::Delta`] with the value that is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return Err(Error::Epsilon { value: self.epsilon, bound: "above 0" });
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(Error::Delta { value: self.delta });
        }
        Ok(())
    }
}
