//! Handles that do arithmetic on a graph: every operation a model can write.

use crate::error::{Error, Result, Source};
use crate::graph::{Graph, Kind};
use crate::op::{Binary, Linear, Op, Operand, Shaping, Unary};
use crate::shape::Shape;
use crate::value::Value;
use std::fmt;
use std::ops;

/// A handle to a value of a [`Graph`]. It is `Copy`, so arithmetic reads like mathematics.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    graph: &'g Graph,
    id: u32,
}

impl<'g> Var<'g> {
    pub(crate) fn new(graph: &'g Graph, id: u32) -> Self {
        Self { graph, id }
    }
}

impl fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.graph.node(self.id);
        write!(f, "%{} = {} {} {:?}", self.id, node.op, node.shape, node.kind)
    }
}

/// Methods that build operations; each fails softly, as told at [`Graph`].
impl<'g> Var<'g> {
    /// The graph this value belongs to.
    #[must_use]
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Shape of the value (of one record's value, if it is per record).
    #[must_use]
    pub fn shape(self) -> Shape {
        self.graph.with_node(self.id, |node| node.shape.clone())
    }

    /// Whether the value is shared by all records or differs from one to the next.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.graph.with_node(self.id, |node| node.kind)
    }

    /// Whether both handles stand for the very same value of the same graph.
    #[must_use]
    pub fn is(self, other: Var<'_>) -> bool {
        std::ptr::eq(self.graph, other.graph) && self.id == other.id
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
    pub fn constant(self, value: f64) -> Var<'g> {
        self.graph.constant(value)
    }

    /// The value, where it is a single number known while tracing.
    #[must_use]
    pub fn known(self) -> Option<f64> {
        self.graph.with_node(self.id, |node| match &node.op {
            Op::Constant(constant) => constant.as_scalar(),
            _ => None,
        })
    }

    /// The elements, row-major, where the value is known while tracing.
    pub(crate) fn known_elements(self) -> Option<Vec<f64>> {
        self.graph.with_node(self.id, |node| match &node.op {
            Op::Constant(constant) => Some(constant.values().collect()),
            _ => None,
        })
    }

