//! `f32` against the `f64` functions, over a sweep of bit patterns.

use super::{FUNCTIONS, powf, spacing_single};

/// Every 16,411th bit pattern (a prime): 261,708 arguments of every sign and exponent.
const STRIDE: usize = 16_411;

fn error(truth: f64, result: f32) -> f64 {
    let rounded = truth as f32;
    if rounded == result || (rounded.is_nan() && result.is_nan()) {
        // Infinite and equal, or within half a unit: the error below is then exact or NaN.
        return if rounded.is_finite() {
            (f64::from(result) - truth).abs() / spacing_single(truth)
        } else {
            0.0
        };
    }
    let error = (f64::from(result) - truth).abs() / spacing_single(truth);
    if error.is_nan() { f64::INFINITY } else { error }
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    let mut broken = Vec::new();
    for function in FUNCTIONS {
        let mut worst = (0.0, 0.0_f32);
        for bits in (0..=u32::MAX).step_by(STRIDE) {
            let x = f32::from_bits(bits);
            let found = error((function.double)(f64::from(x)), (function.single)(x));
            if found > worst.0 {
                worst = (found, x);
            }
        }
        if worst.0 > function.single_limit {
            broken.push((function.name, worst));
        }
    }
    assert!(broken.is_empty(), "(function, (ulp, x)): {broken:#?}");
}

#[test]
fn powers_stay_within_the_stated_bound() {
    let mut worst = (0.0, 0.0_f32, 0.0_f32);
    for (i, bits) in (0..=u32::MAX).step_by(STRIDE).enumerate() {
        let x = f32::from_bits(bits);
        // Exponents that lead from underflow to overflow, for each base.
        let y = ((i * 7919) % 20_001) as f32 / 10_000.0 - 1.0;
        let y = if x.abs().ln() == 0.0 { y } else { y * 104.0 / x.abs().ln() };
        let y = if x < 0.0 { y.round() } else { y };
        let found = error(powf(f64::from(x), f64::from(y)), powf(x, y));
        if found > worst.0 {
            worst = (found, x, y);
        }
    }
    assert!(worst.0 <= 0.51, "(ulp, x, y): {worst:?}");
}
