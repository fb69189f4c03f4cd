//! The uniform distribution on integers.

use crate::shared::helpers::at_batch_shape;
use crate::shared::quantiles::of_probability;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// Up to 2⁵³ every integer is a number of `f64`.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Integers from `low` to `high`, both included, all equally likely.
///
/// ```text
/// p(k) = 1/(high − low + 1)        k ∈ {low, low + 1, …, high}
/// ```
///
/// Where the bounds are numbers, `low ≤ high` is checked and the support is known; where they are values of
/// the model, `log_prob` is −∞ outside of them. A draw is `low + ⌊u (high − low + 1)⌋` of uniform noise:
/// probabilities are off by less than the spacing of the noise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::DiscreteUniform;
/// let graph = Graph::new();
/// let k = graph.input("k", ())?;
/// let program = Program::new(&graph, &[DiscreteUniform::new(1.0, 6.0).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[5.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [-6.0_f64.ln()]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DiscreteUniform<'g> {
    low: Value<'g>,
    high: Value<'g>,
}

impl<'g> DiscreteUniform<'g> {
    /// The smallest and the largest outcome, integers; numbers or arrays.
    pub fn new(low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    /// Number of outcomes.
    #[track_caller]
    fn count(&self, graph: &'g Graph) -> Var<'g> {
        self.high.on(graph) - self.low.on(graph) + 1.0
    }
}

impl<'g> Distribution<'g> for DiscreteUniform<'g> {
    fn name(&self) -> &'static str {
        "DiscreteUniform"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let low = Constraint::IntegerInterval(-LARGEST, LARGEST);
        let high = Constraint::IntegerInterval(self.low.known().unwrap_or(-LARGEST), LARGEST);
        vec![
            Parameter { name: "low", value: self.low, domain: low },
            Parameter { name: "high", value: self.high, domain: high },
        ]
    }

    fn support(&self) -> Constraint {
        match (self.low.known(), self.high.known()) {
            (Some(low), Some(high)) => Constraint::IntegerInterval(low, high),
            _ => Constraint::DependentInteger,
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let log_prob = -self.count(graph).log();
        let beyond = value.less(self.low) + value.greater(self.high) + value.floor().less(value);
        beyond.select(f64::NEG_INFINITY, log_prob)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        let graph = noise.graph();
        // The product may be rounded up to the count.
        Ok((self.low.on(graph) + (uniform * self.count(graph)).floor()).min(self.high))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(0.5 * self.low.on(graph) + 0.5 * self.high.on(graph))
    }

    /// The smallest of outcomes that are all equally likely.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.low.on(graph))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let count = self.count(graph);
        Some((count - 1.0) * (count + 1.0) / 12.0)
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.count(graph).log())
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let below = (value.floor() - self.low.on(graph) + 1.0) / self.count(graph);
        Some(below.max(0.0).min(1.0))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let above = (self.high.on(graph) - value.floor()) / self.count(graph);
        Some(above.max(0.0).min(1.0))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (graph, count) = (probability.graph(), self.count(probability.graph()));
        // The product is rounded, so the outcome beside may be the one that the distribution function says.
        let place = ((probability * count).ceil() - 1.0).max(0.0);
        let (lower, higher) =
            ((place / count).greater_equal(probability), ((place + 1.0) / count).less(probability));
        let outcome = self.low.on(graph) + (place - lower + higher).max(0.0);
        Some(of_probability(probability, outcome.min(self.high)))
    }
}
