//! Normal distributions of vectors: the same one by different parameters, and divergences.

use super::{close, run};
use ndarray::{Array2, ArrayD, array};
use ppl_core::{Constraint, Distribution, Graph, Shape, Var};
use ppl_distributions::{LowRankMultivariateNormal, MultivariateNormal, strategies};
use proptest::prelude::*;

/// A dimension, two covariance matrices, and numbers for vectors.
fn pair() -> impl Strategy<Value = (usize, ArrayD<f64>, ArrayD<f64>, Vec<f64>)> {
    (1..5usize).prop_flat_map(|n| {
        let covariance = || strategies::member(Constraint::PositiveDefinite, [n, n], 1.0);
        (Just(n), covariance(), covariance(), proptest::collection::vec(-1.0..1.0_f64, 40))
    })
}

proptest! {
    #[test]
    fn parametrisations_agree((n, sigma, _, u) in pair()) {
        let graph = Graph::new();
        let sigma = graph.array(&sigma);
        let (loc, x) = (&u[20..20 + n], &u[30..30 + n]);
        let vector = |values: &[f64]| graph.array(&ArrayD::from_shape_vec(vec![n], values.to_vec()).unwrap());
        let (loc, x) = (vector(loc), vector(x));
        let all = [
            MultivariateNormal::from_covariance(loc, sigma),
            MultivariateNormal::from_cholesky(loc, sigma.cholesky()),
            MultivariateNormal::from_precision(loc, sigma.inverse()),
        ];
        let outputs: Vec<Var<'_>> = all.iter().flat_map(|normal| [
            normal.log_prob(x), normal.entropy(&graph).unwrap(), normal.variance(&graph).unwrap(), normal.covariance(&graph), normal.scale_tril(&graph),
        ]).collect();
        let found = run(&graph, &outputs, &[]);
        // κ(Σ) units of rounding from the inverse; with |u| ≤ 1 it is at most about (n e²)ⁿ, and 1e5 is
        // seldom reached.
        for other in [1, 2] {
            for k in 0..5 {
                for (a, b) in found[k].iter().zip(&found[5 * other + k]) {
                    prop_assert!(close(*a, *b, 1e7), "{k}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn low_rank_is_the_dense_one(n in 1..5usize, r in 1..3usize, u in proptest::collection::vec(-1.5..1.5_f64, 40)) {
        let graph = Graph::new();
        let take = |from: usize, shape: &[usize]| {
            let shape = Shape::from(shape);
            ArrayD::from_shape_vec(shape.dims(), u[from..from + shape.elements()].to_vec()).unwrap()
        };
        let (factor, diagonal) = (graph.array(&take(0, &[n, r])), graph.array(&take(10, &[n]).mapv(f64::exp)));
        let (loc, x) = (graph.array(&take(20, &[n])), graph.array(&take(24, &[3, n])));
        let low_rank = LowRankMultivariateNormal::new(loc, factor, diagonal);
        let dense = MultivariateNormal::from_covariance(loc, low_rank.covariance(&graph));
        let outputs = [
            low_rank.log_prob(x), low_rank.variance(&graph).unwrap(), low_rank.entropy(&graph).unwrap(),
            dense.log_prob(x), dense.variance(&graph).unwrap(), dense.entropy(&graph).unwrap(),
        ];
        let found = run(&graph, &outputs, &[]);
        for k in 0..3 {
            for (a, b) in found[k].iter().zip(&found[3 + k]) {
                prop_assert!(close(*a, *b, 1e5), "{k}: {a} {b}");
            }
        }
    }

    /// 0 of a distribution and itself, positive else, and the same for any parametrisation.
    #[test]
    fn divergences_are_distances((n, p, q, u) in pair()) {
        let graph = Graph::new();
        let vector = |from: usize| graph.array(&ArrayD::from_shape_vec(vec![n], u[from..from + n].to_vec()).unwrap());
        let (p, q) = (graph.array(&p), graph.array(&q));
        let first = MultivariateNormal::from_covariance(vector(20), p);
        let second = MultivariateNormal::from_covariance(vector(24), q);
        let others = MultivariateNormal::from_precision(vector(24), q.inverse());
        let outputs = [first.kl_divergence(&first, &graph), first.kl_divergence(&second, &graph), first.kl_divergence(&others, &graph)];
        let found = run(&graph, &outputs, &[]);
        prop_assert_eq!(found[0][0], 0.0);
        prop_assert!(found[1][0] > 0.0);
        prop_assert!(close(found[1][0], found[2][0], 1e7));
    }
}

/// By quadrature: `∫∫ p ln(p/q)` over a grid that is as good as exact for these densities.
#[test]
fn a_divergence_is_its_integral() {
    let graph = Graph::new();
    let known = |array: Array2<f64>| graph.array(&array.into_dyn());
    let loc = graph.array(&array![0.5, -0.25].into_dyn());
    let p = MultivariateNormal::from_cholesky(0.0, known(array![[1.0, 0.0], [0.5, 0.8]]));
    let q = MultivariateNormal::from_covariance(loc, known(array![[2.0, -0.3], [-0.3, 1.0]]));
    let (steps, reach) = (400, 10.0);
    let h = 2.0 * reach / f64::from(steps);
    let points: Vec<f64> = (0..=steps)
        .flat_map(|i| (0..=steps).flat_map(move |j| [f64::from(i) * h - reach, f64::from(j) * h - reach]))
        .collect();
    let x = graph.input("x", [points.len() / 2, 2]).unwrap();
    let outputs = [p.log_prob(x), q.log_prob(x), p.kl_divergence(&q, &graph)];
    let found = run(&graph, &outputs, &[("x", &points)]);
    let integrate = |f: &dyn Fn(f64, f64) -> f64| {
        h * h * found[0].iter().zip(&found[1]).map(|(&p, &q)| f(p, q)).sum::<f64>()
    };
    // The trapezoid rule converges faster than any power of h for a density that is analytic: with h = 1/20,
    // beyond rounding.
    assert!((integrate(&|p, _| p.exp()) - 1.0).abs() < 1e-12);
    assert!((integrate(&|p, q| p.exp() * (p - q)) - found[2][0]).abs() < 1e-11);
}

/// Batches of divergences broadcast.
#[test]
fn divergences_of_batches_broadcast() {
    let graph = Graph::new();
    let locs = graph.array(&array![[0.0, 0.0], [3.0, 4.0]].into_dyn());
    let identity = graph.array(&Array2::eye(2).into_dyn());
    let factors = graph.array(
        &ndarray::stack(
            ndarray::Axis(0),
            &[Array2::<f64>::eye(2).view(), (2.0 * Array2::<f64>::eye(2)).view()],
        )
        .unwrap()
        .into_dyn(),
    );
    let (p, q) =
        (MultivariateNormal::from_cholesky(locs, identity), MultivariateNormal::from_cholesky(0.0, factors));
    let found = run(&graph, &[p.kl_divergence(&q, &graph), q.kl_divergence(&p, &graph)], &[]);
    let ln2 = 2.0_f64.ln();
    assert!(
        close(found[0][0], 0.0, 4.0) && close(found[0][1], 0.25 - 1.0 + 2.0 * ln2 + 25.0 / 8.0, 8.0),
        "{found:?}"
    );
    assert!(close(found[1][1], 3.0 - 2.0 * ln2 + 12.5, 8.0), "{found:?}");
}
