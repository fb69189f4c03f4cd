//! Any distribution with a distribution function, restricted to an interval.

use crate::shared::arrays::together;
use crate::shared::bounds::Bounds;
use crate::shared::helpers::{log_of_rest, uniform_noise};
use crate::shared::log_space::{by_smaller, log_sum};
use crate::shared::moved::between;
use crate::shared::quantiles::of_probability;
use crate::shared::support::ends_of;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, Parameter, Result, Shape, Source, Transport, Value, Var,
};
use std::rc::Rc;

/// A distribution over single real numbers, given that it lies between `low` and `high`.
///
/// ```text
/// ln p(x) = ln p₀(x) − ln(F₀(high) − F₀(low))        low ≤ x ≤ high, and −∞ outside
/// ```
///
/// Of a base whose outcomes are integers, both ends belong to the interval, so that `F₀(low)` here is
/// `P(X < low)`, and the support is the integers between them.
///
/// The base needs a [`cdf`](Distribution::cdf), and a [`quantile`](Distribution::quantile) to be drawn from;
/// log densities of a base without one are NaN, and draws an error. Probabilities are differences in the tail
/// in which the interval lies, by logarithms of the base's distribution function or of its survival function
/// ([`log_sf`](Distribution::log_sf)): intervals far out keep their digits where the base has those. Draws are
/// quantiles of such a logarithm ([`quantile_of_log_sf`](Distribution::quantile_of_log_sf)), so an interval may be less
/// probable than the least number (e⁻⁷⁴⁵ in `f64`, e⁻¹⁰³ in `f32`). Two kinds of bases cannot be followed there so far:
/// of one whose `log_cdf` and `log_sf` end there as well ([`VonMises`](crate::VonMises)) log densities are NaN or ∞; of
/// one that has only quantiles of probabilities (numbered categories) draws lie at an end, in an upper tail already
/// where 1 less the probability rounds to 1. [`TruncatedNormal`](crate::TruncatedNormal) keeps its digits in intervals
/// however narrow and far out.
///
/// Either end may be an infinite number. Ends that are numbers are cut to the base's support; an interval
/// that leaves nothing of it is an error. If the ends are numbers the support is the set between them;
/// otherwise it depends on values of the model, and a latent value `b` is a function of another one, `b_base`, as that of
/// a [`Uniform`](crate::Uniform) is.
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
#[derive(Debug)]
pub struct Truncated<'g, D> {
    // Shared with what `transport` gives away.
    base: Rc<D>,
    bounds: Bounds<'g>,
}

/// The same law, whatever is cut.
impl<D> Clone for Truncated<'_, D> {
    fn clone(&self) -> Self {
        Self { base: Rc::clone(&self.base), bounds: self.bounds }
    }
}

/// The probability of an interval in logarithms: from below, `ln F(high)` and `ln F(low)`, or from above,
/// `ln S(low)` and `ln S(high)`, whichever are smaller numbers.
#[derive(Clone, Copy)]
struct Interval<'g> {
    /// Where it is seen from above; a constant if it has no ends or one.
    above: Var<'g>,
    /// The logarithms of the larger and of the smaller tail.
    larger: Var<'g>,
    smaller: Var<'g>,
}

impl<'g> Interval<'g> {
    #[track_caller]
    fn log_probability(&self) -> Var<'g> {
        if self.smaller.known() == Some(f64::NEG_INFINITY) {
            return self.larger;
        }
        self.larger + log_of_rest(self.smaller - self.larger)
    }
}

