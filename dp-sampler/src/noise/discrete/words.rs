//! Words for rejection samplers: every few values have blocks of their own.

use crate::chacha::LANES;
use crate::{Streams, words};

/// Values that are drawn one after the other from one run of words. Few, so that many threads of a GPU find
/// work; enough to use up what sixteen blocks side by side give.
pub(crate) const RUN: usize = 16;

/// The blocks of a run: its number times this, and on. A value takes about one block. That a run needs a
/// million has a probability below e⁻³⁹⁰⁰: wherever a run is, its present value is done within 64 words with
/// a probability far above 1/64 (a try takes about ten words, and at least one in six succeeds), and fewer
/// than 16 successes in 2¹⁸ tries of that probability are as unlikely as that.
pub(crate) const RUN_BLOCKS: u64 = 1 << 20;

/// The words of runs of one step, in turn. Wiped when dropped.
pub(crate) type Words = words::Words<LANES>;

impl Words {
    /// The words of a step.
    pub(crate) fn of_step(streams: &Streams, step: u64) -> Self {
        Self::new(streams.blocks(step))
    }

    /// These words first.
    #[cfg(test)]
    pub(super) fn scripted(script: &[u32]) -> Self {
        let mut words = Self::of_step(&crate::Seed::for_tests(0).streams(crate::Purpose::Split), 0);
        words.next = 0;
        for (i, &word) in script.iter().enumerate() {
            words.sliced[i % 16][i / 16] = word;
        }
        words
    }

    /// Goes to the first word of a run.
    pub(super) fn begin(&mut self, run: u64) {
        self.go_to_block(run * RUN_BLOCKS);
    }

    /// A random bit: the highest of the next word.
    #[inline(always)]
    pub(super) fn bit(&mut self) -> bool {
        self.word() >> 31 == 1
    }

    /// An exactly uniform integer below `bound`, by Lemire's rejection on one word where `bound` ≤ 2³¹, on
    /// two above; below 2⁶³.
    #[inline(always)]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of word · bound is uniform once the (2^32 or 2^64 mod bound) smallest low halves are
        // turned away.
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
