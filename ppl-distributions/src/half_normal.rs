//! The half-normal distribution.

use ppl_core::{
    Constraint, Distribution, Map, Noise, NoiseKind, Parameter, Result, Shape, Transport, Value, Var,
};
use std::rc::Rc;

/// `ln √(2/π)`
const LOG_SQRT_2_OVER_PI: f64 = -0.225_791_352_644_727_44;

/// The distribution of `|z|` for `z` normal with mean 0 and standard deviation `scale`.
///
/// ```text
/// ln p(x) = ½ ln(2/π) − ln scale − ½ (x/scale)²        x > 0, scale > 0
/// ```
///
/// ```
/// use ppl_core::{Distribution, Graph, Plan, Program};
/// use ppl_distributions::HalfNormal;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[HalfNormal::new(2.0).log_prob(x)])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// let expected = 0.5 * (2.0 / std::f64::consts::PI).ln() - 2.0_f64.ln() - 0.125;
/// assert!((plan.output(0)[0] - expected).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HalfNormal<'g> {
    scale: Value<'g>,
}

impl<'g> HalfNormal<'g> {
    /// Standard deviation of the normal that is folded over; a number or an array.
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
        Constraint::Positive
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let scale = self.scale.on(value.graph());
        -0.5 * (value / scale).square() - (scale.log() - LOG_SQRT_2_OVER_PI)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
        Ok(self.scale.on(noise.graph()) * z.abs())
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let map = Map::Affine { loc: 0.0.into(), scale: self.scale };
        Some(Transport { base: Rc::new(HalfNormal::new(1.0)), map })
    }
}
