//! The mean of a bounded quantity under differential privacy, with noise that has no floating-point hole.
//!
//! `cargo run --release -p dp-sampler --example private_mean`
//!
//! Every record's contribution is clamped to public bounds and rounded to a grid, so that it is an integer.
//! Sum and number of records get discrete Gaussian noise and are released; what follows uses only those two
//! numbers.

#![allow(clippy::print_stdout)]

use dp_sampler::{DiscreteGaussianNoise, Noise, NoiseSource, Result, Seed};

/// Public bounds of an age in years, and steps of the grid in a year.
const LEAST: f64 = 0.0;
const MOST: f64 = 100.0;
const STEPS: f64 = 4.0;

/// Zero-concentrated differential privacy for both releases together, when one record is added or taken away.
const RHO: f64 = 0.02;
const DELTA: f64 = 1e-6;

/// Noise that makes a sum, which one record changes by at most `sensitivity`, (ρ/2)-zCDP: σ = Δ / √ρ.
fn noise_for(seed: &Seed, sensitivity: f64) -> Result<DiscreteGaussianNoise> {
    DiscreteGaussianNoise::at_least(seed, sensitivity / RHO.sqrt())
}

fn main() -> Result<()> {
    // Ten thousand made-up ages; one of them absurd.
    let mut ages: Vec<f64> = (0..10_000).map(|i| 18.0 + f64::from(i * i % 641) / 10.0).collect();
    ages[77] = 1e9;

    let on_grid = |age: f64| ((age.clamp(LEAST, MOST) - LEAST) * STEPS).round() as i64;
    let sum: i64 = ages.iter().map(|&age| on_grid(age)).sum();
    let count = ages.len() as i64;

    // One seed for each: two noises of one kind from one seed would be the same numbers.
    let (sum_seed, count_seed) = (Seed::from_os()?, Seed::from_os()?);
    let sum_noise = noise_for(&sum_seed, (MOST - LEAST) * STEPS)?;
    let count_noise = noise_for(&count_seed, 1.0)?;
    let (mut a, mut b) = ([0; 1], [0; 1]);
    sum_noise.fill(0, &mut a);
    count_noise.fill(0, &mut b);
    let (noisy_sum, noisy_count) = (sum + a[0], count + b[0]);

    let mean = LEAST + noisy_sum as f64 / STEPS / noisy_count.max(1) as f64;
    let exact = ages.iter().map(|age| age.clamp(LEAST, MOST)).sum::<f64>() / ages.len() as f64;
    println!("noise of the sum      {}", sum_noise.distribution());
    println!("noise of the number   {}", count_noise.distribution());
    println!("mean age              {mean:.3} (without noise {exact:.3}, which would not be published)");
    // ρ-zCDP implies (ρ + 2 √(ρ ln 1/δ), δ)-differential privacy (Bun, Steinke 2016, proposition 1.3).
    let epsilon = RHO + 2.0 * (RHO * (1.0 / DELTA).ln()).sqrt();
    println!(
        "privacy               {RHO}-zCDP, so ({epsilon:.2}, {DELTA:e})-differential privacy, add/remove"
    );
    println!("secret seeds          {}", sum_noise.is_secret() && count_noise.is_secret());
    Ok(())
}
