//! Clipped sums of per-record gradients: contracted, materialised, and by hand.

use criterion::{Criterion, criterion_group, criterion_main};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, MaterialisedGradient, Record, RecordGradient, Records, Var};
use rayon::prelude::*;
use std::hint::black_box;

const RECORDS: usize = 10_000;

fn records(width: usize) -> Records {
    table(RECORDS, width)
}

fn table(rows: usize, width: usize) -> Records {
    let x = Array2::from_shape_fn((rows, width), |(i, j)| {
        ((i * 7919 + j * 104_729) % 4001) as f64 / 1000.0 - 2.0
    });
    let y = Array1::from_shape_fn(rows, |i| f64::from(u8::from((i * 31) % 7 < 3)));
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).expect("columns of one length")
}

fn batch(size: u64) -> Vec<u64> {
    (0..size).map(|i| (i * 6_700_417) % RECORDS as u64).collect()
}

fn clip(squared_norms: &[f64], weights: &mut [f64]) {
    for (weight, squared_norm) in weights.iter_mut().zip(squared_norms) {
        *weight = (2.0 / squared_norm.sqrt()).min(1.0);
    }
}

fn log_likelihood<'g>(logit: Var<'g>, y: Var<'g>) -> Var<'g> {
    y * logit - logit.softplus()
}

/// The clipped sum by way of the matrix of gradients, as frameworks without contraction do it.
fn materialised(gradient: &mut MaterialisedGradient<f64>, records: &Records, batch: &[u64]) -> Array1<f64> {
    let matrix = gradient.rows(records, batch).expect("records that fit");
    let mut sum = Array1::zeros(matrix.ncols());
    for row in matrix.rows() {
        sum.scaled_add((2.0 / row.dot(&row).sqrt()).min(1.0), &row);
    }
    sum
}

fn logistic_regression(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("logistic regression, d 5, batch 100");
    let (records, batch) = (records(5), batch(100));
    let graph = Graph::new();
    let w = graph.input("w", 5).expect("a fresh input");
    let record = Record::new(&graph, records.schema());
    let value = log_likelihood(record.get("x").expect("a column").dot(w), record.get("y").expect("a column"));
    let at = [0.1, -0.2, 0.3, 0.0, 0.5];

    group.bench_function("by hand", |bencher| {
        let (x, y) = [0, 1].map(|k| records.column(k).as_slice::<f64>().expect("f64 columns")).into();
        bencher.iter(|| {
            let mut sum = [0.0; 5];
            for &index in black_box(&batch) {
                let x = &x[index as usize * 5..][..5];
                let logit: f64 = x.iter().zip(&at).map(|(x, w)| x * w).sum();
                let g = y[index as usize] - 1.0 / (1.0 + (-logit).exp());
                let scale = g * (2.0 / (g * g * x.iter().map(|x| x * x).sum::<f64>()).sqrt()).min(1.0);
                sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * x);
            }
            sum
        });
    });
    let mut contracted = RecordGradient::<f64>::new(value, &[w]).expect("a number for each record");
    contracted.set("w", &at).expect("five weights");
    let mut sum = [0.0; 5];
    group.bench_function("contracted", |bencher| {
        bencher.iter(|| contracted.weighted_sum(&records, black_box(&batch), clip, &mut sum).expect("a sum"));
    });
    let mut slow = MaterialisedGradient::<f64>::new(value, &[w]).expect("a number for each record");
    slow.set("w", &at).expect("five weights");
    group.bench_function("materialised", |bencher| {
        bencher.iter(|| materialised(&mut slow, &records, black_box(&batch)));
    });
    group.finish();
}

/// The whole of a table that stays in the third-level cache, in another order, and a twentieth of one that
/// does not.
fn wide(criterion: &mut Criterion) {
    wide_batch(criterion, "of 10,000", records(100), batch(10_000));
    // As a Poisson sample is: in the order of the table, with gaps of all lengths.
    let sample = (0..10_000).map(|k| 20 * k + (k * 6_700_417) % 20).collect();
    wide_batch(criterion, "of 200,000", table(200_000, 100), sample);
}

