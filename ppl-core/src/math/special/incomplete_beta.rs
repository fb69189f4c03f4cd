//! The regularised incomplete beta function, its inverse and its derivatives with respect to the parameters.
//!
//! Everything is seen over the log-odds s = ln(x/y), y = 1 − x, where the beta density D(s) = xᵃ yᵇ/B(a, b)
//! is log-concave. From a point below the mode (x (a + b) ≤ a)
//!
//! ```text
//! I = D ∫₀^∞ exp(−av − (a + b) ln(1 − x(1 − e⁻ᵛ))) dv
//! ```
//!
//! and derivatives with respect to a and b are the same integral with the scores ln x − ψ(a) + ψ(a + b) and
//! ln y − ψ(b) + ψ(a + b) as weights. Above the mode, I(x; a, b) = 1 − I(y; b, a).

use super::near_one::{lgamma_of_1_plus, log1p_minus_x};
use super::normal::{ndtri, ndtri_exp};
use super::tail::{CUT, log_of_rest, panel, reach};
use std::f64::consts::FRAC_2_PI;

use crate::math::{digamma, digamma_minus_log, exp, expm1, ln, ln1p, softplus, stirling_error, trigamma};

/// ½ ln 2π
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Where x = e^−POWER no longer counts beside 1.
const POWER: f64 = 40.0;

/// `ln(x/y)` for positive numbers, of which the quotient may be no number.
fn log_ratio(x: f64, y: f64) -> f64 {
    let ratio = x / y;
    if ratio.is_normal() { ln(ratio) } else { ln(x) - ln(y) }
}

/// `ln(1 + x/y)`, likewise.
fn log1p_ratio(x: f64, y: f64) -> f64 {
    let ratio = x / y;
    if ratio < f64::INFINITY { ln1p(ratio) } else { ln(x) - ln(y) }
}

/// Parameters and a point, on whichever side of the mode.
#[derive(Clone, Copy)]
struct Point {
    a: f64,
    b: f64,
    x: f64,
    y: f64,
    /// ln x and ln y
    log: (f64, f64),
}

impl Point {
    fn new(a: f64, b: f64, x: f64) -> Self {
        Self { a, b, x, y: 1.0 - x, log: (ln(x), ln1p(-x)) }
    }

    /// The point with these log-odds.
    fn at(a: f64, b: f64, odds: f64) -> Self {
        let small = exp(-odds.abs());
        let (near, far) = (1.0 / (1.0 + small), small / (1.0 + small));
        let (log_near, log_far) = (-ln1p(small), -odds.abs() - ln1p(small));
        if odds >= 0.0 {
            Self { a, b, x: near, y: far, log: (log_near, log_far) }
        } else {
            Self { a, b, x: far, y: near, log: (log_far, log_near) }
        }
    }

    /// The same seen from the other side.
    fn swapped(self) -> Self {
        Self { a: self.b, b: self.a, x: self.y, y: self.x, log: (self.log.1, self.log.0) }
    }

    /// Which side is integrated: that beyond x as seen from the mode. A parameter below 1 though puts nearly
    /// everything on its own side, far out: then the other side is, as long as the density hardly rises (by
    /// e^0.7) on the way over the mode.
    fn is_upper(self) -> bool {
        let Self { a, b, x, y, log } = self;
        let beyond = (log.0 - log.1) - (ln(a) - ln(b));
        // By the slope that the integral begins with: rounding may leave log-odds and slope on different
        // sides of a narrow mode.
        if b * x > a * y {
            b >= a || b > 1.0 || b * beyond > 0.7
        } else {
            a < b && a <= 1.0 && a * beyond > -0.7
        }
    }

    /// ln D. The large terms of a ln x + b ln y − ln B(a, b) are taken out by Stirling's formula: what is
    /// left of them is the distance from the mean, twice.
    fn log_density(self) -> f64 {
        let Self { a, b, x, y, log } = self;
        let sum = a + b;
        let distance = x * b - y * a;
        let part = |count: f64, distance: f64, share: f64, log: f64| {
            let relative = distance / count;
            // count · (ln(share · sum / count) − relative)
            if relative > -0.9 && relative < 1e3 {
                count * log1p_minus_x(relative)
            } else {
                let ratio = share * (sum / count);
                let represented = share.is_normal() && ratio.is_normal();
                count * if represented { ln(ratio) } else { log + log_ratio(sum, count) } - distance
            }
        };
        let fall = part(a, distance, x, log.0) + part(b, -distance, y, log.1);
        let stirling = stirling_error(sum) - stirling_error(a) - stirling_error(b);
        fall + stirling + 0.5 * (ln(a) + log_ratio(b, sum)) - HALF_LN_TWO_PI
    }

