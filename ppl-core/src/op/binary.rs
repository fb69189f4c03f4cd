//! Functions of two arguments that work element by element, and the choice between two.

use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Work};
use crate::error::{Error, Source};
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::value::Value;
use crate::var::Var;
use std::ops;

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
    /// 1 if `a < b`, else 0; derivative 0.
    Less,
    /// 1 if `a ≤ b`, else 0; derivative 0.
    LessEqual,
    /// 1 if `a ≠ b`, else 0; derivative 0. NaN differs from everything.
    NotEqual,
    /// `a ln(a/b) + b − a`, for `a, b ≥ 0`.
    Deviance,
}

impl Binary {
    /// Every function of this family, for tests that go through all of them.
    pub const ALL: [Binary; 14] = [
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
        Binary::Less,
        Binary::LessEqual,
        Binary::NotEqual,
        Binary::Deviance,
    ];
}

/// Writes a function of the pairs of numbers that an iterator gives; each function gets a loop of its own.
macro_rules! sweep {
    ($op:expr, $out:expr, $pairs:expr) => {
        match $op {
            Binary::Add => sweep!(@ $out, $pairs, a, b => a + b),
            Binary::Sub => sweep!(@ $out, $pairs, a, b => a - b),
            Binary::Mul => sweep!(@ $out, $pairs, a, b => a * b),
            Binary::Div => sweep!(@ $out, $pairs, a, b => a / b),
            Binary::Pow => sweep!(@ $out, $pairs, a, b => a.power(b)),
            Binary::Max => sweep!(@ $out, $pairs, a, b => if a >= b || a.is_nan() { a } else { b }),
            Binary::Min => sweep!(@ $out, $pairs, a, b => if a <= b || a.is_nan() { a } else { b }),
            Binary::Greater => sweep!(@ $out, $pairs, a, b => indicator(a > b)),
            Binary::GreaterEqual => sweep!(@ $out, $pairs, a, b => indicator(a >= b)),
            Binary::Equal => sweep!(@ $out, $pairs, a, b => indicator(a == b)),
            Binary::Less => sweep!(@ $out, $pairs, a, b => indicator(a < b)),
            Binary::LessEqual => sweep!(@ $out, $pairs, a, b => indicator(a <= b)),
            Binary::NotEqual => sweep!(@ $out, $pairs, a, b => indicator(a != b)),
            Binary::Deviance => sweep!(@ $out, $pairs, a, b => a.deviance(b)),
        }
    };
    (@ $out:expr, $pairs:expr, $a:ident, $b:ident => $value:expr) => {
        for (out, ($a, $b)) in $out.iter_mut().zip($pairs) {
            *out = $value;
        }
    };
}

impl Binary {
    /// `out = f(a, b)`
    #[inline(always)]
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], a: &[T], b: &[T]) {
        sweep!(self, out, a.iter().copied().zip(b.iter().copied()));
    }

    /// `out = f(a, b)` with one `a` for all.
    #[inline(always)]
    pub(crate) fn sweep_left<T: Scalar>(self, out: &mut [T], a: T, b: &[T]) {
        sweep!(self, out, b.iter().map(|&b| (a, b)));
    }

    /// `out = f(a, b)` with one `b` for all.
    #[inline(always)]
    pub(crate) fn sweep_right<T: Scalar>(self, out: &mut [T], a: &[T], b: T) {
        sweep!(self, out, a.iter().map(|&a| (a, b)));
    }
}

