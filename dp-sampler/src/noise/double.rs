//! From uniform words to pairs of normal numbers, in arithmetic that is the same everywhere.
//!
//! The loops have no branches and a fixed length, so that compilers turn them into vector instructions. No
//! library functions are called but the square root, which IEEE 754 rounds correctly.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2};

use super::continuous::Transform;

/// Gaussian pairs from four words: two for the radius, two for the angle.
pub(super) struct Gaussian;

/// A Laplace number from two words.
pub(super) struct Laplace;

/// Folded words below this have too few bits for a number of full precision.
pub(super) const RARE: u64 = 1 << 52;

/// A word folded to its distance from the nearer end of its range, below 2⁶³, and all ones where that is the
/// upper end.
#[inline(always)]
pub(super) fn fold(word: u64) -> (u64, u64) {
    let upper = (word as i64 >> 63) as u64;
    (word ^ upper, upper)
}

#[inline(always)]
pub(super) fn long(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Coefficients of 2 atanh(s) / s = 2 (1 + s²/3 + s⁴/5 + …).
///
/// |s| ≤ (√2 − 1)/(√2 + 1) = 0.1716, so the first term left out is below 0.1716²² / 23 = 6·10⁻¹⁹ relative.
const ATANH: [f64; 10] = [
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
    2.0 / 21.0,
];

/// −ln f where `upper` is zero, −ln(1 − f) where it is all ones, for f in (0, ½].
#[inline(always)]
pub(super) fn negative_ln(f: f64, upper: u64) -> f64 {
    const SQRT_HALF_BITS: u64 = FRAC_1_SQRT_2.to_bits();
    const ONE_MINUS_SQRT_HALF: f64 = 0.292_893_218_813_452_5;
    // Each is (1 + g) · 2^exponent with 1 + g in [√½, √2), and g exact.
    let lower_exponent = f.to_bits().wrapping_sub(SQRT_HALF_BITS) as i64 >> 52;
    let mantissa = f64::from_bits(f.to_bits().wrapping_sub((lower_exponent as u64) << 52));
    let near = f < ONE_MINUS_SQRT_HALF;
    let upper_g = if near { -f } else { 1.0 - (f + f) };
    let upper_exponent = if near { 0.0 } else { -1.0 };
    // |exponent| < 2^11, converted through a number whose last bits are the integer.
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    let lower_exponent = f64::from_bits((lower_exponent as u64).wrapping_add(MAGIC.to_bits())) - MAGIC;
    let g = if upper == 0 { mantissa - 1.0 } else { upper_g };
    let exponent = if upper == 0 { lower_exponent } else { upper_exponent };
    let s = g / (2.0 + g);
    let square = s * s;
    let mut sum = ATANH[9];
    for &coefficient in ATANH[..9].iter().rev() {
        sum = sum * square + coefficient;
    }
    // 2 atanh(s) = 2 s + s³ · sum, and 2 s = g − s g.
    let ln = g - s * (g - square * sum);
    -(exponent * LN_2 + ln)
}

/// 1 / 3!, 1 / 5!, … with signs.
const SINE: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];