    #[track_caller]
    fn unary(self, op: Unary) -> Var<'g> {
        if let Some(x) = self.known() {
            let mut out = [0.0];
            op.run(&mut out, &[x]);
            return self.constant(out[0]);
        }
        self.graph.apply(Op::Unary(op), &[self], self.shape())
    }

    /// Both values at the shape they have together; a scalar is left as it is, for the kernels take it so.
    #[track_caller]
    fn align(self, other: Var<'g>, operation: &'static str) -> Result<(Var<'g>, Var<'g>, Shape)> {
        if !std::ptr::eq(self.graph, other.graph) {
            return Err(Error::MixedGraphs { operation, source_line: Source::caller() });
        }
        let (left, right) = (self.shape(), other.shape());
        match left.broadcast(&right) {
            Some(shape) => {
                let stretch = |x: Var<'g>| {
                    if x.shape().is_scalar() { x } else { x.broadcast_to(shape.clone()) }
                };
                Ok((stretch(self), stretch(other), shape))
            }
            None => Err(Error::ShapeMismatch { operation, left, right, source_line: Source::caller() }),
        }
    }

    #[track_caller]
    fn binary(self, other: Var<'g>, op: Binary) -> Var<'g> {
        let (a, b, shape) = match self.align(other, op.name()) {
            Ok(aligned) => aligned,
            Err(error) => return self.graph.fail(error),
        };
        match (op, a.known(), b.known()) {
            (_, Some(x), Some(y)) => {
                let mut out = [0.0];
                op.run(1, &mut out, Operand::Shared(&[x]), Operand::Shared(&[y]));
                self.constant(out[0])
            }
            // Identities that hold for every x, NaN and infinities included.
            (Binary::Mul | Binary::Div, _, Some(1.0)) if a.shape() == shape => a,
            (Binary::Mul, Some(1.0), _) if b.shape() == shape => b,
            (Binary::Mul, _, Some(-1.0)) if a.shape() == shape => -a,
            (Binary::Mul, Some(-1.0), _) if b.shape() == shape => -b,
            (Binary::Add | Binary::Sub, _, Some(0.0)) if a.shape() == shape => a,
            (Binary::Add, Some(0.0), _) if b.shape() == shape => b,
            (Binary::Sub, Some(0.0), _) if b.shape() == shape => -b,
            _ => self.graph.apply(Op::Binary(op), &[a, b], shape),
        }
    }

    /// `|x|`
    #[must_use]
    #[track_caller]
    pub fn abs(self) -> Var<'g> {
        self.unary(Unary::Abs)
    }

    /// −1, 0 or 1.
    #[must_use]
    #[track_caller]
    pub fn sign(self) -> Var<'g> {
        self.unary(Unary::Sign)
    }

    /// `x²`
    #[must_use]
    #[track_caller]
    pub fn square(self) -> Var<'g> {
        self.unary(Unary::Square)
    }

    /// `√x`
    #[must_use]
    #[track_caller]
    pub fn sqrt(self) -> Var<'g> {
        self.unary(Unary::Sqrt)
    }

    /// `1/x`
    #[must_use]
    #[track_caller]
    pub fn reciprocal(self) -> Var<'g> {
        self.unary(Unary::Reciprocal)
    }

    /// `eˣ`
    #[must_use]
    #[track_caller]
    pub fn exp(self) -> Var<'g> {
        self.unary(Unary::Exp)
    }

    /// `eˣ − 1`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn expm1(self) -> Var<'g> {
        self.unary(Unary::Expm1)
    }

    /// `ln x`
    #[must_use]
    #[track_caller]
    pub fn log(self) -> Var<'g> {
        self.unary(Unary::Log)
    }

    /// `ln(1 + x)`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn log1p(self) -> Var<'g> {
        self.unary(Unary::Log1p)
    }

    /// Hyperbolic tangent.
    #[must_use]
    #[track_caller]
    pub fn tanh(self) -> Var<'g> {
        self.unary(Unary::Tanh)
    }

    /// `1/(1 + e⁻ˣ)`
    #[must_use]
    #[track_caller]
    pub fn sigmoid(self) -> Var<'g> {
        self.unary(Unary::Sigmoid)
    }

    /// `ln(1 + eˣ)`
    #[must_use]
    #[track_caller]
    pub fn softplus(self) -> Var<'g> {
        self.unary(Unary::Softplus)
    }

    /// Any function of one argument.
    #[must_use]
    #[track_caller]
    pub fn map(self, function: Unary) -> Var<'g> {
        self.unary(function)
    }

    /// Any function of two arguments.
    #[must_use]
    #[track_caller]
    pub fn zip(self, other: impl Into<Value<'g>>, function: Binary) -> Var<'g> {
        self.binary(other.into().on(self.graph), function)
    }

    /// `aᵇ`; exponents 0, 1 and 2 known while tracing become 1, `a` and `a²`, with their derivatives at 0.
    #[must_use]
    #[track_caller]
    pub fn pow(self, exponent: impl Into<Value<'g>>) -> Var<'g> {
        let exponent = exponent.into();
        match exponent.known() {
            Some(0.0) => self.constant(1.0).broadcast_to(self.shape()),
            Some(1.0) => self,
            Some(2.0) => self.square(),
            _ => self.zip(exponent, Binary::Pow),
        }
    }

    /// The larger of two, element by element.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Max)
    }

    /// The smaller of two, element by element.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Min)
    }

    /// 1 where `self > other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn greater(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Greater)
    }

    /// 1 where `self ≥ other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn greater_equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::GreaterEqual)
    }

    /// 1 where `self = other`, else 0.
    #[must_use]
    #[track_caller]
    pub fn equal(self, other: impl Into<Value<'g>>) -> Var<'g> {
        self.zip(other, Binary::Equal)
    }

    /// `a` where `self ≠ 0`, else `b`, element by element.
    ///
    /// The branch not taken gets a cotangent of zero. Where its own derivative is infinite there (`√x` at `x < 0`), zero
    /// times that is NaN: choose a harmless argument for it too, as in `c.select(c.select(x, 1.0).sqrt(), 0.0)`.
    #[must_use]
    #[track_caller]
    pub fn select(self, a: impl Into<Value<'g>>, b: impl Into<Value<'g>>) -> Var<'g> {
        let (a, b) = (a.into().on(self.graph), b.into().on(self.graph));
        let aligned = self.align(a, "select").and_then(|(_, _, shape)| {
            b.require_on(self.graph, "select")?;
            let together = shape.broadcast(&b.shape());
            together.ok_or(Error::ShapeMismatch {
                operation: "select",
                left: shape,
                right: b.shape(),
                source_line: Source::caller(),
            })
        });
        match aligned {
            Ok(shape) => {
                let stretch = |x: Var<'g>| {
                    if x.shape().is_scalar() { x } else { x.broadcast_to(shape.clone()) }
                };
                self.graph.apply(Op::Select, &[stretch(self), stretch(a), stretch(b)], shape)
            }
            Err(error) => self.graph.fail(error),
        }
    }

    #[track_caller]
    fn unexpected(self, operation: &'static str, expected: String) -> Var<'g> {
        let error =
            Error::UnexpectedShape { operation, expected, got: self.shape(), source_line: Source::caller() };
        self.graph.fail(error)
    }

    /// Repeats elements until the array has this shape.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.shape() == shape {
            return self;
        }
        if self.shape().broadcast(&shape).as_ref() != Some(&shape) {
            return self.unexpected("broadcast_to", format!("a shape that stretches to {shape}"));
        }
        self.graph.apply(Op::Shaping(Shaping::Broadcast), &[self], shape)
    }

    /// Adds up elements until the array has this shape: the reverse of [`Var::broadcast_to`].
    #[must_use]
    #[track_caller]
    pub fn sum_to(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.shape() == shape {
            return self;
        }
        if shape.broadcast(&self.shape()).as_ref() != Some(&self.shape()) {
            return self.unexpected("sum_to", format!("a shape that {shape} stretches to"));
        }
        self.graph.apply(Op::Shaping(Shaping::SumTo), &[self], shape)
    }

    /// Sum of all elements. It adds up one record's elements; nothing adds up over records but the engine.
    #[must_use]
    #[track_caller]
    pub fn sum(self) -> Var<'g> {
        self.sum_to(())
    }

    /// Mean of all elements.
    #[must_use]
    #[track_caller]
    pub fn mean(self) -> Var<'g> {
        self.sum() / self.shape().elements() as f64
    }

    /// The same elements in row-major order under another shape.
    #[must_use]
    #[track_caller]
    pub fn reshape(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.shape() == shape {
            return self;
        }
        match shape.clone().checked() {
            Ok(shape) if shape.elements() == self.shape().elements() => {
                self.graph.apply(Op::Shaping(Shaping::Reshape), &[self], shape)
            }
            _ => self.unexpected("reshape", format!("as many elements as {shape} has")),
        }
    }

    #[track_caller]
    fn linear(
        self,
        other: Var<'g>,
        op: Linear,
        shape: impl FnOnce(&[usize], &[usize]) -> Option<Shape>,
    ) -> Var<'g> {
        if !std::ptr::eq(self.graph, other.graph) {
            let error = Error::MixedGraphs { operation: op.name(), source_line: Source::caller() };
            return self.graph.fail(error);
        }
        let (left, right) = (self.shape(), other.shape());
        match shape(left.dims(), right.dims()) {
            Some(shape) => self.graph.apply(Op::Linear(op), &[self, other], shape),
            None => self.graph.fail(Error::ShapeMismatch {
                operation: op.name(),
                left,
                right,
                source_line: Source::caller(),
            }),
        }
    }

    /// `Σ_k a_k b_k` over two arrays of one shape.
    #[must_use]
    #[track_caller]
    pub fn inner(self, other: Var<'g>) -> Var<'g> {
        if self.shape().is_scalar() && other.shape().is_scalar() {
            return self * other;
        }
        self.linear(other, Linear::Inner, |a, b| (a == b).then(Shape::scalar))
    }

    /// `(A x)_j = Σ_k A_jk x_k` for a matrix `A` of shape `[p, d]` and a vector of shape `[d]`.
    #[must_use]
    #[track_caller]
    pub fn matvec(self, vector: Var<'g>) -> Var<'g> {
        self.linear(vector, Linear::MatVec, |a, b| match (a, b) {
            ([p, d], [e]) if d == e => Some(Shape::from(*p)),
            _ => None,
        })
    }

    /// `(y A)_k = Σ_j y_j A_jk` for a vector of shape `[p]` and a matrix of shape `[p, d]`.
    #[must_use]
    #[track_caller]
    pub fn vecmat(self, matrix: Var<'g>) -> Var<'g> {
        self.linear(matrix, Linear::VecMat, |a, b| match (a, b) {
            ([p], [q, d]) if p == q => Some(Shape::from(*d)),
            _ => None,
        })
    }

    /// `(u ⊗ v)_jk = u_j v_k` for two vectors.
    #[must_use]
    #[track_caller]
    pub fn outer(self, other: Var<'g>) -> Var<'g> {
        self.linear(other, Linear::Outer, |a, b| match (a, b) {
            ([p], [d]) => Some(Shape::from([*p, *d])),
            _ => None,
        })
    }

    /// The product of mathematics: vector · vector, matrix · vector, or vector · matrix, by the ranks.
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let (w, x) = (graph.input("w", [3, 5])?, graph.input("x", [5])?);
    /// assert_eq!(w.dot(x).shape(), Shape::from([3]));
    /// assert_eq!(x.dot(x).shape(), Shape::scalar());
    /// assert_eq!(x.dot(w).shape(), Shape::scalar()); // a mistake: [5] · [3, 5] …
    /// let told = graph.check().unwrap_err().to_string(); // … which is told at the next statement
    /// assert!(told.contains("[5]") && told.contains("[3, 5]"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn dot(self, other: Var<'g>) -> Var<'g> {
        match (self.shape().rank(), other.shape().rank()) {
            (2, 1) => self.matvec(other),
            (1, 2) => self.vecmat(other),
            _ => self.inner(other),
        }
    }
}

impl<'g> ops::Neg for Var<'g> {
    type Output = Var<'g>;
    #[track_caller]
    fn neg(self) -> Var<'g> {
        self.unary(Unary::Neg)
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:expr;)*) => {$(
        impl<'g> ops::$trait for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                self.binary(other, $op)
            }
        }
        impl<'g> ops::$trait<f64> for Var<'g> {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: f64) -> Var<'g> {
                self.binary(self.constant(other), $op)
            }
        }
        impl<'g> ops::$trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            #[track_caller]
            fn $method(self, other: Var<'g>) -> Var<'g> {
                other.constant(self).binary(other, $op)
            }
        }
    )*};
}

operator! {
    Add add Binary::Add;
    Sub sub Binary::Sub;
    Mul mul Binary::Mul;
    Div div Binary::Div;
}
