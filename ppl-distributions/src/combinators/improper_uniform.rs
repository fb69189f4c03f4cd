//! A prior that says nothing.

use crate::shared::arrays::sum_last;
use ppl_core::{Constraint, Distribution, Error, Noise, Parameter, Result, Shape, Var};

/// Density 1 everywhere in a set: not a distribution, for it does not integrate to 1, but a prior that leaves
/// a latent value to the likelihood.
///
/// ```text
/// ln p(x) = 0        x in the set, −∞ outside
/// ```
///
/// The whole array is one outcome. It cannot be drawn from, and has no moments.
///
/// ```
/// use ppl_core::{Constraint, Distribution, Graph, Noise, Shape};
/// use ppl_distributions::ImproperUniform;
/// let flat = ImproperUniform::new(Constraint::Positive, [3]);
/// let graph = Graph::new();
/// let positive = graph.input("x", [3])?.exp();
/// assert_eq!(flat.log_prob(positive).known(), Some(0.0));
/// assert!(flat.draw(&Shape::scalar(), &mut Noise::new(&graph, "flat")).is_err());
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImproperUniform {
    support: Constraint,
    shape: Shape,
}

impl ImproperUniform {
    /// The set, and the shape of an outcome.
    pub fn new(support: Constraint, shape: impl Into<Shape>) -> Self {
        Self { support, shape: shape.into() }
    }
}

impl<'g> Distribution<'g> for ImproperUniform {
    fn name(&self) -> &'static str {
        "ImproperUniform"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }

    fn event_shape(&self) -> Shape {
        self.shape.clone()
    }

    fn support(&self) -> Constraint {
        self.support
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let zero = value.constant(0.0);
        let rank = self.shape.rank().saturating_sub(self.support.event_rank());
        match self.support.outside(value) {
            Some(outside) => sum_last(outside, rank).select(f64::NEG_INFINITY, zero),
            None => zero,
        }
    }

    fn draw(&self, _prefix: &Shape, _noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Err(Error::Unsupported(format!("a draw from ImproperUniform on values that are {}", self.support)))
    }

    fn reparameterised(&self) -> bool {
        false
    }
}
