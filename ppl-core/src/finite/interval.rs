//! Real numbers that are known to lie between two others.

use crate::math;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An interval `[lower, upper]` that contains a real number, with arithmetic that is rounded outward.
///
/// Sums, differences, products, quotients and square roots are correctly rounded by IEEE 754, so one step
/// outward encloses the result. Logarithms and exponentials are this crate's own, the same bits on every
/// machine; their error is below 1.1 units in the last place on all 250,000 golden values, and they are
/// widened by four. That is measured, not proven.
///
/// Ends may be infinite: an unbounded quantity is `[∞, ∞]`.
///
/// ```
/// use ppl_core::finite::Interval;
/// let third = Interval::exact(1.0) / Interval::exact(3.0);
/// assert!(third.lower() < third.upper() && third.width() < 2e-16);
/// assert!((third.ln() + Interval::exact(3.0).ln()).contains(0.0));
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Interval {
    lower: f64,
    upper: f64,
}

impl Interval {
    /// Zero.
    pub const ZERO: Self = Self { lower: 0.0, upper: 0.0 };
    /// One.
    pub const ONE: Self = Self { lower: 1.0, upper: 1.0 };
    /// Infinity.
    pub const INFINITE: Self = Self { lower: f64::INFINITY, upper: f64::INFINITY };

    /// The number itself. NaN, of which nothing is known, becomes the whole line.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self::between(value, value)
    }

    /// The numbers from `lower` to `upper`; a NaN end is taken to be infinite, and ends in the wrong order
    /// are exchanged, so that the interval is never too small.
    #[must_use]
    pub fn between(lower: f64, upper: f64) -> Self {
        let lower = if lower.is_nan() { f64::NEG_INFINITY } else { lower };
        let upper = if upper.is_nan() { f64::INFINITY } else { upper };
        if lower <= upper { Self { lower, upper } } else { Self { lower: upper, upper: lower } }
    }

    /// The result of one correctly rounded operation at each end.
    fn rounded(lower: f64, upper: f64) -> Self {
        Self::between(lower, upper).widened(1)
    }

    /// Both ends moved outward by this many units in the last place; zeros and infinities by none.
    fn widened(self, ulps: u32) -> Self {
        let (mut lower, mut upper) = (self.lower, self.upper);
        for _ in 0..ulps {
            lower = if lower == f64::INFINITY { lower } else { lower.next_down() };
            upper = if upper == f64::NEG_INFINITY { upper } else { upper.next_up() };
        }
        Self { lower, upper }
    }

    /// A number that was computed with an error of at most `units` times 2⁻⁵² relative to it, or absolutely
    /// where it is below one in magnitude.
    pub(super) fn computed(value: f64, units: f64) -> Self {
        let error = units * f64::EPSILON * value.abs().max(1.0);
        Self::rounded(value - error, value + error)
    }

    /// The product of two numbers: a point where it is a double.
    pub(super) fn product(a: f64, b: f64) -> Self {
        let product = a * b;
        // The part that rounding lost; below the normal numbers it may be lost itself.
        let exact = a == 0.0 || b == 0.0 || (a.mul_add(b, -product) == 0.0 && product.abs() > 1e-290);
        if exact && product.is_finite() { Self::exact(product) } else { Self::rounded(product, product) }
    }

    /// A number that was computed with an error of at most `units` times 2⁻⁵² relative to it.
    pub(super) fn relative(value: f64, units: f64) -> Self {
        let error = units * f64::EPSILON * value.abs();
        Self::rounded(value - error, value + error)
    }

    /// All that lies between some correctly rounded numbers, which are known not to be negative or may be.
    fn hull(ends: [f64; 4], not_negative: bool) -> Self {
        let lower = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let upper = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let hull = Self::rounded(lower, upper);
        if not_negative { hull.positive() } else { hull }
    }

    /// The lower end.
    #[must_use]
    pub fn lower(self) -> f64 {
        self.lower
    }

    /// The upper end.
    #[must_use]
    pub fn upper(self) -> f64 {
        self.upper
    }

    /// The middle, as an estimate that guarantees nothing.
    #[must_use]
    pub fn estimate(self) -> f64 {
        if self.lower == self.upper { self.lower } else { 0.5 * self.lower + 0.5 * self.upper }
    }

    /// How far apart the ends are; 0 for a point, infinite points among them.
    #[must_use]
    pub fn width(self) -> f64 {
        if self.lower == self.upper { 0.0 } else { self.upper - self.lower }
    }

    /// Whether a number lies in it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// The larger of two numbers.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// The smaller of two numbers.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { lower: self.lower.min(other.lower), upper: self.upper.min(other.upper) }
    }

    /// The number, or zero where it is negative.
    #[must_use]
    pub fn positive(self) -> Self {
        self.max(Self::ZERO)
    }

    /// Natural logarithm; −∞ at zero and below.
    #[must_use]
    pub fn ln(self) -> Self {
        let one = |x: f64| if x <= 0.0 { f64::NEG_INFINITY } else { math::ln(x) };
        // The logarithm of 1 is exact.
        let lower = if self.lower == 1.0 { 0.0 } else { down(one(self.lower)) };
        let upper = if self.upper == 1.0 { 0.0 } else { up(one(self.upper)) };
        Self { lower, upper }
    }

    /// Exponential.
    #[must_use]
    pub fn exp(self) -> Self {
        let lower = if self.lower == 0.0 { 1.0 } else { overflowed(self.lower, exp(self.lower)).max(0.0) };
        let upper = if self.upper == 0.0 { 1.0 } else { up(exp(self.upper)) };
        Self { lower, upper: if self.upper == f64::NEG_INFINITY { 0.0 } else { upper } }
    }

    /// `eˣ − 1`, accurate near 0.
    #[must_use]
    pub fn exp_minus_one(self) -> Self {
        let lower = if self.lower == 0.0 { 0.0 } else { overflowed(self.lower, expm1(self.lower)).max(-1.0) };
        let upper = if self.upper == 0.0 { 0.0 } else { up(expm1(self.upper)) };
        Self { lower, upper }
    }

    /// `ln(1 + x)`, accurate near 0; −∞ at −1 and below.
    #[must_use]
    pub fn ln_one_plus(self) -> Self {
        let one = |x: f64| if x <= -1.0 { f64::NEG_INFINITY } else { math::ln1p(x) };
        let lower = if self.lower == 0.0 { 0.0 } else { down(one(self.lower)) };
        let upper = if self.upper == 0.0 { 0.0 } else { up(one(self.upper)) };
        Self { lower, upper }
    }

    /// Square root; of what is negative, that of zero.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let root = |x: f64| x.max(0.0).sqrt();
        let lower = root(self.lower).next_down().max(0.0);
        let upper = root(self.upper);
        Self { lower, upper: if upper == 0.0 || upper.is_infinite() { upper } else { upper.next_up() } }
    }

    /// The square.
    #[must_use]
    pub fn square(self) -> Self {
        let product = self * self;
        Self { lower: product.lower.max(0.0), upper: product.upper }
    }
}

