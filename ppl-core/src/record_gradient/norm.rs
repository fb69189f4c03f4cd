//! Squared norms of sums of contributions, as expressions, without building the sums.
//!
//! ```text
//! ‖Σ_t c_t‖² = Σ_t ‖c_t‖² + 2 Σ_{s<t} ⟨c_s, c_t⟩
//! ‖g ⊗ a‖² = ‖g‖²‖a‖²                      ⟨g ⊗ a, g' ⊗ a'⟩ = ⟨g, g'⟩⟨a, a'⟩
//! ‖Σ_t g_t ⊗ a_t‖² = ⟨GGᵀ, AAᵀ⟩             ⟨Σ_t g_t ⊗ a_t, Σ_s g'_s ⊗ a'_s⟩ = ⟨GG'ᵀ, AA'ᵀ⟩
//! ‖D ∘ (g ⊗ a)‖² = (g²)ᵀ (D²) (a²)          ⟨D ∘ (g ⊗ a), V⟩ = gᵀ (D ∘ V) a
//! ‖Σ_t e_{i_t} ⊗ g_t‖² = Σ_{t,s : i_t = i_s} ⟨g_t, g_s⟩     ⟨Σ_t e_{i_t} ⊗ g_t, V⟩ = Σ_t ⟨g_t, V_{i_t}⟩
//! ```
//!
//! # Never too small
//! The inner products may cancel the squares. With `m` roundings in the longest of these terms, `k`
//! contributions and unit round-off `u`, all terms together are off by at most
//! `γ (Σ_t ‖c_t‖)² ≤ γ k Σ_t ‖c_t‖²`, `γ = (m + k(k+1)/2 + 2) u` to first order (Cauchy–Schwarz for each
//! inner product; Higham 2002, chapter 3, for sums in any order). Twice that is added to the squared norm, so
//! that it is at least the true one, and covers the rounding of the weighted sum too. The result exceeds the
//! truth by at most `4 γ k Σ_t ‖c_t‖²`. For a sum over positions, which cancels within itself,
//! `‖G‖²‖A‖² ≥ (Σ_t ‖g_t‖‖a_t‖)²` takes the place of its squared norm in the bound, and for `T` rows
//! scattered into a table `T ‖G‖² ≥ (Σ_t ‖g_t‖)²`.
//!
//! Squares that underflow inside `(g²)ᵀ(D²)(a²)` could be multiplied with something huge; each of the three
//! factors is raised by the smallest normal number, which is more than it can have lost.

use super::backward::contributions;
use super::contribution::{Contribution, Core, Factor};
use super::prepare::check_frontier;
use crate::base::{Result, Shape};
use crate::machine::Scalar;
use crate::op::{Kind, Var};

/// Largest relative excess of a squared norm that the Gram form may claim for its rounding errors.
const LARGEST_EXCESS: f64 = 1.0 / 1024.0;

/// `Σ_k x_k²`
pub(crate) fn square(x: Var<'_>) -> Var<'_> {
    if x.shape().is_scalar() { x.square() } else { x.inner(x) }
}

/// For each shared array `u` of these, `‖∂value/∂u‖²` of a record where a record uses one row of it: from that row alone,
/// so that nothing of the table's size is computed for a record. `None` for other arrays.
///
/// `value` is one number for each record, or one for all, which uses no row. A record whose index is bad has NaN.
///
/// ```
/// use ppl_core::record_gradient::squared_row_norms;
/// use ppl_core::{Graph, Record, Schema};
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3), ("group", 1)])?);
/// let (w, by_group) = (graph.input("w", [3])?, graph.input("by_group", [1000, 3])?);
/// let record = Record::new(&graph, &schema);
/// let (x, group) = (record.get("x")?, record.get("group")?.reshape(()));
/// let found = squared_row_norms(x.dot(w) + x.dot(by_group.gather(group)), &[w, by_group])?;
/// assert!(found[0].is_none() && found[1].is_some()); // the second is ‖x‖²
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If `value` is more than a number, or an array belongs to another graph.
#[track_caller]
pub fn squared_row_norms<'g>(value: Var<'g>, arrays: &[Var<'g>]) -> Result<Vec<Option<Var<'g>>>> {
    value.graph().check()?;
    if value.kind() != Kind::PerRecord && value.shape().is_scalar() {
        return Ok(vec![None; arrays.len()]);
    }
    check_frontier(value, arrays)?;
    let of = |uses: Vec<Contribution<'g>>| match uses.as_slice() {
        [one] if positions_of(one) == 1 => match one.core {
            Core::Scatter { rows, .. } => Some(square(rows.reshape(rows.shape().elements()))),
            _ => None,
        },
        _ => None,
    };
    Ok(contributions(value, arrays)?.into_iter().map(of).collect())
}

