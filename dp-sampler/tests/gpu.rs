//! Every kernel against the CPU, on every backend that is compiled in.
//!
//! Without a device the tests say so and pass; with `DP_GPU_REQUIRED` set they fail instead.
#![cfg(any(feature = "wgpu", feature = "cuda"))]
#![allow(clippy::print_stderr, reason = "a skipped test has to be heard of")]

use dp_sampler::gpu::{self, Backend, Cost, Costs, Device, Matrix, Place, Planner, Transfer, Words, Work};
use dp_sampler::rand_core::Rng;
use dp_sampler::{
    DiscreteGaussianNoise, Error, FixedSize, GaussianNoise, NoiseSource, Permutation, Poisson, Purpose, Seed,
    Subsampler, Subsampling,
};

/// A device, or none where that is allowed.
fn device<R: Backend>() -> Option<Device<R>> {
    match Device::find() {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("DP_GPU_REQUIRED").is_none() => {
            eprintln!("SKIPPED, not tested on a device: {error}");
            None
        }
        Err(error) => panic!("DP_GPU_REQUIRED is set, and {error}"),
    }
}

fn words<R: Backend>(device: &Device<R>) {
    for number in [1, 2] {
        let streams = Seed::for_tests(number).streams(Purpose::Custom("words"));
        let words = Words::new(device, &streams).unwrap();
        // One unit; parts of blocks and cubes.
        for (step, skip, count) in
            [(0, 0, 1), (1, 0, 16), (u64::MAX, 3, 1_000), (1 << 40, 1, 16 * 64 * 3 + 5)]
        {
            let mut stream = streams.at(step);
            (0..16 * skip).for_each(|_| _ = stream.next_u32());
            let expected: Vec<u32> = (0..count).map(|_| stream.next_u32()).collect();
            assert_eq!(
                words.words(step, skip, count).unwrap().read().unwrap(),
                expected,
                "{step} {skip} {count}"
            );
        }
        assert!(words.words(0, 0, 0).unwrap().read().unwrap().is_empty());
        // The counter carries into its upper half.
        let across = words.words(5, (1 << 32) - 2, 64).unwrap().read().unwrap();
        let high = words.words(5, 1 << 32, 32).unwrap().read().unwrap();
        assert_eq!(across[32..], high);
        assert_ne!(words.words(5, 0, 32).unwrap().read().unwrap(), high);
        assert!(matches!(
            words.words(0, 0, 1 << 60),
            Err(Error::DeviceMemory { .. } | Error::DeviceElements { .. })
        ));
    }
}

fn permutations<R: Backend>(device: &Device<R>) {
    // Tables; narrow networks with and without walking; wide ones.
    for len in [
        1,
        2,
        1_024,
        1_025,
        2_048,
        60_000,
        1 << 20,
        (1 << 20) + 1,
        1 << 32,
        (1 << 32) + 1,
        1 << 40,
        (1 << 63) - 1,
        1 << 63,
    ] {
        let host = Permutation::new(len, &mut Seed::for_tests(len).streams(Purpose::Split).at(0)).unwrap();
        let permutation = gpu::Permutation::new(device, &host).unwrap();
        assert_eq!(permutation.len(), len);
        let count = len.min(3_000);
        for start in [0, (len - count) / 2, len - count] {
            let mut expected = vec![0; count as usize];
            host.apply_range(start, &mut expected).unwrap();
            assert_eq!(permutation.images(start, count).unwrap().read().unwrap(), expected, "{len} {start}");
        }
        assert!(permutation.images(0, 0).unwrap().read().unwrap().is_empty());
        assert!(matches!(permutation.images(len - 1, 2), Err(Error::Index { index, .. }) if index == len));
    }
}

