//! Against the values of `tests/golden/univariate.csv`.

use super::*;
use std::collections::BTreeMap;

/// A value of the golden file.
struct Row {
    name: &'static str,
    quantity: &'static str,
    parameters: Vec<f64>,
    x: f64,
    /// Σ |argument · derivative|
    condition: f64,
    value: f64,
}

pub(super) fn lines() -> impl Iterator<Item = Vec<&'static str>> {
    let text = include_str!("../../golden/univariate.csv");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect())
}

fn rows() -> Vec<Row> {
    let read = |cells: Vec<&'static str>| {
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        let count: usize = cells[2].parse().expect("a count");
        Row {
            name: cells[0],
            quantity: cells[1],
            parameters: (0..count).map(|i| number(3 + i)).collect(),
            x: number(8),
            condition: number(9),
            value: number(10),
        }
    };
    lines().filter(|cells| cells[1] != "kl").map(read).collect()
}

fn quantity<'g>(
    row: &Row,
    distribution: &dyn Distribution<'g>,
    graph: &'g Graph,
    x: Var<'g>,
) -> Option<Var<'g>> {
    match row.quantity {
        "log_prob" => Some(distribution.log_prob(x)),
        "cdf" => distribution.cdf(x),
        "mean" => distribution.mean(graph),
        "variance" => distribution.variance(graph),
        "entropy" => distribution.entropy(graph),
        other => panic!("unknown quantity {other}"),
    }
}

/// Errors in units of `1e-10 |value| + 16 ε condition`: ten digits, but for what a handful of roundings of
/// the arguments move. With parameters as numbers, and as values of the graph that are unknown while
/// tracing.
#[test]
fn ten_digits_everywhere() {
    let mut worst: BTreeMap<(&str, &str, bool), (f64, String)> = BTreeMap::new();
    for row in rows() {
        for as_values in [false, true] {
            let graph = Graph::new();
            let mut inputs = vec![("x".to_owned(), vec![row.x])];
            let x = graph.input("x", ()).unwrap();
            // Infinite ends are numbers by nature: there is no parameter to check or to differentiate.
            let parameters: Vec<Value<'_>> = row
                .parameters
                .iter()
                .enumerate()
                .map(|(i, &p)| {
                    if !as_values || p.is_infinite() {
                        return Value::Known(p);
                    }
                    inputs.push((format!("p{i}"), vec![p]));
                    graph.input(format!("p{i}"), ()).unwrap().into()
                })
                .collect();
            let distribution = (case(row.name).build)(&parameters);
            let output = quantity(&row, &*distribution, &graph, x).expect("a formula");
            let got = run::<f64>(&graph, &[output], &inputs)[0][0];
            let tolerance = 1e-10 * row.value.abs() + 16.0 * f64::EPSILON * row.condition;
            let error = if got == row.value { 0.0 } else { (got - row.value).abs() / tolerance };
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let told = format!("{:?} at {}: {got} against {}", row.parameters, row.x, row.value);
            let entry = worst.entry((row.name, row.quantity, as_values)).or_insert((error, told.clone()));
            if error > entry.0 {
                *entry = (error, told);
            }
        }
    }
    let broken: Vec<_> = worst.iter().filter(|(_, found)| found.0 > 1.0).collect();
    assert!(
        broken.is_empty(),
        "((distribution, quantity, as values), (times the tolerance, ..)): {broken:#?}"
    );
    let covered = CASES.iter().filter(|case| worst.contains_key(&(case.name, "log_prob", true))).count();
    assert_eq!(covered, CASES.len());
}

fn moments<'g>(graph: &'g Graph, distribution: impl Distribution<'g>) -> (f64, f64) {
    let number = |moment: Option<Var<'_>>| moment.and_then(Var::known).expect("known parameters");
    (number(distribution.mean(graph)), number(distribution.variance(graph)))
}

#[test]
fn moments_that_do_not_exist_are_infinite_or_nan() {
    let (graph, infinity) = (Graph::new(), f64::INFINITY);
    let (mean, variance) = moments(&graph, Cauchy::new(0.0, 1.0));
    assert!(mean.is_nan() && variance.is_nan());
    let (mean, variance) = moments(&graph, StudentT::new(0.9, 0.0, 1.0));
    assert!(mean.is_nan() && variance.is_nan());
    assert_eq!(moments(&graph, StudentT::new(1.5, 2.0, 1.0)), (2.0, infinity));
    assert_eq!(moments(&graph, HalfCauchy::new(1.0)), (infinity, infinity));
    assert_eq!(moments(&graph, InverseGamma::new(1.0, 1.0)), (infinity, infinity));
    assert_eq!(moments(&graph, InverseGamma::new(2.0, 3.0)), (3.0, infinity));
    assert_eq!(moments(&graph, Pareto::new(1.0, 0.5)), (infinity, infinity));
}

/// The distribution function of a quantile is the probability, to rounding: of the quantile (times the
/// density) and of both functions.
#[test]
fn quantiles_invert_distribution_functions() {
    let probabilities: Vec<f64> =
        [1e-12, 1e-6, 0.01, 0.2, 0.4999, 0.5, 0.7, 0.95, 0.999, 1.0 - 1e-9].to_vec();
    let mut checked = 0;
    for row in rows().iter().filter(|row| row.quantity == "entropy") {
        let graph = Graph::new();
        let p = graph.input("p", probabilities.len()).unwrap();
        let distribution = (case(row.name).build)(&known(&row.parameters));
        let quantile = distribution.quantile(p).expect("a formula");
        let back = distribution.cdf(quantile).expect("a formula");
        let density = (distribution.log_prob(quantile).exp() * quantile).abs();
        let inputs = [("p".to_owned(), probabilities.clone())];
        let found = run::<f64>(&graph, &[quantile, back, density], &inputs);
        let size: f64 = row.parameters.iter().map(|p| if p.is_finite() { p.abs() } else { 0.0 }).sum();
        for (k, &p) in probabilities.iter().enumerate() {
            let (quantile, back, density) = (found[0][k], found[1][k], found[2][k]);
            // The quantile is rounded, and before that ln x or the log-odds were, which are up to a few
            // hundred.
            let moved =
                density * (1.0 + quantile.abs().ln().abs()) + density * size / quantile.abs().max(1e-300);
            let tolerance = 1e-11 * p + 16.0 * f64::EPSILON * (1.0 + moved);
            // Rounded to an end.
            let underflow = quantile == 0.0
                || quantile == f64::INFINITY
                || quantile == 1.0 && distribution.support() == ppl_core::Constraint::UnitInterval;
            assert!(
                underflow || (back - p).abs() <= tolerance,
                "{} {:?}: quantile of {p} is {quantile}, and below it lies {back}",
                row.name,
                row.parameters
            );
        }
        checked += 1;
    }
    assert!(checked > 90, "{checked}");
}
