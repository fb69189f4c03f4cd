//! What a distribution must be able to do.

use crate::base::{Error, Result, Shape, Source};
use crate::model::constraint::Constraint;
use crate::model::expand::Expanded;
use crate::model::family::ExponentialFamily;
use crate::model::noise::Noise;
use crate::model::transport::Transport;
use crate::op::{Graph, Kind, Value, Var};
use std::rc::Rc;

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

impl Parameter<'_> {
    /// Checks the value of a parameter of `distribution`, as far as it is known while tracing.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the value and its domain.
    #[track_caller]
    pub fn check(&self, distribution: &'static str) -> Result<()> {
        let known = self.value.known_elements();
        match known.and_then(|all| self.domain.violation(&all, &self.value.shape())) {
            Some((_, value)) => Err(Error::Parameter {
                distribution,
                parameter: self.name,
                requirement: self.domain.to_string(),
                value,
                source_line: Source::caller(),
            }),
            None => Ok(()),
        }
    }
}

/// A probability distribution over arrays, as an array program.
///
/// As in NumPyro, the shape of a value is `batch_shape` (one independent distribution for each element of the
/// parameters, broadcast together) followed by `event_shape` (the shape of one outcome).
///
/// Everything a distribution computes is written into the graph its parameters and values live on; it draws
/// by transforming standard noise, so a draw can be differentiated with respect to the parameters where the
/// transformation is smooth.
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
    /// If the shapes of the parameters do not go together, or this distribution cannot be drawn from.
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>>;

    /// Whether the derivative of a draw with respect to the parameters is that of the draw's expectation, as
    /// pathwise (reparameterised or implicit) gradients are. By default it is, but for discrete supports.
    fn reparameterised(&self) -> bool {
        !self.support().is_discrete()
    }

    /// The simpler distribution that this one is an image of, if it is one: for handlers that sample the
    /// simpler one instead ([`handlers::LocScale`](crate::handlers::LocScale),
    /// [`handlers::Transformed`](crate::handlers::Transformed)).
    fn transport(&self) -> Option<Transport<'g>> {
        None
    }

    /// The distribution as a member of an exponential family; `None` where it is not one with parameters as these.
    #[track_caller]
    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        None
    }

    /// Mean, of shape `batch_shape ++ event_shape`; infinite or NaN where the distribution has none, `None`
    /// where no formula is known.
    #[track_caller]
    fn mean(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// Variance of each element, of shape `batch_shape ++ event_shape`; infinite or NaN where the
    /// distribution has none, `None` where no formula is known.
    #[track_caller]
    fn variance(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// Entropy in nats (differential entropy for a density), of `batch_shape`; `None` where no formula is
    /// known.
    #[track_caller]
    fn entropy(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// The outcome of the greatest density or probability, of shape `batch_shape ++ event_shape`; of several,
    /// one. `None` where no formula is known.
    #[track_caller]
    fn mode(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// The [`quantile`](Self::quantile) at ½, for distributions of single numbers.
    #[track_caller]
    fn median(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.quantile(graph.constant(0.5).broadcast_to(self.batch_shape().ok()?))
    }

    /// The third central moment over the third power of the standard deviation, for distributions of single
    /// numbers; infinite or NaN where the distribution has none, `None` where no formula is known.
    #[track_caller]
    fn skewness(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// Probability of an outcome of at most `value`, for distributions of single numbers; `None` where no
    /// formula is known.
    #[track_caller]
    fn cdf(&self, _value: Var<'g>) -> Option<Var<'g>> {
        None
    }

    /// The smallest outcome whose [`cdf`](Self::cdf) is at least `probability`, for distributions of single
    /// numbers; NaN where that is not from 0 to 1, and `None` where no formula is known.
    #[track_caller]
    fn quantile(&self, _probability: Var<'g>) -> Option<Var<'g>> {
        None
    }

    /// Probability of an outcome above `value`, `1 − F(value)`, for distributions of single numbers; those that
    /// can compute it without cancellation where it is small do.
    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(1.0 - self.cdf(value)?)
    }

    /// The logarithm of [`cdf`](Self::cdf), for distributions of single numbers.
    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(logarithm(self.cdf(value)?, self.sf(value)?))
    }

    /// The logarithm of [`sf`](Self::sf), for distributions of single numbers.
    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(logarithm(self.sf(value)?, self.cdf(value)?))
    }

    /// The outcome whose [`log_cdf`](Self::log_cdf) is `log_probability ≤ 0`: the quantile in tails where
    /// probabilities are too small for numbers. By default that of the exponential.
    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.quantile(log_probability.exp())
    }

    /// The outcome whose [`log_sf`](Self::log_sf) is `log_probability ≤ 0`; for integers the smallest whose is
    /// at most that. By default the quantile of the rest to 1, which loses the upper tail as that rounds to 1.
    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.quantile(-log_probability.expm1())
    }

    /// Independent copies of this distribution along new leading axes, taken together as one outcome.
    fn iid(self, shape: impl Into<Shape>) -> Iid<Self>
    where
        Self: Sized,
    {
        Iid { base: self, shape: shape.into() }
    }

    /// Independent copies of this distribution that fill up a batch shape, to which its own must broadcast.
    ///
    /// # Errors
    /// If it does not.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Distribution, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};
    /// # struct Uniform;
    /// # impl<'g> Distribution<'g> for Uniform {
    /// #     fn name(&self) -> &'static str { "Uniform" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
    /// #     fn support(&self) -> Constraint { Constraint::UnitInterval }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         noise.draw(NoiseKind::Uniform, prefix.clone())
    /// #     }
    /// # }
    /// assert_eq!(Uniform.expand([4, 2])?.batch_shape()?, Shape::from([4, 2]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    fn expand(self, batch: impl Into<Shape>) -> Result<Expanded<Self>>
    where
        Self: Sized,
    {
        let expanded = Expanded::new(self, batch.into());
        expanded.batch_shape()?;
        Ok(expanded)
    }

    /// Checks the parameters that are known while tracing, numbers and arrays.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the value and its domain.
    #[track_caller]
    fn validate(&self) -> Result<()> {
        for parameter in self.parameters() {
            parameter.check(self.name())?;
        }
        self.batch_shape().map(|_| ())
    }

    /// Whether it differs from record to record.
    fn kind(&self) -> Kind {
        self.parameters().iter().map(|parameter| parameter.value.kind()).max().unwrap_or(Kind::Shared)
    }
}

/// The logarithm of a probability by itself or by the rest to 1, whichever is smaller; with a derivative of 0 where the
/// probability is 0.
#[track_caller]
fn logarithm<'g>(probability: Var<'g>, rest: Var<'g>) -> Var<'g> {
    let near = rest.less(0.5);
    let far = 1.0 - near;
    let impossible = far * probability.equal(0.0);
    let log = impossible.select(1.0, far.select(probability, 1.0)).log();
    let of_far = impossible.select(f64::NEG_INFINITY, log);
    near.select((-near.select(rest, 0.0)).log1p(), of_far)
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

    /// One term for each element of the axes in front of one outcome: sums over all copies, and over nothing else.
    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let each = self.base.log_prob(value);
        let copies = self.shape.concat(&self.base.batch_shape().unwrap_or_default());
        // A value that has an axis too few, or one of length 1, stands for all copies. One that does not go with them
        // fails here.
        let together = each.shape().broadcast(&copies);
        let whole = together.filter(|shape| shape.dims().ends_with(copies.dims())).unwrap_or(copies.clone());
        let each = each.broadcast_to(whole.clone());
        let Some(in_front @ 1..) = whole.rank().checked_sub(copies.rank()) else { return each.sum() };
        let mut kept = whole.dims().to_vec();
        kept[in_front..].fill(1);
        each.sum_to(kept).reshape(&whole.dims()[..in_front])
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.base.draw(&prefix.concat(&self.shape), noise)
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let Transport { base, map } = self.base.transport()?;
        let base = Expanded::new(base, self.base.batch_shape().ok()?);
        Some(Transport { base: Rc::new(Iid { base, shape: self.shape.clone() }), map })
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        self.base.family()
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.mean(graph)?.broadcast_to(self.event_shape()))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.variance(graph)?.broadcast_to(self.event_shape()))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.entropy(graph)?.sum() * self.shape.elements() as f64)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()
    }

    fn kind(&self) -> Kind {
        self.base.kind()
    }
}

