//! Families against the distributions' own log densities and moments.

use ndarray::{ArrayD, arr0, arr1, arr2};
use ppl_core::model::ExponentialFamily;
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Var, gradient};
use ppl_distributions::{
    Bernoulli, Beta, Categorical, Dirichlet, Gamma, MultivariateNormal, Normal, Poisson, WishartFamily,
};

fn values(graph: &Graph, outputs: &[Var<'_>]) -> Vec<Vec<f64>> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

/// `Σ ⟨η, T⟩ − A + ln h`, with both forms of `A`.
fn densities<'g>(family: &dyn ExponentialFamily<'g>, x: Var<'g>) -> [Var<'g>; 2] {
    let graph = x.graph();
    let statistics = family.statistics();
    let natural: Vec<Var<'g>> = family
        .natural(graph)
        .into_iter()
        .zip(&statistics)
        .map(|(natural, statistic)| natural.broadcast_to(statistic.shape(&x.shape())))
        .collect();
    let linear = natural
        .iter()
        .zip(&statistics)
        .map(|(natural, statistic)| (*natural * statistic.of(x)).sum())
        .fold(family.log_base(x), |sum, term| sum + term);
    let copies = x.shape().elements() / family.outcome().elements();
    let own = family.own_log_partition(graph);
    let own = own.sum() * (copies as f64 / own.shape().elements() as f64);
    [linear - family.log_partition(&natural), linear - own]
}

fn check<'g>(distribution: impl Distribution<'g> + 'g, graph: &'g Graph, at: &ArrayD<f64>) {
    let x = graph.array(at);
    let family = distribution.family().unwrap();
    let log_prob = distribution.log_prob(x).sum();
    let [general, own] = densities(&*family, x);
    let found = values(graph, &[log_prob, general, own]);
    for form in [1, 2] {
        let (a, b) = (found[0][0], found[form][0]);
        assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{}: {a} and {b} ({form})", family.name());
    }
}

