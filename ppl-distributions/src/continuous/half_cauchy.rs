//! The half-Cauchy distribution.

use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// `ln(2/π)`
const LN_2_OVER_PI: f64 = -0.451_582_705_289_454_9;
/// `ln 2π`
const LN_TAU: f64 = 1.837_877_066_409_345_6;

/// The distribution of `|y|` for `y` Cauchy around 0 with this `scale`, which is its median.
///
/// ```text
/// ln p(x) = ln 2 − ln(1 + (x/scale)²) − ln(π scale)        x > 0, scale > 0
/// ```
///
/// Mean and variance are infinite. A draw is the quantile of uniform noise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::HalfCauchy;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[HalfCauchy::new(2.0).log_prob(x)])?);
/// plan.set("x", &[2.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-(2.0 * std::f64::consts::PI).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HalfCauchy<'g> {
    pub(crate) scale: Value<'g>,
}

impl<'g> HalfCauchy<'g> {
    /// Median. It is a number or an array.
    pub fn new(scale: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into() }
    }

    /// The outcome below which lies `probability`, and above which lies `rest`.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>, rest: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let scale = self.scale.on(graph);
        // tan(πp/2), on the right as the cotangent of what is missing to π/2, which is exact.
        let right = probability.greater(0.5);
        let angle = FRAC_PI_2 * right.select(rest, probability);
        let (sine, cosine) = (angle.sin(), angle.cos());
        scale * (right.select(cosine, sine) / right.select(sine, cosine))
    }
}

impl<'g> Distribution<'g> for HalfCauchy<'g> {
    fn name(&self) -> &'static str {
        "HalfCauchy"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scale", value: self.scale, domain: Constraint::Positive }]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegative
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        let log_prob = -(value / scale).log1p_square() - (scale.log() - LN_2_OVER_PI);
        only_within(Constraint::NonNegative, value, log_prob)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u, 1.0 - u).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::INFINITY))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::INFINITY))
    }

    /// It has none.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::NAN))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + LN_TAU)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        Some((value.max(0.0) / scale).atan() * FRAC_2_PI)
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.inverse(probability, 1.0 - probability)))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        let z = value.max(0.0) / scale;
        let far = z.greater(1.0);
        let tail = far.select(z, 1.0).reciprocal().atan() * FRAC_2_PI;
        Some(far.select(tail, 1.0 - far.select(1.0, z).atan() * FRAC_2_PI))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(-log_probability.expm1(), log_probability.exp()))
    }
}
