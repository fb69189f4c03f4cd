//! From uniform words to pairs of normal numbers, in arithmetic that is the same everywhere.
//!
//! The loops have no branches and a fixed length, so that compilers turn them into vector instructions. No library
//! functions are called but the square root, which IEEE 754 rounds correctly.

use std::f64::consts::{FRAC_PI_2, LN_2, SQRT_2};

/// Pairs that are transformed together: enough to keep vector units busy, few enough for a handful of weights.
pub(super) const PAIRS: usize = 8;

/// Words below this begin with twelve zero bits, and have too few bits left for a uniform of full precision.
pub(super) const TINY: u64 = 1 << 52;

/// (word + ½) / 2⁶⁴, rounded; for words of at least [`TINY`] that is good to the last bit.
#[inline(always)]
pub(super) fn uniform_from_word(word: u64) -> f64 {
    word as f64 * 2_f64.powi(-64)
}

/// (the 128 bits + ½) / 2¹²⁸.
pub(super) fn uniform_from_tiny(word: u64, next: u64) -> f64 {
    let bits = u128::from(word) << 64 | u128::from(next);
    (bits as f64 + 0.5) * 2_f64.powi(-128)
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

/// The natural logarithm of a normal number in (0, 1].
#[inline(always)]
fn ln(x: f64) -> f64 {
    // x = m · 2^e with m in [√½, √2): numbers just below 1 get e = 0, and no cancellation.
    const SQRT_HALF_BITS: u64 = (SQRT_2 / 2.0).to_bits();
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = shifted as i64 >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub((exponent as u64) << 52));
    let f = mantissa - 1.0;
    let s = f / (mantissa + 1.0);
    let square = s * s;
    let mut sum = ATANH[9];
    for &coefficient in ATANH[..9].iter().rev() {
        sum = sum * square + coefficient;
    }
    // 2 atanh(s) = 2 s + s³ · sum; 2 s = f − s f exactly, and f is exact.
    let ln_mantissa = f - s * (f - square * sum);
    // |exponent| < 2^11, converted through a number whose last bits are the integer.
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    let exponent = f64::from_bits((exponent as u64).wrapping_add(MAGIC.to_bits())) - MAGIC;
    exponent * LN_2 + ln_mantissa
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

/// cos 2πv and sin 2πv for v = word / 2⁶⁴.
///
/// The first two bits choose a quarter turn, centred on an axis; the rest is an angle in [−π/4, π/4), where the
/// first terms left out of the series are below 0.79¹⁸ / 18! = 3·10⁻¹⁸.
#[inline(always)]
fn cos_sin_turns(word: u64) -> (f64, f64) {
    // 52 bits of the rest, as a number in [-½, ½).
    let fraction = f64::from_bits(1023 << 52 | (word << 2) >> 12) - 1.5;
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
    (f64::from_bits((c ^ difference) ^ flip_cosine), f64::from_bits((s ^ difference) ^ flip_sine))
}

/// Box and Muller for a chunk: radii from the uniforms, angles from the words.
#[inline]
pub(super) fn normal_pairs(uniforms: &[f64; PAIRS], angles: &[u64; PAIRS]) -> [[f64; 2]; PAIRS] {
    let mut normals = [[0.0; 2]; PAIRS];
    for i in 0..PAIRS {
        let radius = (-2.0 * ln(uniforms[i])).sqrt();
        let (cosine, sine) = cos_sin_turns(angles[i]);
        normals[i] = [radius * cosine, radius * sine];
    }
    normals
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_1_SQRT_2;

    use super::*;

    /// Units in the last place between a value and libm's, which is good to one.
    fn ulps(value: f64, reference: f64) -> f64 {
        (value - reference).abs() / (reference.abs() * f64::EPSILON).max(f64::MIN_POSITIVE)
    }

    #[test]
    fn logarithms_are_good_to_three_units() {
        // The final addition rounds by half a unit, the correction by less than two, libm by one.
        let mut x = 1.0;
        while x > 1e-40 {
            for y in [x, x * (1.0 - 1e-16), x * 0.707, x * FRAC_1_SQRT_2] {
                assert!(ulps(ln(y), libm::log(y)) <= 3.0, "{y:e}");
            }
            x *= 0.997;
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn angles_are_good_to_two_bits_of_a_unit_circle() {
        // libm gets 2πv rounded, at most 6.3 · 2⁻⁵³ off; ours drops ten bits of the word, 2π · 2⁻⁵⁴ at most.
        let tolerance = 16.0 * 2_f64.powi(-53);
        for i in 0..100_000_u64 {
            let word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (cosine, sine) = cos_sin_turns(word);
            // Quarters are centred on the axes: word 0 stands for the angle −π/4.
            let angle = (word as f64 * 2_f64.powi(-64) - 0.125) * (4.0 * FRAC_PI_2);
            assert!((cosine - libm::cos(angle)).abs() < tolerance, "{word:x}");
            assert!((sine - libm::sin(angle)).abs() < tolerance, "{word:x}");
        }
    }

    #[test]
    fn tiny_uniforms_reach_far_into_the_tail() {
        // u = 2^-k + ½ 2^-128 exactly: r = √(2 k ln 2), from 8.4 to 13.4 σ. The half counts from 2^-76 on.
        for k in 53..=128_u32 {
            let bits = 1_u128 << (128 - k);
            let u = uniform_from_tiny((bits >> 64) as u64, bits as u64);
            assert_eq!(u, 2_f64.powi(-(k as i32)) + 2_f64.powi(-129));
            // Word 2^61 is the middle of the first quarter: angle 0.
            let [first, second] = normal_pairs(&[u; PAIRS], &[1 << 61; PAIRS])[0];
            let exact = (-2.0 * libm::log(u)).sqrt();
            assert!(ulps(first, exact) <= 3.0 && second == 0.0, "{k}");
        }
        let [farthest, _] = normal_pairs(&[uniform_from_tiny(0, 0); PAIRS], &[1 << 61; PAIRS])[0];
        assert!(ulps(farthest, (258.0 * LN_2).sqrt()) <= 3.0);
        // Both formulas meet at the boundary, and ordinary words keep all their bits.
        assert_eq!(uniform_from_tiny(TINY - 1, u64::MAX), 2_f64.powi(-12));
        assert_eq!(uniform_from_word(TINY), 2_f64.powi(-12));
        assert_eq!(uniform_from_word(TINY + 1), 2_f64.powi(-12) + 2_f64.powi(-64));
        // No word makes an infinite value: the largest rounds to 1, whose radius is 0.
        assert_eq!(uniform_from_word(u64::MAX), 1.0);
    }
}
