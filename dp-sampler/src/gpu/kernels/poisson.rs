//! Poisson batches: `crate::poisson` on a device, one unit a run of sixteen blocks of records.
//!
//! Runs are of unknown length, so they are drawn into room for their longest first, then counted up (`scan`),
//! then moved together.

use cubecl::prelude::*;

use super::pair;
use super::words::Words;
use crate::poisson::{RUN, RUN_BLOCKS};

/// Where the first words of thresholds are looked for, by the first six bits of a word.
pub(crate) const GUIDES: u32 = 64;

/// The number of the first threshold that (high, low) does not exceed. Thresholds are four words each, high
/// ones first, and begin at `GUIDES` of `table`.
#[cube]
fn search(table: &Array<u32>, low: u32, high: u32) -> u32 {
    let mut k = table[(high >> 26u32) as usize];
    let mut at = (GUIDES + 4u32 * k) as usize;
    while pair::less(table[at + 1], table[at], low, high) {
        k += 1u32;
        at = (GUIDES + 4u32 * k) as usize;
    }
    k
}

/// Goes on from threshold k, whose first word equals the one that was drawn, with a second word; up to the
/// sentinel `last`.
#[cube]
fn search_second(table: &Array<u32>, first: u32, last: u32, second_low: u32, second_high: u32) -> u32 {
    let from = (GUIDES + 4u32 * first) as usize;
    let (high, low) = (table[from], table[from + 1]);
    let mut k = first;
    let mut passing = k < last;
    while passing {
        let at = (GUIDES + 4u32 * k) as usize;
        // (word, second) < threshold?
        let mut below = pair::less(low, high, table[at + 1], table[at]);
        if table[at] == high && table[at + 1] == low {
            below = pair::less(second_low, second_high, table[at + 3], table[at + 2]);
        }
        if below {
            passing = false;
        } else {
            k += 1u32;
            passing = k < last;
        }
    }
    k
}

/// Draws every run into `slots` places of its own in `drawn` and writes how many of its records there are
/// into `counts`.
///
/// `last` is the number of the sentinel among the thresholds, `doublings` the logarithm of a block's length,
/// at most 63. A record is one word, or where `wide` two, the low one first. Blocks of up to 64 records are
/// drawn as `sets`, of which the smaller of the members and the others is drawn, longer ones as lists. Every
/// turn of the loop uses up one word of 64 bits or some bits of the last one.
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
    #[comptime] sets: bool,
) {
    if ABSOLUTE_POS < counts.len() {
        let run = ABSOLUTE_POS as u32;
        // The first block of words is 2¹¹ times the run.
        let mut words = Words::begin(step_low, step_high, run * RUN_BLOCKS as u32, run >> 21u32);
        let from = run * slots;
        let mut count = 0u32;
        let mut block = run * RUN as u32;
        let end = u32::min(block + RUN as u32, blocks);
        // Bits that are left of the last word they were taken from.
        let mut bits_low = 0u32;
        let mut bits_high = 0u32;
        let mut left = 0u32;
        // Of the block's members, or of the others: how many are wanted, how many there are, and which.
        let mut members = 0u32;
        let mut wanted = 0u32;
        let mut taken = 0u32;
        let mut set_low = 0u32;
        let mut set_high = 0u32;
        let mut counting = true;
        let mut tie = false;
        let mask_low = pair::right_low(0xffff_ffffu32, 0xffff_ffffu32, 64u32 - doublings);
        let mask_high = pair::right_high(0xffff_ffffu32, 64u32 - doublings);

        while block < end {
            let base_low = pair::left_low(block, doublings);
            let base_high = pair::left_high(block, 0u32, doublings);
            if counting || left < doublings {
                words.provide(key);
                let low = words.take();
                let high = words.take();
                if counting {
                    if tie {
                        members = search_second(table, members, last, low, high);
                        tie = false;
                    } else {
                        members = search(table, low, high);
                        let at = (GUIDES + 4u32 * members) as usize;
                        tie = table[at] == high && table[at + 1] == low;
                    }
                    counting = tie;
                    wanted = members;
                    if comptime!(sets) {
                        wanted = u32::min(members, (1u32 << doublings) - members);
                    }
                } else {
                    bits_low = low;
                    bits_high = high;
                    left = 64u32;
                }
            }
            if !counting && taken < wanted && left >= doublings {
                let low = bits_low & mask_low;
                let high = bits_high & mask_high;
                bits_low = pair::right_low(bits_low, bits_high, doublings);
                bits_high = pair::right_high(bits_high, doublings);
                left -= doublings;
                if comptime!(sets) {
                    let bit = 1u32 << (low & 31u32);
                    if low < 32u32 {
                        taken += u32::cast_from((set_low & bit) == 0u32);
                        set_low |= bit;
                    } else {
                        taken += u32::cast_from((set_high & bit) == 0u32);
                        set_high |= bit;
                    }
                } else {
                    let begin = from + count;
                    let mut repeated = false;
                    for i in begin..begin + taken {
                        repeated = repeated || same(drawn, i, base_low | low, base_high | high, wide);
                    }
                    if !repeated {
                        put(drawn, begin + taken, base_low | low, base_high | high, wide);
                        taken += 1u32;
                    }
                }
            }
            if !counting && taken == wanted {
                // What lies beyond the records has been drawn as well, and is left out.
                if comptime!(sets) {
                    let flip = u32::cast_from(wanted < members) * 0xffff_ffffu32;
                    set_low ^= flip;
                    set_high ^= flip;
                    for position in 0..1u32 << doublings {
                        let mut half = set_low;
                        if position >= 32u32 {
                            half = set_high;
                        }
                        // Below 2^6 and so not carried.
                        let record = base_low | position;
                        if ((half >> (position & 31u32)) & 1u32) == 1u32
                            && pair::less(record, base_high, records_low, records_high)
                        {
                            put(drawn, from + count, record, base_high, wide);
                            count += 1u32;
                        }
                    }
                    set_low = 0u32;
                    set_high = 0u32;
                } else {
                    let begin = from + count;
                    if block + 1u32 < blocks {
                        count += taken;
                    } else {
                        for i in begin..begin + taken {
                            let low = low_of(drawn, i, wide);
                            let high = high_of(drawn, i, wide);
                            if pair::less(low, high, records_low, records_high) {
                                put(drawn, from + count, low, high, wide);
                                count += 1u32;
                            }
                        }
                    }
                }
                block += 1u32;
                taken = 0u32;
                counting = true;
            }
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
