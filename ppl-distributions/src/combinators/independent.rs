//! Axes of a batch as axes of one outcome.

use crate::shared::arrays::{last, leading, sum_last};
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, Parameter, Result, Shape, Source, Transport, Var,
};
use std::rc::Rc;

/// A distribution whose last batch axes are part of one outcome: the elements stay independent, and their log
/// densities are summed.
///
/// ```text
/// batch [b₁, …, b_m], event e   →   batch [b₁, …, b_{m−k}], event [b_{m−k+1}, …, b_m] ++ e
/// ```
///
/// Made by [`Combine::independent`](crate::Combine::independent).
///
/// ```
/// use ppl_core::{Distribution, Graph, Shape};
/// use ppl_distributions::{Combine, Normal};
/// let graph = Graph::new();
/// let centres = graph.input("centres", [5, 2])?;
/// let vectors = Normal::new(centres, 1.0).independent(1);
/// assert_eq!((vectors.batch_shape()?, vectors.event_shape()), (Shape::from(5), Shape::from(2)));
/// assert_eq!(vectors.log_prob(graph.input("x", 2)?).shape(), Shape::from(5));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Independent<D> {
    base: D,
    axes: usize,
}

impl<D> Independent<D> {
    /// Takes the last `axes` batch axes of `base` for event axes.
    pub fn new(base: D, axes: usize) -> Self {
        Self { base, axes }
    }

    /// How many axes it takes.
    pub(crate) fn axes(&self) -> usize {
        self.axes
    }

    /// The distribution of the elements.
    pub fn base(&self) -> &D {
        &self.base
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Independent<D> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        last(&self.base.batch_shape().unwrap_or_default(), self.axes).concat(&self.base.event_shape())
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let batch = self.base.batch_shape()?;
        if batch.rank() < self.axes {
            return Err(Error::UnexpectedShape {
                operation: "independent",
                expected: format!("a batch of at least {} axes", self.axes),
                got: batch,
                source_line: Source::caller(),
            });
        }
        Ok(leading(&batch, self.axes))
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        sum_last(self.base.log_prob(value), self.axes)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.batch_shape()?;
        self.base.draw(prefix, noise)
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let Transport { base, map } = self.base.transport()?;
        // Of the whole batch, of which axes are taken.
        let base = Expanded::new(base, self.base.batch_shape().ok()?);
        Some(Transport { base: Rc::new(Independent::new(base, self.axes)), map })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.mean(graph)
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.base.variance(graph)
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let entropy = self.base.entropy(graph)?;
        Some(sum_last(entropy.broadcast_to(self.base.batch_shape().ok()?), self.axes))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        if self.axes == 0 { self.base.cdf(value) } else { None }
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        if self.axes == 0 { self.base.quantile(probability) } else { None }
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
