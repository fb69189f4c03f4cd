//! The words of a run, in turn: the `Words` of the discrete noise and of Poisson batches on a device, one
//! unit a run.

use cubecl::prelude::*;

use super::chacha;

/// Where a unit is in its run.
#[derive(CubeType)]
pub(crate) struct Words {
    /// The block that words are taken from.
    block: Array<u32>,
    /// The number of the next word in it; the number of the next block, low word first; the step, likewise.
    place: Array<u32>,
}

#[cube]
impl Words {
    /// The words from the first one of a block on.
    pub(crate) fn begin(step_low: u32, step_high: u32, block_low: u32, block_high: u32) -> Words {
        let mut place = Array::<u32>::new(5usize);
        place[0usize] = 16u32;
        place[1usize] = block_low;
        place[2usize] = block_high;
        place[3usize] = step_low;
        place[4usize] = step_high;
        Words { block: Array::<u32>::new(16usize), place }
    }

    /// Makes sure that there is a word to take. To be called at one place of a kernel: the rounds are written
    /// out at every call.
    pub(crate) fn provide(&mut self, key: &Array<u32>) {
        if self.place[0usize] == 16u32 {
            let low = self.place[1usize];
            let high = self.place[2usize];
            chacha::block(key, self.place[3usize], self.place[4usize], low, high, &mut self.block);
            self.place[1usize] = low + 1u32;
            self.place[2usize] = high + u32::cast_from(low == 0xffff_ffffu32);
            self.place[0usize] = 0u32;
        }
    }

    /// The next word, which has been provided; where one of a pair has been, so has the other.
    pub(crate) fn take(&mut self) -> u32 {
        let next = self.place[0usize];
        self.place[0usize] = next + 1u32;
        self.block[next as usize]
    }
}