fn whole_order<R: Backend>(device: &Device<R>) {
    let host = Permutation::new(100_003, &mut Seed::for_tests(3).streams(Purpose::Split).at(0)).unwrap();
    let images = gpu::Permutation::new(device, &host).unwrap().images(0, 100_003).unwrap().read().unwrap();
    assert!(images.iter().copied().eq(host.iter()));
    // More cubes than fit on one axis of Vulkan, 65,535 of 64 units.
    let host = Permutation::new(1 << 23, &mut Seed::for_tests(4).streams(Purpose::Split).at(0)).unwrap();
    let mut expected = vec![0; 4_200_000];
    host.apply_range(77, &mut expected).unwrap();
    let images = gpu::Permutation::new(device, &host).unwrap().images(77, 4_200_000).unwrap();
    assert!(images.read().unwrap() == expected);
}

fn fixed_size<R: Backend>(device: &Device<R>) {
    for (batch, records) in [(1, 1), (7, 9), (128, 1_024), (128, 60_000), (5_000, 1 << 25), (300, 1 << 45)] {
        let plan = FixedSize::batch(batch).unwrap().by_permutation();
        let seed = Seed::for_tests(batch);
        let mut host = plan.bind(records, &seed).unwrap();
        let mut sampler = gpu::FixedSize::new(device, plan.bind(records, &seed).unwrap()).unwrap();
        assert_eq!(sampler.sampler().scheme(), host.scheme());
        let mut expected = Vec::new();
        for step in [0, 1, 77, u64::MAX] {
            host.draw(step, &mut expected);
            assert_eq!(sampler.draw(step).unwrap().read().unwrap(), expected, "{batch} of {records}, {step}");
        }
    }
    let exact = FixedSize::batch(3).unwrap().bind(100, &Seed::for_tests(1)).unwrap();
    assert!(matches!(gpu::FixedSize::new(device, exact), Err(Error::NotOnDevice { .. })));
}

fn poisson<R: Backend>(device: &Device<R>) {
    // Sets of bits (dense, sparse, ragged, one record), lists (one block, one run, many), wide records,
    // everything, nothing.
    for (rate, records) in [
        (0.5, 64),
        (0.3, 100),
        (0.95, 70),
        (0.3, 1),
        (1.0, 2_000),
        (0.3, 20_000),
        (0.8, 5_000),
        (0.1, 300),
        (0.02, 1_000),
        (0.01, 10_000),
        (0.01, 300_001),
        (0.1, 50_000),
        (1e-3, 1 << 23),
        (1e-9, 100),
        (1e-300, 1_000),
        (2_f64.powi(-22), 1 << 32),
        (2_f64.powi(-23), (1 << 33) + 1),
        (2_f64.powi(-50), 1 << 60),
        (2_f64.powi(-56), 1 << 63),
    ] {
        let seed = Seed::for_tests(11);
        let plan = Poisson::rate(rate).unwrap();
        let mut host = plan.bind(records, &seed).unwrap();
        let sampler = gpu::Poisson::new(device, plan.bind(records, &seed).unwrap()).unwrap();
        assert_eq!(sampler.sampler().scheme(), host.scheme());
        let mut expected = Vec::new();
        for step in [0, 1, 2, 3, u64::MAX] {
            host.draw(step, &mut expected);
            let batch = sampler.draw(step).unwrap();
            assert_eq!(batch.read().unwrap(), expected, "{rate} of {records}, {step}");
            assert_eq!((batch.records(), batch.capacity()), (records, host.max_batch_hint()));
        }
    }
    let plan = Poisson::rate(0.5).unwrap().bind(1 << 40, &Seed::for_tests(1)).unwrap();
    assert!(matches!(gpu::Poisson::new(device, plan), Err(Error::DeviceMemory { .. })));
}

