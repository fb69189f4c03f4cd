//! Records' own latent values: their posterior factors, found by a fixed number of sweeps.

use super::form::{Bound, Form, Moment, Rows};
use super::substitute::substitute;
use crate::base::{Error, Result};
use crate::model::{ExponentialFamily, Site, Statistic};
use crate::op::Var;
use crate::transform::gradient;
use std::collections::BTreeSet;

/// A latent value of each record, with leaves that stand for its expected statistics.
pub(super) struct Local<'g> {
    pub(super) site: Site<'g>,
    pub(super) family: Box<dyn ExponentialFamily<'g> + 'g>,
    statistics: Vec<(Statistic, Var<'g>)>,
}

impl<'g> Local<'g> {
    pub(super) fn new(site: &Site<'g>, family: Box<dyn ExponentialFamily<'g> + 'g>) -> Result<Self> {
        let graph = site.value.graph();
        let known = |statistic: &Statistic| matches!(statistic, Statistic::Log | Statistic::LogComplement);
        let names = family.statistics();
        let boolean = names == [Statistic::Value] && site.support == crate::model::Constraint::Boolean;
        if !(boolean || names.iter().all(known)) {
            let problem = format!(
                "statistics: a latent value of each record with prior {} ({}); those of Dirichlet, beta and Bernoulli \
                 priors are found by sweeps, for others fit the model with gradients (DpVi)",
                family.name(),
                site.source_line
            );
            return Err(Error::Unsupported(problem).at_site(&site.name));
        }
        if boolean && site.value.shape().rank() > 1 {
            let problem =
                "statistics: Boolean values of a record in more than one axis; make them one vector";
            return Err(Error::Unsupported(problem.to_owned()).at_site(&site.name));
        }
        let statistics = names
            .into_iter()
            .map(|statistic| {
                let name = format!("E[{}] of the record", statistic.name_of(&site.name));
                Ok((statistic, graph.record_input(name, statistic.shape(&site.value.shape()))?))
            })
            .collect::<Result<_>>()?;
        Ok(Self { site: site.clone(), family, statistics })
    }

    /// What the leaves say of the value.
    pub(super) fn form(&self, number: usize) -> Form<'g> {
        let mut form = Form { sites: BTreeSet::from([number]), ..Form::default() };
        for &(statistic, leaf) in &self.statistics {
            match statistic {
                Statistic::Log => form.log = Some((leaf, Bound::Exact)),
                Statistic::LogComplement => form.log_complement = Some(leaf),
                _ => {
                    // z² is z, and its elements are independent of each other.
                    form.powers.insert(1, Moment::exact(leaf));
                    form.powers.insert(2, Moment::exact(leaf));
                    if leaf.shape().rank() == 1 {
                        let own = (leaf - leaf.square()).diagonal_matrix();
                        form.rows = Some(Rows { each: leaf.outer(leaf) + own, total: None });
                    }
                }
            }
        }
        form
    }

    /// Whether its elements meet each other in the record's part of the bound, and all change at once.
    fn meets(&self) -> bool {
        self.family.name() == "Bernoulli" && self.site.value.shape().elements() > 1
    }

    /// The expectations of the statistics.
    pub(super) fn moments(&self) -> Vec<Moment<'g>> {
        self.statistics.iter().map(|&(_, leaf)| Moment::exact(leaf)).collect()
    }
}

/// Natural parameters of a record's own factor, which go on from step to step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Kept<'g> {
    /// The site.
    pub site: String,
    /// The name of the per-record input that holds them; 0 before the first step.
    pub name: String,
    /// The input.
    pub input: Var<'g>,
    /// What they are after the next sweeps.
    pub next: Var<'g>,
}

/// What sweeps have found.
pub(super) struct Swept<'g> {
    /// The record's part of the bound, the entropy of its own factors included.
    pub(super) record: Var<'g>,
    /// Expected statistics of its own values, by site.
    pub(super) means: Vec<(String, Var<'g>)>,
    /// Where its factors go on from; nothing where they begin anew each time.
    pub(super) kept: Vec<Kept<'g>>,
}

