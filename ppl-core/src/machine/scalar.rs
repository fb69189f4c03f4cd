//! The number types programs run in.

use crate::machine::Vectors;
use crate::math;
use crate::records::ColumnNumber;
use ndarray::LinalgScalar;
use num_traits::Float;
use std::fmt::{Debug, Display};
use std::ops::{AddAssign, MulAssign};

/// A floating-point type an [`ExecutionPlan`](crate::ExecutionPlan) can run in: `f32` or `f64`.
pub trait Scalar:
    Float
    + ColumnNumber
    + Vectors
    + LinalgScalar
    + AddAssign
    + MulAssign
    + Default
    + Debug
    + Display
    + Send
    + Sync
    + std::iter::Sum
    + 'static
{
    /// Largest argument of [`Scalar::sine`] and [`Scalar::cosine`].
    const SINE_LIMIT: f64 = math::TRIGONOMETRIC_LIMIT;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The same value in `f64`.
    fn as_f64(self) -> f64;

    /// `eˣ`. This and the functions below are those that programs run: they vectorise, and give the same bits
    /// on every machine (the functions of [`Float`] do not promise either).
    fn exponential(self) -> Self;
    /// `eˣ − 1`
    fn exponential_minus_1(self) -> Self;
    /// `ln x`
    fn logarithm(self) -> Self;
    /// `ln(1 + x)`
    fn logarithm_of_1_plus(self) -> Self;
    /// Hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// `sin x`; NaN for arguments beyond a million and a half, see [`Scalar::SINE_LIMIT`].
    fn sine(self) -> Self;
    /// `cos x`, under the same limit.
    fn cosine(self) -> Self;
    /// `aᵇ`, with the special cases of IEEE 754.
    fn power(self, exponent: Self) -> Self;
    /// `1 / (1 + e^−x)`, without overflow for any finite `x`.
    fn sigmoid(self) -> Self;
    /// `ln(1 + e^x)`, without overflow for any finite `x`.
    fn softplus(self) -> Self;
    /// `ln(x / (1 − x))`; −∞ at 0, ∞ at 1, NaN outside.
    fn logit(self) -> Self;
    /// `(2/√π) ∫₀ˣ e^(−t²) dt`
    fn erf(self) -> Self;
    /// `1 − erf x`, relatively accurate in the right tail.
    fn erfc(self) -> Self;
    /// The `y` with `erf y = x`; ±∞ at ±1, NaN outside.
    fn erfinv(self) -> Self;
    /// `ln |Γ(x)|`; ∞ at 0 and at the negative integers.
    fn lgamma(self) -> Self;
    /// `ψ(x) = d ln Γ(x)/dx`; NaN at the negative integers.
    fn digamma(self) -> Self;
    /// `ψ′(x)`; ∞ at 0 and at the negative integers.
    fn trigamma(self) -> Self;
    /// `ψ⁽ⁿ⁾(x)`, the derivative of order `n` of digamma.
    fn polygamma(self, order: u8) -> Self;
    /// `ln Γ(x + 1) − x ln x + x`, for `x ≥ 0`.
    fn log_factorial_remainder(self) -> Self;
    /// `ψ(x + 1) − ln x`, for `x > 0`.
    fn digamma_remainder(self) -> Self;
    /// `ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π)`, for `x > 0`.
    fn stirling_error(self) -> Self;
    /// `ψ(x) − ln x`, for `x > 0`.
    fn digamma_minus_log(self) -> Self;
    /// `x ln(x/m) + m − x`, for `x, m ≥ 0`.
    fn deviance(self, m: Self) -> Self;
    /// `ln(x/y)`, for `x, y ≥ 0`.
    fn logarithm_of_ratio(self, other: Self) -> Self;
    /// `ln(1 + x²)`, also where `x²` overflows.
    fn logarithm_of_1_plus_square(self) -> Self;
    /// The least number of this type that is at least `bound`.
    fn at_least(bound: f64) -> Self;
    /// The largest number of this type that is at most `bound`.
    fn at_most(bound: f64) -> Self;
}

