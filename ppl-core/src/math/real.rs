//! What the algorithms need of `f32` and `f64`: bit operations, limits, and the polynomials of the right
//! length.

use super::coefficients as c;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `if condition { yes } else { no }` of two values that both exist already: a select, not a branch.
#[inline(always)]
pub(super) fn select<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// Σ coefficients\[i\] xⁱ: one, two or four interleaved Horner chains, which shorten the wait for each
/// result.
#[inline(always)]
pub(super) fn polynomial<T: Real, const N: usize>(coefficients: &[T; N], x: T) -> T {
    interleaved(coefficients, 0, x)
}

/// The same with the constant added last, for |x| so large that the order matters to the error.
#[inline(always)]
pub(super) fn polynomial_constant_last<T: Real, const N: usize>(coefficients: &[T; N], x: T) -> T {
    coefficients[0] + x * interleaved(coefficients, 1, x)
}

/// Σ coefficients\[first + i\] xⁱ.
#[inline(always)]
fn interleaved<T: Real, const N: usize>(coefficients: &[T; N], first: usize, x: T) -> T {
    let square = x * x;
    if N < 6 {
        chain::<T, N, 1>(coefficients, first, x)
    } else if N < 12 {
        chain::<T, N, 2>(coefficients, first, square) + x * chain::<T, N, 2>(coefficients, first + 1, square)
    } else {
        let fourth = square * square;
        let even = chain::<T, N, 4>(coefficients, first, fourth)
            + x * chain::<T, N, 4>(coefficients, first + 1, fourth);
        let odd = chain::<T, N, 4>(coefficients, first + 2, fourth)
            + x * chain::<T, N, 4>(coefficients, first + 3, fourth);
        even + square * odd
    }
}

