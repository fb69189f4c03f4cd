//! Which posterior factors may be updated together.

use super::blocks::Factor;
use super::statistics::Statistics;
use crate::base::Result;
use crate::op::{Graph, Input, Op, Var};
use crate::transform::gradient;
use std::collections::{BTreeMap, HashSet};

impl<'g> Statistics<'g> {
    /// Groups of blocks whose factors may be updated together without the bound on the evidence falling: no two
    /// sites of a group multiply each other, in a record's term or in the prior.
    ///
    /// # Errors
    /// If an expression of the graph has failed.
    pub fn groups(&self) -> Result<Vec<Vec<usize>>> {
        self.groups_among(|_| true)
    }

    /// The same of some factors, as if there were no others.
    ///
    /// # Errors
    /// As [`groups`](Self::groups).
    pub fn groups_among(&self, is_one: impl Fn(&Factor<'g>) -> bool) -> Result<Vec<Vec<usize>>> {
        let mut slopes: BTreeMap<usize, HashSet<String>> = BTreeMap::new();
        for (number, factor) in self.factors().iter().enumerate().filter(|(_, factor)| is_one(factor)) {
            let inputs: Vec<Var<'g>> =
                factor.blocks.iter().map(|&block| self.blocks()[block].input).collect();
            let mut all = gradient(self.prior(), &inputs)?;
            // Linear terms of a record are found before their log-sum-exp: a weight of a value that is summed out is
            // held while the factors change.
            all.extend(gradient(self.record(), &inputs)?);
            slopes.insert(number, used_without_weights(self.trace().graph(), &all));
        }
        let meets = |a: usize, b: usize| {
            let names =
                |factor: usize| self.factors()[factor].blocks.iter().map(|&block| &self.blocks()[block].name);
            names(b).any(|name| slopes[&a].contains(name)) || names(a).any(|name| slopes[&b].contains(name))
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &number in slopes.keys() {
            match groups.iter_mut().find(|group| !group.iter().any(|&other| meets(number, other))) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        Ok(groups)
    }
}

/// Inputs that values are computed from, not looking behind distributions of values that are summed out and behind
/// what is held.
fn used_without_weights(graph: &Graph, values: &[Var<'_>]) -> HashSet<String> {
    use crate::op::{Reduce, Unary};
    let Some(last) = values.iter().map(|value| value.id() as usize).max() else { return HashSet::new() };
    graph.with_nodes(|nodes| {
        let mut reached = vec![false; last + 1];
        values.iter().for_each(|value| reached[value.id() as usize] = true);
        let mut found = HashSet::new();
        for id in (0..=last).rev() {
            if !reached[id] {
                continue;
            }
            match &nodes[id].op {
                Op::Reduce(Reduce::Softmax { .. }) | Op::Unary(Unary::StopGradient) => {}
                Op::Input(Input::Shared(name)) => {
                    found.insert(name.clone());
                }
                _ => nodes[id].args.iter().for_each(|&arg| reached[arg as usize] = true),
            }
        }
        found
    })
}
