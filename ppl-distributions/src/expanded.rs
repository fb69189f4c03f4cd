//! A distribution repeated over a larger batch.

use crate::arrays::leading;
use ppl_core::{Constraint, Distribution, Error, Graph, Kind, Noise, Parameter, Result, Shape, Source, Var};

/// A distribution whose batch is broadcast to a larger one, an independent outcome for each place.
///
/// Made by [`Combine::expanded`](crate::Combine::expanded).
///
/// ```
/// use ppl_core::{Distribution, Graph, Noise, Shape};
/// use ppl_distributions::{Combine, Normal};
/// let graph = Graph::new();
/// let rows = graph.input("rows", [4, 1])?;
/// let table = Normal::new(rows, 1.0).expanded([4, 3]);
/// assert_eq!(table.batch_shape()?, Shape::from([4, 3]));
/// let mut noise = Noise::new(&graph, "table");
/// assert_eq!(table.draw(&Shape::from(7), &mut noise)?.shape(), Shape::from([7, 4, 3]));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expanded<D> {
    base: D,
    batch_shape: Shape,
}

impl<D> Expanded<D> {
    /// Repeats `base` until its batch has this shape.
    pub fn new(base: D, batch_shape: impl Into<Shape>) -> Self {
        Self { base, batch_shape: batch_shape.into() }
    }

    /// The distribution that is repeated.
    pub fn base(&self) -> &D {
        &self.base
    }
}

/// Independent draws of `base` for each place of a batch that its own batch broadcasts to: `prefix ++ batch ++ event`.
pub(crate) fn draw_expanded<'g>(
    base: &(impl Distribution<'g> + ?Sized),
    prefix: &Shape,
    batch: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    let own = base.batch_shape()?;
    let added = batch.rank() - own.rank();
    let stretched: Vec<usize> =
        (0..own.rank()).filter(|&axis| own.dims()[axis] != batch.dims()[added + axis]).collect();
    // [prefix, new axes, lengths of stretched axes, own axes with those of length 1, event]
    let lengths: Vec<usize> = stretched.iter().map(|&axis| batch.dims()[added + axis]).collect();
    let outer = prefix.concat(&leading(batch, own.rank()));
    let draw = base.draw(&outer.concat(&Shape::from(lengths)), noise)?;
    if stretched.is_empty() {
        return Ok(draw);
    }
    // Each stretched axis goes to where its axis of length 1 is.
    let (first, rank) = (outer.rank(), draw.shape().rank());
    let mut order: Vec<usize> = (0..first).collect();
    let mut next = 0;
    for axis in 0..own.rank() {
        if stretched.contains(&axis) {
            order.push(first + next);
            next += 1;
        }
        order.push(first + stretched.len() + axis);
    }
    order.extend(first + stretched.len() + own.rank()..rank);
    Ok(draw.permute(order).reshape(prefix.concat(batch).concat(&base.event_shape())))
}

impl<'g, D: Distribution<'g>> Expanded<D> {
    /// An array of the base's batch, repeated.
    fn repeated(&self, array: Option<Var<'g>>, event: &Shape) -> Option<Var<'g>> {
        self.batch_shape().ok()?;
        array.map(|array| array.broadcast_to(self.batch_shape.concat(event)))
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

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let batch = self.base.batch_shape()?;
        if batch.broadcast(&self.batch_shape).as_ref() != Some(&self.batch_shape) {
            return Err(Error::UnexpectedShape {
                operation: "expanded",
                expected: format!("a batch that stretches to {}", self.batch_shape),
                got: batch,
                source_line: Source::caller(),
            });
        }
        Ok(self.batch_shape.clone())
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let log_prob = self.base.log_prob(value);
        let shape = log_prob.shape().broadcast(&self.batch_shape).unwrap_or_else(|| self.batch_shape.clone());
        log_prob.broadcast_to(shape)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        draw_expanded(&self.base, prefix, &self.batch_shape()?, noise)
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.repeated(self.base.mean(graph), &self.event_shape())
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.repeated(self.base.variance(graph), &self.event_shape())
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.repeated(self.base.entropy(graph), &Shape::scalar())
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.cdf(value)
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile(probability)
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
