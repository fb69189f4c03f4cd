//! The backward pass of one record's value, up to the shared arrays of a frontier.
//!
//! It is reverse mode with one difference: a product that arrives at a node goes on, not multiplied out,
//! through every operation whose derivative is diagonal and shared by all records. So `x·(μ + s∘ε)` sends
//! `g ⊗ x` to `μ` and `(s'∘ε) ∘ (g ⊗ x)` to the array that `s` was made from, and neither is built.

use super::contribution::{Contribution, add, total};
use crate::base::{Result, Shape};
use crate::op::{Binary, Graph, Kind, Op, Shaping, Var};
use crate::transform::{before_differentiation, depending, pulled_back};
use std::collections::HashSet;

/// For each array of the frontier, what a record adds to the gradient with respect to it: one contribution
/// for each use.
pub(super) fn contributions<'g>(value: Var<'g>, frontier: &[Var<'g>]) -> Result<Vec<Vec<Contribution<'g>>>> {
    let graph = value.graph();
    // As a gradient does: what is differentiated is simplified first.
    let value = before_differentiation(graph, &[value], frontier)[0];
    let last = value.id() as usize;
    let active = graph.with_nodes(|nodes| depending(&nodes[..=last], frontier));
    let frontier_ids: HashSet<u32> = frontier.iter().map(|array| array.id()).collect();
    let mut arriving: Vec<Vec<Contribution<'g>>> = vec![Vec::new(); last + 1];
    if active[last] {
        arriving[last].push(crate::op::Cotangent::Value(value.constant(1.0)).into());
    }
    for id in (0..=last).rev() {
        if frontier_ids.contains(&(id as u32)) || arriving[id].is_empty() {
            continue;
        }
        let node = graph.node(id as u32);
        graph.attribute(Some(node.source));
        let here = Here {
            graph,
            result: graph.var(id as u32),
            args: node.args.iter().map(|&arg| graph.var(arg)).collect(),
            op: node.op,
            shape: node.shape,
            contributions: std::mem::take(&mut arriving[id]),
        };
        if let Op::Scan(_) = &here.op {
            here.send_to_all(&active, &mut arriving);
            continue;
        }
        for (which, arg) in here.args.iter().enumerate() {
            if active[arg.id() as usize] {
                here.send(which).into_iter().for_each(|each| add(&mut arriving[arg.id() as usize], each));
            }
        }
    }
    graph.attribute(None);
    graph.check()?;
    let taken = |array: &Var<'g>| arriving.get(array.id() as usize).cloned().unwrap_or_default();
    Ok(frontier.iter().map(taken).collect())
}

/// One operation, with what has arrived at its result.
struct Here<'g> {
    graph: &'g Graph,
    op: Op,
    args: Vec<Var<'g>>,
    result: Var<'g>,
    shape: Shape,
    contributions: Vec<Contribution<'g>>,
}

impl<'g> Here<'g> {
    /// What goes on to the argument `which`.
    fn send(&self, which: usize) -> Vec<Contribution<'g>> {
        if let Some(sent) = self.through(which) {
            return sent;
        }
        let Some(cotangent) = total(&self.contributions, &self.shape) else {
            return Vec::new();
        };
        let sent = self.op.pullback(&self.args, self.result, cotangent, which);
        sent.map(Contribution::from).into_iter().collect()
    }

    /// What goes on to all arguments of an operation that sends to them together.
    fn send_to_all(&self, active: &[bool], arriving: &mut [Vec<Contribution<'g>>]) {
        let Some(cotangent) = total(&self.contributions, &self.shape) else {
            return;
        };
        let is_active: Vec<bool> = self.args.iter().map(|arg| active[arg.id() as usize]).collect();
        let sent = pulled_back(&self.op, &self.args, self.result, cotangent, &is_active);
        for (arg, cotangent) in self.args.iter().zip(sent) {
            if let Some(cotangent) = cotangent {
                add(&mut arriving[arg.id() as usize], cotangent.into());
            }
        }
    }

    /// The same, each contribution by itself, where there are products and none of them needs multiplying
    /// out.
    fn through(&self, which: usize) -> Option<Vec<Contribution<'g>>> {
        if self.contributions.iter().all(Contribution::is_direct) {
            return None;
        }
        let target = self.args[which].shape();
        match &self.op {
            Op::Shaping(Shaping::Reshape(_)) => Some(self.contributions.clone()),
            Op::Shaping(Shaping::Broadcast(_)) => self.summed(&self.contributions, &target),
            op if op.is_elementwise() => {
                let Some(derivative) = self.derivative(which) else {
                    return Some(Vec::new());
                };
                if derivative.kind() == Kind::PerRecord {
                    return None;
                }
                let scaled: Vec<_> = self.contributions.iter().map(|each| each.scaled(derivative)).collect();
                if target == self.shape { Some(scaled) } else { self.summed(&scaled, &target) }
            }
            _ => None,
        }
    }

    fn summed(&self, contributions: &[Contribution<'g>], target: &Shape) -> Option<Vec<Contribution<'g>>> {
        contributions.iter().map(|each| each.summed_to(&self.shape, target)).collect()
    }

    /// `∂result_k/∂x_k` of an elementwise operation, for an argument `x` stretched to the result's shape.
    fn derivative(&self, which: usize) -> Option<Var<'g>> {
        let mut args = self.args.clone();
        args[which] = args[which].broadcast_to(self.shape.clone());
        let ones = self.graph.constant(1.0).broadcast_to(self.shape.clone());
        self.op.pullback(&args, self.result, ones, which).map(|derivative| without(ones, derivative.value()))
    }
}

/// `x` where an array is `ones · x`.
fn without<'g>(ones: Var<'g>, array: Var<'g>) -> Var<'g> {
    let graph = array.graph();
    let node = graph.node(array.id());
    let factors = match (&node.op, node.args.as_slice()) {
        (Op::Binary(Binary::Mul), &[a, b]) => [(a, b), (b, a)],
        _ => return array,
    };
    let other = factors.iter().find(|(one, _)| *one == ones.id()).map(|&(_, other)| graph.var(other));
    other.map_or(array, |other| other.broadcast_to(array.shape()))
}
