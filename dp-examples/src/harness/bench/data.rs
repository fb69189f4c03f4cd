//! Numbers that look random and are the same everywhere.

use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

/// The seed of everything in a benchmark; known, so nothing is private.
#[must_use]
pub fn seed() -> Seed {
    Seed::for_tests(1)
}

/// Standard normal numbers, different ones for each `stream`.
#[must_use]
pub fn normals(stream: u64, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    GaussianNoise::with_purpose(&seed(), Purpose::Custom("bench data")).fill(stream, &mut numbers);
    numbers
}

/// Labels with `P(1) ≈ sigmoid(logit)`: 1 where `logit + 1.7·z > 0`, `z` from this stream.
#[must_use]
pub fn labels(stream: u64, logits: &[f64]) -> Vec<f64> {
    let positive = |(logit, z): (&f64, f64)| f64::from(u8::from(logit + 1.7 * z > 0.0));
    logits.iter().zip(normals(stream, logits.len())).map(positive).collect()
}
