//! From a value and a frontier to a program that computes norms and the factors of weighted sums.

use super::backward;
use super::contribution::{Contribution, Core, total};
use super::cost::{self, Form};
use super::explain::{Alternative, ArrayExplanation, GradientExplanation, describe};
use super::norm::{self, square};
use super::rounding::Rounding;
use super::terms::{Frontier, Terms};
use crate::base::{Error, Result};
use crate::machine::Scalar;
use crate::op::{Input, Kind, Op, Var};
use crate::program::Program;
use crate::transform::require_per_record_scalar;
use std::collections::HashMap;

/// Everything about a gradient but its memory.
pub(super) struct Prepared {
    pub(super) program: Program,
    pub(super) terms: Terms,
    pub(super) explanation: GradientExplanation,
    pub(super) dimension: usize,
    pub(super) norms: Vec<Option<usize>>,
    pub(super) factor_norms: Vec<usize>,
    /// How the sum of each array rounds.
    pub(super) roundings: Vec<Rounding>,
    /// The same without norms.
    pub(super) plain: (Program, Terms),
}

/// Outputs of a program, each value once.
#[derive(Default)]
struct Outputs<'g> {
    values: Vec<Var<'g>>,
    /// Where each is, by its number in the graph.
    places: HashMap<u32, usize>,
}

