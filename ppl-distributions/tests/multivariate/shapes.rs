//! Batches, prefixes, what is told of wrong parameters.

use super::cases::{Boxed, FAMILIES, parameters};
use super::{close, run};
use ndarray::{ArrayD, Axis, array, stack};
use ppl_core::{Distribution, Graph, Noise, Shape, Var};
use ppl_distributions::{
    Categorical, Dirichlet, LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, MultivariateStudentT,
};
use proptest::prelude::*;

/// Log densities of a batch of two, of parameters `first` and `second`, at outcomes of shape `[3, 2, event]`.
fn of_batch(
    which: usize,
    n: usize,
    both: &[Vec<ArrayD<f64>>; 2],
    outcomes: &ArrayD<f64>,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let family = FAMILIES[which];
    let graph = Graph::new();
    let vars: Vec<Var<'_>> = (0..both[0].len())
        .map(|k| graph.array(&stack(Axis(0), &[both[0][k].view(), both[1][k].view()]).unwrap()))
        .collect();
    let distribution: Boxed<'_> = (family.build)(n, &vars);
    assert_eq!(distribution.batch_shape().unwrap(), Shape::from(2), "{family:?}");
    distribution.validate().unwrap();
    let log_prob = distribution.log_prob(graph.array(outcomes));
    assert_eq!(log_prob.shape(), Shape::from([3, 2]));
    let whole = Shape::from(2).concat(&distribution.event_shape());
    let moments = [distribution.mean(&graph), distribution.variance(&graph), distribution.entropy(&graph)];
    let mut outputs = vec![log_prob];
    for (moment, shape) in moments.into_iter().zip([&whole, &whole, &Shape::from(2)]) {
        let moment = moment.unwrap();
        assert_eq!(moment.shape(), *shape, "{family:?}");
        outputs.push(moment);
    }
    let mut found = run(&graph, &outputs, &[]);
    (found.remove(0), found)
}

proptest! {
    #[test]
    fn batches_are_one_by_one(which in 0..FAMILIES.len(), n in 1..4usize, numbers in proptest::collection::vec(-1.5..1.5_f64, 160)) {
        let family = FAMILIES[which];
        let both = [parameters(family, n, &numbers[..40]), parameters(family, n, &numbers[40..80])];
        // Outcomes: members, by the bijection of the support.
        let graph = Graph::new();
        let vars: Vec<Var<'_>> = both[0].iter().map(|array| graph.array(array)).collect();
        let distribution = (family.build)(n, &vars);
        let support = distribution.support();
        let outcomes = if support.is_discrete() {
            ArrayD::from_shape_vec(vec![3, 2], (0..6).map(|k| (k % n) as f64).collect()).unwrap()
        } else {
            let shape = Shape::from([3, 2]).concat(&support.unconstrained_shape(&distribution.event_shape()).unwrap());
            let u = ArrayD::from_shape_vec(shape.dims(), numbers[80..80 + shape.elements()].to_vec()).unwrap();
            support.constrain_array(&u).unwrap()
        };
        let (together, moments) = of_batch(which, n, &both, &outcomes);
        for (place, parameters) in both.iter().enumerate() {
            let graph = Graph::new();
            let vars: Vec<Var<'_>> = parameters.iter().map(|array| graph.array(array)).collect();
            let distribution = (family.build)(n, &vars);
            let [mean, variance, entropy] = [distribution.mean(&graph), distribution.variance(&graph), distribution.entropy(&graph)].map(Option::unwrap);
            let mut outputs = vec![mean, variance, entropy];
            for prefix in 0..3 {
                let one = outcomes.index_axis(Axis(0), prefix).index_axis(Axis(0), place).to_owned();
                let log_prob = distribution.log_prob(graph.array(&one));
                prop_assert_eq!(log_prob.shape(), Shape::scalar());
                outputs.push(log_prob);
            }
            let alone = run(&graph, &outputs, &[]);
            for prefix in 0..3 {
                // Sums may be taken in another order.
                prop_assert!(close(alone[3 + prefix][0], together[2 * prefix + place], 256.0), "{family:?}: {} {}", alone[3 + prefix][0], together[2 * prefix + place]);
            }
            for (alone, batch) in alone[..3].iter().zip(&moments) {
                let size = alone.len();
                for (a, b) in alone.iter().zip(&batch[place * size..]) {
                    prop_assert!(a.is_nan() && b.is_nan() || close(*a, *b, 256.0), "{family:?}: {a} {b}");
                }
            }
        }
    }

    /// A draw has the shape that is asked for, whatever batches of parameters it is made of.
    #[test]
    fn draws_have_their_shape(which in 0..FAMILIES.len(), n in 1..4usize, prefix in proptest::collection::vec(1..4usize, 0..3), batched: bool) {
        let family = FAMILIES[which];
        let graph = Graph::new();
        let batch = if batched { Shape::from([2]) } else { Shape::scalar() };
        let vars: Vec<Var<'_>> = family.parameters.iter().enumerate()
            .map(|(k, (_, axes))| graph.input(format!("{k}"), batch.concat(&axes.shape(n))).unwrap()).collect();
        let distribution = (family.build)(n, &vars);
        let prefix = Shape::from(prefix);
        let draw = distribution.draw(&prefix, &mut Noise::new(&graph, "x")).unwrap();
        prop_assert_eq!(draw.shape(), prefix.concat(&batch).concat(&distribution.event_shape()));
        prop_assert!(graph.check().is_ok(), "{:?}", graph.check());
    }
}

