//! Derivatives of log densities and distribution functions.

use super::*;
use ppl_core::{NoiseKind, gradient};
use proptest::prelude::*;

/// Parameters of moderate size from numbers in [0, 1].
fn parameters(case: &Case, choices: &[f64]) -> Vec<f64> {
    let each = |(domain, u): (&Domain, &f64)| match domain {
        Real => 4.0 * u - 2.0,
        Positive => (4.0 * u - 1.5).exp(),
        Fixed(value) => *value,
    };
    case.domains.iter().zip(choices).map(each).collect()
}

/// A point in the middle of a distribution: a draw by noise that is not far out.
fn point(case: &Case, parameters: &[f64], u: f64) -> f64 {
    let graph = Graph::new();
    let mut noise = ppl_core::Noise::new(&graph, "x");
    let draw = (case.build)(&known(parameters)).draw(&ppl_core::Shape::scalar(), &mut noise).unwrap();
    let number = |kind: NoiseKind| if kind == NoiseKind::Uniform { u } else { 2.0 * u - 1.0 };
    let inputs: Vec<_> = noise
        .inputs()
        .iter()
        .map(|(name, kind, shape)| (name.clone(), vec![number(*kind); shape.elements()]))
        .collect();
    run::<f64>(&graph, &[draw], &inputs)[0][0]
}

/// Value and gradient with respect to the point and all parameters that are not fixed, at arguments (point
/// first).
fn value_and_slopes(
    case: &Case,
    arguments: &[f64],
    f: impl for<'g> Fn(&dyn Distribution<'g>, Var<'g>) -> Var<'g>,
) -> (f64, Vec<f64>) {
    let graph = Graph::new();
    let inputs: Vec<(String, Vec<f64>)> =
        arguments.iter().enumerate().map(|(i, &x)| (format!("x{i}"), vec![x])).collect();
    let vars: Vec<Var<'_>> = inputs.iter().map(|(name, _)| graph.input(name.clone(), ()).unwrap()).collect();
    let values: Vec<Value<'_>> = vars[1..].iter().map(|&var| var.into()).collect();
    let distribution = (case.build)(&values);
    let value = f(&*distribution, vars[0]);
    let mut outputs = gradient(value, &vars).unwrap();
    outputs.push(value);
    let found = run::<f64>(&graph, &outputs, &inputs);
    (found[vars.len()][0], found[..vars.len()].iter().map(|slope| slope[0]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Central differences of sixth order with steps of a thousandth: they err by h⁶/140 times the seventh
    /// derivative, and by 1.9 ε|f|/h. A log density whose nearest singularity in the complex plane is ρ away
    /// has a seventh derivative of about 720/ρ⁶ of its first, so that the error is 5 (h/ρ)⁶ of that. For Student's t
    /// ρ² = (x − loc)² + ν scale², the least of them here: h/ρ is at most .02, and the error 3·10⁻¹⁰.
    #[test]
    fn gradients_of_log_densities_are_finite_differences(choices in proptest::array::uniform5(0.0..1.0_f64), u in 0.05..0.95_f64) {
        for case in CASES {
            let parameters = parameters(case, &choices);
            let mut here = vec![point(case, &parameters, u)];
            here.extend(&parameters);
            let (value, slopes) = value_and_slopes(case, &here, |d, x| d.log_prob(x));
            // Values alone, by one program for all arguments.
            let graph = Graph::new();
            let names: Vec<String> = (0..here.len()).map(|i| format!("x{i}")).collect();
            let vars: Vec<Var<'_>> = names.iter().map(|name| graph.input(name.clone(), ()).unwrap()).collect();
            let values: Vec<Value<'_>> = vars[1..].iter().map(|&var| var.into()).collect();
            let log_prob = (case.build)(&values).log_prob(vars[0]);
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob]).unwrap());
            let mut f = |arguments: &[f64]| {
                for (name, &x) in names.iter().zip(arguments) {
                    if plan.input(name).is_ok() {
                        plan.set(name, &[x]).unwrap();
                    }
                }
                plan.run();
                plan.output(0)[0]
            };
            for (k, slope) in slopes.iter().enumerate() {
                // The point may be close to an end of the support.
                let size = here[k].abs();
                let room = match case.name {
                    "beta" | "kumaraswamy" if k == 0 => here[0].min(1.0 - here[0]),
                    "uniform" | "truncated_normal" => 0.02,
                    "von_mises" if k == 0 => std::f64::consts::PI - size,
                    "pareto" if k < 2 => here[0] - here[1],
                    // A kink at the median.
                    "laplace" if k < 2 => (here[0] - here[1]).abs(),
                    _ => if k == 0 || case.domains[k - 1] == Positive { size } else { 1.0 },
                };
                let h = 1e-3 * room.min(if k > 0 && case.domains[k - 1] == Real { 1.0 } else { size.max(1e-3) });
                // A power of two, so that the moved arguments are exact.
                let h = 2.0_f64.powi(h.log2().floor() as i32);
                if h < 1e-9 { continue; }
                let mut at = |steps: f64| {
                    let mut moved = here.clone();
                    moved[k] += steps * h;
                    f(&moved)
                };
                let mut across = |steps: f64| at(steps) - at(-steps);
                let numeric = (45.0 * across(1.0) - 9.0 * across(2.0) + across(3.0)) / (60.0 * h);
                let tolerance = 1e-8 * (slopes.iter().map(|s| s.abs()).fold(0.0, f64::max) + 1.0) + 2e-15 * (1.0 + value.abs()) / h * 10.0;
                prop_assert!((numeric - slope).abs() <= tolerance, "{} {here:?} wrt {k}: {numeric} against {slope}", case.name);
            }
        }
    }

    /// The derivative of the distribution function is the density.
    #[test]
    fn distribution_functions_have_the_density_for_a_derivative(choices in proptest::array::uniform5(0.0..1.0_f64), u in 0.05..0.95_f64) {
        for case in CASES.iter().filter(|case| case.name != "polya_gamma") {
            let parameters = parameters(case, &choices);
            let mut here = vec![point(case, &parameters, u)];
            here.extend(&parameters);
            // Angles are drawn on the circle; the distribution function counts from half a turn before `loc`.
            if case.name == "von_mises" {
                here[0] = here[1] + (u - 0.5);
            }
            let density = value_and_slopes(case, &here, |d, x| d.log_prob(x)).0.exp();
            let (_, slopes) = value_and_slopes(case, &here, |d, x| d.cdf(x).expect("a formula"));
            let error = (slopes[0] - density).abs();
            prop_assert!(error <= 1e-10 * density, "{} {here:?}: {} against {density}", case.name, slopes[0]);
        }
    }
}
