//! Sets that values live in, and the bijections from the whole real line onto them.

use crate::scalar::Scalar;
use crate::var::Var;
use std::fmt;

/// Where a value may lie, and how an unconstrained number is mapped there.
///
/// | set | bijection `x = f(u)` | `ln |f′(u)|` |
/// |---|---|---|
/// | `Real` | `u` | 0 |
/// | `Positive` | `eᵘ` | `u` |
/// | `UnitInterval` | `1/(1+e⁻ᵘ)` | `−softplus(u) − softplus(−u)` |
/// | `Boolean` | none: discrete | |
///
/// ```
/// use ppl_core::Constraint;
/// let set = Constraint::Positive;
/// assert!(set.contains(2.0) && !set.contains(-1.0) && !set.contains(f64::NAN));
/// let u = set.unconstrain(2.0);
/// assert!((set.constrain_number(u) - 2.0).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Constraint {
    /// Every finite number.
    Real,
    /// Finite numbers above 0.
    Positive,
    /// Numbers strictly between 0 and 1.
    UnitInterval,
    /// 0 or 1.
    Boolean,
}

impl Constraint {
    /// Every set of this enum, for tests that go through all of them.
    pub const ALL: [Constraint; 4] =
        [Constraint::Real, Constraint::Positive, Constraint::UnitInterval, Constraint::Boolean];

    /// Whether a number lies in the set. NaN lies in none.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        match self {
            Constraint::Real => value.is_finite(),
            Constraint::Positive => value > 0.0 && value.is_finite(),
            Constraint::UnitInterval => value > 0.0 && value < 1.0,
            Constraint::Boolean => value == 0.0 || value == 1.0,
        }
    }

    /// The set in words that go after "must be".
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Constraint::Real => "finite",
            Constraint::Positive => "positive and finite",
            Constraint::UnitInterval => "strictly between 0 and 1",
            Constraint::Boolean => "0 or 1",
        }
    }

    /// Whether the set is countable, so that it has no bijection with the real line.
    #[must_use]
    pub fn is_discrete(self) -> bool {
        matches!(self, Constraint::Boolean)
    }

    /// The bijection, element by element. On a discrete set it is the identity.
    #[must_use]
    #[track_caller]
    pub fn constrain(self, unconstrained: Var<'_>) -> Var<'_> {
        match self {
            Constraint::Real | Constraint::Boolean => unconstrained,
            Constraint::Positive => unconstrained.exp(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
        }
    }

    /// `Σ ln |f′(u)|` over the elements; `None` where it is 0 everywhere.
    #[must_use]
    #[track_caller]
    pub fn log_jacobian(self, unconstrained: Var<'_>) -> Option<Var<'_>> {
        match self {
            Constraint::Real | Constraint::Boolean => None,
            Constraint::Positive => Some(unconstrained.sum()),
            Constraint::UnitInterval => Some((-unconstrained.softplus() - (-unconstrained).softplus()).sum()),
        }
    }

    /// The bijection of one number.
    #[must_use]
    pub fn constrain_number(self, unconstrained: f64) -> f64 {
        match self {
            Constraint::Real | Constraint::Boolean => unconstrained,
            Constraint::Positive => unconstrained.exponential(),
            Constraint::UnitInterval => unconstrained.sigmoid(),
        }
    }

    /// The inverse of the bijection; NaN outside the set.
    #[must_use]
    pub fn unconstrain(self, value: f64) -> f64 {
        match self {
            _ if !self.contains(value) => f64::NAN,
            Constraint::Real | Constraint::Boolean => value,
            Constraint::Positive => value.ln(),
            Constraint::UnitInterval => value.ln() - (-value).ln_1p(),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Plan, Program, gradient};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bijections_invert_and_their_jacobians_are_derivatives(u in -20.0..20.0_f64) {
            for set in Constraint::ALL.into_iter().filter(|set| !set.is_discrete()) {
                let x = set.constrain_number(u);
                prop_assert!(set.contains(x), "{set:?} {x}");
                // Near 1 the inverse of the sigmoid is ill-conditioned: du = dx / (x (1 − x)).
                let condition = if set == Constraint::UnitInterval { 1.0 / (x * (1.0 - x)) } else { 1.0 };
                prop_assert!((set.unconstrain(x) - u).abs() <= 4.0 * f64::EPSILON * (condition + u.abs()));

                let graph = Graph::new();
                let input = graph.input("u", ()).unwrap();
                let value = set.constrain(input);
                let slope = gradient(value, &[input]).unwrap()[0];
                let log_jacobian = set.log_jacobian(input).unwrap_or_else(|| graph.constant(0.0));
                let mut plan = Plan::<f64>::new(&Program::new(&graph, &[value, slope.log(), log_jacobian]).unwrap());
                if let Ok(id) = plan.input("u") { plan.input_mut(id)[0] = u; }
                plan.run();
                prop_assert_eq!(plan.output(0)[0], x);
                // ln f′ through the sigmoid loses digits as 1 − x does.
                prop_assert!((plan.output(1)[0] - plan.output(2)[0]).abs() <= 8.0 * f64::EPSILON * (condition + u.abs()));
            }
        }
    }
}
