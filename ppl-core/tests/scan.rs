//! Scans against the same loops written out: values bit for bit, derivatives of all kinds, gradients of
//! records; lengths 0 and 1; mistakes.

use ndarray::{Array2, Array3, array};
use ppl_core::op::Unary;
use ppl_core::strategies::programs::{Choices, Menu, grow};
use ppl_core::transform::linear_predictor;
use ppl_core::{
    Column, ExecutionPlan, Graph, Program, Record, RecordGradient, Records, Scalar, Schema, Shape, Var,
    gradient, hessian_vector, jacobian_vector, vector_jacobian,
};
use proptest::prelude::*;

/// Both ways to write a loop over a state of two arrays and two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Scan,
    WrittenOut,
}

type State<'g> = (Var<'g>, Var<'g>);

/// The last state, and the outputs of all steps.
fn looped<'g>(
    way: Way,
    graph: &'g Graph,
    steps: usize,
    initial: State<'g>,
    inputs: State<'g>,
    body: impl Fn(State<'g>, State<'g>) -> (State<'g>, State<'g>),
) -> (State<'g>, State<'g>) {
    if way == Way::Scan {
        return graph.scan(initial, inputs, |state, rows| Ok(body(state, rows))).unwrap();
    }
    let row = |x: Var<'g>, t: usize| x.slice(0, t..t + 1).reshape(Shape::from(&x.shape().dims()[1..]));
    let (mut state, mut outputs) = (initial, (Vec::new(), Vec::new()));
    for t in 0..steps {
        let (next, (y, z)) = body(state, (row(inputs.0, t), row(inputs.1, t)));
        outputs.0.push(y);
        outputs.1.push(z);
        state = next;
    }
    (state, (graph.stack(&outputs.0, 0), graph.stack(&outputs.1, 0)))
}

/// A random body: what comes last of some operations, bent to the state's shapes.
fn random<'g>(
    bytes: &[u8],
    menu: Menu,
    captured: &[Var<'g>],
    (a, b): State<'g>,
    (x, y): State<'g>,
) -> (State<'g>, State<'g>) {
    let mut values = vec![a, b, x, y];
    values.extend(captured);
    let first = values.len();
    // No bound on the operations: what a step of the loop written out has in common with the step before it
    // is not recorded again, so the bound would be met later there.
    let sum = grow(&mut Choices::new(bytes), &mut values, menu, 10_000).unwrap();
    let newest = values[first..].last().copied().unwrap_or(x);
    let bent = |value: Var<'g>, shape: Shape| match value.shape() == shape {
        true => value,
        false => value.sum().broadcast_to(shape),
    };
    let squash = |value: Var<'g>| if menu == Menu::Smooth { value.tanh() } else { value };
    let next = (squash(bent(newest, a.shape()) + 0.5 * a), squash(b - sum));
    (next, (newest, a * sum))
}

const STATE: [usize; 1] = [2];

/// Values of the shared inputs of [`program`].
fn shared_values(steps: usize) -> Vec<(&'static str, Vec<usize>, Vec<f64>)> {
    let number = |seed: usize, k: usize| ((seed * 31 + k) as f64 * 0.618_033_988_7).fract() * 2.0 - 1.0;
    let given = |name, shape: &[usize], seed| {
        (name, shape.to_vec(), (0..shape.iter().product()).map(|k| number(seed, k)).collect())
    };
    vec![
        given("a", &STATE, 1),
        given("b", &[], 2),
        given("x", &[steps, 2], 3),
        given("y", &[steps], 4),
        given("w", &[2], 5),
        given("v", &[3], 6),
    ]
}

/// A number that depends on everything that a random loop makes, and the inputs.
fn program<'g>(
    way: Way,
    graph: &'g Graph,
    bytes: &[u8],
    menu: Menu,
    steps: usize,
) -> (Vec<Var<'g>>, Vec<Var<'g>>) {
    let inputs: Vec<Var<'g>> =
        shared_values(steps).into_iter().map(|(name, shape, _)| graph.input(name, shape).unwrap()).collect();
    let [a, b, x, y, w, v] = inputs[..] else { unreachable!() };
    let captured = [w, v.exp()];
    let (last, outputs) =
        looped(way, graph, steps, (a, b), (x, y), |state, rows| random(bytes, menu, &captured, state, rows));
    (vec![last.0, last.1, outputs.0, outputs.1], inputs)
}