impl<'g> Outputs<'g> {
    fn place(&mut self, value: Var<'g>) -> usize {
        *self.places.entry(value.id()).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

/// What was decided about one frontier array.
struct Decided<'g> {
    /// What to add up, built if that was the decision.
    contributions: Vec<Contribution<'g>>,
    squared_norm: Option<Var<'g>>,
    explanation: ArrayExplanation,
    rounding: Rounding,
}

/// `least_excess` is the least part of the contributions' own squared norms that is added where they may
/// cancel each other.
pub(super) fn prepare<'g, T: Scalar>(
    value: Var<'g>,
    frontier: &[Var<'g>],
    groups: &[usize],
    least_excess: f64,
) -> Result<Prepared> {
    let count = check_groups(frontier.len(), groups)?;
    let apart = backward::contributions(value, frontier)?;
    let decided: Vec<Decided<'g>> = frontier
        .iter()
        .zip(&apart)
        .zip(groups)
        .map(|((array, each), &group)| decide::<T>(*array, each, group, least_excess))
        .collect();
    let mut outputs = Outputs::default();
    let mut norms: Vec<Option<Var<'g>>> = vec![None; count];
    for (each, &group) in decided.iter().zip(groups) {
        norms[group] = match (norms[group], each.squared_norm) {
            (Some(sum), Some(next)) => Some(sum + next),
            (sum, next) => sum.or(next),
        };
    }
    let norms = norms.into_iter().map(|norm| norm.map(|norm| outputs.place(norm))).collect();
    let mut factor_norms = Vec::new();
    for Contribution { core, scale } in decided.iter().flat_map(|each| &each.contributions) {
        let factors = match *core {
            Core::Product { left, right } if scale.is_none() => [left, right],
            Core::Positions { left, right } => [left.value, right.value],
            _ => continue,
        };
        factor_norms.extend(factors.map(|factor| outputs.place(square(factor))));
    }
    factor_norms.sort_unstable();
    factor_norms.dedup();
    let terms = {
        let contributions: Vec<&[Contribution<'g>]> =
            decided.iter().map(|each| each.contributions.as_slice()).collect();
        Terms::new(&sites(frontier, &contributions, groups), |value| outputs.place(value))
    };
    let mut plain = Outputs::default();
    let plain_terms = {
        let contributions: Vec<&[Contribution<'g>]> = apart.iter().map(Vec::as_slice).collect();
        Terms::new(&sites(frontier, &contributions, &vec![0; frontier.len()]), |value| plain.place(value))
    };
    let roundings = decided.iter().map(|each| each.rounding).collect();
    Ok(Prepared {
        roundings,
        program: Program::new(value.graph(), &outputs.values)?.simplified_exactly(),
        terms,
        explanation: GradientExplanation {
            arrays: decided.into_iter().map(|each| each.explanation).collect(),
            plan: None,
        },
        dimension: frontier.iter().map(|array| array.shape().elements()).sum(),
        norms,
        factor_norms,
        plain: (Program::new(value.graph(), &plain.values)?.simplified_exactly(), plain_terms),
    })
}

fn sites<'a, 'g>(
    frontier: &[Var<'g>],
    contributions: &[&'a [Contribution<'g>]],
    groups: &[usize],
) -> Vec<Frontier<'a, 'g>> {
    let mut start = 0;
    let site = |((array, contributions), group): ((&Var<'g>, &&'a [Contribution<'g>]), &usize)| {
        let range = start..start + array.shape().elements();
        start = range.end;
        Frontier { contributions, group: *group, range }
    };
    frontier.iter().zip(contributions).zip(groups).map(site).collect()
}

/// Chooses how the contributions to one array are contracted.
fn decide<'g, T: Scalar>(
    array: Var<'g>,
    apart: &[Contribution<'g>],
    group: usize,
    least_excess: f64,
) -> Decided<'g> {
    let costs_apart = cost::apart(apart);
    let mut explanation = ArrayExplanation {
        name: name(array),
        shape: array.shape(),
        group,
        uses: apart.iter().map(describe).collect(),
        form: Form::Untouched,
        costs: costs_apart,
        alternative: None,
    };
    let mut contributions = apart.to_vec();
    let mut excess = 0.0;
    match apart {
        [] => {}
        [one] if one.is_direct() => explanation.form = Form::Direct,
        one if !norm::cancels(one) => {
            explanation.form = Form::Factored;
            let (form, costs) = (Form::Built, cost::built(apart));
            explanation.alternative = Some(Alternative { form, costs, too_coarse: false });
        }
        several => {
            let costs_built = cost::built(several);
            let found = norm::excess::<T>(several).filter(|_| norm::has_factors(several));
            match found {
                Some(found) if costs_apart.total() <= costs_built.total() => {
                    excess = found.max(least_excess);
                    explanation.form = Form::Gram;
                    explanation.alternative =
                        Some(Alternative { form: Form::Built, costs: costs_built, too_coarse: false });
                }
                _ => {
                    contributions = total(several, &array.shape())
                        .map(|value| crate::op::Cotangent::Value(value).into())
                        .into_iter()
                        .collect();
                    explanation.form = Form::Built;
                    explanation.costs = costs_built;
                    explanation.alternative = Some(Alternative {
                        form: Form::Gram,
                        costs: costs_apart,
                        too_coarse: found.is_none(),
                    });
                }
            }
        }
    }
    let squared_norm = norm::squared_norm::<T>(&contributions, excess);
    let rounding = Rounding::new(&contributions, excess);
    Decided { contributions, squared_norm, explanation, rounding }
}

fn name(array: Var<'_>) -> String {
    array.graph().with_node(array.id(), |node| match &node.op {
        Op::Input(Input::Shared(name)) => format!("'{name}'"),
        op => format!("%{} = {op}", array.id()),
    })
}

/// The number of groups.
fn check_groups(arrays: usize, groups: &[usize]) -> Result<usize> {
    if groups.len() != arrays {
        let got = groups.len();
        return Err(Error::Values(format!("there are {arrays} frontier arrays, got groups for {got}")));
    }
    let count = groups.iter().max().map_or(0, |last| last.saturating_add(1));
    // No more than as many groups as arrays can hold one each.
    let mut holds = vec![false; count.min(arrays + 1)];
    for &group in groups {
        if let Some(holds) = holds.get_mut(group) {
            *holds = true;
        }
    }
    match holds.into_iter().position(|holds| !holds) {
        Some(missing) => Err(Error::Values(format!(
            "groups are counted from 0 to {}, but no array is in group {missing}",
            count - 1
        ))),
        None => Ok(count),
    }
}

/// Whether there is one number for each record and only shared arrays to differentiate it by.
#[track_caller]
pub(super) fn check_frontier(value: Var<'_>, frontier: &[Var<'_>]) -> Result<()> {
    value.graph().check()?;
    for array in frontier {
        array.require_on(value.graph(), "record gradient")?;
    }
    require_per_record_scalar(value)?;
    match frontier.iter().find(|array| array.kind() == Kind::PerRecord) {
        Some(array) => Err(Error::MixesRecords {
            what: format!("a gradient with respect to a per-record value of shape {}", array.shape()),
            rule: "the frontier holds shared arrays only",
            source_line: crate::base::Source::caller(),
        }),
        None => Ok(()),
    }
}
