//! Shapes of arrays, and how two of them broadcast.

use crate::base::{Error, Result};
use std::fmt;

/// The lengths of an array's axes; no axis at all is a scalar.
///
/// Shapes never hold a batch axis: a value that differs from record to record has the shape of *one* record's
/// value.
///
/// ```
/// use ppl_core::Shape;
/// let weights = Shape::from([3, 5]);
/// assert_eq!((weights.rank(), weights.elements()), (2, 15));
/// assert_eq!(Shape::scalar().elements(), 1);
/// assert_eq!(weights.to_string(), "[3, 5]");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// The shape of a single number.
    #[must_use]
    pub fn scalar() -> Self {
        Self(Vec::new())
    }

    /// Lengths of the axes.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements (1 for a scalar, 0 if an axis is empty).
    #[must_use]
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// Whether this is the shape of a single number without axes.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        self.0.is_empty()
    }

    /// This shape, if it has at most 2³¹ elements, empty axes counted as if they were of length 1: parts of
    /// the other axes are multiplied here and there.
    ///
    /// # Errors
    /// [`Error::TooLarge`] otherwise.
    pub fn checked(self) -> Result<Self> {
        let elements = self.0.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim.max(1)));
        match elements {
            Some(elements) if elements <= 1 << 31 => Ok(self),
            _ => Err(Error::TooLarge(self)),
        }
    }

    /// The axes of `self` followed by those of `other`.
    #[must_use]
    pub fn concat(&self, other: &Shape) -> Shape {
        Shape(self.0.iter().chain(&other.0).copied().collect())
    }

    /// The shape two arrays take together: axes are aligned at the last one, and an axis of length 1
    /// stretches.
    ///
    /// ```
    /// use ppl_core::Shape;
    /// assert_eq!(Shape::from([4, 1]).broadcast(&Shape::from([3])), Some(Shape::from([4, 3])));
    /// assert_eq!(Shape::from([4]).broadcast(&Shape::from([3])), None);
    /// ```
    #[must_use]
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let axis = |shape: &Shape, i: usize| {
            let missing = rank - shape.rank();
            if i < missing { 1 } else { shape.0[i - missing] }
        };
        (0..rank)
            .map(|i| match (axis(self, i), axis(other, i)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Shape)
    }

    /// For every element of `self`, in row-major order, the element of `source` it is stretched from.
    ///
    /// `source` must broadcast to `self`.
    pub(crate) fn broadcast_map(&self, source: &Shape) -> Vec<u32> {
        let missing = self.rank() - source.rank();
        let mut strides = vec![0usize; self.rank()];
        let mut stride = 1;
        for axis in (0..source.rank()).rev() {
            if source.0[axis] != 1 {
                strides[missing + axis] = stride;
            }
            stride *= source.0[axis];
        }
        let mut index = vec![0usize; self.rank()];
        (0..self.elements())
            .map(|_| {
                let from: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
                for axis in (0..self.rank()).rev() {
                    index[axis] += 1;
                    if index[axis] < self.0[axis] {
                        break;
                    }
                    index[axis] = 0;
                }
                from as u32
            })
            .collect()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        Self::scalar()
    }
}

impl From<usize> for Shape {
    fn from(length: usize) -> Self {
        Self(vec![length])
    }
}

impl<const RANK: usize> From<[usize; RANK]> for Shape {
    fn from(dims: [usize; RANK]) -> Self {
        Self(dims.to_vec())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self(dims.to_vec())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Self(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies;
    use proptest::prelude::*;

    #[test]
    fn huge_shapes_are_refused_without_overflow() {
        assert!(Shape::from([usize::MAX, 3]).checked().is_err());
        assert!(Shape::from([1 << 31]).checked().is_ok());
        assert!(Shape::from([0, usize::MAX, 2]).checked().is_err());
    }

    #[test]
    fn broadcast_map_stretches_rows_and_columns() {
        let to = Shape::from([2, 3]);
        assert_eq!(to.broadcast_map(&Shape::from([3])), [0, 1, 2, 0, 1, 2]);
        assert_eq!(to.broadcast_map(&Shape::from([2, 1])), [0, 0, 0, 1, 1, 1]);
        assert_eq!(to.broadcast_map(&Shape::scalar()), [0; 6]);
    }

    proptest! {
        #[test]
        fn broadcasting_commutes_and_contains_both(a in strategies::shape(), b in strategies::shape()) {
            prop_assert_eq!(a.broadcast(&b), b.broadcast(&a));
            prop_assert_eq!(a.broadcast(&a), Some(a.clone()));
            if let Some(c) = a.broadcast(&b) {
                prop_assert_eq!(c.broadcast(&a), Some(c.clone()));
                prop_assert!(c.broadcast_map(&a).iter().all(|&i| (i as usize) < a.elements()));
            }
        }
    }
}
