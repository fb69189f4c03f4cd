//! Continuous noise: its law at false-alarm rates of 1e-6, what breaks these tests, and the same numbers by
//! every way to them.

use proptest::prelude::*;
use rand_core::Rng;

use super::continuous::Transform;
use super::*;
use crate::testing::{goodness_of_fit, kolmogorov, kolmogorov_bound, normal_cdf};
use crate::{Purpose, Seed, Streams, strategies};

const COUNT: usize = 1_000_000;

fn sample<T: Copy + Default + Into<f64>>(noise: &impl NoiseSource<T>, step: u64) -> Vec<f64> {
    let mut values = vec![T::default(); COUNT];
    noise.fill(step, &mut values);
    values.into_iter().map(Into::into).collect()
}

fn laplace_cdf(x: f64) -> f64 {
    if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() }
}

/// The Kolmogorov test at n = 10⁶, 5·10⁵ and alpha 1e-6: all values, those at even and those at odd
/// positions, and sizes alone.
fn has_law(values: &[f64], cdf: impl Fn(f64) -> f64) -> bool {
    let sizes = values.iter().map(|z| z.abs()).collect();
    let parts: [Vec<f64>; 2] = [0, 1].map(|first| values.iter().skip(first).step_by(2).copied().collect());
    [values.to_vec(), parts[0].clone(), parts[1].clone()]
        .into_iter()
        .all(|part: Vec<f64>| kolmogorov(part, &cdf) < kolmogorov_bound())
        && kolmogorov(sizes, |x| cdf(x) - cdf(-x)) < kolmogorov_bound()
}

/// Whether the first moments are right: the mean of 10⁶ values zᵏ has variance (E z²ᵏ − (E zᵏ)²)/10⁶, and 4.9
/// of its standard deviations are alpha 1e-6.
fn has_moments(values: &[f64], moments: &[(i32, f64, f64)]) -> bool {
    let n = values.len() as f64;
    moments.iter().all(|&(power, mean, square)| {
        let moment = values.iter().map(|z| z.powi(power)).sum::<f64>() / n;
        (moment - mean).abs() < 4.9 * ((square - mean * mean) / n).sqrt()
    })
}

/// (k, E zᵏ, E z²ᵏ).
const NORMAL_MOMENTS: [(i32, f64, f64); 5] =
    [(1, 0.0, 1.0), (2, 1.0, 3.0), (3, 0.0, 15.0), (4, 3.0, 105.0), (6, 15.0, 10_395.0)];
const LAPLACE_MOMENTS: [(i32, f64, f64); 3] = [(1, 0.0, 2.0), (2, 2.0, 24.0), (3, 0.0, 720.0)];

/// Counts on either side by intervals from 2 σ on, alpha 1e-6 each.
fn has_tails(values: &[f64], cdf: impl Fn(f64) -> f64, edges: &[f64]) -> bool {
    [1.0, -1.0].into_iter().all(|sign| {
        let inside = |edge: &[f64]| {
            values.iter().filter(|&&z| sign * z >= edge[0] && sign * z < edge[1]).count() as u64
        };
        let counts: Vec<u64> = edges.windows(2).map(inside).collect();
        let mass = |edge: &[f64]| values.len() as f64 * (cdf(-edge[0]) - cdf(-edge[1]));
        goodness_of_fit(&counts, &edges.windows(2).map(mass).collect::<Vec<_>>()) > 1e-6
    })
}

const NORMAL_EDGES: [f64; 9] = [2.0, 2.5, 3.0, 3.25, 3.5, 3.75, 4.0, 4.25, f64::INFINITY];
const LAPLACE_EDGES: [f64; 8] = [2.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0, f64::INFINITY];

#[test]
fn values_are_standard_normal() {
    let noise = GaussianNoise::new(&Seed::for_tests(41));
    let mut steps = vec![0_i64; COUNT];
    GridGaussianNoise::new(&Seed::for_tests(41)).fill(0, &mut steps);
    let on_grid = steps.into_iter().map(|x| x as f64 * 2_f64.powi(-32)).collect();
    for values in [sample::<f32>(&noise, 0), sample::<f64>(&noise, 0), on_grid] {
        assert!(has_law(&values, normal_cdf));
        assert!(has_moments(&values, &NORMAL_MOMENTS));
        assert!(has_tails(&values, normal_cdf, &NORMAL_EDGES));
    }
}

#[test]
fn values_are_laplace() {
    let noise = LaplaceNoise::new(&Seed::for_tests(42));
    for values in [sample::<f32>(&noise, 0), sample::<f64>(&noise, 0)] {
        assert!(has_law(&values, laplace_cdf));
        assert!(has_moments(&values, &LAPLACE_MOMENTS));
        assert!(has_tails(&values, laplace_cdf, &LAPLACE_EDGES));
    }
}

