//! What the tests of stored ledgers share.
#![allow(dead_code, reason = "each program uses its part")]

use dp_accountant::{Budget, Event, Mechanism, Relation, Sampling};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const BUDGET: Budget = Budget { epsilon: 50.0, delta: 1e-5, relation: Relation::AddRemove };

/// A folder of its own that goes when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("dp-accountant-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("spent.ledger")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn event(noise_multiplier: f64) -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
}

/// The k-th debit of a series in which no two neighbours are alike. Closed forms only, so that they take
/// microseconds.
pub(crate) fn nth(k: u64) -> (Event, u64) {
    (event(300.0 + (k % 3) as f64 / 7.0), k % 5 + 1)
}
