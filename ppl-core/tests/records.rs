//! Columns of every number type: what programs see of them, and their use as indices.

use ndarray::{Array1, Array2, Array3, ArrayD, array};
use ppl_core::records::ColumnType;
use ppl_core::{
    Column, Error, ExecutionPlan, Graph, Program, Record, RecordGradient, Records, Scalar, Schema, Shape,
};
use proptest::prelude::*;

/// The numbers of column 0 as a program in `T` sees them, in the order of `batch`.
fn seen<T: Scalar>(records: &Records, batch: &[u64]) -> Array2<T> {
    let graph = Graph::new();
    let (name, _) = records.schema().columns().next().unwrap();
    let x = Record::new(&graph, records.schema()).get(name).unwrap();
    ExecutionPlan::<T>::new(&Program::new(&graph, &[x]).unwrap()).evaluate(records, batch, 0).unwrap()
}

fn types() -> Vec<(Records, ColumnType)> {
    let records = |column: Column| Records::from_columns([("x", column)]).unwrap();
    let numbers = array![[3, 1], [0, 200], [7, 5]];
    vec![
        (records(Column::from(numbers.mapv(f64::from))), ColumnType::F64),
        (records(Column::from(numbers.mapv(|x| x as f32))), ColumnType::F32),
        (records(Column::from(numbers.mapv(|x| x as u8))), ColumnType::U8),
        (records(Column::from(numbers.mapv(|x| x as u32))), ColumnType::U32),
        (records(Column::from(numbers.clone())), ColumnType::I32),
        (records(Column::from(numbers.mapv(i64::from))), ColumnType::I64),
    ]
}

#[test]
fn every_type_is_seen_as_its_numbers() {
    for (records, column_type) in types() {
        assert_eq!(records.schema().column_type("x").unwrap(), column_type);
        assert_eq!(records.column(0).column_type(), column_type);
        assert_eq!((records.column(0).len(), records.column(0).number(3)), (6, Some(200.0)));
        assert_eq!(records.column(0).number(6), None);
        assert_eq!(seen::<f64>(&records, &[2, 0]), array![[7.0, 5.0], [3.0, 1.0]]);
        assert_eq!(seen::<f32>(&records, &[1]), array![[0.0, 200.0]]);
    }
}

#[test]
fn extreme_integers_are_seen_as_the_nearest_number() {
    let column = |column: Column| Records::from_columns([("x", column)]).unwrap();
    let exact = column(Column::from(vec![i32::MIN, i32::MAX, -1]));
    assert_eq!(
        seen::<f64>(&exact, &[0, 1, 2]).into_raw_vec_and_offset().0,
        [-2147483648.0, 2147483647.0, -1.0]
    );
    let large = column(Column::from(vec![i64::MAX, i64::MIN, (1 << 53) + 1]));
    let expected = [2.0_f64.powi(63), -2.0_f64.powi(63), 2.0_f64.powi(53)];
    assert_eq!(seen::<f64>(&large, &[0, 1, 2]).into_raw_vec_and_offset().0, expected);
    let limit = column(Column::from(vec![(1_u32 << 24) - 1, u32::MAX]));
    assert_eq!(seen::<f32>(&limit, &[0, 1]).into_raw_vec_and_offset().0, [16777215.0, 4294967296.0]);
}

#[test]
fn arrays_of_any_rank_make_columns() {
    let shape = |column: Column| {
        let records = Records::from_columns([("x", column)]).unwrap();
        (records.len(), records.schema().columns().next().unwrap().1.clone())
    };
    assert_eq!(shape(Array1::<u8>::zeros(4).into()), (4, Shape::scalar()));
    assert_eq!(shape(Array3::<i64>::zeros((4, 2, 3)).into()), (4, Shape::from([2, 3])));
    assert_eq!(shape(ArrayD::<f32>::zeros(vec![4, 0]).into()), (4, Shape::from([0])));
    assert_eq!(shape(ndarray::arr0(1_u32).into()), (1, Shape::scalar()));
    assert_eq!(shape(Vec::<i32>::new().into()), (0, Shape::scalar()));
}

#[test]
fn only_integers_are_indices() {
    for (records, column_type) in types() {
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let index = record.index("x");
        assert_eq!(index.is_ok(), column_type.is_integer(), "{column_type}");
        match index {
            Ok(index) => assert!(index.is(record.get("x").unwrap())),
            Err(error) => {
                let told = error.to_string();
                assert!(told.contains("'x'") && told.contains(&column_type.to_string()), "{told}");
            }
        }
        assert!(matches!(record.index("y"), Err(Error::UnknownColumn { .. })));
    }
    let schema = Schema::new([("g", 2)]).unwrap();
    assert_eq!(schema.column_type("g").unwrap(), ColumnType::F64);
    let schema = schema.with_type("g", ColumnType::U8).unwrap();
    assert_eq!(schema.column_type("g").unwrap(), ColumnType::U8);
    assert!(schema.with_type("h", ColumnType::U8).is_err());
}

