//! Differentiation, backwards and forwards: from a program to a program.
//!
//! The derivative is written into the same graph, out of the same primitives, so it can be differentiated or
//! contracted again, and work it shares with the value is done once. What is differentiated is simplified
//! first, so that the derivative of `log(1 + exp x)` is that of a softplus and is finite wherever it should
//! be.
//!
//! Only the backward rules are written down. A vector–Jacobian product is linear in its vector, and the
//! transpose of that linear map is the Jacobian–vector product: a dummy vector is pulled back, and the
//! tangent is pulled back through what that wrote. The dummy is gone from the result.

use crate::base::{Error, Result, Source};
use crate::op::{Cotangent, Kind, Node, Var};
use crate::transform::scan::pulled_back;
use crate::transform::simplify::before_differentiation;

/// The gradient of a scalar with respect to each of `wrt`.
///
/// ```text
/// gradient(y, [x₁, …])ₖ = ∂y/∂xₖ        (shape of xₖ)
/// ```
///
/// If `output` is per record, so are the gradients: one array for each record. That is the *materialised*
/// form, which costs (records × parameters) numbers; training contracts instead, see
/// [`RecordGradient`](crate::RecordGradient).
///
/// # Errors
/// If `output` is not a scalar, or an expression of the graph has failed before.
///
/// ```
/// # use ppl_core::{ExecutionPlan, Graph, Program, gradient};
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let dy = gradient((x * x).exp(), &[x])?[0];
/// let ddy = gradient(dy, &[x])?[0]; // and again
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[dy, ddy])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// let e = 1.0_f64.exp();
/// assert!((plan.output(0)[0] - 2.0 * e).abs() < 1e-14);
/// assert!((plan.output(1)[0] - 6.0 * e).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[track_caller]
pub fn gradient<'g>(output: Var<'g>, wrt: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    if !output.shape().is_scalar() {
        return Err(Error::UnexpectedShape {
            operation: "gradient",
            expected: "a scalar to differentiate".to_owned(),
            got: output.shape(),
            source_line: Source::caller(),
        });
    }
    vector_jacobian(&[(output, output.constant(1.0))], wrt)
}

/// The vector–Jacobian product `Σⱼ vⱼ · ∂yⱼ/∂x` for each of `wrt`, summed over the pairs `(y, v)`.
///
/// # Errors
/// If a `v` has not the shape of its `y`, or an expression of the graph has failed before.
#[track_caller]
pub fn vector_jacobian<'g>(outputs: &[(Var<'g>, Var<'g>)], wrt: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    let found = reverse(outputs, wrt)?;
    wrt.iter()
        .zip(found)
        .map(|(&x, cotangents)| {
            let zero = || x.constant(0.0).broadcast_to(x.shape());
            Ok(total(&cotangents).unwrap_or_else(zero))
        })
        .collect::<Result<_>>()
        .and_then(|gradients: Vec<Var<'g>>| {
            outputs.first().map_or(Ok(()), |(y, _)| y.graph().check()).map(|()| gradients)
        })
}

/// A scalar and its gradient with respect to each of `wrt`.
///
/// The value is given back simplified, so that work it shares with the gradient is done once.
///
/// # Errors
/// As [`gradient`].
///
/// ```
/// # use ppl_core::{Graph, value_and_gradient};
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let (value, slopes) = value_and_gradient(x.exp(), &[x])?;
/// assert!(value.is(slopes[0])); // the exponential is its own derivative, and is computed once
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[track_caller]
pub fn value_and_gradient<'g>(output: Var<'g>, wrt: &[Var<'g>]) -> Result<(Var<'g>, Vec<Var<'g>>)> {
    let gradients = gradient(output, wrt)?;
    // The gradient was taken of the simplified value; the same again finds the same nodes.
    let value = before_differentiation(output.graph(), &[output], wrt)[0];
    Ok((value, gradients))
}

