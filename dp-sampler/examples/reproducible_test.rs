//! A test of a randomised program that gives the same numbers every time, on every machine, and cannot be
//! mistaken for a private run.
//!
//! `cargo run -p dp-sampler --example reproducible_test`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_sampler::{GaussianNoise, NoiseSource, Poisson, Result, Seed, Subsampler, Subsampling};

/// The program under test: a noisy count of the even records in every batch.
fn noisy_counts(seed: &Seed, steps: std::ops::Range<u64>) -> Result<(Vec<f64>, bool)> {
    let mut sampler = Poisson::rate(0.1)?.bind(1_000, seed)?;
    let noise = GaussianNoise::new(seed);
    let (mut batch, mut z) = (Vec::with_capacity(sampler.max_batch_hint()), [0.0]);
    let counts = steps.map(|step| {
        sampler.draw(step, &mut batch);
        noise.fill(step, &mut z);
        batch.iter().filter(|&&record| record % 2 == 0).count() as f64 + z[0]
    });
    Ok((counts.collect(), sampler.is_secret()))
}

fn main() -> Result<()> {
    let (counts, secret) = noisy_counts(&Seed::for_tests(7), 0..10)?;
    // The same seed, the same numbers; and from the middle on, as if the run had been resumed there.
    assert_eq!(noisy_counts(&Seed::for_tests(7), 0..10)?.0, counts);
    assert_eq!(noisy_counts(&Seed::for_tests(7), 5..10)?.0, counts[5..]);
    assert_ne!(noisy_counts(&Seed::for_tests(8), 0..10)?.0, counts);
    // It says of itself that it protects nobody; a release would refuse it.
    assert!(!secret);
    let (fresh, secret) = noisy_counts(&Seed::from_os()?, 0..10)?;
    assert!(secret && fresh != counts);
    println!("ten noisy counts, the same in every run: {counts:.2?}");
    Ok(())
}
