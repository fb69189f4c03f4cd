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
///
/// With a factor it is a prior of any density: here two rates of waiting times in ascending order, each from a gamma
/// law, so that the mixture's components cannot change places.
///
/// ```
/// use ppl_core::prelude::*;
/// use ppl_distributions::prelude::*;
/// fn waits(ctx: &mut Ctx) -> Result<()> {
///     let rates = ctx.sample("rates", ImproperUniform::new(Constraint::PositiveOrdered, 2))?;
///     ctx.factor("prior of rates", Gamma::new(2.0, 1.0).log_prob(rates).sum())?;
///     ctx.each_record(|ctx, record| {
///         let [slow, fast] = [0, 1].map(|k| Exponential::new(rates.element(0, k)));
///         let either = Mixture::new(Categorical::from_probs(&[0.5, 0.5])).of(slow).of(fast);
///         ctx.observe("wait", either, record.get("wait")?)
///     })
/// }
/// # use ndarray::arr1;
/// # use ppl_core::{Graph, Unconstrained, trace};
/// let records = Records::from_columns([("wait", vec![0.2, 3.0])])?;
/// let graph = Graph::new();
/// assert_eq!(trace(&waits, &graph, records.schema(), Unconstrained)?.sites()[0].support, Constraint::PositiveOrdered);
/// let at = |rates: [f64; 2]| [("rates".to_owned(), arr1(&rates).into_dyn())].into();
/// assert!(log_density(&waits, &records, &at([0.5, 2.0]))?.total().is_finite());
/// assert!(log_density(&waits, &records, &at([2.0, 0.5])).is_err());
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
