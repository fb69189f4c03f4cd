//! Moving and stretching.

use super::{Bijection, Direction, interval_image};
use ppl_core::{Constraint, Graph, Parameter, Value, Var};

/// `y = loc + scale·x` for each number.
///
/// A scale that is a number may be negative, which turns the order round. One that is an array or a value of the
/// model is positive: whether order is kept has to be known while tracing.
///
/// ```
/// use ppl_core::{Constraint, Distribution};
/// use ppl_distributions::{Affine, Combine, HalfNormal};
/// let beyond_three = HalfNormal::new(1.0).transformed(Affine::new(3.0, 0.5));
/// assert_eq!(beyond_three.support(), Constraint::GreaterThan(3.0));
/// let below_three = HalfNormal::new(1.0).transformed(Affine::new(3.0, -0.5));
/// assert_eq!(below_three.support(), Constraint::LessThan(3.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Affine<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> Affine<'g> {
    /// Where 0 goes, and how far apart 0 and 1 go; each a number or an array.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }

    /// Whether larger numbers become smaller ones.
    fn reverses(&self) -> bool {
        self.scale.known().is_some_and(|scale| scale < 0.0)
    }
}

impl<'g> Bijection<'g> for Affine<'g> {
    fn name(&self) -> &'static str {
        "Affine"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let domain = if self.reverses() { Constraint::LessThan(0.0) } else { Constraint::Positive };
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain },
        ]
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        self.loc.on(x.graph()) + self.scale.on(x.graph()) * x
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        (y - self.loc.on(y.graph())) / self.scale.on(y.graph())
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        let scale = self.scale.on(x.graph());
        let log_scale = if self.reverses() { -scale } else { scale }.log();
        let shape = log_scale.shape().broadcast(&x.shape()).unwrap_or_else(|| x.shape());
        Some(log_scale.broadcast_to(shape))
    }

    fn image(&self, domain: Constraint) -> Constraint {
        match (domain, self.loc.known(), self.scale.known()) {
            (Constraint::Real, _, _) => Constraint::Real,
            (Constraint::Positive | Constraint::NonNegative, Some(0.0), _) if !self.reverses() => {
                Constraint::Positive
            }
            (_, Some(loc), Some(scale)) => interval_image(domain, |x| loc + scale * x),
            _ => Constraint::Dependent,
        }
    }

    fn direction(&self) -> Option<Direction> {
        Some(if self.reverses() { Direction::Decreasing } else { Direction::Increasing })
    }

    fn factor(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.scale.on(graph))
    }
}
