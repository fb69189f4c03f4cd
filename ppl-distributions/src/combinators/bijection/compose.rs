//! Bijections one after the other, and the other way round.

use super::{Bijection, Direction};
use crate::shared::arrays::sum_last;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Graph, Parameter, Result, Shape, Var};

/// One bijection after another, made by [`Bijection::then`].
///
/// ```
/// use ppl_core::{Constraint, Distribution};
/// use ppl_distributions::{Affine, Bijection, Combine, Exp, Normal};
/// let above_two = Normal::new(0.0, 1.0).transformed(Exp.then(Affine::new(2.0, 1.0)));
/// assert_eq!(above_two.support(), Constraint::GreaterThan(2.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Then<A, B> {
    first: A,
    second: B,
}

impl<A, B> Then<A, B> {
    /// `second` after `first`.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second }
    }

    /// Axes that `first` maps one by one and `second` together, and the other way round.
    fn excess<'g>(&self) -> (usize, usize)
    where
        A: Bijection<'g>,
        B: Bijection<'g>,
    {
        let (image, domain) = (self.first.image_rank(), self.second.domain_rank());
        (domain.saturating_sub(image), image.saturating_sub(domain))
    }
}

impl<'g, A: Bijection<'g>, B: Bijection<'g>> Bijection<'g> for Then<A, B> {
    fn name(&self) -> &'static str {
        self.second.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.first.parameters();
        parameters.extend(self.second.parameters());
        parameters
    }

    fn domain_rank(&self) -> usize {
        self.first.domain_rank() + self.excess().0
    }

    fn image_rank(&self) -> usize {
        self.second.image_rank() + self.excess().1
    }

    #[track_caller]
    fn forward_shape(&self, shape: &Shape) -> Result<Shape> {
        self.second.forward_shape(&self.first.forward_shape(shape)?)
    }

    #[track_caller]
    fn inverse_shape(&self, shape: &Shape) -> Result<Shape> {
        self.first.inverse_shape(&self.second.inverse_shape(shape)?)
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        self.second.forward(self.first.forward(x))
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        self.first.inverse(self.second.inverse(y))
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        let (of_first, of_second) = self.excess();
        let first = self.first.log_jacobian(x).map(|log| sum_last(log, of_first));
        let second = self.second.log_jacobian(self.first.forward(x)).map(|log| sum_last(log, of_second));
        match (first, second) {
            (Some(first), Some(second)) => Some(first + second),
            (first, second) => first.or(second),
        }
    }

    fn image(&self, domain: Constraint) -> Constraint {
        self.second.image(self.first.image(domain))
    }

    fn domain(&self) -> Constraint {
        self.first.domain()
    }

    fn accepts(&self, set: Constraint) -> bool {
        self.first.accepts(set) && self.second.accepts(self.first.image(set))
    }

    fn direction(&self) -> Option<Direction> {
        Some(self.first.direction()?.then(self.second.direction()?))
    }

    fn factor(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.first.factor(graph)? * self.second.factor(graph)?)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.first.validate()?;
        self.second.validate()
    }

    fn kind(&self) -> Kind {
        self.first.kind().max(self.second.kind())
    }
}

/// The inverse of a bijection, made by [`Bijection::inverted`].
///
/// ```
/// use ppl_core::{Constraint, Distribution};
/// use ppl_distributions::{Bijection, Combine, Exp, HalfNormal};
/// let log_of_half_normal = HalfNormal::new(1.0).transformed(Exp.inverted());
/// assert_eq!(log_of_half_normal.support(), Constraint::Real);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Inverse<B> {
    forward: B,
}

impl<B> Inverse<B> {
    /// The inverse of `forward`.
    pub fn new(forward: B) -> Self {
        Self { forward }
    }
}

impl<'g, B: Bijection<'g>> Bijection<'g> for Inverse<B> {
    fn name(&self) -> &'static str {
        self.forward.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.forward.parameters()
    }

    fn domain_rank(&self) -> usize {
        self.forward.image_rank()
    }

    fn image_rank(&self) -> usize {
        self.forward.domain_rank()
    }

    #[track_caller]
    fn forward_shape(&self, shape: &Shape) -> Result<Shape> {
        self.forward.inverse_shape(shape)
    }

    #[track_caller]
    fn inverse_shape(&self, shape: &Shape) -> Result<Shape> {
        self.forward.forward_shape(shape)
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        self.forward.inverse(x)
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        self.forward.forward(y)
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        self.forward.log_jacobian(self.forward.inverse(x)).map(|log| -log)
    }

    /// The whole domain of the bijection if all of its image is given; of less, nothing is known.
    fn image(&self, domain: Constraint) -> Constraint {
        let whole = self.forward.domain();
        let alike = |a: Constraint, b: Constraint| {
            a == b || (a, b) == (Constraint::NonNegative, Constraint::Positive)
        };
        if alike(domain, self.forward.image(whole)) { whole } else { Constraint::Dependent }
    }

    fn domain(&self) -> Constraint {
        self.forward.image(self.forward.domain())
    }

    fn direction(&self) -> Option<Direction> {
        self.forward.direction()
    }

    fn factor(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.forward.factor(graph)?.reciprocal())
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.forward.validate()
    }

    fn kind(&self) -> Kind {
        self.forward.kind()
    }
}
