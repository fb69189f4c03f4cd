//! Draws by rejection from a fixed number of standard noise numbers: a few attempts, and where all are rejected
//! the quantile of a uniform number that no attempt has seen.
//!
//! A rejected attempt says nothing of that last number, so the quantile has exactly the law that an accepted
//! attempt has, whatever the attempts were. An accepted one leaves it unseen, and it serves where the method
//! needs one number more.

use super::incomplete_gamma::log_gamma_p_inverse;
use super::near_one::log1p_minus_x;
use super::von_mises::von_mises_cdf_inverse;
use crate::math::ln;
use crate::math::{atan, cos, sin};
use std::f64::consts::FRAC_PI_2;

/// What attempts at a standard gamma variable of one shape have in common.
#[derive(Clone, Copy)]
struct Shape {
    /// d = a − ⅓ of the shape that is attempted, which is at least 1.
    offset: f64,
    /// 1/√(9d)
    step: f64,
    log: f64,
    /// 1/a for a shape below 1, of which one more than the shape is attempted; else 0.
    power: f64,
}

impl Shape {
    #[inline(always)]
    fn new(a: f64) -> Self {
        let small = a < 1.0;
        let offset = (if small { a + 1.0 } else { a }) - 1.0 / 3.0;
        let power = if small { 1.0 / a } else { 0.0 };
        Self { offset, step: 1.0 / (9.0 * offset).sqrt(), log: ln(offset), power }
    }

    /// The logarithm of a gamma variable, or NaN where the attempt is rejected (Marsaglia and Tsang 2000): with
    /// y = z/√(9d) it is d (1 + y)³, accepted if ln u < z²/2 + d (1 − (1 + y)³ + 3 ln(1 + y)). By
    /// ln(1 + y) − y, in which nothing cancels for large shapes. A shape below 1 is that of one more, times
    /// u′^(1/a).
    #[inline(always)]
    fn attempt(self, z: f64, u: f64, unseen: f64) -> f64 {
        let y = self.step * z;
        let inside = y > -1.0;
        let y = if inside { y } else { 0.0 };
        let bend = log1p_minus_x(y);
        let bound = 0.5 * z * z + self.offset * (3.0 * bend - y * y * (3.0 + y));
        let value = self.log + 3.0 * (bend + y) + self.power * ln(unseen);
        if inside & (ln(u) < bound) { value } else { f64::NAN }
    }
}

/// Attempts at gamma variables of one shape in a row, NaN where they are rejected.
#[inline(always)]
fn gamma_row(a: f64, [z, u, unseen]: [&[f64]; 3], out: &mut [f64]) {
    let shape = Shape::new(a);
    for (((out, &z), &u), &unseen) in out.iter_mut().zip(z).zip(u).zip(unseen) {
        *out = shape.attempt(z, u, unseen);
    }
}

/// Attempts at gamma variables of a shape each.
#[inline(always)]
fn gamma_rows(a: &[f64], [z, u, unseen]: [&[f64]; 3], out: &mut [f64]) {
    for ((((out, &a), &z), &u), &unseen) in out.iter_mut().zip(a).zip(z).zip(u).zip(unseen) {
        *out = Shape::new(a).attempt(z, u, unseen);
    }
}

/// Logarithms of standard gamma variables of shapes `a` (one for all, or one each), from two attempts (normal,
/// uniform) each and one more uniform number.
#[inline(always)]
pub(crate) fn log_gamma_draws(a: &[f64], noise: [&[f64]; 5], out: &mut [f64]) {
    let [z, u, again_z, again_u, unseen] = noise;
    match a {
        &[a] => gamma_row(a, [z, u, unseen], out),
        _ => gamma_rows(a, [z, u, unseen], out),
    }
    for (k, out) in out.iter_mut().enumerate() {
        if out.is_nan() {
            *out = log_gamma_again(if a.len() == 1 { a[0] } else { a[k] }, again_z[k], again_u[k], unseen[k]);
        }
    }
}

