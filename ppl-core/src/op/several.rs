//! What families of functions of two and three arguments share that are computed in `f64`, number by number.

use super::{Graph, Op, Var};
use crate::base::{Error, Shape, Source};

/// Makes the enum of a family, its names, values and derivatives, and the methods of [`Var`], of rows. A row
/// is
///
/// ```text
/// /// `P(a, x)`                                          its documentation, of the variant and of the method
/// GammaP, pub fn gamma_p([a], x) -> y {                  variant, method, arguments: the one in brackets is the method's `self`
///     value: math::gamma_p(a, x),                        of numbers `a, x: f64`
///     slopes: [-(slope * density), density / x],         ∂y/∂a and ∂y/∂x, or `zero()`
/// },
/// ```
///
/// A slope that is not known is `Family::Variant.unavailable(y, "its first argument")`.
macro_rules! several {
    (
        $(#[$about:meta])*
        enum $family:ident
        $(
            $(#[$documentation:meta])*
            $variant:ident, $visibility:vis fn $method:ident
            ($($before:ident,)* [$this:ident] $(, $after:ident)*) -> $y:ident {
                value: $value:expr,
                slopes: [$($slope:expr),* $(,)?],
            },
        )*
    ) => {
        $(#[$about])*
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $family {
            $($(#[$documentation])* $variant,)*
        }

        impl $family {
            /// Every function of this family, for tests that go through all of them.
            pub const ALL: [$family; [$(stringify!($variant)),*].len()] = [$($family::$variant),*];

            /// Number of arguments: 2 or 3.
            #[must_use]
            pub fn arity(self) -> usize {
                match self {
                    $($family::$variant => [$(stringify!($before),)* stringify!($this) $(, stringify!($after))*].len(),)*
                }
            }

            /// The function of its first two or three arguments.
            fn value(self, arguments: [f64; 3]) -> f64 {
                match self {
                    $($family::$variant => {
                        let [$($before,)* $this, $($after,)* ..] = arguments;
                        $value
                    })*
                }
            }

            fn name_of(self) -> &'static str {
                match self {
                    $($family::$variant => stringify!($method),)*
                }
            }

            /// The derivative of `y` in the argument `which`; `None` where it is zero everywhere.
            fn slope<'g>(self, arguments: &[Var<'g>], y: Var<'g>, which: usize) -> Option<Var<'g>> {
                match self {
                    $($family::$variant => {
                        let &[$($before,)* $this $(, $after)*] = arguments else { return None };
                        let $y = y;
                        let _ = ($($before,)* $this, $($after,)* $y);
                        const ARITY: usize = [$(stringify!($before),)* stringify!($this) $(, stringify!($after))*].len();
                        let slopes: [&dyn Fn() -> Option<Var<'g>>; ARITY] = [$(&|| $slope.into()),*];
                        slopes[which]()
                    })*
                }
            }
        }

        impl<'g> Var<'g> {
            $(
                $(#[$documentation])*
                #[must_use]
                #[track_caller]
                $visibility fn $method(self $(, $before: impl Into<Value<'g>>)* $(, $after: impl Into<Value<'g>>)*) -> Var<'g> {
                    let $this = self;
                    $(let $before = $before.into().on(self.graph());)*
                    $(let $after = $after.into().on(self.graph());)*
                    #[allow(non_snake_case, reason = "the rows' names")]
                    fn value($($before: f64,)* $this: f64 $(, $after: f64)*) -> f64 {
                        $family::held($value)
                    }
                    if let ($(Some($before),)* Some($this), $(Some($after),)*) =
                        ($($before.at_once(),)* $this.at_once(), $($after.at_once(),)*)
                    {
                        return self.with_number(value($($before,)* $this $(, $after)*));
                    }
                    stretched(self.graph(), Op::$family($family::$variant), &[$($before,)* $this $(, $after)*])
                }
            )*
        }
    };
}

/// Records an operation on arguments at the shape they have together; single numbers are left as they are.
#[track_caller]
pub(super) fn stretched<'g>(graph: &'g Graph, op: Op, args: &[Var<'g>]) -> Var<'g> {
    let operation = op.name();
    let mut shape = Shape::scalar();
    for arg in args {
        if let Err(error) = arg.require_on(graph, operation) {
            return graph.fail(error);
        }
        let right = arg.shape();
        shape = match shape.broadcast(&right) {
            Some(together) => together,
            None => {
                let source_line = Source::caller();
                return graph.fail(Error::ShapeMismatch { operation, left: shape, right, source_line });
            }
        };
    }
    let mut args = args.to_vec();
    for arg in args.iter_mut().filter(|arg| !arg.shape().is_scalar()) {
        *arg = arg.broadcast_to(shape.clone());
    }
    graph.apply(op, &args)
}

/// The slope of a function that does not depend on an argument, or only in steps.
pub(super) fn zero<'g>() -> Option<Var<'g>> {
    None
}
