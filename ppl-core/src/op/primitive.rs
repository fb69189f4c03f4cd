//! What every primitive has: its rules, and what they are run on.

use super::{Einsum, Var};
use crate::base::Shape;
use crate::machine::Scalar;

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

    /// The cotangent of argument `which`, given that of the result; `None` where the derivative is zero
    /// everywhere.
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

/// What an operation is run on: a result to write, arguments to read, all with `lanes` numbers for each
/// element.
pub(crate) struct Work<'a, T> {
    /// Numbers for each element: the records of a tile, or one in the shared part of a program.
    pub(crate) lanes: usize,
    /// Whether this is the shared part. There an array is one row of memory, and a sum of many elements is
    /// added up in partial sums, which vectorises; of records' arrays each lane is added up element by
    /// element, so that a record's sum does not depend on how many there are in its tile.
    pub(crate) shared: bool,
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

/// An argument of a kernel: rows of `lanes` numbers, one row per element of the array; or one number per
/// element, the same in every lane.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    Rows(&'a [T]),
    Shared(&'a [T]),
    /// One record's whole array after the other. No operation has such an argument; outputs may be such.
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

    /// The same, if they lie in a row.
    #[inline]
    pub(crate) fn of_one_lane(&self) -> Option<&'a [T]> {
        match self {
            Operand::Rows(data) | Operand::Shared(data) => Some(data),
            Operand::Records(..) => None,
        }
    }

    #[inline]
    pub(crate) fn row(&self, index: usize, lanes: usize) -> Row<'a, T> {
        match self {
            Operand::Rows(data) => Row::Lanes(&data[index * lanes..(index + 1) * lanes]),
            Operand::Shared(data) => Row::One(data[index]),
            // It has no rows; a mistaken use shall be noticed.
            Operand::Records(..) => Row::One(T::nan()),
        }
    }

    /// The number of one element in one lane: slow and obvious, for operations that look at elements one by
    /// one.
    #[inline]
    pub(crate) fn at(&self, index: usize, lane: usize, lanes: usize) -> T {
        match self {
            Operand::Rows(data) => data[index * lanes + lane],
            Operand::Shared(data) => data[index],
            Operand::Records(records) => records.record(lane)[index],
        }
    }
}
