//! Primitives that move, repeat or add up elements.

use super::{Cotangent, Operand, Row};
use crate::scalar::Scalar;
use crate::var::Var;

/// An operation that moves, repeats or adds up elements. The shape of the result is that of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shaping {
    /// Repeats elements until the array has the result's shape.
    Broadcast,
    /// Adds up the elements that a broadcast from the result's shape would have repeated.
    SumTo,
    /// The same elements in the same (row-major) order under another shape.
    Reshape,
}

impl Shaping {
    /// The name of the method that builds it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shaping::Broadcast => "broadcast_to",
            Shaping::SumTo => "sum_to",
            Shaping::Reshape => "reshape",
        }
    }

    pub(crate) fn pullback<'g>(self, x: Var<'g>, cotangent: Var<'g>) -> Cotangent<'g> {
        Cotangent::Value(match self {
            Shaping::Broadcast => cotangent.sum_to(x.shape()),
            Shaping::SumTo => cotangent.broadcast_to(x.shape()),
            Shaping::Reshape => cotangent.reshape(x.shape()),
        })
    }

    /// `map` gives, for each element of the larger of the two arrays, its element in the smaller.
    pub(crate) fn run<T: Scalar>(self, lanes: usize, out: &mut [T], x: Operand<T>, map: &[u32]) {
        if lanes == 0 {
            return;
        }
        match self {
            Shaping::Broadcast => {
                for (out, &from) in out.chunks_exact_mut(lanes).zip(map) {
                    copy(out, x.row(from as usize, lanes));
                }
            }
            Shaping::SumTo => {
                out.fill(T::zero());
                for (row, &to) in map.iter().enumerate() {
                    let to = to as usize * lanes;
                    add(&mut out[to..to + lanes], x.row(row, lanes));
                }
            }
            Shaping::Reshape => {
                for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
                    copy(out, x.row(row, lanes));
                }
            }
        }
    }
}

#[inline]
fn copy<T: Scalar>(out: &mut [T], row: Row<T>) {
    match row {
        Row::Lanes(values) => out.copy_from_slice(values),
        Row::One(value) => out.fill(value),
    }
}

#[inline]
fn add<T: Scalar>(out: &mut [T], row: Row<T>) {
    match row {
        Row::Lanes(values) => out.iter_mut().zip(values).for_each(|(out, &x)| *out += x),
        Row::One(value) => out.iter_mut().for_each(|out| *out += value),
    }
}
