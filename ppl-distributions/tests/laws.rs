//! Laws against the values of `tests/golden/laws.csv`, their derivatives, and what lies outside of them. A law
//! takes part with a line of [`build`] and one of [`MODERATE`].

use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Scalar, Value, Var, gradient};
use ppl_distributions::prelude::*;
use std::collections::BTreeMap;

fn build<'g>(name: &str, p: &[Value<'g>]) -> Box<dyn Distribution<'g> + 'g> {
    match name {
        "asymmetric_laplace" => Box::new(AsymmetricLaplace::new(p[0], p[1], p[2])),
        "asymmetric_laplace_quantile" => Box::new(AsymmetricLaplace::from_quantile(p[0], p[1], p[2])),
        "exponentially_modified_gaussian" => Box::new(ExponentiallyModifiedGaussian::new(p[0], p[1], p[2])),
        "gompertz" => Box::new(Gompertz::new(p[0], p[1])),
        "inverse_gaussian" => Box::new(InverseGaussian::new(p[0], p[1])),
        "log_uniform" => Box::new(LogUniform::new(p[0], p[1])),
        "skew_normal" => Box::new(SkewNormal::new(p[0], p[1], p[2])),
        "relaxed_bernoulli" => Box::new(RelaxedBernoulli::from_logits(p[0], p[1])),
        "beta_proportion" => Box::new(BetaProportion::new(p[0], p[1])),
        "discrete_laplace" => Box::new(DiscreteLaplace::new(p[0], p[1])),
        "skellam" => Box::new(Skellam::new(p[0], p[1])),
        "hurdle_poisson" => Box::new(Hurdle::from_probs(Poisson::new(p[1]), p[0])),
        "zero_inflated_poisson" => Box::new(ZeroInflatedPoisson::new(p[0], p[1])),
        "zero_inflated_negative_binomial" => Box::new(ZeroInflatedNegativeBinomial::new(p[0], p[1], p[2])),
        "censored_normal" => Box::new(Censored::new(Normal::new(p[0], p[1]), p[2], p[3])),
        "interval_normal" => Box::new(Censored::interval(Normal::new(p[0], p[1]), p[2])),
        "censored_poisson" => Box::new(Censored::new(Poisson::new(p[0]), p[1], p[2])),
        other => panic!("no law {other}"),
    }
}

/// Moderate parameters, a point of the support, which parameters have derivatives, and points outside.
type Moderate = (&'static str, &'static [f64], f64, &'static [usize], &'static [f64]);
const MODERATE: &[Moderate] = &[
    ("asymmetric_laplace", &[0.5, 1.3, 0.7], 1.1, &[0, 1, 2], &[]),
    ("asymmetric_laplace_quantile", &[0.5, 1.3, 0.7], -0.4, &[0, 1, 2], &[]),
    ("exponentially_modified_gaussian", &[0.5, 1.3, 0.7], 1.1, &[0, 1, 2], &[]),
    ("exponentially_modified_gaussian", &[0.5, 1.3, 4.0], -0.5, &[0, 1, 2], &[]),
    ("gompertz", &[0.4, 1.3], 0.8, &[0, 1], &[-1e-9, -5.0]),
    ("inverse_gaussian", &[1.7, 2.3], 0.9, &[0, 1], &[0.0, -1.0]),
    ("log_uniform", &[0.5, 4.0], 0.9, &[0, 1], &[0.49, 4.1, 0.0, -1.0]),
    ("skew_normal", &[0.5, 1.3, 2.0], 0.9, &[0, 1, 2], &[]),
    ("relaxed_bernoulli", &[0.5, 0.7], 0.3, &[0, 1], &[0.0, 1.0, -0.1, 1.1]),
    ("beta_proportion", &[0.3, 7.0], 0.4, &[0, 1], &[-0.1, 1.1]),
    ("discrete_laplace", &[0.0, 1.3], 3.0, &[1], &[0.5]),
    ("skellam", &[2.5, 1.3], 3.0, &[0, 1], &[0.5]),
    ("hurdle_poisson", &[0.4, 2.0], 3.0, &[0, 1], &[-1.0]),
    ("zero_inflated_poisson", &[0.4, 2.0], 3.0, &[0, 1], &[]),
    ("censored_normal", &[0.5, 1.3, -1.0, 2.0], 2.0, &[0, 1], &[-1.1, 2.1]),
    ("interval_normal", &[0.5, 1.3, 2.0], 1.0, &[0, 1, 2], &[2.5]),
];

fn formula<'g>(quantity: &str, law: &dyn Distribution<'g>, graph: &'g Graph, x: Var<'g>) -> Option<Var<'g>> {
    match quantity {
        "log_prob" => Some(law.log_prob(x)),
        "cdf" => law.cdf(x),
        "sf" => law.sf(x),
        "log_cdf" => law.log_cdf(x),
        "log_sf" => law.log_sf(x),
        "mean" => law.mean(graph),
        "variance" => law.variance(graph),
        "entropy" => law.entropy(graph),
        "skewness" => law.skewness(graph),
        other => panic!("unknown quantity {other}"),
    }
}

