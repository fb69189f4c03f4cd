//! The normal distribution restricted to an interval.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{LN_SQRT_TAU, at_batch_shape, uniform_noise};
use crate::shared::log_space::by_smaller;
use crate::shared::moved::between;
use crate::shared::quantiles::of_probability;
use crate::{Normal, Truncated};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};

/// The normal distribution with mean `loc` and standard deviation `scale` (before it is cut), given that it
/// lies between `low` and `high`.
///
/// ```text
/// ln p(x) = −½ z² − ½ ln 2π − ln scale − ln(Φ(β) − Φ(α))        low ≤ x ≤ high, and −∞ outside
/// z = (x − loc)/scale,  α = (low − loc)/scale,  β = (high − loc)/scale
/// ```
///
/// Either end may be an infinite number. If the ends are numbers the support is the set between them;
/// otherwise it depends on values of the model. All is computed from logarithms of probabilities, so the
/// interval may be narrow, or many standard deviations away: beyond about 10⁵ of them, the error of a log
/// density (a rounding of α²/2) reaches 10⁻⁶.
///
/// A draw is the quantile of uniform noise; it can be differentiated with respect to all parameters.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::TruncatedNormal;
/// let graph = Graph::new();
/// // Forty standard deviations out, it is all but exponential with rate 40.
/// let distribution = TruncatedNormal::new(0.0, 1.0, 40.0, f64::INFINITY);
/// let mean = distribution.mean(&graph).expect("a formula");
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[mean])?);
/// plan.run();
/// assert!((plan.output(0)[0] - (40.0 + 1.0 / 40.0 - 2.0 / 40.0_f64.powi(3))).abs() < 1e-6);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TruncatedNormal<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
    bounds: Bounds<'g>,
}

impl<'g> TruncatedNormal<'g> {
    /// The same law by the distribution function of what is cut.
    fn by_base(&self) -> Truncated<'g, Normal<'g>> {
        Truncated::new(Normal::new(self.loc, self.scale), self.bounds.low, self.bounds.high)
    }

