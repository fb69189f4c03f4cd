//! A loop along the first axis of arrays, with a carried state.
//!
//! A scan is one operation that holds the program of one step, its *body*. The body has three groups of
//! leaves (what is carried, a row of each input, and values of the graph around it, which are *captured*) and
//! three groups of results:
//!
//! | group | result |
//! |---|---|
//! | carried | the state after the step |
//! | stacked | a row of an output |
//! | summed | a term of a sum over all steps |
//!
//! The derivative of a scan is a scan in the opposite direction over the derivative of the body: what was
//! carried is carried back, the cotangents of stacked outputs are inputs, those of sums are captured; inputs
//! have stacked cotangents, and captured values summed ones. So the three groups are closed under
//! differentiation, and derivatives of all orders follow from one rule (`transform/scan.rs`).
//!
//! The result of the operation is one vector: the states before, between and after all steps, then the
//! stacked outputs, then the sums. That the states are kept is what lets the derivative go backwards.

mod arrays;
mod body;
mod compiled;

use super::{Cotangent, Graph, Kind, Misfit, Op, Operand, Primitive, Var, Work};
use crate::base::{Error, Result, Shape, Source};
use crate::machine::Scalar;
pub use arrays::Arrays;
#[cfg(feature = "serde")]
pub(crate) use body::node;
pub(crate) use body::{ALL_COPIED, Body, LARGEST_COPIED};
pub(crate) use compiled::Compiled;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Most steps of a scan.
pub(crate) const MOST_STEPS: usize = 1 << 31;

/// A loop with a carried state; made by [`Graph::scan`].
#[derive(Clone)]
pub struct Scan {
    body: Arc<Body>,
    steps: usize,
    /// Whether it begins with the last rows.
    reversed: bool,
}

/// A part of a scan's result: `rows` arrays of one shape, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) rows: usize,
    pub(crate) shape: Shape,
}

impl Block {
    /// Some of its rows, stacked.
    #[track_caller]
    pub(crate) fn rows_of<'g>(&self, result: Var<'g>, rows: std::ops::Range<usize>) -> Var<'g> {
        let (width, count) = (self.shape.elements(), rows.len());
        let part = result.slice(0, self.start + rows.start * width..self.start + rows.end * width);
        part.reshape(Shape::from(count).concat(&self.shape))
    }

    /// One of its rows.
    #[track_caller]
    pub(crate) fn row_of<'g>(&self, result: Var<'g>, row: usize) -> Var<'g> {
        self.rows_of(result, row..row + 1).reshape(self.shape.clone())
    }
}

/// The parts of a scan's result.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    /// States, one more than there are steps. A forward scan's step `t` goes from row `t` to row `t + 1`, a
    /// reversed one's from row `t + 1` to row `t`.
    pub(crate) carries: Vec<Block>,
    /// Stacked outputs, a row for each step.
    pub(crate) outputs: Vec<Block>,
    /// Sums, of one row.
    pub(crate) sums: Vec<Block>,
    /// Elements of everything.
    pub(crate) elements: usize,
}

impl Scan {
    pub(crate) fn new(body: Body, steps: usize, reversed: bool) -> Self {
        Self { body: Arc::new(body), steps, reversed }
    }

    /// The program of one step.
    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// The same loop over another body.
    pub(crate) fn with_body(&self, body: Body) -> Self {
        Self::new(body, self.steps, self.reversed)
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Number of operations of one step, its leaves not counted.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.body.nodes().len() - self.body.leaves()
    }

    /// Whether the first step takes the last rows.
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Where the parts of the result are.
    pub(crate) fn blocks(&self) -> Blocks {
        let body = self.body();
        let mut elements = 0_usize;
        let mut group = |values: &[u32], rows: usize| -> Vec<Block> {
            let block = |&value: &u32| {
                let shape = body.nodes()[value as usize].shape.clone();
                let start = elements;
                elements = elements.saturating_add(rows.saturating_mul(shape.elements()));
                Block { start, rows, shape }
            };
            values.iter().map(block).collect()
        };
        let carries = group(body.carried(), self.steps + 1);
        let outputs = group(body.stacked(), self.steps);
        let sums = group(body.summed(), 1);
        Blocks { carries, outputs, sums, elements }
    }

    /// The shape that the argument at this position must have.
    fn argument(&self, position: usize) -> Shape {
        let body = self.body();
        let leaf = body.nodes()[position].shape.clone();
        let is_input = (body.carries()..body.carries() + body.inputs()).contains(&position);
        if is_input { Shape::from(self.steps).concat(&leaf) } else { leaf }
    }
}

