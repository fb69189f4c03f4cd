//! Ratios of gamma functions and differences of digamma functions of nearby numbers, which may be large: what
//! Stirling's formulas leave out ([`Var::stirling_error`], [`Var::digamma_minus_log`]) is subtracted, and the
//! leading terms cancel on paper.

use ppl_core::Var;

/// `ln Γ(x + s) − ln Γ(x)` for `x > 0`, `s ≥ 0`: the leading terms are
/// `(x + s − ½) ln(x + s) − (x − ½) ln x − s = (x − ½) ln(1 + s/x) + s ln(x + s) − s`.
#[track_caller]
pub(crate) fn log_gamma_ratio<'g>(x: Var<'g>, s: Var<'g>) -> Var<'g> {
    let sum = x + s;
    (x - 0.5) * (s / x).log1p() + s * (sum.log() - 1.0) + (sum.stirling_error() - x.stirling_error())
}

/// `ψ(x + s) − ψ(x)` for `x > 0`, `s ≥ 0`.
#[track_caller]
pub(crate) fn digamma_difference<'g>(x: Var<'g>, s: Var<'g>) -> Var<'g> {
    (s / x).log1p() + ((x + s).digamma_minus_log() - x.digamma_minus_log())
}