/// Batches of unknown length: rows beyond the batch are zeros.
fn gather_poisson<R: Backend>(device: &Device<R>) {
    let elements: Vec<f32> = (1..=9_000).map(|i| i as f32).collect();
    let matrix = Matrix::new(device, &elements, 3).unwrap();
    let sampler = Poisson::rate(0.05).unwrap().bind(3_000, &Seed::for_tests(2)).unwrap();
    let sampler = gpu::Poisson::new(device, sampler).unwrap();
    for step in 0..5 {
        let batch = sampler.draw(step).unwrap();
        let gathered = matrix.gather(&batch).unwrap().read().unwrap();
        let mut expected: Vec<f32> = batch
            .read()
            .unwrap()
            .into_iter()
            .flat_map(|row| elements[3 * row as usize..][..3].to_vec())
            .collect();
        expected.resize(gathered.len(), 0.0);
        assert_eq!(gathered, expected);
    }
}

fn gather<R: Backend>(device: &Device<R>) {
    for (rows, columns) in [(2_000_usize, 1_usize), (2_000, 7), (1_500, 64)] {
        let elements: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
        let matrix = Matrix::new(device, &elements, columns).unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), (rows, columns));
        let plan = FixedSize::batch(100).unwrap().by_permutation();
        let mut sampler =
            gpu::FixedSize::new(device, plan.bind(rows as u64, &Seed::for_tests(5)).unwrap()).unwrap();
        let batch = sampler.draw(2).unwrap();
        let gathered = matrix.gather(&batch).unwrap().read().unwrap();
        let expected: Vec<f32> = batch
            .read()
            .unwrap()
            .into_iter()
            .flat_map(|row| elements[row as usize * columns..][..columns].to_vec())
            .collect();
        assert_eq!(gathered, expected);
        let more = gpu::FixedSize::new(device, plan.bind(rows as u64 + 1, &Seed::for_tests(5)).unwrap());
        let batch = more.unwrap().draw(0).unwrap();
        assert!(matches!(matrix.gather(&batch), Err(Error::Rows { .. })));
    }
    assert!(matches!(Matrix::new(device, &[1.0; 5], 2), Err(Error::Columns { elements: 5, columns: 2 })));
    assert!(matches!(Matrix::new(device, &[], 0), Err(Error::Columns { .. })));
}

fn gaussian<R: Backend>(device: &Device<R>) {
    let seed = Seed::for_tests(46);
    let host = GaussianNoise::new(&seed);
    let noise = gpu::GaussianNoise::new(device, GaussianNoise::new(&seed)).unwrap();
    // A few; then enough for about fifty rare pairs.
    for (step, count) in [(0, 1), (3, 17), (u64::MAX, 1_000), (7, 200_001)] {
        let mut expected = vec![0_f32; count];
        host.fill(step, &mut expected);
        let values = noise.fill(step, count as u64).unwrap().read().unwrap();
        assert_eq!(values.len(), count);
        for (i, (value, expected)) in values.iter().zip(&expected).enumerate() {
            let bound = 16.0 * f32::EPSILON * expected.abs() + 2_f32.powi(-62);
            assert!((value - expected).abs() <= bound, "{step} {i}: {value} instead of {expected}");
        }
    }
    let mut expected = vec![0_f32; 300];
    host.fill_chunks(1, 1 << 35, &mut expected).unwrap();
    let values = noise.fill_chunks(1, 1 << 35, 300).unwrap().read().unwrap();
    assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 16.0 * f32::EPSILON * b.abs()));
    let bound = dp_sampler::MAX_NOISE_CHUNKS;
    assert!(matches!(noise.fill_chunks(0, bound, 1), Err(Error::NoiseChunk { .. })));
    assert!(noise.fill(0, 0).unwrap().is_empty());
}