/// Everything about such a program: values, gradient, Jacobian and Hessian products.
fn everything(way: Way, bytes: &[u8], menu: Menu, steps: usize) -> Vec<Vec<f64>> {
    let graph = Graph::new();
    let (mut outputs, inputs) = program(way, &graph, bytes, menu, steps);
    if menu == Menu::Smooth {
        let sum = outputs.iter().map(|each| (each.sum() * 0.7).map(Unary::Sin)).reduce(|a, b| a + b).unwrap();
        let vectors: Vec<Var<'_>> = inputs.iter().map(|x| (0.5 * *x + 0.3).broadcast_to(x.shape())).collect();
        let values = outputs.clone();
        outputs.extend(gradient(sum, &inputs).unwrap());
        outputs.extend(jacobian_vector(&values, &inputs, &vectors).unwrap());
        outputs.extend(hessian_vector(sum, &inputs, &vectors).unwrap());
    }
    run::<f64>(&graph, &outputs, steps)
}

fn run<T: Scalar>(graph: &Graph, outputs: &[Var<'_>], steps: usize) -> Vec<Vec<f64>> {
    let program = Program::new(graph, outputs).unwrap();
    let mut plan = ExecutionPlan::<T>::new(&program);
    for (name, _, values) in shared_values(steps) {
        if plan.input(name).is_ok() {
            let values: Vec<T> = values.iter().map(|&x| T::of(x)).collect();
            plan.set(name, &values).unwrap();
        }
    }
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).iter().map(|x| x.as_f64()).collect()).collect()
}

