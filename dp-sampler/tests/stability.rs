//! Pins every stream: a run with a test seed must give the same numbers in every version.
//!
//! A change that fails here is a breaking change, and belongs in the changelog as one.

use dp_sampler::rand_core::Rng;
use dp_sampler::{
    BallsInBins, DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialChoice, FixedSize, GaussianNoise,
    GridGaussianNoise, LaplaceNoise, NoiseSource, Permutation, Poisson, Purpose, Result,
    RoundedGaussianNoise, Seed, Shuffle, Streams, Subsampler, Subsampling, WithReplacement,
};

/// The lines `name,value,value,…` of the golden file; those with `#` say what made them.
fn golden(name: &str) -> Vec<u64> {
    let line = include_str!("golden/streams.csv")
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(','))
        .unwrap_or_else(|| panic!("no golden line {name}"));
    line.split(',').map(|word| u64::from_str_radix(word, 16).unwrap()).collect()
}

/// Compares with the golden line, and on failure prints the line as it would be now.
fn check(name: &str, values: &[u64]) {
    let now: Vec<String> = values.iter().map(|value| format!("{value:x}")).collect();
    assert_eq!(values, golden(name), "the line is now {name},{}", now.join(","));
}

fn first_words(streams: &Streams) -> Vec<u64> {
    [0, 1, u64::MAX]
        .into_iter()
        .flat_map(|step| {
            let mut stream = streams.at(step);
            [stream.next_u64(), stream.next_u64()]
        })
        .collect()
}

fn first_batch<P: Subsampling>(plan: P, records: u64, keep: usize) -> Result<Vec<u64>> {
    let mut batch = Vec::new();
    plan.bind(records, &Seed::for_tests(1))?.draw(0, &mut batch);
    let length = batch.len() as u64;
    batch.truncate(keep);
    batch.push(length);
    Ok(batch)
}

fn last_of_batch<P: Subsampling>(plan: P, records: u64, keep: usize) -> Result<Vec<u64>> {
    let mut batch = Vec::new();
    plan.bind(records, &Seed::for_tests(1))?.draw(0, &mut batch);
    let mut last = batch.split_off(batch.len() - keep);
    last.push((batch.len() + keep) as u64);
    Ok(last)
}

#[test]
fn streams_are_stable() {
    let seed = Seed::for_tests(1);
    for (name, purpose) in [
        ("subsample", Purpose::Subsample),
        ("gaussian noise", Purpose::GaussianNoise),
        ("guide draws", Purpose::GuideDraws),
        ("split", Purpose::Split),
        ("initialisation", Purpose::Initialisation),
        ("custom", Purpose::Custom("a name of one's own")),
    ] {
        check(name, &first_words(&seed.streams(purpose)));
    }
    check("child", &first_words(&seed.streams(Purpose::Subsample).child(7)));
    let mut stream = seed.streams(Purpose::Split).at(0);
    let bounded: Vec<u64> = [1, 6, 1_000, 3 << 62, u64::MAX].map(|bound| stream.below(bound)).to_vec();
    check("below", &bounded);
    let choice = ExponentialChoice::from_streams(seed.streams(Purpose::Custom("choice")), 1, 5).unwrap();
    let chosen: Vec<u64> =
        (0..12).map(|step| choice.draw(step, &[0, 7, 20, 25, 40]).unwrap() as u64).collect();
    check("choice", &chosen);
}

#[test]
fn batches_are_stable() -> Result<()> {
    check("poisson lists", &first_batch(Poisson::rate(0.01)?, 10_000, 12)?);
    check("poisson words", &first_batch(Poisson::rate(0.3)?, 1_000, 12)?);
    check("poisson runs", &last_of_batch(Poisson::rate(0.01)?, 300_000, 12)?);
    check("poisson huge", &first_batch(Poisson::rate(2_f64.powi(-50))?, 1 << 55, 12)?);
    check("fixed table", &first_batch(FixedSize::batch(128)?, 60_000, 12)?);
    check("fixed set", &first_batch(FixedSize::batch(300)?, 1_000, 12)?);
    check("fixed network", &first_batch(FixedSize::batch(128)?.by_permutation(), 60_000, 12)?);
    check("fixed shuffle", &first_batch(FixedSize::batch(100)?.by_permutation(), 1_000, 12)?);
    check("with replacement", &first_batch(WithReplacement::batch(128)?, 60_000, 12)?);
    check("shuffle", &first_batch(Shuffle::batch(128)?, 60_000, 12)?);
    check("balls in bins", &first_batch(BallsInBins::batch(128)?, 60_000, 12)?);
    check("balls in few bins", &first_batch(BallsInBins::bins(3)?, 100, 12)?);
    let permutation = Permutation::new(1 << 63, &mut Seed::for_tests(1).streams(Purpose::Subsample).at(0))?;
    check("permutation", &[permutation.apply(0)?, permutation.apply(1)?, permutation.invert(0)?]);
    Ok(())
}

/// The first eight values at step 0, and at step 2⁶⁴ − 1 ten thousand of them hashed: a few take the branch
/// for rare words.
fn check_noise<T: Copy + Default>(name: &str, noise: &impl NoiseSource<T>, bits: impl Fn(T) -> u64) {
    let mut values = vec![T::default(); 10_000];
    noise.fill(0, &mut values[..8]);
    let mut pinned: Vec<u64> = values[..8].iter().map(|&value| bits(value)).collect();
    noise.fill(u64::MAX, &mut values);
    let hash =
        |hash: u64, &value: &T| (hash.rotate_left(5) ^ bits(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    pinned.push(values.iter().fold(0, hash));
    check(name, &pinned);
}

#[test]
fn continuous_noise_is_stable_to_the_last_bit() {
    let seed = Seed::for_tests(1);
    check_noise::<f64>("gaussian f64", &GaussianNoise::new(&seed), f64::to_bits);
    check_noise::<f32>("gaussian f32", &GaussianNoise::new(&seed), |z| z.to_bits().into());
    check_noise::<f64>("laplace f64", &LaplaceNoise::new(&seed), f64::to_bits);
    check_noise::<f32>("laplace f32", &LaplaceNoise::new(&seed), |z| z.to_bits().into());
}

#[test]
fn discrete_noise_is_stable() -> Result<()> {
    let seed = Seed::for_tests(1);
    let bits = |x: i64| x as u64;
    check_noise("discrete gaussian 12345/67", &DiscreteGaussianNoise::new(&seed, 12_345, 67)?, bits);
    check_noise("discrete gaussian 2^40", &DiscreteGaussianNoise::new(&seed, 1 << 40, 1)?, bits);
    check_noise("discrete laplace 3/2", &DiscreteLaplaceNoise::new(&seed, 3, 2)?, bits);
    check_noise("discrete laplace 2^40", &DiscreteLaplaceNoise::new(&seed, 1 << 40, 1)?, bits);
    check_noise("rounded gaussian 20", &RoundedGaussianNoise::new(&seed, 20)?, bits);
    check_noise("grid gaussian", &GridGaussianNoise::new(&seed), bits);
    Ok(())
}
