//! Whether all that a record says are words of topics that it mixes.

use super::augment::LEAST;
use super::local::Local;
use crate::base::Result;
use crate::math::digamma;
use crate::model::{Constraint, Site, SiteKind, Statistic, Trace};
use crate::op::{Input, Op};
use crate::program::Program;
use crate::record_gradient::MixedWords;
use crate::run::plan::ExecutionPlan;
use crate::transform::gradient;

/// The formulas of a model whose records say nothing but
///
/// ```text
/// θ ~ Dirichlet(a),   Σ_v n_v ln Σ_k θ_k β_kv         n: a column,  β: a shared site,  a: fixed numbers
/// ```
///
/// at a scale of 1; `None` for any other model.
///
/// *Proof.* The observation's program is compared with that of this formula, operation by operation. The only other
/// term is the prior of `θ`, whose family has the statistic `ln θ` alone; that its natural parameters are
/// concentrations less 1 shows in the means at several of them.
pub(super) fn words<'g>(
    trace: &Trace<'g>,
    local: &[Local<'g>],
    shared: &[Site<'g>],
    sweeps: usize,
) -> Result<Option<MixedWords>> {
    let graph = trace.graph();
    let ([own], 1) = (local, trace.record_latents().count()) else { return Ok(None) };
    let mut terms = trace.sites().iter().filter(|site| site.per_record && site.kind != SiteKind::Latent);
    let (Some(observed), None) = (terms.next(), terms.next()) else { return Ok(None) };
    let (Some(term), Op::Input(Input::Column { index, .. })) =
        (observed.log_prob, graph.node(observed.value.id()).op)
    else {
        return Ok(None);
    };
    let (&[topics], &[words]) = (own.site.shape.dims(), observed.shape.dims()) else { return Ok(None) };
    if own.family.name() != "Dirichlet" || own.family.statistics() != [Statistic::Log] {
        return Ok(None);
    }
    // The formula, as it is written in the law of words.
    let counts = observed.value;
    let program = Program::new(graph, &[term])?;
    for site in shared.iter().filter(|site| site.shape.dims() == [topics, words]) {
        let chances = own.site.value.dot(site.value);
        let occurs = counts.greater(0.0);
        let formula = counts.max(0.0).dot(occurs.select(chances, 1.0).log());
        let Some(outside) = Constraint::NonNegativeInteger.outside(counts) else { continue };
        let formula = outside.sum_axis(0).select(f64::NEG_INFINITY, formula);
        if !Program::new(graph, &[formula])?.same_as(&program) {
            continue;
        }
        let Some(prior) = prior(own, topics)? else { return Ok(None) };
        let name = format!("E[{}]", Statistic::Log.name_of(&site.name));
        return Ok(Some(MixedWords {
            column: index,
            words,
            input: name.clone(),
            topics: name,
            scale: 1.0,
            kept: String::new(),
            prior,
            sweeps,
            least: LEAST,
        }));
    }
    Ok(None)
}

/// The natural parameters of the prior of a record's own weights, if these are fixed numbers and concentrations less 1.
fn prior(own: &Local<'_>, topics: usize) -> Result<Option<Vec<f64>>> {
    let graph = own.site.value.graph();
    let natural = graph.input("natural parameters of weights", topics)?;
    let means = gradient(own.family.log_partition(&[natural]), &[natural])?;
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &means)?);
    for first in [-0.5, 0.25, 3.0] {
        let at: Vec<f64> = (0..topics).map(|k| first + 1.5 * k as f64).collect();
        plan.set("natural parameters of weights", &at)?;
        plan.run();
        let total = digamma::<f64>(at.iter().map(|x| x + 1.0).sum());
        let expected = at.iter().map(|x| digamma(x + 1.0) - total);
        if !plan.output(0).iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + b.abs())) {
            return Ok(None);
        }
    }
    let [natural] = own.family.natural(graph)[..] else { return Ok(None) };
    let program = Program::new(graph, &[natural.broadcast_to(topics)])?;
    if program.instructions.iter().any(|instruction| matches!(instruction.op, Op::Input(_))) {
        return Ok(None);
    }
    let mut plan = ExecutionPlan::<f64>::new(&program);
    plan.run();
    let found = plan.output(0).to_vec();
    Ok(found.iter().all(|x| x.is_finite()).then_some(found))
}
