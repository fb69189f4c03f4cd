//! Sets of vectors and matrices, and the bijections onto them.

mod golden;
mod membership;
mod properties;

use ndarray::ArrayD;
use ppl_core::{Constraint, ExecutionPlan, Graph, Program, Shape, Var};

/// What a function of one array makes of numbers.
fn run(argument: &ArrayD<f64>, function: impl for<'g> Fn(Var<'g>) -> Vec<Var<'g>>) -> Vec<Vec<f64>> {
    let graph = Graph::new();
    let outputs = function(graph.input("u", Shape::from(argument.shape())).unwrap());
    graph.check().unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    if let Ok(input) = plan.input("u") {
        plan.input_mut(input).iter_mut().zip(argument).for_each(|(slot, &number)| *slot = number);
    }
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

/// Log Jacobians, where there are none 0.
fn log_jacobians<'g>(set: Constraint, u: Var<'g>) -> Var<'g> {
    set.log_jacobians(u).unwrap_or_else(|| (0.0 * u).sum_axis(u.shape().rank() - 1))
}

/// The value and the log Jacobian of each outcome.
fn constrained(set: Constraint, u: &ArrayD<f64>) -> (Vec<f64>, Vec<f64>) {
    let mut both = run(u, |u| vec![set.constrain(u), log_jacobians(set, u)]);
    let log_jacobian = both.remove(1);
    (both.remove(0), log_jacobian)
}
