//! Counts that are zero with a probability of their own.

use crate::shared::arrays::together;
use crate::shared::helpers::uniform_noise;
use crate::shared::log_space::by_smaller;
use crate::shared::odds::Odds;
use crate::shared::quantiles::{of_probability, settled};
use crate::shared::support::ends_of;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Distribution, Error, Graph, Noise, Parameter, Result, Shape, Source, Value, Var};
use std::f64::consts::LN_2;

/// Counts that are 0 with a probability of their own, and else those of another distribution that are not 0.
///
/// ```text
/// p(0) = g,   p(x) = (1 − g) p_base(x)/(1 − p_base(0))        for x ≠ 0
/// ```
///
/// Unlike [`ZeroInflated`](crate::ZeroInflated), it may also have fewer zeros than the base. Of a positive
/// continuous base it is the law of amounts that are often none, with a probability at 0 and a density elsewhere.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = Hurdle::from_probs(Poisson::new(2.0), 0.4);
/// assert_eq!(law.pmf(0.0), 0.4);
/// assert!(((1..40).map(|k| law.pmf(f64::from(k))).sum::<f64>() - 0.6).abs() < 1e-15);
/// ```
///
/// # References
/// J. Mullahy, "Specification and testing of some modified count data models" (1986).
#[derive(Clone, Copy, Debug)]
pub struct Hurdle<'g, D> {
    base: D,
    gate: Odds<'g>,
}

