//! Per-record gradients of models that are made of matrices, convolutions and special functions.

use ndarray::ArrayD;
use ppl_core::{
    Column, ExecutionPlan, Graph, MaterialisedGradient, Program, Record, RecordGradient, Records, Var,
};

const COUNT: usize = 19;

/// A fixed number in (−1.5, 1.5) for each seed, record and element.
fn spread(seed: u64, record: usize, element: usize) -> f64 {
    let position =
        seed as f64 * 0.754_877_666 + record as f64 * 0.569_840_291 + element as f64 * 0.618_033_988_7;
    3.0 * (position - position.floor()) - 1.5
}

/// Records with a column `x` of this shape.
fn records(shape: &[usize]) -> Records {
    let elements: usize = shape.iter().product();
    let values = (0..COUNT).flat_map(|record| (0..elements).map(move |k| spread(12, record, k))).collect();
    let shape: Vec<usize> = [COUNT].iter().chain(shape).copied().collect();
    Records::from_columns([("x", Column::from(ArrayD::from_shape_vec(shape, values).unwrap()))]).unwrap()
}

/// The shape of an input, and its elements.
type Input<'a> = (&'a [usize], &'a dyn Fn(usize) -> f64);

/// Clipped sums of contracted gradients against those of the matrix of gradients; inputs are named `a`, `b`,
/// ….
fn check(name: &str, x: &[usize], inputs: &[Input<'_>], f: impl for<'g> Fn(Var<'g>, &[Var<'g>]) -> Var<'g>) {
    let records = records(x);
    let graph = Graph::new();
    let names: Vec<String> = ('a'..='z').take(inputs.len()).map(String::from).collect();
    let vars: Vec<Var<'_>> =
        names.iter().zip(inputs).map(|(name, (shape, _))| graph.input(name, *shape).unwrap()).collect();
    let value = f(Record::new(&graph, records.schema()).get("x").unwrap(), &vars);
    graph.check().unwrap();
    let mut fast = RecordGradient::<f64>::new(value, &vars).unwrap();
    let mut slow = MaterialisedGradient::<f64>::new(value, &vars).unwrap();
    for (name, (shape, value)) in names.iter().zip(inputs) {
        let values: Vec<f64> = (0..shape.iter().product()).map(value).collect();
        fast.set(name, &values).unwrap();
        slow.set(name, &values).unwrap();
    }
    let batch: Vec<u64> = (0..COUNT as u64).rev().collect();
    let matrix = slow.rows(&records, &batch).unwrap();
    assert!(matrix.iter().all(|x| x.is_finite()) && matrix.iter().any(|&x| x != 0.0), "{name}");
    let mut sum = vec![f64::NAN; fast.dimension()];
    let mut norms = vec![f64::NAN; COUNT];
    fast.squared_norms(&records, &batch, &mut norms).unwrap();
    let clip = |squared_norms: &[f64], weights: &mut [f64]| {
        let pairs = weights.iter_mut().zip(squared_norms);
        pairs.for_each(|(weight, norm)| *weight = (0.5 / norm.sqrt()).min(1.0));
    };
    fast.weighted_sum(&records, &batch, clip, &mut sum).unwrap();
    let mut expected = vec![0.0; sum.len()];
    for (row, norm) in matrix.rows().into_iter().zip(&norms) {
        let squared_norm = row.dot(&row);
        assert!((squared_norm - norm).abs() <= 1e-12 * squared_norm, "{name}: {norm} against {squared_norm}");
        let weight = (0.5 / squared_norm.sqrt()).min(1.0);
        expected.iter_mut().zip(&row).for_each(|(sum, x)| *sum += weight * x);
    }
    for (got, expected) in sum.iter().zip(&expected) {
        assert!((got - expected).abs() <= 1e-12 * COUNT as f64, "{name}: {got} against {expected}");
    }
    // And no record at all.
    fast.weighted_sum(&records, &[], |_, _| (), &mut sum).unwrap();
    assert!(sum.iter().all(|&x| x == 0.0), "{name}");
}

