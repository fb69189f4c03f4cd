//! Reductions of an axis and functions along one.

use super::common::{Case, distinct, shape_and_axis};
use ndarray::{ArrayD, ArrayView1, Axis, arr0};
use ppl_core::{ExecutionPlan, Graph, Program, Shape, Var, gradient};
use proptest::prelude::*;

fn arrays() -> impl Strategy<Value = ([ArrayD<f64>; 3], usize)> {
    shape_and_axis().prop_flat_map(|(shape, axis)| (distinct(shape), Just(axis)))
}

/// Checks a reduction of one axis against a function of the elements along it, and the same of all elements.
fn reduces(
    (x, axis): ([ArrayD<f64>; 3], usize),
    one: impl for<'g> Fn(Var<'g>, usize) -> Var<'g>,
    all: impl for<'g> Fn(Var<'g>) -> Var<'g>,
    reference: impl Fn(&[f64]) -> f64 + Copy,
) {
    let along = move |v: &[ArrayD<f64>]| v[0].map_axis(Axis(axis), |line| reference(&line.to_vec()));
    Case::new(move |v| one(v[0], axis), along, vec![x.clone()]).within(32.0).check();
    let whole =
        move |v: &[ArrayD<f64>]| arr0(reference(&v[0].iter().copied().collect::<Vec<_>>())).into_dyn();
    Case::new(move |v| all(v[0]), whole, vec![x]).within(256.0).check();
}

/// Checks a function along an axis that stays.
fn maps(
    (x, axis): ([ArrayD<f64>; 3], usize),
    function: impl for<'g> Fn(Var<'g>, usize) -> Var<'g>,
    reference: impl Fn(&[f64]) -> Vec<f64>,
) {
    let along = move |v: &[ArrayD<f64>]| {
        let mut result = v[0].clone();
        for mut line in result.lanes_mut(Axis(axis)) {
            let values = reference(&line.to_vec());
            line.assign(&ArrayView1::from(&values));
        }
        result
    };
    Case::new(move |v| function(v[0], axis), along, vec![x]).within(32.0).check();
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn log_sum_exp(x: &[f64]) -> f64 {
    x.iter().map(|x| x.exp()).sum::<f64>().ln()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums(x in arrays()) {
        reduces(x, |x, axis| x.square().sum_axis(axis), |x| x.square().sum(), |x| x.iter().map(|x| x * x).sum());
    }

    #[test]
    fn means(x in arrays()) {
        reduces(x, |x, axis| x.square().mean_axis(axis), |x| x.square().mean(), |x| {
            x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
        });
    }

    #[test]
    fn maxima(x in arrays()) {
        reduces(x, |x, axis| x.max_axis(axis).square(), |x| x.max_all().square(), |x| largest(x).powi(2));
    }

    #[test]
    fn minima(x in arrays()) {
        let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
        reduces(x, |x, axis| x.min_axis(axis).square(), |x| x.min_all().square(), move |x| least(x).powi(2));
    }

    /// Halved, so that products of many stay of a moderate size; zeros come as they may.
    #[test]
    fn products(x in arrays()) {
        reduces(x, |x, axis| (x * 0.5).prod_axis(axis), |x| (x * 0.5).prod(), |x| {
            x.iter().map(|x| 0.5 * x).product()
        });
    }

    #[test]
    fn norms(x in arrays()) {
        // Away from the origin, where the norm has no derivative.
        reduces(x, |x, axis| (x + 3.0).norm_axis(axis), |x| (x + 3.0).norm(), |x| {
            x.iter().map(|x| (x + 3.0).powi(2)).sum::<f64>().sqrt()
        });
    }

    #[test]
    fn logs_of_sums_of_exponentials(x in arrays()) {
        reduces(x, |x, axis| x.log_sum_exp_axis(axis), |x| x.log_sum_exp(), log_sum_exp);
    }

    #[test]
    fn cumulative_sums(x in arrays()) {
        maps(x, |x, axis| x.cumsum(axis).square(), |x| {
            x.iter().scan(0.0, |sum, x| { *sum += x; Some(*sum * *sum) }).collect()
        });
    }

    #[test]
    fn softmaxes(x in arrays()) {
        maps(x, |x, axis| x.softmax(axis), |x| x.iter().map(|x_k| (x_k - log_sum_exp(x)).exp()).collect());
    }

    #[test]
    fn log_softmaxes(x in arrays()) {
        maps(x, |x, axis| x.log_softmax(axis), |x| x.iter().map(|x_k| x_k - log_sum_exp(x)).collect());
    }
}

/// Values of `outputs`, each a function of a vector input, and their gradients (of the sum of the elements).
fn at(x: &[f64], function: impl for<'g> Fn(Var<'g>) -> Var<'g>) -> (Vec<f64>, Vec<f64>) {
    let graph = Graph::new();
    let input = graph.input("x", x.len()).unwrap();
    let value = function(input);
    let slope = gradient(value.sum(), &[input]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value, slope]).unwrap());
    if plan.input("x").is_ok() {
        plan.set("x", x).unwrap();
    }
    plan.run();
    (plan.output(0).to_vec(), plan.output(1).to_vec())
}

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn ties_of_a_maximum_go_to_the_first() {
    assert_eq!(at(&[1.0, 3.0, 3.0], |x| x.max_all()), (vec![3.0], vec![0.0, 1.0, 0.0]));
    assert_eq!(at(&[2.0, 2.0], |x| x.min_all()), (vec![2.0], vec![1.0, 0.0]));
    assert_eq!(at(&[-INFINITY; 2], |x| x.max_all()), (vec![-INFINITY], vec![1.0, 0.0]));
    assert_eq!(at(&[-0.0, 0.0], |x| x.max_all()).1, [1.0, 0.0]);
}

