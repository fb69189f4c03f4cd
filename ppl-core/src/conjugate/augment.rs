//! Bounds of what is not linear in any statistic, by functions that are.

use super::form::{Bound, Form, Moment};
use crate::op::Var;
use std::f64::consts::LN_2;

/// How a softplus is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curvature {
    /// ```text
    /// E ln(1 + e^ψ) ≤ E[ψ]/2 + ln 2cosh(c/2),   c = √E[ψ²]
    /// ```
    ///
    /// The bound of Pólya–gamma augmentation at its best variational parameter: the slope in `E[ψ²]` is
    /// `ξ/2` with `ξ = tanh(c/2)/(2c)`, a different one for each record.
    #[default]
    Optimal,
    /// ```text
    /// E ln(1 + e^ψ) ≤ E[ψ]/2 + ln 2 + E[ψ²]/8
    /// ```
    ///
    /// The same with `ξ = ¼` everywhere, its largest value: a looser bound whose statistics are far fewer where
    /// many outcomes share a record's values, and do not change from step to step.
    Fixed,
}

/// The second moment below which a softplus is taken for its value at 0: less than any that matters, and its root
/// is a number.
const TINY: f64 = 1e-200;

/// The bound of the expectation of a softplus.
pub(super) fn softplus<'g>(
    form: &Form<'g>,
    (mean, square): (Moment<'g>, Moment<'g>),
    curvature: Curvature,
) -> Form<'g> {
    let elements = mean.each.shape().elements() as f64;
    let moment = match curvature {
        Curvature::Fixed => Moment {
            each: 0.5 * mean.each + LN_2 + 0.125 * square.each,
            total: Some(0.5 * mean.total() + elements * LN_2 + 0.125 * square.total()),
            bound: Bound::Upper,
        },
        Curvature::Optimal => {
            // The parameter is the best one, so the derivative of the bound does not pass through it: it is held,
            // and the bound is linear in the moments.
            let held = square.each.stop_gradient();
            let c = (held + TINY).sqrt();
            let xi = (0.5 * c).tanh() / (2.0 * c);
            let at_best = c.softplus() - 0.5 * c;
            Moment {
                each: 0.5 * mean.each + at_best + 0.5 * xi * (square.each - held),
                total: None,
                bound: Bound::Upper,
            }
        }
    };
    Form::of_mean(form.sites.clone(), moment)
}

/// Logarithms below this are raised to it where they are turned into numbers again, so that a sum of very small
/// numbers keeps a logarithm.
pub(super) const LEAST: f64 = -650.0;

/// `e^{E ln x}`: the numbers whose products and sums stand for those of `x` in
///
/// ```text
/// E ln Σ_k a_k b_k ≥ ln Σ_k exp(E ln a_k + E ln b_k)
/// ```
///
/// (the bound with the best distribution over `k`).
pub(super) fn geometric_mean(log: Var<'_>) -> Var<'_> {
    log.max(LEAST).exp()
}
