//! Rows by index and their transpose: values, derivatives, and what a bad index does.

use super::common::{Case, distinct, shape_of};
use ndarray::{Array1, ArrayD, IxDyn, array};
use ppl_core::{
    Column, Error, ExecutionPlan, Graph, MaterialisedGradient, Program, Record, RecordGradient, Records,
    Shape,
};
use proptest::prelude::*;

fn indices(shape: Shape, rows: usize) -> impl Strategy<Value = [ArrayD<f64>; 3]> {
    let one = move || {
        let shape = shape.clone();
        proptest::collection::vec(0..rows, shape.elements()).prop_map(move |rows| {
            let values = rows.into_iter().map(|row| row as f64).collect();
            ArrayD::from_shape_vec(IxDyn(shape.dims()), values).unwrap()
        })
    };
    [one(), one(), one()]
}

/// A table, an index into it, and rows that such an index would have chosen.
fn tables() -> impl Strategy<Value = ([ArrayD<f64>; 3], [ArrayD<f64>; 3], [ArrayD<f64>; 3], usize)> {
    (1..5_usize, shape_of(0..2), shape_of(0..3)).prop_flat_map(|(rows, rest, index)| {
        let table = Shape::from(rows).concat(&rest);
        (distinct(table), indices(index.clone(), rows), distinct(index.concat(&rest)), Just(rows))
    })
}

fn gathered(arguments: &[ArrayD<f64>]) -> ArrayD<f64> {
    let (table, index) = (&arguments[0], &arguments[1]);
    let mut shape = index.shape().to_vec();
    shape.extend(&table.shape()[1..]);
    let width: usize = table.shape()[1..].iter().product();
    let table: Vec<f64> = table.iter().copied().collect();
    let values = index.iter().flat_map(|&row| table[row as usize * width..][..width].to_vec()).collect();
    ArrayD::from_shape_vec(shape, values).unwrap()
}

fn scattered(arguments: &[ArrayD<f64>], rows: usize) -> ArrayD<f64> {
    let (values, index) = (&arguments[0], &arguments[1]);
    let rest = &values.shape()[index.ndim()..];
    let width: usize = rest.iter().product();
    let mut shape = vec![rows];
    shape.extend(rest);
    let mut sums = vec![0.0; rows * width];
    for (k, &value) in values.iter().enumerate() {
        let row = *index.iter().nth(k / width).unwrap() as usize;
        sums[row * width + k % width] += value;
    }
    ArrayD::from_shape_vec(shape, sums).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn gather_chooses_rows((table, index, _, _) in tables()) {
        Case::new(|v| v[0].gather(v[1]).square(), |v: &[ArrayD<f64>]| gathered(v).mapv(|x| x * x), vec![table, index]).by_the_first().within(4.0).check();
    }

    #[test]
    fn scatter_add_is_its_transpose((_, index, values, rows) in tables()) {
        Case::new(move |v| v[0].scatter_add(v[1], rows).square(), move |v: &[ArrayD<f64>]| scattered(v, rows).mapv(|x| x * x), vec![values, index]).by_the_first().within(64.0).check();
    }
}

const BAD: [f64; 8] =
    [-1.0, 3.0, 0.5, 2.999_999, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 4_294_967_296.0];

/// One record with a good index, −0, and one record for each bad index; a row feature beside them.
fn bad_records() -> Records {
    let index: Vec<f64> = [2.0, -0.0].into_iter().chain(BAD).collect();
    let x = Array1::from_elem(index.len(), 0.5);
    Records::from_columns([("index", Column::from(index)), ("x", Column::from(x))]).unwrap()
}

