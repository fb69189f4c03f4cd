//! The gradient of a record computed by itself: that of the matrix, and bit for bit the same in whatever
//! company.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, MaterialisedGradient, Record, RecordGradient, Records, Var};

const WIDTH: usize = 24;
const HIDDEN: usize = 40;
const RECORDS: usize = 700;

fn number(k: usize) -> f64 {
    ((k as f64 * 12.9898 + 0.37).sin() * 43_758.545_3).fract()
}

fn records() -> Records {
    let x = Array2::from_shape_fn((RECORDS, WIDTH), |(i, j)| number(i * WIDTH + j));
    let y = Array1::from_shape_fn(RECORDS, |i| f64::from(u8::from(number(i + 7) > 0.0)));
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

/// Large enough a matrix for a library's product, an inner product in place, a table, an array behind a
/// scale.
fn network<'g>(graph: &'g Graph, records: &'g Records) -> (Var<'g>, Vec<Var<'g>>) {
    let record = Record::new(graph, records.schema());
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    let input = |name: &str, shape: Vec<usize>| graph.input(name, shape).unwrap();
    let (w, v, b) = (input("w", vec![HIDDEN, WIDTH]), input("v", vec![HIDDEN]), input("b", vec![WIDTH]));
    let (scale, table) = (input("scale", vec![]), input("table", vec![2]));
    let hidden = w.dot(x).tanh();
    let logit = hidden.dot(v * scale.exp()) + table.gather(y) + x.dot(b);
    (y * logit - logit.softplus(), vec![w, v, b, scale, table])
}

const SIZES: [(&str, usize); 5] =
    [("w", HIDDEN * WIDTH), ("v", HIDDEN), ("b", WIDTH), ("scale", 1), ("table", 2)];

fn values(stream: usize, elements: usize) -> Vec<f64> {
    (0..elements).map(|k| 0.3 * number(1_000 * stream + k)).collect()
}

fn clip(norm: f64) -> impl Fn(&[f64], &mut [f64]) + Sync {
    move |squared, weights| {
        weights
            .iter_mut()
            .zip(squared)
            .for_each(|(weight, squared)| *weight = (norm / squared.sqrt()).min(1.0));
    }
}

/// The weighted gradients as they come to one taker.
fn rows(gradient: &mut RecordGradient<f64>, records: &Records, batch: &[u64], norm: f64) -> Vec<Vec<f64>> {
    let mut takers = [Vec::new()];
    let take = |rows: &mut Vec<Vec<f64>>, row: &[f64]| rows.push(row.to_vec());
    gradient.each_weighted(records, batch, clip(norm), &mut takers, take).unwrap();
    let [rows] = takers;
    rows
}

#[test]
fn gradients_of_records_by_themselves_are_those_of_the_matrix() {
    let records = records();
    let graph = Graph::new();
    let (value, frontier) = network(&graph, &records);
    let mut fast = RecordGradient::<f64>::new(value, &frontier).unwrap();
    let mut slow = MaterialisedGradient::<f64>::new(value, &frontier).unwrap();
    for (stream, (name, elements)) in SIZES.into_iter().enumerate() {
        fast.set(name, &values(stream, elements)).unwrap();
        slow.set(name, &values(stream, elements)).unwrap();
    }
    let batch = [5, 699, 5, 0, 311];
    let matrix = slow.rows(&records, &batch).unwrap();
    for norm in [f64::INFINITY, 0.3] {
        let found = rows(&mut fast, &records, &batch, norm);
        assert_eq!(found.len(), batch.len());
        for (found, row) in found.iter().zip(matrix.rows()) {
            let length = row.dot(&row).sqrt();
            let weight = (norm / length).min(1.0);
            for (found, x) in found.iter().zip(row) {
                // A few hundred roundings of numbers no longer than the gradient.
                assert!((found - weight * x).abs() <= 1e-13 * length, "{found} against {}", weight * x);
            }
        }
    }
}

#[test]
fn a_record_gives_the_same_bits_in_any_company_and_on_any_number_of_threads() {
    let records = records();
    let graph = Graph::new();
    let (value, frontier) = network(&graph, &records);
    let mut gradient = RecordGradient::<f64>::new(value, &frontier).unwrap();
    for (stream, (name, elements)) in SIZES.into_iter().enumerate() {
        gradient.set(name, &values(stream, elements)).unwrap();
    }
    let bits = |rows: &[Vec<f64>]| -> Vec<Vec<u64>> {
        rows.iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect()
    };
    let all: Vec<u64> = (0..RECORDS as u64).collect();
    let whole = bits(&rows(&mut gradient, &records, &all, 0.3));
    let alone: Vec<Vec<u64>> =
        all.iter().flat_map(|&index| bits(&rows(&mut gradient, &records, &[index], 0.3))).collect();
    assert!(whole == alone, "a record's gradient depends on who else is in the batch");
    // Large enough a batch that several takers get their parts.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut takers = vec![Vec::new(); 3];
    pool.install(|| {
        let take =
            |rows: &mut Vec<Vec<u64>>, row: &[f64]| rows.push(row.iter().map(|x| x.to_bits()).collect());
        gradient.each_weighted(&records, &all, clip(0.3), &mut takers, take).unwrap();
    });
    assert!(takers.iter().all(|taker| !taker.is_empty()));
    assert!(takers.concat() == whole);
}

#[test]
fn broken_records_give_zeros_and_groups_have_weights_of_their_own() {
    let x = ndarray::array![[3.0, 4.0], [f64::NAN, 1.0], [0.0, 2.0]];
    let records = Records::from_columns([("x", x)]).unwrap();
    let graph = Graph::new();
    let (w, b) = (graph.input("w", [2]).unwrap(), graph.input("b", ()).unwrap());
    let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w) + 2.0 * b;
    let mut gradient = RecordGradient::<f64>::grouped(value, &[w, b], &[0, 1]).unwrap();
    let weigh = |squared: &[f64], weights: &mut [f64]| {
        assert_eq!(squared.len(), 2);
        weights.copy_from_slice(&[1.0 / squared[0].sqrt(), 0.25]);
    };
    let mut takers = [Vec::new()];
    let take = |rows: &mut Vec<Vec<f64>>, row: &[f64]| rows.push(row.to_vec());
    gradient.each_weighted_grouped(&records, &[0, 1, 2], weigh, &mut takers, take).unwrap();
    let expected = [[0.6, 0.8, 0.5], [0.0; 3], [0.0, 1.0, 0.5]];
    for (row, expected) in takers[0].iter().zip(expected) {
        assert!(row.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15), "{row:?}");
    }
    let nobody: &mut [Vec<Vec<f64>>] = &mut [];
    assert!(gradient.each_weighted(&records, &[0], clip(1.0), nobody, take).is_err());
    assert!(gradient.each_weighted(&records, &[3], clip(1.0), &mut takers, take).is_err());
}
