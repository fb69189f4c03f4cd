//! The Gumbel distribution.

use crate::shared::helpers::{EULER, at_batch_shape, log_of_rest, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::PI;

/// The Gumbel distribution of the largest of many, with mode `loc`.
///
/// ```text
/// ln p(x) = −z − e⁻ᶻ − ln scale        z = (x − loc)/scale, x real, scale > 0
/// ```
///
/// A draw is the quantile of uniform noise, `loc − scale·ln(−ln u)`.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Gumbel;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Gumbel::new(1.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-1.0 - 2.0_f64.ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gumbel<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> Gumbel<'g> {
    /// Mode and scale. Each is a number or an array; they are broadcast together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for Gumbel<'g> {
    fn name(&self) -> &'static str {
        "Gumbel"
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
        // Bounded where its exponential is infinite: no difference of infinities is left at −∞.
        let fall = ((loc - value) / scale).min(1e30);
        fall - fall.exp() - scale.log()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Ok(loc - scale * (-u.log()).log())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        at_batch_shape(self, loc + scale * EULER)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(1.139_547_099_404_648_6))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.square() * (PI * PI / 6.0))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + (EULER + 1.0))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some((-((loc - value) / scale).exp()).exp())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * (-probability.log()).log())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(-(-((loc - value) / scale).exp()).expm1())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(-((loc - value) / scale).exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        // ln(1 − e^−t) for t = e^−z; for the least t it is −z.
        let fall = (loc - value) / scale;
        let tiny = fall.less(-40.0);
        Some(tiny.select(fall, log_of_rest(-tiny.select(0.0, fall).exp())))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * (-log_probability).log())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let tiny = log_probability.less(-40.0);
        let rest = -log_of_rest(tiny.select(-1.0, log_probability));
        Some(loc - scale * tiny.select(log_probability, rest.log()))
    }
}
