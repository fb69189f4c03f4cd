//! The Cauchy distribution.

use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::quantiles::of_probability;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{LN_2, PI};

/// `ln π`
const LN_PI: f64 = 1.144_729_885_849_400_2;

/// The Cauchy distribution around `loc`, whose quartiles lie `scale` away from it.
///
/// ```text
/// ln p(x) = −ln(1 + ((x − loc)/scale)²) − ln(π scale)        x real, scale > 0
/// ```
///
/// It has no mean and no variance: both are NaN. A draw is the quantile of uniform noise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Cauchy;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Cauchy::new(1.0, 2.0).log_prob(x)])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-2.0_f64.ln() - (2.0 * std::f64::consts::PI).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cauchy<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> Cauchy<'g> {
    /// Median and half the distance of the quartiles. Each is a number or an array; they are broadcast
    /// together.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }

    /// The quantile at a probability, or at uniform noise.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        // cot πq from the nearer end, where q is exact.
        let near = probability.min(1.0 - probability);
        let cotangent = (PI * near).cos() / (PI * near).sin();
        loc + scale * ((probability - 0.5).sign() * cotangent)
    }
}

impl<'g> Distribution<'g> for Cauchy<'g> {
    fn name(&self) -> &'static str {
        "Cauchy"
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
        -((value - loc) / scale).log1p_square() - (scale.log() + LN_PI)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::NAN))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::NAN))
    }

    /// It has none.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(f64::NAN))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        at_batch_shape(self, scale.log() + (LN_PI + 2.0 * LN_2))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        let z = (value - loc) / scale;
        // On the left through 1/z, so that small probabilities keep their digits; there z is not 0.
        let left = z.less(-1.0);
        Some(left.select(-left.select(z, -1.0).reciprocal().atan() / PI, 0.5 + z.atan() / PI))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.inverse(probability)))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        // The distribution function of the mirror image.
        self.cdf(2.0 * self.loc.on(graph) - value)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let loc = self.loc.on(log_probability.graph());
        Some(2.0 * loc - self.inverse(log_probability.exp()))
    }
}