fn close(a: &[f64], b: &[f64], relative: f64) -> bool {
    let size = a.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= relative * size)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn values_are_those_of_the_loop_written_out_bit_for_bit(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        steps in 1..6_usize,
    ) {
        let written = everything(Way::WrittenOut, &bytes, Menu::Everything, steps);
        let scanned = everything(Way::Scan, &bytes, Menu::Everything, steps);
        for (written, scanned) in written.iter().flatten().zip(scanned.iter().flatten()) {
            prop_assert!(written == scanned || (written.is_nan() && scanned.is_nan()), "{} {}", written, scanned);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn derivatives_are_those_of_the_loop_written_out(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        steps in 1..6_usize,
    ) {
        let written = everything(Way::WrittenOut, &bytes, Menu::Smooth, steps);
        let scanned = everything(Way::Scan, &bytes, Menu::Smooth, steps);
        prop_assert_eq!(written.len(), scanned.len());
        for (output, (written, scanned)) in written.iter().zip(&scanned).enumerate() {
            prop_assert!(close(written, scanned, 1e-9), "output {}: {:?} {:?}", output, written, scanned);
        }
    }
}

const RECORDS: usize = 37;

fn records(steps: usize) -> Records {
    let number = |k: usize| (k as f64 * 0.754_877_666).fract() * 2.0 - 1.0;
    let x = Array3::from_shape_fn((RECORDS, steps, 2), |(i, t, k)| number(100 * i + 7 * t + k));
    let y = Array2::from_shape_fn((RECORDS, steps), |(i, t)| number(50 * i + 3 * t + 1));
    Records::from_columns([("x", Column::from(x.into_dyn())), ("y", Column::from(y.into_dyn()))]).unwrap()
}

/// Norms, gradients, a clipped sum and a plain sum of records whose loops use their columns. One of the two
/// arrays that are carried begins with a shared value and one with a record's, or both with shared ones.
fn of_records<T: Scalar>(way: Way, bytes: &[u8], steps: usize, mixed: bool) -> Vec<Vec<f64>> {
    let (graph, data) = (Graph::new(), records(steps));
    let record = Record::new(&graph, data.schema());
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    let (a, w, v) =
        (graph.input("a", 2).unwrap(), graph.input("w", 2).unwrap(), graph.input("v", 3).unwrap());
    let table = graph.input("y", steps).unwrap();
    let b = if mixed { y.sum() } else { graph.constant(0.25) };
    // The second input is shared, too.
    let inputs = if mixed { (x, table) } else { (x, y) };
    let (last, outputs) = looped(way, &graph, steps, (a, b), inputs, |state, rows| {
        random(bytes, Menu::Smooth, &[w, v.exp()], state, rows)
    });
    let value = [last.0, last.1, outputs.0, outputs.1]
        .map(|each| (each.sum() * 0.7).map(Unary::Sin))
        .into_iter()
        .reduce(|a, b| a + b)
        .unwrap();
    // The loop need not touch a record at all.
    let value = value + 0.01 * x.sum() * w.sum();
    let mut gradient = RecordGradient::<T>::new(value, &[a, w, v]).unwrap();
    for (name, _, values) in shared_values(steps) {
        if ["a", "w", "v", "y"].contains(&name) {
            gradient.set(name, &values.iter().map(|&x| T::of(x)).collect::<Vec<_>>()).unwrap();
        }
    }
    let batch: Vec<u64> = (0..RECORDS as u64).rev().collect();
    let dimension = gradient.dimension();
    let [mut norms, mut clipped, mut plain] =
        [RECORDS, dimension, dimension].map(|length| vec![T::zero(); length]);
    gradient.squared_norms(&data, &batch, &mut norms).unwrap();
    let clip = |norms: &[T], weights: &mut [T]| {
        for (weight, &norm) in weights.iter_mut().zip(norms) {
            *weight = (T::of(0.5) / norm.sqrt()).min(T::one());
        }
    };
    gradient.weighted_sum(&data, &batch, clip, &mut clipped).unwrap();
    gradient.sum(&data, &batch, &mut plain).unwrap();
    let rows = gradient.keep(&data, &batch).unwrap();
    let numbers = |values: &[T]| values.iter().map(|x| x.as_f64()).collect();
    vec![numbers(&norms), numbers(&clipped), numbers(&plain), rows.iter().map(|x| x.as_f64()).collect()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn gradients_of_records_are_those_of_the_loop_written_out(
        bytes in proptest::collection::vec(any::<u8>(), 0..50),
        steps in 1..5_usize,
        mixed in any::<bool>(),
    ) {
        let written = of_records::<f64>(Way::WrittenOut, &bytes, steps, mixed);
        let scanned = of_records::<f64>(Way::Scan, &bytes, steps, mixed);
        let single = of_records::<f32>(Way::Scan, &bytes, steps, mixed);
        for (what, (written, scanned)) in written.iter().zip(&scanned).enumerate() {
            prop_assert!(close(written, scanned, 1e-9), "{}: {:?} {:?}", what, written, scanned);
        }
        // Gradients of single records; their relative error in f32 grows with the operations.
        prop_assert!(close(&scanned[3], &single[3], 2e-3), "{:?} {:?}", scanned[3], single[3]);
    }
}

/// A loop with everything that a body can have: two states, inputs and outputs, captured values, products of
/// matrices, selections, a cumulative sum and a table.
fn elaborate<'g>(inputs: &[Var<'g>], steps: usize) -> Var<'g> {
    let [a, b, x, w, table] = inputs else { unreachable!() };
    let graph = a.graph();
    let ((a, b), (y, z)) = graph
        .scan((*a, *b), (*x, x.sum_axis(1)), |(a, b), (x, s)| {
            let next = (w.dot(a) + x).tanh() + 0.1 * b;
            let row = table.gather(s.greater(0.0));
            let b = 0.5 * b + (row * a).log_sum_exp();
            Ok(((next, b.softplus()), (next.cumsum(0), s * b)))
        })
        .unwrap();
    assert_eq!(y.shape(), Shape::from([steps, 2]));
    a.sum() + b + (y * y.sigmoid()).sum() + z.square().sum()
}

