//! Whether a value can be negative.

use crate::op::{Binary, Linear, Op, Reduce, Shaping, Structure, Unary, Var};
use std::collections::{HashMap, HashSet};

/// Whether a value is not negative whatever its inputs are, in floating-point arithmetic too: a sum, product or
/// quotient of numbers that are not negative is none that is. `known` are nodes that are taken to be so.
pub(super) fn is_non_negative(value: Var<'_>, known: &HashSet<u32>) -> bool {
    let mut found = HashMap::new();
    sign(value, known, &mut found, true)
}

/// Whether all elements are at least 0 (`positive`) or at most 0.
fn sign(
    value: Var<'_>,
    known: &HashSet<u32>,
    found: &mut HashMap<(u32, bool), bool>,
    positive: bool,
) -> bool {
    if let Some(&answer) = found.get(&(value.id(), positive)) {
        return answer;
    }
    let graph = value.graph();
    let node = graph.node(value.id());
    let args: Vec<Var<'_>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
    let mut is = |place: usize, positive: bool| sign(args[place], known, found, positive);
    let answer = match &node.op {
        _ if positive && known.contains(&value.id()) => true,
        Op::Constant(constant) => constant.values().all(|x| if positive { x >= 0.0 } else { x <= 0.0 }),
        Op::Input(_) => false,
        Op::Unary(unary) => match unary {
            Unary::Exp | Unary::Square | Unary::Sigmoid | Unary::Softplus | Unary::Abs => positive,
            Unary::Neg => is(0, !positive),
            Unary::Sqrt => positive,
            Unary::Reciprocal | Unary::StopGradient | Unary::Floor => is(0, positive),
            // Divided by −0, which is not negative, a number is −∞: no record with it counts, but it is
            // finite again here.
            Unary::Tanh | Unary::Sign => is(0, positive) && !divides(args[0]),
            _ => false,
        },
        Op::Binary(binary) => match binary {
            Binary::Add | Binary::Min => is(0, positive) && is(1, positive),
            // For the same reason one of them alone is not enough: the maximum with −∞ is the other one.
            Binary::Max if positive => {
                let alone = |place: usize| !divides(args[place]);
                match (is(0, true), is(1, true)) {
                    (true, true) => true,
                    (one, other) => (one && alone(0)) || (other && alone(1)),
                }
            }
            Binary::Max => is(0, false) && is(1, false),
            Binary::Sub => is(0, positive) && is(1, !positive),
            Binary::Mul if args[0].is(args[1]) => positive,
            Binary::Mul | Binary::Div => {
                (is(0, true) && is(1, positive)) || (is(0, false) && is(1, !positive))
            }
            Binary::Greater
            | Binary::GreaterEqual
            | Binary::Equal
            | Binary::Less
            | Binary::LessEqual
            | Binary::NotEqual => positive,
            _ => false,
        },
        Op::Select(_) => is(1, positive) && is(2, positive),
        Op::Shaping(Shaping::Broadcast(_) | Shaping::SumTo(_) | Shaping::Reshape(_)) => is(0, positive),
        Op::Structure(
            Structure::Permute(_)
            | Structure::Slice { .. }
            | Structure::Spread { .. }
            | Structure::Flip { .. }
            | Structure::Concat { .. },
        ) => (0..args.len()).all(|place| is(place, positive)),
        Op::Gather(_) => is(0, positive),
        Op::Linear(Linear::Inner) if args[0].is(args[1]) => positive,
        Op::Linear(_) | Op::Einsum(_) if args.len() == 2 => {
            (is(0, true) && is(1, positive)) || (is(0, false) && is(1, !positive))
        }
        Op::Reduce(Reduce::Softmax { .. } | Reduce::Norm { .. } | Reduce::FirstMax { .. }) => positive,
        Op::Reduce(Reduce::CumulativeSum { .. } | Reduce::Max { .. }) => is(0, positive),
        _ => false,
    };
    found.insert((value.id(), positive), answer);
    answer
}

/// Whether a value is made by a division, other than behind functions that are positive whatever they are
/// given.
fn divides(value: Var<'_>) -> bool {
    let graph = value.graph();
    let (mut open, mut seen) = (vec![value.id()], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = graph.node(id);
        match &node.op {
            Op::Unary(Unary::Reciprocal) | Op::Binary(Binary::Div) => return true,
            Op::Unary(
                Unary::Exp | Unary::Square | Unary::Sigmoid | Unary::Softplus | Unary::Abs | Unary::Sqrt,
            ) => {}
            _ => open.extend(&node.args),
        }
    }
    false
}

