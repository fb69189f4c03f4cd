//! What a distribution must be able to do.

use crate::error::{Error, Result, Source};
use crate::graph::{Graph, Kind};
use crate::model::constraint::Constraint;
use crate::shape::Shape;
use crate::value::Value;
use crate::var::Var;

/// A parameter of a distribution, with the set it must lie in.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'g> {
    /// Its name, as the constructor's documentation has it.
    pub name: &'static str,
    /// Its value.
    pub value: Value<'g>,
    /// Where it must lie.
    pub domain: Constraint,
}

/// A probability distribution over arrays, as an array program.
///
/// As in NumPyro, the shape of a value is `batch_shape` (one independent distribution for each element of the
/// parameters, broadcast together) followed by `event_shape` (the shape of one outcome).
///
/// Everything a distribution computes is written into the graph its parameters and values live on; it draws by
/// transforming standard noise, so a draw can be differentiated with respect to the parameters where the transformation
/// is smooth.
pub trait Distribution<'g> {
    /// The distribution's name.
    fn name(&self) -> &'static str;

    /// Its parameters, with their domains.
    fn parameters(&self) -> Vec<Parameter<'g>>;

    /// Shape of one outcome.
    fn event_shape(&self) -> Shape {
        Shape::scalar()
    }

    /// Shape of the array of independent distributions; as a rule that of the parameters together.
    ///
    /// # Errors
    /// If the shapes of the parameters do not go together.
    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let source_line = Source::caller();
        self.parameters().iter().try_fold(Shape::scalar(), |shape, parameter| {
            let right = parameter.value.shape();
            let together = shape.broadcast(&right);
            together.ok_or(Error::ShapeMismatch { operation: self.name(), left: shape, right, source_line })
        })
    }

    /// Where its outcomes lie.
    fn support(&self) -> Constraint;

    /// Log density (or log probability) of `value`, an array of `batch_shape`.
    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g>;

    /// A draw of shape `prefix ++ batch_shape ++ event_shape`, made from standard noise.
    ///
    /// # Errors
    /// If the shapes of the parameters do not go together.
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>>;

    /// Independent copies of this distribution along new leading axes, taken together as one outcome.
    fn iid(self, shape: impl Into<Shape>) -> Iid<Self>
    where
        Self: Sized,
    {
        Iid { base: self, shape: shape.into() }
    }

    /// Checks the parameters that are known while tracing, numbers and arrays.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the value and its domain.
    #[track_caller]
    fn validate(&self) -> Result<()> {
        for Parameter { name, value, domain } in self.parameters() {
            let outside =
                value.known_elements().and_then(|all| all.into_iter().find(|&x| !domain.contains(x)));
            if let Some(value) = outside {
                return Err(Error::Parameter {
                    distribution: self.name(),
                    parameter: name,
                    requirement: domain.description(),
                    value,
                    source_line: Source::caller(),
                });
            }
        }
        self.batch_shape().map(|_| ())
    }

    /// Whether it differs from record to record.
    fn kind(&self) -> Kind {
        self.parameters().iter().map(|parameter| parameter.value.kind()).max().unwrap_or(Kind::Shared)
    }
}

/// Independent copies of a distribution taken together as one outcome; made by [`Distribution::iid`].
#[derive(Clone, Debug)]
pub struct Iid<D> {
    base: D,
    shape: Shape,
}

impl<D> Iid<D> {
    /// The distribution that is copied.
    pub fn base(&self) -> &D {
        &self.base
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Iid<D> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        let batch = self.base.batch_shape().unwrap_or_default();
        self.shape.concat(&batch).concat(&self.base.event_shape())
    }

    fn batch_shape(&self) -> Result<Shape> {
        self.base.batch_shape().map(|_| Shape::scalar())
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.base.log_prob(value).sum()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.base.draw(&prefix.concat(&self.shape), noise)
    }
}

/// A kind of standard noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Normal, mean 0, variance 1.
    StandardNormal,
    /// Uniform between 0 and 1.
    Uniform,
}

/// Hands out inputs that whoever runs the program fills with standard noise.
#[derive(Clone, Debug)]
pub struct Noise<'g> {
    graph: &'g Graph,
    scope: String,
    inputs: Vec<(String, NoiseKind, Shape)>,
}

impl<'g> Noise<'g> {
    /// Noise whose inputs are named after `scope`.
    #[must_use]
    pub fn new(graph: &'g Graph, scope: impl Into<String>) -> Self {
        Self { graph, scope: scope.into(), inputs: Vec::new() }
    }

    /// Noise of this kind and shape.
    ///
    /// # Errors
    /// If the shape is too large.
    pub fn draw(&mut self, kind: NoiseKind, shape: impl Into<Shape>) -> Result<Var<'g>> {
        let name = format!("{}/noise/{}", self.scope, self.inputs.len());
        let shape = shape.into();
        let input = self.graph.input(name.clone(), shape.clone())?;
        self.inputs.push((name, kind, shape));
        Ok(input)
    }

    /// The graph that draws are written into.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Names, kinds and shapes of the inputs handed out, in order.
    #[must_use]
    pub fn inputs(&self) -> &[(String, NoiseKind, Shape)] {
        &self.inputs
    }
}
