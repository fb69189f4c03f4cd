//! Proptest strategies for parameters and values of the distributions.

use ndarray::ArrayD;
use ppl_core::{Constraint, Shape};
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

/// A member of a set of numbers, vectors or matrices, of this shape: the image of unconstrained numbers of at
/// most `size`, zeros among them. So `member(Constraint::PositiveDefinite, [3, 3], 1.5)` is a covariance
/// matrix. Of a set without a bijection, or without members of such a shape, zeros.
pub fn member(set: Constraint, shape: impl Into<Shape>, size: f64) -> impl Strategy<Value = ArrayD<f64>> {
    let shape = shape.into();
    let unconstrained = set.unconstrained_shape(&shape).unwrap_or_default();
    let number = prop_oneof![1 => Just(0.0), 6 => -size..size];
    proptest::collection::vec(number, unconstrained.elements()).prop_map(move |numbers| {
        let numbers = ArrayD::from_shape_vec(unconstrained.dims(), numbers);
        let member = numbers.ok().filter(|_| set.has_bijection()).and_then(|u| set.constrain_array(&u).ok());
        member.unwrap_or_else(|| ArrayD::zeros(shape.dims()))
    })
}

/// Concentrations of `n` categories over many orders of magnitude.
pub fn concentrations(n: usize) -> impl Strategy<Value = ArrayD<f64>> {
    member(Constraint::Positive, n, 12.0)
}

/// A shape, concentration, degrees of freedom: most of them moderate, some tiny or huge.
pub fn shape() -> impl Strategy<Value = f64> {
    prop_oneof![0.1..10.0_f64, (-7.0..14.0_f64).prop_map(f64::exp), Just(1.0)]
}
