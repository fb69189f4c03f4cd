//! Logistic regressions whose statistics have an exact bound.

use super::plan::ConjugatePlan;
use crate::error::Result;
use ppl_core::conjugate::{Statistic, Statistics};
use ppl_core::transform::linear_predictor;
use ppl_core::{SiteKind, Var, gradient};

/// The features of a logistic regression, with the sign of the outcome, if it is one whose statistics have the exact
/// bound: all that a record says is one Bernoulli outcome with log-odds linear in one vector.
///
/// ```text
/// ℓ = −softplus(v),  v = ⟨x, w⟩,  x = ∂v/∂w:     s₁ = −x/2,   s₂ = −½ ξ x xᵀ
/// ```
///
/// An offset, a term `o` of the log-odds that is the record's own, adds `−ξ o x` to the first, which no norm
/// of `x` bounds: such a model has not the exact bound, and is clipped.
pub(super) fn logistic_features<'g>(statistics: &Statistics<'g>) -> Result<Option<Var<'g>>> {
    let trace = statistics.trace();
    let own = |site: &&ppl_core::model::Site<'g>| site.per_record && site.log_prob.is_some();
    let mut terms = trace.sites().iter().filter(own);
    let (Some(term), None) = (terms.next(), terms.next()) else { return Ok(None) };
    let is_bernoulli = term.kind == SiteKind::Observed
        && term.distribution == Some("Bernoulli")
        && term.shape.elements() == 1;
    let latents: Vec<Var<'g>> = trace.latents().map(|site| site.value).collect();
    let blocks = statistics.blocks();
    let touched: Vec<_> = blocks.iter().filter(|block| block.touched).collect();
    let (1, true, Some(value)) = (latents.len(), is_bernoulli, term.log_prob) else { return Ok(None) };
    let pair = matches!(&touched[..], [first, second] if first.statistic == Statistic::Value
        && second.statistic == Statistic::Outer && !second.total && first.input.shape().rank() == 1);
    let Some(softplus) = linear_predictor(value, &latents)?.and_then(|found| found.softplus) else {
        return Ok(None);
    };
    // −softplus(v), and not a multiple of it. With the slope of v itself no sign, factor or outcome outside of 0 and 1
    // can make the statistics larger than they are taken to be.
    if !pair || softplus.factor.known() != Some(-1.0) || !softplus.without_offset {
        return Ok(None);
    }
    Ok(gradient(softplus.argument, &latents)?.first().copied())
}

/// The weight of each record of a logistic regression with this `R`: `min(1, R/‖x‖)²`.
pub(super) fn weight<'g>(statistics: &Statistics<'g>, plan: &ConjugatePlan) -> Result<Option<Var<'g>>> {
    let Some(radius) = plan.feature_norm else { return Ok(None) };
    let features = logistic_features(statistics)?;
    Ok(features.map(|features| (radius * radius / features.square().sum()).min(1.0)))
}
