//! Every primitive's gradient against finite differences in f64, and second derivatives too.

use ppl_core::{Binary, Error, Graph, Linear, Plan, Program, Shape, Unary, Var, gradient, vector_jacobian};

/// Compares the gradient of `Σ c_k f_k(inputs)` (with fixed, unequal `c`) with central differences at `at`.
fn check<'g>(
    graph: &'g Graph,
    name: &str,
    inputs: &[(&str, Shape, Vec<f64>)],
    f: impl Fn(&[Var<'g>]) -> Var<'g>,
    tolerance: f64,
) {
    let vars: Vec<Var<'g>> = inputs
        .iter()
        .map(|(input, shape, _)| graph.input(format!("{name}/{input}"), shape.clone()).unwrap())
        .collect();
    let value = f(&vars);
    let weights: Vec<f64> = (0..value.shape().elements()).map(|k| 1.0 + 0.37 * k as f64).collect();
    let weights = graph.array(&ndarray::ArrayD::from_shape_vec(value.shape().dims(), weights).unwrap());
    let scalar = value.inner(weights);
    let mut outputs = vec![scalar];
    outputs.extend(gradient(scalar, &vars).unwrap());
    let mut plan = Plan::<f64>::new(&Program::new(graph, &outputs).unwrap());
    let mut run = |values: &[Vec<f64>], output: usize| -> Vec<f64> {
        for ((input, _, _), values) in inputs.iter().zip(values) {
            if let Ok(id) = plan.input(&format!("{name}/{input}")) {
                plan.input_mut(id).copy_from_slice(values);
            }
        }
        plan.run();
        plan.output(output).to_vec()
    };
    let here: Vec<Vec<f64>> = inputs.iter().map(|(_, _, values)| values.clone()).collect();
    for input in 0..inputs.len() {
        let analytic = run(&here, 1 + input);
        assert_eq!(analytic.len(), here[input].len(), "{name}: shape of the gradient");
        for element in 0..here[input].len() {
            let h = 1e-5;
            let mut at = |delta: f64| {
                let mut moved = here.clone();
                moved[input][element] += delta;
                run(&moved, 0)[0]
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let error = (slope - analytic[element]).abs();
            assert!(
                error <= tolerance * (1.0 + slope.abs()),
                "{name} input {input} element {element}: {slope} against {}",
                analytic[element]
            );
        }
    }
}

/// Central differences with h = 1e-5 err by about h²·|f‴|/6 and 1e-16/h.
const TOLERANCE: f64 = 2e-8;

#[test]
fn unary_functions() {
    let graph = Graph::new();
    for op in Unary::ALL {
        // Its derivative is not that of its value, on purpose; `special.rs` tests it.
        if op == Unary::StopGradient {
            continue;
        }
        // Away from kinks and poles; inside the domain.
        let points = match op {
            Unary::Sqrt | Unary::Log | Unary::Reciprocal | Unary::Log1p => vec![0.6, 1.4, 2.3],
            Unary::Lgamma | Unary::Digamma | Unary::Trigamma | Unary::Polygamma(_) => vec![0.9, 1.4, 2.3],
            Unary::Logit | Unary::Erfinv => vec![0.15, 0.4, 0.72],
            _ => vec![-1.7, 0.4, 2.1],
        };
        check(&graph, &format!("{op:?}"), &[("x", Shape::from(3), points)], |v| v[0].map(op), TOLERANCE);
    }
}

#[test]
fn binary_functions_with_every_kind_of_stretching() {
    let graph = Graph::new();
    let (a, b) = (vec![0.7, 1.9, 2.6, 0.35, 1.2, 3.1], vec![1.3, 0.8, 2.2, 1.1, 0.45, 1.75]);
    let scalar = Shape::scalar();
    for op in Binary::ALL {
        for (left, right, label) in [
            (Shape::from([2, 3]), Shape::from([2, 3]), "same"),
            (scalar.clone(), Shape::from([2, 3]), "scalar-left"),
            (Shape::from([2, 3]), scalar.clone(), "scalar-right"),
            (Shape::from([3]), Shape::from([2, 3]), "row"),
            (Shape::from([2, 1]), Shape::from([3]), "outer"),
            (scalar.clone(), scalar.clone(), "scalars"),
        ] {
            let take = |shape: &Shape, values: &[f64]| values[..shape.elements()].to_vec();
            let inputs = [("a", left.clone(), take(&left, &a)), ("b", right.clone(), take(&right, &b))];
            check(
                &graph,
                &format!("{} {label}", format!("{op:?}")),
                &inputs,
                |v| v[0].zip(v[1], op),
                TOLERANCE,
            );
        }
    }
}

#[test]
fn selection_and_shapes() {
    let graph = Graph::new();
    let x = vec![0.5, -1.5, 2.5, 0.25, -0.75, 1.0];
    let inputs = [("x", Shape::from([2, 3]), x.clone()), ("y", Shape::from([3]), vec![1.0, 2.0, -0.5])];
    check(&graph, "select", &inputs, |v| v[0].greater(0.0).select(v[0].square(), v[1].exp()), TOLERANCE);
    check(&graph, "sum", &inputs, |v| v[0].sum() * v[1], TOLERANCE);
    check(&graph, "mean", &inputs, |v| v[0].mean() * v[1].mean(), TOLERANCE);
    check(&graph, "sum_to", &inputs, |v| v[0].square().sum_to(3) * v[1], TOLERANCE);
    check(&graph, "sum_to column", &inputs, |v| v[0].square().sum_to([2, 1]) * v[1], TOLERANCE);
    check(&graph, "broadcast_to", &inputs, |v| v[1].broadcast_to([2, 3]) * v[0], TOLERANCE);
    check(&graph, "reshape", &inputs, |v| v[0].square().reshape([3, 2]).reshape([6]), TOLERANCE);
}

#[test]
fn products() {
    let graph = Graph::new();
    let matrix = ("a", Shape::from([2, 3]), vec![0.5, -1.5, 2.5, 0.25, -0.75, 1.0]);
    let three = ("b", Shape::from([3]), vec![1.0, 2.0, -0.5]);
    let two = ("c", Shape::from([2]), vec![0.3, -1.1]);
    let run = |op: Linear, inputs: &[(&str, Shape, Vec<f64>)]| {
        check(
            &graph,
            &format!("{op:?}"),
            inputs,
            |v| match op {
                Linear::Inner => v[0].inner(v[1]),
                Linear::MatVec => v[0].matvec(v[1]).square(),
                Linear::VecMat => v[1].vecmat(v[0]).square(),
                _ => v[0].outer(v[1]).square(),
            },
            TOLERANCE,
        );
    };
    run(Linear::Inner, &[("c", Shape::from([3]), vec![0.2, 0.9, -1.4]), three.clone()]);
    run(Linear::MatVec, &[matrix.clone(), three.clone()]);
    run(Linear::VecMat, &[matrix.clone(), two.clone()]);
    run(Linear::Outer, &[two, three]);
    // A matrix with itself, so that one input is used twice.
    check(&graph, "frobenius", &[matrix], |v| v[0].inner(v[0]), TOLERANCE);
}

#[test]
fn second_derivatives_of_every_product_and_function() {
    let graph = Graph::new();
    let inputs = [
        ("w", Shape::from([2, 3]), vec![0.5, -0.5, 0.7, 0.25, -0.75, 0.4]),
        ("x", Shape::from([3]), vec![0.6, 0.8, -0.5]),
        ("v", Shape::from([2]), vec![0.9, -0.3]),
    ];
    check(
        &graph,
        "second",
        &inputs,
        |v| {
            let hidden = v[0].matvec(v[1]).tanh() + v[2].sigmoid();
            let value =
                hidden.inner(v[2]).softplus() + v[0].square().sum().sqrt() + v[2].outer(v[1]).exp().mean();
            let first = gradient(value, v).unwrap();
            first.iter().map(|g| g.square().sum()).reduce(|a, b| a + b).unwrap()
        },
        5e-7,
    );
}

#[test]
fn seeds_scale_the_derivative() {
    let graph = Graph::new();
    let x = graph.input("x", [2]).unwrap();
    let seed = graph.input("seed", [2]).unwrap();
    let pulled = vector_jacobian(&[(x.exp(), seed), (x.sum(), graph.constant(10.0))], &[x]).unwrap();
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &pulled).unwrap());
    plan.set("x", &[0.0, 1.0]).unwrap();
    plan.set("seed", &[2.0, -1.0]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [12.0, 10.0 - 1.0_f64.exp()]);
    assert!(matches!(vector_jacobian(&[(x, graph.constant(1.0))], &[x]), Err(Error::ShapeMismatch { .. })));
    assert!(gradient(x, &[x]).unwrap_err().to_string().contains("expected a scalar"));
}

