//! Sets that values live in, and the bijections from unconstrained numbers onto them.

mod correlation_cholesky;
mod layout;
mod lower_cholesky;
mod ordered;
mod positive_definite;
mod simplex;

use crate::error::{Error, Result, Source};
use crate::graph::Graph;
use crate::plan::Plan;
use crate::program::Program;
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::var::Var;
use ndarray::ArrayD;
use std::borrow::Cow;
use std::fmt;

/// Where a value may lie, and how unconstrained numbers are mapped there.
///
/// | set | bijection `x = f(u)` | `ln |f′(u)|` |
/// |---|---|---|
/// | `Real` | `u` | 0 |
/// | `Positive`, `NonNegative` | `eᵘ` | `u` |
/// | `UnitInterval` | `1/(1+e⁻ᵘ)` | `−softplus(u) − softplus(−u)` |
/// | `GreaterThan(a)` | `a + eᵘ` | `u` |
/// | `LessThan(b)` | `b − eᵘ` | `u` |
/// | `Interval(a, b)` | `a + (b − a)/(1+e⁻ᵘ)` | `ln(b − a) − softplus(u) − softplus(−u)` |
/// | `Boolean`, `NonNegativeInteger`, `IntegerInterval(a, b)`, `DependentInteger`, `Counts(n)` | none: discrete | |
/// | `Dependent` | none: its bounds are values of the model | |
///
/// Sets of single numbers act on each element of an array. A set of vectors or matrices ([`event_rank`](Self::event_rank) 1 or 2) acts on
/// the last one or two axes, and the unconstrained array may be of another shape
/// ([`unconstrained_shape`](Self::unconstrained_shape)):
///
/// | set | value, unconstrained | bijection | Jacobian |
/// |---|---|---|---|
/// | `Simplex` | `[n]`, `[n − 1]` | `x_k = z_k Π_{j<k} (1 − z_j)`, `z_k = 1/(1 + e^(−u_k + ln(n − 1 − k)))`; the rest to the last | `Π_k x_k (1 − z_k)` |
/// | `Ordered` | `[n]`, `[n]` | `x_0 = u_0`, `x_k = x_{k−1} + e^{u_k}` | `Π_{k>0} e^{u_k}` |
/// | `LowerCholesky` | `[n, n]`, `[n(n+1)/2]` | below the diagonal as it is, row after row; then the logarithms of the diagonal | `Π_i L_ii` |
/// | `CorrelationCholesky` | `[n, n]`, `[n(n−1)/2]` | `L_ij = tanh(u_ij) Π_{k<j} sech(u_ik)`, `L_ii = Π_{k<i} sech(u_ik)`, row after row | `Π_{j<i} sech(u_ij)^(i−j+1)` |
/// | `PositiveDefinite` | `[n, n]`, `[n(n+1)/2]` | `L Lᵀ` with `L` as for `LowerCholesky` | `2ⁿ Π_i L_ii^(n−i+1)` |
///
/// These are the conventions of NumPyro (and, but for the order of elements, of Stan), so that unconstrained densities agree. Indices count from 0.
/// Jacobians are taken with respect to the first `n − 1` elements of a simplex, and the free elements of the lower triangle of a matrix.
///
/// Whether a vector sums to 1, a row has length 1 and a matrix is symmetric is told with the tolerance that values computed in `f32` need, which grows
/// with their number: `(n + 4)(2 + ln n) 2⁻²⁴`, twice that (of the squared length), and `2n 2⁻²⁴ √(a_ii a_jj)`.
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
    /// Finite numbers below a bound.
    LessThan(f64),
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
    /// Strictly increasing vectors of finite numbers.
    Ordered,
    /// Lower triangular matrices with a positive diagonal.
    LowerCholesky,
    /// Lower triangular matrices with a positive diagonal whose rows have length 1.
    CorrelationCholesky,
    /// Symmetric positive definite matrices.
    PositiveDefinite,
    /// Vectors of the numbers 0, 1, 2, … that sum to a number.
    Counts(f64),
}

impl Constraint {
    /// One set of each kind, for tests that go through all of them.
    pub const ALL: [Constraint; 18] = [
        Constraint::Real,
        Constraint::Positive,
        Constraint::NonNegative,
        Constraint::UnitInterval,
        Constraint::GreaterThan(-1.5),
        Constraint::LessThan(2.5),
        Constraint::Interval(-3.0, 4.0),
        Constraint::Boolean,
        Constraint::NonNegativeInteger,
        Constraint::IntegerInterval(-2.0, 7.0),
        Constraint::Dependent,
        Constraint::DependentInteger,
        Constraint::Simplex,
        Constraint::Ordered,
        Constraint::LowerCholesky,
        Constraint::CorrelationCholesky,
        Constraint::PositiveDefinite,
        Constraint::Counts(5.0),
    ];

