//! What is left of `ln Γ` and `ψ` when their leading terms are taken off: sums and differences of gamma functions of large numbers
//! are made from these, for their leading terms cancel on paper and not in floating point.

use crate::arrays::LOG_2PI;
use ppl_core::Var;

/// From here on the series below are used; their first omitted terms are then less than 1e-16.
const FAR: f64 = 12.0;

/// `Σ cₖ tᵏ`
#[track_caller]
fn polynomial<'g>(t: Var<'g>, coefficients: &[f64]) -> Var<'g> {
    let mut descending = coefficients.iter().rev();
    let first = t.constant(*descending.next().unwrap_or(&0.0));
    descending.fold(first, |sum, &coefficient| sum * t + coefficient)
}

/// `δ(x) = ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π)` for `x > 0`, which lies between 0 and `1/(12x)`, to an absolute error of a few units of rounding.
///
/// From 12 on by its asymptotic series `Σ B₂ₖ/(2k(2k − 1)) x^(1 − 2k)` (NIST DLMF 5.11.1), below by subtraction.
#[track_caller]
pub(crate) fn log_gamma_remainder(x: Var<'_>) -> Var<'_> {
    let near = x.less(FAR);
    let (small, large) = (near.select(x, 1.0), near.select(FAR, x));
    let inverse = large.reciprocal();
    let series = inverse
        * polynomial(
            inverse.square(),
            &[
                1.0 / 12.0,
                -1.0 / 360.0,
                1.0 / 1260.0,
                -1.0 / 1680.0,
                1.0 / 1188.0,
                -691.0 / 360_360.0,
                1.0 / 156.0,
            ],
        );
    near.select(small.lgamma() - ((small - 0.5) * small.log() - small + 0.5 * LOG_2PI), series)
}

/// `ψ(x) − ln x` for `x > 0`, which lies between `−1/x` and `−1/(2x)`; from 12 on to a relative error of a few units of rounding, below to
/// an absolute one.
///
/// From 12 on by its asymptotic series `−1/(2x) − Σ B₂ₖ/(2k) x^(−2k)` (NIST DLMF 5.11.2), below by subtraction.
#[track_caller]
pub(crate) fn digamma_remainder(x: Var<'_>) -> Var<'_> {
    let near = x.less(FAR);
    let (small, large) = (near.select(x, 1.0), near.select(FAR, x));
    let inverse = large.reciprocal();
    let series = inverse
        * (-0.5
            + inverse
                * polynomial(
                    inverse.square(),
                    &[
                        -1.0 / 12.0,
                        1.0 / 120.0,
                        -1.0 / 252.0,
                        1.0 / 240.0,
                        -1.0 / 132.0,
                        691.0 / 32_760.0,
                        -1.0 / 12.0,
                    ],
                ));
    near.select(small.digamma() - small.log(), series)
}

/// `ln Γ(x + s) − ln Γ(x)` for `x > 0`, `s ≥ 0`: the leading terms are
/// `(x + s − ½) ln(x + s) − (x − ½) ln x − s = (x − ½) ln(1 + s/x) + s ln(x + s) − s`.
#[track_caller]
pub(crate) fn log_gamma_ratio<'g>(x: Var<'g>, s: Var<'g>) -> Var<'g> {
    let sum = x + s;
    (x - 0.5) * (s / x).log1p() + s * (sum.log() - 1.0) + (log_gamma_remainder(sum) - log_gamma_remainder(x))
}

/// `ψ(x + s) − ψ(x)` for `x > 0`, `s ≥ 0`.
#[track_caller]
pub(crate) fn digamma_difference<'g>(x: Var<'g>, s: Var<'g>) -> Var<'g> {
    (s / x).log1p() + (digamma_remainder(x + s) - digamma_remainder(x))
}
