//! The error function, and probabilities, quantiles and moments of the normal distribution in tails however
//! far.

use super::Var;

/// √(2π)
pub(super) const SQRT_TAU: f64 = 2.506_628_274_631_000_7;

/// ln √(2π)
pub(super) const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

rows! { ($) unary
    /// Error function `(2/√π) ∫₀ˣ e^(−t²) dt` (NIST DLMF 7.2.1).
    Erf, pub fn erf(x) -> y {
        value: x.erf(),
        pullback(g): g * (FRAC_2_SQRT_PI * (-x.square()).exp()),
    },
    /// `1 − erf x`, relatively accurate in the right tail.
    Erfc, pub fn erfc(x) -> y {
        value: x.erfc(),
        pullback(g): g * (-FRAC_2_SQRT_PI * (-x.square()).exp()),
    },
    /// The `y` with `erf y = x`; ±∞ at ±1, NaN outside.
    Erfinv, pub fn erfinv(x) -> y {
        value: x.erfinv(),
        pullback(g): g * (y.square().exp() / FRAC_2_SQRT_PI),
    },
    /// `ln Φ(x)`, the logarithm of a standard normal probability, in tails however far. Relative error below
    /// 2e-15, times `1 + x²` right of 0.
    LogNdtr, pub fn log_ndtr(x) -> y {
        value: T::of(math::log_ndtr(x.as_f64())),
        pullback(g): g * x.inverse_mills(),
    },
    /// `φ(x)/Φ(x)` of the standard normal distribution, the derivative of [`Var::log_ndtr`]. Relative error
    /// below 2e-15, times `1 + x²` right of −1.
    InverseMills, pub fn inverse_mills(x) -> y {
        value: T::of(math::inverse_mills(x.as_f64())),
        pullback(g): -(g * (y * (x + y))),
    },
    /// The `x` with `Φ(x) = p`, a standard normal quantile; ∓∞ at 0 and 1, NaN outside. Relative error below
    /// 4e-15.
    Ndtri, pub fn ndtri(p) -> x {
        value: T::of(math::ndtri_near(p.as_f64())),
        far if !math::takes_ndtri_near(p.as_f64()) => T::of(math::ndtri(p.as_f64())),
        pullback(g): g * (normal::SQRT_TAU * (0.5 * x.square()).exp()),
    },
    /// The `x` with `ln Φ(x) = l`, a quantile in tails however far; −∞ at −∞, ∞ at 0, NaN above. Relative
    /// error below 4e-15.
    NdtriExp, pub fn ndtri_exp(l) -> x {
        value: T::of(math::ndtri_exp_near(l.as_f64())),
        far if !math::takes_ndtri_exp_near(l.as_f64()) => T::of(math::ndtri_exp(l.as_f64())),
        pullback(g): g / x.inverse_mills(),
    },
}

