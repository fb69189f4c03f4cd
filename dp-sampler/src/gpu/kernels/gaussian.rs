//! Standard normal numbers: `crate::noise::single` on a device, one unit a block of random words.

use std::f32::consts::LN_2;

use cubecl::prelude::*;

use super::chacha;
use crate::noise::single::{
    ANGLE_UNIT, ONE_MINUS_SQRT_HALF, RARE_RADIUS, SQRT_HALF_BITS, cosine_of, ln_one_plus, sine_of,
};

/// 2⁻³².
const TO_MINUS_32: f32 = 1.0 / 4_294_967_296.0;
/// 2⁻⁶⁴.
const TO_MINUS_64: f32 = TO_MINUS_32 * TO_MINUS_32;

/// −ln(f · 2^−shift) where `upper` is false, −ln(1 − f) where it is true, for f in (0, ½].
#[cube]
fn negative_ln(f: f32, shift: f32, upper: bool) -> f32 {
    let bits = u32::reinterpret(f);
    // (1 + g) · 2^exponent with 1 + g in [√½, √2); an arithmetic shift of the difference, because the
    // exponent is at most 0 here.
    let steps = i32::reinterpret(bits - SQRT_HALF_BITS) >> 23i32;
    let mut g = f32::reinterpret(bits - (u32::reinterpret(steps) << 23u32)) - 1.0f32;
    let mut exponent = f32::cast_from(steps) - shift;
    if upper {
        g = 1.0f32 - (f + f);
        exponent = -1.0f32;
        if f < ONE_MINUS_SQRT_HALF {
            g = -f;
            exponent = 0.0f32;
        }
    }
    -(exponent * LN_2 + ln_one_plus(g))
}

/// The pair of numbers for −ln u and a word for the angle, at `place` and after it.
#[cube]
fn pair(negative_ln: f32, word: u32, out: &mut Array<f32>, place: usize) {
    let radius = f32::sqrt(negative_ln + negative_ln);
    // The middle of a cell of width 4 on the scale of 2^32 to a quarter turn.
    let centred = ((word << 2u32) | 2u32) ^ 0x8000_0000u32;
    let angle = f32::cast_from(i32::reinterpret(centred)) * ANGLE_UNIT;
    let sine = sine_of(angle);
    let cosine = cosine_of(angle);
    // Turns by 0, 1, 2, 3 quarters: (c, s), (−s, c), (−c, −s), (s, −c).
    let quarter = word >> 30u32;
    let mut first = cosine;
    let mut second = sine;
    if (quarter & 1u32) == 1u32 {
        first = -sine;
        second = cosine;
    }
    if (quarter >> 1u32) == 1u32 {
        first = -first;
        second = -second;
    }
    if place < out.len() {
        out[place] = radius * first;
    }
    if place + 1 < out.len() {
        out[place + 1] = radius * second;
    }
}

/// The numbers of consecutive blocks from `first_low + 2³² first_high` on, sixteen to a block.
#[cube(launch)]
#[allow(clippy::too_many_arguments)] // A launch takes scalars one by one.
pub(crate) fn single(
    key: &Array<u32>,
    more_key: &Array<u32>,
    out: &mut Array<f32>,
    step_low: u32,
    step_high: u32,
    first_low: u32,
    first_high: u32,
) {
    let from = ABSOLUTE_POS * 16;
    if from < out.len() {
        let low = first_low + ABSOLUTE_POS as u32;
        let high = first_high + u32::cast_from(low < first_low);
        let mut words = Array::<u32>::new(16usize);
        chacha::block(key, step_low, step_high, low, high, &mut words);
        for i in 0..8usize {
            let word = words[2 * i];
            // The distance from the nearer end of the range.
            let upper = (word >> 31u32) == 1u32;
            let mut folded = word;
            if upper {
                folded = word ^ 0xffff_ffffu32;
            }
            // (folded + ½) · 2^−32.
            let mut f = (f32::cast_from(i32::reinterpret(folded)) + 0.5f32) * TO_MINUS_32;
            let mut shift = 0.0f32;
            if folded < RARE_RADIUS {
                // 96 bits more, from the block with the number of this pair.
                let item_low = (low << 3u32) | i as u32;
                let item_high = (high << 3u32) | (low >> 29u32);
                let mut more = Array::<u32>::new(16usize);
                chacha::block(more_key, step_low, step_high, item_low, item_high, &mut more);
                // f · 2^64, a sum of four words; then back again where the logarithm is not of f.
                f = f32::cast_from(folded) * 4_294_967_296.0f32
                    + f32::cast_from(more[2usize])
                    + f32::cast_from(more[1usize]) * TO_MINUS_32
                    + (f32::cast_from(more[0usize]) + 0.5f32) * TO_MINUS_64;
                shift = 64.0f32;
                if upper {
                    f *= TO_MINUS_64;
                }
            }
            pair(negative_ln(f, shift, upper), words[2 * i + 1], out, from + 2 * i);
        }
    }
}