impl Primitive for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        if args.len() != self.body().leaves() {
            return Err(Misfit::Count);
        }
        let wrong = args.iter().enumerate().find(|&(position, shape)| self.argument(position) != *shape);
        match wrong {
            Some((position, _)) => {
                Err(Misfit::Argument(position, format!("shape {}", self.argument(position))))
            }
            None => Ok(Shape::from(self.blocks().elements)),
        }
    }

    /// Compiles the body first. A plan has compiled it before.
    #[inline(never)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let shared: Vec<bool> =
            work.args.iter().map(|arg| work.lanes > 0 && matches!(arg, Operand::Shared(_))).collect();
        let compiled = Compiled::new(self, &shared);
        let mut scratch = vec![T::zero(); compiled.scratch_rows() * work.lanes];
        compiled.run((work.lanes, work.shared), work.out, &|index| work.args[index], &mut scratch);
    }

    /// Not reached: all arguments have their cotangents from one scan, by `transform/scan.rs`.
    fn pullback<'g>(
        &self,
        _args: &[Var<'g>],
        result: Var<'g>,
        _cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let error = Error::Unsupported("the derivative of a scan by one argument alone".to_owned());
        Some(Cotangent::Value(result.graph().fail(error)))
    }
}

/// By what is computed: source lines do not count.
impl PartialEq for Scan {
    fn eq(&self, other: &Self) -> bool {
        self.steps == other.steps
            && self.reversed == other.reversed
            && (Arc::ptr_eq(&self.body, &other.body) || self.body == other.body)
    }
}

impl Eq for Scan {}

impl Hash for Scan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.steps, self.reversed).hash(state);
        self.body.hash(state);
    }
}

/// Everything that is computed, which fingerprints of programs are made from.
impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan {{ steps: {}, reversed: {}, body: {:?} }}", self.steps, self.reversed, self.body)
    }
}

