//! Methods that make one distribution of another.

use crate::{Bijection, Expanded, Independent, Masked, Transformed};
use ppl_core::{Distribution, Shape, Value};

/// Methods that make one distribution of another.
pub trait Combine<'g>: Distribution<'g> + Sized {
    /// The last `axes` axes of the batch taken for axes of one outcome.
    fn independent(self, axes: usize) -> Independent<Self> {
        Independent::new(self, axes)
    }

    /// Independent copies for each place of a larger batch.
    fn expanded(self, batch_shape: impl Into<Shape>) -> Expanded<Self> {
        Expanded::new(self, batch_shape)
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