/// The Jacobian–vector product `Σₖ ∂y/∂xₖ · tₖ` for each output `y`: how `y` changes when each `xₖ` moves
/// along `tₖ`.
///
/// Shapes: that of `tₖ` is that of `xₖ`; results have those of the outputs. The work is a small multiple of
/// that of the outputs, whatever their size and number.
///
/// # Errors
/// If there are not as many tangents as arrays, a tangent has another shape than its array, or an expression
/// of the graph has failed before.
///
/// ```
/// # use ppl_core::{ExecutionPlan, Graph, Program, jacobian_vector};
/// let graph = Graph::new();
/// let (x, t) = (graph.input("x", [2])?, graph.input("t", [2])?);
/// let change = jacobian_vector(&[x.square()], &[x], &[t])?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &change)?);
/// plan.set("x", &[3.0, 4.0])?;
/// plan.set("t", &[1.0, 10.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [6.0, 80.0]); // 2 x t
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[track_caller]
pub fn jacobian_vector<'g>(
    outputs: &[Var<'g>],
    wrt: &[Var<'g>],
    tangents: &[Var<'g>],
) -> Result<Vec<Var<'g>>> {
    if wrt.len() != tangents.len() {
        let told = format!("jacobian_vector: {} arrays and {} tangents", wrt.len(), tangents.len());
        return Err(Error::Values(told));
    }
    let Some(first) = outputs.first() else {
        return Ok(Vec::new());
    };
    let graph = first.graph();
    for x in outputs.iter().chain(tangents) {
        x.require_on(graph, "jacobian_vector")?;
    }
    let dummies: Vec<Var<'g>> =
        outputs.iter().enumerate().map(|(which, output)| dummy(which, *output)).collect::<Result<_>>()?;
    let pairs: Vec<_> = outputs.iter().copied().zip(dummies.iter().copied()).collect();
    let back = vector_jacobian(&pairs, wrt)?;
    let pairs: Vec<_> = back.into_iter().zip(tangents.iter().copied()).collect();
    let forward = vector_jacobian(&pairs, &dummies)?;
    if depends_on(&forward, &dummies) {
        let told = "a derivative forward through an operation whose backward rule is not linear".to_owned();
        return Err(Error::Unsupported(told));
    }
    Ok(forward)
}

/// The product of the matrix of second derivatives with vectors, `Σₗ ∂²y/∂xₖ∂xₗ · vₗ` for each of `wrt`: how
/// the gradient changes when each `xₗ` moves along `vₗ` (forward over reverse).
///
/// The work is a small multiple of that of the gradient; the matrix is never built.
///
/// # Errors
/// As [`gradient`] and [`jacobian_vector`].
///
/// ```
/// # use ppl_core::{ExecutionPlan, Graph, Program, hessian_vector};
/// let graph = Graph::new();
/// let (x, v) = (graph.input("x", [2])?, graph.input("v", [2])?);
/// let product = hessian_vector(x.square().square().sum(), &[x], &[v])?; // Σ x⁴
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &product)?);
/// plan.set("x", &[1.0, 2.0])?;
/// plan.set("v", &[1.0, 1.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [12.0, 48.0]); // 12 x² v
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[track_caller]
pub fn hessian_vector<'g>(output: Var<'g>, wrt: &[Var<'g>], vectors: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    jacobian_vector(&gradient(output, wrt)?, wrt, vectors)
}

/// A leaf of the shape and kind of an output, that no result keeps.
#[track_caller]
fn dummy<'g>(which: usize, output: Var<'g>) -> Result<Var<'g>> {
    let (graph, shape) = (output.graph(), output.shape());
    // A name stands for one input, of one kind.
    match output.kind() {
        Kind::Shared => graph.input(format!("dummy cotangent {which} of shape {shape}"), shape),
        Kind::PerRecord => {
            graph.record_input(format!("dummy cotangent {which} of shape {shape} of each record"), shape)
        }
    }
}

