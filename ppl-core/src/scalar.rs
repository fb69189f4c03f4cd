//! The number types programs run in.

use crate::math;
use ndarray::LinalgScalar;
use num_traits::Float;
use std::fmt::{Debug, Display};
use std::ops::{AddAssign, MulAssign};

/// A floating-point type a [`Plan`](crate::Plan) can run in: `f32` or `f64`.
pub trait Scalar:
    Float
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
    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The same value in `f64`.
    fn as_f64(self) -> f64;

    /// `1 / (1 + e^−x)`, without overflow for any finite `x`.
    #[inline]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        let numerator = if self >= Self::zero() { Self::one() } else { e };
        numerator / (Self::one() + e)
    }

    /// `ln(1 + e^x)`, without overflow for any finite `x`.
    #[inline]
    fn softplus(self) -> Self {
        // `max` would swallow a NaN; the sum does not.
        let positive = if self < Self::zero() { Self::zero() } else { self };
        positive + (-self.abs()).exp().ln_1p()
    }

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
}

macro_rules! scalar {
    ($float:ident, $of:expr, $as_f64:expr) => {
        impl Scalar for $float {
            #[inline]
            fn of(value: f64) -> Self {
                $of(value)
            }
            #[inline]
            fn as_f64(self) -> f64 {
                $as_f64(self)
            }
            #[inline]
            fn logit(self) -> Self {
                math::logit(self)
            }
            #[inline]
            fn erf(self) -> Self {
                math::erf(self)
            }
            #[inline]
            fn erfc(self) -> Self {
                math::erfc(self)
            }
            #[inline]
            fn erfinv(self) -> Self {
                math::erfinv(self)
            }
            #[inline]
            fn lgamma(self) -> Self {
                math::lgamma(self)
            }
            #[inline]
            fn digamma(self) -> Self {
                math::digamma(self)
            }
            #[inline]
            fn trigamma(self) -> Self {
                math::trigamma(self)
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
