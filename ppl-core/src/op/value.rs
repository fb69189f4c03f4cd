//! What stands for a number in a model: one that is known, or a value of the graph.

use super::{Graph, Kind, Var};
use crate::base::Shape;

/// A number known while tracing, or a value of a graph: what a distribution takes as a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value<'g> {
    /// A number.
    Known(f64),
    /// A value of a graph.
    Var(Var<'g>),
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
        }
    }

    /// Its shape; a number is a scalar.
    #[must_use]
    pub fn shape(&self) -> Shape {
        match self {
            Value::Known(_) => Shape::scalar(),
            Value::Var(var) => var.shape(),
        }
    }

    /// The number, where it is known while tracing.
    #[must_use]
    #[inline]
    pub fn known(&self) -> Option<f64> {
        match self {
            Value::Known(value) => Some(*value),
            Value::Var(var) => var.known(),
        }
    }

    /// The elements, row-major, where they are known while tracing.
    pub(crate) fn known_elements(&self) -> Option<Vec<f64>> {
        match self {
            Value::Known(value) => Some(vec![*value]),
            Value::Var(var) => var.known_elements(),
        }
    }

    /// Whether it differs from record to record.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Value::Known(_) => Kind::Shared,
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