/// Every `STEP`th coefficient from `first` on, by Horner's rule in `power` = x^`STEP`.
#[inline(always)]
fn chain<T: Real, const N: usize, const STEP: usize>(coefficients: &[T; N], first: usize, power: T) -> T {
    let mut i = first + (N - 1 - first) / STEP * STEP;
    let mut total = coefficients[i];
    while i > first {
        i -= STEP;
        total = total * power + coefficients[i];
    }
    total
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`, for the functions of this module, whose algorithms need what it has.
pub trait Real:
    sealed::Sealed
    + Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Whether this is `f64`.
    const DOUBLE: bool;
    /// ln 2, the piece whose products with exponents are exact.
    const LN_2_HIGH: Self;
    /// ln 2 less its high piece.
    const LN_2_LOW: Self;
    /// Below, eˣ rounds to 0 (with room to spare).
    const EXP_LOWEST: Self;
    /// Above, eˣ rounds to ∞ (with room to spare).
    const EXP_HIGHEST: Self;
    /// Below, eˣ − 1 rounds to −1.
    const EXPM1_LOWEST: Self;
    /// Above, erfc rounds to 0.
    const ERFC_HIGHEST: Self;
    /// Below it in magnitude, expm1(x) and ln1p(x) round to x.
    const TINY: Self;
    /// Below it in magnitude, tanh(x) rounds to x.
    const TINY_ODD: Self;
    /// +∞.
    const INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The same value in `f64`.
    fn wide(self) -> f64;
    /// |x|.
    fn magnitude(self) -> Self;
    /// |x| with the sign of `sign`.
    fn with_sign(self, sign: Self) -> Self;
    /// √x, which every instruction set rounds correctly.
    fn square_root(self) -> Self;
    /// The nearest integer, for |x| below 2²¹ (`f32`) or 2⁵⁰ (`f64`).
    fn nearest(self) -> Self;
    /// 2ⁿ for an integer n in the range of normal exponents.
    fn power_of_two(self) -> Self;
    /// (m, k) with x = m 2ᵏ and m in \[√½, √2), for finite x > 0, denormal or not.
    fn split(self) -> (Self, Self);
    /// x with the lower half of its significand set to zero, so that products of such values are exact.
    fn leading_half(self) -> Self;
    /// (eʳ − 1 − r)/r² for |r| ≤ ½ ln 2.
    fn exp_rest(r: Self) -> Self;
    /// (2 atanh(s)/s − 2)/s² in s².
    fn ln_rest(z: Self) -> Self;
    /// erf(x)/x − 1 in x², |x| ≤ ½.
    fn erf_rest(z: Self) -> Self;
    /// (1 + 2x) e^(x²) erfc(x) in (x − 4)/(x + 4), x ≥ ½.
    fn erfc_scaled(t: Self) -> Self;
    /// erfinv(x)/x in w = −ln(1 − x²) less 3.125, w ≤ 6.25.
    fn erfinv_centre(u: Self) -> Self;
    /// erfinv(x)/x in √w less 4.25, w ≥ 6.25.
    fn erfinv_tail(u: Self) -> Self;
}

macro_rules! real {
    ($float:ident, $bits:ident, $fraction:literal, $bias:literal, $root_half:literal, $two_to_fraction:literal,
     $denormal_shift:literal, $half_mask:expr, $double:literal,
     [$exp_lowest:literal, $exp_highest:literal, $expm1_lowest:literal, $erfc_highest:literal],
     [$tiny:expr, $tiny_odd:expr],
     [$high:ident, $low:ident, $exp:ident, $ln:ident, $erf:ident, $erfc:ident, $centre:ident, $tail:ident]) => {
        impl Real for $float {
            const DOUBLE: bool = $double;
            const LN_2_HIGH: Self = c::$high;
            const LN_2_LOW: Self = c::$low;
            const EXP_LOWEST: Self = $exp_lowest;
            const EXP_HIGHEST: Self = $exp_highest;
            const EXPM1_LOWEST: Self = $expm1_lowest;
            const ERFC_HIGHEST: Self = $erfc_highest;
            const TINY: Self = $tiny;
            const TINY_ODD: Self = $tiny_odd;
            const INFINITY: Self = $float::INFINITY;
            const NAN: Self = $float::NAN;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn with_sign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                // At 1.5·2^fraction one unit in the last place is 1, so the sum is rounded to an integer.
                const SHIFT: $float = 1.5 * $two_to_fraction;
                (self + SHIFT) - SHIFT
            }
            #[inline(always)]
            fn power_of_two(self) -> Self {
                // The low bits of n + 1.5·2^fraction are n in two's complement.
                const SHIFT: $float = 1.5 * $two_to_fraction;
                $float::from_bits((self + SHIFT).to_bits().wrapping_add($bias) << $fraction)
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                const FRACTION: $bits = (1 << $fraction) - 1;
                const OFFSET: $bits = ($bias << $fraction) - $root_half;
                const SCALE: $float = (1_u64 << $denormal_shift) as $float;
                const BASE: $float = $two_to_fraction + $bias as $float;
                let denormal = self < $float::MIN_POSITIVE;
                let scaled = select(denormal, self * SCALE, self);
                let bits = scaled.to_bits().wrapping_add(OFFSET);
                let significand = $float::from_bits((bits & FRACTION) + $root_half);
                // An integer below 2^fraction in the fraction of 2^fraction is added to it.
                const INTEGER: $bits = ($bias + $fraction) << $fraction;
                let exponent = $float::from_bits((bits >> $fraction) | INTEGER) - BASE;
                (significand, exponent - select(denormal, $denormal_shift as $float, 0.0))
            }
            #[inline(always)]
            fn leading_half(self) -> Self {
                $float::from_bits(self.to_bits() & $half_mask)
            }
            #[inline(always)]
            fn exp_rest(r: Self) -> Self {
                polynomial(&c::$exp, r)
            }
            #[inline(always)]
            fn ln_rest(z: Self) -> Self {
                polynomial(&c::$ln, z)
            }
            #[inline(always)]
            fn erf_rest(z: Self) -> Self {
                polynomial(&c::$erf, z)
            }
            #[inline(always)]
            fn erfc_scaled(t: Self) -> Self {
                polynomial_constant_last(&c::$erfc, t)
            }
            #[inline(always)]
            fn erfinv_centre(u: Self) -> Self {
                polynomial_constant_last(&c::$centre, u)
            }
            #[inline(always)]
            fn erfinv_tail(u: Self) -> Self {
                polynomial_constant_last(&c::$tail, u)
            }
        }
    };
}

real!(
    f64,
    u64,
    52,
    1023,
    0x3fe6_a09e_667f_3bcd,
    4_503_599_627_370_496.0,
    54,
    0xffff_ffff_f800_0000,
    true,
    [-746.0, 710.0, -40.0, 28.0],
    [1.0 / (1_u64 << 54) as f64, 1.0 / (1_u64 << 28) as f64],
    [LN_2_HIGH_64, LN_2_LOW_64, EXP_64, LN_64, ERF_64, ERFC_64, ERFINV_CENTRE_64, ERFINV_TAIL_64]
);
real!(
    f32,
    u32,
    23,
    127,
    0x3f35_04f3,
    8_388_608.0,
    25,
    0xffff_f000,
    false,
    [-104.0, 89.0, -20.0, 11.0],
    [1.0 / (1_u64 << 25) as f32, 1.0 / (1_u64 << 13) as f32],
    [LN_2_HIGH_32, LN_2_LOW_32, EXP_32, LN_32, ERF_32, ERFC_32, ERFINV_CENTRE_32, ERFINV_TAIL_32]
);
