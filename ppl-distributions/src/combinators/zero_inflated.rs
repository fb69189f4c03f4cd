//! Counts with more zeros than their distribution has.

use crate::shared::arrays::together;
use crate::shared::log_space::{by_smaller, log_sum};
use crate::shared::quantiles::{of_probability, settled};
use crate::shared::support::ends_of;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source,
    Value, Var,
};
use std::f64::consts::LN_2;

/// 0 with probability `gate`, and else an outcome of a discrete distribution of numbers.
///
/// ```text
/// P(y = 0) = g + (1 − g) P_base(0),   P(y) = (1 − g) P_base(y) for y ≠ 0        g = gate ∈ [0, 1]
/// ```
///
/// Draws are exact. The gate may be given by its log-odds.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{Bernoulli, ZeroInflated};
/// let graph = Graph::new();
/// let y = graph.input("y", 2)?;
/// let log_prob = ZeroInflated::from_probs(Bernoulli::from_logits(0.0), 0.5).log_prob(y);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob.exp()])?);
/// plan.set("y", &[0.0, 1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.75).abs() < 1e-15 && (plan.output(0)[1] - 0.25).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZeroInflated<'g, D> {
    base: D,
    gate: Value<'g>,
    logarithmic: bool,
}

impl<'g, D: Distribution<'g>> ZeroInflated<'g, D> {
    /// Counts of `base`, and the probability that a 0 is put in their place.
    pub fn from_probs(base: D, gate: impl Into<Value<'g>>) -> Self {
        Self { base, gate: gate.into(), logarithmic: false }
    }

    /// Counts of `base`, and the log-odds that a 0 is put in their place.
    pub fn from_logits(base: D, gate_logits: impl Into<Value<'g>>) -> Self {
        Self { base, gate: gate_logits.into(), logarithmic: true }
    }

    /// Former name of [`from_logits`](Self::from_logits).
    #[deprecated(note = "renamed to `from_logits`")]
    pub fn from_logit(base: D, gate_logits: impl Into<Value<'g>>) -> Self {
        Self::from_logits(base, gate_logits)
    }

    /// The distribution of the counts that are not put aside.
    pub fn base(&self) -> &D {
        &self.base
    }

    fn gate_parameter(&self) -> Parameter<'g> {
        let (name, domain) = if self.logarithmic {
            ("gate_logits", Constraint::Real)
        } else {
            ("gate", Constraint::Interval(0.0, 1.0))
        };
        Parameter { name, value: self.gate, domain }
    }

    #[track_caller]
    fn gate(&self, graph: &'g Graph) -> Var<'g> {
        let gate = self.gate.on(graph);
        if self.logarithmic { gate.sigmoid() } else { gate }
    }

    /// `1 − g`, without cancellation where the log-odds are known.
    #[track_caller]
    fn open(&self, graph: &'g Graph) -> Var<'g> {
        let gate = self.gate.on(graph);
        if self.logarithmic { (-gate).sigmoid() } else { 1.0 - gate }
    }

    /// `ln g` and `ln(1 − g)`
    #[track_caller]
    fn logs(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let gate = self.gate.on(graph);
        if self.logarithmic {
            (gate.log_sigmoid(), (-gate).log_sigmoid())
        } else {
            (gate.log(), (-gate).log1p())
        }
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for ZeroInflated<'g, D> {
    fn name(&self) -> &'static str {
        "ZeroInflated"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.base.parameters();
        parameters.push(self.gate_parameter());
        parameters
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let (support, event) = (self.base.support(), self.base.event_shape());
        if !event.is_scalar() {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "a distribution of single numbers".to_owned(),
                got: event,
                source_line: Source::caller(),
            });
        }
        if !(support.is_discrete() && support.contains(0.0)) {
            let told = format!("ZeroInflated of {}, whose outcomes are {support}", self.base.name());
            return Err(Error::Unsupported(format!(
                "{told}; it takes counts, 0 among them ({})",
                Source::caller()
            )));
        }
        together(self.name(), &self.base.batch_shape()?, &self.gate.shape())
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (log_gate, log_open) = self.logs(graph);
        let log = self.base.log_prob(value);
        let counted = log_open + log;
        // Where the probability of a 0 is near 1, it is computed from its distance to 1, (1 − g)(1 − p).
        let lacking = self.open(graph) * log.expm1();
        let near = lacking.greater(-0.5);
        let zero = near.select(near.select(lacking, 0.0).log1p(), log_sum(log_gate, counted));
        value.equal(0.0).select(zero, counted)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = self.batch_shape()?;
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&batch))?;
        let counts = Expanded::new(&self.base, batch).draw(prefix, noise)?;
        Ok(self.gate(noise.graph()).greater(uniform).select(0.0, counts))
    }

    /// `(1 − g) μ`
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.open(graph) * self.base.mean(graph)?)
    }

    /// `(1 − g)(σ² + g μ²)`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (mean, variance) = (self.base.mean(graph)?, self.base.variance(graph)?);
        Some(self.open(graph) * (variance + self.gate(graph) * mean.square()))
    }

    /// `g + (1 − g) F(y)` for `y ≥ 0`, and `(1 − g) F(y)` below.
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let base = self.open(graph) * self.base.cdf(value)?;
        Some(base + value.greater_equal(0.0) * self.gate(graph))
    }

    /// `(1 − g) P(X > y)` for `y ≥ 0`, and that with `g` added below.
    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let base = self.open(graph) * self.base.sf(value)?;
        Some(base + value.less(0.0) * self.gate(graph))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (_, log_open) = self.logs(value.graph());
        let counted = log_open + self.base.log_sf(value)?;
        let below = value.less(0.0);
        Some(by_smaller(below.select(below.select(self.sf(value)?, 1.0).log(), counted), self.cdf(value)?))
    }

    /// That of the base at what the zeros leave: at `(u − g)/(1 − g)` above 0, and at `u/(1 − g)` below.
    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (gate, open) = (self.gate(graph), self.open(graph));
        let closed = open.equal(0.0);
        let open = closed.select(1.0, open);
        let beyond = (probability - gate).max(0.0) / open;
        let mut outcome = closed.select(0.0, self.base.quantile(beyond.min(1.0))?.max(0.0));
        if self.base.support().contains(-1.0) {
            let below = open * self.base.cdf(graph.constant(-1.0))?;
            let before = probability.less_equal(below) * (1.0 - closed);
            let part = before.select(probability / open, 0.5);
            outcome = before.select(self.base.quantile(part)?, outcome);
        }
        match self.base.support().is_discrete() {
            true => settled(probability, outcome, ends_of(self.base.support()).0, |k| self.cdf(k)),
            false => Some(of_probability(probability, outcome)),
        }
    }

    /// Above 0 that of the base at what the zeros leave.
    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let (_, log_open) = self.logs(log_probability.graph());
        let part = log_probability - log_open;
        let beyond = part.less(0.0);
        let outcome = self.base.quantile_of_log_sf(beyond.select(part, -LN_2))?.max(0.0);
        let by_cdf = self.quantile(-log_probability.expm1())?;
        Some((beyond * by_cdf.greater_equal(0.0)).select(outcome, by_cdf))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        self.gate_parameter().check(self.name())?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.base.kind().max(self.gate.kind())
    }
}
