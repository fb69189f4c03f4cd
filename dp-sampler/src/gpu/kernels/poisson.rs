//! Poisson batches: `crate::poisson` on a device, one unit a run of sixteen blocks of records.
//!
//! Runs are of unknown length, so they are drawn into room for their longest first, then counted up (`scan`), then moved together.

use cubecl::prelude::*;

use super::pair;
use super::words::Words;
use crate::poisson::{RUN, RUN_BLOCKS, WORD_DOUBLINGS};

/// Where the first words of thresholds are looked for, by the first six bits of a word.
pub(crate) const GUIDES: u32 = 64;

/// A word of 64 bits of which bits are taken from the lowest on.
#[derive(CubeType)]
struct Bits {
    /// The low half, the high half, and how many bits are left.
    word: Array<u32>,
}

#[cube]
impl Bits {
    fn none() -> Bits {
        let mut word = Array::<u32>::new(3usize);
        word[0usize] = 0u32;
        word[1usize] = 0u32;
        word[2usize] = 0u32;
        Bits { word }
    }

    /// Makes sure that there are `count` ≤ 63 bits.
    fn provide(&mut self, count: u32, words: &mut Words, key: &Array<u32>) {
        if self.word[2usize] < count {
            self.word[0usize] = words.word(key);
            self.word[1usize] = words.word(key);
            self.word[2usize] = 64u32;
        }
    }

    fn low(&self) -> u32 {
        self.word[0usize]
    }

    fn high(&self) -> u32 {
        self.word[1usize]
    }

    fn discard(&mut self, count: u32) {
        let low = pair::right_low(self.word[0usize], self.word[1usize], count);
        self.word[1usize] = pair::right_high(self.word[1usize], count);
        self.word[0usize] = low;
        self.word[2usize] = self.word[2usize] - count;
    }
}

/// How many of a block's records are drawn. `thresholds` are four words each, high ones first, and begin at `GUIDES` of `table`.
#[cube]
fn members(table: &Array<u32>, last: u32, words: &mut Words, key: &Array<u32>) -> u32 {
    let low = words.word(key);
    let high = words.word(key);
    let mut k = table[(high >> 26u32) as usize];
    let mut searching = true;
    let mut tie = false;
    while searching {
        let at = (GUIDES + 4u32 * k) as usize;
        let (t_high, t_low) = (table[at], table[at + 1]);
        if pair::less(t_low, t_high, low, high) {
            k = k + 1u32;
        } else {
            searching = false;
            if t_high == high {
                tie = t_low == low;
            }
        }
    }
    if tie {
        // The first words are equal: the second ones decide, up to the sentinel.
        let second_low = words.word(key);
        let second_high = words.word(key);
        let mut passing = k < last;
        while passing {
            let at = (GUIDES + 4u32 * k) as usize;
            // (word, second) < threshold?
            let mut below = pair::less(low, high, table[at + 1], table[at]);
            if table[at] == high {
                if table[at + 1] == low {
                    below = pair::less(second_low, second_high, table[at + 3], table[at + 2]);
                }
            }
            if below {
                passing = false;
            } else {
                k = k + 1u32;
                passing = k < last;
            }
        }
    }
    k
}

