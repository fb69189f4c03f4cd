//! How large the expected statistics of a record can be together.

use super::sign::is_non_negative;
use crate::op::{Binary, Gather, Input, Op, Reduce, Shaping, Structure, Unary, Var};
use std::collections::{HashMap, HashSet};

/// A bound on the sum of the absolute values of all derivatives of a number with respect to the elements of a shared
/// input, whatever inputs and records are; `None` where none is found.
///
/// ```text
/// s(v) ≥ max over elements e of v of Σ_i |∂v_e/∂t_i|
///
/// s(t) = 1                                 the input
/// s(a + b) = s(a) + s(b)                   a sum of n elements: n s
/// s(c a) = max|c| s(a)                     c from constants and comparisons
/// s(a[k]), s(ln Σ exp a) = s(a)            whatever is moved, chosen or averaged
/// s(ln v) = l(v)                           l: the same of ln v
/// l(exp a) = s(a),   l(a b) = l(a) + l(b),   l(Σ a) = max l, of numbers that are not negative
/// ```
pub(super) fn sum_of_slopes(value: Var<'_>, input: &str) -> Option<f64> {
    let mut bounds = Bounds { input, slopes: HashMap::new(), relative: HashMap::new() };
    Some(bounds.slope(value)).filter(|bound| bound.is_finite())
}

struct Bounds<'a> {
    input: &'a str,
    slopes: HashMap<u32, f64>,
    relative: HashMap<u32, f64>,
}

fn arguments(value: Var<'_>) -> (Op, Vec<Var<'_>>) {
    let graph = value.graph();
    let node = graph.node(value.id());
    let args = node.args.iter().map(|&arg| graph.var(arg)).collect();
    (node.op, args)
}

/// The largest absolute value that the elements of a value can have.
fn largest(value: Var<'_>) -> f64 {
    let (op, args) = arguments(value);
    match op {
        Op::Constant(constant) => constant.values().map(f64::abs).fold(0.0, f64::max),
        Op::Unary(Unary::Neg | Unary::StopGradient) => largest(args[0]),
        Op::Unary(Unary::Sigmoid) | Op::Reduce(Reduce::Softmax { .. }) => 1.0,
        Op::Binary(
            Binary::Greater
            | Binary::GreaterEqual
            | Binary::Equal
            | Binary::Less
            | Binary::LessEqual
            | Binary::NotEqual,
        ) => 1.0,
        Op::Shaping(Shaping::Broadcast(_) | Shaping::Reshape(_))
        | Op::Structure(Structure::Permute(_) | Structure::Slice { .. }) => largest(args[0]),
        _ => f64::INFINITY,
    }
}

/// A product of bounds, where nothing times whatever is nothing.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

impl Bounds<'_> {
    /// `s`
    fn slope(&mut self, value: Var<'_>) -> f64 {
        if let Some(&found) = self.slopes.get(&value.id()) {
            return found;
        }
        let (op, args) = arguments(value);
        let of: Vec<f64> = match &op {
            Op::Unary(Unary::StopGradient) => Vec::new(),
            _ => args.iter().map(|&arg| self.slope(arg)).collect(),
        };
        let found = match &op {
            Op::Input(Input::Shared(name)) if name == self.input => 1.0,
            _ if of.iter().all(|&slope| slope == 0.0) => 0.0,
            Op::Unary(Unary::Neg) => of[0],
            Op::Unary(Unary::Log) => self.relative(args[0]),
            Op::Binary(Binary::Add | Binary::Sub | Binary::Max | Binary::Min) => of[0] + of[1],
            Op::Binary(Binary::Mul) if of[1] == 0.0 => times(of[0], largest(args[1])),
            Op::Binary(Binary::Mul) if of[0] == 0.0 => times(of[1], largest(args[0])),
            Op::Select(_) => of[1].max(of[2]),
            Op::Shaping(Shaping::SumTo(to)) => {
                times((args[0].shape().elements() / to.elements().max(1)) as f64, of[0])
            }
            _ => moved(&op, &of),
        };
        self.slopes.insert(value.id(), found);
        found
    }

    /// `l`
    fn relative(&mut self, value: Var<'_>) -> f64 {
        if let Some(&found) = self.relative.get(&value.id()) {
            return found;
        }
        let (op, args) = arguments(value);
        let positive = |value: Var<'_>| is_non_negative(value, &HashSet::new());
        let found = match &op {
            _ if self.slope(value) == 0.0 => 0.0,
            Op::Unary(Unary::Exp) => self.slope(args[0]),
            Op::Binary(Binary::Mul | Binary::Div) => self.relative(args[0]) + self.relative(args[1]),
            Op::Binary(Binary::Add) if positive(args[0]) && positive(args[1]) => {
                self.relative(args[0]).max(self.relative(args[1]))
            }
            Op::Linear(_) if positive(args[0]) && positive(args[1]) => {
                self.relative(args[0]) + self.relative(args[1])
            }
            Op::Shaping(Shaping::SumTo(_)) if positive(args[0]) => self.relative(args[0]),
            Op::Select(_) => self.relative(args[1]).max(self.relative(args[2])),
            _ => {
                let of: Vec<f64> = args.iter().map(|&arg| self.relative(arg)).collect();
                match &op {
                    Op::Reduce(Reduce::LogSumExp { .. }) => f64::INFINITY,
                    _ => moved(&op, &of),
                }
            }
        };
        self.relative.insert(value.id(), found);
        found
    }
}

