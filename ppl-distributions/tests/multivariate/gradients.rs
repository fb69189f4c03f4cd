//! Derivatives of log densities with respect to outcome and parameters, against differences.

use super::cases::{Boxed, FAMILIES, Family};
use ppl_core::{Constraint, ExecutionPlan, Graph, Program, Var, gradient};
use proptest::prelude::*;

/// The log density as a function of one vector of unconstrained numbers, parameters first: value and
/// gradient.
fn density_and_gradient(
    family: Family,
    n: usize,
    at: &[Vec<f64>],
    outcome: f64,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let graph = Graph::new();
    let mut inputs: Vec<Var<'_>> = Vec::new();
    let mut vars = Vec::new();
    for (set, axes) in family.parameters {
        let shape = set.unconstrained_shape(&axes.shape(n)).unwrap();
        let input = graph.input(format!("u{}", inputs.len()), shape).unwrap();
        inputs.push(input);
        vars.push(set.constrain(input));
    }
    let distribution: Boxed<'_> = (family.build)(n, &vars);
    let support = distribution.support();
    let value = if support.is_discrete() {
        graph.constant(outcome)
    } else {
        let shape = support.unconstrained_shape(&distribution.event_shape()).unwrap();
        let input = graph.input(format!("u{}", inputs.len()), shape).unwrap();
        inputs.push(input);
        support.constrain(input)
    };
    let log_prob = distribution.log_prob(value);
    let mut outputs = gradient(log_prob, &inputs).unwrap();
    outputs.push(log_prob);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    let mut values = Vec::new();
    let mut gradients = Vec::new();
    for point in at {
        let mut from = 0;
        for (k, input) in inputs.iter().enumerate() {
            let length = input.shape().elements();
            // Nothing depends on some inputs (a simplex of one element).
            if plan.input(&format!("u{k}")).is_ok() {
                plan.set(&format!("u{k}"), &point[from..from + length]).unwrap();
            }
            from += length;
        }
        plan.run();
        values.push(plan.output(inputs.len())[0]);
        gradients.push((0..inputs.len()).flat_map(|k| plan.output(k).to_vec()).collect());
    }
    (values, gradients)
}

/// Number of unconstrained numbers of parameters and outcome.
fn length(family: Family, n: usize) -> usize {
    let of = |(set, axes): &(Constraint, super::cases::Axes)| {
        set.unconstrained_shape(&axes.shape(n)).unwrap().elements()
    };
    let parameters: usize = family.parameters.iter().map(of).sum();
    let graph = Graph::new();
    let vars: Vec<Var<'_>> = family
        .parameters
        .iter()
        .enumerate()
        .map(|(k, (_, axes))| graph.input(format!("{k}"), axes.shape(n)).unwrap())
        .collect();
    let distribution = (family.build)(n, &vars);
    let outcome = match distribution.support() {
        set if set.is_discrete() => 0,
        set => set.unconstrained_shape(&distribution.event_shape()).unwrap().elements(),
    };
    parameters + outcome
}

proptest! {
    #[test]
    fn gradients_are_differences(which in 0..FAMILIES.len(), n in 1..4usize, numbers in proptest::collection::vec(-1.5..1.5_f64, 40)) {
        let family = FAMILIES[which];
        let here = &numbers[..length(family, n)];
        let outcome = (n - 1) as f64;
        let moved = |k: usize, step: f64| { let mut moved = here.to_vec(); moved[k] += step; moved };
        let h = 1e-3;
        let mut points = vec![here.to_vec()];
        for k in 0..here.len() {
            points.extend([moved(k, h), moved(k, -h), moved(k, 2.0 * h), moved(k, -2.0 * h)]);
        }
        let (values, gradients) = density_and_gradient(family, n, &points, outcome);
        prop_assert!(gradients[0].iter().all(|slope| slope.is_finite()));
        for k in 0..here.len() {
            let at = &values[1 + 4 * k..];
            let (fine, coarse) = ((at[0] - at[1]) / (2.0 * h), (at[2] - at[3]) / (4.0 * h));
            // The step's error is that of h², nearly; without it an h⁴ is left, less than a fiftieth of the
            // difference of the two for derivatives that grow by less than a hundredfold from order to order;
            // and rounding.
            let extrapolated = (4.0 * fine - coarse) / 3.0;
            let size = values[0].abs() + at[..4].iter().fold(1.0_f64, |largest, value| largest.max(value.abs()));
            let bound = 0.02 * (fine - coarse).abs() + 64.0 * f64::EPSILON * size / h + 1e-9 * size * h;
            prop_assert!((gradients[0][k] - extrapolated).abs() <= bound, "{family:?} {n} wrt {k}: {} against {extrapolated}, {bound}", gradients[0][k]);
        }
    }
}

/// At the boundary of a simplex where the concentration is 1, the density is finite, and so are its
/// derivatives.
#[test]
fn a_power_of_zero_has_derivatives() {
    use ppl_core::Distribution;
    let graph = Graph::new();
    let (a, x) = (graph.input("a", 3).unwrap(), graph.input("x", 3).unwrap());
    let log_prob = ppl_distributions::Dirichlet::new(a).log_prob(x);
    let mut outputs = gradient(log_prob, &[a, x]).unwrap();
    outputs.push(log_prob);
    let found = super::run(&graph, &outputs, &[("a", &[1.0, 1.0, 2.0]), ("x", &[0.0, 0.25, 0.75])]);
    assert!(found.iter().flatten().all(|number| number.is_finite()), "{found:?}");
    assert!((found[2][0] - (6.0_f64 * 0.75).ln()).abs() < 1e-14);
}
