//! Leaves of a program: inputs and constants.

use crate::base::Shape;
use ndarray::ArrayD;
use std::fmt;

/// A value supplied each time a program runs.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Input {
    /// One value for all records, found by name.
    Shared(String),
    /// A column of the records, found by its position.
    Column {
        /// Position in the schema.
        index: usize,
        /// The column's name, for people.
        name: String,
    },
    /// A value for each record of the batch that is not in the records, found by name: noise, say.
    PerRecord(String),
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Shared(name) => write!(f, "input '{name}'"),
            Input::Column { name, .. } => write!(f, "column '{name}'"),
            Input::PerRecord(name) => write!(f, "record input '{name}'"),
        }
    }
}

/// An array of numbers known while tracing. Compared by bits, so that NaN equals itself and −0 differs from
/// 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    bits: Vec<u64>,
    shape: Shape,
}

impl Constant {
    /// `values` in row-major order, as many as the shape has elements.
    pub(crate) fn new(values: Vec<f64>, shape: Shape) -> Self {
        Self { bits: values.into_iter().map(f64::to_bits).collect(), shape }
    }

    pub(crate) fn scalar(value: f64) -> Self {
        Self { bits: vec![value.to_bits()], shape: Shape::scalar() }
    }

    pub(crate) fn array(values: &ArrayD<f64>) -> Self {
        Self {
            bits: values.iter().map(|value| value.to_bits()).collect(),
            shape: Shape::from(values.shape()),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements, in row-major order.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.bits.iter().map(|&bits| f64::from_bits(bits))
    }

    /// The number, if the constant is a single one.
    pub(crate) fn as_scalar(&self) -> Option<f64> {
        self.shape.is_scalar().then(|| f64::from_bits(self.bits[0]))
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_scalar() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "constant"),
        }
    }
}
