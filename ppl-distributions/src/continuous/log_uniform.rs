//! The log-uniform distribution.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::log_space::only_where;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// `ln(high/low)`, also where the quotient is too large for a number.
#[track_caller]
fn log_ratio<'g>(high: Var<'g>, low: Var<'g>) -> Var<'g> {
    let held = (high / low).is_finite();
    held.select((held.select(high, low) / low).log(), high.log() - low.log())
}

/// The distribution whose logarithm is uniform from `ln low` to `ln high`: every order of magnitude is as likely as
/// every other.
///
/// ```text
/// ln p(x) = −ln x − ln ln(high/low)        low ≤ x ≤ high, low > 0
/// ```
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = LogUniform::new(1e-4, 1.0);
/// assert!((law.quantile(0.5) - 1e-2).abs() < 1e-16);
/// assert_eq!(law.pdf(2.0), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogUniform<'g> {
    low: Value<'g>,
    high: Value<'g>,
}

impl<'g> LogUniform<'g> {
    /// The ends, `0 < low < high`; numbers or arrays.
    pub fn new(low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.low, self.high].map(|value| value.on(graph))
    }
}

impl<'g> Distribution<'g> for LogUniform<'g> {
    fn name(&self) -> &'static str {
        "LogUniform"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = Bounds::new(self.low, self.high).parameters();
        for low in parameters.iter_mut().filter(|parameter| parameter.name == "low") {
            low.domain = Constraint::Positive;
        }
        parameters
    }

    fn support(&self) -> Constraint {
        Bounds::new(self.low, self.high).support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [low, high] = self.on(value.graph());
        let inside = value.greater_equal(low) * value.less_equal(high);
        only_where(inside, value, 1.0, |value| -value.log() - log_ratio(high, low).log())
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [low, high] = self.on(noise.graph());
        let u = uniform_noise(self, prefix, noise)?;
        Ok((low * (u * log_ratio(high, low)).exp()).max(low).min(high))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        at_batch_shape(self, (high - low) / log_ratio(high, low))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        let log = log_ratio(high, low);
        let mean = (high - low) / log;
        at_batch_shape(self, mean * (0.5 * (high + low) - mean))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        at_batch_shape(self, 0.5 * (low.log() + high.log()) + log_ratio(high, low).log())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, _] = self.on(graph);
        at_batch_shape(self, low)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(value.graph());
        let inside = value.max(low).min(high);
        Some((inside / low).log() / log_ratio(high, low))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(value.graph());
        let inside = value.max(low).min(high);
        Some((high / inside).log() / log_ratio(high, low))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(probability.graph());
        Some((low * (probability * log_ratio(high, low)).exp()).max(low).min(high))
    }
}
