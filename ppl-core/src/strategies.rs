//! Proptest strategies for what this crate works on: shapes, arrays, records and random array programs.

use crate::graph::Graph;
use crate::op::{Binary, Unary};
use crate::records::{Column, Records};
use crate::shape::Shape;
use crate::var::Var;
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

/// One step of a random program over vectors; indices are taken modulo the values there are.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// A smooth function of one argument.
    Unary(Unary, usize),
    /// A smooth function of two arguments.
    Binary(Binary, usize, usize),
    /// `Σ_k a_k b_k`, a scalar.
    Inner(usize, usize),
}

/// Random programs of smooth operations, for tests of derivatives and plans.
pub fn instructions(longest: usize) -> impl Strategy<Value = Vec<Instruction>> {
    let unary = proptest::sample::select(vec![
        Unary::Neg,
        Unary::Square,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Softplus,
    ]);
    let binary = proptest::sample::select(vec![Binary::Add, Binary::Sub, Binary::Mul]);
    let step = prop_oneof![
        3 => (unary, any::<usize>()).prop_map(|(op, a)| Instruction::Unary(op, a)),
        3 => (binary, any::<usize>(), any::<usize>()).prop_map(|(op, a, b)| Instruction::Binary(op, a, b)),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Instruction::Inner(a, b)),
    ];
    proptest::collection::vec(step, 1..longest)
}

/// Builds a random program on these leaves (vectors of one length) and returns a bounded scalar of its last value.
pub fn build<'g>(instructions: &[Instruction], leaves: &[Var<'g>]) -> Var<'g> {
    let graph: &'g Graph = leaves[0].graph();
    let mut values = leaves.to_vec();
    for instruction in instructions {
        let pick = |index: usize| values[index % values.len()];
        let value = match *instruction {
            Instruction::Unary(op, a) => pick(a).map(op),
            Instruction::Binary(op, a, b) => pick(a).zip(pick(b), op),
            Instruction::Inner(a, b) => {
                let shape = leaves[0].shape();
                pick(a).broadcast_to(shape.clone()).inner(pick(b).broadcast_to(shape))
            }
        };
        // Squash now and then, so that long chains of products stay in range.
        values.push(value.tanh());
    }
    let last = values.iter().copied().rev().take(3).reduce(|sum, next| sum + next);
    last.unwrap_or_else(|| graph.constant(0.0)).sum()
}