/// Whether any of `values` is computed from any of `leaves`.
fn depends_on<'g>(values: &[Var<'g>], leaves: &[Var<'g>]) -> bool {
    let Some(graph) = values.first().map(|value| value.graph()) else {
        return false;
    };
    graph.with_nodes(|nodes| {
        let depends = depending(nodes, leaves);
        values.iter().any(|value| depends[value.id() as usize])
    })
}

/// For each of a graph's first nodes, whether it is one of `on` or is computed from one.
pub(crate) fn depending(nodes: &[Node], on: &[Var<'_>]) -> Vec<bool> {
    let mut depends = vec![false; nodes.len()];
    for x in on {
        // One that is not among these nodes plays no part in them.
        if let Some(depends) = depends.get_mut(x.id() as usize) {
            *depends = true;
        }
    }
    for (id, node) in nodes.iter().enumerate() {
        depends[id] |= node.args.iter().any(|&arg| depends[arg as usize]);
    }
    depends
}

/// The sum of several cotangents of one array.
pub(crate) fn total<'g>(cotangents: &[Cotangent<'g>]) -> Option<Var<'g>> {
    cotangents.iter().map(|cotangent| cotangent.value()).reduce(|sum, next| sum + next)
}

/// One backward pass. For each of `wrt`, the cotangents that reach it, one for each use, products not
/// multiplied out.
pub(crate) fn reverse<'g>(
    outputs: &[(Var<'g>, Var<'g>)],
    wrt: &[Var<'g>],
) -> Result<Vec<Vec<Cotangent<'g>>>> {
    let Some(&(first, _)) = outputs.first() else {
        return Ok(vec![Vec::new(); wrt.len()]);
    };
    let graph = first.graph();
    graph.check()?;
    for x in outputs.iter().flat_map(|&(output, seed)| [output, seed]).chain(wrt.iter().copied()) {
        x.require_on(graph, "gradient")?;
    }
    for &(output, seed) in outputs {
        if output.shape() != seed.shape() {
            return Err(Error::ShapeMismatch {
                operation: "vector_jacobian",
                left: output.shape(),
                right: seed.shape(),
                source_line: Source::caller(),
            });
        }
    }
    let (values, seeds): (Vec<_>, Vec<_>) = outputs.iter().copied().unzip();
    let values = before_differentiation(graph, &values, wrt);
    let last = values.iter().map(|output| output.id()).max().unwrap_or(0) as usize;
    // Which nodes the derivative passes through: those that depend on one of `wrt`.
    let active = graph.with_nodes(|nodes| depending(&nodes[..=last], wrt));
    let mut arriving: Vec<Vec<Cotangent<'g>>> = vec![Vec::new(); last + 1];
    for (output, seed) in values.into_iter().zip(seeds) {
        arriving[output.id() as usize].push(Cotangent::Value(seed));
    }
    for id in (0..=last).rev() {
        if !active[id] {
            continue;
        }
        let Some(cotangent) = total(&arriving[id]) else {
            continue;
        };
        let node = graph.node(id as u32);
        graph.attribute(Some(node.source));
        let args: Vec<Var<'g>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
        let is_active: Vec<bool> = args.iter().map(|arg| active[arg.id() as usize]).collect();
        let sent = pulled_back(&node.op, &args, graph.var(id as u32), cotangent, &is_active);
        for (arg, cotangent) in args.iter().zip(sent) {
            arriving[arg.id() as usize].extend(cotangent);
        }
    }
    graph.attribute(None);
    graph.check()?;
    let taken = |x: &Var<'g>| arriving.get(x.id() as usize).cloned().unwrap_or_default();
    Ok(wrt.iter().map(taken).collect())
}

/// Whether a value may leave the part of a program that is run for each record.
pub(crate) fn require_per_record_scalar(output: Var<'_>) -> Result<()> {
    if output.shape().is_scalar() && output.kind() == Kind::PerRecord {
        return Ok(());
    }
    Err(Error::UnexpectedShape {
        operation: "record gradient",
        expected: "one number for each record".to_owned(),
        got: output.shape(),
        source_line: Source::caller(),
    })
}