#[test]
fn log_densities_are_linear_in_the_statistics() {
    let graph = Graph::new();
    let array = |values: &[f64]| graph.array(&arr1(values).into_dyn());
    check(Normal::new(0.3, 2.0), &graph, &arr0(1.2).into_dyn());
    check(Normal::new(array(&[0.3, -1.0, 2.0]), 2.0), &graph, &arr1(&[1.0, 2.0, 0.5]).into_dyn());
    check(Normal::new(0.0, array(&[1.0, 3.0])).iid(2), &graph, &arr2(&[[1.0, 2.0], [-1.0, 0.5]]).into_dyn());
    check(Gamma::new(2.5, array(&[0.5, 4.0])), &graph, &arr1(&[1.0, 0.2]).into_dyn());
    check(Beta::new(0.4, 3.0).iid(3), &graph, &arr1(&[0.1, 0.5, 0.9]).into_dyn());
    check(Bernoulli::from_logits(array(&[-2.0, 0.5])), &graph, &arr1(&[1.0, 0.0]).into_dyn());
    check(Bernoulli::from_probs(0.3), &graph, &arr0(1.0).into_dyn());
    check(Poisson::new(2.5).iid(2), &graph, &arr1(&[0.0, 4.0]).into_dyn());
    check(Poisson::from_log_rate(0.7), &graph, &arr0(3.0).into_dyn());
    check(Dirichlet::symmetric(0.3, 3).iid(2), &graph, &arr2(&[[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]).into_dyn());
    check(Dirichlet::new(array(&[0.5, 2.0, 3.0])), &graph, &arr1(&[0.2, 0.3, 0.5]).into_dyn());
    check(Categorical::from_probs(array(&[0.2, 0.3, 0.5])), &graph, &arr0(1.0).into_dyn());
    check(Categorical::from_logits(array(&[0.2, 1.3, -0.5])), &graph, &arr0(2.0).into_dyn());
    let covariance = graph.array(&arr2(&[[2.0, 0.5], [0.5, 1.0]]).into_dyn());
    let x = arr2(&[[1.0, 2.0], [-1.0, 0.3], [0.0, 0.1]]).into_dyn();
    check(MultivariateNormal::from_covariance(array(&[0.5, -1.0]), covariance).iid(3), &graph, &x);
    check(MultivariateNormal::from_precision(0.0, covariance), &graph, &arr1(&[1.0, 2.0]).into_dyn());
}

/// Means of statistics are the gradient of the log-partition function.
#[test]
fn means_are_the_gradient_of_the_log_partition_function() {
    let graph = Graph::new();
    let digamma = |x: f64| values(&graph, &[graph.constant(x).digamma()])[0][0];
    let check = |natural: &[Vec<f64>], shapes: &[Vec<usize>], family: &str, expected: &[Vec<f64>]| {
        let graph = Graph::new();
        let one = graph.constant(1.0);
        let two = graph.array(&arr2(&[[1.0, 0.0], [0.0, 1.0]]).into_dyn());
        let family: Box<dyn ExponentialFamily<'_> + '_> = match family {
            "Normal" => Normal::new(0.0, 1.0).family().unwrap(),
            "Gamma" => Gamma::new(1.0, 1.0).family().unwrap(),
            "Beta" => Beta::new(1.0, 1.0).family().unwrap(),
            "Poisson" => Poisson::new(1.0).family().unwrap(),
            "Bernoulli" => Bernoulli::from_logits(0.0).family().unwrap(),
            "Dirichlet" => Dirichlet::symmetric(1.0, 2).family().unwrap(),
            "Categorical" => Categorical::from_logits(one.broadcast_to(2)).family().unwrap(),
            "MultivariateNormal" => MultivariateNormal::from_precision(0.0, two).family().unwrap(),
            _ => Box::new(WishartFamily::new(3.0, two)),
        };
        let inputs: Vec<Var<'_>> = shapes
            .iter()
            .enumerate()
            .map(|(k, shape)| graph.input(k.to_string(), ppl_core::Shape::from(&shape[..])).unwrap())
            .collect();
        let means = gradient(family.log_partition(&inputs), &inputs).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &means).unwrap());
        for (k, natural) in natural.iter().enumerate() {
            plan.set(&k.to_string(), natural).unwrap();
        }
        plan.run();
        for (k, expected) in expected.iter().enumerate() {
            for (found, expected) in plan.output(k).iter().zip(expected) {
                let close = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                assert!(close, "{}: {found} {expected}", family.name());
            }
        }
    };
    let n = vec![];
    // μ = 2, s² = 1/4: E x² = 4.25
    check(&[vec![8.0], vec![-2.0]], &[n.clone(), n.clone()], "Normal", &[vec![2.0], vec![4.25]]);
    let log_mean = digamma(3.0) - 2.0_f64.ln();
    check(&[vec![2.0], vec![-2.0]], &[n.clone(), n.clone()], "Gamma", &[vec![log_mean], vec![1.5]]);
    let of_beta = [vec![digamma(2.0) - digamma(5.0)], vec![digamma(3.0) - digamma(5.0)]];
    check(&[vec![1.0], vec![2.0]], &[n.clone(), n.clone()], "Beta", &of_beta);
    check(&[vec![1.5]], std::slice::from_ref(&n), "Poisson", &[vec![1.5_f64.exp()]]);
    check(&[vec![1.5]], &[n], "Bernoulli", &[vec![1.0 / (1.0 + (-1.5_f64).exp())]]);
    let of_dirichlet = vec![digamma(2.0) - digamma(5.0), digamma(3.0) - digamma(5.0)];
    check(&[vec![1.0, 2.0]], &[vec![2]], "Dirichlet", &[of_dirichlet]);
    let share = 1.0 / (1.0 + 1.0_f64.exp());
    check(&[vec![1.0, 2.0]], &[vec![2]], "Categorical", &[vec![share, 1.0 - share]]);
    let second = vec![-0.5, 0.0, 0.0, -1.0];
    let expected = [vec![2.0, 1.5], vec![5.0, 3.0, 3.0, 2.75]];
    check(&[vec![2.0, 3.0], second], &[vec![2], vec![2, 2]], "MultivariateNormal", &expected);
    // n = 5, V = diag(1, ½): mean nV; E ln |Λ| = ψ(5/2) + ψ(2) + 2 ln 2 + ln ½
    let expected =
        [vec![digamma(2.5) + digamma(2.0) + 2.0 * 2.0_f64.ln() + 0.5_f64.ln()], vec![5.0, 0.0, 0.0, 2.5]];
    check(&[vec![1.0], vec![-0.5, 0.0, 0.0, -1.0]], &[vec![], vec![2, 2]], "Wishart", &expected);
}

#[test]
fn what_is_no_exponential_family_says_so() {
    assert!(ppl_distributions::StudentT::new(3.0, 0.0, 1.0).family().is_none());
    assert!(ppl_distributions::Laplace::new(0.0, 1.0).family().is_none());
}
