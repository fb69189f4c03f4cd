//! By how much one record changes the sum of the statistics.

use crate::error::{Error, Result};
use dp_accountant::Relation;
use serde::Serialize;
use std::f64::consts::SQRT_2;

/// What is known of two records' statistics `s` and `s'`, each of norm at most `C`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplaceBound {
    /// Nothing: `‖s − s'‖ ≤ 2C`.
    Any,
    /// Their inner product is not negative, so `‖s − s'‖ ≤ √2 C`: every block is proved to have elements of one sign,
    /// or, of a matrix, quadratic forms of one sign.
    OneSign,
    /// They are those of logistic regression: `‖s − s'‖ ≤ Δ`, see [`logistic_sensitivity`].
    Logistic,
}

/// Rounding in a statistic, relative to it: far more than any of these programs round, and far less than matters.
const ROUNDING: f64 = 1e-9;

/// `L`, by which the second statistic of a logistic regression is multiplied before both are released together: at 2
/// the norms of both are at most ½, so that each has half of the squared norm.
///
/// On made-up tables (eight numbers and 600 records at ε from 0.1 to 1; seventeen columns, 4,000 records and one
/// positive in twenty at ε from 0.5 to 2) areas under the curve at 2 were within 0.01 of the best of √2, 2, 2√2 and 4;
/// at 2√2, where the first statistic has more noise, they were up to 0.02 below that on the small ones, and at 4 up to
/// 0.04.
pub(super) const LOGISTIC_SCALE: f64 = 2.0;

/// The largest change of the pair of statistics of a logistic regression with rows of norm at most 1,
///
/// ```text
/// (s₁, L s₂),   s₁ = (y − ½) x,   s₂ = ξ x xᵀ   with 0 ≤ ξ ≤ ¼
/// add/remove    Δ  = √(¼ + L²/16)
/// replace-one   Δ² = max over 0 ≤ t ≤ 1 of (1 + t)/2 + L² max(1/16, (1 − t²)/8)
/// ```
///
/// *Proof of the second.* Let `a`, `a' ≤ ½` be the norms of `s₁` and `s₁'`, `c`, `c' ≤ ¼` those of `s₂` and `s₂'`, and
/// `t` the absolute cosine between the rows. Then `‖s₁ − s₁'‖² ≤ a² + a'² + 2aa't ≤ (1 + t)/2`, and
/// `‖s₂ − s₂'‖² = c² + c'² − 2cc't²` is convex in each of `c` and `c'`, so largest at an end: at most
/// `max(1/16, (1 − t²)/8)`. Both are attained together. The bound holds for any weights of records that keep the norms
/// within these.
///
/// At `L = 2√2` it is 1.25 where a record is replaced. Rows of norm at most `R` and `L/R` in the place of `L` give `R`
/// times as much.
///
/// # Errors
/// If `L` is not positive and finite.
///
/// ```
/// use dp_accountant::Relation;
/// use dp_vi::conjugate::logistic_sensitivity;
/// let scale = 8.0_f64.sqrt();
/// assert!((logistic_sensitivity(Relation::ReplaceOne, scale)? - 1.25).abs() < 1e-15);
/// assert!((logistic_sensitivity(Relation::AddRemove, scale)? - 0.75_f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), dp_vi::Error>(())
/// ```
pub fn logistic_sensitivity(relation: Relation, scale: f64) -> Result<f64> {
    if !(scale > 0.0 && scale.is_finite()) {
        let (what, requirement) = ("the second statistic's scale", "positive and finite");
        return Err(Error::OutOfRange { what, requirement, value: scale });
    }
    let square = scale * scale;
    Ok(match relation {
        Relation::AddRemove => (0.25 + square / 16.0).sqrt(),
        Relation::ReplaceOne => {
            // Below t = 1/√2 the second part is (1 − t²)/8, whose sum with the first is largest at t = 2/L².
            let below = (2.0 / square).min(0.5 * SQRT_2);
            let at = |t: f64| 0.5 * (1.0 + t) + square * (1.0_f64 / 16.0).max((1.0 - t * t) / 8.0);
            at(below).max(at(1.0)).sqrt()
        }
    })
}

impl ReplaceBound {
    /// `C` where it follows from the statistics.
    pub(super) fn clip_norm(self) -> Option<f64> {
        match self {
            Self::Logistic => Some((0.25 + LOGISTIC_SCALE * LOGISTIC_SCALE / 16.0).sqrt() * (1.0 + ROUNDING)),
            _ => None,
        }
    }

    /// `Δ` under a relation, for contributions of norm at most `C`.
    pub(super) fn sensitivity(self, relation: Relation, clip_norm: f64) -> f64 {
        match (relation, self) {
            (Relation::AddRemove, _) => clip_norm,
            (Relation::ReplaceOne, Self::Any) => 2.0 * clip_norm,
            (Relation::ReplaceOne, Self::OneSign) => {
                (SQRT_2 * clip_norm * (1.0 + ROUNDING)).min(2.0 * clip_norm)
            }
            (Relation::ReplaceOne, Self::Logistic) => {
                logistic_sensitivity(Relation::ReplaceOne, LOGISTIC_SCALE).unwrap_or(f64::INFINITY)
                    * (1.0 + ROUNDING)
            }
        }
    }

    /// The noise's norm over `C`: the accountant takes a replaced record to move a sum by twice it.
    pub(super) fn reach(self, relation: Relation, clip_norm: f64) -> f64 {
        match relation {
            Relation::AddRemove => 1.0,
            Relation::ReplaceOne => (0.5 * self.sensitivity(relation, clip_norm) / clip_norm).min(1.0),
        }
    }

    /// In words.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Any => "clipped to C; two records differ by at most 2C",
            Self::OneSign => {
                "clipped to C; no two records have a negative inner product, so they differ by at most √2 C"
            }
            Self::Logistic => {
                "bounded by weights of long rows; the exact largest difference of two records is known"
            }
        }
    }
}
