//! Handles that do arithmetic on a graph: every operation a model can write.

use super::{Graph, Kind, Op};
use crate::base::{Error, Result, Shape, Source};

use std::fmt;

/// A handle to a value of a [`Graph`]. It is `Copy`, so arithmetic reads like mathematics.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    graph: &'g Graph,
    id: u32,
    /// Whether it is a number that is computed at once, and which; see `immediate`.
    immediate: bool,
    number: f64,
}

impl<'g> Var<'g> {
    #[inline]
    pub(crate) fn new(graph: &'g Graph, id: u32) -> Self {
        Self { graph, id, immediate: false, number: 0.0 }
    }

    /// A number that is not recorded.
    #[inline]
    pub(crate) fn immediate(graph: &'g Graph, number: f64) -> Self {
        Self { graph, id: 0, immediate: true, number }
    }

    /// The number, where it is not recorded.
    #[inline]
    pub(crate) fn at_once(self) -> Option<f64> {
        self.immediate.then_some(self.number)
    }

    /// Another such number.
    #[inline]
    pub(crate) fn with_number(self, number: f64) -> Self {
        Self { number, ..self }
    }
}

impl fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.at_once() {
            return write!(f, "{number}");
        }
        let node = self.graph.node(self.id);
        write!(f, "%{} = {} {} {:?}", self.id, node.op, node.shape, node.kind)
    }
}

/// Methods that build operations; each fails softly, as [`Graph`] says.
impl<'g> Var<'g> {
    /// The graph this value belongs to.
    #[must_use]
    #[inline]
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Shape of the value (of one record's value, if it is per record).
    #[must_use]
    pub fn shape(self) -> Shape {
        match self.immediate {
            true => Shape::scalar(),
            false => self.graph.with_node(self.id, |node| node.shape.clone()),
        }
    }

    /// Whether the value is shared by all records or differs from one to the next.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.immediate {
            true => Kind::Shared,
            false => self.graph.with_node(self.id, |node| node.kind),
        }
    }

    /// Whether both handles stand for the very same value of the same graph.
    #[must_use]
    pub fn is(self, other: Var<'_>) -> bool {
        std::ptr::eq(self.graph, other.graph)
            && self.id == other.id
            && self.at_once().map(f64::to_bits) == other.at_once().map(f64::to_bits)
    }

    pub(crate) fn id(self) -> u32 {
        self.id
    }

    /// Fails if the value belongs to another graph.
    #[track_caller]
    pub(crate) fn require_on(self, graph: &Graph, operation: &'static str) -> Result<()> {
        if std::ptr::eq(self.graph, graph) {
            return Ok(());
        }
        Err(Error::MixedGraphs { operation, source_line: Source::caller() })
    }

    /// A constant of the same graph.
    #[must_use]
    #[track_caller]
    #[inline]
    pub fn constant(self, value: f64) -> Var<'g> {
        if self.immediate {
            return self.with_number(value);
        }
        self.graph.constant(value)
    }

    /// The value, where it is a single number known while tracing.
    #[must_use]
    pub fn known(self) -> Option<f64> {
        if self.immediate {
            return Some(self.number);
        }
        self.graph.with_node(self.id, |node| match &node.op {
            Op::Constant(constant) => constant.as_scalar(),
            _ => None,
        })
    }

    /// The elements, row-major, where the value is known while tracing.
    pub(crate) fn known_elements(self) -> Option<Vec<f64>> {
        if self.immediate {
            return Some(vec![self.number]);
        }
        self.graph.with_node(self.id, |node| match &node.op {
            Op::Constant(constant) => Some(constant.values().collect()),
            _ => None,
        })
    }
}