#[inline(never)]
fn log_gamma_again(a: f64, z: f64, u: f64, unseen: f64) -> f64 {
    let second = Shape::new(a).attempt(z, u, unseen);
    if second.is_nan() { log_gamma_p_inverse(a, unseen) } else { second }
}

/// What attempts at a von Mises variable of one concentration have in common.
#[derive(Clone, Copy)]
struct Circle {
    concentration: f64,
    /// √((r − 1)/(r + 1)) and κ(r − 1) for the wrapped Cauchy variable that is attempted.
    squeeze: f64,
    least: f64,
}

impl Circle {
    #[inline(always)]
    fn new(concentration: f64) -> Self {
        let twice = 2.0 * concentration;
        let root = (1.0 + twice * twice).sqrt();
        // r = (1 + √(1 + 4κ²))/(2κ); the numerator less 2κ
        let excess = 1.0 + 1.0 / (root + twice);
        Self { concentration, squeeze: (excess / (1.0 + root + twice)).sqrt(), least: 0.5 * excess }
    }

    /// An angle from 0 to π, or NaN where the attempt is rejected (Best and Fisher 1979): of a wrapped Cauchy
    /// variable θ with tan(θ/2) = s tan(πu/2), accepted with probability c e^(1 − c), c = κ(r − cos θ).
    #[inline(always)]
    fn attempt(self, u: f64, v: f64) -> f64 {
        let (sine, cosine) = (sin(FRAC_PI_2 * u), cos(FRAC_PI_2 * u));
        let tangent = self.squeeze * sine / cosine;
        let square = tangent * tangent;
        // sin²(θ/2), also where the tangent's square is infinite
        let half = if square < 1.0 { square / (1.0 + square) } else { 1.0 / (1.0 + 1.0 / square) };
        let c = self.least + 2.0 * self.concentration * half;
        if ln(v) < ln(c) + (1.0 - c) { 2.0 * atan(tangent) } else { f64::NAN }
    }
}

/// Von Mises variables around 0 of one concentration for all or one each, from three attempts of two uniform
/// numbers and one more, which chooses the side of an accepted angle.
#[inline(always)]
pub(crate) fn von_mises_draws(concentration: &[f64], noise: [&[f64]; 7], out: &mut [f64]) {
    let [u, v, .., unseen] = noise;
    match concentration {
        &[concentration] => {
            let circle = Circle::new(concentration);
            for (((out, &u), &v), &unseen) in out.iter_mut().zip(u).zip(v).zip(unseen) {
                *out = circle.attempt(u, v) * if unseen < 0.5 { -1.0 } else { 1.0 };
            }
        }
        _ => {
            for ((((out, &k), &u), &v), &unseen) in
                out.iter_mut().zip(concentration).zip(u).zip(v).zip(unseen)
            {
                *out = Circle::new(k).attempt(u, v) * if unseen < 0.5 { -1.0 } else { 1.0 };
            }
        }
    }
    for (k, out) in out.iter_mut().enumerate() {
        if out.is_nan() {
            let concentration = if concentration.len() == 1 { concentration[0] } else { concentration[k] };
            *out = von_mises_again(concentration, noise[2..].iter().map(|numbers| numbers[k]));
        }
    }
}

#[inline(never)]
fn von_mises_again(concentration: f64, mut noise: impl Iterator<Item = f64>) -> f64 {
    let mut next = || noise.next().unwrap_or(f64::NAN);
    let attempts = [(next(), next()), (next(), next())];
    let unseen = next();
    let circle = Circle::new(concentration);
    for (u, v) in attempts {
        let angle = circle.attempt(u, v);
        if !angle.is_nan() {
            return if unseen < 0.5 { -angle } else { angle };
        }
    }
    von_mises_cdf_inverse(concentration, unseen)
}
