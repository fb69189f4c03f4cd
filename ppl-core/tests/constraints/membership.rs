//! What lies in a set, the errors for what does not, and shapes.

use ndarray::{ArrayD, array};
use ppl_core::{Constraint, Graph, Shape};

#[test]
fn the_first_outcome_at_fault_is_told() {
    let violation = |set: Constraint, values: ArrayD<f64>| {
        set.violation(&values.iter().copied().collect::<Vec<_>>(), &Shape::from(values.shape()))
    };
    let simplex = |values| violation(Constraint::Simplex, values);
    assert_eq!(simplex(array![[0.25, 0.75], [1.0, 0.0]].into_dyn()), None);
    assert_eq!(simplex(array![[0.25, 0.75], [0.5, 0.4]].into_dyn()), Some((2, 0.5)));
    assert_eq!(simplex(array![[0.25, 0.75], [1.5, -0.5]].into_dyn()), Some((3, -0.5)));
    assert_eq!(simplex(array![0.333, 0.333, 0.334].into_dyn()), None);
    assert_eq!(simplex(array![0.33, 0.33, 0.33].into_dyn()), Some((0, 0.33)));
    assert_eq!(simplex(ArrayD::from_elem(vec![], 1.0)), Some((0, 1.0)));

    let ordered = |values| violation(Constraint::Ordered, values);
    assert_eq!(ordered(array![[-1.0, 2.0], [3.0, 3.0]].into_dyn()), Some((2, 3.0)));
    assert!(matches!(ordered(array![1.0, f64::NAN].into_dyn()), Some((1, _))));
    assert_eq!(ordered(array![1.0, 2.0, 30.0].into_dyn()), None);

    let positive = |values| violation(Constraint::PositiveOrdered, values);
    assert_eq!(positive(array![[0.5, 2.0], [3.0, 3.0]].into_dyn()), Some((2, 3.0)));
    assert_eq!(positive(array![[0.5, 2.0], [0.0, 3.0]].into_dyn()), Some((2, 0.0)));
    assert_eq!(positive(array![2.0, -1.0].into_dyn()), Some((1, -1.0)));
    assert_eq!(positive(array![1.0, 2.0, f64::INFINITY].into_dyn()), Some((2, f64::INFINITY)));
    assert_eq!(positive(array![1e-300, 2.0, 30.0].into_dyn()), None);

    let lower = |values| violation(Constraint::LowerCholesky, values);
    assert_eq!(lower(array![[1.0, 0.0], [-4.0, 2.0]].into_dyn()), None);
    assert_eq!(lower(array![[1.0, 0.5], [-4.0, 2.0]].into_dyn()), Some((0, 1.0)));
    assert_eq!(lower(array![[1.0, 0.0], [-4.0, -2.0]].into_dyn()), Some((0, 1.0)));
    assert_eq!(lower(array![[3.0, 0.0]].into_dyn()), Some((0, 3.0)));

    let correlation = |values| violation(Constraint::CorrelationCholesky, values);
    assert_eq!(correlation(array![[1.0, 0.0], [-0.6, 0.8]].into_dyn()), None);
    assert_eq!(correlation(array![[1.0, 0.0], [-0.6, 0.81]].into_dyn()), Some((0, 1.0)));

    let definite = |values| violation(Constraint::PositiveDefinite, values);
    assert_eq!(definite(array![[4.0, 2.0], [2.0, 5.0]].into_dyn()), None);
    assert_eq!(definite(array![[4.0, 2.0], [2.1, 5.0]].into_dyn()), Some((0, 4.0)));
    assert_eq!(
        definite(array![[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 4.0]]].into_dyn()),
        Some((4, 1.0))
    );
    assert_eq!(definite(array![[-1.0]].into_dyn()), Some((0, -1.0)));
}

/// A computed vector is found to lie outside where one of numbers is.
#[test]
fn programs_find_vectors_that_are_not_ordered() {
    for (set, expected) in [
        (Constraint::Ordered, [false, false, true, true, false]),
        (Constraint::PositiveOrdered, [false, true, true, true, true]),
    ] {
        let rows =
            array![[1.0, 2.0, 3.5], [-1.0, 2.0, 3.0], [1.0, 1.0, 3.0], [1.0, 2.0, -3.0], [0.0, 1.0, 2.0]];
        let graph = Graph::new();
        let outside = set.outside(graph.input("x", [5, 3]).unwrap()).unwrap();
        assert_eq!(outside.shape(), Shape::from(5));
        let program = ppl_core::Program::new(&graph, &[outside]).unwrap();
        let mut plan = ppl_core::ExecutionPlan::<f64>::new(&program);
        plan.set("x", &rows.iter().copied().collect::<Vec<_>>()).unwrap();
        plan.run();
        for ((found, row), expected) in plan.output(0).iter().zip(rows.rows()).zip(expected) {
            assert_eq!(*found != 0.0, expected, "{set:?} {row}");
            assert_eq!(set.violation(&row.to_vec(), &Shape::from(3)).is_some(), expected, "{set:?} {row}");
        }
    }
}

