//! The program of one step of a scan.

#[cfg(feature = "serde")]
use crate::base::Origin;
use crate::base::Shape;
use crate::op::{Graph, Input, Kind, Node, Op, Var};
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most elements of a constant that is copied into the body; a larger one is captured.
pub(crate) const LARGEST_COPIED: usize = 64;
/// Nothing is captured but the leaves: the body has a graph of its own.
pub(crate) const ALL_COPIED: usize = usize::MAX;

/// The operations of one step. The leaves come first: what is carried, rows of inputs, captured values. No
/// other node is an input.
#[derive(Clone)]
pub(crate) struct Body {
    nodes: Vec<Node>,
    /// Numbers of leaves of each group.
    leaves: [usize; 3],
    /// The results: what is carried on, rows of outputs, terms of sums.
    results: [Vec<u32>; 3],
    digest: u64,
}

/// A body cut out of a graph.
pub(crate) struct Cut<'g> {
    pub(crate) body: Body,
    /// Which of the inputs it was given are used.
    pub(crate) inputs: Vec<usize>,
    /// Which of the captured leaves it was given are used.
    pub(crate) captured: Vec<usize>,
    /// Other values that are captured, after those.
    pub(crate) found: Vec<Var<'g>>,
}

impl Body {
    /// A body of these nodes, which keep to what is said of [`Body`].
    pub(crate) fn new(mut nodes: Vec<Node>, leaves: [usize; 3], results: [Vec<u32>; 3]) -> Self {
        let groups = [("carried", leaves[0]), ("row of input", leaves[1]), ("captured", leaves[2])];
        let names = groups.iter().flat_map(|&(name, count)| (0..count).map(move |at| format!("{name} {at}")));
        for (node, name) in nodes.iter_mut().zip(names) {
            node.op = Op::Input(Input::Shared(name));
        }
        // What is shared and what is not is decided anew wherever a scan stands.
        nodes.iter_mut().for_each(|node| node.kind = Kind::Shared);
        let mut digest = DefaultHasher::new();
        for Node { op, args, shape, .. } in &nodes {
            (op, args, shape).hash(&mut digest);
        }
        (leaves, &results).hash(&mut digest);
        Self { nodes, leaves, results, digest: digest.finish() }
    }