    /// (h, c, v + c) for c = ln(1 − x(1 − e⁻ᵛ)) and h = av + (a + b)c. Where x is near 1, v + c = ln(1 + y(eᵛ
    /// − 1)) is the small one.
    #[inline(always)]
    fn fall(self, v: f64) -> (f64, f64, f64) {
        let Self { a, b, x, y, log } = self;
        if x <= 0.5 {
            let rest = ln1p(x * expm1(-v));
            (a * v + (a + b) * rest, rest, v + rest)
        } else {
            // y may be too small for a number, and count where the parameters are large.
            let represented = y.is_normal() && v < 600.0;
            let rise = if represented { ln1p(y * expm1(v)) } else { softplus(log.1 + v) };
            ((a + b) * rise - b * v, rise - v, rise)
        }
    }

    /// h′(v) = a − (a + b) x e⁻ᵛ/(y + x e⁻ᵛ)
    #[inline(always)]
    fn steepness(self, v: f64) -> f64 {
        let Self { a, b, x, y, log } = self;
        if y.is_normal() {
            // The two terms may be all but equal.
            let fall = exp(-v);
            return (a * y - b * (x * fall)) / (y + x * fall);
        }
        let odds = log.0 - log.1 - v;
        let small = exp(-odds.abs());
        if odds >= 0.0 { (a * small - b) / (1.0 + small) } else { (a - b * small) / (1.0 + small) }
    }

    /// ∫₀^∞ exp(−h(v)) w(c, v + c) dv on the lower side.
    #[inline(always)]
    fn integral(self, weight: impl Fn(f64, f64) -> f64) -> f64 {
        let Self { a, b, x, y, log } = self;
        let sum = a + b;
        let odds = (log.0 - log.1).max(0.0);
        // Right of the root, or of the same size.
        let start = (2.0 * CUT / (sum * x * y).max(f64::MIN_POSITIVE)).sqrt().min(CUT / a + odds + 6.0);
        let to = reach(start, |v| (self.fall(v).0, self.steepness(v)));
        if !(to > 0.0) {
            // The tail is narrower than roundings of h leave to be seen: an exponential one, or half a normal
            // one at the mode.
            let fall = self.steepness(0.0).max(0.0) + (FRAC_2_PI * (sum * x * y)).sqrt();
            return weight(0.0, 0.0) / fall;
        }
        let value = |v: f64| {
            let (h, rest, rise) = self.fall(v);
            exp(-h) * weight(rest, rise)
        };
        let mut total = 0.0;
        for (from, end) in Panels::new(a, (odds - ln(sum.max(1.0))).max(0.0), to) {
            total += panel(from, end, value);
        }
        total
    }

    /// (I, 1 − I)
    fn probabilities(self) -> (f64, f64) {
        if self.is_upper() {
            let (upper, lower) = self.swapped().lower();
            (lower, upper)
        } else {
            self.lower()
        }
    }

    fn lower(self) -> (f64, f64) {
        let p = exp(self.log_density() + ln(self.integral(|_, _| 1.0)));
        (p, 1.0 - p)
    }

    /// (ln I, ln(1 − I))
    fn log_probabilities(self) -> (f64, f64) {
        let of_lower = |point: Self| (point.log_density() + ln(point.integral(|_, _| 1.0))).min(0.0);
        if self.is_upper() {
            let log = of_lower(self.swapped());
            (log_of_rest(log), log)
        } else {
            let log = of_lower(self);
            (log, log_of_rest(log))
        }
    }

    /// (−∂I/∂a, −∂I/∂b)/D on the lower side; which of them.
    fn lower_slope(self, second: bool) -> f64 {
        let Self { a, b, log, .. } = self;
        let sum = a + b;
        // ψ(a) − ψ(a + b) − ln x, from the parts of which the logarithms have been taken out
        if second {
            let mean = digamma_minus_log(b) - digamma_minus_log(sum) + log_ratio(b, sum) - log.1;
            self.integral(|rest, _| mean + rest)
        } else {
            let mean = digamma_minus_log(a) - digamma_minus_log(sum) + log_ratio(a, sum) - log.0;
            self.integral(|_, rise| mean + rise)
        }
    }

