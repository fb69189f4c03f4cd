//! Normal probabilities and quantiles in logarithms.

use super::tail::{CUT, panel};
use crate::math::error_function::erfinv_quotient;
use crate::math::real::{Real, select};
use crate::math::{erfc, exp, expm1, ln, ln1p};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI, SQRT_2};

/// √π
const SQRT_PI: f64 = 1.772_453_850_905_516;
/// √(2/π)
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
/// ln √(2π)
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// e^(a²) erfc(a) for a ≥ ½: the polynomial of erfc up to 28, and the asymptotic series (NIST DLMF 7.12.1)
/// above.
#[inline(always)]
fn erfcx<T: Real>(a: T) -> T {
    let four = T::of(4.0);
    let limit = T::of(27.9);
    let inside = select(a > limit, limit, a);
    let near = T::erfc_scaled((inside - four) / (inside + four)) / (T::of(1.0) + (inside + inside));
    let z = T::of(0.5) / (a * a);
    let rest = T::of(105.0) - z * (T::of(945.0) - T::of(10395.0) * z);
    let series = T::of(1.0) - z * (T::of(1.0) - z * (T::of(3.0) - z * (T::of(15.0) - z * rest)));
    select(a > limit, series / (a * T::of(SQRT_PI)), near)
}

/// ln Φ(x), the logarithm of a standard normal probability.
///
/// Relative error below 2e-15 in `f64`; two or three units in the last place in `f32`.
#[inline(always)]
pub fn log_ndtr<T: Real>(x: T) -> T {
    let t = x * T::of(FRAC_1_SQRT_2);
    let half = T::of(0.5);
    let body = ln1p(-half * erfc(t));
    let a = -t;
    let safe = select(a > half, a, half);
    let tail = ln(half * erfcx(safe)) - half * x * x;
    select(x < T::of(-1.0), tail, body)
}

/// φ(x)/Φ(x), the derivative of [`log_ndtr`]: the inverse of Mills' ratio at −x.
///
/// Relative error below 1e-15 for x < −1 and 1e-15 (1 + x²) above, where it is as small as the density.
#[inline(always)]
pub fn inverse_mills<T: Real>(x: T) -> T {
    let t = x * T::of(FRAC_1_SQRT_2);
    let half = T::of(0.5);
    let a = -t;
    let safe = select(a > half, a, half);
    let tail = T::of(SQRT_2_OVER_PI) / erfcx(safe);
    let body = exp(-half * x * x) * T::of(0.5 * SQRT_2_OVER_PI) / (T::of(1.0) - half * erfc(t));
    select(x < T::of(-1.0), tail, body)
}

/// The least probability, and its logarithm, down to which the inverse of the error function has its polynomials.
const NEAREST: f64 = 6.5e-17;
const LOG_NEAREST: f64 = -37.27;

/// Where [`ndtri_near`] holds.
#[inline(always)]
pub(crate) fn takes_ndtri_near(p: f64) -> bool {
    (p > NEAREST) & (p < 1.0)
}

/// The x with Φ(x) = p, straight through: −√2 erfinv(1 − 2p), by the quotient of the inverse error function and its
/// argument in w = −ln(4 p (1 − p)), in which no digits are lost.
#[inline(always)]
pub(crate) fn ndtri_near(p: f64) -> f64 {
    let w = -ln(4.0 * (p * (1.0 - p)));
    -SQRT_2 * ((1.0 - 2.0 * p) * erfinv_quotient(w))
}

/// The x with Φ(x) = p; ∓∞ at 0 and 1, NaN outside.
///
/// Relative error below 4e-15 (absolute below ½, around the root at p = ½).
pub fn ndtri(p: f64) -> f64 {
    if takes_ndtri_near(p) {
        return ndtri_near(p);
    }
    if p > 0.5 {
        // 1 − p is exact.
        return -ndtri(1.0 - p);
    }
    // ln p errs by half a unit, which is at most 745 · 2⁻⁵³ / (x φ/Φ) ≈ ε/2 of x.
    ndtri_exp(ln(p))
}

/// Where [`ndtri_exp_near`] holds.
#[inline(always)]
pub(crate) fn takes_ndtri_exp_near(l: f64) -> bool {
    (l > LOG_NEAREST) & (l < -NEAREST)
}

/// The x with ln Φ(x) = l, straight through: with q = 1 − eˡ, by w = −ln(4 q) − l as in [`ndtri_near`].
#[inline(always)]
pub(crate) fn ndtri_exp_near(l: f64) -> f64 {
    let q = -expm1(l);
    let w = -((2.0 * LN_2 + l) + ln(q));
    -SQRT_2 * ((2.0 * q - 1.0) * erfinv_quotient(w))
}

