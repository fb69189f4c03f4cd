//! Strictly increasing vectors of positive numbers.

use super::ordered;
use crate::op::Var;

pub(super) fn holds(vector: &[f64]) -> bool {
    vector.first().is_none_or(|&first| first > 0.0) && ordered::holds(vector)
}

/// `x₀ = e^{u₀}`, `xₖ = xₖ₋₁ + e^{uₖ}`
#[track_caller]
pub(super) fn constrain(u: Var<'_>) -> Var<'_> {
    u.exp().cumsum(u.shape().rank() - 1)
}

/// `∂x/∂u` is triangular with `e^{u₀}, e^{u₁}, …` on its diagonal.
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>) -> Var<'_> {
    u.sum_axis(u.shape().rank() - 1)
}

/// `u₀ = ln x₀`, `uₖ = ln(xₖ − xₖ₋₁)`
#[track_caller]
pub(super) fn unconstrain(x: Var<'_>) -> Var<'_> {
    let (axis, n) = (x.shape().rank() - 1, x.shape().dims().last().copied().unwrap_or(0));
    (x - x.slice(axis, ..n.saturating_sub(1)).pad(axis, 1, 0)).log()
}
