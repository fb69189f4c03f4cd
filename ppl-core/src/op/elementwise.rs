//! Primitives that work element by element.

use super::{Cotangent, Operand, Row};
use crate::scalar::Scalar;
use crate::var::Var;

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

    /// The name of the method that builds it.
    #[must_use]
    pub fn name(self) -> &'static str {
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

    pub(crate) fn run<T: Scalar>(self, out: &mut [T], x: &[T]) {
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

    pub(crate) fn pullback<'g>(self, x: Var<'g>, y: Var<'g>, cotangent: Var<'g>) -> Option<Cotangent<'g>> {
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

/// A function of two arguments, element by element. One argument may be a single number for all elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a − b`
    Sub,
    /// `a · b`
    Mul,
    /// `a / b`
    Div,
    /// `aᵇ`, for `a > 0` where the derivative is taken.
    Pow,
    /// The larger; at equality the derivative goes to the first.
    Max,
    /// The smaller; at equality the derivative goes to the first.
    Min,
    /// 1 if `a > b`, else 0; derivative 0.
    Greater,
    /// 1 if `a ≥ b`, else 0; derivative 0.
    GreaterEqual,
    /// 1 if `a = b`, else 0; derivative 0.
    Equal,
}

impl Binary {
    /// Every function of this family, for tests that go through all of them.
    pub const ALL: [Binary; 10] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Pow,
        Binary::Max,
        Binary::Min,
        Binary::Greater,
        Binary::GreaterEqual,
        Binary::Equal,
    ];

    /// The name of the method that builds it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Pow => "pow",
            Binary::Max => "max",
            Binary::Min => "min",
            Binary::Greater => "greater",
            Binary::GreaterEqual => "greater_equal",
            Binary::Equal => "equal",
        }
    }

    pub(crate) fn run<T: Scalar>(self, lanes: usize, out: &mut [T], a: Operand<T>, b: Operand<T>) {
        match self {
            Binary::Add => map2(lanes, out, a, b, |a, b| a + b),
            Binary::Sub => map2(lanes, out, a, b, |a, b| a - b),
            Binary::Mul => map2(lanes, out, a, b, |a, b| a * b),
            Binary::Div => map2(lanes, out, a, b, |a, b| a / b),
            Binary::Pow => map2(lanes, out, a, b, T::powf),
            Binary::Max => map2(lanes, out, a, b, |a, b| if a >= b || a.is_nan() { a } else { b }),
            Binary::Min => map2(lanes, out, a, b, |a, b| if a <= b || a.is_nan() { a } else { b }),
            Binary::Greater => map2(lanes, out, a, b, |a, b| indicator(a > b)),
            Binary::GreaterEqual => map2(lanes, out, a, b, |a, b| indicator(a >= b)),
            Binary::Equal => map2(lanes, out, a, b, |a, b| indicator(a == b)),
        }
    }

    pub(crate) fn pullback<'g>(
        self,
        a: Var<'g>,
        b: Var<'g>,
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let zero = cotangent.constant(0.0);
        let first = which == 0;
        let (target, other) = if first { (a, b) } else { (b, a) };
        let value = match (self, first) {
            (Binary::Add, _) | (Binary::Sub, true) => cotangent,
            (Binary::Sub, false) => -cotangent,
            // The sum over the elements that one number was used for, without the array of products in between.
            (Binary::Mul, _) if target.shape() != cotangent.shape() => cotangent.inner(other),
            (Binary::Mul, _) => cotangent * other,
            (Binary::Div, true) => cotangent / b,
            (Binary::Div, false) => -(cotangent * (result / b)),
            (Binary::Pow, true) => cotangent * (b * a.zip(b - 1.0, Binary::Pow)),
            (Binary::Pow, false) => cotangent * (result * a.log()),
            (Binary::Max, true) => a.greater_equal(b).select(cotangent, zero),
            (Binary::Max, false) => a.greater_equal(b).select(zero, cotangent),
            (Binary::Min, true) => b.greater_equal(a).select(cotangent, zero),
            (Binary::Min, false) => b.greater_equal(a).select(zero, cotangent),
            (Binary::Greater | Binary::GreaterEqual | Binary::Equal, _) => return None,
        };
        Some(Cotangent::Value(value.sum_to(target.shape())))
    }
}

pub(crate) fn pullback_select<'g>(
    args: &[Var<'g>],
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

pub(crate) fn run_select<T: Scalar>(lanes: usize, out: &mut [T], args: [Operand<T>; 3]) {
    let [condition, a, b] = args;
    if lanes == 0 {
        return;
    }
    let row_of = |operand: &Operand<'_, T>, row: usize| if operand.rows(lanes) == 1 { 0 } else { row };
    for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
        let [condition, a, b] = [condition, a, b].map(|operand| operand.row(row_of(&operand, row), lanes));
        for (lane, out) in out.iter_mut().enumerate() {
            let at = |row: Row<'_, T>| match row {
                Row::Lanes(values) => values[lane],
                Row::One(value) => value,
            };
            *out = if at(condition) != T::zero() { at(a) } else { at(b) };
        }
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

#[inline]
fn indicator<T: Scalar>(holds: bool) -> T {
    if holds { T::one() } else { T::zero() }
}

#[inline]
fn map<T: Scalar>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(x);
    }
}

/// `out = f(a, b)`; an operand with one element is used for every element of the result.
#[inline]
fn map2<T: Scalar>(lanes: usize, out: &mut [T], a: Operand<T>, b: Operand<T>, f: impl Fn(T, T) -> T) {
    if let (Operand::Rows(a), Operand::Rows(b)) = (a, b)
        && a.len() == out.len()
        && b.len() == out.len()
    {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = f(a, b);
        }
        return;
    }
    if lanes == 0 {
        return;
    }
    let pick = |operand: &Operand<T>| if operand.rows(lanes) == 1 { 0 } else { 1 };
    let (step_a, step_b) = (pick(&a), pick(&b));
    for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
        match (a.row(row * step_a, lanes), b.row(row * step_b, lanes)) {
            (Row::Lanes(a), Row::Lanes(b)) => {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = f(a, b);
                }
            }
            (Row::Lanes(a), Row::One(b)) => {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a, b);
                }
            }
            (Row::One(a), Row::Lanes(b)) => {
                for (out, &b) in out.iter_mut().zip(b) {
                    *out = f(a, b);
                }
            }
            (Row::One(a), Row::One(b)) => out.fill(f(a, b)),
        }
    }
}
