//! Proptest strategies for parameters and values of the distributions.

use proptest::prelude::*;

/// A location: moderate, with zero and large values among them.
pub fn location() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), -5.0..5.0_f64, -1e6..1e6_f64]
}

/// A scale over many orders of magnitude.
pub fn scale() -> impl Strategy<Value = f64> {
    (-12.0..12.0_f64).prop_map(f64::exp)
}

/// Log-odds from certain no to certain yes.
pub fn logit() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), -5.0..5.0_f64, -700.0..700.0_f64]
}

/// A shape, concentration, degrees of freedom: most of them moderate, some tiny or huge.
pub fn shape() -> impl Strategy<Value = f64> {
    prop_oneof![0.1..10.0_f64, (-7.0..14.0_f64).prop_map(f64::exp), Just(1.0)]
}
