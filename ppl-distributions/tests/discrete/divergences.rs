//! Kullback–Leibler divergences of counts and categories against their definition, summed over the outcomes.

use ndarray::{Array1, ArrayD};
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Var};
use ppl_distributions::{
    Bernoulli, Binomial, Categorical, Combine, Geometric, KullbackLeibler, Normal, Poisson,
};
use proptest::prelude::*;

fn run(graph: &Graph, outputs: &[Var<'_>]) -> Vec<f64> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    plan.run();
    (0..outputs.len()).map(|k| plan.output(k)[0]).collect()
}

/// The closed form, and `Σ p (ln p − ln q)` over the outcomes 0, …, `count` − 1.
fn both<'g, P, Q>(graph: &'g Graph, p: &P, q: &Q, count: usize) -> [f64; 2]
where
    P: KullbackLeibler<'g, Q> + Distribution<'g>,
    Q: Distribution<'g>,
{
    let outcomes = graph.array(&Array1::from_shape_fn(count, |k| k as f64).into_dyn());
    let (log_p, log_q) = (p.log_prob(outcomes), q.log_prob(outcomes));
    let sum = (log_p.exp() * (log_p - log_q)).sum();
    let found = run(graph, &[p.kl_divergence(q, graph), sum]);
    [found[0], found[1]]
}

/// The sum's terms are of this size together, so it is wrong by some roundings of it; and so is the closed
/// form.
fn agree([closed, sum]: [f64; 2], size: f64) -> bool {
    (closed - sum).abs() <= 1e-13 * (1.0 + size) && closed >= 0.0
}

proptest! {
    #[test]
    fn divergences_are_their_sums(a in -4.0..4.0_f64, b in -4.0..4.0_f64, n in 0_u32..40, c in 0.05..30.0_f64, d in 0.05..30.0_f64) {
        let graph = Graph::new();
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let (p, q, n) = (sigmoid(a), sigmoid(b), f64::from(n));
        for (first, second) in [
            (Bernoulli::from_logits(a), Bernoulli::from_logits(b)),
            (Bernoulli::from_probs(p), Bernoulli::from_logits(b)),
            (Bernoulli::from_probs(p), Bernoulli::from_probs(q)),
        ] {
            prop_assert!(agree(both(&graph, &first, &second, 2), (a - b).abs()));
        }
        let (first, second) = (Binomial::from_logits(n, a), Binomial::from_probs(n, q));
        prop_assert!(agree(both(&graph, &first, &second, n as usize + 1), n * (a - b).abs() + 100.0));
        // Up to where less than e^(−60) is left.
        let count = (60.0 / -(-p).ln_1p()) as usize + 10;
        let pair = both(&graph, &Geometric::from_probs(p), &Geometric::from_logits(b), count);
        prop_assert!(agree(pair, (a - b).abs() / p), "{pair:?}");
        let pair = both(&graph, &Poisson::new(c), &Poisson::new(d), 400);
        prop_assert!(agree(pair, 100.0 + c + d), "{pair:?}");
        let array = |numbers: &[f64]| graph.array(&ArrayD::from_shape_vec(vec![3], numbers.to_vec()).unwrap());
        let first = Categorical::from_logits(array(&[a, 0.3, b]));
        let second = Categorical::from_probs(array(&[0.5 * q, 0.5, 0.5 * (1.0 - q)]));
        prop_assert!(agree(both(&graph, &first, &second, 3), 20.0));
    }
}

/// Of laws that are nearly the same the divergence is half the squared distance in standard deviations: no
/// digits are lost to `ln p − ln q`.
#[test]
fn divergences_of_close_laws_keep_their_digits() {
    let graph = Graph::new();
    let step = 2.0_f64.powi(-30);
    let (p, rate) = (0.25, 8.0);
    let found = run(
        &graph,
        &[
            Bernoulli::from_probs(p).kl_divergence(&Bernoulli::from_probs(p + step), &graph),
            Binomial::from_probs(10.0, p).kl_divergence(&Binomial::from_probs(10.0, p + step), &graph),
            Geometric::from_probs(p).kl_divergence(&Geometric::from_probs(p + step), &graph),
            Poisson::new(rate).kl_divergence(&Poisson::new(rate + step), &graph),
        ],
    );
    let trial = 0.5 * step * step / (p * (1.0 - p));
    for (got, expected) in found.iter().zip([trial, 10.0 * trial, trial / p, 0.5 * step * step / rate]) {
        // The next term is `step` times as large, relatively, with a factor of at most 2 (1 − 2p)/(3p (1 −
        // p)).
        assert!((got / expected - 1.0).abs() < 4.0 * step, "{got}, {expected}");
    }
}

/// The sum over all places of the divergence of a standard normal from others.
fn table<'g>(graph: &'g Graph, loc: Var<'g>) -> Var<'g> {
    Normal::new(0.0, 1.0).kl_divergence(&Normal::new(loc, 1.0), graph).sum()
}

#[test]
fn edges_and_combinations() {
    let graph = Graph::new();
    let certain = Bernoulli::from_probs(1.0);
    let half = Bernoulli::from_probs(0.5);
    let totals = Binomial::from_probs(3.0, 0.5).kl_divergence(&Binomial::from_probs(4.0, 0.5), &graph);
    // Batches of 2 by 3, the same along one axis or both.
    let rows = graph.array(&ndarray::array![[1.0], [2.0]].into_dyn());
    let expanded = Normal::new(0.0, 1.0)
        .expanded([2, 3])
        .kl_divergence(&Normal::new(rows, 1.0).expanded([2, 3]), &graph);
    let columns = graph.array(&ndarray::array![[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]].into_dyn());
    let independent = Normal::new(columns, 1.0)
        .independent(1)
        .kl_divergence(&Normal::new(0.0 * columns, 1.0).independent(1), &graph);
    assert_eq!(expanded.shape().dims(), [2, 3]);
    assert_eq!(independent.shape().dims(), [2]);
    let found = run(
        &graph,
        &[
            certain.kl_divergence(&half, &graph),
            half.kl_divergence(&certain, &graph),
            certain.kl_divergence(&certain, &graph),
            totals,
            expanded.sum() - 3.0 * table(&graph, rows),
            independent.sum() - table(&graph, columns),
        ],
    );
    assert!((found[0] - 2.0_f64.ln()).abs() < 1e-15);
    assert_eq!((found[1], found[2]), (f64::INFINITY, 0.0));
    assert!(found[3].is_nan());
    assert!(found[4].abs() < 1e-14 && found[5].abs() < 1e-14);
}
