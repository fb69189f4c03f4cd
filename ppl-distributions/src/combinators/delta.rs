//! The distribution of a value that is certain.

use crate::shared::arrays::{last, leading, sum_last, together};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// A value that is certain, with a log density that may be given to it.
///
/// ```text
/// ln p(x) = log_density where x = value, else −∞
/// ```
///
/// A draw is `value` itself, so a guide of point estimates is made of these; `log_density` is what a
/// transformation that the value came from leaves over. All derivatives with respect to `x` are 0.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Delta;
/// let graph = Graph::new();
/// let x = graph.input("x", 2)?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Delta::new(3.0).log_prob(x)])?);
/// plan.set("x", &[3.0, 2.9])?;
/// plan.run();
/// assert_eq!(plan.output(0), [0.0, f64::NEG_INFINITY]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Delta<'g> {
    value: Value<'g>,
    log_density: Value<'g>,
    event_rank: usize,
}

impl<'g> Delta<'g> {
    /// This value; each element of an array is an outcome of its own.
    pub fn new(value: impl Into<Value<'g>>) -> Self {
        Self { value: value.into(), log_density: Value::Known(0.0), event_rank: 0 }
    }

    /// The last `event_rank` axes of the value as one outcome.
    #[must_use]
    pub fn with_event_rank(mut self, event_rank: usize) -> Self {
        self.event_rank = event_rank;
        self
    }

    /// The log density at the value, for each outcome.
    #[must_use]
    pub fn with_log_density(mut self, log_density: impl Into<Value<'g>>) -> Self {
        self.log_density = log_density.into();
        self
    }
}

impl<'g> Distribution<'g> for Delta<'g> {
    fn name(&self) -> &'static str {
        "Delta"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "value", value: self.value, domain: Constraint::Real },
            Parameter { name: "log_density", value: self.log_density, domain: Constraint::Real },
        ]
    }

    fn event_shape(&self) -> Shape {
        last(&self.value.shape(), self.event_rank)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        together(self.name(), &leading(&self.value.shape(), self.event_rank), &self.log_density.shape())
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let differs = sum_last(value.not_equal(self.value.on(graph)), self.event_rank);
        differs.select(f64::NEG_INFINITY, self.log_density.on(graph))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&self.event_shape());
        Ok(self.value.on(noise.graph()).broadcast_to(shape))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.value.on(graph).broadcast_to(crate::shared::arrays::whole_shape(self)))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(graph.constant(0.0).broadcast_to(crate::shared::arrays::whole_shape(self)))
    }

    /// `−log_density`
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some((-self.log_density.on(graph)).broadcast_to(self.batch_shape().ok()?))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        (self.event_rank == 0).then(|| value.greater_equal(self.value.on(value.graph())))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let value = self.value.on(probability.graph());
        let shape = value.shape().broadcast(&probability.shape())?;
        (self.event_rank == 0).then(|| value.broadcast_to(shape))
    }
}
