//! Sets that values live in, and the bijections from unconstrained numbers onto them.

mod bijection;
mod correlation;
mod correlation_cholesky;
mod layout;
mod lower_cholesky;
mod ordered;
mod outside;
mod positive_definite;
mod positive_ordered;
mod simplex;
mod zero_sum;

use crate::base::{Error, Result, Shape, Source};
use crate::op::Var;
use std::borrow::Cow;
use std::fmt;

/// Where a value may lie, and how unconstrained numbers are mapped there.
///
/// | set | bijection `x = f(u)` | `ln |f′(u)|` |
/// |---|---|---|
/// | `Real` | `u` | 0 |
/// | `Positive`, `NonNegative` | `eᵘ` | `u` |
/// | `UnitInterval` | `1/(1+e⁻ᵘ)` | `−softplus(u) − softplus(−u)` |
/// | `GreaterThan(a)`, `AtLeast(a)` | `a + eᵘ` | `u` |
/// | `LessThan(b)`, `AtMost(b)` | `b − eᵘ` | `u` |
/// | `Interval(a, b)` | `a + (b − a)/(1+e⁻ᵘ)` | `ln(b − a) − softplus(u) − softplus(−u)` |
/// | `Boolean`, `NonNegativeInteger`, `IntegerInterval(a, b)`, `DependentInteger`, `Counts(n)` | none: discrete | |
/// | `Dependent` | none: its bounds are values of the model | |
///
/// Sets of single numbers act on each element of an array. A set of vectors or matrices
/// ([`event_rank`](Self::event_rank) 1 or 2) acts on the last one or two axes, and the unconstrained array
/// may be of another shape ([`unconstrained_shape`](Self::unconstrained_shape)):
///
/// | set | value, unconstrained | bijection | Jacobian |
/// |---|---|---|---|
/// | `Simplex` | `[n]`, `[n − 1]` | `x_k = z_k Π_{j<k} (1 − z_j)`, `z_k = 1/(1 + e^(−u_k + ln(n − 1 − k)))`; the rest to the last | `Π_k x_k (1 − z_k)` |
/// | `ZeroSum` | `[n]`, `[n − 1]` | `x_k = u_k − s/(n + √n)`, the last `−s/√n`, with `s = Σ u_k`: lengths are kept | 1 |
/// | `Ordered` | `[n]`, `[n]` | `x_0 = u_0`, `x_k = x_{k−1} + e^{u_k}` | `Π_{k>0} e^{u_k}` |
/// | `PositiveOrdered` | `[n]`, `[n]` | `x_0 = e^{u_0}`, `x_k = x_{k−1} + e^{u_k}` | `Π_k e^{u_k}` |
/// | `LowerCholesky` | `[n, n]`, `[n(n+1)/2]` | below the diagonal as it is, row after row; then the logarithms of the diagonal | `Π_i L_ii` |
/// | `CorrelationCholesky` | `[n, n]`, `[n(n−1)/2]` | `L_ij = tanh(u_ij) Π_{k<j} sech(u_ik)`, `L_ii = Π_{k<i} sech(u_ik)`, row after row | `Π_{j<i} sech(u_ij)^(i−j+1)` |
/// | `Correlation` | `[n, n]`, `[n(n−1)/2]` | `L Lᵀ` with `L` as for `CorrelationCholesky` | `Π_{j<i} sech(u_ij)^(n−j)` |
/// | `PositiveDefinite` | `[n, n]`, `[n(n+1)/2]` | `L Lᵀ` with `L` as for `LowerCholesky` | `2ⁿ Π_i L_ii^(n−i+1)` |
///
/// These are the conventions of NumPyro (and, but for the order of elements, of Stan), so that unconstrained
/// densities agree; that of `PositiveOrdered` is Stan's, where NumPyro takes the exponential of an ordered vector.
/// Indices count from 0. Jacobians are taken with respect to the first `n − 1` elements of a simplex, to volumes in
/// the plane of vectors that sum to 0, and to the free elements of the lower triangle of a matrix.
///
/// Whether a vector sums to 1 or 0, a row has length 1 and a matrix is symmetric is decided with the tolerance
/// that values computed in `f32` need, which grows with their number: `(n + 4)(2 + ln n) 2⁻²⁴`, twice that
/// (of the squared length and of the diagonal of a correlation matrix), the first times `Σ|x_k|` (of a sum of 0), and
/// `2n 2⁻²⁴ √(a_ii a_jj)`.
///
/// ```
/// use ppl_core::Constraint;
/// let set = Constraint::GreaterThan(1.0);
/// assert!(set.contains(2.0) && !set.contains(-1.0) && !set.contains(f64::NAN));
/// let u = set.unconstrain(3.0);
/// assert!((set.constrain_number(u) - 3.0).abs() < 1e-15);
///
/// let thirds = Constraint::Simplex.constrain_array(&ndarray::arr1(&[0.0, 0.0]).into_dyn())?;
/// assert!(thirds.iter().all(|x| (x - 1.0 / 3.0).abs() < 1e-15));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// Every finite number.
    Real,
    /// Finite numbers above 0.
    Positive,
    /// Finite numbers from 0 on.
    NonNegative,
    /// Numbers strictly between 0 and 1.
    UnitInterval,
    /// Finite numbers above a bound.
    GreaterThan(f64),
    /// Finite numbers from a bound on.
    AtLeast(f64),
    /// Finite numbers below a bound.
    LessThan(f64),
    /// Finite numbers up to a bound.
    AtMost(f64),
    /// Numbers from one bound to another, both included.
    Interval(f64, f64),
    /// 0 or 1.
    Boolean,
    /// 0, 1, 2, …
    NonNegativeInteger,
    /// Integers from one bound to another, both included.
    IntegerInterval(f64, f64),
    /// Finite numbers between bounds that are values of the model, so that they are not known while tracing.
    Dependent,
    /// Integers between bounds that are values of the model, so that they are not known while tracing.
    DependentInteger,
    /// Vectors of non-negative numbers that sum to 1.
    Simplex,
    /// Vectors of finite numbers that sum to 0.
    ZeroSum,
    /// Strictly increasing vectors of finite numbers.
    Ordered,
    /// Strictly increasing vectors of positive, finite numbers.
    PositiveOrdered,
    /// Lower triangular matrices with a positive diagonal.
    LowerCholesky,
    /// Lower triangular matrices with a positive diagonal whose rows have length 1.
    CorrelationCholesky,
    /// Symmetric positive definite matrices with ones on the diagonal.
    Correlation,
    /// Symmetric positive definite matrices.
    PositiveDefinite,
    /// Vectors of the numbers 0, 1, 2, … that sum to a number.
    Counts(f64),
}

