//! The primitives. Each keeps all of its rules side by side: the shape of its result, its value, its derivative, and the method of
//! [`Var`] that models write.
//!
//! A function that works element by element is one row in the file of its subject:
//!
//! | file | functions |
//! |---|---|
//! | `elementary` | arithmetic, comparisons, exponentials, logarithms, trigonometry, rounding |
//! | `gamma`, `beta` | the gamma function, its derivatives, incomplete integrals and their inverses, Student's t |
//! | `normal` | the error function, normal probabilities, quantiles and moments |
//! | `bessel` | modified Bessel functions, the von Mises distribution |
//! | `counting` | what probabilities of counts are made of, distribution functions of counts, and their inverses |
//!
//! The files `unary`, `binary`, `special` and `counting` make a family of such rows, with the macros of `rows` and `several`. The other
//! primitives are a family a file:
//!
//! | file | primitives |
//! |---|---|
//! | `leaf` | inputs and constants |
//! | `select` | the choice between two values, element by element |
//! | `shaping` | broadcast, sum, reshape |
//! | `reduce` | maximum, norm, cumulative sum, log-sum-exp, softmax along an axis |
//! | `structure` | axes in another order, slices, flips, arrays side by side |
//! | `gather` | rows of a table by integer index, and adding rows up where an index says |
//! | `coincidence` | rows added up over equal indices, without the table |
//! | `linear` | inner product, matrix–vector, vector–matrix, outer product |
//! | `einsum`, `matmul` | contractions by subscripts, products of matrices |
//! | `triangle`, `decomposition` | parts of matrices; Cholesky factors, triangular systems, inverses |
//! | `convolution`, `pooling` | windows that move over images |
//!
//! A rule for derivatives returns a [`Cotangent`], which may be a *product* that has not been multiplied out: that is what lets
//! per-record gradients be contracted instead of stored.

#[macro_use]
mod rows;
#[macro_use]
mod several;

mod bessel;
mod beta;
pub(crate) mod binary;
pub(crate) mod coincidence;
pub(crate) mod convolution;
pub(crate) mod counting;
pub(crate) mod decomposition;
pub(crate) mod einsum;
mod elementary;
mod gamma;
pub(crate) mod gather;
pub(crate) mod leaf;
pub(crate) mod linear;
mod matmul;
mod normal;
pub(crate) mod pooling;
pub(crate) mod reduce;
mod select;
pub(crate) mod shaping;
pub(crate) mod special;
pub(crate) mod structure;
pub(crate) mod triangle;
pub(crate) mod unary;

use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::var::Var;
use std::fmt;

pub use binary::Binary;
pub use coincidence::Coincidence;
pub use convolution::{Convolution, Role, Window};
pub use counting::Counting;
pub use decomposition::Decomposition;
pub use einsum::{Einsum, MatrixProduct};
pub use gather::Gather;
pub use leaf::{Constant, Input};
pub use linear::Linear;
pub use pooling::Pooling;
pub use reduce::Reduce;
pub use select::Select;
pub use shaping::Shaping;
pub use special::Special;
pub use structure::Structure;
pub use triangle::MatrixPart;
pub use unary::Unary;

/// Most arguments of one operation.
pub(crate) const MOST_ARGUMENTS: usize = 8;

/// All rules of a primitive.
pub(crate) trait Primitive {
    /// The name of the method that builds it.
    fn name(&self) -> &'static str;

    /// Shape of the result for arguments of these shapes.
    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit>;

    /// Numbers that [`run`](Primitive::run) looks up, found once when a program is planned.
    fn table(&self, _args: &[Shape], _shape: &Shape) -> Vec<u32> {
        Vec::new()
    }

    /// Rows of scratch memory (of one number for each lane) that [`run`](Primitive::run) needs.
    fn scratch_rows(&self, _args: &[Shape], _shape: &Shape) -> usize {
        0
    }

