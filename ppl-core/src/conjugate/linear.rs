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
    let later = active.iter().enumerate().filter(|&(id, &active)| active && id != block.id() as usize);
    for (id, _) in later {
        let here = graph.var(id as u32);
        if !is_linear(here, block)? {
            return Err(not_linear(here, "is not linear in it"));
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
                    matches!(
                        unary,
                        Unary::Sign
                            | Unary::Floor
                            | Unary::IsFinite
                            | Unary::OutsideIntegers(_)
                            | Unary::StopGradient
                    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Graph;
    use crate::strategies;
    use crate::strategies::programs::{Choices, Menu, grow};
    use crate::{ExecutionPlan, Program};
    use proptest::prelude::*;

    /// Values of an array at `x`, and halfway to either side along a direction.
    fn at(program: &Program, x: &[f64], y: f64) -> Vec<f64> {
        let mut plan = ExecutionPlan::<f64>::new(program);
        for (name, values) in [("x", x), ("y", &[y][..])] {
            if let Ok(input) = plan.input(name) {
                plan.input_mut(input).copy_from_slice(values);
            }
        }
        plan.run();
        plan.output(0).to_vec()
    }

    proptest! {
        /// What is accepted as linear has no second differences, whatever the program.
        #[test]
        fn nothing_with_a_second_difference_is_accepted(bytes in strategies::bytes()) {
            let graph = Graph::new();
            let (x, y) = (graph.input("x", [2, 3]).unwrap(), graph.input("y", ()).unwrap());
            let mut values = vec![x, y];
            let last = grow(&mut Choices::new(&bytes), &mut values, Menu::Smooth, 12);
            values.extend(last);
            for value in values.into_iter().filter(|value| !value.is(x)) {
                if require_linear(value, x).is_err() {
                    continue;
                }
                let program = Program::new(&graph, &[value]).unwrap();
                let middle = [0.3, -0.7, 1.1, 0.9, -0.2, 0.5];
                let along = [0.5, 0.25, -1.0, 0.75, 1.5, -0.5];
                let moved = |t: f64| -> Vec<f64> {
                    let x: Vec<f64> = middle.iter().zip(along).map(|(x, a)| x + t * a).collect();
                    at(&program, &x, 0.4)
                };
                let (here, up, down) = (moved(0.0), moved(1.0), moved(-1.0));
                for ((here, up), down) in here.iter().zip(&up).zip(&down) {
                    if here.is_finite() && up.is_finite() && down.is_finite() {
                        let size = here.abs() + up.abs() + down.abs();
                        prop_assert!((up + down - 2.0 * here).abs() <= 1e-9 * (1.0 + size), "{program}");
                    }
                }
            }
        }
    }

    #[test]
    fn common_functions_are_told_apart() {
        let graph = Graph::new();
        let (w, c) = (graph.input("w", [3]).unwrap(), graph.input("c", [3]).unwrap());
        let matrix = graph.input("m", [3, 3]).unwrap();
        let linear = [
            w * 2.0 - c,
            matrix.dot(w),
            w.cumsum(0),
            w.slice(0, 1..),
            (w / c).sum(),
            c.greater(0.0).select(w, 1.0),
            w.outer(c).transpose(),
            graph.stack(&[w, c], 0),
        ];
        for value in linear {
            require_linear(value, w).unwrap();
        }
        let others = [
            w.square(),
            w.exp(),
            w * w,
            (c / w).sum(),
            w.max(0.0),
            w.greater(0.0).select(c, 1.0),
            w.greater(0.0),
            w.floor(),
            w.stop_gradient(),
            w.abs(),
            w.max_axis(0),
            w.softmax(0),
            w.dot(matrix.dot(w)),
        ];
        for value in others {
            assert!(require_linear(value, w).is_err());
        }
    }
}
