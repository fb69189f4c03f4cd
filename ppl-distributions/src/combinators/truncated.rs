//! Any distribution with a distribution function, restricted to an interval.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::uniform_noise;
use ppl_core::{Constraint, Distribution, Error, Noise, Parameter, Result, Shape, Value, Var};

/// A distribution over single real numbers, given that it lies between `low` and `high`.
///
/// ```text
/// ln p(x) = ln p₀(x) − ln(F₀(high) − F₀(low))        low ≤ x ≤ high, and −∞ outside
/// ```
///
/// The base needs a [`cdf`](Distribution::cdf), and a [`quantile`](Distribution::quantile) to be drawn from;
/// log densities of a base without one are NaN, and draws an error. Probabilities are differences of the
/// base's distribution function, so an interval far out in the right tail loses digits as `1 − F₀(low)` gets
/// small; [`TruncatedNormal`](crate::TruncatedNormal) does not.
///
/// Either end may be an infinite number. If the ends are numbers the support is the set between them, which
/// should lie in that of the base; otherwise it depends on values of the model.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{Exponential, Truncated};
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// // An exponential variable forgets where it began.
/// let log_prob = Truncated::new(Exponential::new(2.0), 1.0, f64::INFINITY).log_prob(x);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("x", &[1.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (2.0_f64.ln() - 1.0)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Truncated<'g, D> {
    base: D,
    bounds: Bounds<'g>,
}

impl<'g, D: Distribution<'g>> Truncated<'g, D> {
    /// The distribution that is cut, and the ends, each a number or an array.
    pub fn new(base: D, low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { base, bounds: Bounds::new(low, high) }
    }

    /// The distribution that is cut.
    pub fn base(&self) -> &D {
        &self.base
    }

    /// (F₀(low), F₀(high) − F₀(low))
    fn probabilities(&self, like: Var<'g>) -> Option<(Var<'g>, Var<'g>)> {
        let graph = like.graph();
        let low = match self.bounds.open_below() {
            true => graph.constant(0.0),
            false => self.base.cdf(self.bounds.low.on(graph))?,
        };
        let high = match self.bounds.open_above() {
            true => graph.constant(1.0),
            false => self.base.cdf(self.bounds.high.on(graph))?,
        };
        Some((low, high - low))
    }

    /// The quantile at a probability, or at uniform noise.
    fn inverse(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (low, between) = self.probabilities(probability)?;
        Some(self.bounds.clamp(self.base.quantile(low + between * probability)?))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Truncated<'g, D> {
    fn name(&self) -> &'static str {
        "Truncated"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.base.parameters();
        parameters.extend(self.bounds.parameters());
        parameters
    }

    fn support(&self) -> Constraint {
        // An end that is not there is the base's.
        match (self.bounds.open_below(), self.bounds.open_above(), self.base.support()) {
            (true, true, base) => base,
            (true, false, Constraint::Positive | Constraint::NonNegative) => {
                Bounds::new(0.0, self.bounds.high).support()
            }
            (false, true, Constraint::UnitInterval) => Bounds::new(self.bounds.low, 1.0).support(),
            (true, false, Constraint::UnitInterval) => Bounds::new(0.0, self.bounds.high).support(),
            _ => self.bounds.support(),
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let between =
            self.probabilities(value).map_or_else(|| value.constant(f64::NAN), |(_, between)| between);
        self.bounds.restrict(value, self.base.log_prob(value) - between.log())
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        self.inverse(u).ok_or_else(|| {
            Error::Unsupported(format!(
                "a draw from {} between bounds, for it has no distribution function or no quantiles",
                self.base.name()
            ))
        })
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (low, between) = self.probabilities(value)?;
        Some((self.base.cdf(self.bounds.clamp(value))? - low) / between)
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.inverse(probability)
    }
}
