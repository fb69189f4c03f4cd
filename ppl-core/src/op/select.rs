//! The choice between two values, element by element.

use super::binary::together;
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Value, Var, Work};
use crate::base::{Error, Shape, Source};
use crate::machine::Scalar;

/// `if condition ≠ 0 { a } else { b }`, element by element. Any argument may be a single number for all
/// elements.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Select;

impl Primitive for Select {
    fn name(&self) -> &'static str {
        "select"
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [condition, a, b] => {
                together(condition, a).and_then(|shape| together(&shape, b)).ok_or(Misfit::Pair)
            }
            _ => Err(Misfit::Count),
        }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        let [condition, a, b] = [args[0], args[1], args[2]];
        if lanes == 0 {
            return;
        }
        let row_of = |operand: &Operand<'_, T>, row: usize| if operand.rows(lanes) == 1 { 0 } else { row };
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            let [condition, a, b] =
                [condition, a, b].map(|operand| operand.row(row_of(&operand, row), lanes));
            for (lane, out) in out.iter_mut().enumerate() {
                let at = |row: Row<'_, T>| match row {
                    Row::Lanes(values) => values[lane],
                    Row::One(value) => value,
                };
                *out = if at(condition) != T::zero() { at(a) } else { at(b) };
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let zero = cotangent.constant(0.0);
        let value = match which {
            1 => args[0].select(cotangent, zero),
            2 => args[0].select(zero, cotangent),
            _ => return None,
        };
        Some(Cotangent::Value(value.sum_to(args[which].shape())))
    }
}

impl<'g> Var<'g> {
    /// `a` where `self ≠ 0`, else `b`, element by element.
    ///
    /// The branch not taken gets a cotangent of zero. Where its own derivative is infinite there (`√x` at
    /// `x < 0`), zero times that is NaN: choose a harmless argument for it too, as in
    /// `c.select(c.select(x, 1.0).sqrt(), 0.0)`.
    #[must_use]
    #[track_caller]
    pub fn select(self, a: impl Into<Value<'g>>, b: impl Into<Value<'g>>) -> Var<'g> {
        let (a, b) = (a.into().on(self.graph()), b.into().on(self.graph()));
        if let (Some(condition), Some(_), Some(_)) = (self.at_once(), a.at_once(), b.at_once()) {
            return if condition != 0.0 { a } else { b };
        }
        let aligned = self.align(a, "select").and_then(|(_, _, shape)| {
            b.require_on(self.graph(), "select")?;
            let together = shape.broadcast(&b.shape());
            together.ok_or(Error::ShapeMismatch {
                operation: "select",
                left: shape,
                right: b.shape(),
                source_line: Source::caller(),
            })
        });
        match aligned {
            Ok(shape) => {
                let stretch = |x: Var<'g>| {
                    if x.shape().is_scalar() { x } else { x.broadcast_to(shape.clone()) }
                };
                self.graph().apply(Op::Select(Select), &[stretch(self), stretch(a), stretch(b)])
            }
            Err(error) => self.graph().fail(error),
        }
    }
}
