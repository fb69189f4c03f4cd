//! The regularised incomplete beta function, its inverse and its derivatives with respect to the parameters.
//!
//! Everything is seen over the log-odds s = ln(x/y), y = 1 − x, where the beta density D(s) = xᵃ yᵇ/B(a, b) is log-concave. From
//! a point below the mode (x (a + b) ≤ a)
//!
//! ```text
//! I = D ∫₀^∞ exp(−av − (a + b) ln(1 − x(1 − e⁻ᵛ))) dv
//! ```
//!
//! and derivatives with respect to a and b are the same integral with the scores ln x − ψ(a) + ψ(a + b) and
//! ln y − ψ(b) + ψ(a + b) as weights. Above the mode, I(x; a, b) = 1 − I(y; b, a).

use super::normal::ndtri;
use super::stirling::{digamma_minus_log, log1p_minus_x, stirling_error};
use super::tail::{CUT, panel, reach};
use crate::math::{digamma, exp, expm1, ln, ln1p, softplus, trigamma};

/// ½ ln 2π
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Where x = e^−POWER no longer counts beside 1.
const POWER: f64 = 40.0;

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

    /// Which side is integrated: that beyond x as seen from the mode. A small parameter though puts nearly everything on its own side, far out:
    /// then the other side is, as long as the density hardly rises (by e^0.7) on the way over the mode.
    fn is_upper(self) -> bool {
        let Self { a, b, log, .. } = self;
        let beyond = (log.0 - log.1) - (ln(a) - ln(b));
        if beyond > 0.0 { b >= a || b * beyond > 0.7 } else { a < b && a * beyond > -0.7 }
    }

    /// ln D. The large terms of a ln x + b ln y − ln B(a, b) are taken out by Stirling's formula: what is left of them is the
    /// distance from the mean, twice.
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
                let ratio = if share > 0.0 { ln(share * sum / count) } else { log + ln(sum / count) };
                count * ratio - distance
            }
        };
        let fall = part(a, distance, x, log.0) + part(b, -distance, y, log.1);
        let stirling = stirling_error(sum) - stirling_error(a) - stirling_error(b);
        fall + stirling + 0.5 * (ln(a) + ln(b / sum)) - HALF_LN_TWO_PI
    }

    /// (h, c, v + c) for c = ln(1 − x(1 − e⁻ᵛ)) and h = av + (a + b)c. Where x is near 1, v + c = ln(1 + y(eᵛ − 1)) is the small one.
    #[inline(always)]
    fn fall(self, v: f64) -> (f64, f64, f64) {
        let Self { a, b, x, y, log } = self;
        if x <= 0.5 {
            let rest = ln1p(x * expm1(-v));
            (a * v + (a + b) * rest, rest, v + rest)
        } else {
            let rise = if v < 600.0 { ln1p(y * expm1(v)) } else { softplus(log.1 + v) };
            ((a + b) * rise - b * v, rise - v, rise)
        }
    }

    /// ∫₀^∞ exp(−h(v)) w(c, v + c) dv on the lower side.
    #[inline(always)]
    fn integral(self, weight: impl Fn(f64, f64) -> f64) -> f64 {
        let Self { a, b, x, y, log } = self;
        let sum = a + b;
        let bend = (log.0 - log.1).max(0.0) + 6.0;
        // Right of the root, or of the same size.
        let start = (2.0 * CUT / (sum * x * y).max(f64::MIN_POSITIVE)).sqrt().min(CUT / a + bend);
        let to = reach(start, |v| {
            let fall = exp(-v);
            // a − (a + b) x e⁻ᵛ/(y + x e⁻ᵛ), of which the two terms may be all but equal
            (self.fall(v).0, (a * y - b * (x * fall)) / (y + x * fall))
        });
        let value = |v: f64| {
            let (h, rest, rise) = self.fall(v);
            exp(-h) * weight(rest, rise)
        };
        // The integrand changes over distances of 1 as far as x′ = x e⁻ᵛ/(y + x e⁻ᵛ) does, and is a power of e⁻ᵛ beyond.
        let (mut from, mut total) = (0.0, 0.0);
        while from < to {
            let width = if from < bend { 4.0 } else { from };
            // One panel where the tail is short.
            let end = (from + width).min(to);
            total += panel(from, end, value);
            from = end;
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

    /// (−∂I/∂a, −∂I/∂b)/D on the lower side; which of them.
    fn lower_slope(self, second: bool) -> f64 {
        let Self { a, b, log, .. } = self;
        let sum = a + b;
        // ψ(a) − ψ(a + b) − ln x, from the parts of which the logarithms have been taken out
        if second {
            let mean = digamma_minus_log(b) - digamma_minus_log(sum) + ln(b / sum) - log.1;
            self.integral(|rest, _| mean + rest)
        } else {
            let mean = digamma_minus_log(a) - digamma_minus_log(sum) + ln(a / sum) - log.0;
            self.integral(|_, rise| mean + rise)
        }
    }

    fn slope(self, second: bool) -> f64 {
        if self.is_upper() { -self.swapped().lower_slope(!second) } else { self.lower_slope(second) }
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
pub(crate) fn beta_i(a: f64, b: f64, x: f64) -> f64 {
    edge(a, b, x).unwrap_or_else(|| Point::new(a, b, x).probabilities().0)
}

fn positive(a: f64, b: f64) -> bool {
    a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY
}

/// (I, 1 − I) for positive finite parameters, at the x with finite log-odds: both x and 1 − x with all their digits.
pub(crate) fn log_odds_probabilities(a: f64, b: f64, odds: f64) -> (f64, f64) {
    Point::at(a, b, odds).probabilities()
}

/// a ln x + b ln(1 − x) − ln B(a, b) for x with log-odds s: the log density of a beta variable's log-odds.
pub(crate) fn log_beta_density(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) { Point::at(a, b, odds).log_density() } else { f64::NAN }
}

/// −(∂I/∂a)/D with the density D of the log-odds s: ∂s/∂a at constant I.
pub(crate) fn beta_slope_a(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) && odds.is_finite() { Point::at(a, b, odds).slope(false) } else { f64::NAN }
}

/// −(∂I/∂b)/D: ∂s/∂b at constant I.
pub(crate) fn beta_slope_b(a: f64, b: f64, odds: f64) -> f64 {
    if positive(a, b) && odds.is_finite() { Point::at(a, b, odds).slope(true) } else { f64::NAN }
}

/// The log-odds of the x with I(x; a, b) = p; −∞ and ∞ at 0 and 1, NaN outside.
pub(crate) fn logit_beta_i_inverse(a: f64, b: f64, p: f64) -> f64 {
    match edge(a, b, p) {
        Some(value) if value.is_nan() => value,
        Some(value) => f64::INFINITY.copysign(value - 0.5),
        None => log_odds(a, b, p),
    }
}

/// The probability of a value of at most z under Student's t distribution with ν degrees of freedom.
pub(crate) fn student_t_cdf(df: f64, z: f64) -> f64 {
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
pub(crate) fn student_t_slope(df: f64, z: f64) -> f64 {
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

/// ln B(a, b) by Stirling's formula, of which the large terms cancel.
fn log_beta(a: f64, b: f64) -> f64 {
    let stirling = stirling_error(a) + stirling_error(b) - stirling_error(a + b);
    stirling - 0.5 * (ln(a) + ln(b / (a + b))) + HALF_LN_TWO_PI - a * ln1p(b / a) - b * ln1p(a / b)
}

/// The log-odds of the x with I(x; a, b) = p, for 0 < p < 1.
fn log_odds(a: f64, b: f64, p: f64) -> f64 {
    let variance = trigamma(a) + trigamma(b);
    let deviation = variance.sqrt();
    let centre = digamma(a) - digamma(b);
    // I = xᵃ/(a B(a, b)) where x is so small that neither x nor bx counts beside 1, and 1 − I likewise.
    let log_beta = log_beta(a, b);
    let (from_left, from_right) = ((ln(p) + ln(a) + log_beta) / a, -(ln(1.0 - p) + ln(b) + log_beta) / b);
    if from_left < -POWER - ln(b.max(1.0)) {
        return from_left;
    }
    if from_right > POWER + ln(a.max(1.0)) {
        return from_right;
    }
    let mut odds = (centre + deviation * ndtri(p)).min(from_right.max(-700.0)).max(from_left.min(700.0));
    let (upper_half, target) = if p > 0.5 { (true, ln(1.0 - p)) } else { (false, ln(p)) };
    for _ in 0..200 {
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
        let newton = (value - target) / slope;
        let bend = 1.0 - 0.5 * newton * (a * point.y - b * point.x - slope);
        let step = (newton / bend.max(0.5)).clamp(-10.0 * deviation, 10.0 * deviation);
        odds -= step;
        if !(step.abs() > 3e-6 * deviation.min(1.0)) {
            break;
        }
    }
    odds
}
