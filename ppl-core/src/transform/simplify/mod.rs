//! Simplification: the same results from fewer operations, or better results from stabler ones.
//!
//! A program is written anew, operation by operation, into an empty graph. That alone stores equal operations
//! once, computes what is known and drops what no output needs; on the way *rules* look at each operation
//! with its arguments and may put a better expression in its place.
//!
//! | file | rules | results |
//! |---|---|---|
//! | `identities` | `−(−x) = x`, `x·x = x²`, `a + (−b) = a − b`, … | the same, bit for bit |
//! | `shapes` | chains of reshapes, broadcasts, permutations; work before a broadcast instead of after | the same, bit for bit |
//! | `values_only` | numbers with derivatives of something else, where nothing is differentiated any more | the same, bit for bit |
//! | `stable`, `sums` | `log(1 + x)`, `log(sigmoid x)`, `log Σ exp x`, … | more accurate; finite where the original overflows |
//!
//! "Bit for bit" leaves out which NaN a NaN is. An identity of the reals that fails for some floating-point
//! numbers is no rule: `0·x` is NaN at an infinite `x`, and `x + 0` is not `x` at `−0`.
//!
//! Derivatives profit because [`gradient`](crate::gradient) simplifies what it differentiates first. A rule
//! looks through intermediate values, and a gradient may be taken with respect to one of those; so the arrays
//! a gradient is taken with respect to are opaque to the rules.

mod identities;
mod pattern;
mod shapes;
mod stable;
mod sums;

use crate::base::Result;
use crate::op::scan::{ALL_COPIED, Body};
use crate::op::{Binary, Graph, Op, Scan, Var};
use crate::program::Program;
use pattern::Pattern;
use std::collections::HashSet;

/// Returns what to put in place of an operation on these arguments, if it knows something better.
pub(crate) type Rule = for<'g> fn(&Pattern<'g, '_>, &Op, &[Var<'g>]) -> Option<Var<'g>>;

const EXACT: &[Rule] = &[values_only, identities::rule, shapes::rule];
/// The stable forms come first: an identity must not break the expressions that they look for.
const ALL: &[Rule] = &[values_only, stable::rule, identities::rule, shapes::rule];
/// What is still to be differentiated keeps what its derivatives are made of.
const BEFORE_DIFFERENTIATION: &[Rule] = &[stable::rule, identities::rule, shapes::rule];

/// Of a number with the derivatives of something else the number.
fn values_only<'g>(_see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    match (op, args) {
        (Op::Binary(Binary::WithSlopesOf), &[x, _]) => Some(x),
        _ => None,
    }
}

impl Program {
    /// An equal program with fewer or stabler operations: equal expressions once, known values computed,
    /// chains of reshapes merged, and expressions that overflow or cancel replaced by ones that do not
    /// (`log(1 + exp x)` is a softplus).
    ///
    /// Results may differ from the original's by rounding, and where the original is inaccurate.
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", [3])?;
    /// let program = Program::new(&graph, &[(1.0 + x.exp()).log()])?.simplified();
    /// assert!(program.to_string().contains("softplus"));
    /// let inputs = [("x".to_owned(), vec![-1e3, 0.0, 1e3])].into();
    /// assert_eq!(program.interpret(&inputs, None)?, [[0.0, 2.0_f64.ln(), 1e3]]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn simplified(&self) -> Self {
        rewritten(self, ALL)
    }

    /// As [`Program::simplified`], but with those rules only that keep every bit of every result (but for
    /// which NaN a NaN is).
    #[must_use]
    pub fn simplified_exactly(&self) -> Self {
        rewritten(self, EXACT)
    }
}

/// Most times a program is written anew.
const ROUNDS: usize = 4;

fn rewritten(program: &Program, rules: &[Rule]) -> Program {
    let mut current = program.clone();
    for _ in 0..ROUNDS {
        // What an earlier program could do, its copy can do: an error here means that a rule is wrong, and
        // then none is used.
        let Ok(next) = rewritten_once(&current, rules) else {
            return current;
        };
        if next.same_as(&current) {
            break;
        }
        current = next;
    }
    current
}