/// The bound for what is moved, chosen or averaged, from those of the arguments.
fn moved(op: &Op, of: &[f64]) -> f64 {
    match op {
        Op::Shaping(Shaping::Broadcast(_) | Shaping::Reshape(_))
        | Op::Structure(
            Structure::Permute(_)
            | Structure::Slice { .. }
            | Structure::Spread { .. }
            | Structure::Flip { .. }
            | Structure::Concat { .. },
        )
        | Op::Reduce(Reduce::LogSumExp { .. })
        | Op::Gather(Gather::Rows) => of.iter().copied().fold(0.0, f64::max),
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Graph;
    use crate::strategies;
    use crate::strategies::programs::{Choices, Menu, grow};
    use crate::transform::gradient;
    use crate::{ExecutionPlan, Program};
    use proptest::prelude::*;

    /// The sums of absolute derivatives of each number with respect to `x`, at these inputs.
    fn sums(graph: &Graph, values: &[Var<'_>], x: Var<'_>, inputs: &[f64]) -> Vec<f64> {
        let slopes: Vec<Var<'_>> = values.iter().map(|value| gradient(*value, &[x]).unwrap()[0]).collect();
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &slopes).unwrap());
        for (name, values) in [("x", &inputs[..6]), ("y", &inputs[6..])] {
            if let Ok(input) = plan.input(name) {
                plan.input_mut(input).copy_from_slice(values);
            }
        }
        plan.run();
        (0..slopes.len()).map(|k| plan.output(k).iter().map(|x| x.abs()).sum()).collect()
    }

    proptest! {
        /// No number has larger derivatives than its bound, wherever they are finite.
        #[test]
        fn no_derivatives_are_above_their_bound(
            bytes in strategies::bytes(),
            inputs in proptest::collection::vec(-3.0..3.0_f64, 7),
        ) {
            let graph = Graph::new();
            let (x, y) = (graph.input("x", [2, 3]).unwrap(), graph.input("y", ()).unwrap());
            let mut values = vec![x, x.exp(), x.log_sum_exp_axis(1), y.exp(), graph.constant(0.5), x.exp().sum()];
            let last = grow(&mut Choices::new(&bytes), &mut values, Menu::Smooth, 12);
            values.extend(last);
            let also: Vec<Var<'_>> = values.iter().map(|value| value.log()).collect();
            values.extend(also);
            let known: Vec<(Var<'_>, f64)> = values
                .iter()
                .map(|value| value.sum())
                .filter_map(|value| Some((value, sum_of_slopes(value, "x")?)))
                .collect();
            let numbers: Vec<Var<'_>> = known.iter().map(|(value, _)| *value).collect();
            for (found, (value, bound)) in sums(&graph, &numbers, x, &inputs).into_iter().zip(&known) {
                let program = Program::new(&graph, &[*value]).unwrap();
                prop_assert!(!found.is_finite() || found <= bound * (1.0 + 1e-6) + 1e-12, "{found} above {bound} by\n{program}");
            }
        }
    }

    /// What mixtures of categories are made of has the bounds that are attained.
    #[test]
    fn bounds_of_mixtures_are_the_least() {
        let graph = Graph::new();
        let (x, y) = (graph.input("x", [2, 3]).unwrap(), graph.input("y", ()).unwrap());
        let row = |number: f64| x.gather(graph.constant(number));
        let weights = graph.array(&ndarray::arr1(&[0.2, 0.5, 0.3]).into_dyn());
        let both = row(0.0) + row(1.0);
        let all = [
            (both.log_sum_exp(), 2.0),
            (weights.dot(row(1.0).exp()).log(), 1.0),
            (both.exp().dot(row(0.0).exp()).log(), 3.0),
            (2.0 * row(0.0).gather(graph.constant(2.0)) - y, 2.0),
            (row(0.0).sum(), 3.0),
            (y.square(), 0.0),
            (row(0.0).stop_gradient().sum(), 0.0),
        ];
        let inputs = [0.3, -0.2, 1.1, 0.4, 2.0, -1.0, 0.5];
        let numbers: Vec<Var<'_>> = all.iter().map(|(value, _)| *value).collect();
        for ((value, bound), found) in all.iter().zip(sums(&graph, &numbers, x, &inputs)) {
            assert_eq!(sum_of_slopes(*value, "x"), Some(*bound));
            assert!((found - bound).abs() < 1e-12, "{found} {bound}");
        }
        // Differences of positive numbers, and products with what may be anything, have none.
        let none = [x.exp().sum(), (row(0.0).exp() - row(1.0).exp()).sum().log(), y * row(0.0).sum()];
        assert!(none.iter().all(|value| sum_of_slopes(*value, "x").is_none()));
    }
}