/// 1 / 2!, 1 / 4!, … with signs.
const COSINE: [f64; 8] = [
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// The first two bits choose a quarter turn, centred on an axis; 52 of the others are an angle in (−π/4,
/// π/4), symmetric about it and never 0, of which cosine and sine are taken. The first terms left out of the
/// series are below 0.79¹⁸ / 18! = 3·10⁻¹⁸.
#[inline(always)]
pub(super) fn cos_sin_turns(word: u64) -> [f64; 2] {
    // The middles of 2^52 cells of [-½, ½).
    let fraction = (f64::from_bits(1023 << 52 | (word << 2) >> 12) - 1.5) + 2_f64.powi(-53);
    let angle = fraction * FRAC_PI_2;
    let square = angle * angle;
    let (mut sine, mut cosine) = (SINE[7], COSINE[7]);
    for i in (0..7).rev() {
        sine = sine * square + SINE[i];
        cosine = cosine * square + COSINE[i];
    }
    let sine = angle + angle * square * sine;
    let cosine = 1.0 + square * cosine;
    // Turns by 0, 1, 2, 3 quarters: (c, s), (−s, c), (−c, −s), (s, −c), by exchanging and flipping sign bits.
    let quarter = word >> 62;
    let exchange = (quarter & 1).wrapping_neg();
    let (c, s) = (cosine.to_bits(), sine.to_bits());
    let difference = (c ^ s) & exchange;
    let flip_cosine = ((quarter >> 1) ^ (quarter & 1)) << 63;
    let flip_sine = (quarter >> 1) << 63;
    [f64::from_bits((c ^ difference) ^ flip_cosine), f64::from_bits((s ^ difference) ^ flip_sine)]
}

/// The nearest double to an integer below 2⁶³, by halves: each is put into the last bits of a double, and the
/// sum rounds once.
#[inline(always)]
fn to_double(integer: u64) -> f64 {
    const LOW: f64 = 4_503_599_627_370_496.0; // 2^52
    const HIGH: f64 = 19_342_813_113_834_066_795_298_816.0; // 2^84
    let low = f64::from_bits(LOW.to_bits() | integer & 0xffff_ffff);
    let high = f64::from_bits(HIGH.to_bits() | integer >> 32);
    (high - (HIGH + LOW)) + low
}

/// (folded + ½) · 2^−bits.
#[inline(always)]
pub(super) fn fraction(folded: u64, bits: i32) -> f64 {
    (to_double(folded) + 0.5) * 2_f64.powi(-bits)
}

/// (folded · 2⁶⁴ + the first 64 bits of `more` + ½) · 2^−(bits + 64).
fn long_fraction(folded: u64, bits: i32, more: &[u32; 16]) -> f64 {
    let all = u128::from(folded) << 64 | u128::from(long(more[0], more[1]));
    (all as f64 + 0.5) * 2_f64.powi(-64 - bits)
}

#[inline(always)]
fn pair(negative_ln: f64, angle: u64) -> [f64; 2] {
    let radius = (negative_ln + negative_ln).sqrt();
    let [cosine, sine] = cos_sin_turns(angle);
    [radius * cosine, radius * sine]
}

impl Transform<4, 2> for Gaussian {
    type Value = f64;

    #[inline(always)]
    fn ordinary([a, b, c, d]: [u32; 4]) -> [f64; 2] {
        let (folded, upper) = fold(long(a, b));
        pair(negative_ln(fraction(folded, 64), upper), long(c, d))
    }

    #[inline(always)]
    fn is_rare([a, b, _, _]: [u32; 4]) -> bool {
        fold(long(a, b)).0 < RARE
    }

    fn rare([a, b, c, d]: [u32; 4], more: &[u32; 16]) -> [f64; 2] {
        let (folded, upper) = fold(long(a, b));
        pair(negative_ln(long_fraction(folded, 64, more), upper), long(c, d))
    }
}

/// Flips the sign where the word is odd.
#[inline(always)]
fn signed(magnitude: f64, word: u64) -> f64 {
    f64::from_bits(magnitude.to_bits() ^ word << 63)
}

impl Transform<2, 1> for Laplace {
    type Value = f64;

    #[inline(always)]
    fn ordinary([a, b]: [u32; 2]) -> [f64; 1] {
        let (folded, upper) = fold(long(a, b));
        [signed(negative_ln(fraction(folded >> 1, 63), upper), long(a, b))]
    }

    #[inline(always)]
    fn is_rare([a, b]: [u32; 2]) -> bool {
        fold(long(a, b)).0 < RARE
    }

    fn rare([a, b]: [u32; 2], more: &[u32; 16]) -> [f64; 1] {
        let word = long(a, b);
        let (folded, upper) = fold(word);
        [signed(negative_ln(long_fraction(folded >> 1, 63, more), upper), word)]
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;
    use crate::{Purpose, Seed};

    fn split(word: u64) -> [u32; 2] {
        [word as u32, (word >> 32) as u32]
    }

    #[test]
    fn integers_are_converted_to_the_nearest_double() {
        let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
        for shift in 1..64 {
            for _ in 0..100 {
                let integer = stream.next_u64() >> shift;
                assert_eq!(to_double(integer), integer as f64);
            }
        }
        for integer in [0, 1, (1 << 53) + 1, (1 << 54) + 2, (1 << 54) + 6, (1 << 63) - 1, (1 << 63) - 512] {
            assert_eq!(to_double(integer), integer as f64);
        }
    }

    #[test]
    fn logarithms_are_good_to_three_units() {
        // The final addition rounds by half a unit, the correction by less than two, libm by one.
        let mut f = 0.5;
        while f > 1e-40 {
            for (upper, expected) in [(0, -libm::log(f)), (u64::MAX, -libm::log1p(-f))] {
                let error = (negative_ln(f, upper) - expected).abs() / (expected * f64::EPSILON);
                assert!(error <= 3.0, "{f:e} {upper} {error}");
            }
            f *= 0.9997;
        }
    }

    #[test]
    fn angles_are_good_to_two_bits_of_a_unit_circle() {
        // libm gets 2πv rounded, at most 6.3 · 2⁻⁵³ off; ours drops ten bits of the word, 2π · 2⁻⁵⁴ at most.
        let tolerance = 16.0 * 2_f64.powi(-53);
        for i in 0..100_000_u64 {
            let word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let [cosine, sine] = cos_sin_turns(word);
            // Quarters are centred on the axes: word 0 stands for the angle −π/4.
            let angle = (word as f64 * 2_f64.powi(-64) - 0.125) * (4.0 * FRAC_PI_2);
            assert!((cosine - libm::cos(angle)).abs() < tolerance, "{word:x}");
            assert!((sine - libm::sin(angle)).abs() < tolerance, "{word:x}");
        }
    }

    #[test]
    fn pairs_are_radius_times_angle() {
        // Radii from libm's logarithm, three units and half of that by the root; angles as above.
        let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
        for _ in 0..100_000 {
            let (radius, angle) = (stream.next_u64(), stream.next_u64());
            let ([a, b], [c, d]) = (split(radius), split(angle));
            if Gaussian::is_rare([a, b, c, d]) {
                continue;
            }
            let (folded, upper) = fold(radius);
            let f = (folded as f64 + 0.5) * 2_f64.powi(-64);
            let ln = if upper == 0 { libm::log(f) } else { libm::log1p(-f) };
            let r = (-2.0 * ln).sqrt();
            let turn = cos_sin_turns(angle);
            for (z, turn) in Gaussian::ordinary([a, b, c, d]).into_iter().zip(turn) {
                assert!((z - r * turn).abs() <= 4.0 * f64::EPSILON * z.abs(), "{radius:x} {angle:x}");
            }
            let z = Laplace::ordinary([a, b])[0];
            let f = ((folded >> 1) as f64 + 0.5) * 2_f64.powi(-63);
            let ln = if upper == 0 { libm::log(f) } else { libm::log1p(-f) };
            assert!((z.abs() + ln).abs() <= 4.0 * f64::EPSILON * z.abs() && (z < 0.0) == (radius & 1 == 1));
        }
    }

    #[test]
    fn rare_items_reach_far_and_meet_the_ordinary_ones() {
        // u = 2^-k + ½ 2^-128 exactly: r = √(2 k ln 2), from 4.1 to 13.4 σ. The half counts from 2^-76 on.
        let middle = 1_u64 << 61;
        let [c, d] = split(middle);
        for k in 13..=128_u32 {
            let bits = 1_u128 << (128 - k);
            let ([a, b], [e, f]) = (split((bits >> 64) as u64), split(bits as u64));
            let mut more = [0; 16];
            more[..2].copy_from_slice(&[e, f]);
            let [z, _] = Gaussian::rare([a, b, c, d], &more);
            let u = 2_f64.powi(-(k as i32)) + 2_f64.powi(-129);
            let expected = (-2.0 * libm::log(u)).sqrt();
            assert!((z - expected).abs() <= 3.0 * f64::EPSILON * expected, "{k}");
        }
        let [farthest, _] = Gaussian::rare([0, 0, c, d], &[0; 16]);
        assert!((farthest - (258.0 * LN_2).sqrt()).abs() < 1e-14);
        let [nearest, _] = Gaussian::rare([u32::MAX, u32::MAX, c, d], &[0; 16]);
        assert!(nearest > 0.0 && nearest < 1e-19);
        let mut half = [0; 16];
        half[1] = 1 << 31;
        for word in [RARE, !RARE] {
            let [a, b] = split(word);
            let (ordinary, rare) = (Gaussian::ordinary([a, b, 5, 6]), Gaussian::rare([a, b, 5, 6], &half));
            for (x, y) in ordinary.into_iter().zip(rare) {
                assert!((x - y).abs() <= 2.0 * f64::EPSILON * x.abs());
            }
        }
    }
}