fn rewritten_once(program: &Program, rules: &[Rule]) -> Result<Program> {
    let graph = Graph::new();
    let opaque = HashSet::new();
    let pattern = Pattern { graph: &graph, opaque: &opaque };
    let mut values: Vec<Var<'_>> = Vec::with_capacity(program.len());
    for instruction in &program.instructions {
        graph.attribute(Some(instruction.source.clone()));
        let value = match &instruction.op {
            leaf @ (Op::Input(_) | Op::Constant(_)) => {
                graph.copy_leaf(leaf.clone(), instruction.shape.clone(), instruction.kind)
            }
            op => {
                let args: Vec<Var<'_>> = instruction.args.iter().map(|&arg| values[arg]).collect();
                apply(&pattern, op, &args, rules)
            }
        };
        values.push(value);
    }
    let outputs: Vec<Var<'_>> = program.outputs.iter().map(|&output| values[output]).collect();
    Program::new(&graph, &outputs)
}

/// The operation on these arguments, or what a rule puts in its place.
fn apply<'g>(pattern: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>], rules: &[Rule]) -> Var<'g> {
    // An operand that was left out may have been the one with the larger shape, or the only one that is per
    // record: then the next rule may know better.
    let shapes: Vec<_> = args.iter().map(|arg| arg.shape()).collect();
    let kind = args.iter().map(|arg| arg.kind()).max();
    let shape = op.shape(&shapes).ok();
    let fits = |better: &Var<'g>| shape == Some(better.shape()) && kind == Some(better.kind());
    if let Op::Scan(scan) = op {
        return pattern.graph.apply(Op::Scan(simplified_scan(scan, rules)), args);
    }
    let better = rules.iter().find_map(|rule| rule(pattern, op, args).filter(fits));
    better.unwrap_or_else(|| pattern.graph.apply(op.clone(), args))
}

/// A scan over its simplified body.
fn simplified_scan(scan: &Scan, rules: &[Rule]) -> Scan {
    let body = scan.body();
    let graph = Graph::new();
    let opaque = HashSet::new();
    let pattern = Pattern { graph: &graph, opaque: &opaque };
    let leaves = body.new_leaves(&graph, "leaf");
    let values = body.write(&graph, &leaves, |op, args| apply(&pattern, op, args, rules));
    let results = body
        .results()
        .each_ref()
        .map(|group| group.iter().map(|&at| values[at as usize]).collect::<Vec<_>>());
    // An error here means that a rule is wrong, and then none is used.
    if graph.check().is_err() {
        return scan.clone();
    }
    // All arguments stay, used or not.
    let cut =
        Body::cut(&graph, [&leaves, &[], &[]], results.each_ref().map(|group| group.as_slice()), ALL_COPIED);
    scan.with_body(cut.body.with_groups(body.groups()))
}

