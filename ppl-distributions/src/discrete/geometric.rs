//! The geometric distribution.

use crate::KullbackLeibler;
use crate::shared::helpers::at_batch_shape;
use crate::shared::odds::Odds;
use crate::shared::quantiles::settled;
use crate::shared::support::within;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// Failures before the first success of independent trials that succeed with probability `probs`, or log-odds
/// `logits`.
///
/// ```text
/// p(k) = (1 − p)ᵏ p        k ∈ {0, 1, 2, …},   p = probs = 1/(1 + e^−logits)
/// P(K ≤ k) = 1 − (1 − p)ᵏ⁺¹
/// ```
///
/// A draw inverts the distribution function: exact up to the rounding of one quotient of logarithms;
/// derivative 0.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Geometric;
/// let graph = Graph::new();
/// let k = graph.input("k", ())?;
/// let geometric = Geometric::from_probs(0.25);
/// let outputs = [geometric.log_prob(k), geometric.mean(&graph).expect("it has one")];
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs)?);
/// plan.set("k", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (0.75_f64 * 0.25).ln()).abs() < 1e-15);
/// assert_eq!(plan.output(1), [3.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Geometric<'g> {
    odds: Odds<'g>,
}

impl<'g> Geometric<'g> {
    /// Probability of a success, strictly between 0 and 1; a number or an array.
    pub fn from_probs(probs: impl Into<Value<'g>>) -> Self {
        Self { odds: Odds::Probs(probs.into()) }
    }

    /// Log-odds of a success; a number or an array.
    pub fn from_logits(logits: impl Into<Value<'g>>) -> Self {
        Self { odds: Odds::Logits(logits.into()) }
    }

    /// Former name of [`from_logits`](Self::from_logits).
    #[deprecated(note = "renamed to `from_logits`")]
    pub fn from_logit(logits: impl Into<Value<'g>>) -> Self {
        Self::from_logits(logits)
    }
}

impl<'g> Distribution<'g> for Geometric<'g> {
    fn name(&self) -> &'static str {
        "Geometric"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![self.odds.parameter(Constraint::UnitInterval)]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegativeInteger
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        within(Constraint::NonNegativeInteger, value, 0.0, |value| {
            value * self.odds.log_failure(value.graph()) + self.odds.log_success(value.graph())
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.smallest(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.odds.failure(graph) / self.odds.success(graph))
    }
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.mean(graph)? / self.odds.success(graph))
    }

    /// `(2 − p)/√(1 − p)`
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let failure = self.odds.failure(graph);
        at_batch_shape(self, (1.0 + failure) / failure.sqrt())
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let odds = self.odds;
        Some(-(odds.log_success(graph) + odds.failure(graph) / odds.success(graph) * odds.log_failure(graph)))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let inside = value.greater_equal(0.0);
        let trials = inside.select(value, 0.0).floor() + 1.0;
        Some(inside.select(-(trials * self.odds.log_failure(value.graph())).expm1(), 0.0))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        settled(probability, self.smallest(probability), 0.0, |k| self.cdf(k))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let trials = value.max(-1.0).floor() + 1.0;
        Some(trials * self.odds.log_failure(value.graph()))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let trials = log_probability / self.odds.log_failure(log_probability.graph());
        Some((trials.ceil() - 1.0).max(0.0))
    }
}

impl<'g> Geometric<'g> {
    /// The smallest `k` with `(1 − p)^(k+1) ≤ 1 − u`: from `(k + 1) ln(1 − p) ≤ ln(1 − u)`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        let trials = (-u).log1p() / self.odds.log_failure(u.graph());
        (trials.ceil() - 1.0).max(0.0)
    }
}

impl<'g> KullbackLeibler<'g, Geometric<'g>> for Geometric<'g> {
    /// That of one trial, `1/p` times: the number of trials on average.
    fn kl_divergence(&self, other: &Geometric<'g>, graph: &'g Graph) -> Var<'g> {
        let divided = |success: Var<'g>| self.odds.divergence(other.odds, graph) / success;
        let (Odds::Logits(own), Odds::Logits(others)) = (self.odds, other.odds) else {
            return divided(self.odds.success(graph));
        };
        // Of a tiny p both are too small for numbers; ln(p/q) − 1 + softplus(b)/p for log-odds a of p and b of
        // q, which with l = ln softplus(b) − a is e^l − 1 − l and what is left of l and ln(p/q).
        let (a, b) = (own.on(graph), others.on(graph));
        let tiny = a.less(-30.0);
        let small = b.less(-30.0);
        let log_rate = small.select(b, small.select(0.0, b).softplus().log());
        let l = tiny.select(log_rate - a, 0.0);
        let gap = l + a.log_sigmoid() - b.log_sigmoid();
        tiny.select((l.expm1() - l) + gap, divided(tiny.select(1.0, self.odds.success(graph))))
    }
}