/// The record's part of the bound with its own factors after some sweeps, their entropy included, and their expected
/// statistics. In each sweep, in turn,
///
/// ```text
/// η ← ∂ℓ/∂t,   t ← ∂A(η)/∂η
/// ```
///
/// which raises the bound where the value's elements do not meet each other. Elements of a Boolean vector do, and all
/// change at once, so after the first sweep each `η` goes half of its way.
///
/// Factors either begin anew, as if the record had said nothing, or, with `kept`, at natural parameters that are inputs
/// of the program: then the bound is taken at these, and what they are after `kept` sweeps is a program of its own.
/// Values whose elements meet each other always begin anew.
///
/// No derivative passes through the sweeps: at the best factors there is none.
pub(super) fn sweep<'g>(
    record: Var<'g>,
    local: &[Local<'g>],
    sweeps: usize,
    kept: Option<usize>,
) -> Result<Swept<'g>> {
    let graph = record.graph();
    let kept = kept.filter(|_| !local.iter().any(Local::meets));
    let leaves: Vec<Var<'g>> =
        local.iter().flat_map(|one| one.statistics.iter().map(|&(_, leaf)| leaf)).collect();
    let slopes = gradient(record, &leaves)?;
    // Where each value's statistics begin among all, its mean function and its log partition function.
    let mut places = Vec::new();
    let mut first = 0;
    for (number, one) in local.iter().enumerate() {
        let natural: Vec<Var<'g>> = one
            .statistics
            .iter()
            .enumerate()
            .map(|(k, (_, leaf))| {
                graph.record_input(format!("natural parameters {number} {k}"), leaf.shape())
            })
            .collect::<Result<_>>()?;
        let partition = one.family.log_partition(&natural);
        let means = gradient(partition, &natural)?;
        places.push((first, natural, means, partition, one.meets()));
        first += one.statistics.len();
    }
    // At first as if the record had said nothing but that its prior is flat: all that are alike are equal.
    let mut now: Vec<Var<'g>> = Vec::new();
    let mut natural_now: Vec<Var<'g>> = Vec::new();
    for (number, one) in local.iter().enumerate() {
        let (_, natural, means, ..) = &places[number];
        let begin = |(k, (_, leaf)): (usize, &(Statistic, Var<'g>))| match kept {
            Some(_) => graph.record_input(format!("kept parameters {number} {k}"), leaf.shape()),
            None => Ok(graph.constant(0.0).broadcast_to(leaf.shape())),
        };
        let begin: Vec<Var<'g>> = one.statistics.iter().enumerate().map(begin).collect::<Result<_>>()?;
        let pairs: Vec<_> = natural.iter().copied().zip(begin.iter().copied()).collect();
        now.extend(substitute(means, &pairs));
        natural_now.extend(begin);
    }
    let begun = (now.clone(), natural_now.clone());
    for round in 0..kept.unwrap_or(sweeps).max(1) {
        for (first, natural, means, _, meets) in &places {
            let range = *first..first + natural.len();
            let pairs: Vec<_> = leaves.iter().copied().zip(now.iter().copied()).collect();
            let mut new = substitute(&slopes[range.clone()], &pairs);
            if *meets && round > 0 {
                for (new, old) in new.iter_mut().zip(&natural_now[range.clone()]) {
                    *new = 0.5 * (*new + *old);
                }
            }
            let pairs: Vec<_> = natural.iter().copied().zip(new.iter().copied()).collect();
            let values = substitute(means, &pairs);
            for (k, place) in range.enumerate() {
                (natural_now[place], now[place]) = (new[k], values[k]);
            }
        }
    }
    let names = local
        .iter()
        .enumerate()
        .flat_map(|(number, one)| (0..one.statistics.len()).map(move |k| (number, k, one.site.name.clone())));
    let next = natural_now.clone();
    if kept.is_some() {
        (now, natural_now) = begun;
    }
    // Held: the bound is at its highest there.
    let held: Vec<Var<'g>> = now.iter().map(|value| value.stop_gradient()).collect();
    let pairs: Vec<_> = leaves.iter().copied().zip(held.iter().copied()).collect();
    let mut value = substitute(&[record], &pairs)[0];
    for (first, natural, _, partition, _) in &places {
        let range = *first..first + natural.len();
        let pairs: Vec<_> = natural.iter().copied().zip(natural_now[range.clone()].iter().copied()).collect();
        let mut entropy = substitute(&[*partition], &pairs)[0];
        for place in range {
            entropy = entropy - (natural_now[place] * now[place]).sum();
        }
        value = value + entropy.stop_gradient();
    }
    let means = names.clone().map(|(.., site)| site).zip(held).collect();
    let places = names.zip(natural_now.iter().zip(next)).filter(|_| kept.is_some());
    let kept = places.map(|((number, k, site), (&input, next))| Kept {
        site,
        name: format!("kept parameters {number} {k}"),
        input,
        next,
    });
    Ok(Swept { record: value, means, kept: kept.collect() })
}
