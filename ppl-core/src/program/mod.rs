//! A flat array program: what remains of a graph once the outputs are known.

mod compare;
mod indices;
mod listing;
mod words;
#[cfg(feature = "serde")]
mod written;

use crate::base::{Origin, Result, Shape};
use crate::op::{Graph, Input, Kind, Node, Op, Scan, Var};

/// One operation of a program. Arguments are positions of earlier instructions.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Debug)]
pub struct Instruction {
    pub(crate) op: Op,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub(crate) args: Vec<usize>,
    pub(crate) shape: Shape,
    pub(crate) kind: Kind,
    pub(crate) source: Origin,
}

/// A flat list of operations, in an order of evaluation, with the outputs marked.
///
/// Only what the outputs need is kept. Printed, a program is a readable listing:
///
/// ```
/// # use ppl_core::{Graph, Program};
/// let graph = Graph::new();
/// let (w, x) = (graph.input("w", [3, 5])?, graph.input("x", [5])?);
/// let unused = x.exp();
/// let program = Program::new(&graph, &[w.dot(x).tanh()])?;
/// assert_eq!(program.len(), 4); // two inputs, a product, a tanh; no exp
/// assert!(program.to_string().contains("matvec"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) outputs: Vec<usize>,
}

impl Instruction {
    pub(crate) fn of_node(node: &Node) -> Self {
        Self {
            op: node.op.clone(),
            args: node.args.iter().map(|&arg| arg as usize).collect(),
            shape: node.shape.clone(),
            kind: node.kind,
            source: node.source.clone(),
        }
    }
}

impl Program {
    /// The program that computes `outputs`.
    ///
    /// # Errors
    /// If an expression of the graph has failed, an output belongs to another graph, or an output needs a
    /// value of one step of a [`scan`](Graph::scan) that the scan does not give back.
    #[track_caller]
    pub fn new(graph: &Graph, outputs: &[Var<'_>]) -> Result<Self> {
        graph.check()?;
        for output in outputs {
            output.require_on(graph, "program")?;
        }
        graph.with_nodes(|nodes| {
            let mut needed = vec![false; nodes.len()];
            for output in outputs {
                needed[output.id() as usize] = true;
            }
            for id in (0..nodes.len()).rev() {
                if needed[id] {
                    nodes[id].args.iter().for_each(|&arg| needed[arg as usize] = true);
                }
            }
            graph.check_bound(|id| needed[id])?;
            let mut position = vec![usize::MAX; nodes.len()];
            let mut instructions = Vec::new();
            for (id, node) in nodes.iter().enumerate().filter(|(id, _)| needed[*id]) {
                position[id] = instructions.len();
                instructions.push(Instruction {
                    op: node.op.clone(),
                    args: node.args.iter().map(|&arg| position[arg as usize]).collect(),
                    shape: node.shape.clone(),
                    kind: node.kind,
                    source: node.source.clone(),
                });
            }
            let outputs = outputs.iter().map(|output| position[output.id() as usize]).collect();
            Ok(Self { instructions, outputs })
        })
    }

    /// The program of one step of a scan. Its inputs are the leaves, all of them and in their order; its
    /// outputs what is carried on, outputs and terms of sums.
    pub(crate) fn of_step(scan: &Scan) -> Self {
        let body = scan.body();
        Self {
            instructions: body.nodes().iter().map(Instruction::of_node).collect(),
            outputs: body.results().iter().flatten().map(|&at| at as usize).collect(),
        }
    }

    /// Number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether the program computes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// Names and shapes of the shared inputs, in the order of first use.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Shape)> {
        self.instructions.iter().filter_map(|instruction| match &instruction.op {
            Op::Input(Input::Shared(name)) => Some((name.as_str(), &instruction.shape)),
            _ => None,
        })
    }

    /// Names of the columns that the program reads, each once and in the order of first use.
    ///
    /// ```
    /// use ppl_core::{Graph, Program, Record, Schema};
    /// let (graph, schema) = (Graph::new(), Schema::new([("x", 2), ("y", 1), ("unused", 1)])?);
    /// let record = Record::new(&graph, &schema);
    /// let program = Program::new(&graph, &[record.get("x")?.sum() - record.get("y")?])?;
    /// assert_eq!(program.columns(), ["x", "y"]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        for instruction in &self.instructions {
            if let Op::Input(Input::Column { name, .. }) = &instruction.op
                && !columns.contains(&name.as_str())
            {
                columns.push(name.as_str());
            }
        }
        columns
    }

    /// Whether any operation is done for each record.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.instructions.iter().any(|instruction| instruction.kind == Kind::PerRecord)
    }
}