#[test]
fn gradients_and_hessian_products_are_finite_differences() {
    let steps = 5;
    let shapes: [(&str, &[usize]); 5] =
        [("a", &[2]), ("b", &[]), ("x", &[5, 2]), ("w", &[2, 2]), ("table", &[2, 2])];
    let graph = Graph::new();
    let inputs: Vec<Var<'_>> =
        shapes.iter().map(|&(name, shape)| graph.input(name, shape).unwrap()).collect();
    let value = elaborate(&inputs, steps);
    let slopes = gradient(value, &inputs).unwrap();
    let vectors: Vec<Var<'_>> =
        shapes.iter().map(|&(name, shape)| graph.input(format!("v{name}"), shape).unwrap()).collect();
    let products = hessian_vector(value, &inputs, &vectors).unwrap();
    let outputs: Vec<Var<'_>> = std::iter::once(value).chain(slopes).chain(products).collect();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    let number = |k: usize| (k as f64 * 0.618_033_988_7).fract() * 1.6 - 0.8;
    let sizes: Vec<usize> = shapes.iter().map(|(_, shape)| shape.iter().product()).collect();
    let total: usize = sizes.iter().sum();
    let direction: Vec<f64> = (0..total).map(|k| number(k + 100)).collect();
    let mut at = |values: &[f64]| -> Vec<Vec<f64>> {
        let mut first = 0;
        for (&(name, _), &size) in shapes.iter().zip(&sizes) {
            plan.set(name, &values[first..first + size]).unwrap();
            plan.set(&format!("v{name}"), &direction[first..first + size]).unwrap();
            first += size;
        }
        plan.run();
        let one = plan.output(0).to_vec();
        let all = |from: usize| (from..from + 5).flat_map(|k| plan.output(k).to_vec()).collect();
        vec![one, all(1), all(6)]
    };
    let here: Vec<f64> = (0..total).map(number).collect();
    let [_, slopes, products] = &at(&here)[..] else { unreachable!() };
    let h = 1e-5;
    let moved = |k: usize, by: f64| {
        let mut moved = here.clone();
        moved[k] += by;
        moved
    };
    // Central differences err by about h² times third derivatives of order 10, and 1e-15/h.
    for (k, slope) in slopes.iter().enumerate() {
        let difference = (at(&moved(k, h))[0][0] - at(&moved(k, -h))[0][0]) / (2.0 * h);
        assert!((difference - slope).abs() < 2e-8 * (1.0 + slope.abs()), "{k}: {difference} {slope}");
    }
    let along = |by: f64| here.iter().zip(&direction).map(|(x, d)| x + by * d).collect::<Vec<_>>();
    let (up, down) = (at(&along(h)), at(&along(-h)));
    for (k, product) in products.iter().enumerate() {
        let difference = (up[1][k] - down[1][k]) / (2.0 * h);
        assert!((difference - product).abs() < 2e-8 * (1.0 + product.abs()), "{k}: {difference} {product}");
    }
}

#[test]
fn third_derivatives_are_those_of_a_power() {
    // xⁿ by a loop of n products.
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let (power, ()) = graph.scan_steps(5, graph.constant(1.0), |p| Ok((p * x, ()))).unwrap();
    let mut derivatives = vec![power];
    for _ in 0..4 {
        let last = derivatives[derivatives.len() - 1];
        derivatives.push(gradient(last, &[x]).unwrap()[0]);
    }
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &derivatives).unwrap());
    plan.set("x", &[2.0]).unwrap();
    plan.run();
    let found: Vec<f64> = (0..5).map(|k| plan.output(k)[0]).collect();
    assert_eq!(found, [32.0, 80.0, 160.0, 240.0, 240.0]);
}

#[test]
fn no_steps_give_the_state_back_and_empty_outputs() {
    let data = Records::from_columns([("x", array![1.0, 2.0])]).unwrap();
    for per_record in [false, true] {
        let graph = Graph::new();
        let (c, x) = (graph.input("c", 2).unwrap(), graph.input("x", [0, 3]).unwrap());
        let c = if per_record { c * Record::new(&graph, data.schema()).get("x").unwrap() } else { c };
        let (last, y) = graph.scan(c, x, |c, x| Ok((c * x.sum(), x))).unwrap();
        assert_eq!(y.shape(), Shape::from([0, 3]));
        let value = last.square().sum() + y.sum();
        let slopes = gradient(value, &[c, x]).unwrap();
        assert_eq!(slopes[1].shape(), Shape::from([0, 3]));
        let program = Program::new(&graph, &[last, slopes[0]]).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&program);
        plan.set("c", &[3.0, -1.0]).unwrap();
        if per_record {
            assert_eq!(plan.evaluate(&data, &[1, 0], 0).unwrap(), array![[6.0, -2.0], [3.0, -1.0]]);
            assert_eq!(plan.evaluate(&data, &[1, 0], 1).unwrap(), array![[12.0, -4.0], [6.0, -2.0]]);
        } else {
            plan.run();
            assert_eq!((plan.output(0), plan.output(1)), (&[3.0, -1.0][..], &[6.0, -2.0][..]));
        }
    }
}

