//! Bijections of numbers, element by element.

use super::{Bijection, Direction, interval_image};
use ppl_core::{Constraint, Graph, Parameter, Value, Var};
use std::f64::consts::LN_2;

/// `y = eˣ`, onto the positive numbers.
///
/// ```
/// use ppl_core::{Constraint, Distribution};
/// use ppl_distributions::{Combine, Exp, Normal};
/// let log_normal = Normal::new(0.0, 1.0).transformed(Exp);
/// assert_eq!(log_normal.support(), Constraint::Positive);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Exp;

impl<'g> Bijection<'g> for Exp {
    fn name(&self) -> &'static str {
        "Exp"
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        x.exp()
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        y.log()
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        Some(x)
    }

    fn image(&self, domain: Constraint) -> Constraint {
        interval_image(domain, f64::exp)
    }

    fn direction(&self) -> Option<Direction> {
        Some(Direction::Increasing)
    }
}

/// `y = 1/(1 + e⁻ˣ)`, onto the numbers between 0 and 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sigmoid;

impl<'g> Bijection<'g> for Sigmoid {
    fn name(&self) -> &'static str {
        "Sigmoid"
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        x.sigmoid()
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        y.logit()
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        Some(-(x.softplus() + (-x).softplus()))
    }

    fn image(&self, domain: Constraint) -> Constraint {
        interval_image(domain, |x| 1.0 / (1.0 + (-x).exp()))
    }

    fn direction(&self) -> Option<Direction> {
        Some(Direction::Increasing)
    }
}

/// `y = tanh x`, onto the numbers between −1 and 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tanh;

impl<'g> Bijection<'g> for Tanh {
    fn name(&self) -> &'static str {
        "Tanh"
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        x.tanh()
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        0.5 * (y.log1p() - (-y).log1p())
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        Some(2.0 * (LN_2 - x - (-2.0 * x).softplus()))
    }

    fn image(&self, domain: Constraint) -> Constraint {
        interval_image(domain, f64::tanh)
    }

    fn direction(&self) -> Option<Direction> {
        Some(Direction::Increasing)
    }
}

/// `y = −x`
#[derive(Clone, Copy, Debug, Default)]
pub struct Negation;

impl<'g> Bijection<'g> for Negation {
    fn name(&self) -> &'static str {
        "Negation"
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        -x
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        -y
    }

    fn log_jacobian(&self, _x: Var<'g>) -> Option<Var<'g>> {
        None
    }

    fn image(&self, domain: Constraint) -> Constraint {
        interval_image(domain, |x| -x)
    }

    fn direction(&self) -> Option<Direction> {
        Some(Direction::Decreasing)
    }

    fn factor(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(graph.constant(-1.0))
    }
}

/// `y = xᵖ` of positive numbers, for an exponent `p` that is positive, or a negative number known while
/// tracing.
///
/// ```
/// use ppl_core::{Constraint, Distribution};
/// use ppl_distributions::{Combine, HalfNormal, Power};
/// let precision = HalfNormal::new(1.0).transformed(Power::new(-2.0));
/// assert_eq!(precision.support(), Constraint::Positive);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Power<'g> {
    exponent: Value<'g>,
}

impl<'g> Power<'g> {
    /// The exponent; a number or an array.
    pub fn new(exponent: impl Into<Value<'g>>) -> Self {
        Self { exponent: exponent.into() }
    }

    fn decreasing(&self) -> bool {
        self.exponent.known().is_some_and(|exponent| exponent < 0.0)
    }
}

impl<'g> Bijection<'g> for Power<'g> {
    fn name(&self) -> &'static str {
        "Power"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let domain = if self.decreasing() { Constraint::LessThan(0.0) } else { Constraint::Positive };
        vec![Parameter { name: "exponent", value: self.exponent, domain }]
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        x.pow(self.exponent)
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        match self.exponent.known() {
            Some(exponent) => y.pow(1.0 / exponent),
            None => y.pow(self.exponent.on(y.graph()).reciprocal()),
        }
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        let exponent = self.exponent.on(x.graph());
        Some(exponent.abs().log() + (exponent - 1.0) * x.log())
    }

    fn image(&self, domain: Constraint) -> Constraint {
        match (domain, self.exponent.known()) {
            (Constraint::Positive | Constraint::NonNegative, _) => Constraint::Positive,
            (Constraint::UnitInterval, _) if !self.decreasing() => Constraint::UnitInterval,
            (_, Some(exponent)) => interval_image(domain, |x| x.powf(exponent)),
            _ => Constraint::Dependent,
        }
    }

    fn domain(&self) -> Constraint {
        Constraint::Positive
    }

    fn direction(&self) -> Option<Direction> {
        Some(if self.decreasing() { Direction::Decreasing } else { Direction::Increasing })
    }
}