/// What is added to the sum of squared norms, relative to it, for the rounding errors of a sum of several
/// contributions.
///
/// `None` if numbers of type `T` are too coarse for this many terms.
pub(super) fn excess<T: Scalar>(contributions: &[Contribution<'_>]) -> Option<f64> {
    let k = contributions.len() as f64;
    let roundings = |each: &Contribution<'_>| match each.core {
        Core::Direct(value) => value.shape().elements(),
        Core::Product { left, right } => left.shape().elements() + right.shape().elements(),
        Core::Positions { left, right } => {
            let ([positions, p], [_, d]) = (left.sizes(), right.sizes());
            let other = contributions.iter().map(positions_of).max().unwrap_or(1);
            // With another sum over positions, or with an array for each record.
            (p + d + positions * other.max(positions)).max(p + positions * d)
        }
        Core::Scatter { rows, .. } => {
            let places = contributions.iter().map(positions_of).max().unwrap_or(1);
            rows.shape().elements() + places
        }
    };
    let longest = contributions.iter().map(roundings).max().unwrap_or(0);
    let products = contributions.iter().any(|each| each.scale.is_some());
    // Squares, scales and the factors' own product round a few times each.
    let m = longest as f64 + if products { 12.0 } else { 6.0 };
    let unit = T::epsilon().as_f64() / 2.0;
    let excess = 2.0 * k * (m + k * (k + 1.0) / 2.0 + 2.0) * unit;
    (excess <= LARGEST_EXCESS).then_some(excess)
}

/// Positions at which a contribution's array was used: vectors that are added up for one record.
pub(super) fn positions_of(contribution: &Contribution<'_>) -> usize {
    match contribution.core {
        Core::Positions { left, .. } => left.sizes()[0],
        Core::Scatter { rows, .. } => rows.shape().dims()[0],
        _ => 1,
    }
}

/// Whether the terms of the squared norm of a sum may cancel each other.
pub(super) fn cancels(contributions: &[Contribution<'_>]) -> bool {
    contributions.len() > 1 || contributions.iter().any(|each| positions_of(each) > 1)
}

/// Whether the norm can be had without multiplying out: a rescaled sum over positions has no factors.
pub(super) fn has_factors(contributions: &[Contribution<'_>]) -> bool {
    contributions.iter().all(|each| !matches!((&each.core, each.scale), (Core::Positions { .. }, Some(_))))
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
    let pairs = pairs.reduce(|sum, next| sum + next);
    if !cancels(contributions) {
        return Some(squares);
    }
    let sizes = contributions.iter().map(size::<T>).reduce(|sum, next| sum + next)?;
    let bounded = squares + excess * sizes;
    Some(pairs.map_or(bounded, |pairs| bounded + 2.0 * pairs))
}

/// A bound on what cancels within the squared norm of one contribution.
fn size<'g, T: Scalar>(contribution: &Contribution<'g>) -> Var<'g> {
    match contribution.core {
        Core::Positions { left, right } => square(left.value) * square(right.value),
        Core::Scatter { rows, .. } if positions_of(contribution) > 1 => {
            positions_of(contribution) as f64 * square(rows)
        }
        _ => alone::<T>(contribution),
    }
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
        (Core::Scatter { rows, .. }, _) if positions_of(contribution) <= 1 => square(*rows),
        (Core::Positions { .. } | Core::Scatter { .. }, _) => inner(contribution, contribution),
    }
}

