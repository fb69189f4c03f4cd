//! Golden values of 110 digits.

use super::common::{evaluate, parameters};
use ppl_core::{Graph, Scalar};
use std::collections::BTreeMap;

struct Row {
    line: &'static str,
    name: &'static str,
    quantity: &'static str,
    parameters: Vec<f64>,
    x: Vec<f64>,
    value: f64,
    sensitivity: f64,
}

fn rows() -> impl Iterator<Item = Row> {
    include_str!("../golden/discrete.csv").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&'static str> = line.split(',').collect();
        let numbers = |i: usize| fields[i].split_whitespace().map(|word| word.parse().unwrap()).collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let [parameters, x] = [2, 3].map(numbers);
        let (value, sensitivity) = (number(4), number(5));
        Row { line, name: fields[0], quantity: fields[1], parameters, x, value, sensitivity }
    })
}

/// What a program of type `T` makes of a row's quantity; nothing where there is no formula.
fn value<T: Scalar>(row: &Row, parameters: &[f64], known: bool) -> Option<f64> {
    let (quantity, which) = row.quantity.split_once(' ').unwrap_or((row.quantity, "0"));
    let values =
        evaluate::<T>(row.name, parameters, known, &row.x, |distribution, graph, x| match quantity {
            "log_prob" => Some(distribution.log_prob(x)),
            "mean" => distribution.mean(graph),
            "variance" => distribution.variance(graph),
            "entropy" => distribution.entropy(graph),
            "cdf" => distribution.cdf(x),
            "quantile" => distribution.quantile(x),
            other => panic!("unknown quantity {other}"),
        })?;
    Some(values[which.parse::<usize>().unwrap()])
}

/// How far a value may be off: 1e-10 of it; or what 16 roundings of every parameter make of it, where that is
/// more. A logarithm of a probability near 1 is small beside the terms that it is a sum of: 16 roundings of
/// those. They are the remainders of Stirling's formula, `½ ln(2πN)` for the largest number `N` in play,
/// where both counts and concentrations have such, and logarithms of factorials for small totals.
fn tolerance(row: &Row, epsilon: f64) -> f64 {
    let relative = (1e-10_f64).max(32.0 * epsilon) * row.value.abs();
    let parameters = 16.0 * epsilon * row.sensitivity;
    let largest = row.parameters.iter().chain(&row.x).fold(1.0, |largest: f64, x| largest.max(x.abs()));
    let terms = match (row.name, row.quantity) {
        ("beta_binomial" | "dirichlet_multinomial", "log_prob" | "entropy") => {
            1.0 + 0.5 * (6.3 * largest).ln()
        }
        ("binomial_probs" | "binomial_logits", "log_prob" | "entropy") if row.parameters[0] <= 32.0 => {
            0.5 * row.parameters[0] * (row.parameters[0] + 1.0).ln()
        }
        // Probabilities are exponentials of logarithms.
        (_, "cdf") => 4.0 * row.value * (1.0 + largest.ln()),
        _ => 0.0,
    };
    relative.max(parameters).max(16.0 * epsilon * terms)
}

#[test]
fn quantities_agree_with_110_digits() {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    for row in rows() {
        for known in [true, false] {
            let Some(got) = value::<f64>(&row, &row.parameters, known) else {
                // Sums over the support need a total that is known.
                let sums = matches!(row.name, "binomial_probs" | "binomial_logits" | "beta_binomial");
                assert!(!known && sums, "{}: no formula", row.line);
                continue;
            };
            let error = (got - row.value).abs();
            if !(got == row.value || error <= tolerance(&row, f64::EPSILON)) {
                broken.push(format!("{} (known: {known}): got {got:e}, off by {error:e}", row.line));
            }
        }
        *count.entry(row.quantity.split(' ').next().unwrap()).or_default() += 1;
    }
    assert!(broken.is_empty(), "{} values\n{}", broken.len(), broken.join("\n"));
    for (quantity, least) in
        [("log_prob", 500), ("cdf", 250), ("quantile", 180), ("mean", 80), ("variance", 80), ("entropy", 45)]
    {
        assert!(count[quantity] >= least, "{count:?}");
    }
}

/// The same quantities in `f32`, against `f64` at the parameters that `f32` makes of them.
#[test]
fn programs_in_single_precision_agree() {
    let mut compared = 0;
    for row in rows() {
        let single = |values: &[f64]| values.iter().map(|&x| f64::from(x as f32)).collect::<Vec<_>>();
        let (rounded, x) = (single(&row.parameters), single(&row.x));
        let moderate = |x: &f64| *x == 0.0 || (1e-6..=1e4).contains(&x.abs());
        let graph = Graph::new();
        let distribution = super::common::build(row.name, &graph, &parameters(&graph, &rounded, true));
        // A step of the noise moves a quantile where it is close to the end of its range.
        if distribution.validate().is_err() || row.quantity == "quantile" {
            continue;
        }
        if !(rounded.iter().all(moderate) && x.iter().all(moderate)) {
            continue;
        }
        let row = Row { x, ..row };
        let (Some(truth), Some(got)) =
            (value::<f64>(&row, &rounded, true), value::<f32>(&row, &rounded, true))
        else {
            continue;
        };
        if truth.abs() > f64::from(f32::MAX) {
            continue;
        }
        let epsilon = f64::from(f32::EPSILON);
        // Sums and differences of terms of the size of the result's logarithm.
        let allowed = tolerance(&row, epsilon) + 64.0 * epsilon * truth.abs() + f64::from(f32::MIN_POSITIVE);
        assert!((got - truth).abs() <= allowed || got == truth, "{}: {got} against {truth}", row.line);
        compared += 1;
    }
    assert!(compared > 400, "{compared}");
}
