//! The Bernoulli distribution.

use crate::KullbackLeibler;
use crate::family::BernoulliFamily;
use crate::shared::odds::Odds;
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::model::ExponentialFamily;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// A yes (1) or a no (0), with probability `probs` of a 1, or log-odds `logit` of it.
///
/// ```text
/// ln p(y) = −ln(1 + e^((1 − 2y)·logit))        y ∈ {0, 1},   P(y = 1) = probs = 1/(1 + e^−logit)
/// ```
///
/// This form loses no digits however sure the outcome is: `y·logit − ln(1 + e^logit)` would cancel. By
/// `probs` it is `ln probs` or `ln(1 − probs)`, and probabilities of 0 and 1 are allowed. A draw is a
/// comparison with uniform noise: exact, with derivative 0.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Bernoulli;
/// let graph = Graph::new();
/// let (logit, y) = (graph.input("logit", ())?, graph.input("y", ())?);
/// let program = Program::new(&graph, &[Bernoulli::from_logits(logit).log_prob(y)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("logit", &[-800.0])?;
/// plan.set("y", &[1.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [-800.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bernoulli<'g> {
    odds: Odds<'g>,
}

impl<'g> Bernoulli<'g> {
    /// Log-odds of a 1; a number or an array.
    pub fn from_logits(logits: impl Into<Value<'g>>) -> Self {
        Self { odds: Odds::Logits(logits.into()) }
    }

    /// Former name of [`from_logits`](Self::from_logits).
    #[deprecated(note = "renamed to `from_logits`")]
    pub fn from_logit(logits: impl Into<Value<'g>>) -> Self {
        Self::from_logits(logits)
    }

    /// Probability of a 1, from 0 to 1; a number or an array.
    pub fn from_probs(probs: impl Into<Value<'g>>) -> Self {
        Self { odds: Odds::Probs(probs.into()) }
    }
}

impl<'g> Distribution<'g> for Bernoulli<'g> {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![match self.odds {
            Odds::Logits(value) => Parameter { name: "logits", value, domain: Constraint::Real },
            Odds::Probs(_) => self.odds.parameter(Constraint::Interval(0.0, 1.0)),
        }]
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(BernoulliFamily { odds: self.odds }))
    }

    fn support(&self) -> Constraint {
        Constraint::Boolean
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        match self.odds {
            // Of many shared outcomes with one logit two logarithms are enough.
            Odds::Logits(logit)
                if logit.shape().is_scalar()
                    && !value.shape().is_scalar()
                    && value.kind() != Kind::PerRecord =>
            {
                let graph = value.graph();
                let log_prob = value.select(self.odds.log_success(graph), self.odds.log_failure(graph));
                only_within(Constraint::Boolean, value, log_prob)
            }
            Odds::Logits(logit) => {
                let sign = 1.0 - 2.0 * value;
                let Some(outside) = Constraint::Boolean.outside(value).filter(|o| o.known() != Some(0.0))
                else {
                    return -(sign * logit.on(value.graph())).softplus();
                };
                // A term of its own, which does not depend on the log-odds: derivatives in those are as short
                // as they were.
                let sign = outside.select(0.0, sign);
                -(sign * logit.on(value.graph())).softplus() + outside.select(f64::NEG_INFINITY, 0.0)
            }
            Odds::Probs(probs) => {
                // Each logarithm has an argument of its own, so that none is infinite where the other is
                // meant.
                let probs = probs.on(value.graph());
                let log_prob = value.select(probs, 1.0).log() + value.select(0.0, -probs).log1p();
                only_within(Constraint::Boolean, value, log_prob)
            }
        }
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.odds.success(noise.graph()).greater(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.odds.success(graph))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.odds.success(graph) * self.odds.failure(graph))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(-self.odds.log_likelihood(self.odds.success(graph), self.odds.failure(graph)))
    }

    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.odds.success(graph).greater(self.odds.failure(graph)))
    }

    /// `(1 − 2p)/√(p (1 − p))`
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (success, failure) = (self.odds.success(graph), self.odds.failure(graph));
        Some((failure - success) / (success.sqrt() * failure.sqrt()))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let below_one = value.less(1.0).select(self.odds.failure(value.graph()), 1.0);
        Some(value.less(0.0).select(0.0, below_one))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let from_zero = value.less(1.0).select(self.odds.success(value.graph()), 0.0);
        Some(value.less(0.0).select(1.0, from_zero))
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let below_one = value.less(1.0).select(self.odds.log_failure(value.graph()), 0.0);
        Some(value.less(0.0).select(f64::NEG_INFINITY, below_one))
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let from_zero = value.less(1.0).select(self.odds.log_success(value.graph()), f64::NEG_INFINITY);
        Some(value.less(0.0).select(0.0, from_zero))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, probability.greater(self.odds.failure(probability.graph()))))
    }
}

impl<'g> KullbackLeibler<'g, Bernoulli<'g>> for Bernoulli<'g> {
    /// `p ln(p/q) + (1 − p) ln((1 − p)/(1 − q))`
    fn kl_divergence(&self, other: &Bernoulli<'g>, graph: &'g Graph) -> Var<'g> {
        self.odds.divergence(other.odds, graph)
    }
}
