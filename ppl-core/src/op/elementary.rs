//! Arithmetic, comparisons, and elementary functions.

use super::{Binary, Unary, Value, Var};
use crate::machine::Scalar;
use std::fmt;
use std::ops;

/// A number that an operation has for a parameter, in `f64` whatever type the program runs in.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bound(u64);

impl Bound {
    /// The bound at this number.
    #[must_use]
    pub const fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// The number.
    #[must_use]
    #[inline(always)]
    pub const fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

rows! { ($) unary
    /// `−x`
    Neg as neg(x) -> y {
        value: -x,
        pullback(g): -g,
    },
    /// `|x|`; derivative 0 at 0.
    Abs, pub fn abs(x) -> y {
        value: x.abs(),
        pullback(g): g * x.sign(),
    },
    /// −1, 0 or 1; derivative 0.
    Sign, pub fn sign(x) -> y {
        value: elementary::sign(x),
    },
    /// `x²`
    Square, pub fn square(x) -> y {
        value: x * x,
        pullback(g): g * (2.0 * x),
    },
    /// `√x`
    Sqrt, pub fn sqrt(x) -> y {
        value: x.sqrt(),
        pullback(g): g * (0.5 / y),
    },
    /// `1/x`
    Reciprocal, pub fn reciprocal(x) -> y {
        value: x.recip(),
        pullback(g): -(g * y.square()),
    },
    /// `eˣ`
    Exp, pub fn exp(x) -> y {
        value: x.exponential(),
        pullback(g): g * y,
    },
    /// `eˣ − 1`, accurate near 0.
    Expm1, pub fn expm1(x) -> y {
        value: x.exponential_minus_1(),
        pullback(g): g * (y + 1.0),
    },
    /// `ln x`
    Log, pub fn log(x) -> y {
        value: x.logarithm(),
        pullback(g): g / x,
    },
    /// `ln(1 + x)`, accurate near 0.
    Log1p, pub fn log1p(x) -> y {
        value: x.logarithm_of_1_plus(),
        pullback(g): g / (1.0 + x),
    },
    /// `ln(1 + x²)`, also where `x²` overflows.
    Log1pSquare, pub fn log1p_square(x) -> y {
        value: x.logarithm_of_1_plus_square(),
        // 2x/(1 + x²), by a form that neither overflows nor divides 0 by 0.
        pullback(g): g * (2.0 / (x + x.reciprocal())),
    },
    /// `ln(1 + x) − x`, accurate near 0; −∞ at −1, NaN below. Relative error below 1e-15.
    Log1pMinusX, pub fn log1p_minus_x(x) -> y {
        value: T::of(math::log1p_minus_x(x.as_f64())),
        pullback(g): -(g * (x / (1.0 + x))),
    },
    /// Hyperbolic tangent.
    Tanh, pub fn tanh(x) -> y {
        value: x.hyperbolic_tangent(),
        pullback(g): g * (1.0 - y.square()),
    },
    /// `1/(1 + e⁻ˣ)`
    Sigmoid, pub fn sigmoid(x) -> y {
        value: x.sigmoid(),
        pullback(g): g * (y * (1.0 - y)),
    },
    /// `ln(1 + eˣ)`
    Softplus, pub fn softplus(x) -> y {
        value: x.softplus(),
        pullback(g): g * x.sigmoid(),
    },
    /// `ln(x/(1 − x))`, the inverse of [`Var::sigmoid`]; −∞ at 0, ∞ at 1, NaN outside.
    Logit, pub fn logit(x) -> y {
        value: x.logit(),
        pullback(g): g / (x * (1.0 - x)),
    },
    /// `sin x`, of radians.
    Sin, pub fn sin(x) -> y {
        value: x.sine(),
        far if x.abs() > T::of(T::SINE_LIMIT) => x.sin(),
        pullback(g): g * x.cos(),
    },
    /// `cos x`, of radians.
    Cos, pub fn cos(x) -> y {
        value: x.cosine(),
        far if x.abs() > T::of(T::SINE_LIMIT) => x.cos(),
        pullback(g): -(g * x.sin()),
    },
    /// The angle between `−π/2` and `π/2` with tangent `x`, in radians. Relative error below 4e-16.
    Atan, pub fn atan(x) -> y {
        value: T::of(math::atan(x.as_f64())),
        pullback(g): g / (1.0 + x.square()),
    },
    /// The largest integer that is not above the number; derivative 0.
    Floor, pub fn floor(x) -> y {
        value: x.floor(),
    },
    /// 1 where the number is not an integer between two bounds, both included, else 0; 0 for NaN, 1 for ±∞.
    /// Derivative 0.
    OutsideIntegers[ends: (Bound, Bound) = (Bound::new(0.0), Bound::new(3.0))] as outside_integers(x) -> y {
        value: elementary::outside_integers(x, T::of(ends.0.value()), T::of(ends.1.value())),
    },
    /// 1 where the number is neither infinite nor NaN, else 0; derivative 0.
    IsFinite, pub fn is_finite(x) -> y {
        value: elementary::indicator(x.is_finite()),
    },
    /// The number itself, or the nearest positive and finite one: the least normal number and the largest
    /// number of the type that the program runs in. What a computation of a positive number rounds to 0 or ∞
    /// stays inside. Derivative 0 where that happened.
    ClampPositive, pub fn clamp_positive(x) -> y {
        value: elementary::clamp(x, T::min_positive_value(), T::max_value()),
        pullback(g): x.equal(y).select(g, 0.0),
    },
    /// The number itself, or the largest finite one of its sign of the type that the program runs in;
    /// derivative 0 where it was infinite.
    ClampFinite, pub fn clamp_finite(x) -> y {
        value: elementary::clamp(x, -T::max_value(), T::max_value()),
        pullback(g): x.equal(y).select(g, 0.0),
    },
    /// The number itself, or the nearest one strictly between 0 and 1: the least normal number, and the
    /// largest below 1, of the type that the program runs in. Derivative 0 where it lay outside.
    ClampUnit, pub fn clamp_unit(x) -> y {
        value: elementary::clamp(x, T::min_positive_value(), T::one() - T::epsilon() / T::of(2.0)),
        pullback(g): x.equal(y).select(g, 0.0),
    },
    /// The number itself, or the least of the type that the program runs in that is not below a bound: the
    /// bound as it is rounded may be.
    AtLeast[bound: Bound = Bound::new(0.5)] as at_least(x) -> y {
        value: elementary::clamp(x, T::at_least(bound.value()), T::infinity()),
        pullback(g): x.equal(y).select(g, 0.0),
    },
    /// The number itself, or the largest of the type that the program runs in that is not above a bound.
    AtMost[bound: Bound = Bound::new(0.5)] as at_most(x) -> y {
        value: elementary::clamp(x, T::neg_infinity(), T::at_most(bound.value())),
        pullback(g): x.equal(y).select(g, 0.0),
    },
    /// The same number, which derivatives treat as a constant.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let slope = gradient(x.stop_gradient() * x, &[x])?[0]; // x, not 2x
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope])?);
    /// plan.set("x", &[3.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [3.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    StopGradient, pub fn stop_gradient(x) -> y {
        value: x,
    },
}

