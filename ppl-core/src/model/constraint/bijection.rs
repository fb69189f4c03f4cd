//! The bijections from unconstrained numbers onto sets: on symbols, numbers and arrays.

use super::{
    Constraint, correlation, correlation_cholesky, lower_cholesky, ordered, positive_definite,
    positive_ordered, simplex, zero_sum,
};
use crate::base::{Error, Result, Shape};
use crate::machine::Scalar;
use crate::op::{Graph, Var};
use crate::program::Program;
use crate::run::plan::ExecutionPlan;
use ndarray::ArrayD;

/// The bijection, its inverse and its Jacobian.
impl Constraint {
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
            Constraint::GreaterThan(low) | Constraint::AtLeast(low) => low + unconstrained.exp(),
            Constraint::LessThan(high) | Constraint::AtMost(high) => high - unconstrained.exp(),
            Constraint::Interval(low, high) => low + (high - low) * unconstrained.sigmoid(),
            Constraint::Simplex => simplex::constrain(unconstrained),
            Constraint::ZeroSum => zero_sum::constrain(unconstrained),
            Constraint::Ordered => ordered::constrain(unconstrained),
            Constraint::PositiveOrdered => positive_ordered::constrain(unconstrained),
            Constraint::LowerCholesky => lower_cholesky::constrain(unconstrained, n),
            Constraint::CorrelationCholesky => correlation_cholesky::constrain(unconstrained, n),
            Constraint::Correlation => correlation::constrain(unconstrained, n),
            Constraint::PositiveDefinite => positive_definite::constrain(unconstrained, n),
            _ => unconstrained,
        }
    }

    /// The inverse of the bijection as an array program; infinite or NaN outside the set.
    ///
    /// ```
    /// use ppl_core::{Constraint, ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 3)?;
    /// let again = Constraint::Ordered.constrain(Constraint::Ordered.unconstrain_var(x));
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[again])?);
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
            Constraint::GreaterThan(low) | Constraint::AtLeast(low) => (value - low).log(),
            Constraint::LessThan(high) | Constraint::AtMost(high) => (high - value).log(),
            // From the nearer bound, so that no digits are lost.
            Constraint::Interval(low, high) => ((value - low) / (high - value)).log(),
            Constraint::Simplex => simplex::unconstrain(value),
            Constraint::ZeroSum => zero_sum::unconstrain(value),
            Constraint::Ordered => ordered::unconstrain(value),
            Constraint::PositiveOrdered => positive_ordered::unconstrain(value),
            Constraint::LowerCholesky => lower_cholesky::unconstrain(value),
            Constraint::CorrelationCholesky => correlation_cholesky::unconstrain(value),
            Constraint::Correlation => correlation::unconstrain(value),
            Constraint::PositiveDefinite => positive_definite::unconstrain(value),
            _ => value,
        }
    }

    /// Log of the bijection's Jacobian determinant, summed over all outcomes of the array; `None` where it is
    /// 0 everywhere.
    #[must_use]
    #[track_caller]
    pub fn log_jacobian(self, unconstrained: Var<'_>) -> Option<Var<'_>> {
        self.log_jacobians(unconstrained).map(Var::sum)
    }

    /// Log of the bijection's Jacobian determinant for each outcome of the array: of the shape of the
    /// unconstrained array, less its last axis if the set is one of vectors or matrices. `None` where it is 0
    /// everywhere.
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
            | Constraint::AtLeast(_)
            | Constraint::LessThan(_)
            | Constraint::AtMost(_) => Some(unconstrained),
            Constraint::UnitInterval => Some(of_sigmoid()),
            Constraint::Interval(low, high) => Some(of_sigmoid() + (high - low).ln()),
            Constraint::Simplex => Some(simplex::log_jacobian(unconstrained)),
            Constraint::Ordered => Some(ordered::log_jacobian(unconstrained)),
            Constraint::PositiveOrdered => Some(positive_ordered::log_jacobian(unconstrained)),
            Constraint::LowerCholesky => Some(lower_cholesky::log_jacobian(unconstrained, n)),
            Constraint::CorrelationCholesky => Some(correlation_cholesky::log_jacobian(unconstrained, n)),
            Constraint::Correlation => Some(correlation::log_jacobian(unconstrained, n)),
            Constraint::PositiveDefinite => Some(positive_definite::log_jacobian(unconstrained, n)),
            _ => None,
        }
    }

    /// The bijection of one number. On a set of vectors or matrices, or without a bijection, it is the
    /// identity: see [`constrain_array`](Self::constrain_array).
    #[must_use]
    pub fn constrain_number(self, unconstrained: f64) -> f64 {
        match self {
            Constraint::Positive | Constraint::NonNegative => unconstrained.exponential(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
            Constraint::GreaterThan(low) | Constraint::AtLeast(low) => low + unconstrained.exponential(),
            Constraint::LessThan(high) | Constraint::AtMost(high) => high - unconstrained.exponential(),
            Constraint::Interval(low, high) => low + (high - low) * unconstrained.sigmoid(),
            _ => unconstrained,
        }
    }

    /// The inverse of the bijection of one number; NaN outside the set. On a set of vectors or matrices it is
    /// the identity: see [`unconstrain_array`](Self::unconstrain_array).
    #[must_use]
    pub fn unconstrain(self, value: f64) -> f64 {
        let logit = |x: f64| x.ln() - (-x).ln_1p();
        match self {
            _ if !self.contains(value) => f64::NAN,
            Constraint::Positive | Constraint::NonNegative => value.ln(),
            Constraint::UnitInterval => logit(value),
            Constraint::GreaterThan(low) | Constraint::AtLeast(low) => (value - low).ln(),
            Constraint::LessThan(high) | Constraint::AtMost(high) => (high - value).ln(),
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
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[result])?);
    if let Ok(input) = plan.input("argument") {
        plan.input_mut(input).iter_mut().zip(argument).for_each(|(slot, &number)| *slot = number);
    }
    plan.run();
    let numbers = ArrayD::from_shape_vec(result.shape().dims(), plan.output(0).to_vec());
    numbers.map_err(|error| Error::Values(error.to_string()))
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
                let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
                if let Ok(id) = plan.input("u") { plan.input_mut(id)[0] = u; }
                plan.run();
                let [x, slope, log_slope, log_jacobian] = [0, 1, 2, 3].map(|output| plan.output(output)[0]);

                prop_assert!(set.contains(x), "{set:?} {x}");
                prop_assert!((set.constrain_number(u) - x).abs() <= 4.0 * f64::EPSILON * (1.0 + x.abs()));
                // Beside a bound the inverse is ill-conditioned: du = dx / f′(u), and x is rounded as 1 and
                // the bounds are.
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