    /// Mean and standard deviation of the normal that is cut, and the ends; each is a number or an array,
    /// broadcast together.
    pub fn new(
        loc: impl Into<Value<'g>>,
        scale: impl Into<Value<'g>>,
        low: impl Into<Value<'g>>,
        high: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), scale: scale.into(), bounds: Bounds::new(low, high) }
    }

    fn standardised(&self, value: Var<'g>) -> Var<'g> {
        (value - self.loc.on(value.graph())) / self.scale.on(value.graph())
    }

    /// (α, β). Infinite ends stay constants, for their derivatives are 0 and not 0·∞.
    fn ends(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let end = |open: bool, value: Value<'g>| {
            if open { value.on(graph) } else { self.standardised(value.on(graph)) }
        };
        (end(self.bounds.open_below(), self.bounds.low), end(self.bounds.open_above(), self.bounds.high))
    }

    /// `ln(Φ(b) − Φ(a))` for `a` at the lower end or above.
    fn log_probability(&self, a: Var<'g>, b: Var<'g>) -> Var<'g> {
        match (self.bounds.open_below(), self.bounds.open_above()) {
            (true, true) => a.constant(0.0),
            (true, false) => b.log_ndtr(),
            (false, true) => (-a).log_ndtr(),
            (false, false) => a.log_ndtr_difference(b),
        }
    }

    /// The interval as it is seen from the end near to `loc`, where it does not hold `loc`.
    #[track_caller]
    fn seen(&self, graph: &'g Graph) -> Seen<'g> {
        let (scale, (a, b)) = (self.scale.on(graph), self.ends(graph));
        let open = self.bounds.open_below() || self.bounds.open_above();
        let (right, left) = (a.greater(0.0), b.less(0.0));
        let far = right + left;
        // Numbers that are harmless where the other form is the one that is meant; infinite ends stay out of
        // derivatives.
        let from = match (self.bounds.open_below(), self.bounds.open_above()) {
            (true, true) => graph.constant(1.0),
            (false, true) => right.select(a, 1.0),
            (true, false) => left.select(-b, 1.0),
            (false, false) => right.select(a, left.select(-b, 1.0)),
        };
        let width = if open {
            graph.constant(f64::INFINITY)
        } else {
            far.select((self.bounds.high.on(graph) - self.bounds.low.on(graph)) / scale, 1.0)
        };
        let from_mode = if self.bounds.open_below() { a } else { far.select(-1.0, a) };
        let to_mode = if self.bounds.open_above() { b } else { far.select(1.0, b) };
        let near = self.log_probability(from_mode, to_mode);
        Seen { right, left, far, from, width, near }
    }

    /// The distance of a value from the end near to `loc`, in standard deviations, or from `loc` where that
    /// lies between the bounds.
    #[track_caller]
    fn distance(&self, seen: &Seen<'g>, value: Var<'g>) -> Var<'g> {
        // Shared bounds have one end and one direction for all values.
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let (end, upwards) = if self.bounds.open_above() {
            (loc, scale)
        } else {
            (seen.left.select(self.bounds.high, loc), seen.left.select(-scale, scale))
        };
        let end = if self.bounds.open_below() { end } else { seen.right.select(self.bounds.low, end) };
        (value - end) / upwards
    }

    /// The log density at a value between the bounds.
    ///
    /// Of an interval that does not hold `loc`, the density is seen from the end near to it: with the distances
    /// `d` of the value and `w` of the other end from there, and `a` of the end itself from `loc`, in standard
    /// deviations, it is `−d(a + d/2) − ln ∫₀ʷ exp(−av − v²/2) dv`. No term is larger than the result needs,
    /// where `−z²/2 − ln(Φ(b) − Φ(a))` is a difference of two numbers of size `a²/2`.
    #[track_caller]
    fn log_prob_inside(&self, value: Var<'g>) -> Var<'g> {
        let seen = self.seen(value.graph());
        let distance = self.distance(&seen, value);
        let slope = seen.far.select(seen.from, 0.0) + 0.5 * distance;
        -(distance * slope) - (self.scale.on(value.graph()).log() + seen.log_mass())
    }

    /// The law of minus the variable.
    fn mirrored(&self, graph: &'g Graph) -> Self {
        let minus = |value: Value<'g>| match value {
            Value::Known(number) => Value::Known(-number),
            other => (-other.on(graph)).into(),
        };
        let bounds = Bounds::new(minus(self.bounds.high), minus(self.bounds.low));
        Self { loc: minus(self.loc), scale: self.scale, bounds }
    }

    /// The logarithm of the distribution function: nothing at the lower end and before, and all at the upper one and
    /// behind, whatever the parameters.
    #[track_caller]
    fn log_below(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let [low, high, scale] = [self.bounds.low, self.bounds.high, self.scale].map(|value| value.on(graph));
        let below = (!self.bounds.open_below()).then(|| value.less_equal(low));
        let above = (!self.bounds.open_above()).then(|| value.greater_equal(high));
        let inner = match (below, above) {
            (None, None) => return self.log_below_inside(value),
            (Some(_), None) => low + scale,
            (None, Some(_)) => high - scale,
            (Some(_), Some(_)) => 0.5 * low + 0.5 * high,
        };
        let keep = |outside: Option<Var<'g>>, value: Var<'g>, other: Var<'g>| match outside {
            Some(outside) => outside.select(other, value),
            None => value,
        };
        let log = self.log_below_inside(keep(above, keep(below, value, inner), inner));
        keep(above, keep(below, log, graph.constant(f64::NEG_INFINITY)), graph.constant(0.0))
    }

    /// The same of a value between the ends.
    #[track_caller]
    fn log_below_inside(&self, value: Var<'g>) -> Var<'g> {
        let (seen, (a, _)) = (self.seen(value.graph()), self.ends(value.graph()));
        let z = self.standardised(value);
        let below = match self.bounds.open_below() {
            true => z.log_ndtr(),
            false => seen.far.select(-1.0, a).log_ndtr_difference(seen.far.select(0.0, z.max(a))),
        };
        let middle = below - seen.near;
        // Right of `loc` what lies before the value, left of it what lies behind, seen from the value itself.
        let distance = seen.far.select(self.distance(&seen, value), 0.5);
        let start = distance.less_equal(0.0);
        let whole = seen.from.log_normal_tail(seen.width);
        let before = start.select(f64::NEG_INFINITY, seen.from.log_normal_tail(start.select(0.5, distance)));
        let rest = seen.width - distance;
        let end = rest.less_equal(0.0);
        let behind = (seen.from + distance).log_normal_tail(end.select(0.5, rest))
            - distance * (seen.from + 0.5 * distance);
        let behind = end.select(f64::NEG_INFINITY, behind);
        let far = seen.right.select(before, behind) - whole;
        seen.far.select(far, middle).min(0.0)
    }

    /// The quantile at a probability, or at uniform noise.
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (a, b) = self.ends(graph);
        let z = match (self.bounds.open_below(), self.bounds.open_above()) {
            (true, true) => probability.ndtri(),
            (true, false) => (b.log_ndtr() + probability.log()).ndtri_exp(),
            (false, true) => -((-a).log_ndtr() + (-probability).log1p()).ndtri_exp(),
            (false, false) => {
                // Seen from the left, where Φ is small and its logarithm keeps all digits.
                let turn = (a + b).greater(0.0);
                let (left, right) = (turn.select(-b, a), turn.select(-a, b));
                let share = turn.select(1.0 - probability, probability);
                let (low, high) = (left.log_ndtr(), right.log_ndtr());
                let ratio = (low - high).exp();
                let z = (high + (ratio + share * (1.0 - ratio)).log()).ndtri_exp();
                turn.select(-z, z)
            }
        };
        self.bounds.clamp(self.loc.on(graph) + self.scale.on(graph) * z)
    }
}

