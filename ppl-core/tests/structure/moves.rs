//! Axes in another order, parts of axes, arrays side by side.

use super::common::{Case, distinct, shape_and_axis};
use ndarray::{ArrayD, Axis, IxDyn, Slice, concatenate, stack};
use ppl_core::{ExecutionPlan, Graph, Program, Shape, Var};
use proptest::prelude::*;

fn moved() -> impl Strategy<Value = ([ArrayD<f64>; 3], usize)> {
    shape_and_axis().prop_flat_map(|(shape, axis)| (distinct(shape), Just(axis)))
}

fn with_length(shape: &Shape, axis: usize, length: usize) -> Shape {
    let mut dims = shape.dims().to_vec();
    dims[axis] = length;
    Shape::from(dims)
}

/// Up to three arrays that agree but for one axis.
fn parts() -> impl Strategy<Value = (Vec<[ArrayD<f64>; 3]>, usize)> {
    (shape_and_axis(), proptest::collection::vec(0..4_usize, 1..4)).prop_flat_map(
        |((shape, axis), lengths)| {
            let parts: Vec<_> =
                lengths.into_iter().map(|length| distinct(with_length(&shape, axis, length))).collect();
            (parts, Just(axis))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn permute_is_a_transposition((x, _) in moved(), keys in any::<[u8; 3]>()) {
        let mut order: Vec<usize> = (0..x[0].ndim()).collect();
        order.sort_by_key(|&axis| keys[axis]);
        let axes = order.clone();
        Case::new(
            move |v| v[0].permute(order.clone()).square(),
            move |v: &[ArrayD<f64>]| v[0].clone().permuted_axes(IxDyn(&axes)).mapv(|x| x * x),
            vec![x],
        ).check();
    }

    #[test]
    fn transpose_reverses_the_axes((x, _) in moved()) {
        Case::new(
            |v| v[0].transpose().square(),
            |v: &[ArrayD<f64>]| v[0].clone().reversed_axes().mapv(|x| x * x),
            vec![x],
        ).check();
    }

    #[test]
    fn slice_takes_every_step((x, axis) in moved(), ends in any::<[usize; 2]>(), step in 1..4_usize) {
        let length = x[0].shape()[axis];
        let start = ends[0] % (length + 1);
        let end = start + ends[1] % (length - start + 1);
        Case::new(
            move |v| v[0].slice_by(axis, start..end, step).square(),
            move |v: &[ArrayD<f64>]| {
                let slice = Slice::new(start as isize, Some(end as isize), step as isize);
                v[0].slice_axis(Axis(axis), slice).mapv(|x| x * x)
            },
            vec![x],
        ).check();
    }

    #[test]
    fn pad_surrounds_with_zeros((x, axis) in moved(), before in 0..3_usize, after in 0..3_usize) {
        Case::new(
            move |v| v[0].pad(axis, before, after).square(),
            move |v: &[ArrayD<f64>]| {
                let mut shape = v[0].shape().to_vec();
                shape[axis] += before + after;
                let mut padded = ArrayD::zeros(shape);
                let end = before + v[0].shape()[axis];
                padded.slice_axis_mut(Axis(axis), Slice::from(before..end)).assign(&v[0].mapv(|x| x * x));
                padded
            },
            vec![x],
        ).check();
    }

    #[test]
    fn flip_reverses((x, axis) in moved()) {
        Case::new(
            move |v| v[0].flip(axis).square(),
            move |v: &[ArrayD<f64>]| v[0].slice_axis(Axis(axis), Slice::new(0, None, -1)).mapv(|x| x * x),
            vec![x],
        ).check();
    }

    #[test]
    fn element_drops_the_axis((x, axis) in moved(), place in any::<usize>()) {
        let place = place % x[0].shape()[axis];
        Case::new(
            move |v| v[0].element(axis, place).square(),
            move |v: &[ArrayD<f64>]| v[0].index_axis(Axis(axis), place).mapv(|x| x * x),
            vec![x],
        ).check();
    }

    #[test]
    fn concat_joins((parts, axis) in parts()) {
        Case::new(
            move |v: &[Var<'_>]| v[0].graph().concat(v, axis).square(),
            move |v: &[ArrayD<f64>]| {
                let views: Vec<_> = v.iter().map(|x| x.view()).collect();
                concatenate(Axis(axis), &views).unwrap().mapv(|x| x * x)
            },
            parts,
        ).check();
    }

    #[test]
    fn stack_adds_an_axis(
        (x, axis, y) in shape_and_axis()
            .prop_flat_map(|(shape, axis)| (distinct(shape.clone()), Just(axis), distinct(shape))),
        behind in any::<bool>(),
    ) {
        let axis = axis + usize::from(behind);
        Case::new(
            move |v: &[Var<'_>]| v[0].graph().stack(&[v[0], v[1], v[0]], axis).square(),
            move |v: &[ArrayD<f64>]| {
                stack(Axis(axis), &[v[0].view(), v[1].view(), v[0].view()]).unwrap().mapv(|x| x * x)
            },
            vec![x, y],
        ).check();
    }
}

fn run(graph: &Graph, outputs: &[Var<'_>]) -> Vec<Vec<f64>> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

#[test]
fn many_arrays_are_joined_in_order() {
    let graph = Graph::new();
    let parts: Vec<Var<'_>> = (0..70).map(|k| graph.constant(f64::from(k)).reshape(1)).collect();
    let expected: Vec<f64> = (0..70).map(f64::from).collect();
    let scalars: Vec<Var<'_>> = (0..70).map(|k| graph.constant(f64::from(k))).collect();
    assert_eq!(
        run(&graph, &[graph.concat(&parts, 0), graph.stack(&scalars, 0)]),
        [expected.clone(), expected]
    );
}

#[test]
fn split_and_concat_are_inverse() {
    let graph = Graph::new();
    let x = graph.input("x", [2, 5]).unwrap();
    let parts = x.split(1, &[2, 0, 3]);
    assert_eq!([0, 1, 2].map(|k| parts[k].shape()), [[2, 2].into(), [2, 0].into(), Shape::from([2, 3])]);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[graph.concat(&parts, 1)]).unwrap());
    let numbers: Vec<f64> = (0..10).map(f64::from).collect();
    plan.set("x", &numbers).unwrap();
    plan.run();
    assert_eq!(plan.output(0), numbers);
}

#[test]
fn what_changes_nothing_adds_nothing() {
    let graph = Graph::new();
    let x = graph.input("x", [1, 3]).unwrap();
    let before = graph.len();
    for same in [x.permute([0, 1]), x.slice(1, ..), x.slice(1, 0..3), x.pad(0, 0, 0), x.flip(0)] {
        assert!(same.is(x));
    }
    assert_eq!(graph.len(), before);
    assert!(graph.input("s", ()).unwrap().transpose().shape().is_scalar());
}

#[test]
fn empty_axes_are_moved_like_others() {
    let graph = Graph::new();
    let x = graph.input("x", [0, 3]).unwrap();
    let outputs = [x.transpose(), x.flip(0), x.slice(1, 1..), x.pad(0, 1, 1), x.slice(0, 0..0)];
    assert_eq!(
        outputs.map(|output| output.shape()),
        [[3, 0].into(), [0, 3].into(), [0, 2].into(), [2, 3].into(), Shape::from([0, 3])]
    );
    assert_eq!(run(&graph, &outputs).iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 0, 6, 0]);
}

/// What moves must keep every bit: −0, infinities, NaN, denormals.
#[test]
fn moving_keeps_every_number_as_it_is() {
    let numbers = [-0.0, f64::INFINITY, 5e-324, f64::NAN];
    let graph = Graph::new();
    let x = graph.input("x", [2, 2]).unwrap();
    let outputs = [x.transpose(), x.flip(0), graph.concat(&[x, x], 0), x.slice(0, 1..)];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.set("x", &numbers).unwrap();
    plan.run();
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let [a, b, c, d] = numbers;
    assert_eq!(bits(plan.output(0)), bits(&[a, c, b, d]));
    assert_eq!(bits(plan.output(1)), bits(&[c, d, a, b]));
    assert_eq!(bits(plan.output(2)), bits(&[a, b, c, d, a, b, c, d]));
    assert_eq!(bits(plan.output(3)), bits(&[c, d]));
}

#[test]
fn mistakes_are_told_while_tracing() {
    let told = |build: fn(&Graph, Var<'_>)| {
        let graph = Graph::new();
        let x = graph.input("x", [2, 3]).unwrap();
        build(&graph, x);
        graph.check().unwrap_err().to_string()
    };
    let mistakes: [(&str, fn(&Graph, Var<'_>)); 14] = [
        ("each once, are [0, 0]", |_, x| _ = x.permute([0, 0])),
        ("each once, are [0]", |_, x| _ = x.permute([0])),
        ("2..4", |_, x| _ = x.slice(1, 2..4)),
        ("3..2", |_, x| _ = x.slice(1, 3..2)),
        ("in steps of 0", |_, x| _ = x.slice_by(1, .., 0)),
        ("axis 2", |_, x| _ = x.slice(2, ..)),
        ("axis 2", |_, x| _ = x.element(2, 0)),
        ("3..4", |_, x| _ = x.element(1, 3)),
        ("axis 2", |_, x| _ = x.flip(2)),
        ("axis 5", |_, x| _ = x.pad(5, 1, 1)),
        ("at least one array", |graph, _| _ = graph.concat(&[], 0)),
        ("otherwise of shape [2, 3]", |graph, x| _ = graph.concat(&[x, x.transpose()], 0)),
        ("arrays of shape [2, 3]", |graph, x| _ = graph.stack(&[x, x.transpose()], 0)),
        ("of 4 elements", |_, x| _ = x.split(1, &[2, 2])),
    ];
    for (expected, mistake) in mistakes {
        let told = told(mistake);
        assert!(told.contains(expected), "'{told}' does not say '{expected}'");
        assert!(told.contains("moves.rs"), "{told}");
    }
}

#[test]
fn sizes_that_overflow_are_refused() {
    for (before, after) in [(usize::MAX, 1), (1 << 31, 0), (usize::MAX / 2, usize::MAX / 2)] {
        let graph = Graph::new();
        _ = graph.input("x", 2).unwrap().pad(0, before, after);
        assert!(graph.check().is_err());
    }
    let graph = Graph::new();
    _ = graph.input("x", 2).unwrap().element(0, usize::MAX);
    assert!(graph.check().is_err());
}