    /// Cuts the operations between leaves (carried, rows of inputs, captured) and results (carried, stacked,
    /// summed) out of a graph. All that is carried is kept; inputs and captured leaves only if they are used.
    /// What depends on no leaf is captured, too, unless it is a constant of at most `copied` elements; or, if
    /// that is [`ALL_COPIED`], it is copied like the rest.
    pub(crate) fn cut<'g>(
        graph: &'g Graph,
        leaves: [&[Var<'g>]; 3],
        results: [&[Var<'g>]; 3],
        copied: usize,
    ) -> Cut<'g> {
        graph.with_nodes(|nodes| {
            let all_leaves = || leaves.iter().flat_map(|group| group.iter());
            let all_results = || results.iter().flat_map(|group| group.iter());
            // Nothing before the first leaf depends on one.
            let first = all_leaves().map(|leaf| leaf.id() as usize).min().unwrap_or(nodes.len());
            let end = all_results().map(|value| value.id() as usize + 1).max().unwrap_or(0).max(first);
            let whole = copied == ALL_COPIED;
            let (first, end) = if whole { (0, nodes.len()) } else { (first, end) };
            let mut depends = vec![whole; end - first];
            let mark = |marks: &mut Vec<bool>, id: u32| {
                if let Some(mark) = (id as usize).checked_sub(first).and_then(|at| marks.get_mut(at)) {
                    *mark = true;
                }
            };
            all_leaves().for_each(|leaf| mark(&mut depends, leaf.id()));
            let inside = |marks: &[bool], id: u32| {
                (id as usize).checked_sub(first).and_then(|at| marks.get(at)).copied().unwrap_or(false)
            };
            for id in first..end {
                depends[id - first] |= nodes[id].args.iter().any(|&arg| inside(&depends, arg));
            }
            let mut needed = vec![false; end - first];
            all_results().for_each(|value| mark(&mut needed, value.id()));
            for id in (first..end).rev() {
                if needed[id - first] && depends[id - first] {
                    nodes[id].args.iter().for_each(|&arg| mark(&mut needed, arg));
                }
            }
            let used = |group: &[Var<'g>]| -> Vec<usize> {
                (0..group.len()).filter(|&at| inside(&needed, group[at].id())).collect()
            };
            let (inputs, captured) = (used(leaves[1]), used(leaves[2]));
            // Arguments and results from outside, in the order of their use.
            let (mut found, mut constants) = (Vec::new(), Vec::new());
            let mut outside = |id: u32| {
                if inside(&depends, id) {
                    return;
                }
                let node = &nodes[id as usize];
                let small = matches!(node.op, Op::Constant(_)) && node.shape.elements() <= copied;
                let list = if small { &mut constants } else { &mut found };
                if !list.contains(&id) {
                    list.push(id);
                }
            };
            for id in (first..end).filter(|id| needed[id - first] && depends[id - first]) {
                nodes[id].args.iter().for_each(|&arg| outside(arg));
            }
            all_results().for_each(|value| outside(value.id()));
            let mut place: HashMap<u32, u32> = HashMap::new();
            let mut cut: Vec<Node> = Vec::new();
            let mut put = |id: u32, leaf: bool, cut: &mut Vec<Node>| {
                let mut node = nodes[id as usize].clone();
                node.args = if leaf { Vec::new() } else { node.args.iter().map(|arg| place[arg]).collect() };
                place.insert(id, cut.len() as u32);
                cut.push(node);
            };
            leaves[0].iter().for_each(|leaf| put(leaf.id(), true, &mut cut));
            inputs.iter().for_each(|&at| put(leaves[1][at].id(), true, &mut cut));
            captured.iter().for_each(|&at| put(leaves[2][at].id(), true, &mut cut));
            found.iter().for_each(|&id| put(id, true, &mut cut));
            let counts = [leaves[0].len(), inputs.len(), captured.len() + found.len()];
            constants.iter().for_each(|&id| put(id, false, &mut cut));
            let is_leaf: Vec<u32> = all_leaves().map(|leaf| leaf.id()).collect();
            for id in (first..end).filter(|id| needed[id - first] && depends[id - first]) {
                if !is_leaf.contains(&(id as u32)) {
                    put(id as u32, false, &mut cut);
                }
            }
            let results = results.map(|group| group.iter().map(|value| place[&value.id()]).collect());
            let body = Body::new(cut, counts, results);
            Cut { body, inputs, captured, found: found.iter().map(|&id| graph.var(id)).collect() }
        })
    }

    /// Writes the body into a graph, on these leaves, and says what its nodes are there.
    pub(crate) fn write<'g>(
        &self,
        graph: &'g Graph,
        leaves: &[Var<'g>],
        mut apply: impl FnMut(&Op, &[Var<'g>]) -> Var<'g>,
    ) -> Vec<Var<'g>> {
        let mut values: Vec<Var<'g>> = leaves.to_vec();
        for Node { op, args, shape, source, .. } in &self.nodes[self.leaves()..] {
            graph.attribute(Some(source.clone()));
            let value = match op {
                leaf @ (Op::Input(_) | Op::Constant(_)) => {
                    graph.copy_leaf(leaf.clone(), shape.clone(), Kind::Shared)
                }
                op => {
                    let args: Vec<Var<'g>> = args.iter().map(|&arg| values[arg as usize]).collect();
                    apply(op, &args)
                }
            };
            values.push(value);
        }
        graph.attribute(None);
        values
    }

    /// Inputs of a graph for the leaves; `prefix` tells them from others.
    pub(crate) fn new_leaves<'g>(&self, graph: &'g Graph, prefix: &str) -> Vec<Var<'g>> {
        let leaf = |(at, node): (usize, &Node)| {
            let name = Op::Input(Input::Shared(format!("{prefix} {at}")));
            graph.copy_leaf(name, node.shape.clone(), Kind::Shared)
        };
        self.nodes[..self.leaves()].iter().enumerate().map(leaf).collect()
    }

    /// The same body with its leaves in other groups, as many in all.
    pub(crate) fn with_groups(self, leaves: [usize; 3]) -> Self {
        Self::new(self.nodes, leaves, self.results)
    }

    /// The leaves, then the other operations, in an order of evaluation.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> usize {
        self.leaves.iter().sum()
    }

    /// Numbers of leaves that are carried, rows of inputs, and captured.
    pub(crate) fn groups(&self) -> [usize; 3] {
        self.leaves
    }

    pub(crate) fn carries(&self) -> usize {
        self.leaves[0]
    }

    pub(crate) fn inputs(&self) -> usize {
        self.leaves[1]
    }

    /// All results: carried, stacked, summed.
    pub(crate) fn results(&self) -> &[Vec<u32>; 3] {
        &self.results
    }

    pub(crate) fn carried(&self) -> &[u32] {
        &self.results[0]
    }

    pub(crate) fn stacked(&self) -> &[u32] {
        &self.results[1]
    }

    pub(crate) fn summed(&self) -> &[u32] {
        &self.results[2]
    }

    /// For each node, whether it depends on one of the leaves that are marked.
    pub(crate) fn depending(&self, leaves: &[bool]) -> Vec<bool> {
        let mut depends = vec![false; self.nodes.len()];
        depends[..leaves.len()].copy_from_slice(leaves);
        for (at, node) in self.nodes.iter().enumerate() {
            depends[at] |= node.args.iter().any(|&arg| depends[arg as usize]);
        }
        depends
    }

    /// What is compared: operations, their arguments and shapes.
    fn told(&self) -> impl Iterator<Item = (&Op, &[u32], &Shape)> {
        self.nodes.iter().map(|Node { op, args, shape, .. }| (op, args.as_slice(), shape))
    }
}

/// Source lines do not count.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.leaves == other.leaves
            && self.results == other.results
            && self.told().eq(other.told())
    }
}

impl Eq for Body {}

impl Hash for Body {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (op, args, shape) in self.told() {
            write!(f, "{op:?} {args:?} {shape}; ")?;
        }
        write!(f, "{:?} {:?}", self.leaves, self.results)
    }
}

/// A node of a body that is read from a file.
#[cfg(feature = "serde")]
pub(crate) fn node(op: Op, args: Vec<u32>, shape: Shape, source: Origin) -> Node {
    Node { op, args, shape, kind: Kind::Shared, source }
}