    fn slope(self, second: bool) -> f64 {
        if self.is_upper() { -self.swapped().lower_slope(!second) } else { self.lower_slope(second) }
    }
}

/// The pieces of [0, to] over which exp(−h) is integrated.
///
/// With s the log-odds of x, exp(−h) = e^(bv) (1 + e^(v−s))^−(a+b) but for a constant. It is a power of eᵛ on
/// either side of the place where it turns: v = s or, if a + b is large, where (a + b) e^(v−s) = 1. In units
/// of the distance from there, pieces are long, and so are they where a power is all that is left at 40 from
/// there (e⁻⁴⁰ is nothing beside 1); near there their length is 4, on which it is smooth: its singularities
/// lie at v = s ± iπ.
///
/// There are at most 1100 pieces: up to 40 before the turn it is one, then each leaves a quarter of the way
/// or goes 4; behind the turn a piece is 4 long or longer, and at least as long as the distance from the
/// turn, so from the second or third on that doubles, until it is 2¹⁰²⁴ at most. There are rarely more than
/// ten, for a power e^(−av) is taken 16/a at a time and ends about 38/a behind the turn.
struct Panels {
    a: f64,
    turn: f64,
    from: f64,
    to: f64,
}

impl Panels {
    fn new(a: f64, turn: f64, to: f64) -> Self {
        Self { a, turn, from: 0.0, to: to.min(f64::MAX) }
    }
}

impl Iterator for Panels {
    type Item = (f64, f64);

    #[inline(always)]
    fn next(&mut self) -> Option<(f64, f64)> {
        let Self { a, turn, from, to } = *self;
        if !(from < to) {
            return None;
        }
        let distance = from - turn;
        let width = if distance < -160.0 {
            -distance - 40.0
        } else if distance < 0.0 {
            (-0.75 * distance).max(4.0)
        } else if distance < 6.0 {
            4.0
        } else if distance < 40.0 {
            distance
        } else {
            distance.max(16.0 / a)
        };
        // One piece where the tail is short.
        let end = (from + width.max(8.0 * f64::EPSILON * from)).min(to);
        self.from = end;
        Some((from, end))
    }
}

/// Whether parameters and point are inside, and the value where they are at an edge.
fn edge(a: f64, b: f64, x: f64) -> Option<f64> {
    let positive = |v: f64| v > 0.0 && v < f64::INFINITY;
    if !(positive(a) && positive(b) && (0.0..=1.0).contains(&x)) {
        Some(f64::NAN)
    } else if x == 0.0 || x == 1.0 {
        Some(x)
    } else {
        None
    }
}

/// I(x; a, b), the regularised incomplete beta function (NIST DLMF 8.17.2), for a, b > 0 and 0 ≤ x ≤ 1.
pub fn beta_i(a: f64, b: f64, x: f64) -> f64 {
    edge(a, b, x).unwrap_or_else(|| Point::new(a, b, x).probabilities().0)
}

fn positive(a: f64, b: f64) -> bool {
    a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY
}

/// (I, 1 − I) for positive finite parameters, at the x with finite log-odds: both x and 1 − x with all their
/// digits.
pub(crate) fn log_odds_probabilities(a: f64, b: f64, odds: f64) -> (f64, f64) {
    Point::at(a, b, odds).probabilities()
}

/// The logarithms of [`log_odds_probabilities`], also where a probability is too small for a number.
pub(crate) fn log_log_odds_probabilities(a: f64, b: f64, odds: f64) -> (f64, f64) {
    Point::at(a, b, odds).log_probabilities()
}

/// ln I(x; a, b) for a, b > 0 and x with these log-odds, from −∞ to ∞. That of 1 − I is this of b, a and minus the
/// log-odds.
pub fn log_beta_i(a: f64, b: f64, odds: f64) -> f64 {
    if !positive(a, b) || odds.is_nan() {
        f64::NAN
    } else if odds.is_infinite() {
        if odds > 0.0 { 0.0 } else { odds }
    } else {
        log_log_odds_probabilities(a, b, odds).0
    }
}