#[test]
fn contracted_gradients_through_matrices_windows_and_special_functions() {
    let small = |k: usize| 0.5 * spread(13, 0, k);
    let above = |k: usize| 2.0 + 0.5 * spread(14, 0, k);
    check("a layer used at every position", &[4, 3], &[(&[2, 4], &small), (&[2, 1], &small)], |x, v| {
        (v[0].matmul(x) + v[1]).tanh().square().sum()
    });
    check("attention to one record's rows", &[3, 4], &[(&[4, 2], &small), (&[4, 2], &small)], |x, v| {
        let (queries, keys) = (x.matmul(v[0]), x.matmul(v[1]));
        queries.einsum("ik,jk->ij", keys).sigmoid().matmul(x).square().sum()
    });
    check("a convolutional network", &[1, 6, 6], &[(&[2, 1, 3, 3], &small), (&[8], &small)], |x, v| {
        let hidden = x.conv2d(v[0], [1, 1], [1, 1]).tanh();
        let pooled = hidden.max_pool2d([2, 2], [2, 2], [0, 0]).average_pool2d([2, 2], [1, 1], [0, 0]);
        pooled.reshape(8).dot(v[1]).square()
    });
    check("an image from a code", &[2, 2, 2], &[(&[2, 1, 3, 3], &small)], |x, v| {
        x.conv2d_transpose(v[0], [2, 2], [1, 1], [1, 1]).sigmoid().square().sum()
    });
    // Lower triangle of a factor: 1 to 3 on the diagonal.
    check("a Gaussian by its factor", &[3], &[(&[3], &small), (&[3, 3], &above)], |x, v| {
        -0.5 * v[1].solve_lower(x - v[0]).square().sum() - 0.5 * v[1].cholesky_log_determinant()
    });
    check("a Gaussian by its covariance", &[3], &[(&[3], &small), (&[3, 3], &small)], |x, v| {
        let identity = (v[0] * 0.0 + 1.0).diagonal_matrix();
        let factor = (v[1].einsum("ik,jk->ij", v[1]) + identity).cholesky();
        -0.5 * factor.solve_lower(x - v[0]).square().sum() - 0.5 * factor.cholesky_log_determinant()
    });
    check("a Gamma density", &[], &[(&[], &above), (&[], &above)], |x, v| {
        let x = x.exp();
        v[0] * v[1].log() - v[0].lgamma() + (v[0] - 1.0) * x.log() - v[1] * x
    });
    check("a matrix for each record", &[3, 3], &[(&[3], &small), (&[3, 3], &small)], |x, v| {
        let identity = (v[0] * 0.0 + 1.0).diagonal_matrix();
        let matrix = x.einsum("ik,jk->ij", x) + v[1].einsum("ik,jk->ij", v[1]) + identity;
        matrix.cholesky().solve_lower(v[0]).square().sum() + matrix.log_determinant()
    });
}

#[test]
fn a_record_whose_matrix_has_no_factor_contributes_nothing() {
    let matrices = vec![2.0, 0.5, 0.5, 2.0, 1.0, 3.0, 3.0, 1.0];
    let column = Column::from(ArrayD::from_shape_vec(vec![2, 2, 2], matrices).unwrap());
    let records = Records::from_columns([("x", column)]).unwrap();
    let graph = Graph::new();
    let w = graph.input("w", 2).unwrap();
    let x = Record::new(&graph, records.schema()).get("x").unwrap();
    let mut gradient = RecordGradient::<f64>::new(x.cholesky().solve_lower(w).square().sum(), &[w]).unwrap();
    gradient.set("w", &[1.0, 2.0]).unwrap();
    let sum = |gradient: &mut RecordGradient<f64>, batch: &[u64]| {
        let mut sum = vec![f64::NAN; 2];
        gradient.weighted_sum(&records, batch, |_, weights| weights.fill(1.0), &mut sum).unwrap();
        sum
    };
    let (good, both) = (sum(&mut gradient, &[0]), sum(&mut gradient, &[0, 1]));
    assert!(good.iter().all(|x| x.is_finite() && *x != 0.0));
    assert_eq!(good, both);
    assert_eq!(sum(&mut gradient, &[1]), [0.0, 0.0]);
}

#[test]
fn programs_of_matrices_run_on_no_record() {
    let records = records(&[3, 4, 4]);
    let graph = Graph::new();
    let x = Record::new(&graph, records.schema()).get("x").unwrap();
    let w = graph.input("w", [2, 3, 3, 3]).unwrap();
    let outputs = [
        x.matmul(x),
        x.cholesky(),
        x.inverse(),
        x.solve_upper(x),
        x.diagonal().diagonal_matrix(),
        x.conv2d(w, [1, 1], [1, 1]),
        x.max_pool2d([2, 2], [1, 1], [0, 0]),
        x.average_pool2d([2, 2], [1, 1], [0, 0]),
        x.lgamma(),
    ];
    let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &outputs).unwrap());
    for output in 0..outputs.len() {
        assert_eq!(plan.evaluate(&records, &[], output).unwrap().nrows(), 0);
    }
}

#[test]
fn zero_times_nan_is_nan_in_every_product() {
    let graph = Graph::new();
    let (a, b) = (graph.input("a", [2, 2]).unwrap(), graph.input("b", [2, 2]).unwrap());
    let image = graph.input("image", [1, 2, 2]).unwrap();
    let outputs =
        [a.matmul(b), a.einsum("ij,kj->i", b), image.conv2d(a.reshape([1, 1, 2, 2]), [1, 1], [0, 0])];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.set("a", &[0.0, 0.0, 1.0, 1.0]).unwrap();
    plan.set("b", &[f64::NAN, 1.0, 1.0, 1.0]).unwrap();
    plan.set("image", &[f64::INFINITY, 1.0, 1.0, 1.0]).unwrap();
    plan.run();
    let nan = |output: usize| plan.output(output).iter().map(|x| x.is_nan()).collect::<Vec<bool>>();
    assert_eq!(nan(0), [true, false, true, false]);
    assert_eq!(nan(1), [true, true]);
    assert_eq!(nan(2), [true]);
}
