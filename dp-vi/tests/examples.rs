//! The examples run, and what they assert holds.

#[path = "../examples/full_batch.rs"]
mod full_batch;
#[path = "../examples/hand_written.rs"]
mod hand_written;
#[cfg(feature = "nuts")]
#[path = "../examples/nuts.rs"]
mod nuts;
#[path = "../examples/own_distribution.rs"]
mod own_distribution;
#[path = "../examples/own_mechanism.rs"]
mod own_mechanism;
#[path = "../examples/own_optimiser.rs"]
mod own_optimiser;
#[path = "../examples/resuming.rs"]
mod resuming;
#[path = "../examples/shared_ledger.rs"]
mod shared_ledger;
#[path = "../examples/vae.rs"]
mod vae;

#[test]
fn full_batch_runs() {
    full_batch::main().unwrap();
}

#[test]
fn hand_written_runs() {
    hand_written::main().unwrap();
}

#[cfg(feature = "nuts")]
#[test]
fn nuts_runs() {
    nuts::main().unwrap();
}

#[test]
fn own_distribution_runs() {
    own_distribution::main().unwrap();
}

#[test]
fn own_mechanism_runs() {
    own_mechanism::main().unwrap();
}

#[test]
fn own_optimiser_runs() {
    own_optimiser::main().unwrap();
}

#[test]
fn resuming_runs() {
    resuming::main().unwrap();
}

#[test]
fn shared_ledger_runs() {
    shared_ledger::main().unwrap();
}

#[test]
fn vae_runs() {
    vae::main().unwrap();
}