/// Whether a matrix is `c x xᵀ` with a number `c` of one sign, or a sum of outer products `x xᵀ` of one sign.
pub(super) fn is_semidefinite(matrix: Var<'_>) -> bool {
    use crate::op::{Binary, Linear, Shaping, Unary};
    let graph = matrix.graph();
    let node = graph.node(matrix.id());
    let args: Vec<Var<'_>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
    let nothing = HashSet::new();
    let one_sign = |value: Var<'_>| is_non_negative(value, &nothing) || is_non_negative(-value, &nothing);
    match node.op {
        Op::Linear(Linear::Outer) => {
            let (a, b) = (args[0], args[1]);
            multiple_of(a, b).or_else(|| multiple_of(b, a)).is_some_and(one_sign)
        }
        Op::Unary(Unary::Neg) => is_semidefinite(args[0]),
        Op::Shaping(Shaping::Reshape(_)) if args[0].shape() == matrix.shape() => is_semidefinite(args[0]),
        Op::Binary(Binary::Mul) => {
            let number = |x: Var<'_>| x.shape().is_scalar() && one_sign(x);
            (number(args[0]) && is_semidefinite(args[1])) || (number(args[1]) && is_semidefinite(args[0]))
        }
        _ => false,
    }
}

/// `c` where `a = c · b`.
fn multiple_of<'g>(a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    use crate::op::{Binary, Unary};
    if a.is(b) {
        return Some(a.constant(1.0));
    }
    let graph = a.graph();
    let node = graph.node(a.id());
    let args: Vec<Var<'g>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
    match node.op {
        Op::Unary(Unary::Neg) => Some(-multiple_of(args[0], b)?),
        Op::Binary(Binary::Mul) if args[0].shape().is_scalar() => Some(args[0] * multiple_of(args[1], b)?),
        Op::Binary(Binary::Mul) if args[1].shape().is_scalar() => Some(args[1] * multiple_of(args[0], b)?),
        _ => None,
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

    /// Numbers at which signs are lost.
    const STRANGE: [f64; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        1e200,
        -1e200,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.3,
    ];

    proptest! {
        /// What is taken to be not negative has no finite negative element, whatever the inputs are. (A
        /// record with one that is not finite does not count.)
        #[test]
        fn nothing_negative_is_taken_for_positive(
            bytes in strategies::bytes(),
            places in proptest::collection::vec(0..STRANGE.len(), 7),
        ) {
            let graph = Graph::new();
            let (x, y) = (graph.input("x", [2, 3]).unwrap(), graph.input("y", ()).unwrap());
            let mut values = vec![x, y, x.exp(), -y.square(), graph.constant(-0.0), x.square() / graph.constant(-0.0)];
            let last = grow(&mut Choices::new(&bytes), &mut values, Menu::Smooth, 12);
            values.extend(last);
            let also: Vec<Var<'_>> = values.iter().map(|value| -*value).collect();
            values.extend(also);
            values.retain(|value| is_non_negative(*value, &HashSet::new()));
            let inputs: Vec<f64> = places.iter().map(|&place| STRANGE[place]).collect();
            for value in values {
                let program = Program::new(&graph, &[value]).unwrap();
                let mut plan = ExecutionPlan::<f64>::new(&program);
                for (name, values) in [("x", &inputs[..6]), ("y", &inputs[6..])] {
                    if let Ok(input) = plan.input(name) {
                        plan.input_mut(input).copy_from_slice(values);
                    }
                }
                plan.run();
                for found in plan.output(0) {
                    prop_assert!(!found.is_finite() || *found >= 0.0, "{found} of {inputs:?} by\n{program}");
                }
            }
        }
    }

    #[test]
    fn a_quotient_that_is_made_finite_again_has_no_sign() {
        let graph = Graph::new();
        let x = graph.input("x", ()).unwrap();
        let none = HashSet::new();
        let quotient = x.exp() / graph.constant(-0.0);
        // −∞ and −1, whatever x is.
        assert!(is_non_negative(quotient, &none));
        assert!(!is_non_negative(quotient.tanh(), &none) && !is_non_negative((quotient * 2.0).tanh(), &none));
        // The maximum of −∞ and −1.
        let below = graph.constant(-1.0);
        assert!(!is_non_negative(quotient.max(below), &none) && !is_non_negative(below.max(quotient), &none));
        assert!(is_non_negative(x.exp().max(below), &none) && is_non_negative(quotient.max(x.exp()), &none));
        // What the bound of a softplus is made of keeps its sign.
        let c = (x / 3.0 + 1e-200).sqrt();
        assert!(is_non_negative((0.5 * c).tanh() / (2.0 * c), &none));
    }
}
