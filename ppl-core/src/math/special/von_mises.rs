//! The von Mises distribution function on (−π, π], its inverse, and how the inverse moves with the
//! concentration.
//!
//! The density is e^(−2κ sin²(d/2)) / (2π e^(−κ) I₀(κ)). Below the mode the integral from −π is taken in
//! steps away from d, where the density falls.

use super::bessel::{bessel_ratio_complement, i0e};
use super::normal::ndtri;
use super::tail::{CUT, panel};
use crate::math::{exp, sin};
use std::f64::consts::{PI, TAU};

/// exp(κ (cos t − cos d)) by half angles, so that nothing cancels where κ is large and t near d.
#[inline(always)]
fn relative(concentration: f64, t: f64, d: f64) -> f64 {
    exp(-2.0 * concentration * sin(0.5 * (t - d)) * sin(0.5 * (t + d)))
}

/// ∫ over v from 0 to π + d of the density at d − v relative to that at d, times a weight of d − v; for −π ≤
/// d ≤ 0.
#[inline(always)]
fn lower(concentration: f64, d: f64, weight: impl Fn(f64) -> f64) -> f64 {
    down_from(concentration, d, PI + d, weight)
}

/// The same integral over v from 0 to `whole` ≤ π + d.
#[inline(always)]
fn down_from(concentration: f64, d: f64, whole: f64, weight: impl Fn(f64) -> f64) -> f64 {
    // cos d − cos(d − v) ≥ (2/π²)·v(v + 2|d|)·… is at least (2/π²) v²/… ; the density is cut where it has
    // certainly fallen enough.
    let needed = CUT / (2.0 * concentration);
    // sin(v/2) sin(v/2 + |d|) = needed, by steps from above; sin is at least 2/π of its argument on the first
    // half.
    let mut to = whole;
    let height = |v: f64| sin(0.5 * v) * sin(0.5 * v - d);
    if height(whole) > needed {
        let (mut low, mut high) = (0.0, whole);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if height(middle) > needed {
                high = middle
            } else {
                low = middle
            }
            if high - low < 0.05 * high {
                break;
            }
        }
        to = high;
    }
    let value = |v: f64| relative(concentration, d - v, d) * weight(d - v);
    if to > 1.0 && concentration > 4.0 {
        panel(0.0, 0.5 * to, value) + panel(0.5 * to, to, value)
    } else {
        panel(0.0, to, value)
    }
}

/// The density at d.
fn density(concentration: f64, d: f64) -> f64 {
    let half = sin(0.5 * d);
    exp(-2.0 * concentration * half * half) / (TAU * i0e(concentration))
}

fn inside(concentration: f64) -> bool {
    (0.0..f64::INFINITY).contains(&concentration)
}

/// The probability of an angle from −π to d, for concentration κ ≥ 0; 0 below −π, 1 above π.
pub fn von_mises_cdf(concentration: f64, d: f64) -> f64 {
    if !inside(concentration) || d.is_nan() {
        return f64::NAN;
    }
    if d >= PI {
        1.0
    } else if d <= -PI {
        0.0
    } else if d > 0.0 {
        1.0 - von_mises_cdf(concentration, -d)
    } else {
        density(concentration, d) * lower(concentration, d, |_| 1.0)
    }
}

/// The probability of an angle between `from` and `to`, from ≤ to ≤ from + 2π, any numbers: whole turns do not
/// count. Nothing cancels where both lie in one tail.
pub(crate) fn von_mises_between(concentration: f64, from: f64, to: f64) -> f64 {
    if !(inside(concentration) && from.abs() < 1e15 && to >= from) {
        return f64::NAN;
    }
    let width = to - from;
    if width >= TAU {
        return 1.0;
    }
    // The turn in which `from` lies: −π ≤ from < π.
    let from = from - TAU * ((from + PI) / TAU).floor();
    let from = from.clamp(-PI, PI);
    let to = from + width;
    // Below the mode, above it to π, and what is beyond that on the next turn.
    let half = |near: f64, far: f64| {
        // −π ≤ far ≤ near ≤ 0
        if near > far {
            density(concentration, near) * down_from(concentration, near, near - far, |_| 1.0)
        } else {
            0.0
        }
    };
    let below = half(to.min(0.0), from.min(0.0));
    let above = half(-from.max(0.0), -to.clamp(0.0, PI));
    let next = half((to - TAU).clamp(-PI, 0.0), -PI);
    let beyond = half(0.0, -(to - TAU).max(0.0));
    (below + above + next + beyond).min(1.0)
}

/// ∂d/∂κ at constant probability: −(∂F/∂κ)/density, odd in d; 0 at 0 and ±π.
pub fn von_mises_slope(concentration: f64, d: f64) -> f64 {
    if !inside(concentration) || d.is_nan() {
        return f64::NAN;
    }
    if d > 0.0 {
        return -von_mises_slope(concentration, -d);
    }
    if d <= -PI || d == 0.0 {
        return 0.0;
    }
    // The score is cos t − I₁/I₀ = c − 2 sin²(t/2), and its expectation over the half circle is 0.
    let complement = bessel_ratio_complement(concentration);
    let score = |t: f64| {
        let half = sin(0.5 * t);
        complement - 2.0 * half * half
    };
    if score(d) < 0.0 {
        -lower(concentration, d, score)
    } else {
        // From the mode outwards the score is positive; narrow, for the score changes sign within a standard
        // deviation or so.
        panel(d, 0.0, |t| relative(concentration, t, d) * score(t))
    }
}

/// The angle below which lies the probability p; −π and π at 0 and 1, NaN outside.
pub fn von_mises_cdf_inverse(concentration: f64, p: f64) -> f64 {
    if !inside(concentration) || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -von_mises_cdf_inverse(concentration, 1.0 - p);
    }
    if p == 0.0 {
        return -PI;
    }
    if p == 0.5 {
        return 0.0;
    }
    let (mut low, mut high) = (-PI, 0.0);
    let unit = concentration.max(1.0).sqrt().recip();
    let mut d = if concentration > 1.0 {
        // The chord 2 sin(d/2) is about normal with variance 1/κ, and d ≈ chord (1 + chord²/24).
        let chord = ndtri(p) * unit;
        (chord * (1.0 + chord * chord / 24.0)).clamp(-3.1, 0.0)
    } else {
        TAU * (p - 0.5)
    };
    for _ in 0..100 {
        let ratio = lower(concentration, d, |_| 1.0);
        let density = density(concentration, d);
        // Newton's and Halley's step on ln F, with F = density · ratio.
        let newton = (crate::math::ln(density * ratio) - crate::math::ln(p)) * ratio;
        if newton > 0.0 {
            high = d
        } else {
            low = d
        }
        let bend = 1.0 + 0.5 * newton * (concentration * sin(d) + ratio.recip());
        let mut next = d - newton / bend.clamp(0.5, 2.0);
        if !(next >= low && next <= high) {
            next = 0.5 * (low + high);
        }
        let step = next - d;
        d = next;
        if !(step.abs() > 1e-6 * unit.min(ratio)) {
            break;
        }
    }
    d
}
