//! Primitives that repeat or add up elements, or look at them under another shape.

use super::linear::lane_sum;
use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::{Error, Shape, Source};
use crate::machine::Scalar;

/// An operation that repeats or adds up elements, or looks at them under another shape: the one it holds.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shaping {
    /// Repeats elements until the array has this shape.
    Broadcast(Shape),
    /// Adds up the elements that a broadcast from this shape would have repeated.
    SumTo(Shape),
    /// The same elements in the same (row-major) order under this shape.
    Reshape(Shape),
}

impl Primitive for Shaping {
    fn name(&self) -> &'static str {
        match self {
            Shaping::Broadcast(_) => "broadcast_to",
            Shaping::SumTo(_) => "sum_to",
            Shaping::Reshape(_) => "reshape",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [x] = args else {
            return Err(Misfit::Count);
        };
        let (fits, to, expected) = match self {
            Shaping::Broadcast(to) => {
                (x.broadcast(to).as_ref() == Some(to), to, format!("a shape that stretches to {to}"))
            }
            Shaping::SumTo(to) => {
                (to.broadcast(x).as_ref() == Some(x), to, format!("a shape that {to} stretches to"))
            }
            Shaping::Reshape(to) => {
                let fits = to.clone().checked().is_ok_and(|to| to.elements() == x.elements());
                (fits, to, format!("as many elements as {to} has"))
            }
        };
        if fits { Ok(to.clone()) } else { Err(Misfit::Argument(0, expected)) }
    }

    /// For each element of the larger of the two arrays, its element in the smaller.
    fn table(&self, args: &[Shape], shape: &Shape) -> Vec<u32> {
        match self {
            Shaping::Broadcast(_) => shape.broadcast_map(&args[0]),
            Shaping::SumTo(_) => args[0].broadcast_map(shape),
            Shaping::Reshape(_) => Vec::new(),
        }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, shared, out, args, table, .. } = work;
        let x = args[0];
        if lanes == 0 {
            return;
        }
        if shared {
            return self.run_shared(out, x.numbers(), table);
        }
        match self {
            Shaping::Broadcast(_) => {
                for (out, &from) in out.chunks_exact_mut(lanes).zip(table) {
                    copy(out, x.row(from as usize, lanes));
                }
            }
            Shaping::SumTo(_) => {
                out.fill(T::zero());
                for (row, &to) in table.iter().enumerate() {
                    let to = to as usize * lanes;
                    add(&mut out[to..to + lanes], x.row(row, lanes));
                }
            }
            Shaping::Reshape(_) => {
                for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
                    copy(out, x.row(row, lanes));
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let shape = args[0].shape();
        Some(Cotangent::Value(match self {
            Shaping::Broadcast(_) => cotangent.sum_to(shape),
            Shaping::SumTo(_) => cotangent.broadcast_to(shape),
            Shaping::Reshape(_) => cotangent.reshape(shape),
        }))
    }
}

impl Shaping {
    /// Of arrays that are one row of memory each.
    #[inline(always)]
    fn run_shared<T: Scalar>(&self, out: &mut [T], x: &[T], table: &[u32]) {
        match self {
            Shaping::Broadcast(_) => match x {
                &[x] => out.fill(x),
                _ => out.iter_mut().zip(table).for_each(|(out, &from)| *out = x[from as usize]),
            },
            Shaping::SumTo(_) => match out {
                [out] => *out = lane_sum(x),
                _ => {
                    out.fill(T::zero());
                    // Elements that are added up mostly stand side by side.
                    let (mut here, mut sum) = (0, T::zero());
                    for (&to, &x) in table.iter().zip(x) {
                        let to = to as usize;
                        if to != here {
                            out[here] = sum;
                            (here, sum) = (to, out[to]);
                        }
                        sum += x;
                    }
                    if let Some(last) = out.get_mut(here) {
                        *last = sum;
                    }
                }
            },
            Shaping::Reshape(_) => out.copy_from_slice(x),
        }
    }
}

/// `out = row`
#[inline(always)]
pub(crate) fn copy<T: Scalar>(out: &mut [T], row: Row<T>) {
    match row {
        Row::Lanes(values) => out.copy_from_slice(values),
        Row::One(value) => out.fill(value),
    }
}

/// `out += row`
#[inline(always)]
pub(crate) fn add<T: Scalar>(out: &mut [T], row: Row<T>) {
    match row {
        Row::Lanes(values) => out.iter_mut().zip(values).for_each(|(out, &x)| *out += x),
        Row::One(value) => out.iter_mut().for_each(|out| *out += value),
    }
}

/// Operations on the shape; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// Repeats elements until the array has this shape.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.has_shape(&shape) {
            return self;
        }
        self.graph().apply(Op::Shaping(Shaping::Broadcast(shape)), &[self])
    }

    /// Adds up elements until the array has this shape: the reverse of [`Var::broadcast_to`].
    #[must_use]
    #[track_caller]
    pub fn sum_to(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.has_shape(&shape) {
            return self;
        }
        self.graph().apply(Op::Shaping(Shaping::SumTo(shape)), &[self])
    }

    /// Sum of all elements. It adds up one record's elements; nothing adds up over records but the engine.
    #[must_use]
    #[track_caller]
    pub fn sum(self) -> Var<'g> {
        self.sum_to(())
    }

    /// Mean of all elements.
    #[must_use]
    #[track_caller]
    pub fn mean(self) -> Var<'g> {
        self.sum() / self.shape().elements() as f64
    }

    /// The same elements in row-major order under another shape.
    #[must_use]
    #[track_caller]
    pub fn reshape(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.has_shape(&shape) {
            return self;
        }
        self.graph().apply(Op::Shaping(Shaping::Reshape(shape)), &[self])
    }

    /// Whether it has this shape, without asking the graph where it is a number.
    fn has_shape(self, shape: &Shape) -> bool {
        match self.at_once() {
            Some(_) => shape.is_scalar(),
            None => self.shape() == *shape,
        }
    }

    /// Fails softly: an operand of this shape is not what was expected.
    #[track_caller]
    pub(crate) fn unexpected(self, operation: &'static str, expected: String) -> Var<'g> {
        let error =
            Error::UnexpectedShape { operation, expected, got: self.shape(), source_line: Source::caller() };
        self.graph().fail(error)
    }
}