/// a ln x + b ln(1 − x) − ln B(a, b) for x with log-odds s: the log density of a beta variable's log-odds.
pub fn log_beta_density(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) { Point::at(a, b, odds).log_density() } else { f64::NAN }
}

/// −(∂I/∂a)/D with the density D of the log-odds s: ∂s/∂a at constant I.
pub fn beta_slope_a(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) && odds.is_finite() { Point::at(a, b, odds).slope(false) } else { f64::NAN }
}

/// −(∂I/∂b)/D: ∂s/∂b at constant I.
pub fn beta_slope_b(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) && odds.is_finite() { Point::at(a, b, odds).slope(true) } else { f64::NAN }
}

/// The log-odds of the x with I(x; a, b) = p; −∞ and ∞ at 0 and 1, NaN outside.
pub fn logit_beta_i_inverse(a: f64, b: f64, p: f64) -> f64 {
    match edge(a, b, p) {
        Some(value) if value.is_nan() => value,
        Some(value) => f64::INFINITY.copysign(value - 0.5),
        None => {
            let target = if p > 0.5 { (true, ln(1.0 - p)) } else { (false, ln(p)) };
            log_odds(a, b, (ln(p), ln1p(-p)), ndtri(p), target)
        }
    }
}

/// The log-odds of the x with ln I(x; a, b) = log_p ≤ 0, also where that is the logarithm of no number.
pub fn logit_beta_i_inverse_of_log(a: f64, b: f64, log_p: f64) -> f64 {
    if !(positive(a, b) && log_p <= 0.0) {
        return f64::NAN;
    }
    if log_p == 0.0 || log_p == f64::NEG_INFINITY {
        return f64::INFINITY.copysign(log_p + 1.0);
    }
    let log_q = log_of_rest(log_p);
    let target = if log_q < log_p { (true, log_q) } else { (false, log_p) };
    log_odds(a, b, (log_p, log_q), ndtri_exp(log_p), target)
}

