//! Which random words have been used; needs the feature `record`.
//!
//! A program that releases something must never use a random word twice: two releases with the same noise
//! differ by the data alone, and two steps with the same batch are amplified once and not twice. With this
//! module a test of such a program can see which words each of its releases used, and check that they are
//! different ones.
//!
//! ```
//! use dp_sampler::{GaussianNoise, NoiseSource, Seed, record};
//!
//! let noise = GaussianNoise::new(&Seed::for_tests(1));
//! let mut z = [0.0; 5];
//! record::start();
//! noise.fill(0, &mut z);
//! let first = record::take();
//! noise.fill(1, &mut z);
//! let second = record::take();
//! assert!(!first.is_empty() && first.iter().all(|a| second.iter().all(|b| !a.overlaps(b))));
//! noise.fill(1, &mut z); // the noise of step 1 a second time
//! assert_eq!(record::take(), second);
//! ```
//!
//! The record is one for the whole process, for noise may be drawn on any thread: tests that use it run one
//! at a time. Words that are drawn on a device are not recorded. The feature is for tests: nothing secret is
//! kept, but recording takes time and memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Consecutive blocks of one stream, each of sixteen words of 32 bits, that have been used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Used {
    /// A fingerprint of the stream's key, from which the key cannot be found. Streams of different purposes
    /// have different keys, except with a probability of 2⁻⁶⁴ a pair.
    pub key: u64,
    /// The number of the stream under this key: as a rule, the step.
    pub stream: u64,
    /// The blocks. Some are computed side by side, and the last of them need not have been looked at.
    pub blocks: Range<u64>,
}

impl Used {
    /// Whether both contain the same block of the same stream.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.key, self.stream) == (other.key, other.stream)
            && self.blocks.start < other.blocks.end
            && other.blocks.start < self.blocks.end
    }
}

static RECORDING: AtomicBool = AtomicBool::new(false);
static USED: Mutex<Vec<Used>> = Mutex::new(Vec::new());

fn used() -> MutexGuard<'static, Vec<Used>> {
    // A test that failed while it held the lock left a whole vector behind.
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a new record, for all threads of the process.
pub fn start() {
    used().clear();
    RECORDING.store(true, Ordering::SeqCst);
}

/// What has been used since the record began or was last taken, in the order of use. Recording goes on.
#[must_use]
pub fn take() -> Vec<Used> {
    std::mem::take(&mut used())
}

/// Ends the record and forgets what is in it.
pub fn stop() {
    RECORDING.store(false, Ordering::SeqCst);
    used().clear();
}

/// Notes that `count` blocks of a stream from `first` on have been used.
pub(crate) fn note(key: [u8; 32], stream: u64, first: u64, count: u64) {
    if RECORDING.load(Ordering::Relaxed) && count > 0 {
        // Words of a block that no stream reaches.
        let mut generator = ChaCha20Rng::from_seed(key);
        generator.set_stream(u64::MAX);
        generator.set_word_pos(u128::from(u64::MAX) * 16);
        let key = generator.next_u64();
        used().push(Used { key, stream, blocks: first..first.saturating_add(count) });
    }
}