    /// Whether a number may be an element of a value in the set. NaN may not.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        let finite = value.is_finite();
        match self {
            Constraint::Real
            | Constraint::Dependent
            | Constraint::Ordered
            | Constraint::LowerCholesky
            | Constraint::CorrelationCholesky
            | Constraint::PositiveDefinite => finite,
            Constraint::Positive => value > 0.0 && finite,
            Constraint::NonNegative | Constraint::Simplex => value >= 0.0 && finite,
            Constraint::UnitInterval => value > 0.0 && value < 1.0,
            Constraint::GreaterThan(low) => value > low && finite,
            Constraint::LessThan(high) => value < high && finite,
            Constraint::Interval(low, high) => (low..=high).contains(&value) && finite,
            Constraint::Boolean => value == 0.0 || value == 1.0,
            Constraint::NonNegativeInteger => value >= 0.0 && finite && value.fract() == 0.0,
            Constraint::IntegerInterval(low, high) => (low..=high).contains(&value) && value.fract() == 0.0,
            Constraint::DependentInteger => finite && value.fract() == 0.0,
            Constraint::Counts(total) => (0.0..=total).contains(&value) && value.fract() == 0.0,
        }
    }

    /// The first element at fault in an array (row-major) of values that should lie in the set: its place and value. For a set of
    /// vectors or matrices the place is that of the first element of the outcome at fault, or of the element that no outcome may have.
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
            Constraint::Ordered => ordered::holds(outcome),
            Constraint::LowerCholesky => lower_cholesky::holds(outcome, n),
            Constraint::CorrelationCholesky => correlation_cholesky::holds(outcome, n),
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
            Constraint::Simplex | Constraint::Ordered | Constraint::Counts(_) => 1,
            Constraint::LowerCholesky | Constraint::CorrelationCholesky | Constraint::PositiveDefinite => 2,
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
            (Constraint::Simplex, [leading @ .., n]) if *n > 0 => {
                Some(Shape::from(leading).concat(&Shape::from(n - 1)))
            }
            (Constraint::Ordered, [.., n]) if *n > 0 => Some(shape.clone()),
            (_, [leading @ .., n, m]) if n == m && *n > 0 && self.event_rank() == 2 => {
                let diagonal = if self == Constraint::CorrelationCholesky { 0 } else { *n };
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
            (Constraint::Simplex, _) => {
                let last = unconstrained.dims().last().map_or(0, |last| last + 1);
                Ok(Shape::from(leading).concat(&Shape::from(last)))
            }
            (_, Some(n)) if self.event_rank() == 2 => Ok(Shape::from(leading).concat(&Shape::from([n, n]))),
            _ => Ok(unconstrained.clone()),
        }
    }

    /// Rows of the matrix that a vector of so many unconstrained numbers is mapped to; 0 for sets that are not of matrices.
    fn order(self, unconstrained: &Shape) -> Option<usize> {
        let last = unconstrained.dims().last().copied();
        match self {
            Constraint::LowerCholesky | Constraint::PositiveDefinite => {
                last.and_then(layout::order_of_triangle).filter(|&n| n > 0)
            }
            Constraint::CorrelationCholesky => last.and_then(layout::order_below_diagonal),
            Constraint::Ordered => last.filter(|&n| n > 0).map(|_| 0),
            Constraint::Simplex => last.map(|_| 0),
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
            Constraint::LessThan(high) => format!("less than {high} and finite").into(),
            Constraint::Interval(low, high) => format!("between {low} and {high}").into(),
            Constraint::Boolean => "0 or 1".into(),
            Constraint::NonNegativeInteger => "an integer from 0 on".into(),
            Constraint::IntegerInterval(low, high) => format!("an integer from {low} to {high}").into(),
            Constraint::Dependent => "finite, and within bounds that other values set".into(),
            Constraint::DependentInteger => "an integer within bounds that other values set".into(),
            Constraint::Simplex => "a vector of non-negative numbers that sum to 1".into(),
            Constraint::Ordered => "a strictly increasing vector".into(),
            Constraint::LowerCholesky => "a lower triangular matrix with a positive diagonal".into(),
            Constraint::CorrelationCholesky => {
                "a lower triangular matrix with a positive diagonal and rows of length 1".into()
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

    /// The bijection, for each outcome where there are leading axes. On a set without one it is the identity.
    #[must_use]
    #[track_caller]
    pub fn constrain(self, unconstrained: Var<'_>) -> Var<'_> {
        let Some(n) = self.order(&unconstrained.shape()) else {
            return self.misfit(unconstrained);
        };
        match self {
            Constraint::Positive | Constraint::NonNegative => unconstrained.exp(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
            Constraint::GreaterThan(low) => low + unconstrained.exp(),
            Constraint::LessThan(high) => high - unconstrained.exp(),
            Constraint::Interval(low, high) => low + (high - low) * unconstrained.sigmoid(),
            Constraint::Simplex => simplex::constrain(unconstrained),
            Constraint::Ordered => ordered::constrain(unconstrained),
            Constraint::LowerCholesky => lower_cholesky::constrain(unconstrained, n),
            Constraint::CorrelationCholesky => correlation_cholesky::constrain(unconstrained, n),
            Constraint::PositiveDefinite => positive_definite::constrain(unconstrained, n),
            _ => unconstrained,
        }
    }

    /// The inverse of the bijection as an array program; infinite or NaN outside the set.
    ///
    /// ```
    /// use ppl_core::{Constraint, Graph, Plan, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 3)?;
    /// let again = Constraint::Ordered.constrain(Constraint::Ordered.unconstrain_var(x));
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[again])?);
    /// plan.set("x", &[-1.0, 0.5, 4.0])?;
    /// plan.run();
    /// assert!(plan.output(0).iter().zip([-1.0, 0.5, 4.0]).all(|(a, b)| (a - b).abs() < 1e-14));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn unconstrain_var(self, value: Var<'_>) -> Var<'_> {
        if let Err(error) = self.unconstrained_shape(&value.shape()) {
            return value.graph().fail(error);
        }
        match self {
            Constraint::Positive | Constraint::NonNegative => value.log(),
            Constraint::UnitInterval => value.logit(),
            Constraint::GreaterThan(low) => (value - low).log(),
            Constraint::LessThan(high) => (high - value).log(),
            // From the nearer bound, so that no digits are lost.
            Constraint::Interval(low, high) => ((value - low) / (high - value)).log(),
            Constraint::Simplex => simplex::unconstrain(value),
            Constraint::Ordered => ordered::unconstrain(value),
            Constraint::LowerCholesky => lower_cholesky::unconstrain(value),
            Constraint::CorrelationCholesky => correlation_cholesky::unconstrain(value),
            Constraint::PositiveDefinite => positive_definite::unconstrain(value),
            _ => value,
        }
    }

    /// Log of the bijection's Jacobian determinant, summed over all outcomes of the array; `None` where it is 0 everywhere.
    #[must_use]
    #[track_caller]
    pub fn log_jacobian(self, unconstrained: Var<'_>) -> Option<Var<'_>> {
        self.log_jacobians(unconstrained).map(Var::sum)
    }

    /// Log of the bijection's Jacobian determinant for each outcome of the array: of the shape of the unconstrained array, less its last axis if the
    /// set is one of vectors or matrices. `None` where it is 0 everywhere.
    #[must_use]
    #[track_caller]
    pub fn log_jacobians(self, unconstrained: Var<'_>) -> Option<Var<'_>> {
        let of_sigmoid = || -unconstrained.softplus() - (-unconstrained).softplus();
        let Some(n) = self.order(&unconstrained.shape()) else {
            return Some(self.misfit(unconstrained));
        };
        match self {
            Constraint::Positive
            | Constraint::NonNegative
            | Constraint::GreaterThan(_)
            | Constraint::LessThan(_) => Some(unconstrained),
            Constraint::UnitInterval => Some(of_sigmoid()),
            Constraint::Interval(low, high) => Some(of_sigmoid() + (high - low).ln()),
            Constraint::Simplex => Some(simplex::log_jacobian(unconstrained)),
            Constraint::Ordered => Some(ordered::log_jacobian(unconstrained)),
            Constraint::LowerCholesky => Some(lower_cholesky::log_jacobian(unconstrained, n)),
            Constraint::CorrelationCholesky => Some(correlation_cholesky::log_jacobian(unconstrained, n)),
            Constraint::PositiveDefinite => Some(positive_definite::log_jacobian(unconstrained, n)),
            _ => None,
        }
    }

    /// The bijection of one number. On a set of vectors or matrices, or without a bijection, it is the identity: see
    /// [`constrain_array`](Self::constrain_array).
    #[must_use]
    pub fn constrain_number(self, unconstrained: f64) -> f64 {
        match self {
            Constraint::Positive | Constraint::NonNegative => unconstrained.exponential(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
            Constraint::GreaterThan(low) => low + unconstrained.exponential(),
            Constraint::LessThan(high) => high - unconstrained.exponential(),
            Constraint::Interval(low, high) => low + (high - low) * unconstrained.sigmoid(),
            _ => unconstrained,
        }
    }

    /// The inverse of the bijection of one number; NaN outside the set. On a set of vectors or matrices it is the identity: see
    /// [`unconstrain_array`](Self::unconstrain_array).
    #[must_use]
    pub fn unconstrain(self, value: f64) -> f64 {
        let logit = |x: f64| x.ln() - (-x).ln_1p();
        match self {
            _ if !self.contains(value) => f64::NAN,
            Constraint::Positive | Constraint::NonNegative => value.ln(),
            Constraint::UnitInterval => logit(value),
            Constraint::GreaterThan(low) => (value - low).ln(),
            Constraint::LessThan(high) => (high - value).ln(),
            // From the nearer bound, so that no digits are lost.
            Constraint::Interval(low, high) => ((value - low) / (high - value)).ln(),
            _ => value,
        }
    }

    /// The bijection of an array of numbers.
    ///
    /// # Errors
    /// If no unconstrained array of the set has this shape.
    pub fn constrain_array(self, unconstrained: &ArrayD<f64>) -> Result<ArrayD<f64>> {
        map_array(unconstrained, |u| self.constrain(u))
    }

    /// The inverse of the bijection of an array of numbers; infinite on the boundary of a set that has one.
    ///
    /// # Errors
    /// [`Error::Values`] with the first element that does not lie in the set.
    pub fn unconstrain_array(self, value: &ArrayD<f64>) -> Result<ArrayD<f64>> {
        let numbers: Vec<f64> = value.iter().copied().collect();
        if let Some((at, number)) = self.violation(&numbers, &Shape::from(value.shape())) {
            return Err(Error::Values(format!("element {at} must be {self}, got {number}")));
        }
        match self.event_rank() {
            0 => Ok(value.mapv(|x| self.unconstrain(x))),
            _ => map_array(value, |x| self.unconstrain_var(x)),
        }
    }
}

/// Runs a function of one array once.
fn map_array(argument: &ArrayD<f64>, function: impl for<'g> Fn(Var<'g>) -> Var<'g>) -> Result<ArrayD<f64>> {
    let graph = Graph::new();
    let result = function(graph.input("argument", Shape::from(argument.shape()))?);
    graph.check()?;
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &[result])?);
    if let Ok(input) = plan.input("argument") {
        plan.input_mut(input).iter_mut().zip(argument).for_each(|(slot, &number)| *slot = number);
    }
    plan.run();
    let numbers = ArrayD::from_shape_vec(result.shape().dims(), plan.output(0).to_vec());
    numbers.map_err(|error| Error::Values(error.to_string()))
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient;
    use ndarray::array;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bijections_invert_and_their_jacobians_are_derivatives(u in -20.0..20.0_f64) {
            for set in Constraint::ALL.into_iter().filter(|set| set.has_bijection() && set.event_rank() == 0) {
                let graph = Graph::new();
                let input = graph.input("u", ()).unwrap();
                let value = set.constrain(input);
                let slope = gradient(value, &[input]).unwrap()[0].abs();
                let log_jacobian = set.log_jacobian(input).unwrap_or_else(|| graph.constant(0.0));
                let outputs = [value, slope, slope.log(), log_jacobian];
                let mut plan = Plan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
                if let Ok(id) = plan.input("u") { plan.input_mut(id)[0] = u; }
                plan.run();
                let [x, slope, log_slope, log_jacobian] = [0, 1, 2, 3].map(|output| plan.output(output)[0]);

                prop_assert!(set.contains(x), "{set:?} {x}");
                prop_assert!((set.constrain_number(u) - x).abs() <= 4.0 * f64::EPSILON * (1.0 + x.abs()));
                // Beside a bound the inverse is ill-conditioned: du = dx / f′(u), and x is rounded as 1 and the bounds are.
                let condition = 8.0 * (1.0 + x.abs()) / slope.min(1.0);
                prop_assert!((set.unconstrain(x) - u).abs() <= 4.0 * f64::EPSILON * (condition + u.abs()), "{set:?}");
                // The logarithm of the derivative through the sigmoid loses digits as 1 − x does.
                prop_assert!((log_slope - log_jacobian).abs() <= 8.0 * f64::EPSILON * (condition + u.abs()));

                let all = array![u, -u].into_dyn();
                let mapped = set.constrain_array(&all).unwrap();
                prop_assert_eq!(mapped[[0]], x);
                let back = set.unconstrain_array(&mapped).unwrap();
                prop_assert!((back[[0]] - u).abs() <= 4.0 * f64::EPSILON * (condition + u.abs()));
            }
        }
    }
}
