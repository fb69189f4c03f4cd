//! Binomial numbers of up to 2⁶³ trials, within 2⁻¹²⁶ of exact for a fair coin.
//!
//! # Why they are right
//!
//! *Up to 4,096 tosses of a fair coin* are tossed: the ones among as many random bits are counted.
//!
//! *More*, 2m of them (an odd one is tossed for itself), are m + d heads with probability proportional to
//!
//! ```text
//! r(d) = C(2m, m + d) / C(2m, m) = Π_{k=1}^{|d|} (1 − |d|/(m + k)) ≤ exp(−d²/(m + |d|))
//! ```
//!
//! With w = ⌈√m⌉ and |d| = i·w + j, 0 ≤ j < w, that is at most 2⁻ⁱ: for i ≥ 1, d²/(m + d) grows with d, and
//! at d = i·w it is at least i²/(1 + i/w) ≥ i ln 2 because 1 ≤ i ≤ m/w ≤ w. So a proposal with a fair sign, i
//! geometric and j uniform, accepted with probability A = 2ⁱ·r(d), has the right distribution (d = 0 has two
//! signs; one is turned away). That accepts at least four proposals in ten.
//!
//! A proposal with i ≥ 12 is always turned away: |d| ≥ 12w happens with probability below 2·exp(−144) < 2⁻²⁰⁶
//! (Hoeffding). A random word of 128 bits is compared with ⌊2¹²⁸ A⌋, and 256-bit fractions give A to 2⁻²²⁰,
//! so the total variation is at most (2⁻¹²⁸ + 2⁻²²⁰)/0.4 + 2⁻²⁰⁶ < 2⁻¹²⁶. Nearly always the comparison is
//! decided by the first 64 bits and a double within 2⁻⁴⁰ of A: a relative error of 10·2⁻⁵³ of ln r changes A
//! by at most that times A·|ln r| = A·(|ln A| + i ln 2) ≤ 1/e + 11 ln 2 < 8.1, sixty times less.
//!
//! *A coin that is not fair* shows heads with probability p = a/b: those whose uniform number is below p. The
//! first binary digits of all n numbers are n fair tosses; where p has a one, those with a zero are below for
//! certain, where it has a zero, those with a one are above; the rest goes on to the next digit. On average
//! log₂ n + 2 digits.

use rand_core::Rng;

use crate::Stream;
use crate::fraction::Fraction;

/// Up to this many tosses are tossed.
pub(super) const TOSSED: u64 = 1 << 12;
/// What a double may be wrong by.
const UNSURE: f64 = 1.0 / (1_u64 << 40) as f64;
/// Proposals as many widths away as this are not worth considering.
const FAR: u32 = 12;
/// Bound on the total variation between a number of heads and its exact distribution; see above.
pub(super) const DEVIATION: f64 = 1.0 / (1_u128 << 126) as f64;

/// Binomial(trials, numerator/denominator), where numerator < denominator ≤ 2⁶³ and trials ≤ 2⁶³.
pub(super) fn binomial(trials: u64, numerator: u64, denominator: u64, stream: &mut Stream) -> u64 {
    let (mut below, mut open, mut rest) = (0, trials, numerator);
    // Once only zeros follow, nothing can be below any more.
    while open > 0 && rest > 0 {
        rest *= 2;
        let zeros = heads(open, stream);
        if rest >= denominator {
            rest -= denominator;
            below += zeros;
            open -= zeros;
        } else {
            open = zeros;
        }
    }
    below
}

/// Binomial(tosses, 1/2).
fn heads(tosses: u64, stream: &mut Stream) -> u64 {
    if tosses <= TOSSED {
        let whole: u32 = (0..tosses / 64).map(|_| stream.next_u64().count_ones()).sum();
        let ragged = tosses % 64;
        let last = if ragged == 0 { 0 } else { (stream.next_u64() >> (64 - ragged)).count_ones() };
        return u64::from(whole + last);
    }
    let odd = if tosses % 2 == 1 { stream.next_u64() >> 63 } else { 0 };
    let (half, width) = (tosses / 2, Width::new(tosses / 2));
    loop {
        let word = stream.next_u64();
        let (negative, i) = (word >> 63 == 1, (word | 1 << 62).trailing_zeros());
        if i >= FAR {
            continue;
        }
        let distance = u64::from(i) * width.0 + stream.below(width.0);
        if (negative && distance == 0) || !accept(half, distance, i, stream) {
            continue;
        }
        return odd + if negative { half - distance } else { half + distance };
    }
}

/// ⌈√m⌉
struct Width(u64);

impl Width {
    fn new(half: u64) -> Self {
        let floor = half.isqrt();
        Self(floor + u64::from(floor * floor < half))
    }
}

