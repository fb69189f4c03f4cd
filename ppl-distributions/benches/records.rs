//! Clipped sums of per-record gradients of regressions whose outcomes have a support: what a training step asks
//! of a log density that is −∞ outside it. The same without the support stands beside, written by hand.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Distribution, Graph, Record, RecordGradient, Records, Var};
use ppl_distributions::{Bernoulli, Gamma, OrderedLogistic, Poisson, ZeroInflated};
use std::hint::black_box;

const RECORDS: usize = 10_000;
const BATCH: u64 = 2_000;
const WIDTH: usize = 4;

/// Four covariates; counts, categories, yes or no, and positive numbers.
fn records() -> Records {
    let x = Array2::from_shape_fn((RECORDS, WIDTH), |(i, j)| {
        ((i * 7919 + j * 104_729) % 4001) as f64 / 2000.0 - 1.0
    });
    let of = |f: fn(usize) -> f64| Column::from(Array1::from_shape_fn(RECORDS, f));
    Records::from_columns([
        ("x", Column::from(x)),
        ("count", of(|i| if i % 3 == 0 { 0.0 } else { ((i * 31) % 7) as f64 })),
        ("category", of(|i| ((i * 31) % 5) as f64)),
        ("yes", of(|i| f64::from(u8::from((i * 31) % 7 < 3)))),
        ("amount", of(|i| 0.1 + ((i * 31) % 97) as f64 / 20.0)),
    ])
    .expect("columns of one length")
}

fn clip(squared_norms: &[f64], weights: &mut [f64]) {
    for (weight, squared_norm) in weights.iter_mut().zip(squared_norms) {
        *weight = (2.0 / squared_norm.sqrt()).min(1.0);
    }
}

type LogDensity = for<'g> fn(&'g Graph, Record<'g>, Var<'g>) -> Var<'g>;

const CASES: [(&str, usize, LogDensity); 9] = [
    ("logistic", WIDTH, |_, record, w| {
        Bernoulli::from_logits(linear(record, w)).log_prob(column(record, "yes"))
    }),
    ("logistic, by hand", WIDTH, |_, record, w| {
        let (logit, y) = (linear(record, w), column(record, "yes"));
        y * logit - logit.softplus()
    }),
    ("Poisson", WIDTH, |_, record, w| {
        Poisson::new(linear(record, w).exp()).log_prob(column(record, "count"))
    }),
    ("Poisson, by hand", WIDTH, |_, record, w| {
        let (log_rate, y) = (linear(record, w), column(record, "count"));
        y * log_rate - log_rate.exp()
    }),
    ("zero-inflated Poisson", WIDTH + 1, |_, record, w| {
        let (gate, w) = (w.slice(0, ..1).reshape(()), w.slice(0, 1..));
        ZeroInflated::from_logits(Poisson::new(linear(record, w).exp()), gate)
            .log_prob(column(record, "count"))
    }),
    ("ordinal", WIDTH + 4, |_, record, w| {
        let (cuts, w) = (w.slice(0, ..4).cumsum(0), w.slice(0, 4..));
        OrderedLogistic::new(linear(record, w), cuts).log_prob(column(record, "category"))
    }),
    ("gamma", WIDTH + 1, |_, record, w| {
        let (shape, w) = (w.slice(0, ..1).reshape(()).exp(), w.slice(0, 1..));
        Gamma::new(shape, shape * (-linear(record, w)).exp()).log_prob(column(record, "amount"))
    }),
    ("gamma, by hand", WIDTH + 1, |_, record, w| {
        let (shape, w) = (w.slice(0, ..1).reshape(()).exp(), w.slice(0, 1..));
        let (rate, y) = (shape * (-linear(record, w)).exp(), column(record, "amount"));
        shape * rate.log() - shape.lgamma() + (shape - 1.0) * y.log() - rate * y
    }),
    ("network 4-8-1", 8 * WIDTH + 8, |_, record, w| {
        let hidden = w.slice(0, ..8 * WIDTH).reshape([8, WIDTH]).matvec(column(record, "x")).tanh();
        Bernoulli::from_logits(hidden.dot(w.slice(0, 8 * WIDTH..))).log_prob(column(record, "yes"))
    }),
];

fn column<'g>(record: Record<'g>, name: &str) -> Var<'g> {
    record.get(name).expect("a column")
}

fn linear<'g>(record: Record<'g>, w: Var<'g>) -> Var<'g> {
    column(record, "x").dot(w)
}

fn gradients(criterion: &mut Criterion) {
    let records = records();
    let batch: Vec<u64> = (0..BATCH).map(|i| (i * 6_700_417) % RECORDS as u64).collect();
    let mut group = criterion.benchmark_group("gradients of records");
    group.throughput(Throughput::Elements(BATCH));
    for (name, parameters, log_density) in CASES {
        let graph = Graph::new();
        let w = graph.input("w", parameters).expect("a fresh input");
        let value = log_density(&graph, Record::new(&graph, records.schema()), w);
        let mut gradient = RecordGradient::<f64>::new(value, &[w]).expect("a number for each record");
        let at: Vec<f64> = (0..parameters).map(|k| 0.1 + 0.05 * (k % 5) as f64).collect();
        gradient.set("w", &at).expect("as many weights");
        let mut sum = vec![0.0; parameters];
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| gradient.weighted_sum(&records, black_box(&batch), clip, &mut sum).expect("a sum"));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(800))
        .sample_size(20);
    targets = gradients
}
criterion_main!(benches);
