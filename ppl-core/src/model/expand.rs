//! A distribution with a larger batch shape.

use crate::base::{Error, Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::distribution::{Distribution, Parameter};
use crate::model::family::ExponentialFamily;
use crate::model::noise::Noise;
use crate::model::transport::Transport;
use crate::op::{Graph, Kind, Var};
use std::rc::Rc;

/// Independent copies of a distribution that fill up a batch shape, to which its own must broadcast; made by
/// [`Distribution::expand`], or of a borrowed distribution by [`Expanded::new`].
#[derive(Clone, Debug)]
pub struct Expanded<D> {
    base: D,
    batch: Shape,
}

impl<D> Expanded<D> {
    /// Repeats `base` until its batch has this shape. If it cannot, [`Distribution::batch_shape`] says so.
    pub fn new(base: D, batch: impl Into<Shape>) -> Self {
        Self { base, batch: batch.into() }
    }

    /// The distribution that is copied.
    pub fn base(&self) -> &D {
        &self.base
    }
}

impl<'g, D: Distribution<'g>> Expanded<D> {
    /// A shared quantity of the base, of its batch shape and some more axes, stretched.
    fn stretched(&self, quantity: Option<Var<'g>>, after: &Shape) -> Option<Var<'g>> {
        self.batch_shape().ok()?;
        let quantity = quantity?;
        // Axes that the base's batch shape has not are in front, so broadcasting puts them right.
        Some(quantity.broadcast_to(self.batch.concat(after)))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Expanded<D> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        self.base.event_shape()
    }

    fn batch_shape(&self) -> Result<Shape> {
        let base = self.base.batch_shape()?;
        if base.broadcast(&self.batch).as_ref() != Some(&self.batch) {
            let told = format!("a batch of shape {base} cannot be expanded to {}", self.batch);
            return Err(Error::Values(told));
        }
        Ok(self.batch.clone())
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let log_prob = self.base.log_prob(value);
        // A value with fewer axes than the batch stands for all copies. One that does not go with it fails
        // here.
        let together = log_prob.shape().broadcast(&self.batch);
        log_prob.broadcast_to(together.unwrap_or_else(|| self.batch.clone()))
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        self.base.family()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let base = self.base.batch_shape()?;
        self.batch_shape()?;
        let (ours, event) = (self.batch.dims(), self.base.event_shape());
        let missing = ours.len() - base.rank();
        // Axes of length 1 that are stretched are drawn in front, and moved to where they belong.
        let stretched: Vec<usize> =
            (0..base.rank()).filter(|&axis| base.dims()[axis] != ours[missing + axis]).collect();
        let lengths: Vec<usize> = stretched.iter().map(|&axis| ours[missing + axis]).collect();
        let front = prefix.concat(&Shape::from(&ours[..missing])).concat(&Shape::from(lengths));
        let drawn = self.base.draw(&front, noise)?;
        let whole = prefix.concat(&self.batch).concat(&event);
        if stretched.is_empty() {
            return Ok(drawn);
        }
        let (lead, moved) = (prefix.rank() + missing, stretched.len());
        let mut order: Vec<usize> = (0..lead).collect();
        for axis in 0..base.rank() {
            // The axis of length 1 goes beside the one that takes its place, and vanishes in the reshape.
            if let Some(which) = stretched.iter().position(|&other| other == axis) {
                order.push(lead + which);
            }
            order.push(lead + moved + axis);
        }
        order.extend(lead + moved + base.rank()..drawn.shape().rank());
        Ok(drawn.permute(order).reshape(whole))
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let Transport { base, map } = self.base.transport()?;
        Some(Transport { base: Rc::new(Expanded::new(base, self.batch.clone())), map })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.mean(graph), &self.event_shape())
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.variance(graph), &self.event_shape())
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.entropy(graph), &Shape::scalar())
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

    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.mode(graph), &self.event_shape())
    }

    fn median(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.median(graph), &self.event_shape())
    }

    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.stretched(self.base.skewness(graph), &self.event_shape())
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile_of_log_cdf(log_probability)
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile_of_log_sf(log_probability)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.base.kind()
    }
}