#[test]
fn noise_that_is_wrong_is_noticed() {
    let normal = sample::<f32>(&GaussianNoise::new(&Seed::for_tests(41)), 0);
    let laplace = sample::<f32>(&LaplaceNoise::new(&Seed::for_tests(42)), 0);
    let change = |values: &[f64], f: fn(f64) -> f64| values.iter().map(|&z| f(z)).collect::<Vec<_>>();
    // Two percent too large or too small.
    for scale in [|z| 1.02 * z, |z| 0.98 * z] {
        assert!(!has_law(&change(&normal, scale), normal_cdf));
        assert!(!has_moments(&change(&normal, scale), &NORMAL_MOMENTS));
        assert!(!has_law(&change(&laplace, scale), laplace_cdf));
        assert!(!has_moments(&change(&laplace, scale), &LAPLACE_MOMENTS));
    }
    // A tail that ends, or is a little too heavy.
    assert!(!has_tails(&change(&normal, |z| z.clamp(-3.6, 3.6)), normal_cdf, &NORMAL_EDGES));
    assert!(!has_tails(
        &change(&normal, |z| if z.abs() > 3.0 { 1.03 * z } else { z }),
        normal_cdf,
        &NORMAL_EDGES
    ));
    assert!(!has_tails(&change(&laplace, |z| z.clamp(-8.0, 8.0)), laplace_cdf, &LAPLACE_EDGES));
    // A mean that is off by 1 %.
    assert!(!has_moments(&change(&normal, |z| z + 0.01), &NORMAL_MOMENTS));
}

/// Pairs with radii beyond that for u = 2⁻⁴⁰, 7.45 σ, drawn as such: their first 40 bits are zero. Counted
/// from 8 σ on by intervals; alpha 1e-6 for either side.
fn has_far_tail(pair: impl Fn(u64, u64, &[u32; 16]) -> [f64; 2]) -> bool {
    const PAIRS: usize = 500_000;
    let mut stream = Seed::for_tests(43).streams(Purpose::Split).at(0);
    let mut values = Vec::with_capacity(2 * PAIRS);
    for _ in 0..PAIRS {
        let more = std::array::from_fn(|_| stream.next_u32());
        let (radius, angle) = (stream.next_u64() >> 40, stream.next_u64());
        values.extend(pair(radius, angle, &more));
    }
    let edges = [8.0, 8.1, 8.2, 8.35, 8.5, 8.75, f64::INFINITY];
    [1.0, -1.0].into_iter().all(|sign| {
        let inside = |edge: &[f64]| {
            values.iter().filter(|&&z| sign * z >= edge[0] && sign * z < edge[1]).count() as u64
        };
        let counts: Vec<u64> = edges.windows(2).map(inside).collect();
        // All values beyond 8 belong to such radii, so their probability is multiplied by 2^40.
        let mass = |edge: &[f64]| {
            2.0 * PAIRS as f64 * 2_f64.powi(40) * (normal_cdf(-edge[0]) - normal_cdf(-edge[1]))
        };
        goodness_of_fit(&counts, &edges.windows(2).map(mass).collect::<Vec<_>>()) > 1e-6
    })
}

/// The radius as a 64-bit word below 2²⁴, the angle likewise, for the double-precision transform.
fn double_words(radius: u64, angle: u64) -> [u32; 4] {
    [radius as u32, (radius >> 32) as u32, angle as u32, (angle >> 32) as u32]
}

#[test]
fn the_tail_goes_on_beyond_eight_sigma() {
    assert!(has_far_tail(|radius, angle, more| double::Gaussian::rare(double_words(radius, angle), more)));
    assert!(has_far_tail(|radius, angle, more| {
        grid::Rounded::rare(double_words(radius, angle), more).map(|x| x as f64 * 2_f64.powi(-32))
    }));
    // In single precision the first word is zero, and so are eight bits of the 96 that follow.
    let single = |rare: bool| {
        has_far_tail(move |_, angle, more| {
            let mut more = *more;
            more[2] >>= 8;
            let words = [0, angle as u32];
            let pair =
                if rare { single::Gaussian::rare(words, &more) } else { single::Gaussian::ordinary(words) };
            pair.map(f64::from)
        })
    };
    assert!(single(true));
    // Box and Muller on 32 bits, whose tail ends at 6.7 σ, and noise that is two percent too large.
    assert!(!single(false));
    assert!(!has_far_tail(|radius, angle, more| {
        double::Gaussian::rare(double_words(radius, angle), more).map(|z| 1.02 * z)
    }));
}

