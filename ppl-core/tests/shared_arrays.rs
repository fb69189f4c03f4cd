//! Operations on shared arrays, which have loops of their own, against sums and moves written out by index.

use ndarray::{ArrayD, Dimension, IxDyn};
use ppl_core::{ExecutionPlan, Graph, Program, Shape, Var};

/// Numbers of which sums are exact.
fn numbers(dims: &[usize]) -> ArrayD<f64> {
    let mut next = 1.0_f64;
    ArrayD::from_shape_simple_fn(IxDyn(dims), || {
        next = (next * 37.0 + 11.0) % 101.0;
        next - 50.0
    })
}

/// A program of one shared array.
fn of(x: &ArrayD<f64>, program: impl for<'g> Fn(Var<'g>) -> Var<'g>) -> ArrayD<f64> {
    let graph = Graph::new();
    let input = graph.input("x", Shape::from(x.shape())).unwrap();
    let result = program(input);
    let dims = result.shape().dims().to_vec();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[result]).unwrap());
    plan.set("x", &x.iter().copied().collect::<Vec<_>>()).unwrap();
    plan.run();
    ArrayD::from_shape_vec(IxDyn(&dims), plan.output(0).to_vec()).unwrap()
}

#[test]
fn sums_and_repetitions_are_those_by_index() {
    // The larger shape, and the smaller one that stretches to it.
    let cases: [(&[usize], &[usize]); 14] = [
        (&[7, 3], &[7, 1]),
        (&[7, 3], &[3]),
        (&[7, 3], &[1, 3]),
        (&[300, 5], &[300, 1]),
        (&[300, 5], &[5]),
        (&[40, 11], &[40, 1]),
        (&[40, 11], &[11]),
        (&[4, 6, 5], &[4, 1, 5]),
        (&[4, 6, 5], &[1, 6, 1]),
        (&[4, 6, 5], &[6, 1]),
        (&[4, 6, 5], &[4, 1, 1]),
        (&[4, 1, 5], &[4, 1, 1]),
        (&[2, 3, 4, 5], &[2, 1, 4, 1]),
        (&[6, 9], &[]),
    ];
    for (large, small) in cases {
        let x = numbers(large);
        let ahead = large.len() - small.len();
        let place = |index: &[usize]| -> Vec<usize> {
            small.iter().zip(&index[ahead..]).map(|(&length, &at)| if length == 1 { 0 } else { at }).collect()
        };
        let mut sums = ArrayD::<f64>::zeros(IxDyn(small));
        for (index, &value) in x.indexed_iter() {
            sums[IxDyn(&place(index.slice()))] += value;
        }
        assert_eq!(of(&x, |x| x.sum_to(small.to_vec())), sums, "{large:?} to {small:?}");
        let x = numbers(small);
        let repeated = ArrayD::from_shape_fn(IxDyn(large), |index| x[IxDyn(&place(index.slice()))]);
        assert_eq!(of(&x, |x| x.broadcast_to(large.to_vec())), repeated, "{small:?} to {large:?}");
    }
}

#[test]
fn axes_in_another_order_are_those_by_index() {
    for dims in [[3, 5, 4], [1, 200, 3], [150, 2, 70]] {
        let x = numbers(&dims);
        for order in [[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
            let truth = x.clone().permuted_axes(IxDyn(&order));
            assert_eq!(of(&x, |x| x.permute(order)), truth, "{dims:?} {order:?}");
        }
    }
    let x = numbers(&[130, 5]);
    assert_eq!(of(&x, |x| x.transpose()), x.clone().reversed_axes());
}

#[test]
fn triangular_systems_with_many_right_sides_are_solved() {
    // Entries of 1 beside the diagonal and powers of two on it: solutions are exact.
    let (n, columns) = (4, 1300);
    let solution = numbers(&[n, columns]);
    let entry = |i: usize, j: usize| if i == j { 2.0_f64.powi(i as i32) } else { 1.0 + i as f64 - j as f64 };
    for lower in [true, false] {
        for transposed in [true, false] {
            let inside = |i: usize, j: usize| (i == j) || ((i > j) == lower);
            let matrix = ArrayD::from_shape_fn(IxDyn(&[n, n]), |at| {
                // What lies on the other side is not looked at.
                if inside(at[0], at[1]) { entry(at[0], at[1]) } else { f64::NAN }
            });
            let product = ArrayD::from_shape_fn(IxDyn(&[n, columns]), |at| {
                let of = |i: usize, j: usize| if transposed { (j, i) } else { (i, j) };
                (0..n)
                    .map(|k| (of(at[0], k), k))
                    .filter(|((i, j), _)| inside(*i, *j))
                    .map(|((i, j), k)| entry(i, j) * solution[[k, at[1]]])
                    .sum::<f64>()
            });
            let found = of(&product, |right| {
                let matrix = right.graph().array(&matrix);
                match (lower, transposed) {
                    (true, false) => matrix.solve_lower(right),
                    (true, true) => matrix.solve_lower_transposed(right),
                    (false, false) => matrix.solve_upper(right),
                    (false, true) => matrix.solve_upper_transposed(right),
                }
            });
            assert_eq!(found, solution, "lower {lower}, transposed {transposed}");
        }
    }
}

#[test]
fn rows_are_chosen_and_added_up_by_an_index() {
    let count = 150;
    let index = ArrayD::from_shape_fn(IxDyn(&[count]), |at| ((at[0] * 7) % 5) as f64);
    for width in [1, 3] {
        let dims: &[usize] = if width == 1 { &[5] } else { &[5, width] };
        let table = numbers(dims);
        let flat: Vec<f64> = table.iter().copied().collect();
        let chosen: Vec<f64> = index
            .iter()
            .flat_map(|&row| flat[row as usize * width..(row as usize + 1) * width].to_vec())
            .collect();
        let found = of(&index, |index| index.graph().array(&table).gather(index));
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), chosen);
        let values = if width == 1 { numbers(&[count]) } else { numbers(&[count, width]) };
        let mut sums = vec![0.0; 5 * width];
        for (value, &row) in values.iter().collect::<Vec<_>>().chunks(width).zip(&index) {
            value.iter().enumerate().for_each(|(k, &&value)| sums[row as usize * width + k] += value);
        }
        let found = of(&index, |index| index.graph().array(&values).scatter_add(index, 5));
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), sums);
    }
    // What is no row.
    let mut bad = index.clone();
    bad[100] = 5.0;
    let found = of(&bad, |index| index.graph().array(&numbers(&[5, 2])).gather(index));
    assert!(found[[100, 0]].is_nan() && found[[100, 1]].is_nan() && !found[[99, 0]].is_nan());
    let found = of(&bad, |index| index.graph().array(&numbers(&[5])).gather(index));
    assert!(found[100].is_nan() && !found[101].is_nan());
    let found = of(&bad, |index| index.graph().array(&numbers(&[count, 2])).scatter_add(index, 5));
    assert!(found[[0, 0]].is_nan() && found[[0, 1]].is_nan() && !found[[1, 0]].is_nan());
}

/// Long products of rows, added up in partial sums.
#[test]
fn long_contractions_are_those_by_index() {
    let x = numbers(&[3, 700]);
    let truth = ArrayD::from_shape_fn(IxDyn(&[3, 3]), |at| {
        (0..700).map(|k| x[[at[0], k]] * x[[at[1], k]]).sum::<f64>()
    });
    assert_eq!(of(&x, |x| x.einsum("ik,jk->ij", x)), truth);
}
