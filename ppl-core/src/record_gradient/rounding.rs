//! How far a weighted sum can be from the exact sum of what was computed for each record.

use super::RecordGradient;
use super::contribution::Contribution;
use super::norm::positions_of;
use super::tiles::{FEW_SPANS, span};
use crate::base::Result;
use crate::machine::Scalar;
use crate::op::Var;

/// What [`RecordGradient::with_bounded_sums`] adds to the squared norm of contributions that may cancel each
/// other, relative to their own squared norms. It makes such norms up to 0.02 % too large, and contributions
/// at most `√(2k · 4096)` times as large as their sum.
const LEAST_EXCESS: f64 = 1.0 / 4096.0;

/// What the rounding error of one array's sum depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// Products that one record adds to one element.
    products: usize,
    /// Contributions to the array.
    contributions: usize,
    /// By how much the sizes of a record's contributions, added up, may exceed the norm that the record is
    /// weighted by.
    cancellation: f64,
}

impl Rounding {
    /// For contributions that are added up with this excess in their squared norm; zero if they cannot
    /// cancel.
    pub(super) fn new(contributions: &[Contribution<'_>], excess: f64) -> Self {
        let products = contributions.iter().map(positions_of).max().unwrap_or(1);
        let count = contributions.len();
        let cancellation = if excess > 0.0 { (2.0 * count as f64 / excess).sqrt() } else { 1.0 };
        Self { products, contributions: count, cancellation }
    }
}

impl<T: Scalar> RecordGradient<T> {
    /// As [`RecordGradient::grouped`], for sums whose rounding error is bounded in terms of the records'
    /// norms: see [`summation_error`](Self::summation_error).
    ///
    /// Where several contributions to one array may cancel each other, their squared norm is raised by 1/4096
    /// of their own squared norms. Else it is that of [`RecordGradient::grouped`].
    ///
    /// # Errors
    /// As [`RecordGradient::grouped`].
    #[track_caller]
    pub fn with_bounded_sums(value: Var<'_>, frontier: &[Var<'_>], groups: &[usize]) -> Result<Self> {
        Self::prepared(value, frontier, groups, LEAST_EXCESS)
    }

    /// A bound `ρ` on the rounding error of a [`weighted_sum`](Self::weighted_sum) for each record in the
    /// batch:
    ///
    /// ```text
    /// ‖Ŝ − Σ_i c_i v_i‖ ≤ ρ n max_i c_i √n_i        for n ≤ 2³² records (2¹⁸ in f32) of squared norms n_i
    /// ```
    ///
    /// `Ŝ` is the sum as computed, `c_i` and `v_i` are the weights and the factors of gradients as computed,
    /// and the sum on the left is formed in real numbers. What is computed for a record does not depend on
    /// which other records are in the batch, to the last bit. So `Ŝ` is that near to a sum of terms of which
    /// each depends on one record. The bound depends on the program alone.
    ///
    /// # Accuracy
    /// Let `u` be the unit round-off. A record adds at most `T` products of a weight and two factors to an
    /// element (one for each of `T` positions), and each is rounded twice. The products of a span of `r`
    /// records are added up in some order, with at most `rT` roundings on the way of each. The sums of up to
    /// 64 spans are added up plainly; for more, rounding errors are added up beside them, which leaves less
    /// than two roundings (Ogita, Rump and Oishi 2005; the square of the number of spans times `u` has to
    /// stay below `u`). Rescaling and adding up `k` contributions round `k + 2` times. So each element is off
    /// by at most `m u` times the sum of the products' sizes, `m = rT + k + 70`, to first order; higher
    /// orders are below a hundredth of that.
    ///
    /// For one contribution without positions, the vector of a record's sizes has the norm `c_i ‖v_i‖`. For
    /// `k` contributions that may cancel each other, its norm is at most `√(2k/e) c_i √n_i`, since `n_i`
    /// holds at least `e/2` of their own squared norms, where `e` is the excess that was added. (A number
    /// that underflows loses less than the smallest normal number instead, which no sum shows.)
    ///
    /// # References
    /// Higham 2002, *Accuracy and Stability of Numerical Algorithms*, chapters 3 and 4; Ogita, Rump, Oishi
    /// 2005, "Accurate sum and dot product".
    #[must_use]
    pub fn summation_error(&self) -> f64 {
        let records = match &self.words {
            Some(words) => words.most_in_span(),
            None => span(self.plan.tile()),
        } as f64;
        let unit = 0.5 * T::epsilon().as_f64();
        let error = |each: &Rounding| {
            let m = records * each.products as f64 + each.contributions as f64 + (FEW_SPANS + 6) as f64;
            1.01 * m * unit * each.cancellation
        };
        self.roundings.iter().map(error).fold(0.0, f64::max)
    }

    /// Records in a batch up to which [`summation_error`](Self::summation_error) is proven.
    #[must_use]
    pub fn most_summed(&self) -> u64 {
        if T::epsilon().as_f64() < 1e-10 { 1 << 32 } else { 1 << 18 }
    }
}
