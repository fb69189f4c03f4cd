//! The Feistel network of `crate::permutation::network` on a device, one unit an element.

use cubecl::prelude::*;

use super::pair;

/// Sixteen rounds of three words.
pub(crate) const ROUNDS: usize = crate::permutation::ROUNDS;

/// (a x + b) x + c mod 2³², without its last `discarded` bits.
#[cube]
fn narrow_round(keys: &Array<u32>, key: usize, x: u32, discarded: u32) -> u32 {
    ((keys[key] * x + keys[key + 1]) * x + keys[key + 2]) >> discarded
}

/// Images of `start`, `start + 1`, … in 32-bit words: at most 2³² elements.
///
/// `keys` are the words a, b, c of every round; `last` is the number of elements less one.
#[cube(launch)]
pub(crate) fn narrow(
    keys: &Array<u32>,
    images: &mut Array<u32>,
    start: u32,
    last: u32,
    lower_bits: u32,
    discarded_upper: u32,
    discarded_lower: u32,
) {
    if ABSOLUTE_POS < images.len() {
        let mut value = start + ABSOLUTE_POS as u32;
        let mask = (1u32 << lower_bits) - 1u32;
        let mut walking = true;
        while walking {
            let mut upper = value >> lower_bits;
            let mut lower = value & mask;
            for round in 0..8usize {
                let key = round * 6;
                upper ^= narrow_round(keys, key, lower, discarded_upper);
                lower ^= narrow_round(keys, key + 3, upper, discarded_lower);
            }
            value = (upper << lower_bits) | lower;
            walking = value > last;
        }
        images[ABSOLUTE_POS] = value;
    }
}

/// (a x + b) x + c mod 2⁶⁴, without its last `discarded` bits, which are 32 to 63; key words low half first.
#[cube]
fn wide_round(keys: &Array<u32>, key: usize, x: u32, discarded: u32) -> u32 {
    let mut low = keys[key] * x;
    let mut high = u32::mul_hi(keys[key], x) + keys[key + 1] * x;
    low += keys[key + 2];
    high += keys[key + 3] + u32::cast_from(low < keys[key + 2]);
    high = u32::mul_hi(low, x) + high * x;
    low *= x;
    low += keys[key + 4];
    high += keys[key + 5] + u32::cast_from(low < keys[key + 4]);
    high >> (discarded - 32u32)
}

/// The same for more than 2³² elements: halves of at most 32 bits, and images as two words, the low one
/// first.
#[cube(launch)]
#[allow(clippy::too_many_arguments)] // A launch takes scalars one by one.
pub(crate) fn wide(
    keys: &Array<u32>,
    images: &mut Array<u32>,
    start_low: u32,
    start_high: u32,
    last_low: u32,
    last_high: u32,
    lower_bits: u32,
    discarded_upper: u32,
    discarded_lower: u32,
) {
    let place = ABSOLUTE_POS * 2;
    if place < images.len() {
        let mut low = start_low + ABSOLUTE_POS as u32;
        let mut high = start_high + u32::cast_from(low < start_low);
        // Between 16 and 31 bits.
        let mask = (1u32 << lower_bits) - 1u32;
        let rest = 32u32 - lower_bits;
        let mut walking = true;
        while walking {
            let mut upper = (high << rest) | (low >> lower_bits);
            let mut lower = low & mask;
            for round in 0..8usize {
                let key = round * 12;
                upper ^= wide_round(keys, key, lower, discarded_upper);
                lower ^= wide_round(keys, key + 6, upper, discarded_lower);
            }
            low = (upper << lower_bits) | lower;
            high = upper >> rest;
            walking = pair::less(last_low, last_high, low, high);
        }
        images[place] = low;
        images[place + 1] = high;
    }
}