/// A quantity, with parameters as numbers or as inputs of the program.
fn value<T: Scalar>(name: &str, quantity: &str, parameters: &[f64], x: f64, known: bool) -> f64 {
    let graph = Graph::new();
    let mut inputs = vec![("x".to_owned(), x)];
    let values: Vec<Value<'_>> = parameters
        .iter()
        .enumerate()
        .map(|(i, &p)| {
            if known {
                return Value::Known(p);
            }
            inputs.push((format!("p{i}"), p));
            graph.input(format!("p{i}"), ()).unwrap().into()
        })
        .collect();
    let law = build(name, &values);
    let at = graph.input("x", ()).unwrap();
    let output = formula(quantity, &*law, &graph, at).unwrap_or_else(|| panic!("{name}: no {quantity}"));
    let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[output]).unwrap());
    for (input, number) in inputs {
        if plan.input(&input).is_ok() {
            plan.set(&input, &[T::of(number)]).unwrap();
        }
    }
    plan.run();
    plan.output(0)[0].as_f64()
}

struct Row {
    name: &'static str,
    quantity: &'static str,
    parameters: Vec<f64>,
    x: f64,
    value: f64,
    condition: f64,
}

fn rows() -> impl Iterator<Item = Row> {
    include_str!("golden/laws.csv").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let cells: Vec<&'static str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let parameters = cells[2].split_whitespace().map(|word| word.parse().unwrap()).collect();
        let (x, value, condition) = (number(3), number(4), number(5));
        Row { name: cells[0], quantity: cells[1], parameters, x, value, condition }
    })
}

/// Distribution functions that are differences, with an absolute error: those of the laws' documentation.
fn absolute(row: &Row) -> f64 {
    match (row.name, row.quantity) {
        ("skew_normal" | "exponentially_modified_gaussian", "cdf" | "sf")
        | ("inverse_gaussian", "sf")
        | ("discrete_laplace" | "asymmetric_laplace" | "asymmetric_laplace_quantile", "cdf" | "sf")
        | (_, "cdf") => 4.0 * f64::EPSILON,
        _ => 0.0,
    }
}

/// Errors in units of `1e-12 |value|`, of 32 roundings of the arguments, and of the absolute error above.
#[test]
fn twelve_digits_with_numbers_and_with_values() {
    let mut worst: BTreeMap<(&str, &str), (f64, String)> = BTreeMap::new();
    let mut count = 0;
    for row in rows() {
        for known in [true, false] {
            let got = value::<f64>(row.name, row.quantity, &row.parameters, row.x, known);
            let tolerance = 1e-12 * row.value.abs() + 32.0 * f64::EPSILON * row.condition + absolute(&row);
            let error = if got == row.value { 0.0 } else { (got - row.value).abs() / tolerance };
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let told = format!("{:?} at {}: {got} against {}", row.parameters, row.x, row.value);
            let entry = worst.entry((row.name, row.quantity)).or_insert((0.0, String::new()));
            if error > entry.0 {
                *entry = (error, told);
            }
            count += 1;
        }
    }
    let broken: Vec<_> = worst.iter().filter(|(_, found)| found.0 > 1.0).collect();
    assert!(broken.is_empty(), "((law, quantity), (times the tolerance, …)): {broken:#?}");
    assert!(count > 700, "{count}");
}

/// In `f32`, where parameters are rounded first.
#[test]
fn single_precision_keeps_four_digits() {
    for &(name, parameters, x, ..) in MODERATE {
        let exact = value::<f64>(name, "log_prob", parameters, x, false);
        for known in [true, false] {
            let got = value::<f32>(name, "log_prob", parameters, x, known);
            assert!((got - exact).abs() <= 2e-5 * (1.0 + exact.abs()), "{name}: {got} against {exact}");
        }
    }
}

#[test]
fn tails_in_logarithms_are_logarithms_of_tails() {
    for &(name, parameters, x, ..) in MODERATE {
        if name == "interval_normal" {
            continue;
        }
        for (log, plain) in [("log_cdf", "cdf"), ("log_sf", "sf")] {
            let (log, plain) = (
                value::<f64>(name, log, parameters, x, true),
                value::<f64>(name, plain, parameters, x, true),
            );
            assert!((log.exp() - plain).abs() < 1e-14, "{name}: {log} against the logarithm of {plain}");
        }
        let whole =
            value::<f64>(name, "cdf", parameters, x, true) + value::<f64>(name, "sf", parameters, x, true);
        assert!((whole - 1.0).abs() < 1e-14, "{name}: both tails together are {whole}");
    }
}