impl Constraint {
    /// One set of each kind, for tests that go through all of them.
    pub const ALL: [Constraint; 23] = [
        Constraint::Real,
        Constraint::Positive,
        Constraint::NonNegative,
        Constraint::UnitInterval,
        Constraint::GreaterThan(-1.5),
        Constraint::AtLeast(-1.5),
        Constraint::LessThan(2.5),
        Constraint::AtMost(2.5),
        Constraint::Interval(-3.0, 4.0),
        Constraint::Boolean,
        Constraint::NonNegativeInteger,
        Constraint::IntegerInterval(-2.0, 7.0),
        Constraint::Dependent,
        Constraint::DependentInteger,
        Constraint::Simplex,
        Constraint::ZeroSum,
        Constraint::Ordered,
        Constraint::PositiveOrdered,
        Constraint::LowerCholesky,
        Constraint::CorrelationCholesky,
        Constraint::Correlation,
        Constraint::PositiveDefinite,
        Constraint::Counts(5.0),
    ];

    /// The set without its edges, where it has any: that of values which continuous distributions draw, for edges have
    /// probability 0. Sets with the same interior have the same bijection.
    ///
    /// ```
    /// # use ppl_core::Constraint;
    /// assert_eq!(Constraint::NonNegative.interior(), Constraint::Positive);
    /// assert_eq!(Constraint::Interval(0.0, 1.0).interior(), Constraint::UnitInterval);
    /// assert_eq!(Constraint::Real.interior(), Constraint::Real);
    /// ```
    #[must_use]
    pub fn interior(self) -> Self {
        match self {
            Constraint::NonNegative => Constraint::Positive,
            Constraint::AtLeast(bound) | Constraint::GreaterThan(bound) if bound == 0.0 => {
                Constraint::Positive
            }
            Constraint::AtLeast(bound) => Constraint::GreaterThan(bound),
            Constraint::AtMost(bound) => Constraint::LessThan(bound),
            Constraint::Interval(low, high) if low == 0.0 && high == 1.0 => Constraint::UnitInterval,
            other => other,
        }
    }

