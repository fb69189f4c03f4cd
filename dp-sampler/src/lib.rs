//! Secret random subsets and secret noise for differentially private training.
//!
//! A differentially private algorithm is only as private as its random numbers. This crate provides them: a secret
//! seed, which is never printed and is erased when it is dropped; one ChaCha20 stream for each purpose and step;
//! samplers that select subsets of the records; and noise. Each sampler states the scheme by which it samples and a
//! bound on how far it deviates from it, and each kind of noise states its distribution. Gaussian and Laplace noise are
//! generated with their full tails; discrete Gaussian and discrete Laplace noise, for sums of integers, are exact.
//!
//! ```
//! use dp_sampler::{GaussianNoise, NoiseSource, Poisson, Seed, Subsampler, Subsampling};
//!
//! let seed = Seed::from_os()?;
//! let mut sampler = Poisson::rate(0.01)?.bind(10_000, &seed)?;
//! let noise = GaussianNoise::new(&seed);
//!
//! let mut batch = Vec::with_capacity(sampler.max_batch_hint());
//! let mut z = [0.0; 10];
//! for step in 0..100 {
//!     sampler.draw(step, &mut batch);         // which records
//!     noise.fill(step, &mut z);               // independent standard normals
//!     assert!(batch.iter().all(|&record| record < 10_000));
//! }
//! println!("each step uses {}", sampler.scheme());
//! # Ok::<(), dp_sampler::Error>(())
//! ```
//!
//! # What is promised
//!
//! | part | promise | how it is known |
//! |---|---|---|
//! | [`Stream`] | ChaCha20, 20 rounds, of RFC 8439 | the RFC's vectors |
//! | [`Poisson`] | each batch within its [deviation](Subsampler::deviation) (below 2⁻⁶⁰) of Poisson subsampling in total variation | proven in `poisson::thresholds`, checked against exact arithmetic |
//! | [`FixedSize`] | every subset equally likely | exact integers and rejection; all subsets counted for small sizes |
//! | [`FixedSize::by_permutation`] | above 1,024 records pairs of elements as under ideal round functions; more is measured | [`Permutation`] |
//! | [`GaussianNoise`], [`LaplaceNoise`] | within 5 units in the last place of a true variable (Gaussians near 0 within `g R`, see there), tails to 13 σ and to 88 | compared with reference values, tested by distribution also beyond 8 σ |
//! | [`DiscreteGaussianNoise`], [`DiscreteLaplaceNoise`] | the exact law | integers and comparisons that are carried on until decided; the law tested value by value |
//! | [`RoundedGaussianNoise`] | the law within 2⁻²⁴⁰ | the same |
//! | [`GridGaussianNoise`] | the law within 2⁻¹²⁰ | proven: doubles with a bound on their error, 256-bit arithmetic where they do not decide |
//! | [`WithReplacement`] | independent uniform draws | exact integers and rejection |
//! | [`Shuffle`] | each record once an epoch, in an order as uniform as [`Permutation`] | exact up to 1,024 records, measured above |
//! | [`ExponentialChoice`] | candidates by exponential weights, exactly | integers and comparisons that are carried on until decided |
//! | [`BallsInBins`] | each record at one independent step of an epoch: lengths within its [deviation](Subsampler::deviation), members as [`Permutation`] | proven in `balls_in_bins::halving` |
//!
//! With the features `wgpu` and `cuda`, which need Rust 1.92, much of this is also available on GPUs: see the module
//! `gpu`.
//!
//! All statements assume that ChaCha20 cannot be distinguished from a truly random function; with such a function in
//! its place they hold as they stand. The running time is not constant, and may reveal something about the random
//! numbers.

// Devices are talked to behind this feature alone.
#![cfg_attr(not(feature = "gpu"), forbid(unsafe_code))]

mod balls_in_bins;
mod chacha;
mod choice;
mod error;
mod fixed_size;
mod fraction;
mod full;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(test)]
mod laws;
mod noise;
mod permutation;
mod poisson;
#[cfg(feature = "record")]
pub mod record;
mod seed;
mod shuffle;
mod simd;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
mod stream;
mod subsampling;
#[cfg(test)]
mod testing;
mod with_replacement;
mod words;

pub use balls_in_bins::{BallsInBins, BallsInBinsSampler};
pub use choice::ExponentialChoice;
pub use error::{Error, Result};
pub use fixed_size::{FixedSize, FixedSizeSampler};
pub use full::{FullBatch, FullBatchSampler};
pub use noise::{
    DiscreteGaussianNoise, DiscreteLaplaceNoise, GaussianNoise, GridGaussianNoise, LaplaceNoise,
    MAX_NOISE_CHUNKS, NOISE_CHUNK, Noise, NoiseDistribution, NoiseSource, RoundedGaussianNoise,
};
pub use permutation::{Images, Permutation};
pub use poisson::{Poisson, PoissonSampler};
pub use rand_core;
pub use seed::{Purpose, Seed, Streams};
pub use shuffle::{Shuffle, ShuffleSampler};
pub use stream::Stream;
pub use subsampling::{Scheme, Subsampler, Subsampling};
pub use with_replacement::{WithReplacement, WithReplacementSampler};

/// This crate's version. Runs that have to be repeated bit for bit are bound to it.
///
/// ```
/// assert!(dp_sampler::VERSION.starts_with(|digit: char| digit.is_ascii_digit()));
/// ```
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most records that can be drawn from: 2⁶³.
pub const MAX_RECORDS: u64 = 1 << 63;

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
