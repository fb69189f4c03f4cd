//! The arena in which a model leaves its array program.

use super::{Binary, Constant, Input, Linear, Misfit, Op, Operand, Var};
use crate::base::{Error, Origin, Result, Shape, Source};
use crate::machine::Scalar;
use ndarray::ArrayD;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Whether a value is one for all records or one for each.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// One value a run: latents, parameters, constants.
    Shared,
    /// A value for each record of the batch.
    PerRecord,
}

/// One operation with its arguments.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) op: Op,
    pub(crate) args: Vec<u32>,
    pub(crate) shape: Shape,
    pub(crate) kind: Kind,
    pub(crate) source: Origin,
}

/// What makes two operations the same: the operation, its arguments (in rising order where their order does
/// not matter), and the shape of its result.
type Identity = (Op, Vec<u32>, Shape);

/// An arena of operations on arrays.
///
/// A graph only ever grows, and an operation refers to earlier ones only, so the order of the nodes is an
/// order of evaluation. The same operation on the same arguments is stored once.
///
/// A mistake in an expression (shapes that do not go together, say) does not interrupt the expression: the
/// first one is kept, and [`Graph::check`] — which every statement of a model calls — returns it.
///
/// ```
/// use ppl_core::{ExecutionPlan, Graph, Program, gradient};
/// let graph = Graph::new();
/// let x = graph.input("x", [2])?;
/// let y = (x * x).sum();
/// let dy = gradient(y, &[x])?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[y, dy[0]])?);
/// plan.set("x", &[3.0, 4.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [25.0]);
/// assert_eq!(plan.output(1), [6.0, 8.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Default)]
pub struct Graph {
    nodes: RefCell<Vec<Node>>,
    known: RefCell<HashMap<Identity, u32>>,
    /// All inputs with the shapes they were declared with.
    inputs: RefCell<HashMap<Input, Shape>>,
    failure: RefCell<Option<Error>>,
    /// While derivatives are written, where the operation comes from that they belong to.
    attribution: RefCell<Option<Origin>>,
    /// The site that is being built, and the line of its statement.
    site: RefCell<Option<Arc<str>>>,
    line: Cell<Option<Source>>,
    /// Leaves that stand for values of one step of a scan.
    bound: RefCell<HashSet<u32>>,
    /// Whether everything is computed at once; see [`compute`](super::compute).
    immediate: bool,
}

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A shared input, found again by its name.
    ///
    /// # Errors
    /// If the name was used before with another shape, or the shape is too large.
    #[track_caller]
    pub fn input(&self, name: impl Into<String>, shape: impl Into<Shape>) -> Result<Var<'_>> {
        self.leaf(Input::Shared(name.into()), shape.into().checked()?, Kind::Shared)
    }

    /// A per-record input, found again by its name: numbers for each record of a batch that the runner of the
    /// program supplies, such as noise that is drawn anew for each record.
    ///
    /// # Errors
    /// If the name was used before with another shape, or the shape is too large.
    #[track_caller]
    pub fn record_input(&self, name: impl Into<String>, shape: impl Into<Shape>) -> Result<Var<'_>> {
        self.leaf(Input::PerRecord(name.into()), shape.into().checked()?, Kind::PerRecord)
    }

    #[track_caller]
    pub(crate) fn column(&self, index: usize, name: &str, shape: &Shape) -> Result<Var<'_>> {
        let input = Input::Column { index, name: name.to_owned() };
        self.leaf(input, shape.clone().checked()?, Kind::PerRecord)
    }

    #[track_caller]
    fn leaf(&self, input: Input, shape: Shape, kind: Kind) -> Result<Var<'_>> {
        if self.immediate {
            let told =
                format!("the input '{input}' where everything is computed at once ({})", Source::caller());
            return Err(Error::Unsupported(told));
        }
        let inputs = self.inputs.borrow();
        // A name stands for one input, of one kind.
        let of_other_kind = match &input {
            Input::Shared(name) => inputs.get(&Input::PerRecord(name.clone())).cloned(),
            Input::PerRecord(name) => inputs.get(&Input::Shared(name.clone())).cloned(),
            Input::Column { .. } => None,
        };
        let redeclared =
            of_other_kind.or_else(|| inputs.get(&input).filter(|&first| *first != shape).cloned());
        drop(inputs);
        match redeclared {
            Some(first) => Err(Error::InputRedeclared { name: input.to_string(), first, second: shape }),
            None => Ok(self.push(Op::Input(input), &[], shape, kind)),
        }
    }

    /// A number known now.
    #[track_caller]
    #[inline]
    pub fn constant(&self, value: f64) -> Var<'_> {
        if self.immediate {
            return Var::immediate(self, value);
        }
        self.recorded_constant(value)
    }

    #[track_caller]
    fn recorded_constant(&self, value: f64) -> Var<'_> {
        self.push(Op::Constant(Constant::scalar(value)), &[], Shape::scalar(), Kind::Shared)
    }

    /// An array known now.
    #[track_caller]
    pub fn array(&self, values: &ArrayD<f64>) -> Var<'_> {
        if let (true, [], Some(&value)) = (self.immediate, values.shape(), values.first()) {
            return Var::immediate(self, value);
        }
        let constant = Constant::array(values);
        let shape = constant.shape().clone();
        self.push(Op::Constant(constant), &[], shape, Kind::Shared)
    }

    /// The first mistake made in an expression on this graph, if any.
    ///
    /// # Errors
    /// That mistake.
    pub fn check(&self) -> Result<()> {
        if self.immediate {
            return Err(Error::Unsupported("a program of what is computed at once".to_owned()));
        }
        match &*self.failure.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// A graph on which everything is computed at once. Its first node is what a number that is not recorded
    /// is for those who look it up nevertheless.
    pub(crate) fn at_once() -> Self {
        let mut graph = Self::new();
        graph.recorded_constant(f64::NAN);
        graph.immediate = true;
        graph
    }

    /// Forgets what was recorded, of a graph on which everything is computed at once. True where something
    /// has failed.
    pub(crate) fn forget(&self) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        nodes.truncate(1);
        let mut failure = self.failure.borrow_mut();
        let failed = failure.is_some();
        if failed {
            *failure = None;
        }
        failed
    }

    /// Number of operations recorded so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    /// Whether nothing has been recorded yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Operations recorded from now on are said to come from there, or again from where they are written.
    pub(crate) fn attribute(&self, origin: Option<Origin>) {
        *self.attribution.borrow_mut() = origin;
    }

    /// Operations recorded from now on belong to this site and come from this line, until the answer is
    /// dropped. (A distribution behind a pointer does not know who called it.)
    pub(crate) fn enter_site(&self, name: &str, line: Source) -> InSite<'_> {
        let outer = self.site.replace(Some(name.into()));
        InSite { graph: self, outer, outer_line: self.line.replace(Some(line)) }
    }

    pub(crate) fn node(&self, id: u32) -> Node {
        self.nodes.borrow()[id as usize].clone()
    }

    pub(crate) fn with_node<R>(&self, id: u32, f: impl FnOnce(&Node) -> R) -> R {
        f(&self.nodes.borrow()[id as usize])
    }

    pub(crate) fn with_nodes<R>(&self, f: impl FnOnce(&[Node]) -> R) -> R {
        f(&self.nodes.borrow())
    }

    pub(crate) fn var(&self, id: u32) -> Var<'_> {
        Var::new(self, id)
    }

    /// Keeps the first failure and hands back a value that later operations can go on with.
    #[track_caller]
    pub(crate) fn fail(&self, error: Error) -> Var<'_> {
        let error = match self.line.get() {
            Some(line) => error.at_line(line),
            None => error,
        };
        self.failure.borrow_mut().get_or_insert(error);
        self.constant(f64::NAN)
    }

    /// A leaf that stands for a value of one step of a scan. It has a name of its own.
    #[track_caller]
    pub(crate) fn bound_leaf(&self, shape: Shape, kind: Kind) -> Var<'_> {
        let name = |count: usize| match kind {
            Kind::Shared => Input::Shared(format!("value {count} of a step")),
            Kind::PerRecord => Input::PerRecord(format!("value {count} of a step of each record")),
        };
        let first = self.bound.borrow().len();
        let free = (first..).map(name).find(|input| !self.inputs.borrow().contains_key(input));
        let leaf = self.push(Op::Input(free.unwrap_or_else(|| name(first))), &[], shape, kind);
        self.bound.borrow_mut().insert(leaf.id());
        leaf
    }

    /// Fails if one of these nodes stands for a value of one step of a scan.
    pub(crate) fn check_bound(&self, needed: impl Fn(usize) -> bool) -> Result<()> {
        let bound = self.bound.borrow();
        match bound.iter().copied().filter(|&id| needed(id as usize)).min() {
            Some(id) => {
                let place = self.with_node(id, |node| node.source.to_string());
                let told = format!(
                    "a value of one step of a scan outside the scan ({place}); give it back from the body as an output"
                );
                Err(Error::Unsupported(told))
            }
            None => Ok(()),
        }
    }

    /// A leaf of another program, as it stands there.
    pub(crate) fn copy_leaf(&self, op: Op, shape: Shape, kind: Kind) -> Var<'_> {
        self.push(op, &[], shape, kind)
    }

    #[track_caller]
    fn push(&self, op: Op, args: &[u32], shape: Shape, kind: Kind) -> Var<'_> {
        if self.immediate {
            // Not worth looking for among what was computed before.
            let mut nodes = self.nodes.borrow_mut();
            nodes.push(Node {
                op,
                args: args.to_vec(),
                shape,
                kind,
                source: Origin::new(Source::caller(), None),
            });
            return Var::new(self, nodes.len() as u32 - 1);
        }
        let mut sorted = args.to_vec();
        if commutes(&op) {
            sorted.sort_unstable();
        }
        let key = (op, sorted, shape);
        if let Some(&id) = self.known.borrow().get(&key) {
            return Var::new(self, id);
        }
        let mut nodes = self.nodes.borrow_mut();
        let id = nodes.len() as u32;
        let (op, _, shape) = key.clone();
        let attributed = self.attribution.borrow().clone();
        // Not `unwrap_or_else(Source::caller)`: the caller would be the standard library.
        let source = match attributed {
            Some(origin) => origin,
            None => {
                let here = Source::caller();
                Origin::new(self.line.get().unwrap_or(here), self.site.borrow().clone())
            }
        };
        if let Op::Input(input) = &op {
            self.inputs.borrow_mut().entry(input.clone()).or_insert_with(|| shape.clone());
        }
        nodes.push(Node { op, args: args.to_vec(), shape, kind, source });
        self.known.borrow_mut().insert(key, id);
        Var::new(self, id)
    }

    /// Records an operation on `args`; its own rule says whether their shapes suit it. What is known now is
    /// computed now.
    #[track_caller]
    pub(crate) fn apply<'g>(&'g self, op: Op, args: &[Var<'g>]) -> Var<'g> {
        let name = op.name();
        self.apply_as(name, op, args)
    }

    /// The same, where an error carries the name of the method that was called.
    #[track_caller]
    pub(crate) fn apply_as<'g>(&'g self, name: &'static str, op: Op, args: &[Var<'g>]) -> Var<'g> {
        if let Some(error) = args.iter().find_map(|arg| arg.require_on(self, name).err()) {
            return self.fail(error);
        }
        let shapes: Vec<Shape> = args.iter().map(|arg| arg.shape()).collect();
        let shape = match op.shape(&shapes) {
            Ok(shape) => shape,
            Err(misfit) => return self.fail(misfit_error(name, misfit, &shapes)),
        };
        if let Some(constant) = fold(&op, args, &shapes, &shape, self.immediate) {
            if let (true, Some(number)) = (self.immediate, constant.as_scalar()) {
                return Var::immediate(self, number);
            }
            let shape = constant.shape().clone();
            return self.push(Op::Constant(constant), &[], shape, Kind::Shared);
        }
        if self.immediate {
            let told = format!("{name} where everything is computed at once ({})", Source::caller());
            return self.fail(Error::Unsupported(told));
        }
        let kind = args.iter().map(|arg| arg.kind()).max().unwrap_or(Kind::Shared);
        match shape.checked() {
            Ok(shape) => self.push(op, &args.iter().map(|arg| arg.id()).collect::<Vec<_>>(), shape, kind),
            Err(error) => self.fail(error),
        }
    }
}