    /// Computes the result. Writes every element of `work.out`, allocates nothing, and does not panic.
    fn run<T: Scalar>(&self, work: Work<'_, T>);

    /// The cotangent of argument `which`, given that of the result; `None` where the derivative is zero everywhere.
    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>>;
}

/// Why arguments do not suit an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The shapes of the first two do not go together.
    Pair,
    /// Another number of arguments.
    Count,
    /// An argument (by position) is not what is expected, in words.
    Argument(usize, String),
}

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
    Select(Select),
    /// A special function of two or three arguments, element by element.
    Special(Special),
    /// An operation that moves, repeats or adds up elements.
    Shaping(Shaping),
    /// A product of arrays.
    Linear(Linear),
    /// A contraction by subscripts.
    Einsum(Einsum),
    /// A part of a matrix.
    MatrixPart(MatrixPart),
    /// An operation of matrix algebra.
    Decomposition(Decomposition),
    /// A convolution, or the derivative of one.
    Convolution(Convolution),
    /// A reduction over a moving window.
    Pooling(Pooling),
    /// Rows of a table by index, or adding rows up by index.
    Gather(Gather),
    /// A reduction of an axis, or a function along it.
    Reduce(Reduce),
    /// An operation that moves elements.
    Structure(Structure),
    /// Rows added up over equal indices.
    Coincidence(Coincidence),
    /// A distribution function of counts, or its inverse.
    Counting(Counting),
}

/// Hands an operation to its family. Leaves have no rules of their own.
macro_rules! each_family {
    ($op:expr, $primitive:ident => $answer:expr, leaf => $leaf:expr) => {
        match $op {
            Op::Input(_) | Op::Constant(_) => $leaf,
            Op::Unary($primitive) => $answer,
            Op::Binary($primitive) => $answer,
            Op::Select($primitive) => $answer,
            Op::Special($primitive) => $answer,
            Op::Shaping($primitive) => $answer,
            Op::Linear($primitive) => $answer,
            Op::Einsum($primitive) => $answer,
            Op::MatrixPart($primitive) => $answer,
            Op::Decomposition($primitive) => $answer,
            Op::Convolution($primitive) => $answer,
            Op::Pooling($primitive) => $answer,
            Op::Gather($primitive) => $answer,
            Op::Reduce($primitive) => $answer,
            Op::Structure($primitive) => $answer,
            Op::Coincidence($primitive) => $answer,
            Op::Counting($primitive) => $answer,
        }
    };
}

impl Op {
    /// The name of the method that builds it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        each_family!(self, primitive => primitive.name(), leaf => "leaf")
    }

    /// Whether it works element by element, on arguments of the result's shape and on single numbers.
    pub(crate) fn is_elementwise(&self) -> bool {
        matches!(self, Op::Unary(_) | Op::Binary(_) | Op::Select(_) | Op::Special(_))
    }

    /// Shape of the result. A leaf's shape does not follow from arguments, so it has no answer here.
    pub(crate) fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        each_family!(self, primitive => primitive.shape(args), leaf => Err(Misfit::Count))
    }

    pub(crate) fn table(&self, args: &[Shape], shape: &Shape) -> Vec<u32> {
        each_family!(self, primitive => primitive.table(args, shape), leaf => Vec::new())
    }

    pub(crate) fn scratch_rows(&self, args: &[Shape], shape: &Shape) -> usize {
        each_family!(self, primitive => primitive.scratch_rows(args, shape), leaf => 0)
    }

    #[inline(always)]
    pub(crate) fn run<T: Scalar>(&self, work: Work<'_, T>) {
        each_family!(self, primitive => primitive.run(work), leaf => ())
    }

    pub(crate) fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        each_family!(self, primitive => primitive.pullback(args, result, cotangent, which), leaf => None)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Input(input) => input.fmt(f),
            Op::Constant(constant) => constant.fmt(f),
            other => f.write_str(other.name()),
        }
    }
}

/// What flows backwards along one argument of an operation.
#[derive(Clone)]
pub(crate) enum Cotangent<'g> {
    /// An array of the argument's shape.
    Value(Var<'g>),
    /// `left × right`: the outer product of two vectors, or a scalar times an array.
    Product { left: Var<'g>, right: Var<'g> },
    /// A contraction of two arrays by subscripts, not done yet.
    Contraction { op: Einsum, left: Var<'g>, right: Var<'g> },
    /// Rows of a table of `count` rows, at the places that an index says, not added up yet.
    Scatter { rows: Var<'g>, index: Var<'g>, count: usize },
}