#[test]
fn a_harmless_argument_keeps_the_branch_not_taken_finite() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let safe = x.greater(0.0).select(x, 1.0);
    let root = x.greater(0.0).select(safe.sqrt(), 0.0);
    let slope = gradient(root, &[x]).unwrap()[0];
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &[slope]).unwrap());
    plan.set("x", &[-4.0]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [0.0]);
}

#[test]
fn what_does_not_depend_has_a_zero_gradient_of_its_shape() {
    let graph = Graph::new();
    let (x, y) = (graph.input("x", [2]).unwrap(), graph.input("y", [3]).unwrap());
    let gradients = gradient(x.sum(), &[x, y]).unwrap();
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &gradients).unwrap());
    plan.run();
    assert_eq!((plan.output(0), plan.output(1)), (&[1.0, 1.0][..], &[0.0, 0.0, 0.0][..]));
}

#[test]
fn known_exponents_have_derivatives_at_zero() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let powers = [x.pow(0.0), x.pow(1.0), x.pow(2.0), x.pow(3.0)];
    let slopes: Vec<Var<'_>> = powers.iter().map(|power| gradient(*power, &[x]).unwrap()[0]).collect();
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &slopes).unwrap());
    plan.set("x", &[0.0]).unwrap();
    plan.run();
    assert_eq!([0, 1, 2, 3].map(|k| plan.output(k)[0]), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn a_gradient_does_not_depend_on_what_else_is_asked_for() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let y = x.square();
    let z = y.exp() + x;
    let (alone, together) = (gradient(z, &[x]).unwrap(), gradient(z, &[x, y]).unwrap());
    assert!(alone[0].is(together[0]));
}

#[test]
fn values_of_another_graph_are_refused_everywhere() {
    let (graph, other) = (Graph::new(), Graph::new());
    let (a, b) = (graph.input("a", ()).unwrap(), other.input("b", ()).unwrap());
    assert!(matches!(gradient(a.square(), &[b]), Err(Error::MixedGraphs { .. })));
    assert!(matches!(Program::new(&graph, &[b]), Err(Error::MixedGraphs { .. })));
    let _ = a.select(1.0, b);
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { .. })));
    let graph = Graph::new();
    let a = graph.input("a", ()).unwrap();
    let _ = a + b;
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { .. })));
}

#[test]
fn a_derivative_is_attributed_to_the_line_it_belongs_to() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let y = x.tanh();
    let slope = gradient(y, &[x]).unwrap()[0];
    let listing = Program::new(&graph, &[slope]).unwrap().to_string();
    assert!(listing.contains("square") && !listing.contains("elementwise.rs"), "{listing}");
}
