//! What cannot be reached from outside: ties between thresholds, arithmetic on words, keys that are wiped.

use cubecl::prelude::*;
use proptest::prelude::*;

use super::kernels::limbs;
use super::key::Secret;
use super::*;
use crate::{Purpose, Seed, Subsampler, Subsampling};

/// A device, or none where that is allowed.
#[allow(clippy::print_stderr, reason = "a skipped test has to be heard of")]
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

/// Words that equal a threshold come up once in 2⁵⁸ draws, so thresholds are set to what will be drawn.
fn ties<R: Backend>(device: &Device<R>) {
    let sampler = || crate::Poisson::rate(0.01).unwrap().bind(10_000, &Seed::for_tests(11)).unwrap();
    for step in 0..20 {
        let mut words = Seed::for_tests(11).streams(Purpose::Subsample).at(step);
        let [first, second] = [(); 2].map(|()| rand_core::Rng::next_u64(&mut words));
        // The second word decides between no member and one; where the next threshold has the same first
        // word, also between one and two.
        for (low, next) in [
            ([second, 0], 1),
            ([second.saturating_add(1), 0], 1),
            ([second.saturating_sub(1), u64::MAX], 0),
            ([second.saturating_sub(1), second], 0),
        ] {
            let mut host = sampler();
            host.set_thresholds(first, low, next);
            let mut same = sampler();
            same.set_thresholds(first, low, next);
            let mut expected = Vec::new();
            host.draw(step, &mut expected);
            let batch = Poisson::new(device, same).unwrap().draw(step).unwrap().read().unwrap();
            assert_eq!(batch, expected, "{step} {low:?} {next}");
        }
    }
}

/// `out` = x · y, then x − y with its borrow, then y times the lowest word of x: four words, five, four; of
/// 64 bits, 128 and 96.
#[cube(launch)]
fn arithmetic(x: &Array<u32>, y: &Array<u32>, out: &mut Array<u32>) {
    let a = limbs::Limbs { a: x[0usize], b: x[1usize], c: x[2usize], d: x[3usize] };
    let b = limbs::Limbs { a: y[0usize], b: y[1usize], c: y[2usize], d: y[3usize] };
    let product = limbs::product(x[0usize], x[1usize], y[0usize], y[1usize]);
    put(out, 0usize, product);
    let difference = limbs::minus(a, b);
    put(out, 4usize, difference.limbs);
    out[8usize] = difference.borrow;
    let times = limbs::times_word(b, x[0usize]);
    put(out, 9usize, times);
}

#[cube]
fn put(out: &mut Array<u32>, at: usize, limbs: limbs::Limbs) {
    out[at] = limbs.a;
    out[at + 1] = limbs.b;
    out[at + 2] = limbs.c;
    out[at + 3] = limbs.d;
}

fn words(x: u128) -> Vec<u32> {
    (0..4).map(|i| (x >> (32 * i)) as u32).collect()
}

fn number(words: &[u32]) -> u128 {
    words.iter().rev().fold(0, |number, &word| number << 32 | u128::from(word))
}

fn limbs_are_integers<R: Backend>(device: &Device<R>) {
    // Words that carry: zeros, ones, all ones, and any.
    let word = || prop_oneof![Just(0), Just(1), Just(u32::MAX), Just(u32::MAX - 1), any::<u32>()];
    let quad = move || proptest::array::uniform4(word());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig::with_cases(300),
        proptest::test_runner::TestRng::deterministic_rng(Default::default()),
    );
    runner
        .run(&(quad(), quad()), |(x, y)| {
            let [x, y] = [x, y].map(|words| number(&words));
            let [x_words, y_words] =
                [x, y].map(|number| buffer::Words::copy_of(device, &words(number)).unwrap());
            let out = buffer::Words::empty(device, 13).unwrap();
            arithmetic::launch::<R>(
                device.client(),
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(1),
                x_words.argument(),
                y_words.argument(),
                out.argument(),
            );
            let out = out.read().unwrap();
            let half = |x: u128| x & u128::from(u64::MAX);
            prop_assert_eq!(number(&out[..4]), half(x) * half(y));
            prop_assert_eq!(number(&out[4..8]), x.wrapping_sub(y));
            prop_assert_eq!(out[8] == 1, x < y);
            let third = y & (u128::MAX >> 32);
            // The fourth word of what is multiplied has to be zero, and is left out.
            prop_assert_eq!(number(&out[9..]), third * u128::from(x as u32));
            Ok(())
        })
        .unwrap();
}

fn keys_are_wiped<R: Backend>(device: &Device<R>) {
    let secret = Secret::copy_of(device, &[1, 2, 3, u32::MAX]).unwrap();
    let words = secret.words().share();
    assert_eq!(words.read().unwrap(), [1, 2, 3, u32::MAX]);
    drop(secret);
    assert_eq!(words.read().unwrap(), [0; 4]);
}

fn measured_costs_are_costs<R: Backend>(device: &Device<R>) {
    let planner = Planner::measure(device, &[Work::Gaussian, Work::Permutation]).unwrap();
    assert_eq!(planner.costs().len(), 2);
    for costs in planner.costs() {
        // Something takes some time in both places.
        assert!(costs.cpu.of(1e6) > 1e-6 && costs.device.of(1e6) > 1e-6, "{costs:?}");
        assert!(costs.cpu.of(1e6) < 10.0 && costs.device.of(1e6) < 10.0, "{costs:?}");
    }
    // Nothing at all is not worth a launch.
    assert_eq!(planner.choose(Work::Gaussian, 1, Wanted::OnCpu).place, Place::Cpu);
}

/// The tests for one backend.
macro_rules! backend {
    ($module:ident, $backend:ty) => {
        mod $module {
            backend!(@ $backend: ties, limbs_are_integers, keys_are_wiped, measured_costs_are_costs);
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
backend!(vulkan, super::Vulkan);
#[cfg(feature = "cuda")]
backend!(cuda, super::Cuda);
