//! The Gaussian random walk.

use crate::Normal;
use crate::shared::arrays::{LOG_2PI, column, counting, sum_last};
use ppl_core::model::Map;
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Transport, Value, Var,
};
use std::rc::Rc;

/// A random walk of `num_steps` steps with independent normal increments, which begins with a step from 0.
///
/// ```text
/// x_t = x_{t−1} + scale·z_t,   z_t standard normal,   x_{−1} = 0,   t = 0, …, n − 1
/// ln p(x) = −½ Σ_t ((x_t − x_{t−1})/scale)² − n ln scale − ½ n ln 2π            scale > 0,   x: [n]
/// ```
///
/// Axes of `scale` are a batch. The mean is 0, the variance `(t + 1) scale²`. A walk is drawn as the
/// cumulative sum of its increments.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{GaussianRandomWalk, Normal};
/// let graph = Graph::new();
/// let x = graph.input("x", 3)?;
/// let walk = GaussianRandomWalk::new(0.5, 3).log_prob(x);
/// let first = graph.constant(0.0).broadcast_to(1);
/// let increments = x - graph.concat(&[first, x.slice(0, ..2)], 0);
/// let steps = Normal::new(0.0, 0.5).log_prob(increments).sum();
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[walk, steps])?);
/// plan.set("x", &[0.2, -0.1, 1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - plan.output(1)[0]).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GaussianRandomWalk<'g> {
    scale: Value<'g>,
    num_steps: usize,
}

impl<'g> GaussianRandomWalk<'g> {
    /// Standard deviation of an increment, `[…]`, and the number of steps, at least 1.
    pub fn new(scale: impl Into<Value<'g>>, num_steps: usize) -> Self {
        Self { scale: scale.into(), num_steps }
    }

    /// The walk `[…, n]` of standard normal increments.
    #[track_caller]
    fn walk(&self, increments: Var<'g>) -> Var<'g> {
        let axis = increments.shape().rank().saturating_sub(1);
        column(self.scale.on(increments.graph())) * increments.cumsum(axis)
    }
}

impl<'g> Distribution<'g> for GaussianRandomWalk<'g> {
    fn name(&self) -> &'static str {
        "GaussianRandomWalk"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scale", value: self.scale, domain: Constraint::Positive }]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.num_steps)
    }

    fn batch_shape(&self) -> Result<Shape> {
        match self.num_steps {
            0 => Err(Error::Values("GaussianRandomWalk: num_steps must be at least 1, got 0".to_owned())),
            _ => Ok(self.scale.shape()),
        }
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let scale = self.scale.on(value.graph());
        let axis = value.shape().rank().saturating_sub(1);
        let before = value.slice(axis, ..self.num_steps.max(1) - 1);
        let first = value.slice(axis, ..1);
        let rest = value.slice(axis, 1..) - before;
        let increments = value.graph().concat(&[first, rest], axis) / column(scale);
        let n = self.num_steps as f64;
        -0.5 * sum_last(increments.square(), 1) - n * scale.log() - 0.5 * n * LOG_2PI
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&self.event_shape());
        Ok(self.walk(noise.draw(NoiseKind::StandardNormal, shape)?))
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let own = *self;
        Some(Transport {
            base: Rc::new(Normal::new(0.0, 1.0).iid(self.event_shape())),
            map: Map::Function(Rc::new(move |z| own.walk(z))),
        })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(graph.constant(0.0).broadcast_to(self.batch_shape().ok()?.concat(&self.event_shape())))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    /// `(t + 1) scale²`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        Some(column(scale.square()) * (counting(graph, self.num_steps) + 1.0))
    }

    /// `n (½ ln 2πe + ln scale)`
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.num_steps as f64 * (self.scale.on(graph).log() + 0.5 * (LOG_2PI + 1.0)))
    }
}
