//! Normal variables that sum to 0.

use crate::Normal;
use crate::shared::arrays::{LOG_2PI, column, sum_last};
use crate::shared::support::unless_event;
use ppl_core::model::Map;
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source, Transport,
    Value, Var,
};
use std::rc::Rc;

/// Normal variables that sum to 0: effects of the levels of a factor, of which one would otherwise be redundant.
///
/// ```text
/// ln p(x) = −½ ‖x‖²/scale² − (n − 1)(ln scale + ½ ln 2π)        Σ x_i = 0;   covariance scale² (I − 1/n)
/// ```
///
/// It is a density in the plane of vectors that sum to 0, with respect to its volumes: that of `n` independent normal
/// variables given that they sum to 0. No level is singled out. The law is an image of `n − 1` standard normal
/// variables ([`Constraint::ZeroSum`], an isometry), which `handlers::reparam` uses.
///
/// ```
/// use ppl_core::prelude::*;
/// use ppl_distributions::prelude::*;
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let scale = ctx.sample("scale", HalfNormal::new(1.0))?;
///     let effects = ctx.sample("effects", ZeroSumNormal::new(scale, 4))?;
///     ctx.each_record(|ctx, record| {
///         let centre = effects.gather(record.index("level")?);
///         ctx.observe("y", Normal::new(centre, 1.0), record.get("y")?)
///     })
/// }
/// # let _ = model;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ZeroSumNormal<'g> {
    scale: Value<'g>,
    count: usize,
}

impl<'g> ZeroSumNormal<'g> {
    /// Standard deviation before the sum is taken out, a number or an array, and the number of variables, at least 2.
    pub fn new(scale: impl Into<Value<'g>>, count: usize) -> Self {
        Self { scale: scale.into(), count }
    }

    /// `n − 1`
    fn free(&self) -> usize {
        self.count.saturating_sub(1)
    }

    /// The image of standard normal variables `[…, n − 1]`.
    #[track_caller]
    fn of_standard(&self, z: Var<'g>) -> Var<'g> {
        column(self.scale.on(z.graph())) * Constraint::ZeroSum.constrain(z)
    }
}

impl<'g> Distribution<'g> for ZeroSumNormal<'g> {
    fn name(&self) -> &'static str {
        "ZeroSumNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scale", value: self.scale, domain: Constraint::Positive }]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.count)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        if self.count < 2 {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "at least 2 variables".to_owned(),
                got: self.event_shape(),
                source_line: Source::caller(),
            });
        }
        Ok(self.scale.shape())
    }

    fn support(&self) -> Constraint {
        Constraint::ZeroSum
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let scale = self.scale.on(value.graph());
        unless_event(Constraint::ZeroSum.outside(value), value, 1, 0.0, |value| {
            let squares = sum_last((value / column(scale)).square(), 1);
            -0.5 * squares - self.free() as f64 * (scale.log() + 0.5 * LOG_2PI)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&Shape::from(self.free()));
        Ok(self.of_standard(noise.draw(NoiseKind::StandardNormal, shape)?))
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let own = *self;
        Some(Transport {
            base: Rc::new(Normal::new(0.0, 1.0).iid(self.free())),
            map: Map::Function(Rc::new(move |z| own.of_standard(z))),
        })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(graph.constant(0.0).broadcast_to(self.batch_shape().ok()?.concat(&self.event_shape())))
    }

    /// `scale² (1 − 1/n)`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let share = self.free() as f64 / self.count as f64;
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        Some((column(self.scale.on(graph).square()) * share).broadcast_to(shape))
    }

    /// `(n − 1)(ln scale + ½ (1 + ln 2π))`, of the density in the plane.
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.free() as f64 * (self.scale.on(graph).log() + 0.5 * (1.0 + LOG_2PI)))
    }
}
