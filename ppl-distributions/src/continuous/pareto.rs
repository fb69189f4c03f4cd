//! The Pareto distribution.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::moved::between;
use crate::shared::quantiles::of_probability;
use crate::shared::support::unless;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};

/// The Pareto distribution: a power law from `scale` on.
///
/// ```text
/// ln p(x) = ln α + α ln scale − (α + 1) ln x        x > scale > 0, α > 0, and −∞ below
/// ```
///
/// Its support is known if `scale` is a number, and depends on a value of the model otherwise. The mean is
/// infinite for `α ≤ 1`, the variance for `α ≤ 2`. A draw is the quantile of uniform noise,
/// `scale·(1 − u)^(−1/α)`, above `scale` by one rounding at least.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Pareto;
/// let graph = Graph::new();
/// let x = graph.input("x", 2)?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Pareto::new(1.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[2.0, 0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (3.0 / 16.0_f64).ln()).abs() < 1e-15);
/// assert_eq!(plan.output(0)[1], f64::NEG_INFINITY);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pareto<'g> {
    pub(crate) scale: Value<'g>,
    pub(crate) alpha: Value<'g>,
}

impl<'g> Pareto<'g> {
    /// The least outcome, and the exponent. Each is a number or an array; they are broadcast together.
    pub fn new(scale: impl Into<Value<'g>>, alpha: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into(), alpha: alpha.into() }
    }

    fn bounds(&self) -> Bounds<'g> {
        Bounds::new(self.scale, f64::INFINITY)
    }

    /// The quantile at a probability, or at uniform noise.
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let (scale, alpha) = (self.scale.on(probability.graph()), self.alpha.on(probability.graph()));
        scale * (-(-probability).log1p() / alpha).exp()
    }
}

impl<'g> Distribution<'g> for Pareto<'g> {
    fn name(&self) -> &'static str {
        "Pareto"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            Parameter { name: "alpha", value: self.alpha, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        self.bounds().support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (scale, alpha) = (self.scale.on(value.graph()), self.alpha.on(value.graph()));
        unless(Some(value.less(scale)), value, scale, |value| {
            let log = value.log();
            alpha.log() - alpha * (log - scale.log()) - log
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let drawn = self.inverse(u).clamp_positive();
        Ok(match self.scale.known() {
            Some(scale) => drawn.at_least(scale),
            None => drawn.max(self.scale),
        })
    }

    /// Where the ends are not numbers, by the place between them.
    fn transport(&self) -> Option<Transport<'g>> {
        between(*self, self.bounds())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, alpha) = (self.scale.on(graph), self.alpha.on(graph));
        let exists = alpha.greater(1.0);
        let excess = exists.select(alpha, 2.0) - 1.0;
        at_batch_shape(self, exists.select(scale * (1.0 + excess.reciprocal()), f64::INFINITY))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let alpha = self.alpha.on(graph);
        let exists = alpha.greater(3.0);
        let a = exists.select(alpha, 4.0);
        at_batch_shape(self, exists.select(2.0 * (a + 1.0) / (a - 3.0) * ((a - 2.0) / a).sqrt(), f64::NAN))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, alpha) = (self.scale.on(graph), self.alpha.on(graph));
        let exists = alpha.greater(2.0);
        let safe = exists.select(alpha, 3.0);
        let finite = (scale / (safe - 1.0)).square() * safe / (safe - 2.0);
        at_batch_shape(self, exists.select(finite, f64::INFINITY))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, alpha) = (self.scale.on(graph), self.alpha.on(graph));
        at_batch_shape(self, scale.log() - alpha.log() + alpha.reciprocal() + 1.0)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (scale, alpha) = (self.scale.on(value.graph()), self.alpha.on(value.graph()));
        // ln(x/scale) by the relative distance, for it may be small.
        let distance = ((value - scale) / scale).max(0.0);
        Some(-(-(alpha * distance.log1p())).expm1())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.inverse(probability)))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, alpha) = (self.scale.on(graph), self.alpha.on(graph));
        let distance = ((value - scale) / scale).max(0.0);
        Some(-(alpha * distance.log1p()))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (scale, alpha) = (self.scale.on(graph), self.alpha.on(graph));
        Some(scale * (-log_probability / alpha).exp())
    }
}
