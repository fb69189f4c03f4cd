//! Shapes, supports, refusals, and sums of probabilities.

use super::common::{CASES, build, evaluate, parameters};
use ndarray::{ArrayD, array};
use ppl_core::{Constraint, Distribution, ExecutionPlan, Graph, Noise, Program, Shape, Value};
use ppl_distributions::{
    BetaBinomial, Binomial, DirichletMultinomial, DiscreteUniform, Multinomial, NegativeBinomial,
    OrderedLogistic, Poisson,
};

/// Probabilities of small supports sum to 1, and the distribution function is their sum.
#[test]
fn probabilities_sum_to_one() {
    for (name, numbers, _) in CASES {
        if matches!(name, "multinomial_logits" | "dirichlet_multinomial") {
            let mut total = 0.0;
            for first in 0..=3 {
                for second in 0..=3 - first {
                    let x = [first, second, 3 - first - second].map(f64::from);
                    total += evaluate::<f64>(name, numbers, true, &x, |d, _, x| Some(d.log_prob(x))).unwrap()
                        [0]
                    .exp();
                }
            }
            assert!((total - 1.0).abs() < 1e-14, "{name}: {total}");
            continue;
        }
        let graph = Graph::new();
        let support = build(name, &graph, &parameters(&graph, numbers, true)).support();
        let outcomes: Vec<f64> = match support {
            Constraint::Boolean => vec![0.0, 1.0],
            Constraint::IntegerInterval(low, high) => (low as i64..=high as i64).map(|k| k as f64).collect(),
            _ => (0..400).map(f64::from).collect(),
        };
        let log_probs =
            evaluate::<f64>(name, numbers, true, &outcomes, |d, _, x| Some(d.log_prob(x))).unwrap();
        let cdf = evaluate::<f64>(name, numbers, true, &outcomes, |d, _, x| d.cdf(x));
        let mut total = 0.0;
        for (i, log_prob) in log_probs.iter().enumerate() {
            total += log_prob.exp();
            // A rounding of each of up to a thousand terms.
            if let Some(cdf) = &cdf {
                assert!(
                    (cdf[i] - total).abs() < 1e-12,
                    "{name} at {}: {} against {total}",
                    outcomes[i],
                    cdf[i]
                );
            }
        }
        assert!((total - 1.0).abs() < 1e-12, "{name}: {total}");
        // Mean and variance from the same probabilities.
        let moment = |f: &dyn Fn(f64) -> f64| {
            outcomes.iter().zip(&log_probs).map(|(&k, l)| f(k) * l.exp()).sum::<f64>()
        };
        let mean = moment(&|k| k);
        let variance = moment(&|k| (k - mean).powi(2));
        let told = evaluate::<f64>(name, numbers, true, &[], |d, graph, _| d.mean(graph)).unwrap()[0];
        assert!((told - mean).abs() < 1e-10 * (1.0 + mean.abs()), "{name}: {told} against {mean}");
        let told = evaluate::<f64>(name, numbers, true, &[], |d, graph, _| d.variance(graph)).unwrap()[0];
        assert!((told - variance).abs() < 1e-10 * (1.0 + variance), "{name}: {told} against {variance}");
        if let Some(told) = evaluate::<f64>(name, numbers, true, &[], |d, graph, _| d.entropy(graph)) {
            let entropy = -log_probs.iter().map(|l| l * l.exp()).sum::<f64>();
            assert!((told[0] - entropy).abs() < 1e-10, "{name}: {} against {entropy}", told[0]);
        }
    }
}

#[test]
fn parameters_may_be_arrays() {
    let graph = Graph::new();
    let three = graph.array(&array![0.2, 0.5, 0.7].into_dyn());
    let column = graph.array(&array![[3.0], [9.0]].into_dyn());
    let binomial = Binomial::from_probs(column, three);
    assert_eq!(binomial.batch_shape().unwrap(), Shape::from([2, 3]));
    assert_eq!(binomial.support(), Constraint::DependentInteger);
    let counts = graph.input("k", [4, 2, 3]).unwrap();
    assert_eq!(binomial.log_prob(counts).shape(), Shape::from([4, 2, 3]));
    assert_eq!(binomial.mean(&graph).unwrap().shape(), Shape::from([2, 3]));
    let mut noise = Noise::new(&graph, "a");
    assert_eq!(binomial.draw(&Shape::from(4), &mut noise).unwrap().shape(), Shape::from([4, 2, 3]));

    let beta = BetaBinomial::new(three, 2.0, 6.0);
    assert_eq!(beta.cdf(counts).unwrap().shape(), Shape::from([4, 2, 3]));
    assert_eq!(beta.quantile(counts).unwrap().shape(), Shape::from([4, 2, 3]));
    assert_eq!(beta.entropy(&graph).unwrap().shape(), Shape::from(3));
    assert_eq!(beta.cdf(graph.constant(1.0)).unwrap().shape(), Shape::from(3));

    let cuts = graph.array(&array![[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]].into_dyn());
    let ordered = OrderedLogistic::new(graph.input("eta", [5, 1]).unwrap(), cuts);
    assert_eq!(ordered.batch_shape().unwrap(), Shape::from([5, 2]));
    assert_eq!(ordered.log_prob(graph.input("y", [5, 2]).unwrap()).shape(), Shape::from([5, 2]));
    for value in [ordered.mean(&graph), ordered.variance(&graph), ordered.entropy(&graph)] {
        assert_eq!(value.unwrap().shape(), Shape::from([5, 2]));
    }
    assert_eq!(ordered.draw(&Shape::from(7), &mut noise).unwrap().shape(), Shape::from([7, 5, 2]));

    let totals = graph.array(&array![[3.0], [9.0], [4.0], [1.0]].into_dyn());
    for multinomial in [
        Box::new(Multinomial::from_logits(totals, cuts)) as Box<dyn Distribution<'_>>,
        Box::new(DirichletMultinomial::new(cuts.exp(), totals)),
    ] {
        assert_eq!(multinomial.batch_shape().unwrap(), Shape::from([4, 2]));
        assert_eq!(multinomial.event_shape(), Shape::from(3));
        let x = graph.input("counts", [4, 2, 3]).unwrap();
        assert_eq!(multinomial.log_prob(x).shape(), Shape::from([4, 2]));
        assert_eq!(multinomial.mean(&graph).unwrap().shape(), Shape::from([4, 2, 3]));
        assert_eq!(multinomial.variance(&graph).unwrap().shape(), Shape::from([4, 2, 3]));
        let drawn = multinomial.draw(&Shape::from(6), &mut noise).unwrap();
        assert_eq!(drawn.shape(), Shape::from([6, 4, 2, 3]));
    }
    let copies = Poisson::new(three).iid(4);
    assert_eq!(copies.event_shape(), Shape::from([4, 3]));
    graph.check().unwrap();
}