#[test]
fn a_program_is_as_long_for_many_steps_as_for_few() {
    let length = |steps: usize| {
        let graph = Graph::new();
        let shapes: [&[usize]; 5] = [&[2], &[], &[steps, 2], &[2, 2], &[2, 2]];
        let inputs: Vec<Var<'_>> = shapes
            .iter()
            .enumerate()
            .map(|(k, &shape)| graph.input(format!("{k}"), shape).unwrap())
            .collect();
        let value = elaborate(&inputs, steps);
        let slopes = gradient(value, &inputs).unwrap();
        let products = hessian_vector(value, &inputs, &inputs).unwrap();
        let outputs: Vec<Var<'_>> = slopes.into_iter().chain(products).collect();
        (graph.len(), Program::new(&graph, &outputs).unwrap().simplified_exactly().len())
    };
    assert_eq!(length(3), length(100_000));
}

/// Σ_t (Σ_s w_s x_ts)², rows in an outer loop and elements in an inner one, also of records.
#[test]
fn loops_inside_loops() {
    fn value<'g>(w: Var<'g>, x: Var<'g>) -> Var<'g> {
        let graph = w.graph();
        let (sum, _) = graph
            .scan(graph.constant(0.0), x, |sum, row| {
                let (inner, ()) = graph.scan(graph.constant(0.0), (w, row), |inner, (w, x)| {
                    Ok((inner + w * x + 0.0 * sum, ()))
                })?;
                Ok((sum + inner.square(), ()))
            })
            .unwrap();
        sum
    }
    let numbers = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let w = [0.5, -1.0, 2.0];
    let dots: Vec<f64> =
        numbers.rows().into_iter().map(|row| row.iter().zip(w).map(|(x, w)| x * w).sum()).collect();
    let expected: f64 = dots.iter().map(|dot| dot * dot).sum();
    let slope = |k: usize| -> f64 { (0..2).map(|t| 2.0 * dots[t] * numbers[[t, k]]).sum() };
    let second =
        |k: usize, l: usize| -> f64 { (0..2).map(|t| 2.0 * numbers[[t, k]] * numbers[[t, l]]).sum() };

    let graph = Graph::new();
    let (weights, x) = (graph.input("w", 3).unwrap(), graph.array(&numbers.clone().into_dyn()));
    let sum = value(weights, x);
    let direction = graph.array(&array![1.0, 0.0, -1.0].into_dyn());
    let products = hessian_vector(sum, &[weights], &[direction]).unwrap()[0];
    let slopes = gradient(sum, &[weights]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[sum, slopes, products]).unwrap());
    plan.set("w", &w).unwrap();
    plan.run();
    assert!((plan.output(0)[0] - expected).abs() < 1e-12);
    for k in 0..3 {
        assert!((plan.output(1)[k] - slope(k)).abs() < 1e-12);
        assert!((plan.output(2)[k] - (second(k, 0) - second(k, 2))).abs() < 1e-12);
    }

    let data = Array3::from_shape_fn((5, 2, 3), |(i, t, k)| numbers[[t, k]] * (1.0 + i as f64));
    let data = Records::from_columns([("x", Column::from(data.into_dyn()))]).unwrap();
    let graph = Graph::new();
    let weights = graph.input("w", 3).unwrap();
    let each = value(weights, Record::new(&graph, data.schema()).get("x").unwrap());
    let mut gradient = RecordGradient::<f64>::new(each, &[weights]).unwrap();
    gradient.set("w", &w).unwrap();
    let rows = gradient.keep(&data, &[3, 0]).unwrap();
    for k in 0..3 {
        assert!((rows[[0, k]] - 16.0 * slope(k)).abs() < 1e-10 && (rows[[1, k]] - slope(k)).abs() < 1e-12);
    }
}

#[test]
fn many_values_are_captured_and_carried() {
    let graph = Graph::new();
    let inputs: Vec<Var<'_>> = (0..40).map(|k| graph.input(format!("x{k}"), ()).unwrap()).collect();
    let start: Vec<Var<'_>> = (0..20).map(|k| graph.constant(f64::from(k))).collect();
    // Each state becomes the next one plus an input; the outer values are all used.
    let (last, ()) = graph
        .scan_steps(3, start, |c| {
            let next = (0..20).map(|k| c[(k + 1) % 20] + inputs[k] * inputs[k + 20]).collect();
            Ok((next, ()))
        })
        .unwrap();
    let slopes = gradient(last[0], &inputs).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(
        &Program::new(&graph, &[last[0], slopes[0], slopes[22], slopes[5]]).unwrap(),
    );
    for (k, x) in (0..40).map(|k| (k, 0.1 * f64::from(k))) {
        if plan.input(&format!("x{k}")).is_ok() {
            plan.set(&format!("x{k}"), &[x]).unwrap();
        }
    }
    plan.run();
    let product = |k: f64| 0.1 * k * 0.1 * (k + 20.0);
    assert!((plan.output(0)[0] - (3.0 + product(0.0) + product(1.0) + product(2.0))).abs() < 1e-12);
    assert!((plan.output(1)[0] - 2.0).abs() < 1e-12 && (plan.output(2)[0] - 0.2).abs() < 1e-12);
    assert_eq!(plan.output(3), [0.0]);
}

