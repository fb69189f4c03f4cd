//! The relaxed Bernoulli distribution.

use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use crate::shared::log_space::only_where;
use crate::shared::odds::Odds;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// A number strictly between 0 and 1 that is near 0 or 1 where the temperature is low: a Bernoulli variable with a
/// derivative (binary concrete, Gumbel-softmax with two categories).
///
/// ```text
/// x = sigmoid((logits + l)/temperature)        l a standard logistic variable
/// ln p(x) = ln temperature − ln x − ln(1 − x) − s − 2 ln(1 + e^−s),   s = temperature · logit(x) − logits
/// ```
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = RelaxedBernoulli::from_probs(0.1, 0.7);
/// assert!((law.sf(0.5) - 0.7).abs() < 1e-15);
/// ```
///
/// # References
/// C. J. Maddison, A. Mnih, Y. W. Teh, "The concrete distribution" (2017); E. Jang, S. Gu, B. Poole, "Categorical
/// reparameterization with Gumbel-softmax" (2017).
#[derive(Clone, Copy, Debug)]
pub struct RelaxedBernoulli<'g> {
    temperature: Value<'g>,
    odds: Odds<'g>,
}

impl<'g> RelaxedBernoulli<'g> {
    /// Temperature, and the probability of a number above ½; numbers or arrays.
    pub fn from_probs(temperature: impl Into<Value<'g>>, probs: impl Into<Value<'g>>) -> Self {
        Self { temperature: temperature.into(), odds: Odds::Probs(probs.into()) }
    }

    /// Temperature, and the log-odds of a number above ½; numbers or arrays.
    pub fn from_logits(temperature: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self { temperature: temperature.into(), odds: Odds::Logits(logits.into()) }
    }

    /// `temperature · logit(x) − logits` for `x` between 0 and 1.
    #[track_caller]
    fn logistic(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        self.temperature.on(graph) * value.logit() - self.odds.logits(graph)
    }

    /// A tail of the logistic variable of a value between 0 and 1, and what it is below and above, whatever the
    /// parameters.
    #[track_caller]
    fn tail(
        &self,
        value: Var<'g>,
        [at_low, at_high]: [f64; 2],
        of_logistic: impl FnOnce(Var<'g>) -> Var<'g>,
    ) -> Var<'g> {
        let (below, above) = (value.less_equal(0.0), value.greater_equal(1.0));
        let outside = below + above;
        let inside = of_logistic(self.logistic(outside.select(0.5, value)));
        outside.select(below.select(at_low, at_high), inside)
    }

    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        self.of_logit(probability.logit())
    }

    /// The outcome below which lies a probability of these log-odds.
    #[track_caller]
    fn of_logit(&self, logit: Var<'g>) -> Var<'g> {
        let graph = logit.graph();
        ((self.odds.logits(graph) + logit) / self.temperature.on(graph)).sigmoid()
    }
}

impl<'g> Distribution<'g> for RelaxedBernoulli<'g> {
    fn name(&self) -> &'static str {
        "RelaxedBernoulli"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "temperature", value: self.temperature, domain: Constraint::Positive },
            self.odds.parameter(Constraint::UnitInterval),
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::UnitInterval
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        only_where(value.greater(0.0) * value.less(1.0), value, 0.5, |value| {
            let s = self.logistic(value);
            let log_temperature = self.temperature.on(value.graph()).log();
            log_temperature - value.log() - (-value).log1p() - s - 2.0 * (-s).softplus()
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).clamp_unit())
    }

    #[track_caller]
    fn median(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, (self.odds.logits(graph) / self.temperature.on(graph)).sigmoid())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.tail(value, [0.0, 1.0], Var::sigmoid))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.tail(value, [1.0, 0.0], |s| (-s).sigmoid()))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.tail(value, [f64::NEG_INFINITY, 0.0], Var::log_sigmoid))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.tail(value, [0.0, f64::NEG_INFINITY], |s| (-s).log_sigmoid()))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.of_logit(log_probability - log_of_rest(log_probability)))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.of_logit(log_of_rest(log_probability) - log_probability))
    }
}