impl<'g> Cotangent<'g> {
    /// The array itself, multiplied out if need be.
    pub(crate) fn value(&self) -> Var<'g> {
        match *self {
            Cotangent::Value(value) => value,
            Cotangent::Product { left, right } if left.shape().is_scalar() => left * right,
            Cotangent::Product { left, right } => left.outer(right),
            Cotangent::Contraction { ref op, left, right } => op.clone().apply(&[left, right]),
            Cotangent::Scatter { rows, index, count } => rows.scatter_add(index, count),
        }
    }
}

/// What an operation is run on: a result to write, arguments to read, all with `lanes` numbers for each element.
pub(crate) struct Work<'a, T> {
    /// Numbers for each element: the records of a tile, or one in the shared part of a program.
    pub(crate) lanes: usize,
    /// The result: a row of `lanes` numbers for each element, row-major.
    pub(crate) out: &'a mut [T],
    /// The arguments.
    pub(crate) args: &'a [Operand<'a, T>],
    /// Shapes of the arguments.
    pub(crate) shapes: &'a [Shape],
    /// Shape of the result.
    pub(crate) shape: &'a Shape,
    /// What [`Primitive::table`] found.
    pub(crate) table: &'a [u32],
    /// [`Primitive::scratch_rows`] rows, with any content.
    pub(crate) scratch: &'a mut [T],
}

/// An argument of a kernel: rows of `lanes` numbers, one row per element of the array; or one number per element,
/// the same in every lane.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    Rows(&'a [T]),
    Shared(&'a [T]),
    /// One record's whole array after the other. No operation is given such an argument; outputs may be such.
    Records(ByRecord<'a, T>),
}

/// Arrays of a tile's records, each in one piece: copied one after the other, or where they lie in a column.
#[derive(Clone, Copy)]
pub(crate) struct ByRecord<'a, T> {
    values: &'a [T],
    width: usize,
    /// Positions of the tile's records among `values`; nothing where there are no others.
    chosen: Option<&'a [u64]>,
}

impl<'a, T> ByRecord<'a, T> {
    /// The arrays of a tile, one after the other.
    pub(crate) fn copied(values: &'a [T], width: usize) -> Self {
        Self { values, width, chosen: None }
    }

    /// Those that `chosen` says of a whole column; there must be such.
    pub(crate) fn in_place(column: &'a [T], width: usize, chosen: &'a [u64]) -> Self {
        Self { values: column, width, chosen: Some(chosen) }
    }

    /// Numbers of one record.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The array of one record.
    #[inline(always)]
    pub(crate) fn record(&self, lane: usize) -> &'a [T] {
        let position = self.chosen.map_or(lane, |chosen| chosen[lane] as usize);
        &self.values[position * self.width..][..self.width]
    }
}

/// One element of an array, seen by a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a, T> {
    Lanes(&'a [T]),
    One(T),
}

impl<'a, T: Scalar> Operand<'a, T> {
    /// Number of elements of the array.
    pub(crate) fn rows(&self, lanes: usize) -> usize {
        match self {
            Operand::Rows(data) if lanes > 0 => data.len() / lanes,
            Operand::Rows(_) => 0,
            Operand::Shared(data) => data.len(),
            Operand::Records(records) => records.width(),
        }
    }

    /// The elements where there is one lane.
    #[inline]
    pub(crate) fn numbers(&self) -> &'a [T] {
        match self {
            Operand::Rows(data) | Operand::Shared(data) => data,
            Operand::Records(..) => &[],
        }
    }

    #[inline]
    pub(crate) fn row(&self, index: usize, lanes: usize) -> Row<'a, T> {
        match self {
            Operand::Rows(data) => Row::Lanes(&data[index * lanes..(index + 1) * lanes]),
            Operand::Shared(data) => Row::One(data[index]),
            // It has no rows; whoever asks shall notice.
            Operand::Records(..) => Row::One(T::nan()),
        }
    }

    /// The number of one element in one lane: slow and obvious, for operations that look at elements one by one.
    #[inline]
    pub(crate) fn at(&self, index: usize, lane: usize, lanes: usize) -> T {
        match self {
            Operand::Rows(data) => data[index * lanes + lane],
            Operand::Shared(data) => data[index],
            Operand::Records(records) => records.record(lane)[index],
        }
    }
}