/// A site being built; dropped, the one around it is again.
pub(crate) struct InSite<'g> {
    graph: &'g Graph,
    outer: Option<Arc<str>>,
    outer_line: Option<Source>,
}

impl Drop for InSite<'_> {
    fn drop(&mut self) {
        *self.graph.site.borrow_mut() = self.outer.take();
        self.graph.line.set(self.outer_line);
    }
}

/// Whether two arguments may change places without changing a bit of the result (but for which NaN it is).
fn commutes(op: &Op) -> bool {
    matches!(op, Op::Binary(Binary::Add | Binary::Mul | Binary::Equal) | Op::Linear(Linear::Inner))
}

#[track_caller]
fn misfit_error(operation: &'static str, misfit: Misfit, shapes: &[Shape]) -> Error {
    let source_line = Source::caller();
    match misfit {
        Misfit::Pair => {
            let (left, right) = (shapes[0].clone(), shapes[1].clone());
            Error::ShapeMismatch { operation, left, right, source_line }
        }
        Misfit::Argument(which, expected) => {
            Error::UnexpectedShape { operation, expected, got: shapes[which].clone(), source_line }
        }
        Misfit::Count => {
            let told = format!("{operation} on {} arguments ({source_line})", shapes.len());
            Error::Unsupported(told)
        }
    }
}

/// Largest array of constants that is computed while tracing.
const LARGEST_FOLD: usize = 4096;

/// The result, if all arguments are known, and it is not larger than what it is made from or is computed
/// always.
fn fold(op: &Op, args: &[Var<'_>], shapes: &[Shape], shape: &Shape, always: bool) -> Option<Constant> {
    let known: Vec<Vec<f64>> = args.iter().map(|arg| arg.known_elements()).collect::<Option<_>>()?;
    let largest = known.iter().map(Vec::len).max()?;
    let elements = shape.elements();
    if !always && (elements > largest || largest > LARGEST_FOLD) {
        return None;
    }
    let operands: Vec<Operand<'_, f64>> = known.iter().map(|values| Operand::Rows(values)).collect();
    Some(Constant::new(op.on_one_lane(&operands, shapes, shape, true), shape.clone()))
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph of {} operations", self.len())
    }
}

/// Values of constants, for a plan's buffers.
pub(crate) fn constant_values<T: Scalar>(constant: &Constant) -> Vec<T> {
    constant.values().map(T::of).collect()
}
