//! The words of a run of blocks of records, in turn.

use std::convert::Infallible;

use rand_core::TryRng;
use zeroize::Zeroize;

use crate::chacha::{Blocks, Sliced};
use crate::simd::{Work, dispatch};

/// Blocks of words that are computed at once: what a run of a few small blocks of records takes, so that little is left over.
const LANES: usize = 8;

/// Words from a block of words on, 64 bits at a time. Wiped when dropped.
///
/// As a [`Stream`](crate::Stream), but runs are many and short: going to the next one costs no more than a few words that are left over.
pub(super) struct Words {
    blocks: Blocks,
    sliced: Sliced<LANES>,
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
    /// The words from block 0 on.
    pub(super) fn new(blocks: Blocks) -> Self {
        Self { blocks, sliced: [[0; LANES]; 16], next: 16 * LANES, after: 0 }
    }

    /// Goes to the first word of a block.
    #[inline]
    pub(super) fn go_to_block(&mut self, block: u64) {
        self.after = block;
        self.next = 16 * LANES;
    }

    #[inline(always)]
    fn word(&mut self) -> u32 {
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
}

impl TryRng for Words {
    type Error = Infallible;

    #[inline(always)]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    #[inline(always)]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = self.word();
        Ok(u64::from(low) | u64::from(self.word()) << 32)
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        for bytes in destination.chunks_mut(4) {
            bytes.copy_from_slice(&self.word().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.sliced.zeroize();
    }
}
