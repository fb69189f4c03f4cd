//! Functions of one argument that work element by element. The functions themselves are rows in the files of
//! their subjects.

use super::elementary::Bound;
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Var, Work, bessel, elementary, normal};
use crate::base::Shape;
use crate::machine::Scalar;
use crate::machine::simd::{Job, dispatch};
use crate::math;
use std::f64::consts::FRAC_2_SQRT_PI;

/// The method of a row, if the row declares one.
macro_rules! method {
    ([$($documentation:tt)*] [$visibility:vis fn $method:ident] $variant:ident $x:ident [$value:expr] [$($far:tt)*]) => {
        $($documentation)*
        #[must_use]
        #[track_caller]
        #[inline]
        $visibility fn $method(self) -> Var<'g> {
            fn value<T: Scalar>($x: T) -> T {
                far!([$($far)*] $value)
            }
            match self.at_once() {
                Some(number) => self.with_number(value(number)),
                None => self.map(Unary::$variant),
            }
        }
    };
    ([$($documentation:tt)*] [] $variant:ident $x:ident [$value:expr] [$($far:tt)*]) => {};
}

/// One value of a row.
macro_rules! far {
    ([] $value:expr) => {
        $value
    };
    ([$test:expr, $far:expr] $value:expr) => {
        if $test { $far } else { $value }
    };
}

/// Makes the family of its rows. A row is
///
/// ```text
/// /// `eˣ`                                       its documentation, of the variant and of the method
/// Exp, pub fn exp(x) -> y {                      variant, method, and what the rules call the argument and the result
///     value: x.exponential(),                    of one number `x: T`, for a loop that vectorises
///     pullback(g): g * y,                        the cotangent of `x`, from that of `y`; left out where it is zero
/// },
/// ```
///
/// `far if test => value` is another value for numbers of which the vectorised one does not hold: where there
/// is such a number among those at hand, each is tested. A function with a parameter says its type and an
/// example, `Polygamma[order: u8 = 2]`, and has a method written by hand; `as name` stands for a method
/// written by hand, too.
macro_rules! family {
    ($(
        $(#[$documentation:meta])*
        $variant:ident $([$parameter:ident: $type:ty = $example:expr])?
        $(, $visibility:vis fn $method:ident)? $(as $name:ident)? ($x:ident) -> $y:ident {
            value: $value:expr,
            $(far if $test:expr => $far:expr,)?
            $(pullback($cotangent:ident): $pullback:expr,)?
        },
    )*) => {
        /// A function of one argument, element by element.
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Unary {
            $($(#[$documentation])* $variant $(($type))?,)*
        }

        impl Unary {
            /// Every function of this family, for tests that go through all of them; of the polygamma
            /// functions, one.
            pub const ALL: [Unary; [$(stringify!($variant)),*].len()] = [$(Unary::$variant $(($example))?),*];

            /// `out = f(x)`
            pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], x: &[T]) {
                match self {
                    $(Unary::$variant $(($parameter))? => {
                        // A job for each function: all loops in one body take the compiler longer than each by
                        // itself.
                        struct Sweep<'a, T> {
                            out: &'a mut [T],
                            x: &'a [T],
                            $($parameter: $type,)?
                        }

                        impl<T: Scalar> Job for Sweep<'_, T> {
                            type Output = ();
                            #[inline(always)]
                            fn call(self) {
                                let Self { out, x, $($parameter)? } = self;
                                // Not closures: what is called through one may not be compiled for the instruction set
                                // at hand.
                                macro_rules! each {
                                    ($number:ident => $result:expr) => {
                                        for (out, &$number) in out.iter_mut().zip(x) {
                                            *out = $result;
                                        }
                                    };
                                }
                                // Element by element, so that a result does not depend on its neighbours.
                                $(if x.iter().fold(false, |any, $x| any | $test) {
                                    each!($x => if $test { $far } else { $value });
                                    return;
                                })?
                                each!($x => $value);
                            }
                        }

                        dispatch(Sweep { out, x, $($parameter)? });
                    })*
                }
            }

            fn name_of(self) -> &'static str {
                match self {
                    $(Unary::$variant { .. } => concat!($(stringify!($method))? $(stringify!($name))?),)*
                }
            }

            /// The cotangent of the argument; `None` where it is zero everywhere.
            fn rule<'g>(self, x: Var<'g>, y: Var<'g>, cotangent: Var<'g>) -> Option<Var<'g>> {
                match self {
                    $(Unary::$variant $(($parameter))? => {
                        $(let _ = $parameter;)?
                        let ($x, $y) = (x, y);
                        let _ = ($x, $y);
                        optional!($({
                            let $cotangent = cotangent;
                            $pullback
                        })?)
                    })*
                }
            }
        }

        /// Functions of one argument; each fails softly, as [`Graph`](crate::Graph) says.
        impl<'g> Var<'g> {
            $(method! { [$(#[$documentation])*] [$($visibility fn $method)?] $variant $x [$value] [$($test, $far)?] })*
        }
    };
}

super::elementary::unary! { [gamma counting normal bessel] family {} }

impl Primitive for Unary {
    fn name(&self) -> &'static str {
        self.name_of()
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
            Operand::Records(..) => work.out.fill(T::nan()),
            Operand::Shared(x) if work.lanes == 1 => self.sweep(work.out, x),
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
        result: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        self.rule(args[0], result, cotangent).map(Cotangent::Value)
    }
}

impl<'g> Var<'g> {
    /// Any function of one argument.
    #[must_use]
    #[track_caller]
    pub fn map(self, function: Unary) -> Var<'g> {
        self.graph().apply(Op::Unary(function), &[self])
    }
}
