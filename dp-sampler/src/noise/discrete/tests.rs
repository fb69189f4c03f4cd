//! Discrete noise: its laws at false-alarm rates of 1e-6, what breaks these tests, and coins decided exactly.

use super::words::Words;
use super::*;
use crate::testing::{goodness_of_fit, normal_cdf};
use crate::{NoiseDistribution, NoiseSource, Purpose, Seed};

const COUNT: usize = 1_000_000;

fn sample(noise: &impl NoiseSource<i64>, step: u64) -> Vec<i64> {
    let mut values = vec![0; COUNT];
    noise.fill(step, &mut values);
    values
}

/// The p-value of 10⁶ values against the mass of the cells [least + i · width, least + (i + 1) · width); the
/// rest of both sides is two more cells.
fn fit(values: &[i64], least: i64, width: i64, masses: &[f64]) -> f64 {
    let mut counts = vec![0; masses.len() + 2];
    for &value in values {
        let cell = (value - least).div_euclid(width) + 1;
        counts[cell.clamp(0, masses.len() as i64 + 1) as usize] += 1;
    }
    let rest = (1.0 - masses.iter().sum::<f64>()).max(0.0) / 2.0;
    let mut expected = vec![rest * values.len() as f64];
    expected.extend(masses.iter().map(|mass| mass * values.len() as f64));
    expected.push(rest * values.len() as f64);
    goodness_of_fit(&counts, &expected)
}