/// An interval as the density sees it.
struct Seen<'g> {
    /// Whether it lies right of `loc`, left of it, or either.
    right: Var<'g>,
    left: Var<'g>,
    far: Var<'g>,
    /// How far from `loc` its near end is, and how wide it is, in standard deviations.
    from: Var<'g>,
    width: Var<'g>,
    /// The logarithm of its probability, if it holds `loc`.
    near: Var<'g>,
}

impl<'g> Seen<'g> {
    /// The logarithm of the probability by the density at the near end, or by that at `loc`.
    #[track_caller]
    fn log_mass(&self) -> Var<'g> {
        self.far.select(self.from.log_normal_tail(self.width), self.near + LN_SQRT_TAU)
    }
}

impl<'g> Distribution<'g> for TruncatedNormal<'g> {
    fn name(&self) -> &'static str {
        "TruncatedNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ];
        parameters.extend(self.bounds.parameters());
        parameters
    }

    fn support(&self) -> Constraint {
        self.bounds.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.bounds.restrict(value, |value| self.log_prob_inside(value))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u))
    }

    /// Where the ends are not numbers, by the place between them.
    fn transport(&self) -> Option<Transport<'g>> {
        between(*self, self.bounds)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (seen, (a, b)) = (self.seen(graph), self.ends(graph));
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        // From the near end, which may be small beside `loc`.
        let excess = scale * seen.from.normal_tail_mean(seen.width);
        let about_loc = loc + scale * a.normal_interval_mean(b);
        let of_left = match self.bounds.open_above() {
            true => about_loc,
            false => seen.left.select(self.bounds.high.on(graph) - excess, about_loc),
        };
        let mean = match self.bounds.open_below() {
            true => of_left,
            false => seen.right.select(self.bounds.low.on(graph) + excess, of_left),
        };
        at_batch_shape(self, mean)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, self.bounds.clamp(loc))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, b) = self.ends(graph);
        at_batch_shape(self, self.scale.on(graph).square() * a.normal_interval_variance(b))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (seen, (a, b)) = (self.seen(graph), self.ends(graph));
        // −E ln p, with the distance's square from its mean and variance
        let variance = a.normal_interval_variance(b);
        let excess = seen.from.normal_tail_mean(seen.width);
        let mean = seen.far.select(excess, a.normal_interval_mean(b));
        let fall = seen.far.select(seen.from * excess, 0.0) + 0.5 * (mean.square() + variance);
        at_batch_shape(self, fall + seen.log_mass() + self.scale.on(graph).log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_below(value).exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.mirrored(value.graph()).log_below(-value).exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(by_smaller(self.log_below(value), self.sf(value)?))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(by_smaller(self.mirrored(value.graph()).log_below(-value), self.cdf(value)?))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.inverse(probability)))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.by_base().quantile_of_log_cdf(log_probability)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.by_base().quantile_of_log_sf(log_probability)
    }
}
