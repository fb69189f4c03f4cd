//! Distributions of vectors and matrices, and distributions made of others.

mod cases;
mod combinators;
mod draws;

mod golden;
mod gradients;
mod matrices;
mod mixtures;
mod normals;
mod records;
mod shapes;
mod single_precision;

use ppl_core::{ExecutionPlan, Graph, Program, Var};

/// Runs a graph whose inputs have these numbers.
fn run(graph: &Graph, outputs: &[Var<'_>], inputs: &[(&str, &[f64])]) -> Vec<Vec<f64>> {
    graph.check().unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    for (name, numbers) in inputs {
        // An input that nothing depends on is not there.
        if plan.input(name).is_ok() {
            plan.set(name, numbers).unwrap();
        }
    }
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

/// Both within a relative distance of some units of rounding.
fn close(a: f64, b: f64, units: f64) -> bool {
    a == b || (a - b).abs() <= units * f64::EPSILON * (1.0 + a.abs().max(b.abs()))
}