/// What is computed in single precision is a member, whether divided by its sum or made by the bijection;
/// what is ten tolerances off is not.
#[test]
fn rounding_to_single_precision_is_tolerated_and_no_more() {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 + 1e-3
    };
    for n in [2, 3, 10, 100, 1000] {
        let raw: Vec<f32> = (0..n).map(|_| next()).collect();
        let (sum, length) = (raw.iter().sum::<f32>(), raw.iter().map(|x| x * x).sum::<f32>().sqrt());
        let simplex: Vec<f64> = raw.iter().map(|x| f64::from(x / sum)).collect();
        assert_eq!(Constraint::Simplex.violation(&simplex, &Shape::from(n)), None, "{n}");
        let tolerance = (n as f64 + 4.0) * (2.0 + (n as f64).ln()) * 2.0_f64.powi(-24);
        let mut off = simplex.clone();
        off[0] += 10.0 * tolerance;
        assert!(Constraint::Simplex.violation(&off, &Shape::from(n)).is_some());

        if n <= 100 {
            let mut factor = ArrayD::<f64>::zeros(vec![n, n]);
            for i in 0..n - 1 {
                factor[[i, i]] = 1.0;
            }
            raw.iter().enumerate().for_each(|(j, x)| factor[[n - 1, j]] = f64::from(x / length));
            let correlation = Constraint::CorrelationCholesky;
            assert!(correlation.unconstrain_array(&factor).is_ok(), "{n}");
            factor[[n - 1, n - 1]] += 10.0 * tolerance / factor[[n - 1, n - 1]];
            assert!(correlation.unconstrain_array(&factor).is_err());
        }
    }
}

#[test]
fn bijections_in_single_precision_make_members() {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    for (set, n) in [
        (Constraint::Simplex, 2),
        (Constraint::Simplex, 10),
        (Constraint::Simplex, 300),
        (Constraint::CorrelationCholesky, 2),
        (Constraint::CorrelationCholesky, 5),
        (Constraint::CorrelationCholesky, 30),
        (Constraint::PositiveDefinite, 4),
        (Constraint::LowerCholesky, 4),
        (Constraint::Ordered, 10),
        (Constraint::PositiveOrdered, 10),
    ] {
        let shape = Shape::from([20].into_iter().chain(vec![n; set.event_rank()]).collect::<Vec<_>>());
        let graph = Graph::new();
        let u = graph.input("u", set.unconstrained_shape(&shape).unwrap()).unwrap();
        let program = ppl_core::Program::new(&graph, &[set.constrain(u)]).unwrap();
        for size in [0.1, 2.0, 12.0] {
            let mut plan = ppl_core::ExecutionPlan::<f32>::new(&program);
            let input = plan.input("u").unwrap();
            // Steps of an ordered vector that are too small for single precision are no fault of the
            // bijection.
            let size = match set {
                Constraint::Ordered | Constraint::PositiveOrdered | Constraint::PositiveDefinite => 2.0,
                _ => size,
            };
            plan.input_mut(input).iter_mut().for_each(|slot| *slot = size * next());
            plan.run();
            let values: Vec<f64> = plan.output(0).iter().map(|&x| f64::from(x)).collect();
            assert_eq!(set.violation(&values, &shape), None, "{set:?} {n} {size}");
        }
    }
}

#[test]
fn shapes_are_told_both_ways() {
    let shape = |set: Constraint, dims: &[usize]| {
        set.unconstrained_shape(&Shape::from(dims)).map(|shape| shape.dims().to_vec())
    };
    assert_eq!(shape(Constraint::Simplex, &[5, 4]).unwrap(), [5, 3]);
    assert_eq!(shape(Constraint::Simplex, &[1]).unwrap(), [0]);
    assert_eq!(shape(Constraint::Ordered, &[2, 3]).unwrap(), [2, 3]);
    assert_eq!(shape(Constraint::PositiveOrdered, &[2, 3]).unwrap(), [2, 3]);
    assert_eq!(shape(Constraint::LowerCholesky, &[7, 3, 3]).unwrap(), [7, 6]);
    assert_eq!(shape(Constraint::PositiveDefinite, &[3, 3]).unwrap(), [6]);
    assert_eq!(shape(Constraint::CorrelationCholesky, &[4, 4]).unwrap(), [6]);
    let told = |set, dims: &[usize]| shape(set, dims).unwrap_err().to_string();
    assert!(
        told(Constraint::Simplex, &[]).contains("constrain: expected the shape of a value that is a vector")
    );
    assert!(told(Constraint::PositiveOrdered, &[2, 0]).contains("increasing vector of positive numbers"));
    assert!(told(Constraint::PositiveDefinite, &[3, 2]).contains("got shape [3, 2]"));
    assert!(told(Constraint::CorrelationCholesky, &[0, 0]).contains("of at least one element"));

    // Shapes of unconstrained numbers that belong to no matrix.
    for (set, length) in [
        (Constraint::LowerCholesky, 4),
        (Constraint::CorrelationCholesky, 2),
        (Constraint::PositiveDefinite, 0),
        (Constraint::PositiveOrdered, 0),
    ] {
        let graph = Graph::new();
        let u = graph.input("u", length).unwrap();
        let _ = (set.constrain(u), set.log_jacobian(u));
        assert!(graph.check().unwrap_err().to_string().contains("the unconstrained shape of"), "{set:?}");
        assert!(set.constrain_array(&ArrayD::zeros(vec![length])).is_err());
    }
    let graph = Graph::new();
    let _ = Constraint::Simplex.constrain(graph.input("u", ()).unwrap());
    assert!(graph.check().is_err());
}

#[test]
fn the_boundary_of_a_simplex_is_infinitely_far_and_not_nan() {
    let u = Constraint::Simplex.unconstrain_array(&array![0.5, 0.5, 0.0].into_dyn()).unwrap();
    assert_eq!((u[[0]].is_finite(), u[[1]]), (true, f64::INFINITY));
    let u = Constraint::Simplex.unconstrain_array(&array![1.0, 0.0, 0.0].into_dyn()).unwrap();
    assert_eq!((u[[0]], u[[1]]), (f64::INFINITY, 0.0));
    let told = Constraint::Simplex.unconstrain_array(&array![0.5, 0.6].into_dyn()).unwrap_err().to_string();
    assert_eq!(told, "element 0 must be a vector of non-negative numbers that sum to 1, got 0.5");
}