impl<'g, D: Distribution<'g>> Truncated<'g, D> {
    /// The distribution that is cut, and the ends, each a number or an array.
    pub fn new(base: D, low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { base: Rc::new(base), bounds: Bounds::new(low, high) }
    }

    /// The distribution that is cut.
    pub fn base(&self) -> &D {
        &self.base
    }

    /// The ends as parameters.
    fn ends(&self) -> Vec<Parameter<'g>> {
        self.bounds.parameters_within(ends_of(self.base.support()), self.is_discrete())
    }

    fn is_discrete(&self) -> bool {
        self.base.support().is_discrete()
    }

    /// The ends inside the base's support, which are integers where its outcomes are: of arrays of numbers where there
    /// is a graph for them.
    #[track_caller]
    fn bounds(&self, graph: Option<&'g Graph>) -> Bounds<'g> {
        let Bounds { low, high } = self.bounds;
        let bounds = match self.is_discrete() {
            true => Bounds::new(
                rounded(low, graph, f64::ceil, Var::ceil),
                rounded(high, graph, f64::floor, Var::floor),
            ),
            false => self.bounds,
        };
        bounds.within(ends_of(self.base.support()))
    }

    /// The interval from the lower end, or what lies above `after`, to `high` or the upper end; `None` where the base
    /// has no distribution function.
    #[track_caller]
    fn interval(
        &self,
        graph: &'g Graph,
        after: Option<Var<'g>>,
        high: Option<Var<'g>>,
    ) -> Option<Interval<'g>> {
        let (bounds, base) = (self.bounds(Some(graph)), ends_of(self.base.support()));
        // An end of the base's support cuts nothing off.
        let low = (bounds.low.known() != Some(base.0)).then(|| bounds.low.on(graph));
        let to_end = bounds.high.known() == Some(base.1);
        let high = high.or_else(|| (!to_end).then(|| bounds.high.on(graph)));
        let before = after.or_else(|| low.map(|low| if self.is_discrete() { low - 1.0 } else { low }));
        let constant = |value: f64| graph.constant(value);
        Some(match (before, high) {
            (None, None) => {
                let [above, larger, smaller] = [0.0, 0.0, f64::NEG_INFINITY].map(constant);
                Interval { above, larger, smaller }
            }
            (Some(before), None) => Interval {
                above: constant(1.0),
                larger: self.base.log_sf(before)?,
                smaller: constant(f64::NEG_INFINITY),
            },
            (None, Some(high)) => Interval {
                above: constant(0.0),
                larger: self.base.log_cdf(high)?,
                smaller: constant(f64::NEG_INFINITY),
            },
            (Some(before), Some(high)) => {
                let [below_low, below_high] = [self.base.log_cdf(before)?, self.base.log_cdf(high)?];
                let [above_low, above_high] = [self.base.log_sf(before)?, self.base.log_sf(high)?];
                let above = above_low.less(below_high);
                Interval {
                    above,
                    larger: above.select(above_low, below_high),
                    smaller: above.select(above_high, below_low),
                }
            }
        })
    }

    /// The logarithm of the probability up to a value, or above it.
    #[track_caller]
    fn log_part(&self, value: Var<'g>, upper: bool) -> Option<Var<'g>> {
        let (graph, discrete) = (value.graph(), self.is_discrete());
        let bounds = self.bounds(Some(graph));
        let whole = self.interval(graph, None, None)?.log_probability();
        let value = if discrete { value.floor() } else { value };
        // Nothing lies below the lower end, where a difference of logarithms has no derivative, and above the upper.
        let low = bounds.low.on(graph);
        let below = if discrete { value.less(low) } else { value.less_equal(low) };
        let above = value.greater_equal(bounds.high);
        let harmless = match (bounds.open_below(), bounds.open_above()) {
            (true, true) => graph.constant(0.0),
            (false, true) => low + 1.0,
            (true, false) => bounds.high.on(graph) - 1.0,
            (false, false) if discrete => low - f64::from(u8::from(upper)),
            (false, false) => low + 0.5 * (bounds.high.on(graph) - low),
        };
        let inside = (below + above).select(harmless, value);
        let part = match upper {
            false => self.interval(graph, None, Some(inside)),
            true => self.interval(graph, Some(inside), None),
        };
        let log = (part?.log_probability() - whole).min(0.0);
        let ends = if upper { [0.0, f64::NEG_INFINITY] } else { [f64::NEG_INFINITY, 0.0] };
        Some(below.select(ends[0], above.select(ends[1], log)))
    }

    /// The outcome below which lies this probability.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let interval = self.interval(probability.graph(), None, None)?;
        let Interval { above, larger, smaller } = interval;
        let one_end = smaller.known() == Some(f64::NEG_INFINITY);
        let ratio = if one_end { probability.constant(0.0) } else { (smaller - larger).exp() };
        let from_above = || {
            let rest = if one_end { -probability } else { -(probability * (1.0 - ratio)) };
            self.base.quantile_of_log_sf(larger + rest.log1p())
        };
        let from_below = || {
            let part = if one_end { probability } else { ratio + probability * (1.0 - ratio) };
            self.base.quantile_of_log_cdf(larger + part.log())
        };
        let quantile = match above.known() {
            Some(1.0) => from_above()?,
            Some(0.0) => from_below()?,
            _ => above.select(from_above()?, from_below()?),
        };
        Some(self.bounds(Some(quantile.graph())).clamp(quantile))
    }

    /// The outcome below which, or above which, lies a probability of this logarithm.
    #[track_caller]
    fn of_log(&self, log_probability: Var<'g>, upper: bool) -> Option<Var<'g>> {
        let Interval { above, larger, smaller } = self.interval(log_probability.graph(), None, None)?;
        // Parts of the tail in which the interval lies: with what lies beyond its far end, and the rest of it.
        let (same, other) = if smaller.known() == Some(f64::NEG_INFINITY) {
            (log_probability, log_of_rest(log_probability))
        } else {
            let gap = smaller - larger;
            let same = log_sum(gap, log_probability + log_of_rest(gap));
            (same, (-(log_probability.exp() * (1.0 - gap.exp()))).log1p())
        };
        let (of_above, of_below) = if upper { (same, other) } else { (other, same) };
        let from_above = || self.base.quantile_of_log_sf(larger + of_above);
        let from_below = || self.base.quantile_of_log_cdf(larger + of_below);
        let quantile = match above.known() {
            Some(1.0) => from_above()?,
            Some(0.0) => from_below()?,
            _ => above.select(from_above()?, from_below()?),
        };
        Some(self.bounds(Some(quantile.graph())).clamp(quantile))
    }
}