#[test]
fn a_bad_index_makes_its_record_nan_and_no_other() {
    let records = bad_records();
    let graph = Graph::new();
    let table = graph.input("table", [3, 2]).unwrap();
    let index = Record::new(&graph, records.schema()).get("index").unwrap();
    let program = Program::new(&graph, &[table.gather(index)]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&program);
    plan.set("table", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let rows = plan.evaluate(&records, &all, 0).unwrap();
    assert_eq!(rows.row(0), array![5.0, 6.0]);
    assert_eq!(rows.row(1), array![1.0, 2.0]);
    assert!(rows.rows().into_iter().skip(2).all(|row| row.iter().all(|x| x.is_nan())));
}

/// The cotangent of a linear function is finite whatever the index; the norm must be NaN all the same.
#[test]
fn a_record_with_a_bad_index_has_no_norm_and_adds_nothing_to_a_clipped_sum() {
    let records = bad_records();
    let graph = Graph::new();
    let (table, w) = (graph.input("table", [3]).unwrap(), graph.input("w", ()).unwrap());
    let record = Record::new(&graph, records.schema());
    let value = table.gather(record.get("index").unwrap()) * 3.0 + record.get("x").unwrap() * w;
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let mut matrix = MaterialisedGradient::<f64>::new(value, &[table, w]).unwrap();
    let rows = matrix.rows(&records, &all).unwrap();
    assert_eq!(rows.row(0), array![0.0, 0.0, 3.0, 0.5]);
    assert_eq!(rows.row(1), array![3.0, 0.0, 0.0, 0.5]);
    assert!(rows.rows().into_iter().skip(2).all(|row| row[0].is_nan() && row[1] == 0.0));
    let mut sums = RecordGradient::<f64>::new(value, &[table, w]).unwrap();
    let mut sum = [0.0; 4];
    let mut norms = vec![0.0; records.len()];
    sums.squared_norms(&records, &all, &mut norms).unwrap();
    sums.weighted_sum(&records, &all, |_, weights| weights.fill(1.0), &mut sum).unwrap();
    assert!(norms[2..].iter().all(|norm| !norm.is_finite()), "{norms:?}");
    assert_eq!(sum, [3.0, 0.0, 3.0, 1.0]);
}

#[test]
fn a_shared_bad_index_is_nan_too() {
    let graph = Graph::new();
    let (table, index) = (graph.input("table", [2]).unwrap(), graph.input("index", [2]).unwrap());
    let program = Program::new(&graph, &[table.gather(index), table.scatter_add(index, 2)]).unwrap();
    let mut plan = ExecutionPlan::<f32>::new(&program);
    plan.set("table", &[1.0, 2.0]).unwrap();
    plan.set("index", &[1.0, 2.0]).unwrap();
    plan.run();
    assert!(plan.output(0)[0] == 2.0 && plan.output(0)[1].is_nan());
    assert!(plan.output(1)[0].is_nan() && plan.output(1)[1] == 1.0);
}

#[test]
fn mistakes_are_told_while_tracing() {
    let told = |build: fn(&Graph)| {
        let graph = Graph::new();
        build(&graph);
        graph.check().unwrap_err().to_string()
    };
    let scalar = told(|graph| _ = graph.input("t", ()).unwrap().gather(0.0));
    assert!(scalar.contains("gather") && scalar.contains("at least one axis"), "{scalar}");
    let large =
        told(|graph| _ = graph.input("t", (1 << 24) + 1).unwrap().gather(graph.input("i", ()).unwrap()));
    assert!(large.contains("2^24"), "{large}");
    let large = told(|graph| {
        let index = graph.input("i", ()).unwrap();
        _ = graph.input("t", ()).unwrap().scatter_add(index, (1 << 24) + 1);
    });
    assert!(large.contains("2^24"), "{large}");
    let empty = told(|graph| _ = graph.input("t", [0, 3]).unwrap().gather(graph.input("i", ()).unwrap()));
    assert!(empty.contains("a row to choose"), "{empty}");
    let known = told(|graph| _ = graph.input("t", 3).unwrap().gather(3.0));
    assert!(
        known.contains("index 3 is not an integer from 0 to 3 - 1") && known.contains("gather.rs"),
        "{known}"
    );
    let pair = told(|graph| {
        let index = graph.input("i", 2).unwrap();
        _ = graph.input("t", [3, 2]).unwrap().scatter_add(index, 4);
    });
    assert!(pair.contains("[3, 2]") && pair.contains("[2]"), "{pair}");
}

#[test]
fn empty_axes_are_empty_results_or_zeros() {
    let graph = Graph::new();
    let table = graph.input("table", [3, 0]).unwrap();
    let nothing = graph.input("nothing", [0]).unwrap();
    let outputs = [
        table.gather(2.0),
        graph.input("t", [0, 2]).unwrap().gather(nothing),
        nothing.scatter_add(nothing, 2),
    ];
    assert_eq!(outputs.map(|output| output.shape()), [[0].into(), [0, 2].into(), Shape::from([2])]);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.run();
    assert_eq!((plan.output(0).len(), plan.output(1).len(), plan.output(2)), (0, 0, &[0.0, 0.0][..]));
}

#[test]
fn an_index_of_another_graph_is_refused() {
    let (graph, other) = (Graph::new(), Graph::new());
    _ = graph.input("t", 3).unwrap().gather(other.input("i", ()).unwrap());
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { .. })));
}
