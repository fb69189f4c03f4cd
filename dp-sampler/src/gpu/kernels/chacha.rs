//! ChaCha20 on a device: the blocks of `crate::chacha`, one unit a block.

use cubecl::prelude::*;

/// How many words a key takes on a device.
pub(crate) const KEY_WORDS: usize = 8;

#[cube]
#[allow(clippy::manual_rotate, reason = "kernels have no such function")]
fn rotate_left(x: u32, #[comptime] bits: u32) -> u32 {
    (x << bits) | (x >> (32u32 - bits))
}

#[cube]
fn quarter_round(
    x: &mut Array<u32>,
    #[comptime] a: usize,
    #[comptime] b: usize,
    #[comptime] c: usize,
    #[comptime] d: usize,
) {
    x[a] += x[b];
    x[d] = rotate_left(x[d] ^ x[a], 16u32);
    x[c] += x[d];
    x[b] = rotate_left(x[b] ^ x[c], 12u32);
    x[a] += x[b];
    x[d] = rotate_left(x[d] ^ x[a], 8u32);
    x[c] += x[d];
    x[b] = rotate_left(x[b] ^ x[c], 7u32);
}

/// The sixteen words of block `low + 2³² high` of a stream, in `words`.
#[cube]
pub(crate) fn block(
    key: &Array<u32>,
    step_low: u32,
    step_high: u32,
    low: u32,
    high: u32,
    words: &mut Array<u32>,
) {
    start(key, step_low, step_high, low, high, words);
    // A loop, because unrolled rounds take ten times as long to compile and no less to run.
    for _ in 0..10u32 {
        quarter_round(words, 0usize, 4usize, 8usize, 12usize);
        quarter_round(words, 1usize, 5usize, 9usize, 13usize);
        quarter_round(words, 2usize, 6usize, 10usize, 14usize);
        quarter_round(words, 3usize, 7usize, 11usize, 15usize);
        quarter_round(words, 0usize, 5usize, 10usize, 15usize);
        quarter_round(words, 1usize, 6usize, 11usize, 12usize);
        quarter_round(words, 2usize, 7usize, 8usize, 13usize);
        quarter_round(words, 3usize, 4usize, 9usize, 14usize);
    }
    let mut input = Array::<u32>::new(16usize);
    start(key, step_low, step_high, low, high, &mut input);
    #[unroll]
    for i in 0..16usize {
        words[i] += input[i];
    }
}

/// What the rounds begin with: constants, key, counter, stream number.
#[cube]
fn start(key: &Array<u32>, step_low: u32, step_high: u32, low: u32, high: u32, words: &mut Array<u32>) {
    words[0usize] = 0x6170_7865u32;
    words[1usize] = 0x3320_646eu32;
    words[2usize] = 0x7962_2d32u32;
    words[3usize] = 0x6b20_6574u32;
    #[unroll]
    for i in 0..8usize {
        words[4usize + i] = key[i];
    }
    words[12usize] = low;
    words[13usize] = high;
    words[14usize] = step_low;
    words[15usize] = step_high;
}

/// The words of consecutive blocks from `first_low + 2³² first_high` on.
#[cube(launch)]
pub(crate) fn words(
    key: &Array<u32>,
    out: &mut Array<u32>,
    step_low: u32,
    step_high: u32,
    first_low: u32,
    first_high: u32,
) {
    let from = ABSOLUTE_POS * 16;
    if from < out.len() {
        let mut words = Array::<u32>::new(16usize);
        let low = first_low + ABSOLUTE_POS as u32;
        let high = first_high + u32::cast_from(low < first_low);
        block(key, step_low, step_high, low, high, &mut words);
        for i in 0..16usize {
            if from + i < out.len() {
                out[from + i] = words[i];
            }
        }
    }
}

/// Overwrites a key.
#[cube(launch)]
pub(crate) fn wipe(secret: &mut Array<u32>) {
    if ABSOLUTE_POS < secret.len() {
        secret[ABSOLUTE_POS] = 0u32;
    }
}
