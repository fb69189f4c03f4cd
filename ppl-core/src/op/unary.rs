//! Functions of one argument that work element by element.

use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Work};
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::var::Var;
use std::ops;

/// A function of one argument, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unary {
    /// `−x`
    Neg,
    /// `|x|`; derivative 0 at 0.
    Abs,
    /// −1, 0 or 1; derivative 0.
    Sign,
    /// `x²`
    Square,
    /// `√x`
    Sqrt,
    /// `1/x`
    Reciprocal,
    /// `eˣ`
    Exp,
    /// `eˣ − 1`
    Expm1,
    /// `ln x`
    Log,
    /// `ln(1 + x)`
    Log1p,
    /// Hyperbolic tangent.
    Tanh,
    /// `1/(1 + e⁻ˣ)`
    Sigmoid,
    /// `ln(1 + eˣ)`
    Softplus,
}

impl Unary {
    /// Every function of this family, for tests that go through all of them.
    pub const ALL: [Unary; 13] = [
        Unary::Neg,
        Unary::Abs,
        Unary::Sign,
        Unary::Square,
        Unary::Sqrt,
        Unary::Reciprocal,
        Unary::Exp,
        Unary::Expm1,
        Unary::Log,
        Unary::Log1p,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Softplus,
    ];

    /// `out = f(x)`
    #[inline(always)]
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], x: &[T]) {
        match self {
            Unary::Neg => map(out, x, |x| -x),
            Unary::Abs => map(out, x, T::abs),
            Unary::Sign => map(out, x, sign),
            Unary::Square => map(out, x, |x| x * x),
            Unary::Sqrt => map(out, x, T::sqrt),
            Unary::Reciprocal => map(out, x, T::recip),
            Unary::Exp => map(out, x, T::exp),
            Unary::Expm1 => map(out, x, T::exp_m1),
            Unary::Log => map(out, x, T::ln),
            Unary::Log1p => map(out, x, T::ln_1p),
            Unary::Tanh => map(out, x, T::tanh),
            Unary::Sigmoid => map(out, x, T::sigmoid),
            Unary::Softplus => map(out, x, T::softplus),
        }
    }
}

impl Primitive for Unary {
    fn name(&self) -> &'static str {
        match self {
            Unary::Neg => "neg",
            Unary::Abs => "abs",
            Unary::Sign => "sign",
            Unary::Square => "square",
            Unary::Sqrt => "sqrt",
            Unary::Reciprocal => "reciprocal",
            Unary::Exp => "exp",
            Unary::Expm1 => "expm1",
            Unary::Log => "log",
            Unary::Log1p => "log1p",
            Unary::Tanh => "tanh",
            Unary::Sigmoid => "sigmoid",
            Unary::Softplus => "softplus",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [x] => Ok(x.clone()),
            _ => Err(Misfit::Count),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        match work.args[0] {
            Operand::Rows(x) => self.sweep(work.out, x),
            x @ Operand::Shared(values) => {
                for (row, out) in work.out.chunks_exact_mut(work.lanes.max(1)).enumerate().take(values.len())
                {
                    if let Row::One(value) = x.row(row, work.lanes) {
                        let mut one = [T::zero()];
                        self.sweep(&mut one, &[value]);
                        out.fill(one[0]);
                    }
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        y: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let x = args[0];
        Some(Cotangent::Value(match self {
            Unary::Neg => -cotangent,
            Unary::Abs => cotangent * x.sign(),
            Unary::Sign => return None,
            Unary::Square => cotangent * (2.0 * x),
            Unary::Sqrt => cotangent * (0.5 / y),
            Unary::Reciprocal => -(cotangent * y.square()),
            Unary::Exp => cotangent * y,
            Unary::Expm1 => cotangent * (y + 1.0),
            Unary::Log => cotangent / x,
            Unary::Log1p => cotangent / (1.0 + x),
            Unary::Tanh => cotangent * (1.0 - y.square()),
            Unary::Sigmoid => cotangent * (y * (1.0 - y)),
            Unary::Softplus => cotangent * x.sigmoid(),
        }))
    }
}

#[inline]
fn sign<T: Scalar>(x: T) -> T {
    if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        x * T::zero() // 0, and NaN for NaN
    }
}

#[inline(always)]
fn map<T: Scalar>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(x);
    }
}

/// Functions of one argument; each fails softly, as told at [`Graph`](crate::Graph).
impl<'g> Var<'g> {
    #[track_caller]
    fn unary(self, op: Unary) -> Var<'g> {
        self.graph().apply(Op::Unary(op), &[self])
    }

    /// `|x|`
    #[must_use]
    #[track_caller]
    pub fn abs(self) -> Var<'g> {
        self.unary(Unary::Abs)
    }

    /// −1, 0 or 1.
    #[must_use]
    #[track_caller]
    pub fn sign(self) -> Var<'g> {
        self.unary(Unary::Sign)
    }

    /// `x²`
    #[must_use]
    #[track_caller]
    pub fn square(self) -> Var<'g> {
        self.unary(Unary::Square)
    }

    /// `√x`
    #[must_use]
    #[track_caller]
    pub fn sqrt(self) -> Var<'g> {
        self.unary(Unary::Sqrt)
    }

    /// `1/x`
    #[must_use]
    #[track_caller]
    pub fn reciprocal(self) -> Var<'g> {
        self.unary(Unary::Reciprocal)
    }

    /// `eˣ`
    #[must_use]
    #[track_caller]
    pub fn exp(self) -> Var<'g> {
        self.unary(Unary::Exp)
    }

    /// `eˣ − 1`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn expm1(self) -> Var<'g> {
        self.unary(Unary::Expm1)
    }

    /// `ln x`
    #[must_use]
    #[track_caller]
    pub fn log(self) -> Var<'g> {
        self.unary(Unary::Log)
    }

    /// `ln(1 + x)`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn log1p(self) -> Var<'g> {
        self.unary(Unary::Log1p)
    }

    /// Hyperbolic tangent.
    #[must_use]
    #[track_caller]
    pub fn tanh(self) -> Var<'g> {
        self.unary(Unary::Tanh)
    }

    /// `1/(1 + e⁻ˣ)`
    #[must_use]
    #[track_caller]
    pub fn sigmoid(self) -> Var<'g> {
        self.unary(Unary::Sigmoid)
    }

    /// `ln(1 + eˣ)`
    #[must_use]
    #[track_caller]
    pub fn softplus(self) -> Var<'g> {
        self.unary(Unary::Softplus)
    }

    /// Any function of one argument.
    #[must_use]
    #[track_caller]
    pub fn map(self, function: Unary) -> Var<'g> {
        self.unary(function)
    }
}

impl<'g> ops::Neg for Var<'g> {
    type Output = Var<'g>;
    #[track_caller]
    fn neg(self) -> Var<'g> {
        self.unary(Unary::Neg)
    }
}
