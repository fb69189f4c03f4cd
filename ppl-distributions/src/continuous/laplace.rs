//! The Laplace distribution.

use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::LN_2;

/// The logarithm of the probability above `z` of the standard law.
#[track_caller]
fn log_tail(z: Var<'_>) -> Var<'_> {
    let right = z.greater(0.0);
    right.select(-z - LN_2, (-0.5 * right.select(0.0, z).exp()).log1p())
}

/// The number above which the standard law has a probability of this logarithm.
#[track_caller]
fn tail_of(log_probability: Var<'_>) -> Var<'_> {
    let right = log_probability.less_equal(-LN_2);
    let rest = log_of_rest(right.select(-LN_2, log_probability));
    right.select(-log_probability - LN_2, rest + LN_2)
}

/// The Laplace distribution: two exponential distributions of mean `scale`, back to back at `loc`.
///
/// ```text
/// ln p(x) = −|x − loc|/scale − ln(2 scale)        x real, scale > 0
/// ```
///
/// A draw is the quantile of uniform noise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Laplace;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Laplace::new(1.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-1.0 - 4.0_f64.ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Laplace<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> Laplace<'g> {
    /// Median and mean distance from it. Each is a number or an array; they are broadcast together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }

    /// The quantile at a probability, or at uniform noise.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let near = probability.min(1.0 - probability);
        loc - scale * ((probability - 0.5).sign() * (2.0 * near).log())
    }
}

impl<'g> Distribution<'g> for Laplace<'g> {
    fn name(&self) -> &'static str {
        "Laplace"
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
        -(value - loc).abs() / scale - (scale.log() + LN_2)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u))
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
        at_batch_shape(self, 2.0 * scale.square())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + (LN_2 + 1.0))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let z = (value - loc) / scale;
        let tail = 0.5 * (-z.abs()).exp();
        Some(z.less(0.0).select(tail, 1.0 - tail))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let z = (value - loc) / scale;
        let tail = 0.5 * (-z.abs()).exp();
        Some(z.greater(0.0).select(tail, 1.0 - tail))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(log_tail((loc - value) / scale))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(log_tail((value - loc) / scale))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * tail_of(log_probability))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * tail_of(log_probability))
    }
}