impl Primitive for Binary {
    fn name(&self) -> &'static str {
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
            Binary::Less => "less",
            Binary::LessEqual => "less_equal",
            Binary::NotEqual => "not_equal",
            Binary::Deviance => "deviance",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [a, b] => together(a, b).ok_or(Misfit::Pair),
            _ => Err(Misfit::Count),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        let (a, b) = (args[0], args[1]);
        if lanes == 0 {
            return;
        }
        let pick = |operand: &Operand<T>| if operand.rows(lanes) == 1 { 0 } else { 1 };
        let (step_a, step_b) = (pick(&a), pick(&b));
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            match (a.row(row * step_a, lanes), b.row(row * step_b, lanes)) {
                (Row::Lanes(a), Row::Lanes(b)) => self.sweep(out, a, b),
                (Row::Lanes(a), Row::One(b)) => self.sweep_right(out, a, b),
                (Row::One(a), Row::Lanes(b)) => self.sweep_left(out, a, b),
                (Row::One(a), Row::One(b)) => {
                    let mut one = [T::zero()];
                    self.sweep(&mut one, &[a], &[b]);
                    out.fill(one[0]);
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let (a, b) = (args[0], args[1]);
        let zero = cotangent.constant(0.0);
        let first = which == 0;
        let (target, other) = if first { (a, b) } else { (b, a) };
        let value = match (*self, first) {
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
            (Binary::Deviance, true) => cotangent * log_ratio(a, b),
            // 1 − a/b, at the wall too, where both are 0.
            (Binary::Deviance, false) => cotangent * a.equal(0.0).select(1.0, (b - a) / b),
            (
                Binary::Greater
                | Binary::GreaterEqual
                | Binary::Equal
                | Binary::Less
                | Binary::LessEqual
                | Binary::NotEqual,
                _,
            ) => return None,
        };
        Some(Cotangent::Value(value.sum_to(target.shape())))
    }
}

/// `ln(a/b)`, relatively accurate where `a` is close to `b`.
fn log_ratio<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    let difference = (a - b) / b;
    let near = difference.abs().less(0.5);
    near.select(near.select(difference, 0.0).log1p(), near.select(1.0, a / b).log())
}

/// The shape of two operands, of which one may be a single number.
pub(super) fn together(a: &Shape, b: &Shape) -> Option<Shape> {
    match (a.is_scalar(), b.is_scalar()) {
        (_, true) => Some(a.clone()),
        (true, _) => Some(b.clone()),
        _ => (a == b).then(|| a.clone()),
    }
}

/// `if condition ≠ 0 { a } else { b }`, element by element. Any argument may be a single number for all elements.
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

#[inline(always)]
fn indicator<T: Scalar>(holds: bool) -> T {
    if holds { T::one() } else { T::zero() }
}