#[test]
fn rare_items_have_the_conditional_law() {
    // Given that u < 2^-k, −ln u − k ln 2 is exponential, whatever k: n = 10^5, alpha 1e-6.
    let mut stream = Seed::for_tests(44).streams(Purpose::Split).at(0);
    let exponential = |x: f64| -(-x.max(0.0)).exp_m1();
    for zeros in [12, 32, 64, 90] {
        let keep = u128::MAX >> zeros;
        let mut logs = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..100_000 {
            let bits = (u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64())) & keep;
            let split =
                |bits: u128| std::array::from_fn(|i| if i < 4 { (bits >> (32 * i)) as u32 } else { 0 });
            // The angle in the middle of a quarter turn has a cosine of 1.
            let words: [u32; 16] = split(bits);
            let [single, _] = single::Gaussian::rare([words[3], 1 << 29], &words);
            let [double, _] = double::Gaussian::rare([words[2], words[3], 0, 1 << 29], &words);
            // One bit of a Laplace number is its sign.
            let (upper, lower): ([u32; 16], [u32; 16]) = (split(bits >> 97 << 1), split(bits >> 1));
            let [single_laplace] = single::Laplace::rare([upper[0]], &lower);
            let (upper, lower): ([u32; 16], [u32; 16]) = (split(bits >> 65 << 1), split(bits >> 1));
            let [double_laplace] = double::Laplace::rare([upper[0], upper[1]], &lower);
            logs[0].push(f64::from(single).powi(2) / 2.0);
            logs[1].push(double.powi(2) / 2.0);
            logs[2].push(f64::from(single_laplace));
            logs[3].push(double_laplace);
        }
        for logs in logs {
            let shifted: Vec<f64> =
                logs.iter().map(|log| log.abs() - f64::from(zeros) * std::f64::consts::LN_2).collect();
            assert!(kolmogorov(shifted, exponential) < kolmogorov_bound(), "{zeros}");
            // A logarithm of the wrong base, or a shift that was forgotten.
            let wrong: Vec<f64> = logs.iter().map(|log| log.abs() - f64::from(zeros - 1) * 0.693).collect();
            assert!(kolmogorov(wrong, exponential) > kolmogorov_bound());
        }
    }
}

#[test]
fn steps_purposes_types_and_positions_are_uncorrelated() {
    // Sample correlations of 10^5 independent normals have standard deviation 10^-2.5; six of them.
    let seed = Seed::for_tests(44);
    let fill = |purpose, step| {
        let mut values = vec![0.0; 100_001];
        GaussianNoise::with_purpose(&seed, purpose).fill(step, &mut values);
        values
    };
    let base: Vec<f64> = fill(Purpose::GaussianNoise, 5);
    let mut others = vec![base[1..].to_vec(), base[2..].to_vec(), fill(Purpose::GuideDraws, 5)];
    others.extend([4, 6, 1 << 32].map(|step| fill(Purpose::GaussianNoise, step)));
    let mut single = vec![0_f32; 100_001];
    GaussianNoise::new(&seed).fill(5, &mut single);
    others.push(single.iter().map(|&z| f64::from(z)).collect());
    for other in others {
        let product = base.iter().zip(&other).take(99_999).map(|(a, b)| a * b).sum::<f64>() / 1e5;
        let squares =
            base.iter().zip(&other).take(99_999).map(|(a, b)| (a * a - 1.0) * (b * b - 1.0)).sum::<f64>()
                / 1e5;
        assert!(product.abs() < 6.0 * 1e5_f64.powf(-0.5), "{product}");
        assert!(squares.abs() < 6.0 * 2.0 * 1e5_f64.powf(-0.5), "{squares}");
    }
}

/// The documented mapping, one item after the other.
fn by_hand<T: Transform<WORDS, VALUES>, const WORDS: usize, const VALUES: usize>(
    streams: &Streams,
    label: u64,
    step: u64,
    length: usize,
) -> Vec<T::Value> {
    let node = streams.child(label);
    let (mut stream, more) = (node.at(step), node.child(0));
    let mut values = Vec::new();
    let mut rare = 0;
    for item in 0..length.div_ceil(VALUES) {
        let words = std::array::from_fn(|_| stream.next_u32());
        if T::is_rare(words) {
            rare += 1;
            values.extend(T::rare(words, &more.blocks(step).block(item as u64)));
        } else {
            values.extend(T::ordinary(words));
        }
    }
    assert!(length < 100_000 || rare > 5);
    values.truncate(length);
    values
}