macro_rules! scalar {
    ($float:ident, $of:expr, $as_f64:expr) => {
        impl Scalar for $float {
            #[inline(always)]
            fn of(value: f64) -> Self {
                $of(value)
            }
            #[inline(always)]
            fn as_f64(self) -> f64 {
                $as_f64(self)
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                math::powf(self, exponent)
            }
            #[inline(always)]
            fn exponential(self) -> Self {
                math::exp(self)
            }
            #[inline(always)]
            fn exponential_minus_1(self) -> Self {
                math::expm1(self)
            }
            #[inline(always)]
            fn logarithm(self) -> Self {
                math::ln(self)
            }
            #[inline(always)]
            fn logarithm_of_1_plus(self) -> Self {
                math::ln1p(self)
            }
            #[inline(always)]
            fn hyperbolic_tangent(self) -> Self {
                math::tanh(self)
            }
            #[inline(always)]
            fn sine(self) -> Self {
                math::sin(self)
            }
            #[inline(always)]
            fn cosine(self) -> Self {
                math::cos(self)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                math::sigmoid(self)
            }
            #[inline(always)]
            fn softplus(self) -> Self {
                math::softplus(self)
            }
            #[inline(always)]
            fn logit(self) -> Self {
                math::logit(self)
            }
            #[inline(always)]
            fn erf(self) -> Self {
                math::erf(self)
            }
            #[inline(always)]
            fn erfc(self) -> Self {
                math::erfc(self)
            }
            #[inline(always)]
            fn erfinv(self) -> Self {
                math::erfinv(self)
            }
            #[inline(always)]
            fn lgamma(self) -> Self {
                math::lgamma(self)
            }
            #[inline(always)]
            fn digamma(self) -> Self {
                math::digamma(self)
            }
            #[inline(always)]
            fn trigamma(self) -> Self {
                math::trigamma(self)
            }
            #[inline(always)]
            fn log_factorial_remainder(self) -> Self {
                math::log_factorial_remainder(self)
            }
            #[inline(always)]
            fn digamma_remainder(self) -> Self {
                math::digamma_remainder(self)
            }
            #[inline(always)]
            fn stirling_error(self) -> Self {
                math::stirling_error(self)
            }
            #[inline(always)]
            fn digamma_minus_log(self) -> Self {
                math::digamma_minus_log(self)
            }
            #[inline(always)]
            fn deviance(self, m: Self) -> Self {
                math::deviance(self, m)
            }
            #[inline(always)]
            fn logarithm_of_ratio(self, other: Self) -> Self {
                math::ln_ratio(self, other)
            }
            #[inline(always)]
            fn logarithm_of_1_plus_square(self) -> Self {
                math::ln1p_square(self)
            }
            #[inline(always)]
            fn at_least(bound: f64) -> Self {
                let nearest: Self = $of(bound);
                if $as_f64(nearest) < bound { nearest.next_up() } else { nearest }
            }
            #[inline(always)]
            fn at_most(bound: f64) -> Self {
                let nearest: Self = $of(bound);
                if $as_f64(nearest) > bound { nearest.next_down() } else { nearest }
            }
            #[inline]
            fn polygamma(self, order: u8) -> Self {
                $of(math::polygamma(order, $as_f64(self)))
            }
        }
    };
}

scalar!(f32, |value| value as f32, f64::from);
scalar!(f64, |value| value, |value| value);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoid_and_softplus_hold_at_the_ends() {
        for x in [-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0_f64] {
            let s = x.sigmoid();
            assert!((0.0..=1.0).contains(&s));
            assert!((s + (-x).sigmoid() - 1.0).abs() < 1e-15);
            // softplus(x) − softplus(−x) = x
            assert!((x.softplus() - (-x).softplus() - x).abs() <= 1e-13 * x.abs().max(1.0));
        }
        assert!(f64::NAN.sigmoid().is_nan() && f64::NAN.softplus().is_nan());
    }
}