/// Functions of two arguments; each fails softly, as told at [`Graph`](crate::Graph).
impl<'g> Var<'g> {
    /// Both values at the shape they have together; a scalar is left as it is, for the kernels take it so.
    #[track_caller]
    fn align(self, other: Var<'g>, operation: &'static str) -> Result<(Var<'g>, Var<'g>, Shape), Error> {
        if !std::ptr::eq(self.graph(), other.graph()) {
            return Err(Error::MixedGraphs { operation, source_line: Source::caller() });
        }
        let (left, right) = (self.shape(), other.shape());
        match left.broadcast(&right) {
            Some(shape) => {
                let stretch = |x: Var<'g>| {
                    if x.shape().is_scalar() { x } else { x.broadcast_to(shape.clone()) }
                };
                Ok((stretch(self), stretch(other), shape))
            }
            None => Err(Error::ShapeMismatch { operation, left, right, source_line: Source::caller() }),
        }
    }

    #[track_caller]
    fn binary(self, other: Var<'g>, op: Binary) -> Var<'g> {
        let (a, b, shape) = match self.align(other, op.name()) {
            Ok(aligned) => aligned,
            Err(error) => return self.graph().fail(error),
        };
        match (op, a.known(), b.known()) {
            (_, Some(_), Some(_)) => self.graph().apply(Op::Binary(op), &[a, b]),
            // Identities that hold for every x, NaN and infinities included.
            (Binary::Mul | Binary::Div, _, Some(1.0)) if a.shape() == shape => a,
            (Binary::Mul, Some(1.0), _) if b.shape() == shape => b,
            (Binary::Mul, _, Some(-1.0)) if a.shape() == shape => -a,
            (Binary::Mul, Some(-1.0), _) if b.shape() == shape => -b,
            (Binary::Add | Binary::Sub, _, Some(0.0)) if a.shape() == shape => a,
            (Binary::Add, Some(0.0), _) if b.shape() == shape => b,
            (Binary::Sub, Some(0.0), _) if b.shape() == shape => -b,
            _ => self.graph().apply(Op::Binary(op), &[a, b]),
        }
    }

    /// Any function of two arguments.
    #[must_use]
    #[track_caller]
    pub fn zip(self, other: impl Into<Value<'g>>, function: Binary) -> Var<'g> {
        self.binary(other.into().on(self.graph()), function)
    }

    /// `aᵇ`; exponents 0, 1 and 2 known while tracing become 1, `a` and `a²`, with their derivatives at 0.
    #[must_use]
    #[track_caller]
    pub fn pow(self, exponent: impl Into<Value<'g>>) -> Var<'g> {
        let exponent = exponent.into();
        match exponent.known() {
            Some(0.0) => self.constant(1.0).broadcast_to(self.shape()),
            Some(1.0) => self,
            Some(2.0) => self.square(),
            _ => self.zip(exponent, Binary::Pow),
        }
    }

    /// The larger of two, element by element.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Max)
    }

    /// The smaller of two, element by element.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Min)
    }

    /// 1 where `self > other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn greater(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Greater)
    }

    /// 1 where `self ≥ other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn greater_equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::GreaterEqual)
    }

    /// 1 where `self = other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Equal)
    }

    /// 1 where `self < other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn less(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Less)
    }

    /// 1 where `self ≤ other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn less_equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::LessEqual)
    }

    /// 1 where `self ≠ other`, else 0. NaN differs from everything, itself included.
    #[must_use]
    #[track_caller]
    pub fn not_equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::NotEqual)
    }

    /// `x ln(x/m) + m − x` of `x = self`, for `x, m ≥ 0`: how far a count lies from its expectation `m`. Never negative, and relatively
    /// accurate where `x` is close to `m`; `m` at `x = 0`, and ∞ at `m = 0 < x`.
    ///
    /// ```
    /// # use ppl_core::{Graph, Plan, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 2)?;
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[x.deviance(1e15)])?);
    /// plan.set("x", &[1e15 + 1.0, 0.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] / 0.5e-15 - 1.0).abs() < 1e-14); // (x − m)²/(2m), and nothing lost
    /// assert_eq!(plan.output(0)[1], 1e15);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # References
    /// C. Loader, "Fast and accurate computation of binomial probabilities" (2000), where it is called `bd0`.
    #[must_use]
    #[track_caller]
    pub fn deviance(self, m: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(m, Binary::Deviance)
    }

    /// `a` where `self ≠ 0`, else `b`, element by element.
    ///
    /// The branch not taken gets a cotangent of zero. Where its own derivative is infinite there (`√x` at `x < 0`), zero
    /// times that is NaN: choose a harmless argument for it too, as in `c.select(c.select(x, 1.0).sqrt(), 0.0)`.
    #[must_use]
    #[track_caller]
    pub fn select(self, a: impl Into<Value<'g>>, b: impl Into<Value<'g>>) -> Var<'g> {
        let (a, b) = (a.into().on(self.graph()), b.into().on(self.graph()));
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

macro_rules! operator {
    ($($trait:ident $method:ident $op:expr;)*) => {$(
        impl<'g> ops::$trait for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                self.binary(other, $op)
            }
        }
        impl<'g> ops::$trait<f64> for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: f64) -> Var<'g> {
                self.binary(self.constant(other), $op)
            }
        }
        impl<'g> ops::$trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                other.constant(self).binary(other, $op)
            }
        }
    )*};
}

operator! {
    Add add Binary::Add;
    Sub sub Binary::Sub;
    Mul mul Binary::Mul;
    Div div Binary::Div;
}