/// The x with ln Φ(x) = l, for l ≤ 0; −∞ at −∞, ∞ at 0, NaN above.
///
/// Relative error below 4e-15 (absolute below ½, around the root at l = −ln 2).
pub fn ndtri_exp(l: f64) -> f64 {
    if takes_ndtri_exp_near(l) {
        return ndtri_exp_near(l);
    }
    if !(l <= 0.0) {
        return f64::NAN;
    }
    if l == f64::NEG_INFINITY {
        return l;
    }
    if l > -LN_2 {
        return -ndtri_exp(ln(-expm1(l)));
    }
    // Φ(x) ≈ φ(x)/|x|: x² ≈ −2l − ln 2π − ln x²
    let square = -2.0 * l;
    let mut x = -(square - ln(2.0 * PI * (square - ln(2.0 * PI * square)))).sqrt();
    for _ in 0..8 {
        // Halley's method on ln Φ, whose first two derivatives are m and −m(x + m).
        let m = inverse_mills(x);
        let newton = (log_ndtr(x) - l) / m;
        let step = newton / (1.0 + 0.5 * newton * (x + m));
        x -= step;
        // The error left is about (step)³/6 at most, for the third derivative is below 1 relative to the
        // first.
        if step.abs() <= 1e-6 * x.abs() {
            break;
        }
    }
    x
}

/// ln(Φ(b) − Φ(a)) for a < b, however narrow or far out the interval is; −∞ where a = b, NaN where a > b.
///
/// Relative error below 1e-14 (1 + x²/2) with x the end nearer to 0, as far as the ends themselves are exact.
pub fn log_ndtr_difference(a: f64, b: f64) -> f64 {
    if !(a < b) {
        return if a == b { f64::NEG_INFINITY } else { f64::NAN };
    }
    // Into the left half, where b is the end nearer to 0.
    let (a, b) = if a + b > 0.0 { (-b, -a) } else { (a, b) };
    let width = b - a;
    // The integrand φ(b − v)/φ(b) = exp(bv − v²/2) falls by e⁻⁸ at most, and grows only to e^½.
    if b <= 1.0 && width * (width * 0.5 - b) < 8.0 {
        let ratio = panel(0.0, width, |v| exp(v * (b - 0.5 * v)));
        return ln(ratio) - (0.5 * b * b + LN_SQRT_TAU);
    }
    if b > 1.0 {
        // 0 inside: both tails are small.
        return ln1p(-(0.5 * erfc(b * FRAC_1_SQRT_2) + 0.5 * erfc(-a * FRAC_1_SQRT_2)));
    }
    let (upper, lower) = (log_ndtr(b), log_ndtr(a));
    upper + ln1p(-exp(lower - upper))
}

/// (end, direction, reach): of the interval from a to b the part that matters, as distances from the end
/// where the density is highest, or from the left end where 0 is inside.
fn seen_from_the_mode(a: f64, b: f64) -> (f64, f64, f64) {
    let (end, direction, width) =
        if b <= 0.0 { (b, -1.0, b - a) } else { (a.max(-10.0), 1.0, b - a.max(-10.0)) };
    // h(v) = v²/2 + sv with s = |end| or, where 0 is inside, −|end|.
    let s = end * direction;
    let reach = if s >= 0.0 { 2.0 * CUT / (s + (s * s + 2.0 * CUT).sqrt()) } else { 10.0 - s };
    (end, direction, width.min(reach))
}

/// ∫ w(v) exp(−v²/2 − sv) dv over distances v of `seen_from_the_mode`, in panels of three standard
/// deviations.
fn interval_integral((end, direction, reach): (f64, f64, f64), weight: impl Fn(f64) -> f64) -> f64 {
    let s = end * direction;
    // Relative to the height at the mode, which may be inside.
    let height = if s < 0.0 { -0.5 * s * s } else { 0.0 };
    let count = (reach / 3.0).ceil().clamp(1.0, 16.0);
    let width = reach / count;
    let mut total = 0.0;
    for k in 0..count as u32 {
        let from = f64::from(k) * width;
        total += panel(from, from + width, |v| exp(height - v * (0.5 * v + s)) * weight(v));
    }
    total
}

