//! Accuracy, edge cases, and the promise of equal bits.

mod counting;
mod dispatch;
mod double;
mod edges;
mod single;
mod special;

use super::*;

/// A function of one argument, and the errors its documentation states, in units in the last place.
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
    exp 1.0 0.97;
    expm1 0.92 1.25;
    ln 0.74 0.77;
    ln1p 0.73 0.79;
    tanh 2.01 2.2;
    sigmoid 1.72 2.13;
    softplus 1.41 1.61;
    logit 1.12 1.49;
    erf 1.56 2.31;
    erfc 3.12 4.0;
    erfinv 2.77 2.81;
    sin 0.69 0.5;
    cos 0.7 0.5;
    lgamma 5.4 0.51;
    digamma 9.2 0.51;
    trigamma 4.4 0.51;
}

/// The spacing of `f64` at x.
fn spacing(x: f64) -> f64 {
    let power = f64::from_bits(x.abs().to_bits() & (0x7ff << 52)).max(f64::MIN_POSITIVE);
    power * f64::EPSILON
}

/// The spacing of `f32` at x.
fn spacing_single(x: f64) -> f64 {
    spacing(x.abs().max(f64::from(f32::MIN_POSITIVE))) * 2.0_f64.powi(29)
}