#[test]
fn wrong_parameters_are_named() {
    let told = |result: ppl_core::Result<()>| result.unwrap_err().to_string();
    let graph = Graph::new();
    let known = |array: ArrayD<f64>| graph.array(&array);
    let skew = known(array![[1.0, 0.5], [0.4, 1.0]].into_dyn());
    let identity = known(array![[1.0, 0.0], [0.0, 1.0]].into_dyn());
    assert!(
        told(MultivariateNormal::from_covariance(0.0, skew).validate())
            .contains("covariance must be a symmetric positive definite matrix")
    );
    assert!(
        told(MultivariateNormal::from_precision(0.0, skew).validate())
            .contains("precision must be a symmetric")
    );
    assert!(
        told(MultivariateNormal::from_cholesky(0.0, skew).validate())
            .contains("scale_tril must be a lower triangular")
    );
    assert!(
        told(MultivariateNormal::from_cholesky(f64::NAN, identity).validate())
            .contains("loc must be finite, got NaN")
    );
    let three = graph.input("three", 3).unwrap();
    assert!(
        told(MultivariateNormal::from_cholesky(three, identity).validate())
            .contains("shapes [3] and [2, 2] do not go together")
    );
    assert!(
        told(MultivariateNormal::from_cholesky(0.0, three).validate()).contains("expected a square matrix")
    );
    assert!(
        told(MultivariateStudentT::new(-1.0, 0.0, identity).validate())
            .contains("df must be positive and finite, got -1")
    );
    assert!(
        told(MultivariateStudentT::new(three, graph.input("four", [4, 2]).unwrap(), identity).validate())
            .contains("[3] and [4]")
    );
    let factor = graph.input("factor", [2, 1]).unwrap();
    assert!(
        told(LowRankMultivariateNormal::new(0.0, factor, -0.5).validate())
            .contains("covariance_diagonal must be positive and finite, got -0.5")
    );
    assert!(
        told(LowRankMultivariateNormal::new(three, factor, 1.0).validate()).contains("do not go together")
    );
    assert!(
        told(LowRankMultivariateNormal::new(0.0, three, 1.0).validate()).contains("a factor of shape [d, r]")
    );
    assert!(
        told(Dirichlet::symmetric(0.0, 3).validate())
            .contains("concentration must be positive and finite, got 0")
    );
    assert!(told(Dirichlet::symmetric(1.0, 0).validate()).contains("at least one concentration"));
    assert!(told(LKJCholesky::new(0, 1.0).validate()).contains("matrices of at least one row"));
    assert!(told(LKJCholesky::new(2, 0.0).validate()).contains("concentration must be positive"));
    assert!(
        told(Categorical::from_probs(known(array![0.5, 0.6].into_dyn())).validate())
            .contains("probs must be a vector of non-negative numbers that sum to 1")
    );
    assert!(
        told(Categorical::from_logits(known(array![f64::NAN, 0.6].into_dyn())).validate())
            .contains("logits must be finite")
    );
    assert!(
        told(Categorical::from_logits(graph.input("logit", ()).unwrap()).validate())
            .contains("at least one category")
    );
}

/// A value that is no category has no probability, in a batch too, where it must not reach the weights of
/// another place.
#[test]
fn what_is_no_category_is_impossible() {
    let graph = Graph::new();
    let one = graph.array(&array![0.0, 1.0].into_dyn());
    let batch = graph.array(&array![[0.0, 1.0], [2.0, 0.0]].into_dyn());
    let y = graph.input("y", 4).unwrap();
    let pairs = graph.input("pairs", [4, 2]).unwrap();
    let outputs =
        [Categorical::from_logits(one).log_prob(y), Categorical::from_logits(batch).log_prob(pairs)];
    let values = [2.0, -1.0, 0.5, 1.0];
    let pairs: Vec<f64> = values.iter().flat_map(|&value| [value, 0.0]).collect();
    let found = run(&graph, &outputs, &[("y", &values), ("pairs", &pairs)]);
    let impossible = |found: &[f64]| found.iter().map(|&x| x == f64::NEG_INFINITY).collect::<Vec<_>>();
    assert_eq!(impossible(&found[0]), [true, true, true, false]);
    assert_eq!(impossible(&found[1]), [true, false, true, false, true, false, false, false]);
}
