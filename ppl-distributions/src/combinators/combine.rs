//! Methods that make one distribution of another.

use crate::{Bijection, ByQuantile, Independent, Masked, Transformed};
use ppl_core::{Distribution, Expanded, Shape, Value};

/// Methods that make one distribution of another.
pub trait Combine<'g>: Distribution<'g> + Sized {
    /// The last `axes` axes of the batch as axes of one outcome.
    fn independent(self, axes: usize) -> Independent<Self> {
        Independent::new(self, axes)
    }

    /// Independent copies for each place of a larger batch, as [`Distribution::expand`]; a batch that does
    /// not go with it is an error only when the distribution is used.
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
    fn expanded(self, batch_shape: impl Into<Shape>) -> Expanded<Self> {
        Expanded::new(self, batch_shape)
    }

    /// The same distribution, drawn from by its quantile at one uniform number: for antithetic pairs and
    /// quasi-random points.
    fn by_quantile(self) -> ByQuantile<Self> {
        ByQuantile::new(self)
    }

    /// Log density 0 where `mask` is 0: outcomes there are not looked at.
    fn masked(self, mask: impl Into<Value<'g>>) -> Masked<'g, Self> {
        Masked::new(self, mask)
    }

    /// The distribution of a bijection of the outcomes.
    fn transformed<B: Bijection<'g>>(self, bijection: B) -> Transformed<Self, B> {
        Transformed::new(self, bijection)
    }
}

impl<'g, D: Distribution<'g>> Combine<'g> for D {}
