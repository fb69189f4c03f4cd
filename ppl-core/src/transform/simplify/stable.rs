//! Expressions that overflow or cancel, replaced by functions that do neither.
//!
//! | written | becomes |
//! |---|---|
//! | `log(1 + exp x)`, `log1p(exp x)` | `softplus x` |
//! | `log(1 + x)`, `log(1 − x)` | `log1p x`, `log1p(−x)` |
//! | `exp x − 1`, `exp x + (−1)` | `expm1 x` |
//! | `log(sigmoid x)` | `−softplus(−x)` |
//! | `log(1 − sigmoid x)`, `log1p(−sigmoid x)` | `−softplus x` |
//! | `1/(1 + exp x)`, `exp x/(1 + exp x)` | `sigmoid(−x)`, `sigmoid x` |
//! | `log(exp x)`, `√(x²)` | `x`, `abs x` |
//! | `log Σ exp x`, `log(Σ exp x / n)`, over all elements or one axis | `log_sum_exp x`, less `log n` |
//! | `exp x / Σ exp x`, `log(softmax x)` | `softmax x`, `log_softmax x` |

use super::pattern::Pattern;
use super::sums::{log_softmax, log_sum_exp, softmax};
use crate::op::{Binary, Op, Unary, Var};

/// See [`Rule`](super::Rule).
pub(super) fn rule<'g>(see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    match (op, args) {
        (Op::Unary(Unary::Log), &[x]) => log(see, x),
        (Op::Unary(Unary::Log1p), &[x]) => log1p(see, x),
        (Op::Unary(Unary::Sqrt), &[x]) => see.unary(x, Unary::Square).map(|y| see.make(Unary::Abs, y)),
        (Op::Unary(Unary::Reciprocal), &[x]) => logistic(see, x),
        (Op::Binary(Binary::Div), &[a, b]) => quotient(see, a, b),
        (Op::Binary(Binary::Sub), &[a, b]) if see.is(b, 1.0) => expm1(see, a),
        (Op::Binary(Binary::Add), &[a, b]) if see.is(b, -1.0) => expm1(see, a),
        (Op::Binary(Binary::Add), &[a, b]) if see.is(a, -1.0) => expm1(see, b),
        _ => None,
    }
}

fn expm1<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    see.unary(x, Unary::Exp).map(|y| see.make(Unary::Expm1, y))
}

fn log<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    if let Some(y) = see.unary(x, Unary::Exp) {
        return Some(y);
    }
    if let Some(y) = see.unary(x, Unary::Sigmoid) {
        return Some(see.negated(see.make(Unary::Softplus, see.negated(y))));
    }
    if let Some(y) = see.one_plus(x) {
        return Some(log1p(see, y).unwrap_or_else(|| see.make(Unary::Log1p, y)));
    }
    if let Some(better) = log_sum_exp(see, x).or_else(|| log_softmax(see, x)) {
        return Some(better);
    }
    let y = see.negated(see.one_minus(x)?);
    Some(log1p(see, y).unwrap_or_else(|| see.make(Unary::Log1p, y)))
}

fn log1p<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    if let Some(y) = see.unary(x, Unary::Exp) {
        return Some(see.make(Unary::Softplus, y));
    }
    let y = see.unary(see.unary(x, Unary::Neg)?, Unary::Sigmoid)?;
    Some(see.negated(see.make(Unary::Softplus, y)))
}

/// `1/(1 + exp y) = sigmoid(−y)`
fn logistic<'g>(see: &Pattern<'g, '_>, below: Var<'g>) -> Option<Var<'g>> {
    let y = see.unary(see.one_plus(below)?, Unary::Exp)?;
    Some(see.make(Unary::Sigmoid, see.negated(y)))
}

