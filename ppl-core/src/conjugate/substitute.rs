//! Expressions with some of their values replaced.

use crate::op::Var;
use crate::transform::depending;
use std::collections::HashMap;

/// `values` with `from` replaced by `to` in each pair, all at once. What does not depend on any of them stays the
/// same node.
pub(super) fn substitute<'g>(values: &[Var<'g>], pairs: &[(Var<'g>, Var<'g>)]) -> Vec<Var<'g>> {
    let Some(last) = values.iter().map(|value| value.id() as usize).max() else {
        return Vec::new();
    };
    let graph = values[0].graph();
    let from: Vec<Var<'g>> = pairs.iter().map(|(from, _)| *from).collect();
    let active = graph.with_nodes(|nodes| depending(&nodes[..=last], &from));
    let mut needed = vec![false; last + 1];
    values.iter().for_each(|value| needed[value.id() as usize] = true);
    let replaced: HashMap<u32, Var<'g>> = pairs.iter().map(|(from, to)| (from.id(), *to)).collect();
    for id in (0..=last).rev() {
        if needed[id] && active[id] && !replaced.contains_key(&(id as u32)) {
            graph.with_node(id as u32, |node| {
                node.args.iter().for_each(|&arg| needed[arg as usize] = true);
            });
        }
    }
    let mut now: HashMap<u32, Var<'g>> = HashMap::new();
    for id in 0..=last {
        if !(needed[id] && active[id]) {
            continue;
        }
        let new = match replaced.get(&(id as u32)) {
            Some(&to) => to,
            None => {
                let node = graph.node(id as u32);
                graph.attribute(Some(node.source));
                let args: Vec<Var<'g>> = node
                    .args
                    .iter()
                    .map(|&arg| now.get(&arg).copied().unwrap_or_else(|| graph.var(arg)))
                    .collect();
                graph.apply(node.op, &args)
            }
        };
        now.insert(id as u32, new);
    }
    graph.attribute(None);
    values.iter().map(|value| now.get(&value.id()).copied().unwrap_or(*value)).collect()
}