fn discrete_gaussian<R: Backend>(device: &Device<R>) {
    // From coins that hardly ever fall to products of 126 bits; the variance 2⁻⁴⁶ gives zeros, whose sign is
    // drawn again.
    for (numerator, denominator) in [
        (1, 1),
        (7, 3),
        (1, 4),
        (1, 1 << 46),
        (10_000, 1),
        (12_345, 67),
        (1 << 40, 1),
        (1 << 46, 1),
        ((1 << 46) - 1, (1 << 46) - 3),
        ((1 << 46) - 1, (1 << 23) + 1),
        (3, (1 << 46) - 1),
    ] {
        let seed = Seed::for_tests(9);
        let host = DiscreteGaussianNoise::new(&seed, numerator, denominator).unwrap();
        let noise = DiscreteGaussianNoise::new(&seed, numerator, denominator).unwrap();
        let noise = gpu::DiscreteGaussianNoise::new(device, noise).unwrap();
        for (step, chunk, count) in [(0, 0, 1), (3, 0, 20_000), (u64::MAX, 5, 300), (1, (1 << 40) - 2, 257)] {
            let mut expected = vec![0; count];
            host.fill_chunks(step, chunk, &mut expected).unwrap();
            let values = noise.fill_chunks(step, chunk, count as u64).unwrap().read().unwrap();
            assert_eq!(values, expected, "{numerator}/{denominator} {step} {chunk}");
        }
        assert!(noise.fill(0, 0).unwrap().is_empty());
        assert!(matches!(noise.fill_chunks(0, u64::MAX, 1), Err(Error::NoiseChunk { .. })));
    }
}

/// Results on the CPU come from either place, and are the same.
fn planned<R: Backend>(device: &Device<R>) {
    let seed = Seed::for_tests(4);
    let cost = |fixed| Cost { fixed, each: 0.0 };
    let planner = |cpu, device| {
        let costs = Work::ALL.map(|work| Costs { work, cpu: cost(cpu), device: cost(device) });
        Planner::new(Transfer::default(), costs.to_vec())
    };
    for (planner, place) in [(planner(2.0, 1.0), Place::Device), (planner(1.0, 2.0), Place::Cpu)] {
        let (mut expected, mut batch) = (Vec::new(), Vec::new());
        let bind = || Poisson::rate(0.05).unwrap().bind(4_000, &seed).unwrap();
        bind().draw(3, &mut expected);
        let mut poisson = gpu::Poisson::new(device, bind()).unwrap();
        assert_eq!(poisson.draw_planned(&planner, 3, &mut batch).unwrap(), place);
        assert_eq!(batch, expected);
        let bind = || FixedSize::batch(50).unwrap().by_permutation().bind(4_000, &seed).unwrap();
        bind().draw(3, &mut expected);
        let mut fixed = gpu::FixedSize::new(device, bind()).unwrap();
        assert_eq!(fixed.draw_planned(&planner, 3, &mut batch).unwrap(), place);
        assert_eq!(batch, expected);
        let make = || DiscreteGaussianNoise::new(&seed, 5, 2).unwrap();
        let (mut expected, mut values) = ([0; 40], [0; 40]);
        make().fill(3, &mut expected);
        let noise = gpu::DiscreteGaussianNoise::new(device, make()).unwrap();
        assert_eq!(noise.fill_planned(&planner, 3, &mut values).unwrap(), place);
        assert_eq!(values, expected);
        let (mut expected, mut values) = ([0_f32; 40], [0_f32; 40]);
        GaussianNoise::new(&seed).fill(3, &mut expected);
        let noise = gpu::GaussianNoise::new(device, GaussianNoise::new(&seed)).unwrap();
        assert_eq!(noise.fill_planned(&planner, 3, &mut values).unwrap(), place);
        assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 16.0 * f32::EPSILON * b.abs()));
    }
}

/// The tests for one backend.
macro_rules! backend {
    ($module:ident, $backend:ty) => {
        mod $module {
            backend!(@ $backend: words, permutations, whole_order, fixed_size, gather, gaussian, discrete_gaussian, poisson, gather_poisson, planned);
        }
    };
    (@ $backend:ty: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            if let Some(device) = super::device::<$backend>() {
                super::$test(&device);
            }
        })*
    };
}

#[cfg(feature = "wgpu")]
backend!(vulkan, dp_sampler::gpu::Vulkan);
#[cfg(feature = "cuda")]
backend!(cuda, dp_sampler::gpu::Cuda);