#[test]
fn a_nan_is_not_lost() {
    for place in 0..3 {
        let mut x = [1.0, 2.0, 3.0];
        x[place] = NAN;
        let functions: [fn(Var<'_>) -> Var<'_>; 6] = [
            |x| x.max_all(),
            |x| x.min_all(),
            |x| x.norm(),
            |x| x.prod(),
            |x| x.log_sum_exp(),
            |x| x.softmax(0).sum(),
        ];
        for function in functions {
            assert!(at(&x, function).0[0].is_nan(), "{place}");
        }
        let (value, slope) = at(&x, |x| x.log_softmax(0));
        assert!(value.iter().chain(&slope).all(|x| x.is_nan()));
    }
}

#[test]
fn products_with_zeros_have_exact_derivatives() {
    assert_eq!(at(&[2.0, 0.0, 5.0, 7.0], |x| x.prod()), (vec![0.0], vec![0.0, 70.0, 0.0, 0.0]));
    assert_eq!(at(&[2.0, 0.0, 0.0], |x| x.prod()), (vec![0.0], vec![0.0, 0.0, 0.0]));
    // Second derivatives where two are zero: only the mixed one of the two is not.
    let graph = Graph::new();
    let x = graph.input("x", 4).unwrap();
    let slope = gradient(x.prod(), &[x]).unwrap()[0];
    let rows: Vec<Var<'_>> = (0..4).map(|k| gradient(slope.element(0, k), &[x]).unwrap()[0]).collect();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &rows).unwrap());
    plan.set("x", &[2.0, 0.0, 5.0, 0.0]).unwrap();
    plan.run();
    let hessian: Vec<Vec<f64>> = (0..4).map(|k| plan.output(k).to_vec()).collect();
    let expected = [[0.0; 4], [0.0, 0.0, 0.0, 10.0], [0.0; 4], [0.0, 10.0, 0.0, 0.0]];
    assert_eq!(hessian, expected);
}

#[test]
fn a_norm_neither_overflows_nor_underflows() {
    assert_eq!(at(&[0.0, -0.0], |x| x.norm()), (vec![0.0], vec![0.0, 0.0]));
    for scale in [1e-320, 1e-200, 1.0, 1e200, 1e307] {
        let (norm, slope) = at(&[3.0 * scale, -4.0 * scale], |x| x.norm());
        // Denormal numbers themselves are only so exact.
        let tolerance = if scale < 1e-300 { 1e-3 } else { 4.0 * f64::EPSILON };
        assert!((norm[0] / (5.0 * scale) - 1.0).abs() <= tolerance, "{scale}: {norm:?}");
        assert!((slope[0] - 0.6).abs() <= tolerance && (slope[1] + 0.8).abs() <= tolerance, "{slope:?}");
    }
    // Large and small side by side: what the small one adds is below rounding.
    assert_eq!(at(&[1e-200, 1.0], |x| x.norm()).0, [1.0]);
    assert_eq!(at(&[INFINITY, 1.0], |x| x.norm()).0, [INFINITY]);
}

#[test]
fn log_sum_exp_at_the_ends() {
    let half = [0.5, 0.5];
    let log_two = std::f64::consts::LN_2;
    assert_eq!(at(&[1e6, 1e6], |x| x.log_sum_exp()), (vec![1e6 + log_two], half.to_vec()));
    assert_eq!(at(&[-1e6, -1e6], |x| x.log_sum_exp()), (vec![-1e6 + log_two], half.to_vec()));
    assert_eq!(at(&[3.0, -INFINITY], |x| x.log_sum_exp()), (vec![3.0], vec![1.0, 0.0]));
    assert_eq!(at(&[-INFINITY; 2], |x| x.log_sum_exp()), (vec![-INFINITY], vec![0.0, 0.0]));
    let (value, slope) = at(&[INFINITY, 0.0], |x| x.log_sum_exp());
    assert!(value[0] == INFINITY && slope[0].is_nan());
    assert_eq!(at(&[f64::MAX, -f64::MAX], |x| x.log_sum_exp()), (vec![f64::MAX], vec![1.0, 0.0]));
}

/// A branch of probability zero must not spoil the derivative of the others.
#[test]
fn a_nested_sum_survives_a_branch_of_probability_zero() {
    let (value, slope) = at(&[-INFINITY, -INFINITY, 1.0], |x| {
        let impossible = x.slice(0, ..2).log_sum_exp();
        x.graph().stack(&[impossible, x.element(0, 2)], 0).log_sum_exp()
    });
    assert_eq!((value, slope), (vec![1.0], vec![0.0, 0.0, 1.0]));
}

#[test]
fn softmax_at_the_ends() {
    assert_eq!(at(&[1e308, -1e308], |x| x.softmax(0)).0, [1.0, 0.0]);
    assert_eq!(at(&[2.0, -INFINITY], |x| x.softmax(0)), (vec![1.0, 0.0], vec![0.0, 0.0]));
    assert!(at(&[-INFINITY; 2], |x| x.softmax(0)).0.iter().all(|x| x.is_nan()));
    assert_eq!(at(&[0.0, -2000.0], |x| x.log_softmax(0)).0, [0.0, -2000.0]);
    // Rounding must be that of the differences, not that of the large numbers themselves.
    let (value, _) = at(&[1e9, 1e9], |x| x.log_softmax(0));
    assert_eq!(value, [-std::f64::consts::LN_2; 2]);
    assert!(at(&[-INFINITY; 2], |x| x.log_softmax(0)).0.iter().all(|x| x.is_nan()));
}

#[test]
fn reductions_of_nothing() {
    assert_eq!(at(&[], |x| x.sum()), (vec![0.0], vec![]));
    assert_eq!(at(&[], |x| x.sum_axis(0)), (vec![0.0], vec![]));
    assert_eq!(at(&[], |x| x.prod()), (vec![1.0], vec![]));
    assert_eq!(at(&[], |x| x.norm()), (vec![0.0], vec![]));
    assert_eq!(at(&[], |x| x.log_sum_exp()), (vec![-INFINITY], vec![]));
    assert_eq!(at(&[], |x| x.cumsum(0)), (vec![], vec![]));
    assert_eq!(at(&[], |x| x.softmax(0)), (vec![], vec![]));
    assert_eq!(at(&[], |x| x.log_softmax(0)), (vec![], vec![]));
    assert!(at(&[], |x| x.mean_axis(0)).0[0].is_nan());
    let graph = Graph::new();
    let x = graph.input("x", [3, 0]).unwrap();
    let outputs = [x.sum_axis(1), x.prod_axis(1), x.norm_axis(1), x.log_sum_exp_axis(1), x.max_axis(0)];
    assert_eq!(outputs.map(|output| output.shape().elements()), [3, 3, 3, 3, 0]);
    let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &outputs).unwrap());
    plan.run();
    assert_eq!(plan.output(0), [0.0; 3]);
    assert_eq!(plan.output(1), [1.0; 3]);
    assert_eq!(plan.output(2), [0.0; 3]);
    assert_eq!(plan.output(3), [f32::NEG_INFINITY; 3]);
}

