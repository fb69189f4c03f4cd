//! A distribution that does not look at some of its outcomes.

use crate::shared::arrays::{together, whole_shape};
use ndarray::ArrayD;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Distribution, Expanded, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// A distribution whose log density is 0 where a mask is 0, whatever the outcome there: for missing values,
/// say.
///
/// ```text
/// ln p(x) = ln p_base(x) where mask ≠ 0, else 0        mask: [batch…]
/// ```
///
/// An outcome that is masked is replaced by a point of the support before the base looks at it, so NaN and
/// values outside the support do no harm, neither to the log density nor to its derivatives. Draws and
/// moments are those of the base. Made by [`Combine::masked`](crate::Combine::masked).
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{Combine, Normal};
/// let graph = Graph::new();
/// let (x, there) = (graph.input("x", 2)?, graph.input("there", 2)?);
/// let log_prob = Normal::new(0.0, 1.0).masked(there).log_prob(x);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("x", &[f64::NAN, 0.0])?;
/// plan.set("there", &[0.0, 1.0])?;
/// plan.run();
/// assert_eq!(plan.output(0)[0], 0.0);
/// assert!((plan.output(0)[1] + 0.5 * (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Masked<'g, D> {
    base: D,
    mask: Value<'g>,
}

impl<'g, D: Distribution<'g>> Masked<'g, D> {
    /// Looks at outcomes of `base` where `mask` (of its batch's shape, or one that broadcasts with it) is not
    /// 0.
    pub fn new(base: D, mask: impl Into<Value<'g>>) -> Self {
        Self { base, mask: mask.into() }
    }

    /// The distribution that is masked.
    pub fn base(&self) -> &D {
        &self.base
    }

    /// A point of the support, of the shape of one outcome or a single number.
    fn harmless(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let support = self.base.support();
        let point = match support {
            Constraint::Dependent => return None,
            Constraint::IntegerInterval(low, high) => {
                let finite = [low, high].into_iter().find(|end| end.is_finite());
                return Some(graph.constant(finite.unwrap_or(0.0)));
            }
            set if set.is_discrete() => return Some(graph.constant(0.0)),
            set if set.event_rank() == 0 => return Some(graph.constant(set.constrain_number(0.0))),
            set => {
                let shape = set.unconstrained_shape(&self.base.event_shape()).ok()?;
                set.constrain_array(&ArrayD::zeros(shape.dims())).ok()?
            }
        };
        Some(graph.array(&point))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Masked<'g, D> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        self.base.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        together("masked", &self.base.batch_shape()?, &self.mask.shape())
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let mask = self.mask.on(value.graph());
        if mask.known() == Some(1.0) {
            return self.base.log_prob(value);
        }
        let looked_at = match self.harmless(value.graph()) {
            Some(point) => {
                // The mask beside each element of an outcome.
                let ones = Shape::from(vec![1; self.event_shape().rank()]);
                let beside = mask.reshape(mask.shape().concat(&ones));
                let shape = value.shape().broadcast(&beside.shape()).unwrap_or_else(|| value.shape());
                beside.broadcast_to(shape).select(value, point)
            }
            None => value,
        };
        let log_prob = self.base.log_prob(looked_at);
        mask.select(log_prob, 0.0)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Expanded::new(&self.base, self.batch_shape()?).draw(prefix, noise)
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.mean(graph)?.broadcast_to(whole_shape(self)))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.variance(graph)?.broadcast_to(whole_shape(self)))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.base.cdf(value)
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.base.quantile(probability)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.base.kind().max(self.mask.kind())
    }
}