/// Of the distances v from a ≥ 0 over which a standard normal variable extends that is known to lie between a
/// and a + w: the logarithm of ∫ exp(−av − v²/2) dv, mean and variance of v.
pub(crate) struct NormalTail {
    pub(crate) log: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// See [`NormalTail`]; NaN unless a ≥ 0 and w > 0. −∞ and 0 where w = 0.
///
/// Relative errors below 1e-14: nothing cancels, for the integrands have one sign.
pub(crate) fn normal_tail(a: f64, w: f64) -> NormalTail {
    if !((0.0..f64::INFINITY).contains(&a) && w > 0.0) {
        let log = if a >= 0.0 && w == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
        let rest = if a >= 0.0 && w == 0.0 { 0.0 } else { f64::NAN };
        return NormalTail { log, mean: rest, variance: rest };
    }
    let reach = 2.0 * CUT / (a + (a * a + 2.0 * CUT).sqrt());
    let seen = (a, 1.0, w.min(reach));
    // In units of the reach, so that squares of distances do not underflow.
    let unit = seen.2;
    let total = interval_integral(seen, |_| 1.0);
    let mean = interval_integral(seen, |v| v / unit) / total;
    let variance = interval_integral(seen, |v| (v / unit - mean) * (v / unit - mean)) / total;
    NormalTail { log: ln(total), mean: unit * mean, variance: (unit * unit) * variance }
}

/// ln(R(a) − R(a + w)) for Mills' ratio R(t) = Φ(−t)/φ(t), a ≥ 0 and w ≥ 0, and minus its derivative in a.
///
/// It is ∫ exp(−av − v²/2)(1 − e^(−wv)) dv over v > 0, of which nothing cancels, and the mean of v under that; where w
/// is larger than a + 1, a difference of which half is left. Relative errors below 3e-14.
pub(crate) fn mills_difference(a: f64, w: f64) -> (f64, f64) {
    if !((0.0..f64::INFINITY).contains(&a) && w > 0.0) {
        let log = if a >= 0.0 && w == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
        return (log, f64::NAN);
    }
    if w >= a + 1.0 {
        let (near, far) = (normal_tail(a, f64::INFINITY), normal_tail(a + w, f64::INFINITY));
        // Infinitely far nothing is left.
        let share = if w == f64::INFINITY { 0.0 } else { exp(far.log - near.log) };
        let less = if share == 0.0 { 0.0 } else { share * far.mean };
        return (near.log + ln1p(-share), (near.mean - less) / (1.0 - share));
    }
    // Relative to the sum, v² times what is cut off is no more than elsewhere.
    let cut = CUT + 8.0;
    let reach = 2.0 * cut / (a + (a * a + 2.0 * cut).sqrt());
    let unit = (a + 1.0).recip();
    let weight = |v: f64| -expm1(-w * v);
    let total = interval_integral((a, 1.0, reach), |v| weight(v) / (w * unit));
    let mean = interval_integral((a, 1.0, reach), |v| weight(v) / (w * unit) * (v / unit)) / total;
    (ln(total) + ln(w * unit), unit * mean)
}

/// ln(R(a) − R(a + w)) for Mills' ratio R(t) = Φ(−t)/φ(t) of the standard normal distribution, a ≥ 0 and w ≥ 0, without
/// cancellation: −∞ where w = 0, NaN outside. Relative error of R(a) − R(a + w) below 3e-14.
pub fn log_mills_difference(a: f64, w: f64) -> f64 {
    mills_difference(a, w).0
}

/// Mean and variance of a standard normal variable that is known to lie between a and b, a < b; NaN
/// otherwise.
///
/// By quadrature from the near end, so that nothing cancels in narrow intervals or far tails. Relative error
/// of the variance and of the distance of the mean from the near end below 1e-14.
pub fn normal_interval_moments(a: f64, b: f64) -> (f64, f64) {
    if !(a < b) {
        return (f64::NAN, f64::NAN);
    }
    let seen = seen_from_the_mode(a, b);
    let total = interval_integral(seen, |_| 1.0);
    // The mean, and its distance from the end.
    let (mean, place) = if a < 0.0 && b > 0.0 {
        // (φ(a) − φ(b))/(Φ(b) − Φ(a)) with b² − a² as a product; the nearer end has the larger density.
        let (near, far, sign) = if -a <= b { (a, b, 1.0) } else { (b, a, -1.0) };
        let fall = if far.is_finite() { 0.5 * (far - near) * (far + near) } else { f64::INFINITY };
        let density = exp(-0.5 * near * near - LN_SQRT_TAU - log_ndtr_difference(a, b));
        let mean = if near.is_finite() { -sign * density * expm1(-fall) } else { 0.0 };
        (mean, (mean - seen.0) * seen.1)
    } else {
        let place = interval_integral(seen, |v| v) / total;
        (seen.0 + seen.1 * place, place)
    };
    let variance = interval_integral(seen, |v| (v - place) * (v - place)) / total;
    (mean, variance)
}