/// Everything of a distribution behind a pointer.
macro_rules! behind {
    ($($pointer:ty),*) => {$(
        impl<'g, D: Distribution<'g> + ?Sized> Distribution<'g> for $pointer {
            fn name(&self) -> &'static str {
                (**self).name()
            }
            fn parameters(&self) -> Vec<Parameter<'g>> {
                (**self).parameters()
            }
            fn event_shape(&self) -> Shape {
                (**self).event_shape()
            }
            #[track_caller]
            fn batch_shape(&self) -> Result<Shape> {
                (**self).batch_shape()
            }
            fn support(&self) -> Constraint {
                (**self).support()
            }
            #[track_caller]
            fn log_prob(&self, value: Var<'g>) -> Var<'g> {
                (**self).log_prob(value)
            }
            fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
                (**self).draw(prefix, noise)
            }
            fn reparameterised(&self) -> bool {
                (**self).reparameterised()
            }
            fn transport(&self) -> Option<Transport<'g>> {
                (**self).transport()
            }
            #[track_caller]
            fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
                (**self).family()
            }
            #[track_caller]
            fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).mean(graph)
            }
            #[track_caller]
            fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).variance(graph)
            }
            #[track_caller]
            fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).entropy(graph)
            }
            #[track_caller]
            fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).mode(graph)
            }
            #[track_caller]
            fn median(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).median(graph)
            }
            #[track_caller]
            fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
                (**self).skewness(graph)
            }
            #[track_caller]
            fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
                (**self).cdf(value)
            }
            #[track_caller]
            fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
                (**self).quantile(probability)
            }
            #[track_caller]
            fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
                (**self).sf(value)
            }
            #[track_caller]
            fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
                (**self).log_cdf(value)
            }
            #[track_caller]
            fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
                (**self).log_sf(value)
            }
            #[track_caller]
            fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
                (**self).quantile_of_log_cdf(log_probability)
            }
            #[track_caller]
            fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
                (**self).quantile_of_log_sf(log_probability)
            }
            #[track_caller]
            fn validate(&self) -> Result<()> {
                (**self).validate()
            }
            fn kind(&self) -> Kind {
                (**self).kind()
            }
        }
    )*};
}

behind!(Box<D>, Rc<D>, &D);
