//! Sets that values live in, and the bijections from the whole real line onto them.

use crate::error::{Error, Result};
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
/// | `Boolean`, `NonNegativeInteger`, `IntegerInterval(a, b)`, `DependentInteger` | none: discrete | |
/// | `Dependent` | none: its bounds are values of the model | |
///
/// Sets of single numbers act on each element of an array. A set of vectors or matrices ([`event_rank`](Self::event_rank) 1 or 2) acts on
/// the last one or two axes, and the unconstrained array may be of another shape
/// ([`unconstrained_shape`](Self::unconstrained_shape)).
///
/// ```
/// use ppl_core::Constraint;
/// let set = Constraint::GreaterThan(1.0);
/// assert!(set.contains(2.0) && !set.contains(-1.0) && !set.contains(f64::NAN));
/// let u = set.unconstrain(3.0);
/// assert!((set.constrain_number(u) - 3.0).abs() < 1e-15);
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
}

impl Constraint {
    /// One set of each kind, for tests that go through all of them.
    pub const ALL: [Constraint; 12] = [
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
    ];

    /// Whether a number may be an element of a value in the set. NaN may not.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        let finite = value.is_finite();
        match self {
            Constraint::Real | Constraint::Dependent => finite,
            Constraint::Positive => value > 0.0 && finite,
            Constraint::NonNegative => value >= 0.0 && finite,
            Constraint::UnitInterval => value > 0.0 && value < 1.0,
            Constraint::GreaterThan(low) => value > low && finite,
            Constraint::LessThan(high) => value < high && finite,
            Constraint::Interval(low, high) => (low..=high).contains(&value) && finite,
            Constraint::Boolean => value == 0.0 || value == 1.0,
            Constraint::NonNegativeInteger => value >= 0.0 && finite && value.fract() == 0.0,
            Constraint::IntegerInterval(low, high) => (low..=high).contains(&value) && value.fract() == 0.0,
            Constraint::DependentInteger => finite && value.fract() == 0.0,
        }
    }

    /// The first element at fault in an array (row-major) of values that should lie in the set: its place and value. For a set of
    /// vectors or matrices the place is that of the first element of the outcome at fault, or of the element that no outcome may have.
    #[must_use]
    pub fn violation(self, values: &[f64], _shape: &Shape) -> Option<(usize, f64)> {
        values.iter().copied().enumerate().find(|&(_, value)| !self.contains(value))
    }

    /// Number of last axes that are one outcome: 0 for numbers, 1 for vectors, 2 for matrices.
    #[must_use]
    pub fn event_rank(self) -> usize {
        0
    }

    /// Shape of the unconstrained array that is mapped to a value of this shape.
    ///
    /// # Errors
    /// If no value of the set has such a shape.
    #[track_caller]
    pub fn unconstrained_shape(self, shape: &Shape) -> Result<Shape> {
        Ok(shape.clone())
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
        )
    }

    /// Whether there is a bijection from unconstrained numbers, so that a latent value may lie here.
    #[must_use]
    pub fn has_bijection(self) -> bool {
        !self.is_discrete() && self != Constraint::Dependent
    }

    /// The bijection. On a set without one it is the identity.
    #[must_use]
    #[track_caller]
    pub fn constrain(self, unconstrained: Var<'_>) -> Var<'_> {
        match self {
            Constraint::Positive | Constraint::NonNegative => unconstrained.exp(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
            Constraint::GreaterThan(low) => low + unconstrained.exp(),
            Constraint::LessThan(high) => high - unconstrained.exp(),
            Constraint::Interval(low, high) => low + (high - low) * unconstrained.sigmoid(),
            _ => unconstrained,
        }
    }

    /// Log of the bijection's Jacobian determinant, summed over all outcomes of the array; `None` where it is 0 everywhere.
    #[must_use]
    #[track_caller]
    pub fn log_jacobian(self, unconstrained: Var<'_>) -> Option<Var<'_>> {
        let of_sigmoid = || -unconstrained.softplus() - (-unconstrained).softplus();
        match self {
            Constraint::Positive
            | Constraint::NonNegative
            | Constraint::GreaterThan(_)
            | Constraint::LessThan(_) => Some(unconstrained.sum()),
            Constraint::UnitInterval => Some(of_sigmoid().sum()),
            Constraint::Interval(low, high) => Some((of_sigmoid() + (high - low).ln()).sum()),
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

    /// The inverse of the bijection of one number; NaN outside the set.
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
        let graph = Graph::new();
        let input = graph.input("u", Shape::from(unconstrained.shape()))?;
        let value = self.constrain(input);
        graph.check()?;
        let mut plan = Plan::<f64>::new(&Program::new(&graph, &[value])?);
        if let Ok(input) = plan.input("u") {
            plan.input_mut(input).iter_mut().zip(unconstrained).for_each(|(slot, &u)| *slot = u);
        }
        plan.run();
        let numbers = ArrayD::from_shape_vec(value.shape().dims(), plan.output(0).to_vec());
        numbers.map_err(|error| Error::Values(error.to_string()))
    }

    /// The inverse of the bijection of an array of numbers.
    ///
    /// # Errors
    /// [`Error::Values`] with the first element that does not lie in the set.
    pub fn unconstrain_array(self, value: &ArrayD<f64>) -> Result<ArrayD<f64>> {
        let numbers: Vec<f64> = value.iter().copied().collect();
        if let Some((at, number)) = self.violation(&numbers, &Shape::from(value.shape())) {
            return Err(Error::Values(format!("element {at} must be {self}, got {number}")));
        }
        Ok(value.mapv(|x| self.unconstrain(x)))
    }
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
            for set in Constraint::ALL.into_iter().filter(|set| set.has_bijection()) {
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