/// `lᵀ D r`, or `l ⟨D, r⟩` for a number `l`.
fn bilinear<'g>(left: Var<'g>, array: Var<'g>, right: Var<'g>) -> Var<'g> {
    if left.shape().is_scalar() { left * array.inner(right) } else { left.inner(array.matvec(right)) }
}

/// The inner product of two contributions to one array.
fn inner<'g>(one: &Contribution<'g>, other: &Contribution<'g>) -> Var<'g> {
    match (&one.core, &other.core) {
        (&Core::Scatter { rows, index, .. }, &Core::Scatter { rows: other_rows, index: other_index, .. })
            if one.shape() == other.shape() =>
        {
            rows.inner(other_rows.coincidence(other_index, index))
        }
        (&Core::Scatter { rows, index, .. }, _) => rows.inner(picked(other, &one.shape(), index)),
        (_, &Core::Scatter { rows, index, .. }) => rows.inner(picked(one, &other.shape(), index)),
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
        (&Core::Positions { left, right }, &Core::Positions { left: other_left, right: other_right })
            if left.sizes()[1] == other_left.sizes()[1] && right.sizes()[1] == other_right.sizes()[1] =>
        {
            meeting(left, other_left).inner(meeting(right, other_right))
        }
        (&Core::Positions { left, right }, &Core::Product { left: vector, right: other_vector })
        | (&Core::Product { left: vector, right: other_vector }, &Core::Positions { left, right })
            if [left.sizes()[1]] == vector.shape().dims()
                && [right.sizes()[1]] == other_vector.shape().dims()
                && one.scale.or(other.scale).is_none() =>
        {
            at(left, vector).inner(at(right, other_vector))
        }
        (&Core::Product { left, right }, _) => with_array(left, right, one.scale, other),
        (_, &Core::Product { left, right }) => with_array(left, right, other.scale, one),
        (&Core::Positions { left, right }, _) => positions_with_array(left, right, other),
        (_, &Core::Positions { left, right }) => positions_with_array(left, right, one),
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

/// `(GG'ᵀ)_ts = ⟨g_t, g'_s⟩`
fn meeting<'g>(one: Factor<'g>, other: Factor<'g>) -> Var<'g> {
    let subscripts = format!("{},{}->ts", one.subscripts('t', 'k'), other.subscripts('s', 'k'));
    one.value.einsum(&subscripts, other.value)
}

/// `(Gv)_t = ⟨g_t, v⟩`
fn at<'g>(factor: Factor<'g>, vector: Var<'g>) -> Var<'g> {
    factor.value.einsum(&format!("{},k->t", factor.subscripts('t', 'k')), vector)
}

/// `⟨Σ_t g_t ⊗ a_t, V⟩ = ⟨GV, A⟩`
fn positions_with_array<'g>(left: Factor<'g>, right: Factor<'g>, array: &Contribution<'g>) -> Var<'g> {
    let array = array.value(&Shape::from([left.sizes()[1], right.sizes()[1]]));
    let subscripts = format!("{},jk->{}", left.subscripts('t', 'j'), right.subscripts('t', 'k'));
    left.value.einsum(&subscripts, array).inner(right.value)
}

/// The rows of `D ∘ c` that an index says, for a contribution `c` looked at under the shape of a table.
fn picked<'g>(contribution: &Contribution<'g>, table: &Shape, index: Var<'g>) -> Var<'g> {
    let rows = match contribution.core {
        Core::Product { left, right } if left.shape().is_scalar() => {
            left * right.reshape(table.clone()).gather(index)
        }
        Core::Product { left, right } if contribution.shape() == *table => left.gather(index).outer(right),
        Core::Direct(value) => value.reshape(table.clone()).gather(index),
        _ => return contribution.value(table).gather(index),
    };
    contribution.scale.map_or(rows, |scale| rows * scale.reshape(table.clone()).gather(index))
}