#[test]
fn vector_code_makes_the_documented_numbers() {
    const LENGTH: usize = 100_003;
    let seed = Seed::for_tests(46);
    let (gaussian, laplace) = (GaussianNoise::new(&seed), LaplaceNoise::new(&seed));
    let (mut single, mut double) = (vec![0_f32; LENGTH], vec![0_f64; LENGTH]);
    let streams = seed.streams(Purpose::GaussianNoise);
    gaussian.fill(3, &mut single);
    gaussian.fill(3, &mut double);
    assert!(single == by_hand::<single::Gaussian, 2, 2>(&streams, u64::MAX - 1, 3, LENGTH));
    assert!(double == by_hand::<double::Gaussian, 4, 2>(&streams, u64::MAX, 3, LENGTH));
    let mut steps = vec![0_i64; LENGTH];
    GridGaussianNoise::new(&seed).fill(3, &mut steps);
    let streams = seed.streams(Purpose::RoundedGaussianNoise);
    assert!(steps == by_hand::<grid::Rounded, 4, 2>(&streams, u64::MAX - 2, 3, LENGTH));
    let streams = seed.streams(Purpose::LaplaceNoise);
    laplace.fill(3, &mut single);
    laplace.fill(3, &mut double);
    assert!(single == by_hand::<single::Laplace, 1, 1>(&streams, u64::MAX - 1, 3, LENGTH));
    assert!(double == by_hand::<double::Laplace, 2, 1>(&streams, u64::MAX, 3, LENGTH));
}

/// Prefixes, chunks and threads give the numbers of one long fill.
fn all_ways_agree<T>(noise: &(impl NoiseSource<T> + Sync), step: u64, length: usize, chunk: usize)
where
    T: Copy + Default + PartialEq + std::fmt::Debug + Send,
{
    let mut long = vec![T::default(); 70_000];
    noise.fill(step, &mut long);
    let mut short = vec![T::default(); length];
    noise.fill(step, &mut short);
    assert_eq!(short, long[..length]);
    let first = chunk * NOISE_CHUNK;
    let mut part = vec![T::default(); length.min(long.len() - first)];
    noise.fill_chunks(step, chunk as u64, &mut part).unwrap();
    assert_eq!(part, long[first..first + part.len()]);
    let bound = crate::MAX_NOISE_CHUNKS;
    assert!(matches!(noise.fill_chunks(step, bound - 1, &mut long[..257]), Err(Error::NoiseChunk { .. })));
    assert!(matches!(noise.fill_chunks(step, u64::MAX, &mut long[..1]), Err(Error::NoiseChunk { .. })));
    assert!(noise.fill_chunks(step, bound - 1, &mut part[..length.min(256)]).is_ok());
    #[cfg(feature = "parallel")]
    {
        let mut threads = vec![T::default(); 70_000];
        noise.fill_parallel(step, &mut threads);
        assert_eq!(threads, long);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_way_gives_the_same_numbers(
        number in strategies::seed_number(), step in any::<u64>(),
        length in prop_oneof![0..600_usize, Just(8_191), Just(30_000)], chunk in 0..40_usize,
    ) {
        let seed = Seed::for_tests(number);
        all_ways_agree::<f32>(&GaussianNoise::new(&seed), step, length, chunk);
        all_ways_agree::<f64>(&GaussianNoise::new(&seed), step, length, chunk);
        all_ways_agree::<f32>(&LaplaceNoise::new(&seed), step, length, chunk);
        all_ways_agree::<f64>(&LaplaceNoise::new(&seed), step, length, chunk);
        all_ways_agree(&DiscreteGaussianNoise::new(&seed, 7, 3).unwrap(), step, length, chunk);
        all_ways_agree(&DiscreteLaplaceNoise::new(&seed, 7, 3).unwrap(), step, length, chunk);
        all_ways_agree(&RoundedGaussianNoise::new(&seed, 5).unwrap(), step, length, chunk);
        all_ways_agree(&GridGaussianNoise::new(&seed), step, length, chunk);
    }
}

#[test]
fn noise_says_whether_it_is_secret() {
    for (seed, secret) in [(Seed::for_tests(1), false), (Seed::from_os().unwrap(), true)] {
        let sources: [&dyn Noise; 6] = [
            &GaussianNoise::new(&seed),
            &LaplaceNoise::new(&seed),
            &DiscreteGaussianNoise::new(&seed, 1, 1).unwrap(),
            &DiscreteLaplaceNoise::new(&seed, 1, 1).unwrap(),
            &RoundedGaussianNoise::new(&seed, 1).unwrap(),
            &GridGaussianNoise::new(&seed),
        ];
        assert!(sources.iter().all(|noise| noise.is_secret() == secret));
    }
}