#[test]
fn equal_loops_are_one_operation_and_others_are_told_apart() {
    let graph = Graph::new();
    let x = graph.input("x", 4).unwrap();
    let zero = graph.constant(0.0);
    let sum = |factor: f64| graph.scan(zero, x, |sum, x| Ok((sum + factor * x, ()))).unwrap().0;
    let (one, same, other) = (sum(2.0), sum(2.0), sum(3.0));
    assert!(one.is(same) && !one.is(other));
    let program = |value: Var<'_>| Program::new(&graph, &[value]).unwrap();
    assert_eq!(program(one).fingerprint(), program(same).fingerprint());
    assert_ne!(program(one).fingerprint(), program(other).fingerprint());
    assert!(program(one).difference(&program(other)).unwrap().contains("scan"));
    let listing = program(one).to_string();
    assert!(listing.contains("scan[4 steps of 3 operations]") && listing.contains("| %"), "{listing}");
    let read = Program::from_json(&program(one).to_json().unwrap()).unwrap();
    assert_eq!(read, program(one));
}

#[test]
fn written_loops_that_could_not_have_been_traced_are_refused() {
    let graph = Graph::new();
    let x = graph.input("x", [4, 2]).unwrap();
    let (_, y) = graph.scan(x.sum(), x, |c, x| Ok((c + x.sum(), c * x))).unwrap();
    let text = Program::new(&graph, &[y]).unwrap().to_json().unwrap();
    let damaged = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        Program::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(Program::from_json(&text).is_ok());
    assert!(damaged("\"leaves\":[1,1,0]", "\"leaves\":[1,2,0]").contains("leaves do not come first"));
    assert!(damaged("\"leaves\":[1,1,0]", "\"leaves\":[0,2,0]").contains("carried"));
    assert!(damaged("\"leaves\":[1,1,0]", "\"leaves\":[1,18446744073709551615,0]").contains("leaves"));
    assert!(damaged("\"carried\":[3]", "\"carried\":[99]").contains("none of its instructions"));
    assert!(damaged("\"carried\":[3]", "\"carried\":[1]").contains("changes its shape"));
    assert!(damaged("\"steps\":4", "\"steps\":5").contains("scan"));
    assert!(damaged("\"steps\":4", "\"steps\":9999999999").contains("too long"));
}

fn refused(make: impl for<'g> Fn(&'g Graph) -> ppl_core::Result<Var<'g>>) -> String {
    let graph = Graph::new();
    let result = make(&graph).and_then(|value| Program::new(&graph, &[value]).map(|_| ()));
    result.unwrap_err().to_string()
}