fn quotient<'g>(see: &Pattern<'g, '_>, above: Var<'g>, below: Var<'g>) -> Option<Var<'g>> {
    if see.is(above, 1.0) {
        return logistic(see, below);
    }
    let y = see.unary(above, Unary::Exp)?;
    let one_plus = see.one_plus(below).and_then(|rest| see.unary(rest, Unary::Exp));
    match one_plus {
        Some(rest) => rest.is(y).then(|| see.make(Unary::Sigmoid, y)),
        None => softmax(see, y, below),
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionPlan, Graph, Program, Var, gradient};
    use std::f64::consts::LN_2;

    type Expression = fn(Var<'_>) -> Var<'_>;

    /// An expression, what it becomes, where the original is accurate, where it fails, and what the result
    /// must be there.
    struct Case(Expression, &'static str, &'static [f64], &'static [(f64, f64)]);

    const CASES: &[Case] = &[
        Case(
            |x| (1.0 + x.exp()).log(),
            "softplus",
            &[-3.0, 0.5, 20.0],
            &[(1000.0, 1000.0), (-50.0, 1.9287498479639178e-22)],
        ),
        Case(|x| x.exp().log1p(), "softplus", &[-3.0, 0.5, 20.0], &[(1000.0, 1000.0)]),
        Case(|x| (x + 1.0).log(), "log1p", &[0.5, 3.0, 1e9], &[(1e-20, 1e-20)]),
        Case(|x| (1.0 - x).log(), "log1p", &[0.5, -3.0], &[(1e-20, -1e-20)]),
        Case(|x| x.exp() - 1.0, "expm1", &[0.7, -2.0], &[(1e-20, 1e-20)]),
        Case(|x| x.exp() + -1.0, "expm1", &[0.7, -2.0], &[(-1e-20, -1e-20)]),
        Case(|x| x.sigmoid().log(), "softplus", &[0.7, -20.0], &[(-1000.0, -1000.0)]),
        Case(|x| (1.0 - x.sigmoid()).log(), "softplus", &[0.7, -2.0], &[(1000.0, -1000.0)]),
        Case(|x| (-x.sigmoid()).log1p(), "softplus", &[0.7, -2.0], &[(1000.0, -1000.0)]),
        Case(|x| (1.0 + (-x).exp()).reciprocal(), "sigmoid", &[0.7, -20.0], &[(-1000.0, 0.0)]),
        Case(|x| 1.0 / (1.0 + (-x).exp()), "sigmoid", &[0.7, -20.0], &[(-1000.0, 0.0)]),
        Case(|x| x.exp() / (1.0 + x.exp()), "sigmoid", &[0.7, -20.0], &[(1000.0, 1.0)]),
        Case(|x| x.exp().log(), "", &[0.7, -20.0], &[(1000.0, 1000.0), (-1000.0, -1000.0)]),
        Case(
            |x| x.exp().sum().log(),
            "log_sum_exp",
            &[0.7, -20.0],
            &[(1000.0, 1000.0 + LN_2), (-1000.0, LN_2 - 1000.0)],
        ),
        Case(|x| x.exp().mean().log(), "log_sum_exp", &[0.7, -20.0], &[(1000.0, 1000.0), (-1000.0, -1000.0)]),
        Case(|x| x.exp().sum_axis(0).log(), "log_sum_exp", &[0.7, -20.0], &[(1000.0, 1000.0 + LN_2)]),
        Case(|x| x.exp() / x.exp().sum(), "softmax", &[0.7, -20.0], &[(1000.0, 0.5), (-1000.0, 0.5)]),
        Case(|x| (x.exp() / x.exp().sum()).log(), "log_softmax", &[0.7, -20.0], &[(1000.0, -LN_2)]),
        Case(|x| (x * graph_ramp(x)).softmax(0).log(), "log_softmax", &[0.7, -2.0], &[(2000.0, -2000.0)]),
        Case(|x| x.square().sqrt(), "abs", &[0.7, -20.0], &[(1e300, 1e300), (-1e-300, 1e-300)]),
    ];

    /// 0 and 1, so that two equal numbers become different ones.
    fn graph_ramp(x: Var<'_>) -> Var<'_> {
        x.graph().array(&ndarray::array![0.0, 1.0].into_dyn())
    }

    fn run(program: &Program, x: f64) -> Vec<f64> {
        program.interpret(&[("x".to_owned(), vec![x, x])].into(), None).unwrap().concat()
    }

    #[test]
    fn stable_forms_agree_where_the_original_is_accurate_and_hold_where_it_is_not() {
        for (number, Case(expression, name, accurate, failing)) in CASES.iter().enumerate() {
            let graph = Graph::new();
            let x = graph.input("x", 2).unwrap();
            let written = Program::new(&graph, &[expression(x)]).unwrap();
            let stable = written.simplified();
            assert!(stable.to_string().contains(name), "{number}: {stable}");
            for &at in *accurate {
                let (before, after) = (run(&written, at)[0], run(&stable, at)[0]);
                assert!((before - after).abs() <= 1e-9 * before.abs(), "{number} at {at}: {before}, {after}");
            }
            for &(at, expected) in *failing {
                let (before, after) = (run(&written, at)[0], run(&stable, at)[0]);
                assert!((after - expected).abs() <= 1e-15 * expected.abs(), "{number} at {at}: {after}");
                let wrong = before.is_nan() || (before - expected).abs() > 1e-3 * expected.abs();
                assert!(wrong || expected == 0.0, "{number} at {at}: {before}");
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_stable_forms() {
        for (number, Case(expression, _, _, failing)) in CASES.iter().enumerate() {
            let graph = Graph::new();
            let x = graph.input("x", 2).unwrap();
            let slope = gradient(expression(x).sum(), &[x]).unwrap()[0];
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope]).unwrap());
            for &(at, _) in *failing {
                // The derivative of log(exp x) is a number.
                if plan.input("x").is_ok() {
                    plan.set("x", &[at, at]).unwrap();
                }
                plan.run();
                assert!(plan.output(0)[0].is_finite(), "{number} at {at}: {:?}", plan.output(0));
            }
        }
    }
}
