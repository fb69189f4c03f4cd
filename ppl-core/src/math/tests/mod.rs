//! Accuracy, edge cases, and the promise of equal bits.

mod dispatch;
mod double;
mod edges;
mod single;

use super::*;

/// A function of one argument, and the largest errors allowed, in units in the last place.
struct Function {
    name: &'static str,
    double: fn(f64) -> f64,
    single: fn(f32) -> f32,
    double_limit: f64,
    single_limit: f64,
}

macro_rules! functions {
    ($($name:ident $double_limit:literal $single_limit:literal;)*) => {
        const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            double: $name::<f64>,
            single: $name::<f32>,
            double_limit: $double_limit,
            single_limit: $single_limit,
        }),*];
    };
}

functions! {
    exp 0.0 0.0;
    expm1 0.0 0.0;
    ln 0.0 0.0;
    ln1p 0.0 0.0;
    tanh 0.0 0.0;
    sigmoid 0.0 0.0;
    softplus 0.0 0.0;
    logit 0.0 0.0;
    erf 0.0 0.0;
    erfc 0.0 0.0;
    erfinv 0.0 0.0;
    sin 0.0 0.0;
    cos 0.0 0.0;
    lgamma 0.0 0.0;
    digamma 0.0 0.0;
    trigamma 0.0 0.0;
}

/// The spacing of `f64` at x.
fn spacing(x: f64) -> f64 {
    let exponent = ((x.abs().to_bits() >> 52) as i32).max(1);
    2.0_f64.powi(exponent - 1023 - 26) * 2.0_f64.powi(-26)
}

/// The spacing of `f32` at x.
fn spacing_single(x: f64) -> f64 {
    spacing(x.abs().max(f64::from(f32::MIN_POSITIVE))) * 2.0_f64.powi(29)
}
