//! The normal distribution.

use crate::family::NormalFamily;
use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::{at_batch_shape, normal_noise};
use ppl_core::model::ExponentialFamily;
use ppl_core::model::Map;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};
use std::f64::consts::SQRT_2;
use std::rc::Rc;

/// The normal distribution with mean `loc` and standard deviation `scale`.
///
/// ```text
/// ln p(x) = −½ ((x − loc)/scale)² − ln scale − ½ ln 2π        x real, scale > 0
/// ```
///
/// A draw is `loc + scale·z` with `z` standard normal, so it can be differentiated with respect to both
/// parameters.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Normal;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Normal::new(1.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-0.5 - 2.0_f64.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Normal<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> Normal<'g> {
    /// Mean and standard deviation. Each is a number or an array; they are broadcast together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for Normal<'g> {
    fn name(&self) -> &'static str {
        "Normal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(NormalFamily { loc: self.loc, scale: self.scale }))
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        -0.5 * ((value - loc) / scale).square() - (scale.log() + LN_SQRT_TAU)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = normal_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Ok(loc + scale * z)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.square())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + (LN_SQRT_TAU + 0.5))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(0.5 * ((loc - value) / (scale * SQRT_2)).erfc())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * probability.ndtri())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(0.5 * ((value - loc) / (scale * SQRT_2)).erfc())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((value - loc) / scale).log_ndtr())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((loc - value) / scale).log_ndtr())
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * log_probability.ndtri_exp())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * log_probability.ndtri_exp())
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let map = Map::Affine { loc: self.loc, scale: self.scale };
        Some(Transport { base: Rc::new(Normal::new(0.0, 1.0)), map })
    }
}
