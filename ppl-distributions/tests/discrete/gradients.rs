//! Derivatives of log probabilities and distribution functions, against finite differences.

use super::common::{CASES, build, parameters, set};
use ppl_core::{ExecutionPlan, Graph, Program, Value, Var, gradient};
use proptest::prelude::*;

/// Values of `f` and its derivatives, analytic and by differences, with what the differences may be off by.
fn compare(
    name: &str,
    numbers: &[f64],
    continuous: &[usize],
    x: &[f64],
    f: impl for<'g> Fn(&dyn ppl_core::Distribution<'g>, Var<'g>) -> Option<Var<'g>>,
) -> Result<(), TestCaseError> {
    let graph = Graph::new();
    let known = parameters(&graph, numbers, true);
    let mut values = parameters(&graph, numbers, false);
    // Totals are known, so that both ways to write a log probability are seen.
    for i in (0..numbers.len()).filter(|i| !continuous.contains(i)) {
        values[i] = known[i];
    }
    let distribution = build(name, &graph, &values);
    let shape: Vec<usize> = if x.len() == 1 { vec![] } else { vec![x.len()] };
    let input = graph.input("x", shape).unwrap();
    let Some(result) = f(&*distribution, input) else {
        return Ok(());
    };
    let mut wanted: Vec<Var<'_>> = continuous
        .iter()
        .map(|&i| match values[i] {
            Value::Var(var) => var,
            _ => unreachable!(),
        })
        .collect();
    wanted.push(input);
    let mut outputs = gradient(result, &wanted).unwrap();
    outputs.push(result);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    let mut run = |numbers: &[f64], x: &[f64], output: usize| {
        set(&mut plan, "x", x);
        for (i, &number) in numbers.iter().enumerate() {
            set(&mut plan, &format!("p{i}"), &[number]);
        }
        plan.run();
        plan.output(output).to_vec()
    };
    let last = outputs.len() - 1;
    let here = run(numbers, x, last)[0];
    let check = |analytic: f64, size: f64, mut at: Box<dyn FnMut(f64) -> f64 + '_>| {
        let h = 1e-3 * size;
        let mut slope = |h: f64| (at(h) - at(-h)) / (2.0 * h);
        let (coarse, fine) = (slope(h), slope(0.5 * h));
        // The error of the fine one is a third of the difference, up to higher orders; and rounding of terms
        // of the size of f.
        let allowed = (fine - coarse).abs() + 1e-13 * (1.0 + here.abs()) / h;
        prop_assert!(
            (analytic - fine).abs() <= allowed,
            "{name} {numbers:?} at {x:?}: {analytic} against {fine}"
        );
        Ok(())
    };
    for (k, &i) in continuous.iter().enumerate() {
        let analytic = run(numbers, x, k)[0];
        check(
            analytic,
            numbers[i].abs().min(if name.contains("probs") { 1.0 - numbers[i] } else { 1.0 }).max(1e-2),
            Box::new(|h| {
                let mut moved = numbers.to_vec();
                moved[i] += h;
                run(&moved, x, last)[0]
            }),
        )?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn log_probabilities_have_the_derivatives_that_differences_have(
        factors in proptest::collection::vec(0.5..1.6_f64, 4), place in 0.05..0.95_f64,
    ) {
        for (name, numbers, continuous) in CASES {
            let mut numbers = numbers.to_vec();
            for &i in continuous {
                numbers[i] *= if name == "ordered_logistic" { 1.0 + 0.1 * (factors[i] - 1.0) } else { factors[i] };
            }
            // Counts inside the support, away from its ends.
            let total = match name {
                "binomial_probs" | "binomial_logits" => numbers[0],
                "beta_binomial" => numbers[2],
                _ => 8.0,
            };
            let inside = 1.0 + (place * (total - 2.0)).floor();
            let x = match name {
                "bernoulli_probs" | "bernoulli_logits" => vec![(place > 0.5) as u8 as f64],
                "ordered_logistic" => vec![(place * 4.0).floor()],
                "multinomial_logits" | "dirichlet_multinomial" => vec![1.0, 2.0, 0.0],
                "discrete_uniform" => vec![1.0],
                _ => vec![inside],
            };
            compare(name, &numbers, continuous, &x, |distribution, x| Some(distribution.log_prob(x)))?;
        }
    }

    #[test]
    fn distribution_functions_have_the_derivatives_that_differences_have(
        factors in proptest::collection::vec(0.5..1.6_f64, 4), place in 0.0..0.95_f64,
    ) {
        for (name, numbers, continuous) in CASES {
            let mut numbers = numbers.to_vec();
            for &i in continuous {
                numbers[i] *= if name == "ordered_logistic" { 1.0 + 0.1 * (factors[i] - 1.0) } else { factors[i] };
            }
            compare(name, &numbers, continuous, &[(place * 6.0).floor()], |distribution, x| distribution.cdf(x))?;
        }
    }
}

/// No derivative is NaN where a selection guards it: at the ends of supports and of domains.
#[test]
fn derivatives_at_the_ends_are_finite() {
    for (name, numbers, x) in [
        ("bernoulli_probs", vec![0.0], 0.0),
        ("bernoulli_probs", vec![1.0], 1.0),
        ("bernoulli_logits", vec![-900.0], 1.0),
        ("binomial_probs", vec![5.0, 0.0], 0.0),
        ("binomial_probs", vec![5.0, 1.0], 5.0),
        ("binomial_probs", vec![500.0, 0.0], 0.0),
        ("binomial_probs", vec![500.0, 1.0], 500.0),
        ("binomial_logits", vec![500.0, -900.0], 0.0),
        ("binomial_logits", vec![500.0, -900.0], 7.0),
        ("binomial_logits", vec![500.0, 900.0], 500.0),
        ("poisson", vec![0.0], 0.0),
        ("poisson_log_rate", vec![-900.0], 0.0),
        ("poisson_log_rate", vec![-900.0], 7.0),
        ("poisson_log_rate", vec![-60.0], 7.0),
        ("negative_binomial_logits", vec![2.0, 900.0], 0.0),
        ("negative_binomial_logits", vec![2.0, -900.0], 0.0),
        ("negative_binomial_mean", vec![1e-300, 2.0], 0.0),
        ("geometric_logits", vec![900.0], 0.0),
        ("beta_binomial", vec![1e-300, 2.0, 3.0], 0.0),
        ("ordered_logistic", vec![900.0, -1.0, 1.0], 0.0),
        ("ordered_logistic", vec![-900.0, -1.0, 1.0], 1.0),
        ("ordered_logistic", vec![0.0, -900.0, 900.0], 2.0),
    ] {
        let graph = Graph::new();
        let values = parameters(&graph, &numbers, false);
        let distribution = build(name, &graph, &values);
        let x_input = graph.input("x", ()).unwrap();
        let wanted: Vec<Var<'_>> = values.iter().map(|value| value.on(&graph)).collect();
        let slopes = gradient(distribution.log_prob(x_input), &wanted).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &slopes).unwrap());
        set(&mut plan, "x", &[x]);
        for (i, &number) in numbers.iter().enumerate() {
            set(&mut plan, &format!("p{i}"), &[number]);
        }
        plan.run();
        // A total of trials is no continuous parameter.
        let first = usize::from(name.starts_with("binomial"));
        for i in first..numbers.len().min(if name == "beta_binomial" { 2 } else { usize::MAX }) {
            assert!(
                plan.output(i)[0].is_finite(),
                "{name} {numbers:?} at {x}, parameter {i}: {}",
                plan.output(i)[0]
            );
        }
    }
}
