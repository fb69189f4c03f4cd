//! Times of one draw of every sampler, and of a whole permutation beside the shuffle of the crate `rand`, as
//! JSON.
//!
//! `cargo run --release -p dp-sampler --example speed -- [SECONDS A MEASUREMENT] [ELEMENTS OF THE
//! PERMUTATION]`
//!
//! `peers/compare` runs it beside d3p and JAX.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::hint::black_box;
use std::time::Instant;

use dp_sampler::{
    BallsInBins, FixedSize, Permutation, Poisson, Purpose, Result, Seed, Shuffle, Subsampler, Subsampling,
    WithReplacement,
};
use rand::seq::SliceRandom;

/// Microseconds a draw, the best of seven blocks: on a busy machine the others measure the neighbours.
fn time<P: Subsampling>(plan: P, records: u64, seconds: f64) -> Result<f64> {
    let mut sampler = plan.bind(records, &Seed::for_tests(1))?;
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    let (mut step, mut count) = (0, 1);
    let mut block = |count: u64| {
        let begun = Instant::now();
        for _ in 0..count {
            sampler.draw(step, &mut batch);
            black_box(&mut batch);
            step += 1;
        }
        begun.elapsed().as_secs_f64()
    };
    while block(count) < seconds / 14.0 {
        count *= 2;
    }
    let best = (0..7).map(|_| block(count)).fold(f64::INFINITY, f64::min);
    Ok(1e6 * best / count as f64)
}

/// The largest resident memory so far, in MB; 0 where the system does not tell.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0.5);
    let elements: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000_000);

    let mut entries = Vec::new();
    for (batch, records) in [(100, 10_000), (128, 60_000), (10_000, 10_000_000)] {
        let mut entry = |name: &str, us: f64| {
            entries.push(format!("\"{name}, {batch} of {records}\": {us:.4}"));
        };
        let fixed = FixedSize::batch(batch)?;
        entry("poisson", time(Poisson::rate(batch as f64 / records as f64)?, records, seconds)?);
        entry("fixed", time(fixed, records, seconds)?);
        entry("permutation", time(fixed.by_permutation(), records, seconds)?);
        entry("with replacement", time(WithReplacement::batch(batch)?, records, seconds)?);
        entry("shuffle", time(Shuffle::batch(batch)?, records, seconds)?);
        entry("balls in bins", time(BallsInBins::batch(batch)?, records, seconds)?);
    }

    let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    let begun = Instant::now();
    let permutation = Permutation::new(elements, &mut stream)?;
    let (mut images, mut start, mut sum) = ([0; 4_096], 0, 0_u64);
    while start < elements {
        let here = (elements - start).min(4_096) as usize;
        permutation.apply_range(start, &mut images[..here])?;
        sum = images[..here].iter().fold(sum, |sum, &image| sum.wrapping_add(image));
        start += here as u64;
    }
    // Each exactly once.
    assert_eq!(sum, (u128::from(elements) * u128::from(elements - 1) / 2) as u64);
    let (keyed, keyed_mb) = (begun.elapsed().as_secs_f64(), peak_mb());

    // The same generator; the smallest integers that hold the numbers.
    let begun = Instant::now();
    let mut order: Vec<u32> = (0..elements.min(1 << 32) as u32).collect();
    order.shuffle(&mut stream);
    black_box(&mut order);
    let (shuffled, shuffled_mb) = (begun.elapsed().as_secs_f64(), peak_mb());

    println!(
        "{{\"draws_us\": {{{}}}, \"order_of\": {elements}, \"permutation_s\": {keyed:.4}, \"permutation_peak_mb\": \
         {keyed_mb:.1}, \"rand_shuffle_s\": {shuffled:.4}, \"rand_shuffle_peak_mb\": {shuffled_mb:.1}}}",
        entries.join(", ")
    );
    Ok(())
}
