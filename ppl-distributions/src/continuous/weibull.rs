//! The Weibull distribution.

use crate::shared::helpers::EULER;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::support::{at_end, cdf_above_zero, from_zero};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The distribution of `scale·e^(1/concentration)` for `e` exponential with mean 1.
///
/// ```text
/// ln p(x) = ln k − ln x + k t − e^(k t)        t = ln(x/scale), k = concentration, x > 0
/// ```
///
/// A draw is the quantile of uniform noise, so `x/scale` lies between `2^(−53/k)` and `37^(1/k)`; for `k`
/// below 0.05 that is beyond the numbers there are.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Weibull;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Weibull::new(2.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[2.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (3.0_f64.ln() - 2.0_f64.ln() - 1.0)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Weibull<'g> {
    pub(crate) scale: Value<'g>,
    pub(crate) concentration: Value<'g>,
}

impl<'g> Weibull<'g> {
    /// Scale and concentration (shape). Each is a number or an array; they are broadcast together.
    pub fn new(scale: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into(), concentration: concentration.into() }
    }

    /// The quantile at a probability, or at uniform noise.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        scale * ((-(-probability).log1p()).log() / concentration).exp()
    }
}

impl<'g> Distribution<'g> for Weibull<'g> {
    fn name(&self) -> &'static str {
        "Weibull"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        // The density of an exponential variable has a value at 0.
        if self.concentration.known() == Some(1.0) { Constraint::NonNegative } else { Constraint::Positive }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let at_zero = || at_end(concentration - 1.0, concentration.log() - scale.log());
        from_zero(value, at_zero, |value| {
            let log = value.log();
            let power = (concentration * (log - scale.log())).min(1e30);
            power - power.exp() - (log - concentration.log())
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        at_batch_shape(self, scale * concentration.reciprocal().lgamma1p().exp())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        let concentration = self.concentration.on(graph);
        let rest = ((concentration - 1.0) / concentration).max(0.0);
        at_batch_shape(self, scale * rest.pow(concentration.reciprocal()))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let inverse = concentration.reciprocal();
        let first = inverse.lgamma1p();
        at_batch_shape(
            self, // Γ(1 + 2/k) − Γ(1 + 1/k)², which is small where k is large
            (scale * first.exp()).square() * ((2.0 * inverse).lgamma1p() - 2.0 * first).expm1(),
        )
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        at_batch_shape(
            self,
            scale.log() - concentration.log() + (1.0 - concentration.reciprocal()) * EULER + 1.0,
        )
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        Some(cdf_above_zero(value, |value| -(-(concentration * (value.log() - scale.log())).exp()).expm1()))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        Some(outside.select(0.0, -(concentration * (log - scale.log())).exp()))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        Some(scale * ((-log_probability).log() / concentration).exp())
    }
}