/// The probability of a value of at most z under Student's t distribution with ν degrees of freedom.
pub fn student_t_cdf(df: f64, z: f64) -> f64 {
    if !(df > 0.0) || z.is_nan() {
        return f64::NAN;
    }
    if df == f64::INFINITY {
        return 0.5 * crate::math::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    }
    // Both tails together are I(x; ν/2, ½) with x = ν/(ν + z²).
    let odds = ln(df) - 2.0 * ln(z.abs());
    let tail = if z == 0.0 {
        0.5
    } else if odds == f64::NEG_INFINITY {
        0.0
    } else {
        0.5 * Point::at(0.5 * df, 0.5, odds).probabilities().0
    };
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// ∂z/∂ν at constant probability: how a Student's t variable moves with its degrees of freedom.
pub fn student_t_slope(df: f64, z: f64) -> f64 {
    if !(df > 0.0 && df < f64::INFINITY) || z.is_nan() {
        return f64::NAN;
    }
    let odds = ln(df) - 2.0 * ln(z.abs());
    if z == 0.0 || !odds.is_finite() {
        return 0.0;
    }
    // With s = ln ν − 2 ln |z|: ds = dν/ν − 2 dz/z, and ds/dν is half the slope in ν/2.
    0.5 * z * (df.recip() - 0.5 * Point::at(0.5 * df, 0.5, odds).slope(false))
}

/// ln(a B(a, b)), which is 0 at a = 0. By Stirling's formula, of which the large terms cancel; a small
/// parameter's gamma function is taken as that of 1 more, so that nothing is left of the order of ln a.
fn log_a_beta(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if a >= 0.5 {
        let stirling = stirling_error(a) + stirling_error(b) - stirling_error(sum);
        let large = a * log1p_ratio(b, a) + b * log1p_ratio(a, b);
        stirling + 0.5 * (ln(a) - log_ratio(b, sum)) + HALF_LN_TWO_PI - large
    } else if b < 1.0 {
        // Of a tiny a the difference is its derivative, half way, times a.
        let tiny = a < 1e-5;
        let fall =
            if tiny { -a * digamma(1.0 + b + 0.5 * a) } else { lgamma_of_1_plus(b) - lgamma_of_1_plus(sum) };
        lgamma_of_1_plus(a) + fall + log1p_ratio(a, b)
    } else {
        // b ln(1 + a/b), of which a/b may be too small for a number
        let ratio = a / b;
        let log = if ratio < 1e-20 { a } else { b * ln1p(ratio) };
        let stirling = stirling_error(b) - stirling_error(sum);
        lgamma_of_1_plus(a) + (stirling + 0.5 * ln1p(ratio) + (a - log) - a * ln(sum))
    }
}

/// The log-odds of the x with I(x; a, b) = p, for 0 < p < 1, by ln p and ln(1 − p), the normal quantile, and what is to
/// be reached: whether it is ln(1 − p), and its value.
///
/// Where they are so far out that I or 1 − I is a power, they have a formula. Else they lie between two
/// bounds, and Halley's steps on the logarithm of the nearer probability that would lead out of what is known
/// are replaced by halving; and so are those of more than 1 after the eighth, for where the logarithm is a
/// power of the odds each step only gains about 1. The bounds are at most 1470 apart, so eleven halvings
/// leave less than 1: there are at most 100 steps, each of one integral.
fn log_odds(
    a: f64,
    b: f64,
    (log_p, log_q): (f64, f64),
    normal: f64,
    (upper_half, target): (bool, f64),
) -> f64 {
    // I = xᵃ/(a B(a, b)) where x is so small that neither x nor bx counts beside 1, and 1 − I likewise.
    let (from_left, from_right) = ((log_p + log_a_beta(a, b)) / a, -(log_q + log_a_beta(b, a)) / b);
    let (least, most) = (-POWER - ln(b.max(1.0)), POWER + ln(a.max(1.0)));
    if from_left < least {
        return from_left;
    }
    if from_right > most {
        return from_right;
    }
    let (mut low, mut high) = (least - 1.0, most + 1.0);
    let deviation = (trigamma(a) + trigamma(b)).sqrt();
    let guess = digamma(a) - digamma(b) + deviation * normal;
    let mut odds = guess.min(from_right).max(from_left).max(low).min(high);
    for count in 0..100 {
        let point = Point::at(a, b, odds);
        let (log_density, upper) = (point.log_density(), point.is_upper());
        let ratio = if upper { point.swapped() } else { point }.integral(|_, _| 1.0);
        let log_tail = log_density + ln(ratio);
        let (value, slope) = if upper == upper_half {
            (log_tail, if upper { -ratio.recip() } else { ratio.recip() })
        } else {
            let other = 1.0 - exp(log_tail);
            (ln(other), exp(log_density) / other * if upper { 1.0 } else { -1.0 })
        };
        // Of the sign of what the log-odds are too large by.
        let newton = (value - target) / slope;
        if newton > 0.0 {
            high = odds;
        } else {
            low = odds;
        }
        let bend = 1.0 - 0.5 * newton * (a * point.y - b * point.x - slope);
        let mut next = odds - newton / bend.max(0.5);
        let outside = !(next >= low && next <= high);
        if outside || (count >= 8 && (next - odds).abs() > 1.0) {
            next = 0.5 * (low + high);
        }
        let step = next - odds;
        odds = next;
        // Good enough for the next step to be exact, or as good as roundings let it be.
        if !(step.abs() > (3e-6 * deviation.min(1.0)).max(f64::EPSILON * (1.0 + odds.abs()))) {
            break;
        }
    }
    odds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few pieces that lie side by side, wherever the turn and the end are.
    #[test]
    fn pieces_are_few() {
        let numbers =
            [0.0, 1e-300, 1e-10, 1.0, 39.0, 170.0, 745.0, 1e10, 1e17, 1e100, 1e299, f64::MAX, f64::INFINITY];
        for a in [5e-324, 1e-300, 1e-10, 1.0, 1e10, 1e300] {
            for turn in &numbers[..11] {
                for to in &numbers[1..] {
                    let (mut count, mut last) = (0, 0.0);
                    for (from, end) in Panels::new(a, *turn, *to) {
                        assert!(from == last && end > from && end <= *to, "{a} {turn} {to}: {from} to {end}");
                        (count, last) = (count + 1, end);
                        assert!(count <= 1100, "{a} {turn} {to}");
                    }
                    assert_eq!(last, to.min(f64::MAX));
                    // What tails need.
                    assert!(count <= 20 || *to > turn + 100.0 / a, "{a} {turn} {to}: {count}");
                }
            }
        }
    }
}
