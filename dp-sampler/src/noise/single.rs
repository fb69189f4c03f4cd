//! From random words to single-precision noise, in arithmetic that is the same everywhere.
//!
//! Only additions, multiplications, divisions and square roots, which IEEE 754 rounds correctly; no branches,
//! so that a loop over lanes becomes vector instructions. `double.rs` is the same in double precision.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2};

use super::continuous::Transform;

/// Gaussian pairs from two words: radius, angle.
pub(super) struct Gaussian;

/// A Laplace number from one word.
pub(super) struct Laplace;

/// Folded words below this have too few bits for a Gaussian number of full precision: half a cell is 2⁻²¹ of
/// the fraction, of which the radius takes the root.
pub(crate) const RARE_RADIUS: u32 = 1 << 20;

/// The same for a Laplace number, before the last bit is dropped: half a cell is 2⁻²² of the fraction.
const RARE_LAPLACE: u32 = 1 << 22;

/// A word folded to its distance from the nearer end of its range, below 2³¹, and all ones where that is the
/// upper end.
#[inline(always)]
fn fold(word: u32) -> (u32, u32) {
    let upper = (word as i32 >> 31) as u32;
    (word ^ upper, upper)
}

/// ln(1 + g) for 1 + g in [√½, √2): 2 atanh(s) with s = g / (2 + g).
///
/// 2 atanh(s) / s − 2 = 2 (s²/3 + s⁴/5 + …), |s| ≤ (√2 − 1)/(√2 + 1) = 0.1716, so the first term left out is
/// below 0.1716¹⁰ / 11 = 2·10⁻⁹ relative.
#[inline(always)]
#[cfg_attr(feature = "gpu", cubecl::cube)]
pub(crate) fn ln_one_plus(g: f32) -> f32 {
    let s = g / (2.0f32 + g);
    let square = s * s;
    let sum = ((ATANH_9 * square + ATANH_7) * square + ATANH_5) * square + ATANH_3;
    // 2 atanh(s) = 2 s + s³ · sum, and 2 s = g − s g.
    g - s * (g - square * sum)
}

const ATANH_3: f32 = 2.0 / 3.0;
const ATANH_5: f32 = 2.0 / 5.0;
const ATANH_7: f32 = 2.0 / 7.0;
const ATANH_9: f32 = 2.0 / 9.0;

pub(crate) const SQRT_HALF_BITS: u32 = FRAC_1_SQRT_2.to_bits();
pub(crate) const ONE_MINUS_SQRT_HALF: f32 = 0.292_893_2;

/// −ln(f · 2^−shift) where `upper` is zero, −ln(1 − f) where it is all ones, for normal f in (0, ½].
#[inline(always)]
fn negative_ln(f: f32, shift: f32, upper: u32) -> f32 {
    // Each is (1 + g) · 2^exponent with 1 + g in [√½, √2), and g exact.
    let lower_exponent = f.to_bits().wrapping_sub(SQRT_HALF_BITS) as i32 >> 23;
    let mantissa = f32::from_bits(f.to_bits().wrapping_sub((lower_exponent as u32) << 23));
    let near = f < ONE_MINUS_SQRT_HALF;
    let upper_g = if near { -f } else { 1.0 - (f + f) };
    let upper_exponent = if near { 0.0 } else { -1.0 };
    let g = if upper == 0 { mantissa - 1.0 } else { upper_g };
    let exponent = if upper == 0 { lower_exponent as f32 - shift } else { upper_exponent };
    -(exponent * LN_2 + ln_one_plus(g))
}

/// sin(angle) in (−π/4, π/4); the first term left out is below 0.79¹⁰ / 11! = 2·10⁻⁹ relative.
#[inline(always)]
#[cfg_attr(feature = "gpu", cubecl::cube)]
pub(crate) fn sine_of(angle: f32) -> f32 {
    let square = angle * angle;
    let sine = ((SINE_9 * square + SINE_7) * square + SINE_5) * square + SINE_3;
    angle + angle * square * sine
}

/// cos(angle) in (−π/4, π/4); the first term left out is below 0.79¹² / 12! = 10⁻¹⁰.
#[inline(always)]
#[cfg_attr(feature = "gpu", cubecl::cube)]
pub(crate) fn cosine_of(angle: f32) -> f32 {
    let square = angle * angle;
    let cosine =
        (((COSINE_10 * square + COSINE_8) * square + COSINE_6) * square + COSINE_4) * square + COSINE_2;
    1.0f32 + square * cosine
}

/// 1 / 3!, 1 / 5!, … with signs.
const SINE_3: f32 = -1.0 / 6.0;
const SINE_5: f32 = 1.0 / 120.0;
const SINE_7: f32 = -1.0 / 5_040.0;
const SINE_9: f32 = 1.0 / 362_880.0;

