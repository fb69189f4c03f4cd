//! The primitives. Each keeps all of its rules side by side: the shape of its result, its value, its
//! derivative, and the method of [`Var`] that models write.
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
//! The files `unary`, `binary`, `special` and `counting` make a family of such rows, with the macros of
//! `rows` and `several`. The other primitives are a family a file:
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
//! | `scan` | a loop with a carried state, whose step is a program |
//! | `triangle`, `decomposition` | parts of matrices; Cholesky factors, triangular systems, inverses |
//! | `convolution`, `pooling` | windows that move over images |
//!
//! `ode` solves differential equations by a scan.
//!
//! A rule for derivatives returns a `Cotangent`, which may be a *product* that has not been multiplied out:
//! that is what lets per-record gradients be contracted instead of stored.

#[macro_use]
mod rows;
#[macro_use]
mod several;

mod bessel;
mod beta;
pub(crate) mod binary;
pub(crate) mod coincidence;
mod compute;
pub(crate) mod convolution;
pub(crate) mod counting;
pub(crate) mod decomposition;
pub(crate) mod einsum;
mod elementary;
mod gamma;
pub(crate) mod gather;
mod graph;
pub(crate) mod leaf;
pub(crate) mod linear;
mod matmul;
mod normal;
mod ode;
mod planned;
pub(crate) mod pooling;
mod primitive;
pub(crate) mod reduce;
pub(crate) mod sampling;
pub(crate) mod scan;
mod select;
pub(crate) mod shaping;
pub(crate) mod special;
pub(crate) mod structure;
pub(crate) mod triangle;
pub(crate) mod unary;
mod value;
mod var;

use crate::base::Shape;
use crate::machine::Scalar;
use crate::machine::simd::{Job, dispatch};
use std::fmt;

pub use binary::Binary;
pub use coincidence::Coincidence;
pub use compute::compute;
pub use convolution::{Convolution, Role, Window};
pub use counting::Counting;
pub use decomposition::Decomposition;
pub use einsum::{Einsum, MatrixProduct};
pub use elementary::Bound;
pub use gather::Gather;
pub(crate) use graph::constant_values;
pub use graph::{Graph, Kind, Node};
pub use leaf::{Constant, Input};
pub use linear::Linear;
pub(crate) use planned::Planned;
pub use pooling::Pooling;
pub(crate) use primitive::{ByRecord, Cotangent, MOST_ARGUMENTS, Misfit, Operand, Primitive, Row, Work};
pub use reduce::Reduce;
pub use sampling::Sampling;
pub use scan::{Arrays, Scan};
pub use select::Select;
pub use shaping::Shaping;
pub use special::Special;
pub use structure::Structure;
pub use triangle::MatrixPart;
pub use unary::Unary;
pub use value::{KnownArray, Value};
pub use var::Var;

/// One operation of an array program.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// A draw by rejection.
    Sampling(Sampling),
    /// A loop with a carried state.
    Scan(Scan),
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
            Op::Sampling($primitive) => $answer,
            Op::Scan($primitive) => $answer,
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

    /// Computes the result. Loops of arithmetic are compiled for the instruction set of the machine at hand.
    pub(crate) fn run<T: Scalar>(&self, work: Work<'_, T>) {
        match self {
            // These choose the instruction set themselves, once for each loop, or run what does.
            Op::Unary(unary) => unary.run(work),
            Op::Binary(binary) => binary.run(work),
            Op::Scan(scan) => scan.run(work),
            // And these compute numbers one by one.
            Op::Special(special) => special.run(work),
            Op::Counting(counting) => counting.run(work),
            other => each_family!(other, primitive => dispatch(Run { primitive, work }), leaf => ()),
        }
    }

    /// The result for one record, or of shared values: slow and obvious.
    pub(crate) fn on_one_lane(
        &self,
        args: &[Operand<'_, f64>],
        shapes: &[Shape],
        shape: &Shape,
        shared: bool,
    ) -> Vec<f64> {
        let mut out = vec![0.0; shape.elements()];
        let mut scratch = vec![0.0; self.scratch_rows(shapes, shape)];
        let table = self.table(shapes, shape);
        let (table, scratch) = (&table[..], &mut scratch[..]);
        self.run(Work { lanes: 1, shared, out: &mut out, args, shapes, shape, table, scratch });
        out
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

/// One operation, compiled for the instruction set at hand. A job for each family: all of them in one body took the
/// compiler longer than each by itself.
struct Run<'a, P, T> {
    primitive: &'a P,
    work: Work<'a, T>,
}

impl<P: Primitive, T: Scalar> Job for Run<'_, P, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.primitive.run(self.work);
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
