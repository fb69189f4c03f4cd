//! Whether a value is linear in an array.

use crate::base::{Error, Result};
use crate::op::{Binary, Op, Reduce, Unary, Var};
use crate::transform::{depending, vector_jacobian};

/// Fails unless `value` is an affine function of `block`: linear, up to what does not depend on it.
///
/// ```text
/// y is affine in b  ⟺  (∂y/∂b)ᵀ v does not depend on b, for an array v of y's shape
/// ```
///
/// The derivative is written down and looked at: no algebra is done, so a function that is affine only after its
/// terms have been multiplied out may be refused; none is accepted that is not affine.
///
/// ```
/// use ppl_core::{Graph, conjugate::require_linear};
/// let graph = Graph::new();
/// let (w, x) = (graph.input("w", [3])?, graph.input("x", [3])?);
/// assert!(require_linear(w.dot(x) - 2.0, w).is_ok());
/// assert!(require_linear(w.dot(w), w).unwrap_err().to_string().contains("inner"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// With the site, the line and the name of the first operation that is not affine; if an expression has failed or
/// the arrays belong to different graphs.
#[track_caller]
pub fn require_linear<'g>(value: Var<'g>, block: Var<'g>) -> Result<()> {
    if is_linear(value, block)? {
        return Ok(());
    }
    let graph = value.graph();
    let last = value.id() as usize;
    let active = graph.with_nodes(|nodes| depending(&nodes[..=last], &[block]));
    // The first operation in the order of evaluation that is not affine in what it is given: each before it is.
    for id in 0..=last {
        if active[id] && id != block.id() as usize {
            let here = graph.var(id as u32);
            if !is_linear(here, block)? {
                return Err(not_linear(here, "is not linear in it"));
            }
        }
    }
    Err(not_linear(value, "is not linear in it"))
}

fn is_linear<'g>(value: Var<'g>, block: Var<'g>) -> Result<bool> {
    let graph = value.graph();
    let seed = graph.bound_leaf(value.shape(), value.kind());
    let slope = vector_jacobian(&[(value, seed)], &[block])?[0];
    let depends = graph.with_nodes(|nodes| depending(nodes, &[block])[slope.id() as usize]);
    Ok(!depends && !stops(value, block))
}

/// Whether a derivative is zero without the function being constant: behind steps, comparisons, indices and
/// stopped gradients.
fn stops(value: Var<'_>, block: Var<'_>) -> bool {
    let graph = value.graph();
    graph.with_nodes(|nodes| {
        let active = depending(&nodes[..=value.id() as usize], &[block]);
        let mut reached = vec![false; nodes.len()];
        reached[value.id() as usize] = true;
        for id in (0..=value.id() as usize).rev() {
            if !(reached[id] && active[id]) {
                continue;
            }
            let node = &nodes[id];
            let moving = |place: usize| active[node.args[place] as usize];
            let flat = match &node.op {
                Op::Unary(unary) => {
                    matches!(unary, Unary::Sign | Unary::Floor | Unary::IsFinite | Unary::StopGradient)
                }
                Op::Binary(binary) => matches!(
                    binary,
                    Binary::Greater
                        | Binary::GreaterEqual
                        | Binary::Equal
                        | Binary::Less
                        | Binary::LessEqual
                        | Binary::NotEqual
                ),
                Op::Select(_) => moving(0),
                Op::Gather(_) | Op::Coincidence(_) => (1..node.args.len()).any(moving),
                Op::Reduce(Reduce::FirstMax { .. }) | Op::Counting(_) | Op::Special(_) | Op::Scan(_) => true,
                _ => false,
            };
            if flat {
                return true;
            }
            node.args.iter().for_each(|&arg| reached[arg as usize] = true);
        }
        false
    })
}

/// The error that names an operation, its site and its line.
pub(super) fn not_linear(at: Var<'_>, problem: &str) -> Error {
    let node = at.graph().node(at.id());
    let error = Error::Unsupported(format!(
        "statistics: {} ({}) {problem}; a model that is not conjugate is fitted with gradients (DpVi)",
        node.op.name(),
        node.source
    ));
    match node.source.site() {
        Some(site) => error.at_site(site),
        None => error,
    }
}