/// 1 / 2!, 1 / 4!, … with signs.
const COSINE_2: f32 = -1.0 / 2.0;
const COSINE_4: f32 = 1.0 / 24.0;
const COSINE_6: f32 = -1.0 / 720.0;
const COSINE_8: f32 = 1.0 / 40_320.0;
const COSINE_10: f32 = -1.0 / 3_628_800.0;

/// Of a word's last thirty bits in the middle of a cell, to an angle.
pub(crate) const ANGLE_UNIT: f32 = FRAC_PI_2 / 4_294_967_296.0;

/// cos 2πv and sin 2πv for v = (word + ½)-ish / 2³² less an eighth of a turn: the first two bits choose a
/// quarter turn, centred on an axis; the other thirty are an angle in (−π/4, π/4), symmetric about it and
/// never 0.
#[inline(always)]
fn cos_sin_turns(word: u32) -> [f32; 2] {
    // The middle of a cell of width 4 on the scale of 2^32 to a quarter turn.
    let centred = (word << 2 | 2) ^ 0x8000_0000;
    let angle = centred as i32 as f32 * ANGLE_UNIT;
    let (s, c) = (sine_of(angle).to_bits(), cosine_of(angle).to_bits());
    // Turns by 0, 1, 2, 3 quarters: (c, s), (−s, c), (−c, −s), (s, −c), by exchanging and flipping sign bits.
    let quarter = word >> 30;
    let exchange = (c ^ s) & (quarter & 1).wrapping_neg();
    let flip_cosine = ((quarter >> 1) ^ (quarter & 1)) << 31;
    let flip_sine = (quarter >> 1) << 31;
    [f32::from_bits(c ^ exchange ^ flip_cosine), f32::from_bits(s ^ exchange ^ flip_sine)]
}

/// f = (folded + ½) · 2^−bits.
#[inline(always)]
fn fraction(folded: u32, bits: i32) -> f32 {
    (folded as i32 as f32 + 0.5) * 2_f32.powi(-bits)
}

/// How far the fraction of a rare item is scaled up, to stay a normal number.
const SHIFT: i32 = 64;

/// f · 2^64 for f = (folded · 2⁹⁶ + the first 96 bits of `more` + ½) · 2^−(bits + 96).
fn long_fraction(folded: u32, bits: i32, more: &[u32; 16]) -> f32 {
    let low = u128::from(more[0]) | u128::from(more[1]) << 32 | u128::from(more[2]) << 64;
    let all = u128::from(folded) << 96 | low;
    // Below 2^118; scaled in two steps, each exact.
    (all as f32 + 0.5) * 2_f32.powi(-64) * 2_f32.powi(SHIFT - 32 - bits)
}

/// −ln u for a rare item.
fn long_negative_ln(folded: u32, upper: u32, bits: i32, more: &[u32; 16]) -> f32 {
    let f = long_fraction(folded, bits, more);
    if upper == 0 {
        negative_ln(f, SHIFT as f32, upper)
    } else {
        negative_ln(f * 2_f32.powi(-SHIFT), 0.0, upper)
    }
}

#[inline(always)]
fn pair(negative_ln: f32, angle: u32) -> [f32; 2] {
    let radius = (negative_ln + negative_ln).sqrt();
    let [cosine, sine] = cos_sin_turns(angle);
    [radius * cosine, radius * sine]
}

impl Transform<2, 2> for Gaussian {
    type Value = f32;

    #[inline(always)]
    fn ordinary([radius, angle]: [u32; 2]) -> [f32; 2] {
        let (folded, upper) = fold(radius);
        pair(negative_ln(fraction(folded, 32), 0.0, upper), angle)
    }

    #[inline(always)]
    fn is_rare([radius, _]: [u32; 2]) -> bool {
        fold(radius).0 < RARE_RADIUS
    }

    fn rare([radius, angle]: [u32; 2], more: &[u32; 16]) -> [f32; 2] {
        let (folded, upper) = fold(radius);
        pair(long_negative_ln(folded, upper, 32, more), angle)
    }
}

/// Flips the sign where the word is odd.
#[inline(always)]
fn signed(magnitude: f32, word: u32) -> f32 {
    f32::from_bits(magnitude.to_bits() ^ word << 31)
}

impl Transform<1, 1> for Laplace {
    type Value = f32;

    #[inline(always)]
    fn ordinary([word]: [u32; 1]) -> [f32; 1] {
        let (folded, upper) = fold(word);
        [signed(negative_ln(fraction(folded >> 1, 31), 0.0, upper), word)]
    }

    #[inline(always)]
    fn is_rare([word]: [u32; 1]) -> bool {
        fold(word).0 < RARE_LAPLACE
    }

