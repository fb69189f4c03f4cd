//! Plans in single precision.

use super::cases::{FAMILIES, parameters};
use ppl_core::{ExecutionPlan, Graph, Program, Shape, Var};

#[test]
fn single_precision_agrees_with_double() {
    let numbers: Vec<f64> = (0..80).map(|k| (f64::from(k) * 0.7).sin()).collect();
    for &family in FAMILIES {
        let n = 3;
        let graph = Graph::new();
        let vars: Vec<Var<'_>> = parameters(family, n, &numbers)
            .iter()
            .enumerate()
            .map(|(k, array)| graph.input(format!("p{k}"), Shape::from(array.shape())).unwrap())
            .collect();
        let distribution = (family.build)(n, &vars);
        let support = distribution.support();
        let x = if support.is_discrete() {
            graph.constant(1.0)
        } else {
            let shape = support.unconstrained_shape(&distribution.event_shape()).unwrap();
            support.constrain(graph.input("u", shape).unwrap())
        };
        let outputs = [distribution.log_prob(x), distribution.entropy(&graph).unwrap()];
        let program = Program::new(&graph, &outputs).unwrap();
        let (mut double, mut single) =
            (ExecutionPlan::<f64>::new(&program), ExecutionPlan::<f32>::new(&program));
        for (k, array) in parameters(family, n, &numbers).iter().enumerate() {
            let name = format!("p{k}");
            double.set(&name, &array.iter().copied().collect::<Vec<_>>()).unwrap();
            single.set(&name, &array.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap();
        }
        if let Ok(input) = double.input("u") {
            let length = double.input_mut(input).len();
            double.set("u", &numbers[40..40 + length]).unwrap();
            single.set("u", &numbers[40..40 + length].iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap();
        }
        double.run();
        single.run();
        for output in 0..2 {
            let (a, b) = (double.output(output)[0], f64::from(single.output(output)[0]));
            // Matrices of condition number below a thousand, in some hundred roundings.
            assert!((a - b).abs() <= 1e3 * f64::from(f32::EPSILON) * (1.0 + a.abs()), "{family:?}: {a} {b}");
        }
    }
}