/// What `outputs` are when everything between them and `wrt` is simplified: new values of the same graph.
pub(crate) fn before_differentiation<'g>(
    graph: &'g Graph,
    outputs: &[Var<'g>],
    wrt: &[Var<'g>],
) -> Vec<Var<'g>> {
    let opaque: HashSet<u32> = wrt.iter().map(|x| x.id()).collect();
    let pattern = Pattern { graph, opaque: &opaque };
    let last = outputs.iter().map(|output| output.id() as usize + 1).max().unwrap_or(0);
    // Only what lies between the two is looked at: what does not depend on `wrt` has no derivative.
    let (active, needed) = graph.with_nodes(|nodes| {
        let (mut active, mut needed) = (vec![false; last], vec![false; last]);
        outputs.iter().for_each(|output| needed[output.id() as usize] = true);
        for (id, node) in nodes.iter().enumerate().take(last) {
            active[id] = opaque.contains(&(id as u32)) || node.args.iter().any(|&arg| active[arg as usize]);
        }
        for (id, node) in nodes.iter().enumerate().take(last).rev() {
            if needed[id] {
                node.args.iter().for_each(|&arg| needed[arg as usize] = true);
            }
        }
        (active, needed)
    });
    let mut now: Vec<u32> = (0..last as u32).collect();
    for id in 0..last {
        let node = graph.node(id as u32);
        if !(active[id] && needed[id]) || opaque.contains(&(id as u32)) || node.args.is_empty() {
            continue;
        }
        graph.attribute(Some(node.source));
        let args: Vec<Var<'g>> = node.args.iter().map(|&arg| graph.var(now[arg as usize])).collect();
        now[id] = apply(&pattern, &node.op, &args, BEFORE_DIFFERENTIATION).id();
    }
    graph.attribute(None);
    outputs.iter().map(|output| graph.var(now[output.id() as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExecutionPlan;

    fn program<'g>(graph: &'g Graph, outputs: &[Var<'g>]) -> Program {
        Program::new(graph, outputs).unwrap()
    }

    #[test]
    fn a_rule_that_does_not_fit_leaves_room_for_the_next() {
        let graph = Graph::new();
        let x = graph.input("x", 3).unwrap();
        // `1 · c = c` has another shape than three ones times `c`; but that is three times `c`, and `c` will
        // do next to `x`.
        let y = graph.constant(1.0).broadcast_to(3) * -0.5 * x;
        assert!(program(&graph, &[y]).simplified_exactly().same_as(&program(&graph, &[-0.5 * x])));
    }

    #[test]
    fn equal_expressions_are_stored_once_whatever_the_order_of_their_operands() {
        let graph = Graph::new();
        let (a, b) = (graph.input("a", 2).unwrap(), graph.input("b", 2).unwrap());
        let before = (a + b, a * b, a.inner(b), a.equal(b));
        let length = graph.len();
        assert!((b + a).is(before.0) && (b * a).is(before.1));
        assert!(b.inner(a).is(before.2) && b.equal(a).is(before.3));
        assert_eq!(graph.len(), length);
        let _ = (a - b, b - a);
        assert_eq!(graph.len(), length + 2);
    }

    #[test]
    fn what_no_output_needs_is_dropped_and_what_is_known_is_computed() {
        let graph = Graph::new();
        let x = graph.input("x", 3).unwrap();
        let doubled = x * (graph.constant(3.0) - 1.0);
        let negated = -(-doubled);
        let simple = program(&graph, &[negated]).simplified_exactly();
        assert_eq!(simple.len(), 3, "{simple}"); // x, 2 and their product
    }

    #[test]
    fn simplifying_twice_changes_nothing() {
        let graph = Graph::new();
        let x = graph.input("x", [2, 3]).unwrap();
        let y = (1.0 + (-x).exp()).reciprocal().log().reshape([3, 2]).reshape(6);
        let once = program(&graph, &[y]).simplified();
        assert_eq!(once.difference(&once.simplified()), None);
        assert!(once.to_string().contains("softplus"), "{once}");
    }

    #[test]
    fn a_gradient_with_respect_to_an_intermediate_value_is_not_simplified_away() {
        let graph = Graph::new();
        let x = graph.input("x", ()).unwrap();
        let inner = 1.0 + x.exp();
        let outer = inner.log();
        let slopes = crate::gradient(outer, &[inner, x]).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&program(&graph, &slopes));
        plan.set("x", &[0.0]).unwrap();
        plan.run();
        assert_eq!((plan.output(0)[0], plan.output(1)[0]), (0.5, 0.5));
    }

    #[test]
    fn a_derivative_is_finite_where_the_written_expression_overflows() {
        let graph = Graph::new();
        let x = graph.input("x", 2).unwrap();
        let slope = crate::gradient((1.0 + x.exp()).log().sum(), &[x]).unwrap()[0];
        let mut plan = ExecutionPlan::<f64>::new(&program(&graph, &[slope]));
        plan.set("x", &[1000.0, -1000.0]).unwrap();
        plan.run();
        assert_eq!(plan.output(0), [1.0, 0.0]);
    }
}
