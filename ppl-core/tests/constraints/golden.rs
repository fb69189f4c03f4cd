//! The conventions, against values of 150 digits that agree with NumPyro's (`tests/golden/constraints`).

use super::constrained;
use ndarray::Array1;
use ppl_core::Constraint;

fn numbers(field: &str) -> Vec<f64> {
    field.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn bijections_and_jacobians_agree_with_their_definitions() {
    let mut rows = 0;
    for line in
        include_str!("../golden/constraints/bijections.csv").lines().filter(|line| !line.starts_with('#'))
    {
        let fields: Vec<&str> = line.split(',').collect();
        let set = match fields[0] {
            "simplex" => Constraint::Simplex,
            "ordered" => Constraint::Ordered,
            "positive_ordered" => Constraint::PositiveOrdered,
            "lower_cholesky" => Constraint::LowerCholesky,
            "correlation_cholesky" => Constraint::CorrelationCholesky,
            "positive_definite" => Constraint::PositiveDefinite,
            "zero_sum" => Constraint::ZeroSum,
            "correlation" => Constraint::Correlation,
            other => panic!("unknown set {other}"),
        };
        let (u, expected, jacobian) =
            (numbers(fields[1]), numbers(fields[2]), fields[3].parse::<f64>().unwrap());
        let (got, log_jacobian) = constrained(set, &Array1::from(u.clone()).into_dyn());
        let n = expected.len() as f64;
        let largest = match set {
            // Sums: an error of one term is one of the sum.
            Constraint::Ordered
            | Constraint::PositiveOrdered
            | Constraint::PositiveDefinite
            | Constraint::ZeroSum
            | Constraint::Correlation => expected.iter().fold(0.0_f64, |a, &b| a.max(b.abs())),
            _ => 0.0,
        };
        for (&got, &expected) in got.iter().zip(&expected) {
            // An exponential of a sum of n logarithms: each is off by a unit in the last place of the largest
            // partial sum.
            let logarithm = if expected == 0.0 { 0.0 } else { expected.abs().ln().abs() };
            let bound = 4.0 * f64::EPSILON * n * (expected.abs() * (1.0 + logarithm) + largest);
            assert!((got - expected).abs() <= bound, "{line}: {got} against {expected}");
        }
        let terms: f64 = u.iter().map(|u| 1.0 + u.abs()).sum();
        assert!(
            (log_jacobian[0] - jacobian).abs() <= 4.0 * f64::EPSILON * n * (1.0 + terms),
            "{line}: {log_jacobian:?}"
        );
        rows += 1;
    }
    assert_eq!(rows, 98);
}
