//! What a launch costs, and numbers a second, on every backend that is compiled in; beside them the CPU on
//! one thread.
//!
//! Times are from the call to the end of the work on the device, the results left there. `planner` prints
//! what it measured.
#![cfg_attr(not(any(feature = "wgpu", feature = "cuda")), allow(dead_code, reason = "no backend to time"))]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dp_sampler::gpu::{self, Backend, Device, Matrix, Planner, Work};
use dp_sampler::{
    DiscreteGaussianNoise, FixedSize, GaussianNoise, NoiseSource, Permutation, Poisson, Purpose, Seed,
    Subsampler, Subsampling,
};

/// From a batch, for which a launch is all that counts, to enough for the largest device.
const SIZES: [u64; 3] = [128, 1 << 16, 1 << 22];

/// Waits for what was launched.
fn finish<R: Backend, T>(device: &Device<R>, launched: dp_sampler::Result<T>) -> T {
    let result = launched.unwrap();
    device.wait().unwrap();
    result
}

fn noise<R: Backend>(c: &mut Criterion, name: &str, device: &Device<R>) {
    let seed = Seed::for_tests(1);
    let mut group = c.benchmark_group("gaussian");
    let there = gpu::GaussianNoise::new(device, GaussianNoise::new(&seed)).unwrap();
    for size in SIZES {
        group.throughput(Throughput::Elements(size));
        let mut out = vec![0_f32; size as usize];
        group.bench_function(BenchmarkId::new("cpu", size), |b| {
            b.iter(|| there.noise().fill(black_box(3), &mut out));
        });
        group.bench_function(BenchmarkId::new(name, size), |b| {
            b.iter(|| finish(device, there.fill(black_box(3), size)));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("discrete gaussian");
    let there = DiscreteGaussianNoise::new(&seed, 10_000, 1).unwrap();
    let there = gpu::DiscreteGaussianNoise::new(device, there).unwrap();
    for size in [128, 1 << 16, 1 << 20] {
        group.throughput(Throughput::Elements(size));
        let mut out = vec![0_i64; size as usize];
        group.bench_function(BenchmarkId::new("cpu", size), |b| {
            b.iter(|| there.noise().fill(black_box(3), &mut out));
        });
        group.bench_function(BenchmarkId::new(name, size), |b| {
            b.iter(|| finish(device, there.fill(black_box(3), size)));
        });
    }
}

fn draws<R: Backend>(c: &mut Criterion, name: &str, device: &Device<R>) {
    let seed = Seed::for_tests(1);
    let mut group = c.benchmark_group("permutation");
    let host = Permutation::new(1 << 30, &mut seed.streams(Purpose::Split).at(0)).unwrap();
    let there = gpu::Permutation::new(device, &host).unwrap();
    for size in SIZES {
        group.throughput(Throughput::Elements(size));
        let mut out = vec![0; size as usize];
        group.bench_function(BenchmarkId::new("cpu", size), |b| {
            b.iter(|| host.apply_range(black_box(0), &mut out).unwrap());
        });
        group.bench_function(BenchmarkId::new(name, size), |b| {
            b.iter(|| finish(device, there.images(black_box(0), size)));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("poisson, expected batch");
    for size in [128, 1 << 14, 1 << 20] {
        group.throughput(Throughput::Elements(size));
        let bind = || Poisson::rate(1e-3).unwrap().bind(1_000 * size, &seed).unwrap();
        let (mut host, mut batch) = (bind(), Vec::new());
        group.bench_function(BenchmarkId::new("cpu", size), |b| {
            b.iter(|| host.draw(black_box(3), &mut batch));
        });
        let there = gpu::Poisson::new(device, bind()).unwrap();
        group.bench_function(BenchmarkId::new(name, size), |b| {
            b.iter(|| finish(device, there.draw(black_box(3))));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("fixed size and gather, 64 columns");
    let rows = 1 << 16;
    let elements = vec![0.5; rows * 64];
    let matrix = Matrix::new(device, &elements, 64).unwrap();
    for size in [128, 1 << 14] {
        group.throughput(Throughput::Elements(size));
        let bind = || FixedSize::batch(size).unwrap().by_permutation().bind(rows as u64, &seed).unwrap();
        let (mut host, mut batch, mut gathered) = (bind(), Vec::new(), Vec::new());
        group.bench_function(BenchmarkId::new("cpu", size), |b| {
            b.iter(|| {
                host.draw(black_box(3), &mut batch);
                gathered.clear();
                for &row in &batch {
                    gathered.extend_from_slice(&elements[64 * row as usize..][..64]);
                }
                black_box(&mut gathered).len()
            });
        });
        let mut there = gpu::FixedSize::new(device, bind()).unwrap();
        group.bench_function(BenchmarkId::new(name, size), |b| {
            b.iter(|| finish(device, matrix.gather(&there.draw(black_box(3)).unwrap())));
        });
    }
}

#[allow(clippy::print_stderr, reason = "a bench that measures nothing has to be heard of")]
fn backend<R: Backend>(c: &mut Criterion, name: &str) {
    match Device::<R>::find() {
        Ok(device) => {
            noise(c, name, &device);
            draws(c, name, &device);
            eprintln!("{name}: {device:?}\n{:#?}", Planner::measure(&device, &Work::ALL).unwrap());
        }
        Err(error) => eprintln!("SKIPPED, nothing measured: {error}"),
    }
}

fn all(c: &mut Criterion) {
    #[cfg(feature = "wgpu")]
    backend::<gpu::Vulkan>(c, "wgpu");
    #[cfg(feature = "cuda")]
    backend::<gpu::Cuda>(c, "cuda");
    #[cfg(not(any(feature = "wgpu", feature = "cuda")))]
    let _ = c;
}

criterion_group!(benches, all);
criterion_main!(benches);