/// An end as an integer.
#[track_caller]
fn rounded<'g>(
    end: Value<'g>,
    graph: Option<&'g Graph>,
    number: impl Fn(f64) -> f64,
    program: impl Fn(Var<'g>) -> Var<'g>,
) -> Value<'g> {
    match end {
        Value::Var(end) if end.known().is_none() => program(end).into(),
        Value::Array(end) => graph.map_or(Value::Array(end), |graph| program(end.on(graph)).into()),
        end => end.known().map_or(end, |known| number(known).into()),
    }
}

impl<'g, D: Distribution<'g> + 'g> Distribution<'g> for Truncated<'g, D> {
    fn name(&self) -> &'static str {
        "Truncated"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.base.parameters();
        parameters.extend(self.ends());
        parameters
    }

    /// That of the base together with the ends: not that of the parameters, which may be vectors.
    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let event = self.base.event_shape();
        if !event.is_scalar() {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "a distribution of single numbers".to_owned(),
                got: event,
                source_line: Source::caller(),
            });
        }
        let ends = together(self.name(), &self.bounds.low.shape(), &self.bounds.high.shape())?;
        together(self.name(), &self.base.batch_shape()?, &ends)
    }

    fn support(&self) -> Constraint {
        let (bounds, base) = (self.bounds(None), self.base.support());
        let ends = (bounds.low.known(), bounds.high.known());
        // An end that is not there is the base's.
        match ends {
            (Some(low), Some(high)) if (low, high) == ends_of(base) => base,
            (Some(low), Some(high)) if self.is_discrete() => Constraint::IntegerInterval(low, high),
            _ if self.is_discrete() => Constraint::DependentInteger,
            _ => bounds.support(),
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let log_probability = self
            .interval(value.graph(), None, None)
            .map_or_else(|| value.constant(f64::NAN), |interval| interval.log_probability());
        self.bounds(Some(value.graph())).restrict(value, |value| {
            let log_prob = self.base.log_prob(value);
            if !self.is_discrete() {
                return log_prob - log_probability;
            }
            // What is no integer stays impossible where the interval is so too, to the last digit.
            let impossible = log_prob.equal(f64::NEG_INFINITY);
            impossible.select(f64::NEG_INFINITY, log_prob - log_probability)
        })
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

    /// Where the ends are not numbers, by the place between them.
    fn transport(&self) -> Option<Transport<'g>> {
        between(self.clone(), self.bounds(None).cut(self.base.support()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_part(value, false)?.exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_part(value, true)?.exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(by_smaller(self.log_part(value, false)?, self.sf(value)?))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(by_smaller(self.log_part(value, true)?, self.cdf(value)?))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.inverse(probability)?))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, false)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, true)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        for end in self.ends() {
            end.check(self.name())?;
        }
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.ends().iter().map(|end| end.value.kind()).fold(self.base.kind(), Kind::max)
    }
}
