//! Strictly increasing vectors.

use crate::op::Var;

pub(super) fn holds(vector: &[f64]) -> bool {
    vector.windows(2).all(|pair| pair[0] < pair[1])
}

/// `x₀ = u₀`, `xₖ = xₖ₋₁ + e^{uₖ}`
#[track_caller]
pub(super) fn constrain(u: Var<'_>) -> Var<'_> {
    let axis = u.shape().rank() - 1;
    if u.shape().dims()[axis] < 2 {
        return u;
    }
    u.graph().concat(&[u.slice(axis, ..1), u.slice(axis, 1..).exp()], axis).cumsum(axis)
}

/// `∂x/∂u` is triangular with `1, e^{u₁}, e^{u₂}, …` on its diagonal.
#[track_caller]
pub(super) fn log_jacobian(u: Var<'_>) -> Var<'_> {
    let axis = u.shape().rank() - 1;
    u.slice(axis, 1.min(u.shape().dims()[axis])..).sum_axis(axis)
}

/// `u₀ = x₀`, `uₖ = ln(xₖ − xₖ₋₁)`
#[track_caller]
pub(super) fn unconstrain(x: Var<'_>) -> Var<'_> {
    let (axis, n) = (x.shape().rank() - 1, x.shape().dims().last().copied().unwrap_or(0));
    if n < 2 {
        return x;
    }
    let steps = x.slice(axis, 1..) - x.slice(axis, ..n - 1);
    x.graph().concat(&[x.slice(axis, ..1), steps.log()], axis)
}