/// A batch gives the numbers that its members give one by one.
#[test]
fn batches_are_distributions_one_by_one() {
    let graph = Graph::new();
    let cuts = [[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]];
    let etas = [0.3, -2.0];
    let y = [1.0, 3.0];
    let all = OrderedLogistic::new(
        graph.array(&ArrayD::from_shape_vec(vec![2], etas.to_vec()).unwrap()),
        graph.array(&array![[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]].into_dyn()),
    );
    let values = graph.array(&array![1.0, 3.0].into_dyn());
    let outputs = [
        all.log_prob(values),
        all.mean(&graph).unwrap(),
        all.variance(&graph).unwrap(),
        all.entropy(&graph).unwrap(),
        all.cdf(values).unwrap(),
    ];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.run();
    for i in 0..2 {
        let mut numbers = vec![etas[i]];
        numbers.extend(cuts[i]);
        let one = |f: usize| {
            evaluate::<f64>("ordered_logistic", &numbers, true, &[y[i]], |d, graph, x| match f {
                0 => Some(d.log_prob(x)),
                1 => d.mean(graph),
                2 => d.variance(graph),
                3 => d.entropy(graph),
                _ => d.cdf(x),
            })
            .unwrap()[0]
        };
        for f in 0..5 {
            let (got, expected) = (plan.output(f)[i], one(f));
            assert!(
                (got - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "{f} {i}: {got} against {expected}"
            );
        }
    }
}

#[test]
fn wrong_parameters_and_shapes_are_named() {
    let told = |distribution: &dyn Distribution<'_>| distribution.validate().unwrap_err().to_string();
    assert!(
        told(&Binomial::from_probs(2.5, 0.5))
            .contains("Binomial: total_count must be an integer from 0 on, got 2.5")
    );
    assert!(told(&Binomial::from_probs(2.0, 1.5)).contains("probs must be between 0 and 1, got 1.5"));
    assert!(told(&Poisson::new(-1.0)).contains("Poisson: rate must be not negative, and finite, got -1"));
    assert!(
        told(&NegativeBinomial::from_probs(1.0, 1.0))
            .contains("probs must be strictly between 0 and 1, got 1")
    );
    assert!(told(&NegativeBinomial::from_mean(0.0, 1.0)).contains("mean must be positive"));
    assert!(told(&DiscreteUniform::new(4.0, 3.0)).contains("high must be an integer from 4 to"));
    assert!(told(&DiscreteUniform::new(0.5, 3.0)).contains("low must be an integer from"));
    assert!(told(&BetaBinomial::new(1.0, -1.0, 3.0)).contains("concentration0 must be positive"));
    let graph = Graph::new();
    let number = graph.input("number", ()).unwrap();
    assert!(
        told(&Multinomial::from_probs(3.0, number))
            .contains("Multinomial: expected a last axis of length 1 at least, got shape []")
    );
    let none = graph.input("none", [2, 0]).unwrap();
    assert!(
        told(&DirichletMultinomial::new(none, 3.0)).contains("DirichletMultinomial: expected a last axis")
    );
    let two = graph.input("two", [2, 3]).unwrap();
    let four = graph.input("four", [4]).unwrap();
    assert!(told(&Multinomial::from_logits(four, two)).contains("shapes [4] and [2] do not go together"));
}

/// Totals and bounds that are values of the model are checked by the log probability.
#[test]
fn outside_of_bounds_that_are_values_the_log_probability_is_minus_infinity() {
    for (name, numbers, x) in [
        ("binomial_probs", vec![4.0, 0.5], 5.0),
        ("beta_binomial", vec![1.0, 2.0, 4.0], 5.0),
        ("discrete_uniform", vec![1.0, 4.0], 5.0),
        ("discrete_uniform", vec![1.0, 4.0], 0.0),
    ] {
        let got = evaluate::<f64>(name, &numbers, false, &[x], |d, _, x| Some(d.log_prob(x))).unwrap()[0];
        assert_eq!(got, f64::NEG_INFINITY, "{name} at {x}");
    }
    let graph = Graph::new();
    let total: Value<'_> = graph.input("n", ()).unwrap().into();
    assert!(Binomial::from_probs(total, 0.5).entropy(&graph).is_none());
    assert!(Binomial::from_probs(257.0, 0.5).entropy(&graph).is_none());
    assert!(Binomial::from_probs(256.0, 0.5).entropy(&graph).is_some());
}