/// eˣ with its limits.
fn exp(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { 0.0 } else { math::exp(x) }
}

/// eˣ − 1 with its limits.
fn expm1(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { -1.0 } else { math::expm1(x) }
}

/// The lower end of what a number gives: of one that is finite, the largest number where the result is larger still.
fn overflowed(from: f64, result: f64) -> f64 {
    if result == f64::INFINITY && from < f64::INFINITY { f64::MAX } else { down(result) }
}

/// Four units in the last place below.
fn down(x: f64) -> f64 {
    if x.is_infinite() { x } else { Interval { lower: x, upper: x }.widened(4).lower }
}

/// Four units in the last place above.
fn up(x: f64) -> f64 {
    if x.is_infinite() { x } else { Interval { lower: x, upper: x }.widened(4).upper }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // A sum with zero is exact.
        if other == Self::ZERO {
            return self;
        }
        if self == Self::ZERO {
            return other;
        }
        let sum = Self { lower: self.lower + other.lower, upper: self.upper + other.upper };
        if self.lower == self.upper && other.lower == other.upper && is_exact_sum(self.lower, other.lower) {
            return sum;
        }
        Self::rounded(sum.lower, sum.upper)
    }
}

/// Whether the sum of two numbers is a double: the part that rounding lost (Knuth's two-sum) is zero.
fn is_exact_sum(a: f64, b: f64) -> bool {
    let sum = a + b;
    let virtual_b = sum - a;
    (a - (sum - virtual_b)) + (b - virtual_b) == 0.0
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { lower: -self.upper, upper: -self.lower }
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + (-other)
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if self == Self::ONE {
            return other;
        }
        if other == Self::ONE {
            return self;
        }
        if self == Self::ZERO || other == Self::ZERO {
            return Self::ZERO;
        }
        // 0 · ∞ at an end is the limit of products of a number at 0: 0.
        let at = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let ends = [
            at(self.lower, other.lower),
            at(self.lower, other.upper),
            at(self.upper, other.lower),
            at(self.upper, other.upper),
        ];
        Self::hull(ends, self.lower >= 0.0 && other.lower >= 0.0)
    }
}

impl Div for Interval {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        if other == Self::ONE {
            return self;
        }
        if other.lower <= 0.0 && other.upper >= 0.0 {
            // A quotient of something positive by what may be as small as zero has no upper bound.
            if self.lower >= 0.0 && other.lower >= 0.0 {
                let lower = if other.upper == 0.0 { f64::INFINITY } else { self.lower / other.upper };
                return Self { lower: lower.next_down().max(0.0), upper: f64::INFINITY };
            }
            return Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        let ends = [
            self.lower / other.lower,
            self.lower / other.upper,
            self.upper / other.lower,
            self.upper / other.upper,
        ];
        if ends.iter().any(|end| end.is_nan()) {
            return Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        Self::hull(ends, self.lower >= 0.0 && other.lower > 0.0)
    }
}

impl std::iter::Sum for Interval {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, |sum, term| sum + term)
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lower, self.upper)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
