//! Functions of two arguments that work element by element. The functions themselves are rows in the files of
//! their subjects.

use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Value, Var, Work, counting, elementary};
use crate::base::{Error, Shape, Source};
use crate::machine::Scalar;
use crate::machine::simd::{Job, dispatch};
use elementary::indicator;

/// The method of a row, if the row declares one.
macro_rules! method {
    ([$($documentation:tt)*] [$visibility:vis fn $method:ident] $variant:ident $this:ident $other:ident [$value:expr]) => {
        $($documentation)*
        #[must_use]
        #[track_caller]
        #[inline]
        $visibility fn $method(self, $other: impl Into<Value<'g>>) -> Var<'g> {
            fn value<T: Scalar>($this: T, $other: T) -> T {
                $value
            }
            let other = $other.into().on(self.graph());
            match (self.at_once(), other.at_once()) {
                (Some(a), Some(b)) => self.with_number(value(a, b)),
                _ => self.binary(other, Binary::$variant),
            }
        }
    };
    ([$($documentation:tt)*] [] $variant:ident $this:ident $other:ident [$value:expr]) => {};
}

/// Makes the family of its rows. A row is as in the family of one argument, and its pull-back is a pair: the
/// cotangents of the first and of the second argument. Both have the shape of the result; the family adds up
/// over the elements that one number was used for.
macro_rules! family {
    ($(
        $(#[$documentation:meta])*
        $variant:ident $(, $visibility:vis fn $method:ident)? $(as $name:ident)? ($a:ident, $b:ident) -> $y:ident {
            value: $value:expr,
            $(pullback($cotangent:ident): [$first:expr, $second:expr],)?
        },
    )*) => {
        /// A function of two arguments, element by element. One argument may be a single number for all
        /// elements.
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Binary {
            $($(#[$documentation])* $variant,)*
        }

        impl Binary {
            /// `out = f(a, b)`
            fn sweep_over<T: Scalar, A: Side<T>, B: Side<T>>(self, out: &mut [T], left: A, right: B) {
                match self {
                    $(Binary::$variant => {
                        // A job for each function: all loops in one body take the compiler longer than each by
                        // itself.
                        struct Sweep<'a, T, A, B> {
                            out: &'a mut [T],
                            left: A,
                            right: B,
                        }

                        impl<T: Scalar, A: Side<T>, B: Side<T>> Job for Sweep<'_, T, A, B> {
                            type Output = ();
                            #[inline(always)]
                            fn call(self) {
                                let Self { out, left, right } = self;
                                let (left, right) = (left.cut(out.len()), right.cut(out.len()));
                                // Not two iterators zipped: that loop was not vectorised, which made sums of two arrays
                                // ten times slower than those of an array and a number.
                                for place in 0..out.len() {
                                    let ($a, $b) = (left.at(place), right.at(place));
                                    out[place] = $value;
                                }
                            }
                        }

                        dispatch(Sweep { out, left, right });
                    })*
                }
            }
        }

        impl Binary {
            /// Every function of this family, for tests that go through all of them.
            pub const ALL: [Binary; [$(stringify!($variant)),*].len()] = [$(Binary::$variant),*];

            fn name_of(self) -> &'static str {
                match self {
                    $(Binary::$variant => concat!($(stringify!($method))? $(stringify!($name))?),)*
                }
            }

            /// The cotangent of an argument, at the shape of the result; `None` where it is zero everywhere.
            fn rule<'g>(self, a: Var<'g>, b: Var<'g>, y: Var<'g>, cotangent: Var<'g>, first: bool) -> Option<Var<'g>> {
                match self {
                    $(Binary::$variant => {
                        let ($a, $b, $y) = (a, b, y);
                        let _ = ($a, $b, $y);
                        optional!($({
                            let $cotangent = cotangent;
                            if first { $first } else { $second }
                        })?)
                    })*
                }
            }
        }

        /// Functions of two arguments; each fails softly, as [`Graph`](crate::Graph) says.
        impl<'g> Var<'g> {
            $(method! { [$(#[$documentation])*] [$($visibility fn $method)?] $variant $a $b [$value] })*
        }
    };
}

super::elementary::binary! { [counting] family {} }

/// An argument of a sweep: a number for each place, or one for all.
trait Side<T>: Copy {
    /// No more than this many numbers, so that none is looked for behind the last.
    fn cut(self, length: usize) -> Self;

    fn at(self, place: usize) -> T;
}

impl<T: Scalar> Side<T> for &[T] {
    #[inline(always)]
    fn cut(self, length: usize) -> Self {
        &self[..length]
    }

    #[inline(always)]
    fn at(self, place: usize) -> T {
        self[place]
    }
}

impl<T: Scalar> Side<T> for T {
    #[inline(always)]
    fn cut(self, _length: usize) -> Self {
        self
    }

    #[inline(always)]
    fn at(self, _place: usize) -> T {
        self
    }
}

impl Binary {
    /// `out = f(a, b)`
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], a: &[T], b: &[T]) {
        self.sweep_over(out, a, b);
    }

    /// `out = f(a, b)` with one `a` for all.
    pub(crate) fn sweep_left<T: Scalar>(self, out: &mut [T], a: T, b: &[T]) {
        self.sweep_over(out, a, b);
    }

    /// `out = f(a, b)` with one `b` for all.
    pub(crate) fn sweep_right<T: Scalar>(self, out: &mut [T], a: &[T], b: T) {
        self.sweep_over(out, a, b);
    }
}

impl<'g> Var<'g> {
    /// The same number with the derivatives of another expression of it: of one that is accurate where the other's
    /// derivatives are, or shorter to differentiate. What it is derived of is not computed where the derivative is not
    /// asked for. Numbers that are known have no derivatives and stay as they are.
    ///
    /// ```
    /// use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let y = x.log().with_slopes_of(|| x.square());
    /// let outputs = [y, gradient(y, &[x])?[0]];
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs)?);
    /// plan.set("x", &[1.0])?;
    /// plan.run();
    /// assert_eq!((plan.output(0)[0], plan.output(1)[0]), (0.0, 2.0));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    #[inline]
    pub fn with_slopes_of(self, other: impl FnOnce() -> Var<'g>) -> Var<'g> {
        match self.known() {
            Some(_) => self,
            None => self.stop_gradient().zip(other(), Binary::WithSlopesOf),
        }
    }
}

impl Primitive for Binary {
    fn name(&self) -> &'static str {
        self.name_of()
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
        // All at once where numbers lie side by side: to choose a loop takes longer than one number does.
        if let (Operand::Rows(a), Operand::Rows(b)) = (a, b)
            && [a.len(), b.len()] == [out.len(); 2]
        {
            return self.sweep(out, a, b);
        }
        if lanes == 1 {
            match (a.numbers(), b.numbers()) {
                (a, b) if [a.len(), b.len()] == [out.len(); 2] => return self.sweep(out, a, b),
                (a, &[b]) if a.len() == out.len() => return self.sweep_right(out, a, b),
                (&[a], b) if b.len() == out.len() => return self.sweep_left(out, a, b),
                _ => {}
            }
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
        // First of all, whether the rule uses it or not: the place of a constant in a program is part of the
        // program's fingerprint.
        let _ = cotangent.constant(0.0);
        let value = self.rule(args[0], args[1], result, cotangent, which == 0)?;
        Some(Cotangent::Value(value.sum_to(args[which].shape())))
    }
}

/// The shape of two operands, of which one may be a single number.
pub(super) fn together(a: &Shape, b: &Shape) -> Option<Shape> {
    match (a.is_scalar(), b.is_scalar()) {
        (_, true) => Some(a.clone()),
        (true, _) => Some(b.clone()),
        _ => (a == b).then(|| a.clone()),
    }
}

impl<'g> Var<'g> {
    /// Both values at the shape they have together; a scalar is left as it is, for the kernels take it so.
    #[track_caller]
    pub(super) fn align(
        self,
        other: Var<'g>,
        operation: &'static str,
    ) -> Result<(Var<'g>, Var<'g>, Shape), Error> {
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
    pub(super) fn binary(self, other: Var<'g>, op: Binary) -> Var<'g> {
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
}