/// Draws every run into `slots` places of its own in `drawn` and writes how many of its records there are into `counts`.
///
/// `last` is the number of the sentinel among the thresholds, `doublings` the logarithm of a block's length, at most 63. A record is one
/// word, or where `wide` two, the low one first.
#[cube(launch)]
#[allow(clippy::too_many_arguments)] // A launch takes scalars one by one.
pub(crate) fn draw(
    key: &Array<u32>,
    table: &Array<u32>,
    drawn: &mut Array<u32>,
    counts: &mut Array<u32>,
    step_low: u32,
    step_high: u32,
    blocks: u32,
    records_low: u32,
    records_high: u32,
    last: u32,
    doublings: u32,
    slots: u32,
    #[comptime] wide: bool,
) {
    if ABSOLUTE_POS < counts.len() {
        let run = ABSOLUTE_POS as u32;
        // 2¹¹ times the run.
        let mut words = Words::begin(step_low, step_high, run * RUN_BLOCKS as u32, run >> 21u32);
        let mut bits = Bits::none();
        let from = run * slots;
        let mut count = 0u32;
        let mut block = run * RUN as u32;
        let end = u32::min(block + RUN as u32, blocks);
        while block < end {
            let base_low = pair::left_low(block, doublings);
            let base_high = pair::left_high(block, 0u32, doublings);
            let members = members(table, last, &mut words, key);
            if doublings <= WORD_DOUBLINGS {
                let size = 1u32 << doublings;
                // Of the members and the others, the fewer are drawn, as bits of a set.
                let fewer = u32::min(members, size - members);
                let mut low = 0u32;
                let mut high = 0u32;
                let mut taken = 0u32;
                while taken < fewer {
                    bits.provide(doublings, &mut words, key);
                    let position = bits.low() & (size - 1u32);
                    bits.discard(doublings);
                    let bit = 1u32 << (position & 31u32);
                    if position < 32u32 {
                        taken = taken + u32::cast_from((low & bit) == 0u32);
                        low = low | bit;
                    } else {
                        taken = taken + u32::cast_from((high & bit) == 0u32);
                        high = high | bit;
                    }
                }
                if fewer < members {
                    low = low ^ 0xffff_ffffu32;
                    high = high ^ 0xffff_ffffu32;
                }
                for position in 0..size {
                    let mut half = low;
                    if position >= 32u32 {
                        half = high;
                    }
                    if ((half >> (position & 31u32)) & 1u32) == 1u32 {
                        // Below 2^6 and so not carried.
                        let record = base_low | position;
                        if pair::less(record, base_high, records_low, records_high) {
                            put(drawn, from + count, record, base_high, wide);
                            count = count + 1u32;
                        }
                    }
                }
            } else {
                // The block's own places begin here; what lies beyond the records is drawn as well, and taken out again.
                let begin = from + count;
                let mask_low = pair::right_low(0xffff_ffffu32, 0xffff_ffffu32, 64u32 - doublings);
                let mask_high = pair::right_high(0xffff_ffffu32, 64u32 - doublings);
                let mut taken = 0u32;
                while taken < members {
                    bits.provide(doublings, &mut words, key);
                    let low = base_low | (bits.low() & mask_low);
                    let high = base_high | (bits.high() & mask_high);
                    bits.discard(doublings);
                    let mut repeated = false;
                    for i in begin..begin + taken {
                        repeated = repeated || same(drawn, i, low, high, wide);
                    }
                    if !repeated {
                        put(drawn, begin + taken, low, high, wide);
                        taken = taken + 1u32;
                    }
                }
                if block + 1u32 < blocks {
                    count = count + taken;
                } else {
                    for i in begin..begin + taken {
                        let low = low_of(drawn, i, wide);
                        let high = high_of(drawn, i, wide);
                        if pair::less(low, high, records_low, records_high) {
                            put(drawn, from + count, low, high, wide);
                            count = count + 1u32;
                        }
                    }
                }
            }
            block = block + 1u32;
        }
        counts[run as usize] = count;
    }
}

#[cube]
fn put(numbers: &mut Array<u32>, place: u32, low: u32, high: u32, #[comptime] wide: bool) {
    if comptime!(wide) {
        numbers[(2u32 * place) as usize] = low;
        numbers[(2u32 * place + 1u32) as usize] = high;
    } else {
        numbers[place as usize] = low;
    }
}

#[cube]
fn low_of(numbers: &Array<u32>, place: u32, #[comptime] wide: bool) -> u32 {
    if comptime!(wide) { numbers[(2u32 * place) as usize] } else { numbers[place as usize] }
}

#[cube]
fn high_of(numbers: &Array<u32>, place: u32, #[comptime] wide: bool) -> u32 {
    if comptime!(wide) { numbers[(2u32 * place + 1u32) as usize] } else { 0u32.runtime() }
}

#[cube]
fn same(numbers: &Array<u32>, place: u32, low: u32, high: u32, #[comptime] wide: bool) -> bool {
    let mut same = low_of(numbers, place, wide) == low;
    if comptime!(wide) {
        same = same && high_of(numbers, place, wide) == high;
    }
    same
}

/// Moves the records of run i to place `starts[i]` and on, as far as there is room.
#[cube(launch)]
pub(crate) fn compact(
    drawn: &Array<u32>,
    counts: &Array<u32>,
    starts: &Array<u32>,
    batch: &mut Array<u32>,
    slots: u32,
    room: u32,
    #[comptime] wide: bool,
) {
    if ABSOLUTE_POS < counts.len() {
        let run = ABSOLUTE_POS as u32;
        let start = starts[run as usize];
        for i in 0..counts[run as usize] {
            if start + i < room {
                let from = run * slots + i;
                put(batch, start + i, low_of(drawn, from, wide), high_of(drawn, from, wide), wide);
            }
        }
    }
}