#[test]
fn mistakes_are_told_with_the_operation_and_the_line() {
    let here = "tests/scan.rs";
    let told = refused(|graph| {
        let x = graph.input("x", [3, 2])?;
        graph.scan(graph.constant(0.0), x, |c, x| Ok((c + x, ()))).map(|(c, ())| c)
    });
    assert!(
        told.contains("scan: expected the carried array 0 to keep its shape [] after a step, got shape [2]"),
        "{told}"
    );
    assert!(told.contains(here), "{told}");
    let told = refused(|graph| {
        let (x, y) = (graph.input("x", 3)?, graph.input("y", 4)?);
        graph.scan(x.sum(), (x, y), |c, (x, y)| Ok((c + x * y, ()))).map(|(c, ())| c)
    });
    assert!(told.contains("an input of 3 rows") && told.contains("[4]") && told.contains(here), "{told}");
    let told = refused(|graph| {
        let x = graph.input("x", ())?;
        graph.scan(x, x, |c, x| Ok((c + x, ()))).map(|(c, ())| c)
    });
    assert!(told.contains("an input with a first axis") && told.contains(here), "{told}");
    let told = refused(|graph| graph.scan(graph.constant(0.0), (), |c, ()| Ok((c, ()))).map(|(c, ())| c));
    assert!(told.contains("scan_steps") && told.contains(here), "{told}");
    let told = refused(|graph| {
        let start = vec![graph.constant(0.0); 2];
        graph.scan_steps(3, start, |c| Ok((vec![c[0]], ()))).map(|(c, ())| c[0])
    });
    assert!(told.contains("2 arrays are carried into a step and 1 out of it"), "{told}");
    let told = refused(|graph| {
        let (x, mut kept) = (graph.input("x", 3)?, None);
        graph.scan(x.sum(), x, |c, x| {
            kept = Some(x.exp());
            Ok((c + x, ()))
        })?;
        Ok(kept.unwrap())
    });
    assert!(told.contains("a value of one step of a scan outside the scan") && told.contains(here), "{told}");
    // Also where it gets outside by way of another loop.
    let told = refused(|graph| {
        let (x, mut kept) = (graph.input("x", 3)?, None);
        graph.scan(x.sum(), x, |c, x| {
            kept = Some(x.exp());
            Ok((c + x, ()))
        })?;
        graph.scan(x.sum(), x, |c, x| Ok((c + x * kept.unwrap(), ()))).map(|(c, ())| c)
    });
    assert!(told.contains("a value of one step of a scan outside the scan"), "{told}");
    let told = refused(|graph| {
        let x = graph.input("x", [3, 2])?;
        graph
            .scan(x.sum(), x, |c, x| Ok((c + x.dot(graph.constant(1.0).broadcast_to(5)), ())))
            .map(|(c, ())| c)
    });
    assert!(told.contains("dot") && told.contains(here), "{told}");
    let other = Graph::new();
    let foreign = other.input("y", 3).unwrap();
    let graph = Graph::new();
    let told = graph.scan(foreign.sum(), foreign, |c, x| Ok((c + x, ()))).unwrap_err().to_string();
    assert!(told.contains("scan: the operands belong to different graphs"), "{told}");
    let huge = refused(|graph| {
        let start = graph.constant(0.0).broadcast_to([1 << 12]);
        graph.scan_steps(1 << 20, start, |c| Ok((c.exp(), ()))).map(|(c, ())| c)
    });
    assert!(huge.contains("too many elements"), "{huge}");
}

