//! Draws by the quantile of one uniform number.

use crate::shared::helpers::uniform_noise;
use crate::shared::support::kept_inside;
use ppl_core::model::ExponentialFamily;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Distribution, Error, Graph, Noise, Parameter, Result, Shape, Transport, Var};

/// The same distribution, drawn from by its quantile at one uniform number; made by
/// [`Combine::by_quantile`](crate::Combine::by_quantile).
///
/// A draw grows with its noise and has no other, which is what antithetic pairs (`u` and `1 − u`) and
/// quasi-random points ask for. Laws that are drawn by rejection are slower this way.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Noise, Program, Shape};
/// use ppl_distributions::{Combine, Gamma};
/// let graph = Graph::new();
/// let mut noise = Noise::new(&graph, "x");
/// let draw = Gamma::new(2.5, 1.0).by_quantile().draw(&Shape::scalar(), &mut noise)?;
/// assert_eq!(noise.inputs().len(), 1);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[draw])?);
/// plan.set(&noise.inputs()[0].0, &[0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 2.175_730).abs() < 1e-5); // the median
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByQuantile<D> {
    base: D,
}

impl<D> ByQuantile<D> {
    /// The distribution that is drawn from.
    pub fn new(base: D) -> Self {
        Self { base }
    }

    /// The distribution itself.
    pub fn base(&self) -> &D {
        &self.base
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for ByQuantile<D> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        self.base.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.base.batch_shape()
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.base.log_prob(value)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let quantile = self.base.quantile(u).filter(|_| self.event_shape().is_scalar());
        let told =
            || Error::Unsupported(format!("a draw from {} by its quantile: none is known", self.name()));
        let drawn = quantile.ok_or_else(told)?;
        Ok(kept_inside(self.support(), drawn))
    }

    fn reparameterised(&self) -> bool {
        !self.support().is_discrete()
    }

    fn transport(&self) -> Option<Transport<'g>> {
        self.base.transport()
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        self.base.family()
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.mean(graph)
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.variance(graph)
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.entropy(graph)
    }

    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.mode(graph)
    }

    fn median(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.median(graph)
    }

    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.skewness(graph)
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.cdf(value)
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile(probability)
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.sf(value)
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.log_cdf(value)
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.log_sf(value)
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile_of_log_cdf(log_probability)
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile_of_log_sf(log_probability)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()
    }

    fn kind(&self) -> Kind {
        self.base.kind()
    }
}