    fn rare([word]: [u32; 1], more: &[u32; 16]) -> [f32; 1] {
        let (folded, upper) = fold(word);
        [signed(long_negative_ln(folded >> 1, upper, 31, more), word)]
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;
    use crate::{Purpose, Seed};

    /// r, cos, sin of a pair of words in double precision, at the middles of their cells.
    fn exact(words: [u32; 2], f: f64) -> (f64, [f64; 2]) {
        let (_, upper) = fold(words[0]);
        let ln = if upper == 0 { libm::log(f) } else { libm::log1p(-f) };
        // Quarters are centred on the axes: word 0 stands for an angle just above −π/4.
        let angle = ((f64::from(words[1]) + 0.5) * 2_f64.powi(-32) - 0.125) * std::f64::consts::TAU;
        (-ln, [libm::cos(angle), libm::sin(angle)])
    }

    /// The largest errors of Gaussian and Laplace numbers, in units of 2⁻²³ of them, against the middles of
    /// their cells.
    fn worst_errors(first: u64) -> [f64; 2] {
        let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(first);
        let mut worst = [0.0_f64; 2];
        for _ in 0..300_000 {
            let words = [stream.next_u32(), stream.next_u32()];
            let (folded, _) = fold(words[0]);
            if Gaussian::is_rare(words) {
                continue;
            }
            let (log, turn) = exact(words, (f64::from(folded) + 0.5) * 2_f64.powi(-32));
            for (z, turn) in Gaussian::ordinary(words).into_iter().zip(turn) {
                let expected = (2.0 * log).sqrt() * turn;
                let unit = expected.abs() * f64::from(f32::EPSILON);
                worst[0] = worst[0].max((f64::from(z) - expected).abs() / unit);
            }
            if !Laplace::is_rare([words[0]]) {
                let z = f64::from(Laplace::ordinary([words[0]])[0]);
                let (log, _) = exact(words, (f64::from(folded >> 1) + 0.5) * 2_f64.powi(-31));
                assert_eq!(z < 0.0, words[0] & 1 == 1);
                worst[1] = worst[1].max((z.abs() - log).abs() / (log * f64::from(f32::EPSILON)));
            }
        }
        worst
    }

    #[test]
    fn arithmetic_is_good_to_three_units() {
        // The logarithm is good to two units, of which the root leaves one and adds a half; cosine and sine
        // are good to one, and the product rounds by a half.
        let worst = worst_errors(0);
        assert!(worst[0] < 3.0 && worst[1] < 2.0, "{worst:?}");
    }

    #[test]
    fn rare_items_reach_far_and_meet_the_ordinary_ones() {
        // u = 2^-k + ½ 2^-128 exactly: r = √(2 k ln 2), to 13.4 σ.
        for k in 13..=128_u32 {
            let bits = 1_u128 << (128 - k);
            let mut more = [0; 16];
            for (i, word) in more.iter_mut().enumerate().take(3) {
                *word = (bits >> (32 * i)) as u32;
            }
            let [z, _] = Gaussian::rare([(bits >> 96) as u32, 1 << 29], &more);
            let u = 2_f64.powi(-(k as i32)) + 2_f64.powi(-129);
            let expected = (-2.0 * libm::log(u)).sqrt();
            assert!((f64::from(z) - expected).abs() < 2.0 * f64::from(f32::EPSILON) * expected, "{k}");
        }
        let [farthest, _] = Gaussian::rare([0, 1 << 29], &[0; 16]);
        assert!((f64::from(farthest) - (258.0 * std::f64::consts::LN_2).sqrt()).abs() < 1e-5);
        // The other end: radii down to √(2 · 2^-129), with all their digits.
        let [nearest, _] = Gaussian::rare([u32::MAX, 1 << 29], &[0; 16]);
        assert!(nearest > 0.0 && nearest < 1e-19, "{nearest:e}");
        // At the boundary both formulas agree to the width of a cell.
        let mut middle = [0; 16];
        middle[2] = 1 << 31;
        for word in [RARE_RADIUS, !RARE_RADIUS] {
            let (ordinary, rare) = (Gaussian::ordinary([word, 7]), Gaussian::rare([word, 7], &middle));
            for (a, b) in ordinary.into_iter().zip(rare) {
                assert!((a - b).abs() <= 2.0 * f32::EPSILON * a.abs(), "{a} {b}");
            }
        }
    }

    #[test]
    fn the_law_is_symmetric() {
        // Turning by half a turn flips both signs; mirroring the angle in its quarter flips the sine.
        let mut stream = Seed::for_tests(2).streams(Purpose::Split).at(0);
        for _ in 0..1_000 {
            let [radius, angle] = [stream.next_u32(), stream.next_u32()];
            let [a, b] = Gaussian::ordinary([radius, angle]);
            assert_eq!(Gaussian::ordinary([radius, angle ^ 1 << 31]), [-a, -b]);
            let mirrored = Gaussian::ordinary([radius, angle ^ 0x3fff_ffff]);
            assert_eq!(
                [mirrored[0].abs().to_bits(), mirrored[1].abs().to_bits()],
                [a.abs().to_bits(), b.abs().to_bits()]
            );
            assert!((mirrored[0] == a) != (mirrored[1] == b));
            assert_ne!((a, b), (0.0, 0.0));
        }
    }
}
