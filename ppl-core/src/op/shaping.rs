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
        let Work { lanes, shared, out, args, table, shapes, shape, .. } = work;
        let x = args[0];
        if lanes == 0 {
            return;
        }
        if shared {
            let block = match self {
                Shaping::Broadcast(_) => Block::between(&shapes[0], shape),
                Shaping::SumTo(_) => Block::between(shape, &shapes[0]),
                Shaping::Reshape(_) => None,
            };
            return self.run_shared(out, x.numbers(), table, block);
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
    fn run_shared<T: Scalar>(&self, out: &mut [T], x: &[T], table: &[u32], block: Option<Block>) {
        match (self, block) {
            (Shaping::Broadcast(_), _) if x.len() == 1 => out.fill(x[0]),
            (Shaping::Broadcast(_), Some(Block { repeats, inner: 1 })) => repeat_each(out, x, repeats),
            (Shaping::Broadcast(_), Some(Block { repeats, inner })) => {
                for (out, x) in out.chunks_exact_mut(repeats * inner).zip(x.chunks_exact(inner)) {
                    repeat_whole(out, x);
                }
            }
            (Shaping::Broadcast(_), None) => {
                out.iter_mut().zip(table).for_each(|(out, &from)| *out = x[from as usize]);
            }
            (Shaping::SumTo(_), _) if out.len() == 1 => out[0] = lane_sum(x),
            (Shaping::SumTo(_), Some(Block { repeats, inner: 1 })) => sum_each(out, x, repeats),
            (Shaping::SumTo(_), Some(Block { repeats, inner })) => {
                for (out, x) in out.chunks_exact_mut(inner).zip(x.chunks_exact(repeats * inner)) {
                    sum_whole(out, x);
                }
            }
            (Shaping::SumTo(_), None) => {
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
            (Shaping::Reshape(_), _) => out.copy_from_slice(x),
        }
    }
}

/// How a broadcast repeats where the axes along which it does stand next to each other: each run of `inner` numbers
/// `repeats` times.
#[derive(Clone, Copy)]
struct Block {
    repeats: usize,
    inner: usize,
}

impl Block {
    /// `None` where axes that are repeated and axes that are not take turns, or there is nothing.
    fn between(small: &Shape, large: &Shape) -> Option<Self> {
        let ahead = large.rank().checked_sub(small.rank())?;
        let length = |axis: usize| axis.checked_sub(ahead).map_or(1, |axis| small.dims()[axis]);
        let repeated = |axis: &usize| large.dims()[*axis] != length(*axis);
        let first = (0..large.rank()).find(repeated)?;
        let last = (0..large.rank()).rfind(repeated)?;
        let product = |axes: std::ops::Range<usize>| large.dims()[axes].iter().product::<usize>();
        let block = Self { repeats: product(first..last + 1), inner: product(last + 1..large.rank()) };
        let whole = (first..=last).all(|axis| length(axis) == 1);
        (whole && block.repeats > 0 && block.inner > 0).then_some(block)
    }
}

/// Does the same for axes as short as events mostly are with their length known to the compiler.
macro_rules! by_length {
    ($length:expr, $short:ident ($($argument:expr),*), $any:expr) => {
        match $length {
            2 => $short::<T, 2>($($argument),*),
            3 => $short::<T, 3>($($argument),*),
            4 => $short::<T, 4>($($argument),*),
            5 => $short::<T, 5>($($argument),*),
            6 => $short::<T, 6>($($argument),*),
            7 => $short::<T, 7>($($argument),*),
            8 => $short::<T, 8>($($argument),*),
            _ => $any,
        }
    };
}

/// Each number `repeats` times.
#[inline(always)]
fn repeat_each<T: Scalar>(out: &mut [T], x: &[T], repeats: usize) {
    #[inline(always)]
    fn short<T: Scalar, const LENGTH: usize>(out: &mut [T], x: &[T]) {
        out.as_chunks_mut::<LENGTH>().0.iter_mut().zip(x).for_each(|(out, &x)| *out = [x; LENGTH]);
    }
    by_length!(repeats, short(out, x), {
        out.chunks_exact_mut(repeats).zip(x).for_each(|(out, &x)| out.fill(x));
    });
}

/// `x` again and again.
#[inline(always)]
fn repeat_whole<T: Scalar>(out: &mut [T], x: &[T]) {
    #[inline(always)]
    fn short<T: Scalar, const LENGTH: usize>(out: &mut [T], x: &[T]) {
        if let (out, &[x]) = (out.as_chunks_mut::<LENGTH>().0, x.as_chunks::<LENGTH>().0) {
            out.fill(x);
        }
    }
    by_length!(x.len(), short(out, x), {
        out.chunks_exact_mut(x.len()).for_each(|out| out.copy_from_slice(x));
    });
}

/// The sum of every `repeats` numbers, each added up in turn.
#[inline(always)]
fn sum_each<T: Scalar>(out: &mut [T], x: &[T], repeats: usize) {
    #[inline(always)]
    fn short<T: Scalar, const LENGTH: usize>(out: &mut [T], x: &[T]) {
        for (out, x) in out.iter_mut().zip(x.as_chunks::<LENGTH>().0) {
            *out = x.iter().fold(T::zero(), |sum, &x| sum + x);
        }
    }
    by_length!(repeats, short(out, x), {
        for (out, x) in out.iter_mut().zip(x.chunks_exact(repeats)) {
            *out = x.iter().fold(T::zero(), |sum, &x| sum + x);
        }
    });
}

/// The sum of rows as long as `out`, each added up in turn.
#[inline(always)]
fn sum_whole<T: Scalar>(out: &mut [T], x: &[T]) {
    #[inline(always)]
    fn short<T: Scalar, const LENGTH: usize>(out: &mut [T], x: &[T]) {
        // In registers, for the next row waits for the sums of the last.
        let mut sums = [T::zero(); LENGTH];
        for x in x.as_chunks::<LENGTH>().0 {
            for k in 0..LENGTH {
                sums[k] += x[k];
            }
        }
        out.copy_from_slice(&sums);
    }
    by_length!(out.len(), short(out, x), {
        out.fill(T::zero());
        for x in x.chunks_exact(out.len()) {
            out.iter_mut().zip(x).for_each(|(out, &x)| *out += x);
        }
    });
}

/// `out = row`
#[inline(always)]
pub(crate) fn copy<T: Scalar>(out: &mut [T], row: Row<T>) {
    match row {
        // Most of shared arrays, for which a call would cost more than the number.
        Row::Lanes(&[value]) => out.fill(value),
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