/// The bound is the time to read the same rows once, in the same order and on as many threads: the better of
/// reading them as they come and of asking for each some rows ahead. The rows are the same in every call, so
/// they lie in the third-level cache in both tables, though scattered over many more pages in the large one.
fn wide_batch(criterion: &mut Criterion, name: &str, records: Records, batch: Vec<u64>) {
    const WIDTH: usize = 100;
    let mut group = criterion.benchmark_group(format!("logistic regression, d 100, batch 10,000 {name}"));
    group.sample_size(30);
    let graph = Graph::new();
    let w = graph.input("w", WIDTH).expect("a fresh input");
    let record = Record::new(&graph, records.schema());
    let value = log_likelihood(record.get("x").expect("a column").dot(w), record.get("y").expect("a column"));
    let mut contracted = RecordGradient::<f64>::new(value, &[w]).expect("a number for each record");
    let at: Vec<f64> = (0..WIDTH).map(|k| (k as f64 * 0.7).sin() / 10.0).collect();
    contracted.set("w", &at).expect("the right length");
    let mut sum = vec![0.0; WIDTH];
    group.bench_function("contracted", |bencher| {
        bencher.iter(|| contracted.weighted_sum(&records, black_box(&batch), clip, &mut sum).expect("a sum"));
    });
    let x = records.column(0).as_slice::<f64>().expect("an f64 column");
    group.bench_function("reading the rows", |bencher| {
        bencher.iter(|| {
            let part = |batch: &[u64]| {
                let mut partial = [0.0; 8];
                for &index in batch {
                    for chunk in x[index as usize * WIDTH..][..WIDTH].chunks_exact(8) {
                        partial.iter_mut().zip(chunk).for_each(|(partial, x)| *partial += x);
                    }
                }
                partial.iter().sum::<f64>()
            };
            black_box(&batch).par_chunks(256).map(part).sum::<f64>()
        });
    });
    #[cfg(target_arch = "x86_64")]
    group.bench_function("reading the rows, asked for ahead", |bencher| {
        bencher.iter(|| {
            let part = |batch: &[u64]| {
                let mut partial = [0.0; 16];
                for (k, &index) in batch.iter().enumerate() {
                    if let Some(&next) = batch.get(k + 8) {
                        let next = &x[next as usize * WIDTH..][..WIDTH];
                        next.chunks_exact(8).for_each(|line| safe_arch::prefetch_t0(&line[0]));
                        safe_arch::prefetch_t0(&next[WIDTH - 1]);
                    }
                    for chunk in x[index as usize * WIDTH..][..WIDTH].chunks_exact(16) {
                        partial.iter_mut().zip(chunk).for_each(|(partial, x)| *partial += x);
                    }
                }
                partial.iter().sum::<f64>()
            };
            let share = batch.len().div_ceil(rayon::current_num_threads());
            black_box(&batch).par_chunks(share).map(part).sum::<f64>()
        });
    });
    group.finish();
}

fn network(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("network 64-32-1, batch 128");
    let (records, batch) = (records(64), batch(128));
    let graph = Graph::new();
    let input = |name: &str, shape: &[usize]| graph.input(name, shape).expect("a fresh input");
    let (w1, b1, w2) = (input("w1", &[32, 64]), input("b1", &[32]), input("w2", &[32]));
    let record = Record::new(&graph, records.schema());
    let hidden = (w1.dot(record.get("x").expect("a column")) + b1).tanh();
    let value = log_likelihood(w2.dot(hidden), record.get("y").expect("a column"));
    let frontier = [w1, b1, w2];
    let mut contracted = RecordGradient::<f64>::new(value, &frontier).expect("a number for each record");
    let mut slow = MaterialisedGradient::<f64>::new(value, &frontier).expect("a number for each record");
    for (name, array) in ["w1", "b1", "w2"].iter().zip(frontier) {
        let values: Vec<f64> =
            (0..array.shape().elements()).map(|k| ((k * 37) % 101) as f64 / 500.0 - 0.1).collect();
        contracted.set(name, &values).expect("the right length");
        slow.set(name, &values).expect("the right length");
    }
    let mut sum = vec![0.0; contracted.dimension()];
    group.bench_function("contracted", |bencher| {
        bencher.iter(|| contracted.weighted_sum(&records, black_box(&batch), clip, &mut sum).expect("a sum"));
    });
    group.bench_function("contracted, not clipped", |bencher| {
        let ones = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
        bencher.iter(|| contracted.weighted_sum(&records, black_box(&batch), ones, &mut sum).expect("a sum"));
    });
    group.bench_function("materialised", |bencher| {
        bencher.iter(|| materialised(&mut slow, &records, black_box(&batch)));
    });
    group.finish();
}

criterion_group!(benches, logistic_regression, wide, network);
criterion_main!(benches);
