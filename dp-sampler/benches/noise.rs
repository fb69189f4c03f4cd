//! Noise of every kind, short and long, beside the raw stream.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_sampler::rand_core::Rng;
use dp_sampler::{
    DiscreteGaussianNoise, DiscreteLaplaceNoise, GaussianNoise, GridGaussianNoise, LaplaceNoise, NoiseSource,
    Purpose, RoundedGaussianNoise, Seed,
};

fn fill<T: Copy + Default>(c: &mut Criterion, name: &str, lengths: &[usize], noise: &impl NoiseSource<T>) {
    let mut group = c.benchmark_group(name);
    for &length in lengths {
        group.throughput(Throughput::Elements(length as u64));
        let (mut values, mut step) = (vec![T::default(); length], 0);
        group.bench_function(length.to_string(), |b| {
            b.iter(|| {
                noise.fill(step, &mut values);
                step += 1;
                black_box(&mut values);
            });
        });
    }
}

#[cfg(feature = "parallel")]
fn fill_parallel<T>(c: &mut Criterion, name: &str, length: usize, noise: &(impl NoiseSource<T> + Sync))
where
    T: Copy + Default + Send,
{
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(length as u64));
    let (mut values, mut step) = (vec![T::default(); length], 0);
    group.bench_function(format!("{length} in parallel"), |b| {
        b.iter(|| {
            noise.fill_parallel(step, &mut values);
            step += 1;
            black_box(&mut values);
        });
    });
}

/// Long enough that the start does not count, short enough for the second level of cache.
const LONG: usize = 65_536;

/// The weights of the variational autoencoder in `dp-examples`.
const WEIGHTS: usize = 688_884;

fn continuous(c: &mut Criterion) {
    let seed = Seed::for_tests(1);
    let (gaussian, laplace) = (GaussianNoise::new(&seed), LaplaceNoise::new(&seed));
    fill::<f32>(c, "gaussian f32", &[10, LONG, WEIGHTS], &gaussian);
    fill::<f64>(c, "gaussian f64", &[10, 100, LONG], &gaussian);
    fill::<f32>(c, "laplace f32", &[10, LONG], &laplace);
    fill::<f64>(c, "laplace f64", &[10, LONG], &laplace);
    #[cfg(feature = "parallel")]
    fill_parallel::<f32>(c, "gaussian f32", WEIGHTS, &gaussian);
}

fn discrete(c: &mut Criterion) {
    let seed = Seed::for_tests(1);
    for (name, numerator, denominator) in
        [("σ 1", 1, 1), ("σ 100", 10_000, 1), ("σ² 12345/67", 12_345, 67), ("σ 2^20", 1 << 40, 1)]
    {
        let noise = DiscreteGaussianNoise::new(&seed, numerator, denominator).unwrap();
        fill(c, &format!("discrete gaussian/{name}"), &[10, 16_384], &noise);
    }
    for (name, numerator, denominator) in [("b 100", 100, 1), ("b 2^40", 1 << 40, 1)] {
        let noise = DiscreteLaplaceNoise::new(&seed, numerator, denominator).unwrap();
        fill(c, &format!("discrete laplace/{name}"), &[10, 16_384], &noise);
    }
    fill(c, "grid gaussian", &[10, 16_384], &GridGaussianNoise::new(&seed));
    fill(c, "rounded gaussian/σ 2^20", &[10, 16_384], &RoundedGaussianNoise::new(&seed, 20).unwrap());
}

fn words(c: &mut Criterion) {
    let streams = Seed::for_tests(1).streams(Purpose::GaussianNoise);
    let mut group = c.benchmark_group("chacha20");
    let mut bytes = vec![0; 4 * LONG];
    group.throughput(Throughput::Bytes(4 * LONG as u64));
    group.bench_function("bytes of a stream", |b| {
        b.iter(|| {
            streams.at(black_box(7)).fill_bytes(&mut bytes);
            black_box(&mut bytes)[0]
        });
    });
}

criterion_group!(benches, continuous, discrete, words);
criterion_main!(benches);
