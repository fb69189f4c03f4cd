//! The normal distribution restricted to an interval.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{LN_SQRT_TAU, at_batch_shape, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

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

    /// The quantile at a probability, or at uniform noise.
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (a, b) = self.ends(graph);
        let z = match (self.bounds.open_below(), self.bounds.open_above()) {
            (true, true) => probability.ndtri(),
            (true, false) => (b.log_ndtr() + probability.log()).ndtri_exp(),
            (false, true) => -((-a).log_ndtr() + (-probability).log1p()).ndtri_exp(),
            (false, false) => {
                // Seen from the left, where Φ is small and its logarithm tells all.
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
        let (a, b) = self.ends(value.graph());
        let constant = self.scale.on(value.graph()).log() + LN_SQRT_TAU + self.log_probability(a, b);
        self.bounds.restrict(value, -0.5 * self.standardised(value).square() - constant)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, b) = self.ends(graph);
        at_batch_shape(self, self.loc.on(graph) + self.scale.on(graph) * a.normal_interval_mean(b))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, b) = self.ends(graph);
        at_batch_shape(self, self.scale.on(graph).square() * a.normal_interval_variance(b))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, b) = self.ends(graph);
        // −E ln p, with E z² from mean and variance
        let square = a.normal_interval_mean(b).square() + a.normal_interval_variance(b);
        let constant = self.scale.on(graph).log() + LN_SQRT_TAU;
        at_batch_shape(self, 0.5 * square + self.log_probability(a, b) + constant)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (a, b) = self.ends(value.graph());
        let z = self.standardised(self.bounds.clamp(value));
        let below = if self.bounds.open_below() { z.log_ndtr() } else { a.log_ndtr_difference(z.max(a)) };
        Some((below - self.log_probability(a, b)).exp().min(1.0))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }
}