    /// Whether a number may be an element of a value in the set. NaN may not.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        let finite = value.is_finite();
        match self {
            Constraint::Real
            | Constraint::Dependent
            | Constraint::ZeroSum
            | Constraint::Ordered
            | Constraint::LowerCholesky
            | Constraint::CorrelationCholesky
            | Constraint::Correlation
            | Constraint::PositiveDefinite => finite,
            Constraint::Positive | Constraint::PositiveOrdered => value > 0.0 && finite,
            Constraint::NonNegative | Constraint::Simplex => value >= 0.0 && finite,
            Constraint::UnitInterval => value > 0.0 && value < 1.0,
            Constraint::GreaterThan(low) => value > low && finite,
            Constraint::AtLeast(low) => value >= low && finite,
            Constraint::LessThan(high) => value < high && finite,
            Constraint::AtMost(high) => value <= high && finite,
            Constraint::Interval(low, high) => (low..=high).contains(&value) && finite,
            Constraint::Boolean => value == 0.0 || value == 1.0,
            Constraint::NonNegativeInteger => value >= 0.0 && finite && value.fract() == 0.0,
            Constraint::IntegerInterval(low, high) => (low..=high).contains(&value) && value.fract() == 0.0,
            Constraint::DependentInteger => finite && value.fract() == 0.0,
            Constraint::Counts(total) => (0.0..=total).contains(&value) && value.fract() == 0.0,
        }
    }

    /// The first element at fault in an array (row-major) of values that should lie in the set: its place and
    /// value. For a set of vectors or matrices the place is that of the first element of the outcome at
    /// fault, or of the element that no outcome may have.
    #[must_use]
    pub fn violation(self, values: &[f64], shape: &Shape) -> Option<(usize, f64)> {
        let at = |place: usize| (place, values.get(place).copied().unwrap_or(f64::NAN));
        if let Some(place) = values.iter().position(|&value| !self.contains(value)) {
            return Some(at(place));
        }
        let rank = self.event_rank();
        if rank == 0 {
            return None;
        }
        let Some(dims) = shape.rank().checked_sub(rank).map(|leading| &shape.dims()[leading..]) else {
            return Some(at(0));
        };
        let n = dims[0];
        if n == 0 || dims.iter().any(|&dim| dim != n) {
            return Some(at(0));
        }
        let holds = |outcome: &[f64]| match self {
            Constraint::Simplex => simplex::holds(outcome),
            Constraint::ZeroSum => zero_sum::holds(outcome),
            Constraint::Ordered => ordered::holds(outcome),
            Constraint::PositiveOrdered => positive_ordered::holds(outcome),
            Constraint::LowerCholesky => lower_cholesky::holds(outcome, n),
            Constraint::CorrelationCholesky => correlation_cholesky::holds(outcome, n),
            Constraint::Correlation => correlation::holds(outcome, n),
            Constraint::PositiveDefinite => positive_definite::holds(outcome, n),
            // Sums of integers are exact up to 2⁵³.
            Constraint::Counts(total) => outcome.iter().sum::<f64>() == total,
            _ => true,
        };
        let size: usize = dims.iter().product();
        values.chunks_exact(size).position(|outcome| !holds(outcome)).map(|outcome| at(outcome * size))
    }

    /// Number of last axes that are one outcome: 0 for numbers, 1 for vectors, 2 for matrices.
    #[must_use]
    pub fn event_rank(self) -> usize {
        match self {
            Constraint::Simplex
            | Constraint::ZeroSum
            | Constraint::Ordered
            | Constraint::PositiveOrdered
            | Constraint::Counts(_) => 1,
            Constraint::LowerCholesky
            | Constraint::CorrelationCholesky
            | Constraint::Correlation
            | Constraint::PositiveDefinite => 2,
            _ => 0,
        }
    }

    /// Shape of the unconstrained array that is mapped to a value of this shape.
    ///
    /// # Errors
    /// If no value of the set has such a shape.
    #[track_caller]
    pub fn unconstrained_shape(self, shape: &Shape) -> Result<Shape> {
        let unconstrained = match (self, shape.dims()) {
            (_, _) if self.event_rank() == 0 || self.is_discrete() => Some(shape.clone()),
            (Constraint::Simplex | Constraint::ZeroSum, [leading @ .., n]) if *n > 0 => {
                Some(Shape::from(leading).concat(&Shape::from(n - 1)))
            }
            (Constraint::Ordered | Constraint::PositiveOrdered, [.., n]) if *n > 0 => Some(shape.clone()),
            (_, [leading @ .., n, m]) if n == m && *n > 0 && self.event_rank() == 2 => {
                let diagonal = match self {
                    Constraint::CorrelationCholesky | Constraint::Correlation => 0,
                    _ => *n,
                };
                Some(Shape::from(leading).concat(&Shape::from(n * (n - 1) / 2 + diagonal)))
            }
            _ => None,
        };
        unconstrained.ok_or_else(|| Error::UnexpectedShape {
            operation: "constrain",
            expected: format!("the shape of a value that is {self}, of at least one element"),
            got: shape.clone(),
            source_line: Source::caller(),
        })
    }

    /// Shape of the value that an unconstrained array of this shape is mapped to: the reverse of
    /// [`unconstrained_shape`](Self::unconstrained_shape).
    ///
    /// # Errors
    /// If no unconstrained array of the set has such a shape.
    ///
    /// ```
    /// use ppl_core::{Constraint, Shape};
    /// let of_six = Constraint::CorrelationCholesky.constrained_shape(&Shape::from(6))?;
    /// assert_eq!(of_six, Shape::from([4, 4]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn constrained_shape(self, unconstrained: &Shape) -> Result<Shape> {
        let leading = &unconstrained.dims()[..unconstrained.rank().saturating_sub(1)];
        match (self, self.order(unconstrained)) {
            (_, None) => Err(self.misfit_error(unconstrained)),
            (Constraint::Simplex | Constraint::ZeroSum, _) => {
                let last = unconstrained.dims().last().map_or(0, |last| last + 1);
                Ok(Shape::from(leading).concat(&Shape::from(last)))
            }
            (_, Some(n)) if self.event_rank() == 2 => Ok(Shape::from(leading).concat(&Shape::from([n, n]))),
            _ => Ok(unconstrained.clone()),
        }
    }

    /// Rows of the matrix that a vector of this many unconstrained numbers is mapped to; 0 for sets that are
    /// not of matrices.
    fn order(self, unconstrained: &Shape) -> Option<usize> {
        let last = unconstrained.dims().last().copied();
        match self {
            Constraint::LowerCholesky | Constraint::PositiveDefinite => {
                last.and_then(layout::order_of_triangle).filter(|&n| n > 0)
            }
            Constraint::CorrelationCholesky | Constraint::Correlation => {
                last.and_then(layout::order_below_diagonal)
            }
            Constraint::Ordered | Constraint::PositiveOrdered => last.filter(|&n| n > 0).map(|_| 0),
            Constraint::Simplex | Constraint::ZeroSum => last.map(|_| 0),
            _ => Some(0),
        }
    }

    /// There is no unconstrained array of such a shape.
    #[track_caller]
    fn misfit_error(self, unconstrained: &Shape) -> Error {
        Error::UnexpectedShape {
            operation: "constrain",
            expected: format!("the unconstrained shape of a value that is {self}"),
            got: unconstrained.clone(),
            source_line: Source::caller(),
        }
    }

    #[track_caller]
    fn misfit(self, unconstrained: Var<'_>) -> Var<'_> {
        unconstrained.graph().fail(self.misfit_error(&unconstrained.shape()))
    }

    /// The set in words that go after "must be".
    #[must_use]
    pub fn description(self) -> Cow<'static, str> {
        match self {
            Constraint::Real => "finite".into(),
            Constraint::Positive => "positive and finite".into(),
            Constraint::NonNegative => "not negative, and finite".into(),
            Constraint::UnitInterval => "strictly between 0 and 1".into(),
            Constraint::GreaterThan(low) => format!("greater than {low} and finite").into(),
            Constraint::AtLeast(low) => format!("at least {low} and finite").into(),
            Constraint::LessThan(high) => format!("less than {high} and finite").into(),
            Constraint::AtMost(high) => format!("at most {high} and finite").into(),
            Constraint::Interval(low, high) => format!("between {low} and {high}").into(),
            Constraint::Boolean => "0 or 1".into(),
            Constraint::NonNegativeInteger => "an integer from 0 on".into(),
            Constraint::IntegerInterval(low, high) => format!("an integer from {low} to {high}").into(),
            Constraint::Dependent => "finite, and within bounds that other values set".into(),
            Constraint::DependentInteger => "an integer within bounds that other values set".into(),
            Constraint::Simplex => "a vector of non-negative numbers that sum to 1".into(),
            Constraint::ZeroSum => "a vector of numbers that sum to 0".into(),
            Constraint::Ordered => "a strictly increasing vector".into(),
            Constraint::PositiveOrdered => "a strictly increasing vector of positive numbers".into(),
            Constraint::LowerCholesky => "a lower triangular matrix with a positive diagonal".into(),
            Constraint::CorrelationCholesky => {
                "a lower triangular matrix with a positive diagonal and rows of length 1".into()
            }
            Constraint::Correlation => {
                "a symmetric positive definite matrix with ones on its diagonal".into()
            }
            Constraint::PositiveDefinite => "a symmetric positive definite matrix".into(),
            Constraint::Counts(total) => format!("a vector of integers from 0 on that sum to {total}").into(),
        }
    }

    /// Whether the set is countable, so that it has no bijection with the real line.
    #[must_use]
    pub fn is_discrete(self) -> bool {
        matches!(
            self,
            Constraint::Boolean
                | Constraint::NonNegativeInteger
                | Constraint::IntegerInterval(..)
                | Constraint::DependentInteger
                | Constraint::Counts(_)
        )
    }

    /// Whether there is a bijection from unconstrained numbers, so that a latent value may lie here.
    #[must_use]
    pub fn has_bijection(self) -> bool {
        !self.is_discrete() && self != Constraint::Dependent
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}
