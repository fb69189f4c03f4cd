//! One private training step of a Bayesian logistic regression, and its parts.

use criterion::{Criterion, criterion_group, criterion_main};
use dp_accountant::{Budget, Relation};
use dp_sampler::{GaussianNoise, NoiseSource, Poisson, Seed, Subsampler, Subsampling};
use dp_vi::guides::AutoNormal;
use dp_vi::{ClipNorm, DpVi, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Graph, Record, RecordGradient, Records, Result};
use ppl_distributions::{Bernoulli, Normal};
use std::hint::black_box;

const RECORDS: usize = 10_000;
const WIDTH: usize = 5;
const RATE: f64 = 0.01;

fn model(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

fn records() -> Records {
    let x = Array2::from_shape_fn((RECORDS, WIDTH), |(i, j)| {
        ((i * 7919 + j * 104_729) % 4001) as f64 / 1000.0 - 2.0
    });
    let y = Array1::from_shape_fn(RECORDS, |i| ((i * 31) % 7 < 3) as u8 as f64);
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).expect("columns of one length")
}

fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("logistic regression, N 10,000, d 5, batch 100");
    let data = records();
    let seed = Seed::for_tests(1);
    let mut sampler =
        Poisson::rate(RATE).and_then(|plan| plan.bind(RECORDS as u64, &seed)).expect("a valid rate");
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    sampler.draw(0, &mut batch);

    let graph = Graph::new();
    let w = graph.input("w", WIDTH).expect("a fresh graph");
    let record = Record::new(&graph, data.schema());
    let (x, y) = (record.get("x").expect("a column"), record.get("y").expect("a column"));
    let value = ppl_core::Distribution::log_prob(&Bernoulli::from_logits(x.dot(w)), y);
    let mut gradient = RecordGradient::<f64>::new(value, &[w]).expect("a model of one record");
    gradient.set("w", &[0.1, -0.2, 0.3, 0.0, 0.5]).expect("five weights");
    let clip = ClipNorm::new(2.0, WIDTH).expect("a valid norm");
    let mut sum = [0.0; WIDTH];
    group.bench_function("gather, gradient, clip, sum: planned", |bencher| {
        bencher.iter(|| {
            let weigh = |norms: &[f64], weights: &mut [f64]| clip.weigh(norms, weights);
            gradient.weighted_sum(&data, black_box(&batch), weigh, &mut sum).expect("records that fit");
        });
    });

    let mut at = 0;
    group.bench_function("draw of the batch", |bencher| {
        bencher.iter(|| {
            at += 1;
            sampler.draw(at, &mut batch);
        });
    });
    let noise = GaussianNoise::new(&seed);
    group.bench_function("noise", |bencher| {
        bencher.iter(|| {
            at += 1;
            noise.fill(at, black_box(&mut sum));
        });
    });

    let behind = Sensitive::new(data);
    let mut training = DpVi::new(model, AutoNormal::new())
        .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
        .subsample(Poisson::rate(RATE).expect("a valid rate"))
        .steps(10_000_000) // more than a bench makes
        .start(&behind)
        .expect("a run");
    group.bench_function("whole step", |bencher| {
        bencher.iter(|| {
            training.step().expect("a step that was paid for");
        });
    });
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