impl Graph {
    /// A loop along the first axis of `inputs`, with a state that is carried from step to step:
    ///
    /// ```text
    /// (cₜ₊₁, yₜ) = body(cₜ, xₜ)    for t = 0 … T − 1
    /// ```
    ///
    /// The result is the last state `c_T` and the outputs `yₜ`, stacked along a new first axis. State, inputs
    /// and outputs are single values or tuples, arrays or vectors of them, see [`Arrays`]. Each input has
    /// shape `[T, …]`, and the body sees one row, of shape `[…]`. A state keeps its shape from step to step;
    /// an output has any shape. With `T = 0` the result is the initial state and empty outputs.
    ///
    /// `body` runs once, on symbolic values: the number of operations of the program, and the time it takes
    /// to plan it, do not depend on `T`. Values of the graph around it may be used in the body as they are;
    /// what depends on nothing else is computed once, before the loop. Statements of a model
    /// ([`Ctx`](crate::Ctx)) have no place in the body: values of a step that are used outside it are an
    /// error when the program is made.
    ///
    /// The loop can be differentiated any number of times. Its states are kept, `(T + 1)` times the size of
    /// the state, and the derivative is a loop backwards that computes the rest of each step anew.
    ///
    /// It is the `scan` of JAX and of `numpyro.contrib.control_flow`.
    ///
    /// # Errors
    /// If there is no input (see [`Graph::scan_steps`]), inputs have first axes of different lengths or no
    /// axis, a state has another shape after the step, a value belongs to another graph, the result is too
    /// large, or an expression of the body has failed; whatever error the body returns.
    ///
    /// ```
    /// use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// // An autoregressive series: yₜ₊₁ = a yₜ + eₜ.
    /// let graph = Graph::new();
    /// let (a, e) = (graph.input("a", ())?, graph.input("e", [3])?);
    /// let (last, series) = graph.scan(graph.constant(1.0), e, |y, e| {
    ///     let next = a * y + e;
    ///     Ok((next, next))
    /// })?;
    /// let slope = gradient(last, &[a])?[0];
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[last, series, slope])?);
    /// plan.set("a", &[2.0])?;
    /// plan.set("e", &[0.0, 1.0, 0.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [10.0]);
    /// assert_eq!(plan.output(1), [2.0, 5.0, 10.0]);
    /// assert_eq!(plan.output(2), [13.0]); // 3a² + 1
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<'g, C: Arrays<'g>, X: Arrays<'g>, Y: Arrays<'g>>(
        &'g self,
        initial: C,
        inputs: X,
        body: impl FnOnce(C, X) -> Result<(C, Y)>,
    ) -> Result<(C, Y)> {
        let steps = rows_of(&inputs.listed())?;
        self.scan_over(steps, initial, inputs, body)
    }

    /// A loop of `steps` steps without inputs, `(cₜ₊₁, yₜ) = body(cₜ)`; else as [`Graph::scan`].
    ///
    /// # Errors
    /// As [`Graph::scan`].
    ///
    /// ```
    /// use ppl_core::{Graph, Program};
    /// // Fibonacci's numbers.
    /// let graph = Graph::new();
    /// let one = graph.constant(1.0);
    /// let (_, numbers) = graph.scan_steps(6, (one, one), |(a, b)| Ok(((b, a + b), a)))?;
    /// let program = Program::new(&graph, &[numbers])?;
    /// assert_eq!(program.interpret(&[].into(), None)?, [[1.0, 1.0, 2.0, 3.0, 5.0, 8.0]]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_steps<'g, C: Arrays<'g>, Y: Arrays<'g>>(
        &'g self,
        steps: usize,
        initial: C,
        body: impl FnOnce(C) -> Result<(C, Y)>,
    ) -> Result<(C, Y)> {
        self.scan_over(steps, initial, (), |carry, ()| body(carry))
    }

    #[track_caller]
    fn scan_over<'g, C: Arrays<'g>, X: Arrays<'g>, Y: Arrays<'g>>(
        &'g self,
        steps: usize,
        initial: C,
        inputs: X,
        body: impl FnOnce(C, X) -> Result<(C, Y)>,
    ) -> Result<(C, Y)> {
        let (before, arrays) = (initial.listed(), inputs.listed());
        let (carries, rows) = self.scan_leaves(steps, &before, &arrays)?;
        let (carry, outputs) =
            body(initial.with(&mut carries.iter().copied()), inputs.with(&mut rows.iter().copied()))?;
        let (last, stacked) = self.scan_values(
            steps,
            [&before, &arrays],
            [&carries, &rows],
            [&carry.listed(), &outputs.listed()],
        )?;
        Ok((carry.with(&mut last.into_iter()), outputs.with(&mut stacked.into_iter())))
    }

    /// Values of one step: what is carried into it, and its rows of the inputs.
    #[track_caller]
    fn scan_leaves<'g>(
        &'g self,
        steps: usize,
        before: &[Var<'g>],
        arrays: &[Var<'g>],
    ) -> Result<(Vec<Var<'g>>, Vec<Var<'g>>)> {
        self.check()?;
        if steps > MOST_STEPS {
            return Err(Error::Values(format!("scan: {steps} steps, and {MOST_STEPS} is the most")));
        }
        for value in before.iter().chain(arrays) {
            value.require_on(self, "scan")?;
        }
        // Whether a step's value is one for all records is decided when the program is planned.
        let kind = before.iter().chain(arrays).map(|value| value.kind()).max().unwrap_or(Kind::Shared);
        // Loops and not closures, in which the line of the caller would be lost.
        let (mut carries, mut rows) = (Vec::with_capacity(before.len()), Vec::with_capacity(arrays.len()));
        for value in before {
            carries.push(self.bound_leaf(value.shape(), kind));
        }
        for x in arrays {
            rows.push(self.bound_leaf(Shape::from(&x.shape().dims()[1..]), kind));
        }
        Ok((carries, rows))
    }

    /// The loop over a body that has run: the last state and the stacked outputs.
    #[track_caller]
    fn scan_values<'g>(
        &'g self,
        steps: usize,
        [before, arrays]: [&[Var<'g>]; 2],
        [carries, rows]: [&[Var<'g>]; 2],
        [after, stacked]: [&[Var<'g>]; 2],
    ) -> Result<(Vec<Var<'g>>, Vec<Var<'g>>)> {
        let source_line = Source::caller();
        self.check()?;
        for value in after.iter().chain(stacked) {
            value.require_on(self, "scan")?;
        }
        if after.len() != before.len() {
            return Err(Error::Values(format!(
                "scan: {} arrays are carried into a step and {} out of it ({source_line})",
                before.len(),
                after.len()
            )));
        }
        for (position, (before, after)) in before.iter().zip(after).enumerate() {
            if before.shape() != after.shape() {
                return Err(Error::UnexpectedShape {
                    operation: "scan",
                    expected: format!(
                        "the carried array {position} to keep its shape {} after a step",
                        before.shape()
                    ),
                    got: after.shape(),
                    source_line,
                });
            }
        }
        let cut = Body::cut(self, [carries, rows, &[]], [after, stacked, &[]], LARGEST_COPIED);
        let before = before.iter().copied();
        let args: Vec<Var<'g>> =
            before.chain(cut.inputs.iter().map(|&kept| arrays[kept])).chain(cut.found).collect();
        let scan = Scan::new(cut.body, steps, false);
        let blocks = scan.blocks();
        Shape::from(blocks.elements).checked()?;
        let result = self.apply(Op::Scan(scan), &args);
        self.check()?;
        let (mut last, mut stacked) = (Vec::new(), Vec::new());
        for block in &blocks.carries {
            last.push(block.row_of(result, steps));
        }
        for block in &blocks.outputs {
            stacked.push(block.rows_of(result, 0..steps));
        }
        self.check()?;
        Ok((last, stacked))
    }
}

/// Rows of the inputs of a loop, which must be as many in each.
#[track_caller]
fn rows_of(inputs: &[Var<'_>]) -> Result<usize> {
    let source_line = Source::caller();
    let mut steps = None;
    for x in inputs {
        let shape = x.shape();
        let misfit = |expected: String| Error::UnexpectedShape {
            operation: "scan",
            expected,
            got: shape.clone(),
            source_line,
        };
        match (shape.dims().first(), steps) {
            (None, _) => return Err(misfit("an input with a first axis to go along".to_owned())),
            (Some(&length), Some(steps)) if length != steps => {
                return Err(misfit(format!("an input of {steps} rows, as the first one has")));
            }
            (Some(&length), _) => steps = Some(length),
        }
    }
    steps.ok_or_else(|| {
        Error::Values(format!("scan: there is no input to go along; use scan_steps ({source_line})"))
    })
}
