//! The log-normal distribution.

use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::{at_batch_shape, normal_noise};
use crate::shared::support::{cdf_above_zero, within};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::SQRT_2;

/// The distribution of `eʸ` for `y` normal with mean `loc` and standard deviation `scale`.
///
/// ```text
/// ln p(x) = −½ ((ln x − loc)/scale)² − ln x − ln scale − ½ ln 2π        x > 0, scale > 0
/// ```
///
/// A draw is `exp(loc + scale·z)` with `z` standard normal.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::LogNormal;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[LogNormal::new(0.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-2.0_f64.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogNormal<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> LogNormal<'g> {
    /// Mean and standard deviation of the logarithm. Each is a number or an array; they are broadcast
    /// together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for LogNormal<'g> {
    fn name(&self) -> &'static str {
        "LogNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Positive
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        within(Constraint::Positive, value, 1.0, |value| {
            let log = value.log();
            -0.5 * ((log - loc) / scale).square() - (log + (scale.log() + LN_SQRT_TAU))
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = normal_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Ok((loc + scale * z).exp().clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        at_batch_shape(self, (loc + 0.5 * scale.square()).exp())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        let scale = self.scale.on(graph);
        at_batch_shape(self, (loc - scale.square()).exp())
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        let square = scale.square();
        at_batch_shape(self, (square.exp() + 2.0) * square.expm1().sqrt())
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let square = scale.square();
        at_batch_shape(self, square.expm1() * (2.0 * loc + square).exp())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        at_batch_shape(self, loc + (scale.log() + (LN_SQRT_TAU + 0.5)))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(cdf_above_zero(value, |value| 0.5 * ((loc - value.log()) / (scale * SQRT_2)).erfc()))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some((loc + scale * probability.ndtri()).exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        Some(outside.select(1.0, 0.5 * ((log - loc) / (scale * SQRT_2)).erfc()))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        Some(outside.select(f64::NEG_INFINITY, ((log - loc) / scale).log_ndtr()))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        Some(outside.select(0.0, ((loc - log) / scale).log_ndtr()))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some((loc + scale * log_probability.ndtri_exp()).exp())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some((loc - scale * log_probability.ndtri_exp()).exp())
    }
}
