//! Densities and moments against values of 60 digits (`tests/golden/multivariate.csv`, made by
//! `multivariate.py` beside it).

use super::cases::{Boxed, family};
use super::run;
use ppl_core::{Distribution, Graph, Shape, Var};
use ppl_distributions::MultivariateNormal;

fn numbers(field: &str) -> Vec<f64> {
    field.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// What the row's quantity is by this crate.
fn quantity(fields: &[&str]) -> Vec<f64> {
    let parameters: Vec<Vec<f64>> = fields[2].split(';').map(numbers).collect();
    let x = numbers(fields[3]);
    let graph = Graph::new();
    let names: Vec<String> = (0..parameters.len()).map(|k| format!("p{k}")).collect();
    let mut inputs: Vec<(&str, &[f64])> = Vec::new();
    for (name, parameter) in names.iter().zip(&parameters) {
        inputs.push((name, parameter));
    }
    inputs.push(("x", &x));
    if fields[0] == "multivariate_normal_kl" {
        let n = parameters[0].len();
        let shapes = [Shape::from(n), Shape::from([n, n])];
        let var = |k: usize| graph.input(names[k].clone(), shapes[k % 2].clone()).unwrap();
        let pair = [0, 2].map(|k| MultivariateNormal::from_cholesky(var(k), var(k + 1)));
        return run(&graph, &[pair[0].kl_divergence(&pair[1], &graph)], &inputs).remove(0);
    }
    let family = family(fields[0]);
    // The first parameter of matrices of correlations is their number of rows, and of walks that of steps.
    let skipped = usize::from(["lkj_cholesky", "gaussian_random_walk"].contains(&family.name));
    let n = if skipped == 1 { parameters[0][0] as usize } else { parameters[0].len() };
    let vars: Vec<Var<'_>> = (family.parameters.iter().zip(skipped..))
        .map(|((_, axes), k)| graph.input(names[k].clone(), axes.shape_of(parameters[k].len(), n)).unwrap())
        .collect();
    let distribution: Boxed<'_> = (family.build)(n, &vars);
    let output = match fields[1] {
        "log_prob" => distribution.log_prob(graph.input("x", distribution.event_shape()).unwrap()),
        "mean" => distribution.mean(&graph).unwrap(),
        "variance" => distribution.variance(&graph).unwrap(),
        "entropy" => distribution.entropy(&graph).unwrap(),
        other => panic!("unknown quantity {other}"),
    };
    run(&graph, &[output], &inputs).remove(0)
}

#[test]
fn densities_and_moments_agree_with_sixty_digits() {
    let mut rows = 0;
    for line in include_str!("../golden/multivariate.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let (got, expected, sensitivities) = (quantity(&fields), numbers(fields[4]), numbers(fields[5]));
        assert_eq!(got.len(), expected.len(), "{line}");
        // Terms of size 1, such as ln 2π, are added to logarithms; and a variance of an element of a factor
        // of correlations is taken from its mean square, at most 1.
        let terms = match (fields[0], fields[1]) {
            (_, "log_prob" | "entropy") | ("lkj_cholesky", "variance") => 1.0,
            _ => 0.0,
        };
        for ((&got, &expected), &sensitivity) in got.iter().zip(&expected).zip(&sensitivities) {
            // What a relative change of the value, of all inputs and of the constants by 64 units of rounding
            // does: for a well-conditioned value about 1e-14 of it, far below the 1e-10 that is promised.
            let bound = 64.0 * f64::EPSILON * (expected.abs() + sensitivity + terms);
            let error = (got - expected).abs();
            assert!(
                error <= bound,
                "{line}\n{got} against {expected}, off by {error:e} where {bound:e} is allowed"
            );
        }
        rows += 1;
    }
    assert_eq!(rows, 576);
}

/// Elements that are 0 by symmetry, or by what a distribution is, are exactly 0.
#[test]
fn zeros_are_exact() {
    let graph = Graph::new();
    let matrix = ppl_distributions::LKJCholesky::new(3, 2.0);
    let [mean, variance] = [matrix.mean(&graph).unwrap(), matrix.variance(&graph).unwrap()];
    let found = run(&graph, &[mean, variance], &[]);
    for (i, j) in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)] {
        assert_eq!(found[0][3 * i + j], 0.0);
    }
    assert_eq!((found[0][0], found[1][0], found[1][3] > 0.0, found[1][2]), (1.0, 0.0, true, 0.0));
}