rows! { ($) special
    /// `ln(Φ(b) − Φ(a))` for `a = self < b`: the logarithm of a standard normal probability, of intervals
    /// however narrow or far out. −∞ where the ends are equal, NaN where they are the wrong way round.
    LogNdtrDifference, pub fn log_ndtr_difference([a], b) -> y {
        value: math::log_ndtr_difference(a, b),
        slopes: [-normal::at_end(a, y, |_| y.constant(1.0)), normal::at_end(b, y, |_| y.constant(1.0))],
    },
    /// The logarithm of the distribution function of Azzalini's skew normal distribution with skewness `α = alpha`, in
    /// both tails however far: of `∫ 2 φ(t) Φ(αt) dt` from −∞ to `self`. First derivatives exist in both arguments.
    LogSkewNormalCdf, pub fn log_skew_normal_cdf([z], alpha) -> y {
        value: math::log_skew_normal_cdf(z, alpha),
        slopes: [
            {
                let inside = z.is_finite() * y.is_finite();
                let (z, y) = (inside.select(z, 0.0), inside.select(y, 0.0));
                let log = (alpha * z).log_ndtr() - 0.5 * z.square() + (std::f64::consts::LN_2 - normal::LN_SQRT_TAU);
                inside.select((log - y).exp(), 0.0)
            },
            {
                let inside = z.is_finite() * y.is_finite();
                let (z, y) = (inside.select(z, 0.0), inside.select(y, 0.0));
                let spread = 1.0 + alpha.square();
                let share = (-0.5 * spread * z.square() - y).exp() / (std::f64::consts::PI * spread);
                inside.select(-share, 0.0)
            },
        ],
    },
    /// Owen's function `T(h, a) = (1/2π) ∫₀ᵃ e^(−h²(1 + x²)/2)/(1 + x²) dx` for `h = self`, of which skew normal
    /// probabilities are made. Absolute error below 3e-16.
    OwensT, pub fn owens_t([h], a) -> y {
        value: math::owens_t(h, a),
        slopes: [
            -normal::density(h) * (0.5 * (h * a * std::f64::consts::FRAC_1_SQRT_2).erf()),
            (-0.5 * (h.square() * (1.0 + a.square()))).exp() / (std::f64::consts::TAU * (1.0 + a.square())),
        ],
    },
    /// `ln ∫₀ʷ exp(−av − v²/2) dv` for `a = self ≥ 0` and a width `w > 0`, which may be infinite: the logarithm
    /// of a standard normal probability, of the interval from `a` to `a + w`, relative to the density at `a`.
    /// No large term is left in it however far out the interval is. Relative error below 1e-14.
    LogNormalTail, pub fn log_normal_tail([a], width) -> y {
        value: math::normal_tail(a, width).log,
        slopes: [
            -a.normal_tail_mean(width),
            // The density at the far end; nothing where there is none.
            {
                let inside = width.is_finite();
                let end = inside.select(width, 0.0);
                inside.select((-(end * (a + 0.5 * end)) - y).exp(), 0.0)
            },
        ],
    },
    /// `ln(R(a) − R(a + w))` for `a = self ≥ 0`, a width `w ≥ 0` and Mills' ratio `R(t) = Φ(−t)/φ(t)` of the standard
    /// normal distribution, without cancellation: −∞ where `w = 0`. Relative error of the difference below 3e-14.
    LogMillsDifference, pub fn log_mills_difference([a], width) -> y {
        value: math::log_mills_difference(a, width),
        slopes: [
            -a.mills_difference_mean(width),
            // −R′(b) = ∫ v exp(−bv − v²/2) dv at b = a + w
            {
                let b = a + width;
                (b.log_normal_tail(f64::INFINITY) + b.normal_tail_mean(f64::INFINITY).log() - y).exp()
            },
        ],
    },
    /// Minus the derivative of [`Var::log_mills_difference`] in `a`; it has no derivatives here.
    MillsDifferenceMean, pub fn mills_difference_mean([a], width) -> y {
        value: math::mills_difference(a, width).1,
        slopes: [
            Special::MillsDifferenceMean.unavailable(y, "any argument"),
            Special::MillsDifferenceMean.unavailable(y, "any argument"),
        ],
    },
    /// Mean of the distance `v` from `a = self ≥ 0` of a standard normal variable that is known to lie between
    /// `a` and `a + w`; about `1/a` where `a` and `w` are large. Relative error below 1e-14.
    NormalTailMean, pub fn normal_tail_mean([a], width) -> y {
        value: math::normal_tail(a, width).mean,
        slopes: [
            -a.normal_tail_variance(width),
            {
                let inside = width.is_finite();
                let end = inside.select(width, 0.0);
                let density = (-(end * (a + 0.5 * end)) - a.log_normal_tail(width)).exp();
                inside.select(density * (end - y), 0.0)
            },
        ],
    },
    /// Variance of the same; it has no derivatives here.
    NormalTailVariance, pub fn normal_tail_variance([a], width) -> y {
        value: math::normal_tail(a, width).variance,
        slopes: [
            Special::NormalTailVariance.unavailable(y, "any argument"),
            Special::NormalTailVariance.unavailable(y, "any argument"),
        ],
    },
    /// Mean of a standard normal variable that is known to lie between `a = self` and `b`, `a < b`; either
    /// may be infinite.
    NormalIntervalMean, pub fn normal_interval_mean([a], b) -> y {
        value: math::normal_interval_moments(a, b).0,
        slopes: [
            -normal::at_end(a, a.log_ndtr_difference(b), |end| end - y),
            normal::at_end(b, a.log_ndtr_difference(b), |end| end - y),
        ],
    },
    /// Variance of a standard normal variable that is known to lie between `a = self` and `b`, `a < b`;
    /// either may be infinite. Relative error below 1e-14 in intervals however narrow or far out.
    NormalIntervalVariance, pub fn normal_interval_variance([a], b) -> y {
        value: math::normal_interval_moments(a, b).1,
        slopes: [
            -normal::at_end(a, a.log_ndtr_difference(b), |end| (end - a.normal_interval_mean(b)).square() - y),
            normal::at_end(b, a.log_ndtr_difference(b), |end| (end - a.normal_interval_mean(b)).square() - y),
        ],
    },
}

/// How the expectation of `g(X)` moves with an end of the interval in which a standard normal variable `X` is
/// known to lie. With the upper end it moves as `φ(b)/(Φ(b) − Φ(a)) (g(b) − E g)`, and with the lower one as
/// the negative of the same at `a`; `gained` is the last factor. An infinite end does not count.
pub(super) fn at_end<'g>(
    end: Var<'g>,
    log_probability: Var<'g>,
    gained: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let density = (-0.5 * end.square() - LN_SQRT_TAU - log_probability).exp();
    let finite = end.is_finite();
    let gained = gained(finite.select(end, 0.0));
    finite.select(density * gained, 0.0)
}

/// The standard normal density.
pub(super) fn density<'g>(x: Var<'g>) -> Var<'g> {
    (-0.5 * x.square() - LN_SQRT_TAU).exp()
}
