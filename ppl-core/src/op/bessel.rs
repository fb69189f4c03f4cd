//! Modified Bessel functions, and the von Mises distribution that is made of them.

use super::Var;
use std::f64::consts::{PI, TAU};

rows! { ($) unary
    /// `e^−|x| I₀(x)` with the modified Bessel function (NIST DLMF 10.25). Relative error below 3e-15.
    I0e, pub fn i0e(x) -> y {
        value: T::of(math::i0e(x.as_f64())),
        pullback(g): g * (x.i1e() - x.sign() * y),
    },
    /// The logarithm of `e^−|x| I₀(x)`, whose derivative keeps its digits where the ratio of the two Bessel
    /// functions is near 1. Relative error below 3e-15.
    LogI0e, pub fn log_i0e(x) -> y {
        value: T::of(math::i0e(x.as_f64())).logarithm(),
        pullback(g): -(g * (x.sign() * x.abs().bessel_ratio_complement())),
    },
    /// `e^−|x| I₁(x)` with the modified Bessel function (NIST DLMF 10.25). Relative error below 3e-15.
    I1e, pub fn i1e(x) -> y {
        value: T::of(math::i1e(x.as_f64())),
        pullback(g): {
            // I₁′ = I₀ − I₁/x, and I₁(x)/x is ½ at 0
            let origin = x.equal(0.0);
            let quotient = origin.select(0.5, y / origin.select(1.0, x));
            g * (x.i0e() - quotient - x.sign() * y)
        },
    },
    /// `I₁(x)/I₀(x)`, the mean resultant length of a von Mises variable with concentration `x`. Relative
    /// error below 3e-15.
    BesselRatio, pub fn bessel_ratio(x) -> y {
        value: T::of(math::bessel_ratio(x.as_f64())),
        pullback(g): g * bessel::ratio_derivative(x, 1.0 - y.abs()),
    },
    /// `1 − I₁(x)/I₀(x)` for `x ≥ 0`, the circular variance of a von Mises variable with concentration `x`.
    /// Relative error below 3e-14.
    BesselRatioComplement, pub fn bessel_ratio_complement(x) -> y {
        value: T::of(math::bessel_ratio_complement(x.as_f64())),
        pullback(g): -(g * bessel::ratio_derivative(x, y)),
    },
}

rows! { ($) special
    /// The probability of an angle from `−π` to `d` under the von Mises distribution around 0 with
    /// concentration `κ = self ≥ 0`; 0 below `−π`, 1 above `π`. Relative error below 1e-14 for negative
    /// angles.
    VonMisesCdf, pub fn von_mises_cdf([concentration], angle) -> y {
        value: math::von_mises_cdf(concentration, angle),
        slopes: [
            -(concentration.von_mises_slope(angle) * bessel::von_mises_density(concentration, angle)),
            bessel::von_mises_density(concentration, angle),
        ],
    },
    /// The angle between `−π` and `π` below which lies the probability `p`, for `κ = self`. Differentiated
    /// implicitly.
    VonMisesCdfInverse, pub fn von_mises_cdf_inverse([concentration], p) -> angle {
        value: math::von_mises_cdf_inverse(concentration, p),
        slopes: [
            concentration.von_mises_slope(angle),
            bessel::von_mises_density(concentration, angle).reciprocal(),
        ],
    },
    /// The probability of an angle between `from` and `to` under the von Mises distribution around 0 with
    /// concentration `κ = self ≥ 0`, for `from ≤ to ≤ from + 2π`, any numbers: whole turns do not count. Relative
    /// error below 1e-13 also where it is small.
    VonMisesBetween, pub fn von_mises_between([concentration], from, to) -> y {
        value: math::von_mises_between(concentration, from, to),
        slopes: [
            bessel::moved(concentration, from) - bessel::moved(concentration, to),
            -bessel::circular_density(concentration, from),
            bessel::circular_density(concentration, to),
        ],
    },
    /// `∂d/∂κ` at constant probability, for `κ = self`: how a von Mises variable moves with its
    /// concentration. Relative error below 1e-13. It has no derivative in `κ` here.
    VonMisesSlope, pub fn von_mises_slope([concentration], angle) -> y {
        value: math::von_mises_slope(concentration, angle),
        slopes: [
            Special::VonMisesSlope.unavailable(y, "its first argument"),
            concentration.bessel_ratio() - angle.cos() + y * concentration * angle.sin(),
        ],
    },
}

/// A′ = 1 − A/x − A² for A = I₁(x)/I₀(x) = ±(1 − c), by whichever of A and c is not near 1.
pub(super) fn ratio_derivative<'g>(x: Var<'g>, complement: Var<'g>) -> Var<'g> {
    let a = x.abs();
    // A/x is ½ at 0.
    let origin = a.equal(0.0);
    let ratio = 1.0 - complement;
    let quotient = origin.select(0.5, ratio / origin.select(1.0, a));
    complement * (2.0 - complement) - quotient
}

/// An angle less whole turns.
fn in_one_turn(angle: Var<'_>) -> Var<'_> {
    angle - TAU * ((angle + PI) / TAU).floor()
}

/// The density of a von Mises variable around 0 at an angle of any turn.
pub(super) fn circular_density<'g>(concentration: Var<'g>, angle: Var<'g>) -> Var<'g> {
    (concentration * (angle.cos() - 1.0)).exp() / (TAU * concentration.i0e())
}

/// How fast probability passes an angle of any turn as the concentration grows.
pub(super) fn moved<'g>(concentration: Var<'g>, angle: Var<'g>) -> Var<'g> {
    concentration.von_mises_slope(in_one_turn(angle)) * circular_density(concentration, angle)
}

/// The density of a von Mises variable around 0.
pub(super) fn von_mises_density<'g>(concentration: Var<'g>, angle: Var<'g>) -> Var<'g> {
    let height = (concentration * (angle.cos() - 1.0)).exp() / (TAU * concentration.i0e());
    angle.abs().less(PI).select(height, 0.0)
}
