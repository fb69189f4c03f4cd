//! The primitives, one file per family; each primitive keeps its rules — shape, value, derivative — side by side.
//!
//! | file | primitives |
//! |---|---|
//! | `leaf` | inputs and constants |
//! | `elementwise` | arithmetic, comparisons, exp, log, tanh, sigmoid, softplus, … |
//! | `shaping` | broadcast, sum, reshape |
//! | `linear` | inner product, matrix–vector, vector–matrix, outer product |
//!
//! A rule for derivatives answers with a [`Cotangent`], which may be a *product* that nobody has multiplied out yet: that
//! is what lets per-record gradients be contracted instead of stored.

pub(crate) mod elementwise;
pub(crate) mod leaf;
pub(crate) mod linear;
pub(crate) mod shaping;

use crate::var::Var;
use std::fmt;

pub use elementwise::{Binary, Unary};
pub use leaf::{Constant, Input};
pub use linear::Linear;
pub use shaping::Shaping;

/// One operation of an array program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// A value supplied from outside.
    Input(Input),
    /// A value known while tracing.
    Constant(Constant),
    /// A function of one argument, element by element.
    Unary(Unary),
    /// A function of two arguments, element by element.
    Binary(Binary),
    /// `if condition ≠ 0 { a } else { b }`, element by element.
    Select,
    /// An operation that moves, repeats or adds up elements.
    Shaping(Shaping),
    /// A product of arrays.
    Linear(Linear),
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Input(input) => input.fmt(f),
            Op::Constant(constant) => constant.fmt(f),
            Op::Unary(op) => f.write_str(op.name()),
            Op::Binary(op) => f.write_str(op.name()),
            Op::Select => f.write_str("select"),
            Op::Shaping(op) => f.write_str(op.name()),
            Op::Linear(op) => f.write_str(op.name()),
        }
    }
}

/// What flows backwards along one argument of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Cotangent<'g> {
    /// An array of the argument's shape.
    Value(Var<'g>),
    /// `left × right`: the outer product of two vectors, or a scalar times an array.
    Product { left: Var<'g>, right: Var<'g> },
}

impl<'g> Cotangent<'g> {
    /// The array itself, multiplied out if need be.
    pub(crate) fn value(self) -> Var<'g> {
        match self {
            Cotangent::Value(value) => value,
            Cotangent::Product { left, right } if left.shape().is_scalar() => left * right,
            Cotangent::Product { left, right } => left.outer(right),
        }
    }
}

impl Op {
    /// The cotangent of argument `which`, given that of the result; `None` where the derivative is zero everywhere.
    pub(crate) fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        match self {
            Op::Input(_) | Op::Constant(_) => None,
            Op::Unary(op) => op.pullback(args[0], result, cotangent),
            Op::Binary(op) => op.pullback(args[0], args[1], result, cotangent, which),
            Op::Select => elementwise::pullback_select(args, cotangent, which),
            Op::Shaping(op) => Some(op.pullback(args[0], cotangent)),
            Op::Linear(op) => Some(op.pullback(args[0], args[1], cotangent, which)),
        }
    }
}

/// An argument of a kernel: rows of `lanes` numbers, one row per element of the array; or one number per element,
/// the same in every lane.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    Rows(&'a [T]),
    Shared(&'a [T]),
}

/// One element of an array, seen by a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a, T> {
    Lanes(&'a [T]),
    One(T),
}

impl<'a, T: Copy> Operand<'a, T> {
    /// Number of elements of the array.
    pub(crate) fn rows(&self, lanes: usize) -> usize {
        match self {
            Operand::Rows(data) if lanes > 0 => data.len() / lanes,
            Operand::Rows(_) => 0,
            Operand::Shared(data) => data.len(),
        }
    }

    #[inline]
    pub(crate) fn row(&self, index: usize, lanes: usize) -> Row<'a, T> {
        match self {
            Operand::Rows(data) => Row::Lanes(&data[index * lanes..(index + 1) * lanes]),
            Operand::Shared(data) => Row::One(data[index]),
        }
    }
}
