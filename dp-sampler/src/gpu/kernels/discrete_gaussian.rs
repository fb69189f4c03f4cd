//! Exact Gaussian noise on the integers: `crate::noise::discrete::gaussian` on a device, one unit a run of
//! sixteen values.
//!
//! The nested loops of the CPU are one loop here, of which every turn takes one word. So the units that work
//! in step all want their next block of words at the same turn, and the rounds of ChaCha20 are compiled once.

use cubecl::prelude::*;

use super::limbs::{Limbs, is_zero, minus, product, times_word};
use super::words::Words;
use crate::noise::discrete::{MOST, MOST_TERMS, RUN};

/// What the next word is for: a uniform integer below the scale;
const UNIFORM: u32 = 0;
/// the sign;
const SIGN: u32 = 1;
/// a coin of probability exp(−γ), and what is being decided by it:
/// whether the uniform integer is kept;
const KEEP: u32 = 2;
/// whether the geometric number goes on;
const GEOMETRIC: u32 = 3;
/// whether a whole unit of the exponent lets the value pass;
const UNIT: u32 = 4;
/// whether the rest of the exponent lets it pass.
const REST: u32 = 5;

/// Draws values, of two words each in `out`, the low one first; run `first_run` and on.
///
/// `scale` is t, a power of two below 2³¹; `unit` d t, `variance` n and `divisor` 2 n d t² of σ² = n/d, in
/// words, low ones first.
#[cube(launch)]
#[allow(clippy::too_many_arguments)] // A launch takes scalars one by one.
pub(crate) fn draw(
    key: &Array<u32>,
    out: &mut Array<u32>,
    step_low: u32,
    step_high: u32,
    run_low: u32,
    run_high: u32,
    scale: u32,
    unit_low: u32,
    unit_high: u32,
    variance_low: u32,
    variance_high: u32,
    divisor_a: u32,
    divisor_b: u32,
    divisor_c: u32,
) {
    let values = out.len() / 2;
    let first = ABSOLUTE_POS * RUN;
    if first < values {
        let low = run_low + ABSOLUTE_POS as u32;
        let high = run_high + u32::cast_from(low < run_low);
        // The first block is 2²⁰ times the run.
        let mut words = Words::begin(step_low, step_high, low << 20u32, (high << 20u32) | (low >> 12u32));
        let divisor = Limbs { a: divisor_a, b: divisor_b, c: divisor_c, d: 0u32 };

        let mut value = first;
        let end = usize::min(first + RUN, values);
        let mut state = UNIFORM.runtime();
        let mut uniform = 0u32;
        let mut geometric = 0u32;
        // What is left of the exponent, over the divisor.
        let mut rest = Limbs { a: 0u32, b: 0u32, c: 0u32, d: 0u32 };
        let mut y_low = 0u32;
        let mut y_high = 0u32;
        let mut negative = false;
        // The coin of probability γ, or 1/k, that is being compared: numerator and denominator.
        let mut numerator = Limbs { a: 0u32, b: 0u32, c: 0u32, d: 0u32 };
        let mut denominator = Limbs { a: 0u32, b: 0u32, c: 0u32, d: 0u32 };
        let mut k = 1u32;
        let mut is_gamma = false;

        while value < end {
            words.provide(key);
            let word = words.take();
            // A coin of probability exp(−1) is to be tossed next, for this.
            let mut certain = UNIFORM.runtime();
            // The value has passed all but what is left of the exponent.
            let mut weighing = false;
            if state == UNIFORM {
                // No word is turned away: the scale is a power of two.
                uniform = u32::mul_hi(word, scale);
                set(&mut numerator, uniform, 0u32, 0u32);
                set(&mut denominator, scale, 0u32, 0u32);
                k = 1u32;
                is_gamma = true;
                state = KEEP;
            } else if state == SIGN {
                negative = (word >> 31u32) == 1u32;
                // y = U + t V, below 2⁴⁰.
                let low = scale * geometric;
                y_low = low + uniform;
                y_high = u32::mul_hi(scale, geometric) + u32::cast_from(y_low < low);
                if negative && (y_low | y_high) == 0u32 {
                    state = UNIFORM;
                } else {
                    // (y d t − n)², of which the difference is below 2⁶³.
                    let scaled = product(y_low, y_high, unit_low, unit_high);
                    let variance = Limbs { a: variance_low, b: variance_high, c: 0u32, d: 0u32 };
                    let above = minus(scaled, variance);
                    let below = minus(variance, scaled);
                    let mut low = above.limbs.a;
                    let mut high = above.limbs.b;
                    if above.borrow == 1u32 {
                        low = below.limbs.a;
                        high = below.limbs.b;
                    }
                    let square = product(low, high, low, high);
                    copy(&mut rest, square);
                    weighing = true;
                }
            } else {
                // coin(a/b): 2³² a ≤ w b is false, 2³² a ≥ (w + 1) b is true, and otherwise the difference
                // goes on.
                let shifted = Limbs { a: 0u32, b: numerator.a, c: numerator.b, d: numerator.c };
                let difference = minus(shifted, times_word(denominator, word));
                let above = minus(difference.limbs, denominator);
                let is_false = difference.borrow == 1u32 || is_zero(difference.limbs);
                let is_true = !is_false && above.borrow == 0u32;
                if is_true && k + u32::cast_from(!is_gamma) < MOST_TERMS {
                    if is_gamma && k == 1u32 {
                        // There is no coin for 1/1.
                        k = 2u32;
                        again(state, &mut numerator, &mut denominator, uniform, scale, rest, divisor);
                    } else if is_gamma {
                        toss_inverse(&mut numerator, &mut denominator, k);
                        is_gamma = false;
                    } else {
                        k += 1u32;
                        if state == KEEP || state == REST {
                            again(state, &mut numerator, &mut denominator, uniform, scale, rest, divisor);
                            is_gamma = true;
                        } else {
                            toss_inverse(&mut numerator, &mut denominator, k);
                        }
                    }
                } else if is_true || is_false {
                    // The first k at which a coin is false, or the last that is counted.
                    let heads = ((k + u32::cast_from(is_true && !is_gamma)) & 1u32) == 1u32;
                    if state == KEEP {
                        geometric = 0u32;
                        state = UNIFORM;
                        if heads {
                            certain = GEOMETRIC;
                        }
                    } else if state == GEOMETRIC {
                        state = SIGN;
                        if heads {
                            geometric += 1u32;
                            state = UNIFORM;
                            if geometric < MOST {
                                certain = GEOMETRIC;
                            }
                        }
                    } else if state == UNIT {
                        state = UNIFORM;
                        if heads {
                            let less = minus(rest, divisor);
                            copy(&mut rest, less.limbs);
                            weighing = true;
                        }
                    } else {
                        state = UNIFORM;
                        if heads {
                            let mut low = y_low;
                            let mut high = y_high;
                            if negative {
                                low = 0u32 - y_low;
                                high = 0u32 - y_high - u32::cast_from(y_low != 0u32);
                            }
                            out[2 * value] = low;
                            out[2 * value + 1] = high;
                            value += 1;
                        }
                    }
                } else {
                    copy(&mut numerator, difference.limbs);
                }
            }
            if weighing {
                if minus(rest, divisor).borrow == 0u32 {
                    certain = UNIT;
                } else {
                    copy(&mut numerator, rest);
                    copy(&mut denominator, divisor);
                    k = 1u32;
                    is_gamma = true;
                    state = REST;
                }
            }
            if certain != UNIFORM {
                // The coin for γ = 1 is true, and there is none for 1/1.
                state = certain;
                k = 2u32;
                is_gamma = false;
                toss_inverse(&mut numerator, &mut denominator, 2u32);
            }
        }
    }
}

/// The coin for γ once more.
#[cube]
fn again(
    state: u32,
    numerator: &mut Limbs,
    denominator: &mut Limbs,
    uniform: u32,
    scale: u32,
    rest: Limbs,
    divisor: Limbs,
) {
    if state == KEEP {
        set(numerator, uniform, 0u32, 0u32);
        set(denominator, scale, 0u32, 0u32);
    } else {
        copy(numerator, rest);
        copy(denominator, divisor);
    }
}

/// The coin for 1/k.
#[cube]
fn toss_inverse(numerator: &mut Limbs, denominator: &mut Limbs, k: u32) {
    set(numerator, 1u32, 0u32, 0u32);
    set(denominator, k, 0u32, 0u32);
}

#[cube]
fn set(limbs: &mut Limbs, a: u32, b: u32, c: u32) {
    limbs.a = a;
    limbs.b = b;
    limbs.c = c;
    limbs.d = 0u32;
}

#[cube]
fn copy(limbs: &mut Limbs, from: Limbs) {
    limbs.a = from.a;
    limbs.b = from.b;
    limbs.c = from.c;
    limbs.d = from.d;
}
