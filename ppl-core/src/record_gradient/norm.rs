//! Squared norms of sums of contributions, as expressions, without building the sums.
//!
//! ```text
//! ‖Σ_t c_t‖² = Σ_t ‖c_t‖² + 2 Σ_{s<t} ⟨c_s, c_t⟩
//! ‖g ⊗ a‖² = ‖g‖²‖a‖²                      ⟨g ⊗ a, g' ⊗ a'⟩ = ⟨g, g'⟩⟨a, a'⟩
//! ‖D ∘ (g ⊗ a)‖² = (g²)ᵀ (D²) (a²)          ⟨D ∘ (g ⊗ a), V⟩ = gᵀ (D ∘ V) a
//! ```
//!
//! # Never too small
//! The inner products may cancel the squares. With `m` roundings in the longest of these terms, `k` contributions and unit
//! round-off `u`, all terms together are off by at most `γ (Σ_t ‖c_t‖)² ≤ γ k Σ_t ‖c_t‖²`, `γ = (m + k(k+1)/2 + 2) u` to
//! first order (Cauchy–Schwarz for each inner product; Higham 2002, chapter 3, for sums in any order). Twice that is added
//! to the squared norm, so that it is at least the true one, and covers the rounding of the weighted sum too. The
//! result exceeds the truth by at most `4 γ k Σ_t ‖c_t‖²`.
//!
//! Squares that underflow inside `(g²)ᵀ(D²)(a²)` could be multiplied with something huge; each of the three factors is
//! raised by the smallest normal number, which is more than it can have lost.

use super::contribution::{Contribution, Core};
use crate::scalar::Scalar;
use crate::var::Var;

/// Largest relative excess of a squared norm that the Gram form may claim for its rounding errors.
const LARGEST_EXCESS: f64 = 1.0 / 1024.0;

/// `Σ_k x_k²`
pub(crate) fn square(x: Var<'_>) -> Var<'_> {
    if x.shape().is_scalar() { x.square() } else { x.inner(x) }
}

/// What is added to the sum of squared norms, relative to it, for the rounding errors of a sum of several contributions.
///
/// `None` if numbers of type `T` are too coarse for so many terms.
pub(super) fn excess<T: Scalar>(contributions: &[Contribution<'_>]) -> Option<f64> {
    let k = contributions.len() as f64;
    let roundings = |each: &Contribution<'_>| match each.core {
        Core::Direct(value) => value.shape().elements(),
        Core::Product { left, right } => left.shape().elements() + right.shape().elements(),
    };
    let longest = contributions.iter().map(roundings).max().unwrap_or(0);
    let products = contributions.iter().any(|each| each.scale.is_some());
    // Squares, scales and the factors' own product round a few times each.
    let m = longest as f64 + if products { 12.0 } else { 6.0 };
    let unit = T::epsilon().as_f64() / 2.0;
    let excess = 2.0 * k * (m + k * (k + 1.0) / 2.0 + 2.0) * unit;
    (excess <= LARGEST_EXCESS).then_some(excess)
}

/// The squared norm of the sum of contributions, at least as large as the true one.
pub(super) fn squared_norm<'g, T: Scalar>(
    contributions: &[Contribution<'g>],
    excess: f64,
) -> Option<Var<'g>> {
    let squares = contributions.iter().map(alone::<T>).reduce(|sum, next| sum + next)?;
    let pairs = contributions
        .iter()
        .enumerate()
        .flat_map(|(k, one)| contributions[..k].iter().map(move |other| inner(one, other)));
    Some(match pairs.reduce(|sum, next| sum + next) {
        Some(pairs) => squares * (1.0 + excess) + 2.0 * pairs,
        None => squares,
    })
}

/// The squared norm of one contribution.
fn alone<'g, T: Scalar>(contribution: &Contribution<'g>) -> Var<'g> {
    let raised = |x: Var<'g>| x.square() + T::min_positive_value().as_f64();
    match (&contribution.core, contribution.scale) {
        (Core::Direct(value), _) => square(*value),
        (Core::Product { left, right }, None) => square(*left) * square(*right),
        (Core::Product { left, right }, Some(scale)) => {
            bilinear(raised(*left), raised(scale), raised(*right))
        }
    }
}

/// `lᵀ D r`, or `l ⟨D, r⟩` for a number `l`.
fn bilinear<'g>(left: Var<'g>, array: Var<'g>, right: Var<'g>) -> Var<'g> {
    if left.shape().is_scalar() { left * array.inner(right) } else { left.inner(array.matvec(right)) }
}

/// The inner product of two contributions to one array.
fn inner<'g>(one: &Contribution<'g>, other: &Contribution<'g>) -> Var<'g> {
    match (&one.core, &other.core) {
        (&Core::Product { left, right }, &Core::Product { left: other_left, right: other_right })
            if left.shape() == other_left.shape() && right.shape() == other_right.shape() =>
        {
            match (one.scale, other.scale) {
                (None, None) => left.inner(other_left) * right.inner(other_right),
                (Some(scale), None) | (None, Some(scale)) => {
                    bilinear(left * other_left, scale, right * other_right)
                }
                (Some(scale), Some(other)) => bilinear(left * other_left, scale * other, right * other_right),
            }
        }
        (&Core::Product { left, right }, _) => with_array(left, right, one.scale, other),
        (_, &Core::Product { left, right }) => with_array(left, right, other.scale, one),
        (&Core::Direct(one), &Core::Direct(other)) => one.inner(other.reshape(one.shape())),
    }
}

/// `⟨D ∘ (left × right), V⟩`
fn with_array<'g>(
    left: Var<'g>,
    right: Var<'g>,
    scale: Option<Var<'g>>,
    array: &Contribution<'g>,
) -> Var<'g> {
    let array = array.value(&left.shape().concat(&right.shape()));
    bilinear(left, scale.map_or(array, |scale| array * scale), right)
}
