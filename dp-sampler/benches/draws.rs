//! One draw of each sampler.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_sampler::rand_core::Rng;
use dp_sampler::{
    BallsInBins, FixedSize, Permutation, Poisson, Purpose, Seed, Shuffle, Subsampler, Subsampling,
    WithReplacement,
};

fn draw(c: &mut Criterion, name: &str, mut sampler: impl Subsampler) {
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    let mut step = 0;
    c.bench_function(name, |b| {
        b.iter(|| {
            sampler.draw(step, &mut batch);
            step += 1;
            black_box(&mut batch).len()
        });
    });
}

fn samplers(c: &mut Criterion) {
    let seed = Seed::for_tests(1);
    for (name, rate, records) in [
        ("poisson/1e4 at 0.01", 0.01, 10_000),
        ("poisson/6e4 at 128 of 6e4", 128.0 / 60_000.0, 60_000),
        ("poisson/1e7 at 1e-5", 1e-5, 10_000_000),
        ("poisson/1e7 at 1e-3", 1e-3, 10_000_000),
        ("poisson/1e4 at 0.5", 0.5, 10_000),
    ] {
        draw(c, name, Poisson::rate(rate).unwrap().bind(records, &seed).unwrap());
    }
    for (name, batch, records) in
        [("100 of 1e4", 100, 10_000), ("128 of 6e4", 128, 60_000), ("1e4 of 1e7", 10_000, 10_000_000)]
    {
        let plan = FixedSize::batch(batch).unwrap();
        draw(c, &format!("fixed/{name}"), plan.bind(records, &seed).unwrap());
        draw(c, &format!("fixed by permutation/{name}"), plan.by_permutation().bind(records, &seed).unwrap());
        let plan = WithReplacement::batch(batch).unwrap();
        draw(c, &format!("with replacement/{name}"), plan.bind(records, &seed).unwrap());
        draw(c, &format!("shuffle/{name}"), Shuffle::batch(batch).unwrap().bind(records, &seed).unwrap());
        draw(
            c,
            &format!("balls in bins/{name}"),
            BallsInBins::batch(batch).unwrap().bind(records, &seed).unwrap(),
        );
    }
}

fn plans(c: &mut Criterion) {
    let seed = Seed::for_tests(1);
    c.bench_function("plan/poisson 1e4 at 0.01", |b| {
        b.iter(|| Poisson::rate(black_box(0.01)).unwrap().bind(10_000, &seed).unwrap());
    });
    let streams = seed.streams(Purpose::Subsample);
    c.bench_function("plan/stream and first word", |b| b.iter(|| streams.at(black_box(7)).next_u64()));
    c.bench_function("plan/permutation of 6e4", |b| {
        b.iter(|| Permutation::new(60_000, &mut streams.at(black_box(7))).unwrap());
    });
}

fn whole_orders(c: &mut Criterion) {
    let mut group = c.benchmark_group("whole order");
    let mut images = vec![0; 1 << 16];
    group.throughput(Throughput::Elements(1 << 16));
    for (name, len) in [("2^16", 1 << 16), ("1e7", 10_000_000), ("2^40", 1 << 40)] {
        let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
        let permutation = Permutation::new(len, &mut stream).unwrap();
        group.bench_function(name, |b| {
            b.iter(|| {
                permutation.apply_range(0, &mut images).unwrap();
                black_box(&mut images)[0]
            });
        });
    }
}

criterion_group!(benches, samplers, plans, whole_orders);
criterion_main!(benches);
