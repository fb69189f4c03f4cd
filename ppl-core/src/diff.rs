//! Reverse-mode differentiation: from a program to a program.
//!
//! The derivative is written into the same graph, out of the same primitives, so it can be differentiated or contracted
//! again, and work it shares with the value is done once.

use crate::error::{Error, Result, Source};
use crate::graph::Kind;
use crate::op::Cotangent;
use crate::var::Var;

/// The gradient of a scalar with respect to each of `wrt`.
///
/// ```text
/// gradient(y, [x₁, …])ₖ = ∂y/∂xₖ        (shape of xₖ)
/// ```
///
/// If `output` is per record, so are the gradients: one array for each record. That is the *materialised* form, which
/// costs (records × parameters) numbers; training contracts instead, see [`RecordGradient`](crate::RecordGradient).
///
/// # Errors
/// If `output` is not a scalar, or an expression of the graph has failed before.
///
/// ```
/// # use ppl_core::{Graph, gradient, Plan, Program};
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let dy = gradient((x * x).exp(), &[x])?[0];
/// let ddy = gradient(dy, &[x])?[0]; // and again
/// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[dy, ddy])?);
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

/// The sum of several cotangents of one array.
pub(crate) fn total<'g>(cotangents: &[Cotangent<'g>]) -> Option<Var<'g>> {
    cotangents.iter().map(|cotangent| cotangent.value()).reduce(|sum, next| sum + next)
}

/// One backward pass. For each of `wrt`, the cotangents that reach it, one for each use, products not multiplied out.
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
    let last = outputs.iter().map(|(output, _)| output.id()).max().unwrap_or(0) as usize;
    // Which nodes the derivative passes through: those that depend on one of `wrt`.
    let mut active = vec![false; last + 1];
    graph.with_nodes(|nodes| {
        for id in 0..=last {
            active[id] = wrt.iter().any(|x| x.id() as usize == id)
                || nodes[id].args.iter().any(|&arg| active[arg as usize]);
        }
    });
    let mut arriving: Vec<Vec<Cotangent<'g>>> = vec![Vec::new(); last + 1];
    for &(output, seed) in outputs {
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
        let args: Vec<Var<'g>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
        for (which, &arg) in args.iter().enumerate() {
            if active[arg.id() as usize]
                && let Some(cotangent) = node.op.pullback(&args, graph.var(id as u32), cotangent, which)
            {
                arriving[arg.id() as usize].push(cotangent);
            }
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
