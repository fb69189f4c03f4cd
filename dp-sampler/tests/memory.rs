//! Drawing allocates nothing, and samplers take memory that does not depend on the number of records.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dp_sampler::{
    BallsInBins, FixedSize, Permutation, Poisson, Purpose, Result, Seed, Shuffle, Subsampler, Subsampling,
    WithReplacement,
};

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[expect(unsafe_code, reason = "an allocator that counts has to be one")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Threads that are going down have nothing to count with.
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many bytes are allocated meanwhile.
fn allocated<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.get();
    let result = work();
    (result, BYTES.get() - before)
}

/// The bytes that a sampler takes; its draws must take none.
fn bytes<P: Subsampling>(plan: P, records: u64) -> usize {
    let seed = Seed::for_tests(1);
    let (sampler, bytes) = allocated(|| plan.bind(records, &seed));
    let mut sampler = sampler.unwrap();
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    let ((), drawing) = allocated(|| {
        // In order, across epochs, and anywhere.
        (0..300).chain([u64::MAX, 1 << 40]).for_each(|step| sampler.draw(step, &mut batch));
    });
    assert_eq!(drawing, 0, "{} allocates while drawing", sampler.scheme());
    bytes + size_of::<P::Sampler>()
}

#[test]
fn memory_follows_the_batch_and_not_the_records() -> Result<()> {
    for records in [10_000_u64, 10_000_000, 1 << 33, 1 << 63] {
        let rate = 100.0 / records as f64;
        // Thresholds of the binomial distribution: at most 112 of 16 bytes, and what computes them.
        assert!(bytes(Poisson::rate(rate)?, records) < 1 << 20);
        // A table of twice the batch, rounded up to a power of two.
        assert!(bytes(FixedSize::batch(100)?, records) < 256 * 8 + 1_000);
        for bytes in [
            bytes(FixedSize::batch(100)?.by_permutation(), records),
            bytes(WithReplacement::batch(100)?, records),
            bytes(Shuffle::batch(100)?, records),
            // A path of 65 nodes of 32 bytes.
            bytes(BallsInBins::batch(100)?, records) - 65 * 32,
        ] {
            assert!(bytes < 1_500, "{bytes} of {records}");
        }
    }
    Ok(())
}

#[test]
fn a_whole_order_takes_no_memory() -> Result<()> {
    let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    let (permutation, bytes) = allocated(|| Permutation::new(1_000_000, &mut stream));
    let permutation = permutation?;
    // 16 keys of three words.
    assert!(bytes < 300, "{bytes}");
    let (sum, bytes) = allocated(|| permutation.iter().sum::<u64>());
    assert_eq!((sum, bytes), (999_999 * 1_000_000 / 2, 0));
    Ok(())
}