#[test]
fn derivatives_are_finite_differences() {
    for &(name, parameters, x, smooth, _) in MODERATE {
        for quantity in ["log_prob", "cdf"] {
            if quantity == "cdf" && (name == "interval_normal" || name == "censored_normal") {
                continue;
            }
            let graph = Graph::new();
            let inputs: Vec<Var<'_>> =
                (0..parameters.len()).map(|i| graph.input(format!("p{i}"), ()).unwrap()).collect();
            let values: Vec<Value<'_>> = inputs.iter().map(|&input| input.into()).collect();
            let at = graph.input("x", ()).unwrap();
            let law = build(name, &values);
            let output = formula(quantity, &*law, &graph, at).unwrap();
            let mut all = inputs.clone();
            all.push(at);
            let slopes = gradient(output, &all).unwrap();
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &slopes).unwrap());
            for (i, &p) in parameters.iter().enumerate() {
                if plan.input(&format!("p{i}")).is_ok() {
                    plan.set(&format!("p{i}"), &[p]).unwrap();
                }
            }
            if plan.input("x").is_ok() {
                plan.set("x", &[x]).unwrap();
            }
            plan.run();
            let discrete = law.support().is_discrete() || name == "censored_normal";
            let arguments: Vec<usize> =
                smooth.iter().copied().chain((!discrete).then_some(parameters.len())).collect();
            for which in arguments {
                let moved = |h: f64| {
                    let (mut parameters, mut x) = (parameters.to_vec(), x);
                    match parameters.get_mut(which) {
                        Some(p) => *p += h,
                        None => x += h,
                    }
                    value::<f64>(name, quantity, &parameters, x, true)
                };
                let h = 1e-5;
                let expected = (moved(h) - moved(-h)) / (2.0 * h);
                let got = plan.output(which)[0];
                assert!(
                    (got - expected).abs() < 1e-8 * (1.0 + expected.abs()) + 1e-8,
                    "{name}, {quantity}, argument {which}: {got} against {expected}"
                );
            }
        }
    }
}

#[test]
fn outside_there_is_nothing() {
    for &(name, parameters, _, _, outside) in MODERATE {
        for &x in outside {
            for known in [true, false] {
                let got = value::<f64>(name, "log_prob", parameters, x, known);
                assert_eq!(got, f64::NEG_INFINITY, "{name} at {x}");
            }
        }
    }
}

#[test]
fn parameters_that_are_out_of_bounds_are_told_of() {
    let told = |law: &dyn Distribution<'_>| law.validate().expect_err("a mistake").to_string();
    let scale = told(&SkewNormal::new(0.0, -1.0, 0.0));
    assert!(scale.contains("SkewNormal: scale must be positive and finite, got -1"), "{scale}");
    let bounds = told(&LogUniform::new(2.0, 1.0));
    assert!(bounds.contains("high"), "{bounds}");
    let gate = told(&Hurdle::from_probs(Poisson::new(1.0), 1.5));
    assert!(gate.contains("gate") && gate.contains("1.5"), "{gate}");
    let base = told(&Hurdle::from_probs(Normal::new(0.0, 1.0), 0.5));
    assert!(base.contains("Hurdle of Normal"), "{base}");
    let ends = told(&Censored::new(Normal::new(0.0, 1.0), 2.0, 1.0));
    assert!(ends.contains("high"), "{ends}");
    let quantile = told(&AsymmetricLaplace::from_quantile(0.0, 1.0, 1.0));
    assert!(quantile.contains("quantile"), "{quantile}");
    let width = told(&Uniform::new(-1e308, 1e308));
    assert!(width.contains("Uniform: high must be") && width.contains("got 1000000"), "{width}");
    assert!(
        Uniform::new(-8e307, 9e307).validate().is_ok() && Uniform::new(-1.0, f64::MAX).validate().is_ok()
    );
    let centre = told(&DiscreteLaplace::new(0.5, 1.0));
    assert!(centre.contains("loc") && centre.contains("0.5"), "{centre}");
}

/// The derivative of a draw keeps the distribution function where it is: `F(x + h ∂x/∂θ; θ + h) = F(x; θ)` to
/// second order.
#[test]
fn implicit_derivatives_follow_the_quantile() {
    use ppl_core::{Noise, Shape};
    let graph = Graph::new();
    let (mean, concentration) = (graph.input("mean", ()).unwrap(), graph.input("c", ()).unwrap());
    let mut noise = Noise::new(&graph, "n");
    let drawn = InverseGaussian::new(mean, concentration).draw(&Shape::scalar(), &mut noise).unwrap();
    let slopes = gradient(drawn, &[mean, concentration]).unwrap();
    let program = Program::new(&graph, &[drawn, slopes[0], slopes[1]]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&program);
    plan.set("mean", &[1.7]).unwrap();
    plan.set("c", &[2.3]).unwrap();
    for (z, u) in [(0.3, 0.2), (-1.2, 0.95), (2.0, 0.5)] {
        plan.set("n/noise/0", &[z]).unwrap();
        plan.set("n/noise/1", &[u]).unwrap();
        plan.run();
        let [x, by_mean, by_concentration] = [0, 1, 2].map(|k| plan.output(k)[0]);
        let h = 1e-5;
        let difference = |m: f64, c: f64, slope: f64| {
            let up = InverseGaussian::new(1.7 + m * h, 2.3 + c * h).cdf(x + slope * h);
            let down = InverseGaussian::new(1.7 - m * h, 2.3 - c * h).cdf(x - slope * h);
            (up - down) / (2.0 * h)
        };
        assert!(difference(1.0, 0.0, by_mean).abs() < 1e-9);
        assert!(difference(0.0, 1.0, by_concentration).abs() < 1e-9);
    }
}
