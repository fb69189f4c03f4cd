//! The half-normal distribution.

use crate::shared::helpers::{at_batch_shape, normal_noise};
use crate::shared::log_space::by_smaller;
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::model::Map;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};
use std::f64::consts::{LN_2, PI, SQRT_2};
use std::rc::Rc;

/// `√(2/π)`
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
/// `ln √(2/π)`
const LN_SQRT_2_OVER_PI: f64 = -0.225_791_352_644_727_44;

/// The distribution of `|z|` for `z` normal with mean 0 and standard deviation `scale`.
///
/// ```text
/// ln p(x) = ½ ln(2/π) − ln scale − ½ (x/scale)²        x > 0, scale > 0
/// ```
///
/// A draw is `scale·|z|` with `z` standard normal.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::HalfNormal;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[HalfNormal::new(2.0).log_prob(x)])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (0.5 * (2.0 / std::f64::consts::PI).ln() - 2.0_f64.ln() - 0.125)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HalfNormal<'g> {
    pub(crate) scale: Value<'g>,
}

impl<'g> HalfNormal<'g> {
    /// Standard deviation of the normal that is folded over. It is a number or an array.
    pub fn new(scale: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for HalfNormal<'g> {
    fn name(&self) -> &'static str {
        "HalfNormal"
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
        let log_prob = -0.5 * (value / scale).square() - (scale.log() - LN_SQRT_2_OVER_PI);
        only_within(Constraint::NonNegative, value, log_prob)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = normal_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let scale = self.scale.on(graph);
        Ok((scale * z.abs()).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale * SQRT_2_OVER_PI)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.995_271_746_431_156))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.square() * (1.0 - 2.0 / PI))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + (0.5 - LN_SQRT_2_OVER_PI))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        Some((value.max(0.0) / (scale * SQRT_2)).erf())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let scale = self.scale.on(graph);
        Some(of_probability(probability, scale * SQRT_2 * probability.erfinv()))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        Some((value.max(0.0) / (scale * SQRT_2)).erfc())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let scale = self.scale.on(graph);
        let log = (-(value.max(0.0) / scale)).log_ndtr() + LN_2;
        Some(by_smaller(log, self.cdf(value)?))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let scale = self.scale.on(graph);
        Some(-(scale * (log_probability - LN_2).ndtri_exp()))
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let map = Map::Affine { loc: 0.0.into(), scale: self.scale };
        Some(Transport { base: Rc::new(HalfNormal::new(1.0)), map })
    }
}
