//! The logistic distribution.

use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::PI;

/// The logistic distribution: its distribution function is the sigmoid of `(x − loc)/scale`.
///
/// ```text
/// ln p(x) = −|z| − 2 ln(1 + e^−|z|) − ln scale        z = (x − loc)/scale, x real, scale > 0
/// ```
///
/// A draw is the quantile of uniform noise, `loc + scale·logit(u)`.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Logistic;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Logistic::new(1.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-8.0_f64.ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Logistic<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> Logistic<'g> {
    /// Median and scale. Each is a number or an array; they are broadcast together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for Logistic<'g> {
    fn name(&self) -> &'static str {
        "Logistic"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let fall = -((value - loc) / scale).abs();
        fall - 2.0 * fall.softplus() - scale.log()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Ok(loc + scale * u.logit())
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
        at_batch_shape(self, scale.square() * (PI * PI / 3.0))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + 2.0)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((value - loc) / scale).sigmoid())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * probability.logit())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((loc - value) / scale).sigmoid())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((value - loc) / scale).log_sigmoid())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(((loc - value) / scale).log_sigmoid())
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * (log_probability - log_of_rest(log_probability)))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * (log_probability - log_of_rest(log_probability)))
    }
}
