//! Logarithms, and the functions made of them.

use super::exponential::exp;
use super::real::{Real, select};

/// k ln 2 + ln(1 + f) + correction, for 1 + f in \[√½, √2\].
///
/// With s = f/(2 + f): ln(1 + f) = 2 atanh(s) = f − f²/2 + s (f²/2 + s² R(s²)), so that f, the largest term, is exact.
#[inline(always)]
fn ln_parts<T: Real>(f: T, k: T, correction: T) -> T {
    let s = f / (T::of(2.0) + f);
    let z = s * s;
    let half_square = T::of(0.5) * f * f;
    let small = s * (half_square + z * T::ln_rest(z)) + (k * T::LN_2_LOW + correction);
    k * T::LN_2_HIGH - ((half_square - small) - f)
}

/// ln x; −∞ at ±0, NaN below.
///
/// Measured maximum error: @ln@.
#[inline(always)]
pub(crate) fn ln<T: Real>(x: T) -> T {
    let (m, k) = x.split();
    let result = ln_parts(m - T::of(1.0), k, T::of(0.0));
    domain(x, result)
}

/// `result` where 0 < x < ∞, and otherwise the logarithm of x's edge: −∞ at 0, NaN below and at NaN, ∞ at ∞.
#[inline(always)]
fn domain<T: Real>(x: T, result: T) -> T {
    let edge = select(x == T::of(0.0), -T::INFINITY, select(x < T::of(0.0), T::NAN, x));
    select((x > T::of(0.0)) & (x < T::INFINITY), result, edge)
}

/// ln(1 + x), accurate near 0, where the sign of a zero is kept; −∞ at −1, NaN below.
///
/// Measured maximum error: @ln1p@.
#[inline(always)]
pub(crate) fn ln1p<T: Real>(x: T) -> T {
    let one = T::of(1.0);
    let sum = one + x;
    // sum + lost = 1 + x exactly
    let lost = select(x >= one, one - (sum - x), x - (sum - one));
    let (m, k) = sum.split();
    let near = (x > T::of(-0.29)) & (x < T::of(0.41));
    let zero = T::of(0.0);
    let result = ln_parts(select(near, x, m - one), select(near, zero, k), select(near, zero, lost / sum));
    select(x.magnitude() < T::TINY, x, domain(sum, result))
}

/// ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|)): x on the far right, eˣ on the far left.
///
/// Measured maximum error: @softplus@.
#[inline(always)]
pub(crate) fn softplus<T: Real>(x: T) -> T {
    select(x > T::of(0.0), x, T::of(0.0)) + ln1p(exp(-x.magnitude()))
}

/// ln(p/(1 − p)), relatively accurate near p = ½ too; ∓∞ at 0 and 1, NaN outside.
///
/// Between ¼ and ¾ it is ±ln(1 + |1 − 2p|/min(p, 1 − p)), whose numerator is exact.
///
/// Measured maximum error: @logit@.
#[inline(always)]
pub(crate) fn logit<T: Real>(p: T) -> T {
    let one = T::of(1.0);
    let rest = one - p;
    let excess = (p - T::of(0.5)) + (p - T::of(0.5));
    let near = ln1p(excess.magnitude() / select(p < rest, p, rest)).with_sign(excess);
    select(excess.magnitude() <= T::of(0.5), near, ln(p / rest))
}
