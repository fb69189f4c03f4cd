//! Words for rejection samplers: every few values have blocks of their own.

use zeroize::Zeroize;

use crate::Streams;
use crate::chacha::{Blocks, LANES, Sliced};
use crate::simd::{Work, dispatch};

/// Values that are drawn one after the other from one run of words. Few, so that many threads of a GPU find work; enough to use
/// up what sixteen blocks side by side give.
pub(crate) const RUN: usize = 16;

/// The blocks of a run: its number times this, and on. A value takes about one block; that a run needs a million has a
/// probability below e^-100,000.
pub(crate) const RUN_BLOCKS: u64 = 1 << 20;

/// The words of runs of one step, in turn. Wiped when dropped.
pub(super) struct Words {
    blocks: Blocks,
    sliced: Sliced,
    /// The next word: word `next % 16` of block `next / 16` of those in `sliced`.
    next: usize,
    /// The block after those in `sliced`.
    after: u64,
}

struct Refill<'a>(&'a mut Words);

impl Work for Refill<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.blocks.sliced(self.0.after, &mut self.0.sliced);
    }
}

impl Words {
    pub(super) fn new(streams: &Streams, step: u64) -> Self {
        Self { blocks: streams.blocks(step), sliced: [[0; LANES]; 16], next: 16 * LANES, after: 0 }
    }

    /// These words first.
    #[cfg(test)]
    pub(super) fn scripted(script: &[u32]) -> Self {
        let mut words = Self::new(&crate::Seed::for_tests(0).streams(crate::Purpose::Split), 0);
        words.next = 0;
        for (i, &word) in script.iter().enumerate() {
            words.sliced[i % 16][i / 16] = word;
        }
        words
    }

    /// Goes to the first word of a run.
    pub(super) fn begin(&mut self, run: u64) {
        self.after = run * RUN_BLOCKS;
        self.next = 16 * LANES;
    }

    /// The next word, uniform over 32 bits.
    #[inline(always)]
    pub(super) fn word(&mut self) -> u32 {
        if self.next == 16 * LANES {
            self.refill();
        }
        let word = self.sliced[self.next % 16][self.next / 16];
        self.next += 1;
        word
    }

    #[inline(never)]
    fn refill(&mut self) {
        dispatch(Refill(self));
        self.after += LANES as u64;
        self.next = 0;
    }

    /// The next two words, low half first.
    #[inline(always)]
    fn long(&mut self) -> u64 {
        let low = self.word();
        u64::from(low) | u64::from(self.word()) << 32
    }

    /// A random bit: the highest of the next word.
    #[inline(always)]
    pub(super) fn bit(&mut self) -> bool {
        self.word() >> 31 == 1
    }

    /// An exactly uniform integer below `bound`, by Lemire's rejection on one word where `bound` ≤ 2³¹, on two above; below 2⁶³.
    #[inline(always)]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        // The high half of word · bound is uniform once the (2^32 or 2^64 mod bound) smallest low halves are turned away.
        if bound <= 1 << 31 {
            loop {
                let product = u64::from(self.word()) * bound;
                let low = product & 0xffff_ffff;
                if low >= bound || low >= (1 << 32) % bound {
                    return product >> 32;
                }
            }
        }
        loop {
            let product = u128::from(self.long()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.sliced.zeroize();
    }
}
