//! Tests of the public interface: private variational inference.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod allocations;
mod amortised;
mod checkpoint_killed;
mod checkpoints;
mod common;
mod convergence;
mod defaults;
mod exact_noise;
mod fits;
mod gradients;
mod guides;
mod hand_written;
mod noise_aware;
mod number_of_records;
mod optimisers;
mod payments;
mod plans;
mod probes;
mod public;
mod rehearsal;
mod report;
mod streams;
mod summaries;
mod trace_regression;
mod units;
