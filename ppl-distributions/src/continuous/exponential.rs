//! The exponential distribution.

use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The exponential distribution with mean `1/rate`.
///
/// ```text
/// ln p(x) = ln rate − rate·x        x > 0, rate > 0
/// ```
///
/// A draw is the quantile of uniform noise, `−ln(1 − u)/rate`.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Exponential;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Exponential::new(2.0).log_prob(x)])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (2.0_f64.ln() - 6.0)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Exponential<'g> {
    pub(crate) rate: Value<'g>,
}

impl<'g> Exponential<'g> {
    /// Inverse of the mean. It is a number or an array.
    pub fn new(rate: impl Into<Value<'g>>) -> Self {
        Self { rate: rate.into() }
    }
}

impl<'g> Distribution<'g> for Exponential<'g> {
    fn name(&self) -> &'static str {
        "Exponential"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "rate", value: self.rate, domain: Constraint::Positive }]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegative
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let rate = self.rate.on(graph);
        only_within(Constraint::NonNegative, value, rate.log() - rate * value)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let rate = self.rate.on(graph);
        Ok((-(-u).log1p() / rate).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let rate = self.rate.on(graph);
        at_batch_shape(self, rate.reciprocal())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(2.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let rate = self.rate.on(graph);
        at_batch_shape(self, rate.reciprocal().square())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let rate = self.rate.on(graph);
        at_batch_shape(self, 1.0 - rate.log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let rate = self.rate.on(graph);
        Some(-(-(rate * value.max(0.0))).expm1())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let rate = self.rate.on(graph);
        Some(of_probability(probability, -(-probability).log1p() / rate))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let rate = self.rate.on(graph);
        Some((-(rate * value.max(0.0))).exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let rate = self.rate.on(graph);
        Some(-(rate * value.max(0.0)))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let rate = self.rate.on(graph);
        Some(-log_probability / rate)
    }
}
