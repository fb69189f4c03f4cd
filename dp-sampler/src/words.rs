//! The words of a stream in turn, from any block on.

use std::convert::Infallible;

use rand_core::TryRng;
use zeroize::Zeroize;

use crate::chacha::{Blocks, Sliced};
use crate::simd::{Work, dispatch};

/// Words from a block of words on, computed `LANES` blocks at a time. Wiped when dropped.
///
/// As a [`Stream`](crate::Stream), but for many short runs of words: going to another block costs no more
/// than the words that are left over, of which there are the fewer the fewer blocks are computed at a time.
pub(crate) struct Words<const LANES: usize> {
    blocks: Blocks,
    pub(crate) sliced: Sliced<LANES>,
    /// The next word: word `next % 16` of block `next / 16` of those in `sliced`.
    pub(crate) next: usize,
    /// The block after those in `sliced`.
    after: u64,
}

struct Refill<'a, const LANES: usize>(&'a mut Words<LANES>);

impl<const LANES: usize> Work for Refill<'_, LANES> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.blocks.sliced(self.0.after, &mut self.0.sliced);
    }
}

impl<const LANES: usize> Words<LANES> {
    /// The words from block 0 on.
    pub(crate) fn new(blocks: Blocks) -> Self {
        Self { blocks, sliced: [[0; LANES]; 16], next: 16 * LANES, after: 0 }
    }

    /// Goes to the first word of a block.
    #[inline]
    pub(crate) fn go_to_block(&mut self, block: u64) {
        self.after = block;
        self.next = 16 * LANES;
    }

    /// The next word, uniform over 32 bits.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> u32 {
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
    pub(crate) fn long(&mut self) -> u64 {
        let low = self.word();
        u64::from(low) | u64::from(self.word()) << 32
    }
}

impl<const LANES: usize> TryRng for Words<LANES> {
    type Error = Infallible;

    #[inline(always)]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    #[inline(always)]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.long())
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        for bytes in destination.chunks_mut(4) {
            bytes.copy_from_slice(&self.word().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

impl<const LANES: usize> Drop for Words<LANES> {
    fn drop(&mut self) {
        self.sliced.zeroize();
    }
}
