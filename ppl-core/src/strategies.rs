//! Proptest strategies for what this crate works on (shapes, arrays, records, random array programs and models), and
//! what must hold of programs and models.

pub mod checks;
pub mod laws;
pub mod models;
pub mod programs;

use crate::base::Shape;
use crate::model::constraint::Constraint;
use crate::records::{Column, Records};
use ndarray::Array2;
use proptest::prelude::*;

/// Shapes of up to three short axes, axes of length 1 among them.
pub fn shape() -> impl Strategy<Value = Shape> {
    proptest::collection::vec(prop_oneof![Just(1usize), 1..5usize], 0..4).prop_map(Shape::from)
}

/// Finite numbers of moderate size.
pub fn number() -> impl Strategy<Value = f64> {
    -3.0..3.0_f64
}

/// A set of vectors or matrices, the shape of one outcome, and as many unconstrained numbers as it has, of at
/// most this size; zeros among them.
pub fn vector_set(size: f64) -> impl Strategy<Value = (Constraint, Shape, Vec<f64>)> {
    let sets: Vec<Constraint> =
        Constraint::ALL.into_iter().filter(|set| set.event_rank() > 0 && set.has_bijection()).collect();
    (proptest::sample::select(sets), 1..5usize).prop_flat_map(move |(set, n)| {
        let shape = Shape::from(vec![n; set.event_rank()]);
        let length = set.unconstrained_shape(&shape).map_or(0, |shape| shape.elements());
        let number = prop_oneof![1 => Just(0.0), 6 => -size..size];
        (Just(set), Just(shape), proptest::collection::vec(number, length))
    })
}

/// `records` records with a vector column `x` of length `width` and a column `y` of zeros and ones.
pub fn labelled_records(records: usize, width: usize) -> impl Strategy<Value = Records> {
    let x = proptest::collection::vec(number(), records * width);
    let y = proptest::collection::vec(proptest::bool::ANY, records);
    (x, y).prop_map(move |(x, y)| {
        let x = Array2::from_shape_vec((records, width), x).expect("lengths agree by construction");
        let y: Vec<f64> = y.into_iter().map(f64::from).collect();
        Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])
            .expect("columns agree by construction")
    })
}

/// Bytes for a random program; see [`programs`].
pub fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..400)
}