rows! { ($) binary
    /// `a + b`
    Add as add(a, b) -> y {
        value: a + b,
        pullback(g): [g, g],
    },
    /// `a − b`
    Sub as sub(a, b) -> y {
        value: a - b,
        pullback(g): [g, -g],
    },
    /// `a · b`
    Mul as mul(a, b) -> y {
        value: a * b,
        pullback(g): [elementary::factor(g, y, b, a), elementary::factor(g, y, a, b)],
    },
    /// `a / b`
    Div as div(a, b) -> y {
        value: a / b,
        pullback(g): [g / b, -(g * (y / b))],
    },
    /// `aᵇ`, for `a > 0` where the derivative is taken, or `a = 0` and `b > 0`.
    Pow as pow(a, b) -> y {
        value: a.power(b),
        pullback(g): [g * (b * a.zip(b - 1.0, Binary::Pow)), g * elementary::slope_by_exponent(a, b, y)],
    },
    /// The number `x`, with derivatives as if it were `slopes`.
    WithSlopesOf as with_slopes_of(x, slopes) -> y {
        value: { let _ = slopes; x },
        pullback(g): [g * 0.0, g],
    },
    /// The larger of two, element by element; at equality the derivative goes to the first.
    Max, pub fn max(a, b) -> y {
        value: if a >= b || a.is_nan() { a } else { b },
        pullback(g): [a.greater_equal(b).select(g, 0.0), a.greater_equal(b).select(0.0, g)],
    },
    /// The smaller of two, element by element; at equality the derivative goes to the first.
    Min, pub fn min(a, b) -> y {
        value: if a <= b || a.is_nan() { a } else { b },
        pullback(g): [b.greater_equal(a).select(g, 0.0), b.greater_equal(a).select(0.0, g)],
    },
    /// 1 where the first number is greater than the second, else 0; derivative 0.
    Greater, pub fn greater(a, b) -> y {
        value: indicator(a > b),
    },
    /// 1 where the first number is at least the second, else 0; derivative 0.
    GreaterEqual, pub fn greater_equal(a, b) -> y {
        value: indicator(a >= b),
    },
    /// 1 where both numbers are equal, else 0; derivative 0.
    Equal, pub fn equal(a, b) -> y {
        value: indicator(a == b),
    },
    /// 1 where the first number is less than the second, else 0; derivative 0.
    Less, pub fn less(a, b) -> y {
        value: indicator(a < b),
    },
    /// 1 where the first number is at most the second, else 0; derivative 0.
    LessEqual, pub fn less_equal(a, b) -> y {
        value: indicator(a <= b),
    },
    /// 1 where the numbers differ, else 0; derivative 0. NaN differs from everything, itself included.
    NotEqual, pub fn not_equal(a, b) -> y {
        value: indicator(a != b),
    },
}

#[inline(always)]
pub(super) fn sign<T: Scalar>(x: T) -> T {
    if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        x * T::zero() // 0, and NaN for NaN
    }
}