#[test]
fn mistakes_are_told_while_tracing() {
    let mistakes: [(&str, fn(Var<'_>)); 13] = [
        ("nothing has no largest one", |x| _ = x.slice(1, ..0).max_axis(1)),
        ("nothing has no largest one", |x| _ = x.slice(1, ..0).max_all()),
        ("max_axis", |x| _ = x.max_axis(2)),
        ("max_axis", |x| _ = x.min_axis(2)),
        ("sum_axis", |x| _ = x.sum_axis(2)),
        ("mean_axis", |x| _ = x.mean_axis(2)),
        ("prod_axis", |x| _ = x.prod_axis(2)),
        ("norm_axis", |x| _ = x.norm_axis(2)),
        ("log_sum_exp_axis", |x| _ = x.log_sum_exp_axis(2)),
        ("cumsum", |x| _ = x.cumsum(2)),
        ("softmax", |x| _ = x.softmax(2)),
        ("log_softmax", |x| _ = x.log_softmax(2)),
        ("cumsum", |x| _ = x.graph().constant(1.0).cumsum(0)),
    ];
    for (expected, mistake) in mistakes {
        let graph = Graph::new();
        mistake(graph.input("x", [2, 3]).unwrap());
        let told = graph.check().unwrap_err().to_string();
        assert!(told.contains(expected) && told.contains("reduce.rs"), "'{told}' does not say '{expected}'");
    }
}

#[test]
fn known_arrays_are_reduced_while_tracing() {
    let graph = Graph::new();
    let x = graph.array(&ndarray::array![1.0, 2.0, 4.0].into_dyn());
    assert_eq!(x.max_all().known(), Some(4.0));
    assert_eq!(x.prod().known(), Some(8.0));
    assert_eq!(x.element(0, 1).known(), Some(2.0));
    assert_eq!(x.gather(2.0).known(), Some(4.0));
    assert_eq!(x.sum_axis(0).shape(), Shape::scalar());
}
