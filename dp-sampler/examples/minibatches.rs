//! Minibatches for somebody else's training loop: which records, at every step, for a loop that knows nothing
//! of this crate.
//!
//! `cargo run --release -p dp-sampler --example minibatches`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_sampler::{BallsInBins, FixedSize, Poisson, Result, Scheme, Seed, Shuffle, Subsampler, Subsampling};

/// What a training loop needs: batches one after the other, in one buffer that is allocated once.
struct Minibatches<S> {
    sampler: S,
    step: u64,
    batch: Vec<u64>,
}

impl<S: Subsampler> Minibatches<S> {
    fn new<P: Subsampling<Sampler = S>>(plan: P, records: u64, seed: &Seed) -> Result<Self> {
        let sampler = plan.bind(records, seed)?;
        let batch = Vec::with_capacity(sampler.max_batch_hint());
        Ok(Self { sampler, step: 0, batch })
    }

    /// The next batch. A run that was interrupted sets `step` and goes on: no other state is needed.
    fn next_batch(&mut self) -> &[u64] {
        self.sampler.draw(self.step, &mut self.batch);
        self.step += 1;
        &self.batch
    }
}

/// The loop: gradient descent on the squared distance to the mean, with the divisor that does not give the
/// length of a batch away. Clipping and noise are left out; without them nothing is private.
fn train<P: Subsampling>(plan: P, values: &[f64]) -> Result<(f64, Scheme)> {
    let seed = Seed::from_os()?;
    let mut batches = Minibatches::new(plan, values.len() as u64, &seed)?;
    let expected = batches.sampler.expected_batch();
    let mut mean = 0.0;
    for step in 0..5_000 {
        let gradient: f64 = batches.next_batch().iter().map(|&record| mean - values[record as usize]).sum();
        mean -= gradient / expected / (10.0 + f64::from(step)).max(20.0) * 2.0;
    }
    Ok((mean, batches.sampler.scheme()))
}

fn main() -> Result<()> {
    let values: Vec<f64> = (0..6_000).map(|i| f64::from(i % 7)).collect(); // their mean is 3, nearly
    for (mean, scheme) in [
        train(Poisson::rate(0.02)?, &values)?,
        train(FixedSize::batch(120)?, &values)?,
        train(Shuffle::batch(120)?, &values)?,
        train(BallsInBins::batch(120)?, &values)?,
    ] {
        println!("mean {mean:.3} by {scheme}");
    }
    Ok(())
}