/// The probabilities of −reach, …, reach under weights; the rest is beyond double precision.
fn normalised(reach: i64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let weights: Vec<f64> = (-reach..=reach).map(|x| weight(x as f64)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn gaussian_masses(variance: f64) -> (i64, Vec<f64>) {
    let reach = (39.0 * variance.sqrt()).ceil() as i64 + 1;
    (reach, normalised(reach, |x| (-x * x / (2.0 * variance)).exp()))
}

fn gaussian(number: u64, n: u64, d: u64) -> Vec<i64> {
    sample(&DiscreteGaussianNoise::new(&Seed::for_tests(number), n, d).unwrap(), 0)
}

fn laplace(number: u64, n: u64, d: u64) -> Vec<i64> {
    sample(&DiscreteLaplaceNoise::new(&Seed::for_tests(number), n, d).unwrap(), 0)
}

#[test]
fn discrete_gaussians_have_their_probabilities() {
    for (n, d) in [(1, 7), (1, 2), (1, 1), (25, 2), (10_000, 1), ((1 << 45) + 1, (1 << 45) - 1)] {
        let (reach, masses) = gaussian_masses(n as f64 / d as f64);
        assert!(fit(&gaussian(61, n, d), -reach, 1, &masses) > 1e-6, "{n}/{d}");
    }
}

#[test]
fn wide_discrete_gaussians_have_theirs() {
    // Cells of σ/16 against the integral: a sum over integers differs from it by less than 2 exp(−2π²σ²) of
    // itself.
    for (n, d) in [(1 << 40, 1), ((1 << 46) - 3, 5)] {
        let sigma = (n as f64 / d as f64).sqrt();
        let width = (sigma / 16.0) as i64;
        let masses: Vec<f64> = (-80..80)
            .map(|i| {
                let edge = |i: i64| ((i * width) as f64 - 0.5) / sigma;
                normal_cdf(edge(i + 1)) - normal_cdf(edge(i))
            })
            .collect();
        let values = gaussian(62, n, d);
        assert!(fit(&values, -80 * width, width, &masses) > 1e-6, "{n}/{d}");
        let scaled: Vec<i64> = values.iter().map(|x| x + x / 50).collect();
        assert!(fit(&scaled, -80 * width, width, &masses) < 1e-6);
        // The last bits are uniform.
        let mut ends = [0; 16];
        values.iter().for_each(|x| ends[(x & 15) as usize] += 1);
        assert!(crate::testing::uniformity(&ends) > 1e-6);
    }
}

#[test]
fn discrete_gaussians_that_are_wrong_are_noticed() {
    // A variance that is 2 % off where that shows in 10^6 values: its estimate has a standard error of 0.14
    // %.
    let (reach, masses) = gaussian_masses(12.5);
    assert!(fit(&gaussian(61, 51, 4), -reach, 1, &masses) < 1e-6);
    assert!(fit(&gaussian(61, 49, 4), -reach, 1, &masses) < 1e-6);
    // A rounded Gaussian is not a discrete one: P(0) is 0.383 instead of 0.399.
    let (reach, masses) = gaussian_masses(1.0);
    let rounded = sample(&RoundedGaussianNoise::new(&Seed::for_tests(61), 0).unwrap(), 0);
    assert!(fit(&rounded, -reach, 1, &masses) < 1e-6);
    // A tail that is cut off at 4 σ.
    let clamped: Vec<i64> = gaussian(61, 1, 1).into_iter().map(|x| x.clamp(-3, 3)).collect();
    assert!(fit(&clamped, -reach, 1, &masses) < 1e-6);
}

#[test]
fn discrete_laplace_has_its_probabilities() {
    for (n, d) in [(1, 5), (1, 1), (3, 2), (100, 7), (1 << 40, 1 << 38), (50, 1)] {
        let scale = n as f64 / d as f64;
        let reach = (60.0 * scale).ceil() as i64;
        let masses = normalised(reach, |x| (-x.abs() / scale).exp());
        assert!(fit(&laplace(63, n, d), -reach, 1, &masses) > 1e-6, "{n}/{d}");
        // Two percent more, for which the denominator is made finer.
        let wrong = laplace(63, 51 * n / d.min(4), 50 * d / d.min(4));
        assert!(n > 1_000 || d == 1 || fit(&wrong, -reach, 1, &masses) < 1e-6, "{n}/{d}");
    }
    // Scales from 2^31 on take two words: cells of b/8 against the integral.
    for n in [(1_u64 << 31) - 1, 1 << 31, (1 << 46) - 1] {
        let width = (n / 8) as i64;
        let cdf = |x: f64| if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() };
        let edge = |i: i64| (i * width) as f64 / n as f64;
        let masses: Vec<f64> = (-100..100).map(|i| cdf(edge(i + 1)) - cdf(edge(i))).collect();
        assert!(fit(&laplace(64, n, 1), -100 * width, width, &masses) > 1e-6, "{n}");
    }
}

#[test]
fn a_zero_that_is_counted_twice_is_noticed() {
    let masses = normalised(120, |x| (-x.abs() / 2.0).exp());
    let mut words = Words::of_step(&Seed::for_tests(65).streams(Purpose::Split), 0);
    let mut draw = |reject: bool| loop {
        let x = super::laplace::magnitude(&mut words, 2) as i64;
        let negative = words.bit();
        if !(reject && negative && x == 0) {
            return if negative { -x } else { x };
        }
    };
    let right: Vec<i64> = (0..COUNT).map(|_| draw(true)).collect();
    assert!(fit(&right, -120, 1, &masses) > 1e-6);
    let wrong: Vec<i64> = (0..COUNT).map(|_| draw(false)).collect();
    assert!(fit(&wrong, -120, 1, &masses) < 1e-6);
}

#[test]
fn rounded_gaussians_have_their_probabilities() {
    for (bits, width) in [(0, 1), (1, 1), (4, 1), (20, 1 << 16), (40, 1 << 36)] {
        let sigma = 2_f64.powi(bits as i32);
        let reach = (12.0 * sigma / width as f64).ceil() as i64;
        let edge = |i: i64| ((i * width) as f64 - 0.5) / sigma;
        let masses: Vec<f64> =
            (-reach..=reach).map(|i| normal_cdf(edge(i + 1)) - normal_cdf(edge(i))).collect();
        let values = sample(&RoundedGaussianNoise::new(&Seed::for_tests(66), bits).unwrap(), 0);
        assert!(fit(&values, -reach * width, width, &masses) > 1e-6, "{bits}");
        if bits == 4 {
            // Truncation in place of rounding, and a discrete Gaussian of three percent more variance.
            let truncated: Vec<i64> = values.iter().map(|x| x - x.signum()).collect();
            assert!(fit(&truncated, -reach, 1, &masses) < 1e-6);
            assert!(fit(&gaussian(61, 264, 1), -reach, 1, &masses) < 1e-6);
        }
    }
}

#[test]
fn coins_are_decided_by_exact_comparison() {
    // 10^-9 · 2^32 = 4.29…: words below 4 are heads, above 4 tails, and after 4 the next one decides at
    // 0.2949… · 2^32.
    let next = ((u128::from(1_u64 << 32) * (1 << 32)) / 1_000_000_000 - (4 << 32)) as u32;
    type Coin = fn(&mut Words) -> bool;
    let exact = |coin: Coin| {
        let toss = |words: &[u32]| coin(&mut Words::scripted(words));
        toss(&[0])
            && toss(&[3])
            && !toss(&[5])
            && !toss(&[u32::MAX])
            && toss(&[4, 0])
            && toss(&[4, next - 1])
            && !toss(&[4, next + 1])
    };
    assert!(exact(|words| words.short_ratio(1, 1_000_000_000)));
    assert!(exact(|words| words.ratio(1, 1_000_000_000)));
    assert!(exact(|words| words.ratio(1 << 60, 1_000_000_000 << 60)));
    // A single-precision uniform has 24 bits, and is 0 far too often.
    assert!(!exact(|words| (words.word() >> 8) as f32 * 2_f32.powi(-24) <= 1e-9));
    assert!(!exact(|words| f64::from(words.word()) * 2_f64.powi(-32) < 1e-9));
    for (a, b, heads) in [(0, 5, false), (5, 5, true)] {
        for word in [0, 1, u32::MAX] {
            assert_eq!(Words::scripted(&[word]).short_ratio(a, b), heads);
            assert_eq!(Words::scripted(&[word]).ratio(a.into(), b.into()), heads);
        }
    }
    // The largest arguments overflow nothing, whatever the word.
    for word in [0, u32::MAX] {
        assert!(Words::scripted(&[word]).ratio(1 << 94, 1 << 94));
        assert!(Words::scripted(&[word, 0]).ratio((1 << 94) - 1, 1 << 94));
        assert!(!Words::scripted(&[word]).ratio(0, 1 << 94));
    }
}

#[test]
fn exponential_coins_have_their_probabilities() {
    // n = 10^6 tosses, 4.9 standard deviations are alpha 1e-6.
    let mut words = Words::of_step(&Seed::for_tests(67).streams(Purpose::Split), 0);
    let mut check = |p: f64, coin: &dyn Fn(&mut Words) -> bool| {
        let heads = (0..COUNT).filter(|_| coin(&mut words)).count() as f64 / COUNT as f64;
        (heads - p).abs() < 4.9 * (p * (1.0 - p) / COUNT as f64).sqrt()
    };
    assert!(check((-1.0_f64).exp(), &|words| words.exp_minus_one()));
    assert!(check((-3.0_f64).exp(), &|words| words.exp_minus_integer(3)));
    for (a, b) in [(1, 3), (9, 10), (1 << 40, 3 << 40)] {
        assert!(check((-(a as f64) / b as f64).exp(), &|words| words.exp_minus_ratio(a, b)));
        // One percent too much is noticed.
        assert!(!check(0.99 * (-(a as f64) / b as f64).exp(), &|words| words.exp_minus_ratio(a, b)));
    }
}

#[test]
fn bounded_integers_are_uniform() {
    let mut words = Words::of_step(&Seed::for_tests(68).streams(Purpose::Split), 0);
    for bound in [6, 3 << 29, 3 << 61] {
        let (mut counts, mut remainders) = ([0; 6], [0; 3]);
        for _ in 0..60_000 {
            let value = words.below(bound);
            counts[(value / (bound / 6)) as usize] += 1;
            remainders[(value % 3) as usize] += 1;
        }
        assert!(crate::testing::uniformity(&counts) > 1e-6, "{bound}");
        // Without refusals one value in three has two words, and the others have three.
        assert!(crate::testing::uniformity(&remainders) > 1e-6, "{bound}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let seed = Seed::for_tests(1);
    for (n, d) in [(0, 1), (1, 0), (0, 0), ((1 << 46) + 1, 1), (1, (1 << 46) + 1), (u64::MAX, 2)] {
        assert!(matches!(DiscreteGaussianNoise::new(&seed, n, d), Err(Error::Ratio { .. })), "{n}/{d}");
        assert!(matches!(DiscreteLaplaceNoise::new(&seed, n, d), Err(Error::Ratio { .. })), "{n}/{d}");
    }
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 5e6] {
        assert!(matches!(
            DiscreteGaussianNoise::at_least(&seed, sigma),
            Err(Error::StandardDeviation { .. })
        ));
    }
    assert!(matches!(RoundedGaussianNoise::new(&seed, 41), Err(Error::GridBits { bits: 41 })));
    // Lowest terms decide, and the ends of the range work.
    let mut value = [0; 64];
    for (n, d) in [(1 << 50, 1 << 49), (1 << 46, 1), (1, 1 << 46), (1 << 46, (1 << 46) - 1)] {
        DiscreteGaussianNoise::new(&seed, n, d).unwrap().fill(0, &mut value);
        DiscreteLaplaceNoise::new(&seed, n, d).unwrap().fill(0, &mut value);
    }
}

#[test]
fn a_standard_deviation_is_rounded_up() {
    let seed = Seed::for_tests(1);
    for sigma in [2_f64.powi(-8), 0.0123, 0.5, 1.0, 1.1, std::f64::consts::PI, 1e3, 1e6 / 3.0, 4_194_304.0] {
        let noise = DiscreteGaussianNoise::at_least(&seed, sigma).unwrap();
        let NoiseDistribution::DiscreteGaussian { numerator, denominator } =
            crate::Noise::distribution(&noise)
        else {
            panic!("a discrete Gaussian says it is one");
        };
        // σ² as an exact integer over 2^104 (its 53 bits squared, exponents from −8 to 22), and the ratio
        // beside it.
        let digits = (sigma * 2_f64.powi(60)) as u128;
        let variance = numerator as f64 / denominator as f64;
        assert!(digits as f64 == sigma * 2_f64.powi(60) && denominator.is_power_of_two());
        assert!(variance >= sigma * sigma && variance <= sigma * sigma * (1.0 + 2e-6), "{sigma}");
    }
}
