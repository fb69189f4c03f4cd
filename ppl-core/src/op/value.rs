//! What stands for a number in a model: one that is known, or a value of the graph.

use super::{Graph, Kind, Var};
use crate::base::Shape;
use ndarray::{Array1, Array2, ArrayD, ArrayView2};

/// A number known while tracing, or a value of a graph: what a distribution takes as a parameter.
///
/// Arrays of numbers that are borrowed stand for values as well, so that a law of vectors needs no graph:
///
/// ```
/// use ppl_core::{Shape, Value};
/// assert_eq!(Value::from(&[0.5, 0.2, 0.3]).shape(), Shape::from(3));
/// assert_eq!(Value::from(&[[1.0, 0.0], [0.5, 2.0]]).shape(), Shape::from([2, 2]));
/// assert_eq!(Value::from(&ndarray::Array2::<f64>::eye(3)).shape(), Shape::from([3, 3]));
/// ```
///
/// A borrowed array has to live as long as the graph: a literal does, and so do arrays outside of a model. For others
/// there is [`Ctx::constant`](crate::Ctx::constant).
#[derive(Clone, Copy, Debug)]
pub enum Value<'g> {
    /// A number.
    Known(f64),
    /// A value of a graph.
    Var(Var<'g>),
    /// An array of numbers.
    Array(KnownArray<'g>),
}

/// An array of numbers known while tracing, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct KnownArray<'g>(Kept<'g>);

#[derive(Clone, Copy, Debug)]
enum Kept<'g> {
    Vector(&'g [f64]),
    /// Row after row, and how many columns there are.
    Rows(&'g [f64], [usize; 2]),
    Array1(&'g Array1<f64>),
    Array2(&'g Array2<f64>),
    Array(&'g ArrayD<f64>),
}

impl<'g> KnownArray<'g> {
    /// Lengths of the axes.
    #[must_use]
    pub fn shape(&self) -> Shape {
        match self.0 {
            Kept::Vector(values) => Shape::from(values.len()),
            Kept::Rows(_, dims) => Shape::from(dims),
            Kept::Array1(array) => Shape::from(array.shape()),
            Kept::Array2(array) => Shape::from(array.shape()),
            Kept::Array(array) => Shape::from(array.shape()),
        }
    }

    /// The numbers, row-major.
    pub fn elements(&self) -> impl Iterator<Item = f64> + use<'g> {
        let (slice, array) = match self.0 {
            Kept::Vector(values) | Kept::Rows(values, _) => (values, None),
            Kept::Array1(array) => (&[][..], Some(array.view().into_dyn())),
            Kept::Array2(array) => (&[][..], Some(array.view().into_dyn())),
            Kept::Array(array) => (&[][..], Some(array.view())),
        };
        slice.iter().copied().chain(array.into_iter().flat_map(|array| array.into_iter().copied()))
    }

    /// The array as one of a graph.
    #[must_use]
    #[track_caller]
    pub fn on(&self, graph: &'g Graph) -> Var<'g> {
        match self.0 {
            Kept::Vector(values) => graph.array(&Array1::from(values.to_vec()).into_dyn()),
            Kept::Rows(values, dims) => match ArrayView2::from_shape(dims, values) {
                Ok(rows) => graph.array(&rows.into_owned().into_dyn()),
                // Dimensions that the conversion has made of the slice itself do fit.
                Err(_) => graph.array(&Array1::from(values.to_vec()).into_dyn()),
            },
            Kept::Array1(array) => graph.array(&array.clone().into_dyn()),
            Kept::Array2(array) => graph.array(&array.clone().into_dyn()),
            Kept::Array(array) => graph.array(array),
        }
    }
}

impl<'g> Value<'g> {
    /// The value in a graph.
    #[must_use]
    #[track_caller]
    #[inline]
    pub fn on(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Value::Known(value) => graph.constant(value),
            Value::Var(var) => var,
            Value::Array(array) => array.on(graph),
        }
    }

    /// Its shape; a number is a scalar.
    #[must_use]
    pub fn shape(&self) -> Shape {
        match self {
            Value::Known(_) => Shape::scalar(),
            Value::Var(var) => var.shape(),
            Value::Array(array) => array.shape(),
        }
    }

    /// The number, where it is known while tracing.
    #[must_use]
    #[inline]
    pub fn known(&self) -> Option<f64> {
        match self {
            Value::Known(value) => Some(*value),
            Value::Var(var) => var.known(),
            Value::Array(_) => None,
        }
    }

    /// The elements, row-major, where they are known while tracing.
    #[must_use]
    pub fn known_elements(&self) -> Option<Vec<f64>> {
        match self {
            Value::Known(value) => Some(vec![*value]),
            Value::Var(var) => var.known_elements(),
            Value::Array(array) => Some(array.elements().collect()),
        }
    }

    /// Whether it differs from record to record.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Value::Known(_) | Value::Array(_) => Kind::Shared,
            Value::Var(var) => var.kind(),
        }
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Known(value)
    }
}

impl<'g> From<Var<'g>> for Value<'g> {
    fn from(var: Var<'g>) -> Self {
        Value::Var(var)
    }
}

/// Conversions of borrowed arrays.
macro_rules! from_arrays {
    ($([$($generics:tt)*] $array:ty, $values:ident => $kept:expr;)*) => {$(
        impl<'g, $($generics)*> From<$array> for Value<'g> {
            fn from($values: $array) -> Self {
                Value::Array(KnownArray($kept))
            }
        }
    )*};
}

from_arrays! {
    [] &'g [f64], values => Kept::Vector(values);
    [] &'g Vec<f64>, values => Kept::Vector(values);
    [const N: usize] &'g [f64; N], values => Kept::Vector(values);
    [const N: usize] &'g [[f64; N]], rows => Kept::Rows(rows.as_flattened(), [rows.len(), N]);
    [const N: usize, const M: usize] &'g [[f64; M]; N], rows => Kept::Rows(rows.as_flattened(), [N, M]);
    [] &'g Array1<f64>, array => Kept::Array1(array);
    [] &'g Array2<f64>, array => Kept::Array2(array);
    [] &'g ArrayD<f64>, array => Kept::Array(array);
}
