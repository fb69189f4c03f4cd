//! The normal distribution.

use ppl_core::{
    Constraint, Distribution, Map, Noise, NoiseKind, Parameter, Result, Shape, Transport, Value, Var,
};
use std::rc::Rc;

/// `ln √(2π)`
const LOG_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// The normal distribution with mean `loc` and standard deviation `scale`.
///
/// ```text
/// ln p(x) = −½ ((x − loc)/scale)² − ln scale − ½ ln 2π        x real, scale > 0
/// ```
///
/// A draw is `loc + scale·z` with `z` standard normal, so it can be differentiated with respect to both parameters.
///
/// ```
/// use ppl_core::{Distribution, Graph, Plan, Program};
/// use ppl_distributions::Normal;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let log_prob = Normal::new(1.0, 2.0).log_prob(x);
/// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// let expected = -0.5 - 2.0_f64.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
/// assert!((plan.output(0)[0] - expected).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Normal<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> Normal<'g> {
    /// Mean and standard deviation; each a number or an array, broadcast together.
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

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (loc, scale) = (self.loc.on(value.graph()), self.scale.on(value.graph()));
        -0.5 * ((value - loc) / scale).square() - (scale.log() + LOG_SQRT_2PI)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
        Ok(self.loc.on(noise.graph()) + self.scale.on(noise.graph()) * z)
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let map = Map::Affine { loc: self.loc, scale: self.scale };
        Some(Transport { base: Rc::new(Normal::new(0.0, 1.0)), map })
    }
}
