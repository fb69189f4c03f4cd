//! The number types programs run in.

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
}

impl Scalar for f32 {
    #[inline]
    fn of(value: f64) -> Self {
        value as f32
    }
    #[inline]
    fn as_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
    }
    #[inline]
    fn as_f64(self) -> f64 {
        self
    }
}

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