#[test]
fn a_bad_index_is_found_with_column_record_number_and_bound() {
    let records =
        |groups: Column| Records::from_columns([("y", Column::from(vec![0.0; 3])), ("g", groups)]).unwrap();
    let good = records(Column::from(array![[0_i64, 2], [1, 1], [2, 0]]));
    let graph = Graph::new();
    let table = graph.input("table", [3, 2]).unwrap();
    let index = Record::new(&graph, good.schema()).index("g").unwrap();
    let unused = graph.input("short", 1).unwrap().gather(index.reshape([2, 1]));
    let program = Program::new(&graph, &[table.gather(index)]).unwrap();
    program.check_indices(&good).unwrap();
    // The graph holds more than the program: there an index of 1 is too large for a table of one row.
    assert!(unused.shape() == Shape::from([2, 1]));
    let told = graph.check_indices(&good).unwrap_err().to_string();
    assert!(told.contains("index 2 (column 'g', record 0)") && told.contains("from 0 to 1 - 1"), "{told}");
    for (bad, record) in [(-1, 1), (3, 1), (i64::MAX, 1), (1 << 24, 1)] {
        let told =
            program.check_indices(&records(Column::from(array![[0_i64, 2], [1, bad], [2, 0]]))).unwrap_err();
        match told {
            Error::Index { value, rows, place, source_line } => {
                assert_eq!((value, rows), (bad as f64, 3));
                assert_eq!(place, format!(" (column 'g', record {record})"));
                assert!(source_line.to_string().contains("records.rs"));
            }
            other => panic!("{other}"),
        }
    }
    // Numbers of a floating-point type are looked at one by one.
    program.check_indices(&records(Column::from(array![[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]))).unwrap();
    let half = program.check_indices(&records(Column::from(array![[0.0, 2.0], [1.0, 1.0], [2.0, 0.5]])));
    assert!(half.unwrap_err().to_string().contains("index 0.5 (column 'g', record 2)"));
    let other = Records::from_columns([("g", Column::from(vec![0_u8]))]).unwrap();
    assert!(matches!(program.check_indices(&other), Err(Error::SchemaMismatch { .. })));
    // What is computed is not looked at.
    let graph = Graph::new();
    _ = graph.input("table", 3).unwrap().gather(Record::new(&graph, good.schema()).index("g").unwrap() + 7.0);
    graph.check_indices(&good).unwrap();
}

#[test]
fn the_transpose_is_checked_too() {
    let records = Records::from_columns([("g", Column::from(vec![0_u8, 4]))]).unwrap();
    let graph = Graph::new();
    _ = graph.constant(1.0).scatter_add(Record::new(&graph, records.schema()).index("g").unwrap(), 4);
    assert!(graph.check_indices(&records).unwrap_err().to_string().contains("index 4"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A model with effects of groups, on integers and on the same numbers in `f64`.
    #[test]
    fn integer_columns_index_as_their_numbers_do(
        groups in proptest::collection::vec(0..5_u8, 1..200),
        effects in proptest::collection::vec(-2.0..2.0_f64, 5),
        norm in 0.1..2.0_f64,
    ) {
        let clipped = |column: Column| {
            let y = Array1::from_iter((0..groups.len()).map(|k| (k % 3) as f64));
            let records = Records::from_columns([("g", column), ("y", Column::from(y))]).unwrap();
            let graph = Graph::new();
            let table = graph.input("effects", 5).unwrap();
            let record = Record::new(&graph, records.schema());
            let value = (table.gather(record.get("g").unwrap()) - record.get("y").unwrap()).square();
            let mut gradient = RecordGradient::<f64>::new(value, &[table]).unwrap();
            gradient.set("effects", &effects).unwrap();
            let batch: Vec<u64> = (0..records.len() as u64).collect();
            let mut sum = [0.0; 5];
            let clip = |squared: &[f64], weights: &mut [f64]| {
                for (weight, squared) in weights.iter_mut().zip(squared) {
                    *weight = (norm / squared.sqrt()).min(1.0);
                }
            };
            gradient.weighted_sum(&records, &batch, clip, &mut sum).unwrap();
            sum
        };
        let expected = clipped(Column::from(groups.iter().map(|&g| f64::from(g)).collect::<Vec<_>>()));
        // One by one, from the formula.
        let mut direct = [0.0; 5];
        for (k, &group) in groups.iter().enumerate() {
            let slope = 2.0 * (effects[usize::from(group)] - (k % 3) as f64);
            direct[usize::from(group)] += slope * (norm / slope.abs()).min(1.0);
        }
        for (got, direct) in expected.iter().zip(direct) {
            prop_assert!((got - direct).abs() <= 1e-12 * groups.len() as f64, "{got} against {direct}");
        }
        prop_assert_eq!(clipped(Column::from(groups.clone())), expected);
        prop_assert_eq!(clipped(Column::from(groups.iter().map(|&g| i64::from(g)).collect::<Vec<_>>())), expected);
        prop_assert_eq!(clipped(Column::from(groups.iter().map(|&g| f32::from(g)).collect::<Vec<_>>())), expected);
    }
}