/// Indices of the steps are checked where they are columns, also in a loop inside a loop.
#[test]
fn indices_of_steps_are_checked() {
    let data = |last: u8| {
        let index = ndarray::Array2::from_shape_vec((2, 3), vec![0_u8, 1, 2, 2, 1, last]).unwrap();
        Records::from_columns([("i", Column::from(index.into_dyn()))]).unwrap()
    };
    for nested in [false, true] {
        let good = data(0);
        let graph = Graph::new();
        let table = graph.input("table", 3).unwrap();
        let index = Record::new(&graph, good.schema()).index("i").unwrap();
        let zero = graph.constant(0.0);
        let (sum, ()) = graph
            .scan(zero, index, |sum, i| {
                let inner = |_| graph.scan_steps(2, zero, |c| Ok((c + table.gather(i), ())));
                let row = if nested { inner(())?.0 } else { table.gather(i.reshape([1])).sum() };
                Ok((sum + row, ()))
            })
            .unwrap();
        let program = Program::new(&graph, &[sum]).unwrap();
        assert!(program.check_indices(&good).is_ok() && graph.check_indices(&good).is_ok());
        for told in [program.check_indices(&data(7)), graph.check_indices(&data(7))] {
            let told = told.unwrap_err().to_string();
            assert!(
                told.starts_with("index 7 (column 'i', record 1) is not an integer from 0 to 3 - 1"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_plan_counts_the_operations_of_all_steps() {
    let operations = |steps: usize| -> u64 {
        let graph = Graph::new();
        let x = graph.input("x", steps).unwrap();
        let (sum, ()) = graph.scan(x.sum(), x, |c, x| Ok((c.exp() + x, ()))).unwrap();
        let explanation = ExecutionPlan::<f64>::new(&Program::new(&graph, &[sum]).unwrap()).explain();
        explanation.shared.iter().find(|step| step.what.starts_with("scan")).unwrap().operations
    };
    assert_eq!((operations(10), operations(1_000)), (20, 2_000));
}

/// A loop that is linear in its parameters is a linear predictor like any other; another one is none.
#[test]
fn linear_loops_are_linear_predictors() {
    let schema = Schema::new([("x", [4])]).unwrap();
    let graph = Graph::new();
    let (w, x) = (graph.input("w", ()).unwrap(), Record::new(&graph, &schema).get("x").unwrap());
    let (sum, ()) = graph.scan(x.sum(), x, |c, x| Ok((0.5 * c + w * x, ()))).unwrap();
    let found = linear_predictor(-sum.softplus(), &[w]).unwrap().unwrap();
    assert!(found.predictor.is(sum));
    let data = Records::from_columns([("x", array![[1.0, 2.0, 3.0, 4.0]])]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[found.design[0]]).unwrap());
    assert_eq!(plan.evaluate(&data, &[0], 0).unwrap(), array![[0.125 + 0.5 + 1.5 + 4.0]]);
    let (power, ()) = graph.scan(x.sum(), x, |c, x| Ok((w * c + x, ()))).unwrap();
    assert!(linear_predictor(-power.softplus(), &[w]).unwrap().is_none());
}

#[test]
fn a_vector_product_takes_all_outputs_together() {
    // y = cumulative sums, last = total; weights on each.
    let graph = Graph::new();
    let (x, v) = (graph.input("x", 3).unwrap(), graph.input("v", 3).unwrap());
    let (last, y) = graph.scan(graph.constant(0.0), x, |c, x| Ok((c + x, c + x))).unwrap();
    let back = vector_jacobian(&[(y, v), (last, graph.constant(10.0))], &[x]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[back]).unwrap());
    plan.set("v", &[1.0, 2.0, 4.0]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [17.0, 16.0, 14.0]);
}

/// The operation, the step and the line, also of a loop inside a loop.
#[test]
fn the_first_number_that_is_not_finite_is_found_inside() {
    let graph = Graph::new();
    let x = graph.input("x", 4).unwrap();
    let zero = graph.constant(0.0);
    let (sum, ()) = graph.scan(zero, x, |c, x| Ok((c + (x - 1.0).log(), ()))).unwrap();
    let (nested, ()) = graph
        .scan(zero, x, |c, x| {
            let (inner, ()) = graph.scan_steps(2, c, |c| Ok((c + (x - 1.0).sqrt(), ())))?;
            Ok((inner, ()))
        })
        .unwrap();
    let fault = |value: Var<'_>, x: [f64; 4]| {
        let program = Program::new(&graph, &[value]).unwrap();
        program.first_non_finite(&[("x".to_owned(), x.to_vec())].into(), None).unwrap()
    };
    assert_eq!(fault(sum, [2.0; 4]), None);
    let found = fault(sum, [2.0, 2.0, 1.0, 0.0]).unwrap();
    assert_eq!((found.operation.as_str(), found.step, found.arguments[0].least), ("log", Some(2), 0.0));
    let told = found.to_string();
    assert!(told.contains("in step 2 of the scan: element 0 is -inf") && told.contains("scan.rs"), "{told}");
    let found = fault(nested, [2.0, 0.0, 1.0, 2.0]).unwrap();
    assert_eq!((found.operation.as_str(), found.step), ("sqrt", Some(1)));
    assert_eq!(fault(sum, [2.0, f64::NAN, 2.0, 2.0]).unwrap().operation, "input 'x'");
}

/// A derivative that is zero everywhere is an array of zeros, also where a step has no other one.
#[test]
fn what_is_only_compared_has_derivative_zero() {
    let graph = Graph::new();
    let (x, w) = (graph.input("x", [3, 2]).unwrap(), graph.input("w", 2).unwrap());
    let (last, y) = graph
        .scan(w, x, |c, x| {
            let up = x.greater(c);
            Ok((c.less(0.5) + 0.0 * up, up.select(2.0, 3.0)))
        })
        .unwrap();
    let slopes = gradient(last.sum() + y.sum(), &[x, w]).unwrap();
    let products = hessian_vector(last.sum() + y.sum(), &[x, w], &[x, w]).unwrap();
    let outputs: Vec<Var<'_>> = slopes.into_iter().chain(products).collect();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.run();
    for (output, length) in [6, 2, 6, 2].into_iter().enumerate() {
        assert_eq!(plan.output(output), vec![0.0; length]);
    }
}