/// `x` between two numbers, at most at them; NaN where it is.
#[inline(always)]
pub(super) fn clamp<T: Scalar>(x: T, low: T, high: T) -> T {
    let above = if x < low { low } else { x };
    if above > high { high } else { above }
}

/// Whether a number is not an integer from `low` to `high`; of NaN it is not found.
#[inline(always)]
pub(super) fn outside_integers<T: Scalar>(x: T, low: T, high: T) -> T {
    indicator((x < low) | (x > high) | (x.floor() < x) | (x.abs() == T::infinity()))
}

#[inline(always)]
pub(super) fn indicator<T: Scalar>(holds: bool) -> T {
    if holds { T::one() } else { T::zero() }
}

/// `cotangent · other`, the cotangent of `target` in the product of the two. Where one number was used for
/// all elements, it is their inner product, without the array of products in between.
pub(super) fn product<'g>(cotangent: Var<'g>, other: Var<'g>, target: Var<'g>) -> Var<'g> {
    if target.shape() == cotangent.shape() { cotangent * other } else { cotangent.inner(other) }
}

/// The cotangent of `target` in `product = target · other`.
pub(super) fn factor<'g>(
    cotangent: Var<'g>,
    product_of_both: Var<'g>,
    other: Var<'g>,
    target: Var<'g>,
) -> Var<'g> {
    let by_deviance = super::counting::factor_of_expectation(cotangent, product_of_both, other, target);
    by_deviance.unwrap_or_else(|| product(cotangent, other, target))
}

/// `∂aᵇ/∂b = aᵇ ln a`; 0 at `a = 0` for `b > 0`, where the power is 0 whatever the exponent.
pub(super) fn slope_by_exponent<'g>(a: Var<'g>, b: Var<'g>, power: Var<'g>) -> Var<'g> {
    let nothing = a.equal(0.0) * b.greater(0.0);
    nothing.select(0.0, power * nothing.select(1.0, a).log())
}

impl<'g> Var<'g> {
    /// `ln(1/(1 + e⁻ˣ))`, without overflow.
    #[must_use]
    #[track_caller]
    pub fn log_sigmoid(self) -> Var<'g> {
        -(-self).softplus()
    }

    /// The number, or where it is smaller the least number that is at least `bound`, in the type that the
    /// program runs in: unlike `max`, which compares with the bound as that type rounds it, it never gives
    /// less. Derivative 0 where it was smaller.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?.at_least(0.7);
    /// let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &[x])?);
    /// plan.set("x", &[0.5])?;
    /// plan.run();
    /// assert!(f64::from(0.7_f32) < 0.7 && f64::from(plan.output(0)[0]) >= 0.7);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn at_least(self, bound: f64) -> Var<'g> {
        self.map(Unary::AtLeast(Bound::new(bound)))
    }

    /// 1 where the number is not an integer from `low` to `high`, else 0; derivative 0. NaN is not found to be outside.
    ///
    /// ```
    /// # use ppl_core::op::compute;
    /// let outside = |x: f64| compute(|graph| Some(graph.constant(x).outside_integers(0.0, 5.0)));
    /// assert_eq!([-1.0, 0.0, 2.5, 5.0, 6.0].map(outside), [1.0, 0.0, 1.0, 0.0, 1.0].map(Some));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn outside_integers(self, low: f64, high: f64) -> Var<'g> {
        match self.at_once() {
            Some(number) => self.with_number(outside_integers(number, low, high)),
            None => self.map(Unary::OutsideIntegers((Bound::new(low), Bound::new(high)))),
        }
    }

    /// The number, or where it is larger the largest number that is at most `bound`, in the type that the
    /// program runs in; see [`Var::at_least`].
    #[must_use]
    #[track_caller]
    pub fn at_most(self, bound: f64) -> Var<'g> {
        self.map(Unary::AtMost(Bound::new(bound)))
    }

    /// The smallest integer that is not below the number.
    #[must_use]
    #[track_caller]
    pub fn ceil(self) -> Var<'g> {
        -(-self).floor()
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
}

impl<'g> ops::Neg for Var<'g> {
    type Output = Var<'g>;
    #[track_caller]
    #[inline]
    fn neg(self) -> Var<'g> {
        match self.at_once() {
            Some(number) => self.with_number(-number),
            None => self.map(Unary::Neg),
        }
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:expr;)*) => {$(
        impl<'g> ops::$trait for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            #[inline]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                match (self.at_once(), other.at_once()) {
                    (Some(a), Some(b)) => self.with_number(ops::$trait::$method(a, b)),
                    _ => self.binary(other, $op),
                }
            }
        }
        impl<'g> ops::$trait<f64> for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            #[inline]
            fn $method(self, other: f64) -> Var<'g> {
                match self.at_once() {
                    Some(a) => self.with_number(ops::$trait::$method(a, other)),
                    None => self.binary(self.constant(other), $op),
                }
            }
        }
        impl<'g> ops::$trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            #[track_caller]
            #[inline]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                match other.at_once() {
                    Some(b) => other.with_number(ops::$trait::$method(self, b)),
                    None => other.constant(self).binary(other, $op),
                }
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