impl<'g, D: Distribution<'g>> Hurdle<'g, D> {
    /// Counts (or positive numbers) of `base`, and the probability of a 0; numbers or arrays.
    pub fn from_probs(base: D, gate: impl Into<Value<'g>>) -> Self {
        Self { base, gate: Odds::Probs(gate.into()) }
    }

    /// Counts (or positive numbers) of `base`, and the log-odds of a 0; numbers or arrays.
    pub fn from_logits(base: D, gate_logits: impl Into<Value<'g>>) -> Self {
        Self { base, gate: Odds::Logits(gate_logits.into()) }
    }

    /// The distribution of what is not 0, before the zeros are taken out.
    pub fn base(&self) -> &D {
        &self.base
    }

    fn gate_parameter(&self) -> Parameter<'g> {
        let Parameter { value, domain, .. } = self.gate.parameter(Constraint::Interval(0.0, 1.0));
        let name = if matches!(self.gate, Odds::Probs(_)) { "gate" } else { "gate_logits" };
        Parameter { name, value, domain }
    }

    /// `ln P(X = 0)` of the base; `None` for a continuous one, where it is −∞.
    #[track_caller]
    fn log_zero(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.support().is_discrete().then(|| self.base.log_prob(graph.constant(0.0)))
    }

    /// `1 − P(X = 0)` of the base, `None` where that is 1.
    #[track_caller]
    fn rest(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.log_zero(graph).map(|log| -log.expm1())
    }

    #[track_caller]
    fn by_rest(&self, x: Var<'g>, graph: &'g Graph) -> Var<'g> {
        self.rest(graph).map_or(x, |rest| x / rest)
    }

    /// The outcome that is not 0 at a probability among those.
    #[track_caller]
    fn nonzero(&self, probability: Var<'g>) -> Option<Var<'g>> {
        match self.log_zero(probability.graph()) {
            // 1 − (1 − p₀)(1 − u), and never back at 0.
            Some(log) => {
                let moved = log.exp() - log.expm1() * probability;
                let below = self.base.quantile(moved)?;
                // From above where zeros are most of the base, or the number is large: 1 − p₀ and 1 − u keep their
                // digits.
                let upper = (log.greater(-LN_2) + probability.greater(0.5)).greater(0.0);
                let rest = (-log.expm1()).log() + (-upper.select(probability, 0.5)).log1p();
                Some(upper.select(self.base.quantile_of_log_sf(rest)?, below).max(1.0))
            }
            None => self.base.quantile(probability),
        }
    }

    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (gate, open) = (self.gate.success(graph), self.gate.failure(graph));
        let zero = probability.less_equal(gate);
        let beyond = zero.select(0.5, (probability - gate) / open);
        Some(zero.select(0.0, self.nonzero(beyond)?))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Hurdle<'g, D> {
    fn name(&self) -> &'static str {
        "Hurdle"
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
        if support.contains(-1.0) {
            let told = format!("Hurdle of {}, whose outcomes are {support}", self.base.name());
            let needed = "it takes counts or positive numbers";
            return Err(Error::Unsupported(format!("{told}; {needed} ({})", Source::caller())));
        }
        together(self.name(), &self.base.batch_shape()?, &self.gate_parameter().value.shape())
    }

    fn support(&self) -> Constraint {
        match self.base.support() {
            support if support.is_discrete() => support,
            Constraint::UnitInterval => Constraint::Interval(0.0, 1.0),
            Constraint::Interval(_, high) => Constraint::Interval(0.0, high),
            Constraint::Dependent => Constraint::Dependent,
            _ => Constraint::NonNegative,
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let zero = value.equal(0.0);
        // Of a harmless number at 0, where the density of the base may be infinite.
        let elsewhere = if self.base.support().contains(1.0) { 1.0 } else { 0.5 };
        let mut log = self.gate.log_failure(graph) + self.base.log_prob(zero.select(elsewhere, value));
        if let Some(rest) = self.rest(graph) {
            log = log - rest.log();
        }
        zero.select(self.gate.log_success(graph), log)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let gate = uniform_noise(self, prefix, noise)?;
        let u = uniform_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let drawn = self.nonzero(u).ok_or_else(|| {
            Error::Unsupported(format!("a draw from Hurdle of {}, which has no quantiles", self.base.name()))
        })?;
        Ok(gate.less(self.gate.success(graph)).select(0.0, drawn))
    }

    /// How often a draw is 0 depends on the parameters in jumps.
    fn reparameterised(&self) -> bool {
        false
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.by_rest(self.gate.failure(graph) * self.base.mean(graph)?, graph))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        // E x² − (E x)² with s = (1 − g)/(1 − p₀): s (σ² + μ²) − s² μ²
        let (mean, variance) = (self.base.mean(graph)?, self.base.variance(graph)?);
        let share = self.by_rest(self.gate.failure(graph), graph);
        Some(share * (variance + (1.0 - share) * mean.square()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let from_zero = value.max(0.0);
        let by_rest = 1.0 - self.sf(from_zero)?;
        // By itself, where nothing cancels: where zeros are not most of what the base is.
        let open = self.gate.failure(graph);
        let cdf = match self.log_zero(graph) {
            None => self.gate.success(graph) + open * self.base.cdf(from_zero)?,
            Some(log) => {
                let many = log.greater(-LN_2);
                let nonzero = self.base.cdf(from_zero)? - log.exp();
                let share = nonzero.max(0.0) / many.select(1.0, -log.expm1());
                many.select(by_rest, self.gate.success(graph) + open * share)
            }
        };
        // Of counts nothing lies between 0 and 1.
        let cdf = match self.base.support().is_discrete() {
            true => value.less(1.0).select(self.gate.success(graph), cdf),
            false => cdf,
        };
        Some(value.less(0.0).select(0.0, cdf.min(1.0)))
    }

    /// `(1 − g) P(X > x)/(1 − P(X = 0))` for `x ≥ 0`, and 1 below.
    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let above = self.base.sf(value.max(0.0))?;
        let share = self.by_rest(self.gate.failure(graph), graph);
        Some(value.less(0.0).select(1.0, share * above))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let mut log = self.gate.log_failure(graph) + self.base.log_sf(value.max(0.0))?;
        if let Some(rest) = self.rest(graph) {
            log = log - rest.log();
        }
        Some(by_smaller(value.less(0.0).select(0.0, log), self.cdf(value)?))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (support, found) = (self.base.support(), self.inverse(probability)?);
        match support.is_discrete() {
            true => settled(probability, found, ends_of(support).0, |k| self.cdf(k)),
            false => Some(of_probability(probability, found)),
        }
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let part = log_probability - self.gate.log_failure(graph);
        let beyond = part.less(0.0);
        let part = beyond.select(part, -LN_2);
        let outcome = match self.rest(graph) {
            Some(rest) => self.base.quantile_of_log_sf(part + rest.log())?.max(1.0),
            None => self.base.quantile_of_log_sf(part)?,
        };
        let sound = log_probability.less_equal(0.0);
        Some(sound.select(beyond.select(outcome, 0.0), f64::NAN))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        self.gate_parameter().check(self.name())?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.base.kind().max(self.gate_parameter().value.kind())
    }
}