/// True with probability A = 2ⁱ·r(d).
fn accept(half: u64, distance: u64, i: u32, stream: &mut impl Rng) -> bool {
    let word = stream.next_u64();
    let about = libm::exp(log_ratio(half as f64, distance as f64)) * f64::from(1_u32 << i);
    let unit = 2_f64.powi(64);
    // Conversions saturate, and no word is beyond the largest.
    if word < ((about - UNSURE) * unit) as u64 {
        true
    } else if word > ((about + UNSURE) * unit) as u64 {
        false
    } else {
        decide(half, distance, i, word, stream)
    }
}

/// The first word is too close to tell, once in 2³⁹: the second one and an exact threshold decide.
#[cold]
fn decide(half: u64, distance: u64, i: u32, word: u64, stream: &mut impl Rng) -> bool {
    (u128::from(word) << 64 | u128::from(stream.next_u64())) < exact_ratio(half, distance, i).top()
}

/// ln r(d) in doubles, for |d| ≤ 12⌈√m⌉ and m ≥ 2,048, where d/m < 0.28.
///
/// ```text
/// ln r = −(d²/m) Σ_{j≥1} x^{j−1}/(j(2j−1)) + Σ_{j≥1} xʲ/(2j) + 2s(m) − s(m+d) − s(m−d)      x = (d/m)²
/// ```
///
/// from Stirling's series n! = √(2πn) (n/e)ⁿ e^{s(n)}, with s(n) = 1/(12n) − 1/(360n³) + ….
fn log_ratio(m: f64, d: f64) -> f64 {
    let x = (d / m) * (d / m);
    let (mut sum, mut correction, mut power, mut j) = (0.0, 0.0, 1.0, 1.0);
    while power > 1e-18 {
        sum += power / (j * (2.0 * j - 1.0));
        power *= x;
        correction += power / (2.0 * j);
        j += 1.0;
    }
    let s = |n: f64| (1.0 / 12.0 - 1.0 / (360.0 * n * n)) / n;
    correction - d * (d / m) * sum + (2.0 * s(m) - s(m + d) - s(m - d))
}

/// The same series in 256-bit fractions, and its exponential times 2ⁱ: A to 2⁻²²⁰.
///
/// Logarithms are kept as 2⁻⁸ of themselves: −ln r < 152 there. Series end where a term rounds to zero,
/// Stirling's after sixteen terms (what is left out is below the next one, 2⁻³⁰⁰ for n ≥ 1,480).
fn exact_ratio(half: u64, distance: u64, i: u32) -> Fraction {
    let (m, d) = (u128::from(half), u128::from(distance));
    let x = Fraction::ratio(d * d, m * m);
    let quadratic = Fraction::ratio(d * d, m << 8);
    let (mut sum, mut correction, mut power, mut j) = (Fraction::ZERO, Fraction::ZERO, x, 1_u64);
    while power != Fraction::ZERO {
        correction = correction.plus(power.over(2 * j * 256));
        j += 1;
        sum = sum.plus(power.over(j * (2 * j - 1)));
        power = power.times(x);
    }
    let (near, far) = (stirling(m), stirling(m - d).plus(stirling(m + d)));
    let positive = quadratic.plus(quadratic.times(sum)).plus(far);
    let negative = correction.plus(near).plus(near);
    let mut ratio = exponential(positive.minus(negative));
    for _ in 0..8 {
        ratio = ratio.times(ratio);
    }
    (0..i).fold(ratio, |ratio, _| ratio.plus(ratio))
}

/// 2⁻⁸ s(n).
fn stirling(n: u128) -> Fraction {
    // B₂ₖ / (2k(2k − 1)) as fractions, k = 1, …: signs alternate.
    const TERMS: [(u64, u64); 16] = [
        (1, 12),
        (1, 360),
        (1, 1_260),
        (1, 1_680),
        (1, 1_188),
        (691, 360_360),
        (1, 156),
        (3_617, 122_400),
        (43_867, 244_188),
        (174_611, 125_400),
        (77_683, 5_796),
        (236_364_091, 1_506_960),
        (657_931, 300),
        (3_392_780_147, 93_960),
        (1_723_168_255_201, 2_492_028),
        (7_709_321_041_217, 505_920),
    ];
    let inverse = Fraction::ratio(1, n);
    let square = inverse.times(inverse);
    let (mut added, mut taken, mut power) = (Fraction::ZERO, Fraction::ZERO, inverse);
    for (k, (numerator, denominator)) in TERMS.into_iter().enumerate() {
        let term = power.over(denominator * 256).by(numerator);
        if k % 2 == 0 {
            added = added.plus(term);
        } else {
            taken = taken.plus(term);
        }
        power = power.times(square);
    }
    added.minus(taken)
}

/// e⁻ʸ for y in [0, 1).
fn exponential(y: Fraction) -> Fraction {
    let (mut even, mut odd, mut term, mut k) = (Fraction::ZERO, Fraction::ZERO, y, 1);
    while term != Fraction::ZERO {
        if k % 2 == 1 {
            odd = odd.plus(term);
        } else {
            even = even.plus(term);
        }
        k += 1;
        term = term.times(y).over(k);
    }
    odd.minus(even).complement()
}

#[cfg(test)]
mod tests;
