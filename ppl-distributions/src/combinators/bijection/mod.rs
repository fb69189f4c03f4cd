//! Bijections as values: what a [`Transformed`](crate::Transformed) distribution is pushed through.

mod affine;
mod compose;
mod elementwise;
mod onto;

pub use affine::Affine;
pub use compose::{Inverse, Then};
pub use elementwise::{Exp, Negation, Power, Sigmoid, Tanh};
pub use onto::Onto;

use crate::shared::support::ends_of;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Graph, Parameter, Result, Shape, Var};

/// Whether a bijection of numbers keeps their order or reverses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Larger numbers have larger images.
    Increasing,
    /// Larger numbers have smaller images.
    Decreasing,
}

impl Direction {
    /// The direction of one bijection after another.
    #[must_use]
    pub fn then(self, next: Direction) -> Direction {
        if self == next { Direction::Increasing } else { Direction::Decreasing }
    }
}

/// A smooth bijection between sets of numbers, vectors or matrices, as an array program.
///
/// Implement it to transform distributions by a bijection of your own; five methods suffice for one of
/// numbers.
///
/// ```
/// use ppl_core::{Constraint, Distribution, ExecutionPlan, Graph, Program, Var};
/// use ppl_distributions::{Bijection, Combine, Direction, Normal};
///
/// /// The hyperbolic sine.
/// #[derive(Clone, Copy, Debug)]
/// struct Sinh;
///
/// impl<'g> Bijection<'g> for Sinh {
///     fn name(&self) -> &'static str { "Sinh" }
///     fn forward(&self, x: Var<'g>) -> Var<'g> { 0.5 * (x.exp() - (-x).exp()) }
///     fn inverse(&self, y: Var<'g>) -> Var<'g> { (y + (1.0 + y.square()).sqrt()).log() }
///     fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> { Some((0.5 * (x.exp() + (-x).exp())).log()) }
///     fn image(&self, _domain: Constraint) -> Constraint { Constraint::Real }
///     fn direction(&self) -> Option<Direction> { Some(Direction::Increasing) }
/// }
///
/// let graph = Graph::new();
/// let y = graph.input("y", ())?;
/// let log_prob = Normal::new(0.0, 1.0).transformed(Sinh).log_prob(y);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("y", &[0.75])?; // sinh(ln 2)
/// plan.run();
/// let x = 2.0_f64.ln();
/// let expected = -0.5 * x * x - 0.5 * (2.0 * std::f64::consts::PI).ln() - 1.25_f64.ln();
/// assert!((plan.output(0)[0] - expected).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub trait Bijection<'g> {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its parameters, with their domains; their shapes broadcast with that of an argument whose outcomes are
    /// numbers.
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }

    /// Number of last axes that are one argument: 0 for numbers, 1 for vectors, 2 for matrices.
    fn domain_rank(&self) -> usize {
        0
    }

    /// Number of last axes that are one result.
    fn image_rank(&self) -> usize {
        self.domain_rank()
    }

    /// Shape of the result of an argument of this shape, leading axes included.
    ///
    /// # Errors
    /// If there is no argument of such a shape.
    #[track_caller]
    fn forward_shape(&self, shape: &Shape) -> Result<Shape> {
        Ok(shape.clone())
    }

    /// Shape of the argument of a result of this shape: the reverse of
    /// [`forward_shape`](Self::forward_shape).
    ///
    /// # Errors
    /// If there is no result of such a shape.
    #[track_caller]
    fn inverse_shape(&self, shape: &Shape) -> Result<Shape> {
        Ok(shape.clone())
    }

    /// The result, for each argument along leading axes.
    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g>;

    /// The argument of which this is the result; NaN or infinite where there is none.
    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g>;

    /// Log of the Jacobian determinant's size at `x`, of the shape of its leading axes; `None` where it is 0
    /// everywhere.
    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>>;

    /// The set that a set is mapped to.
    fn image(&self, domain: Constraint) -> Constraint;

    /// The whole set that arguments come from.
    fn domain(&self) -> Constraint {
        Constraint::Real
    }

    /// Whether arguments may come from a set, as far as it is known; ends that are single points do not count.
    fn accepts(&self, set: Constraint) -> bool {
        !is_beyond(set, self.domain())
    }

    /// Whether order is kept or reversed, for a bijection of numbers that does one of both everywhere.
    fn direction(&self) -> Option<Direction> {
        None
    }

    /// The factor `b`, where the bijection is `x ↦ a + b x` for each number: then means and variances are
    /// known too.
    #[track_caller]
    fn factor(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        None
    }

    /// Another bijection after this one.
    fn then<B: Bijection<'g>>(self, next: B) -> Then<Self, B>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }

    /// The inverse of this bijection.
    fn inverted(self) -> Inverse<Self>
    where
        Self: Sized,
    {
        Inverse::new(self)
    }

    /// Checks the parameters that are known while tracing.
    ///
    /// # Errors
    /// [`Error::Parameter`](ppl_core::Error::Parameter) with the value and its domain.
    #[track_caller]
    fn validate(&self) -> Result<()> {
        for parameter in self.parameters() {
            parameter.check(self.name())?;
        }
        Ok(())
    }

    /// Whether it differs from record to record.
    fn kind(&self) -> Kind {
        self.parameters().iter().map(|parameter| parameter.value.kind()).max().unwrap_or(Kind::Shared)
    }
}

/// Whether a set of numbers is known to reach beyond another.
fn is_beyond(set: Constraint, domain: Constraint) -> bool {
    let unknown = |set: Constraint| {
        set.event_rank() > 0 || matches!(set, Constraint::Dependent | Constraint::DependentInteger)
    };
    if unknown(set) || unknown(domain) {
        return false;
    }
    let ((low, high), (least, most)) = (ends_of(set), ends_of(domain));
    low < least || high > most
}

/// The image of a set of numbers that is an interval, under a monotone function of its ends;
/// [`Constraint::Dependent`] of another set.
pub(crate) fn interval_image(domain: Constraint, function: impl Fn(f64) -> f64) -> Constraint {
    let ends = match domain {
        Constraint::Real => (f64::NEG_INFINITY, f64::INFINITY),
        Constraint::Positive | Constraint::NonNegative => (0.0, f64::INFINITY),
        Constraint::UnitInterval => (0.0, 1.0),
        Constraint::GreaterThan(low) | Constraint::AtLeast(low) => (low, f64::INFINITY),
        Constraint::LessThan(high) | Constraint::AtMost(high) => (f64::NEG_INFINITY, high),
        Constraint::Interval(low, high) => (low, high),
        _ => return Constraint::Dependent,
    };
    let (a, b) = (function(ends.0), function(ends.1));
    match (a.min(b), a.max(b)) {
        (low, high) if low.is_nan() || high.is_nan() => Constraint::Dependent,
        (f64::NEG_INFINITY, f64::INFINITY) => Constraint::Real,
        (0.0, f64::INFINITY) => Constraint::Positive,
        (low, f64::INFINITY) => Constraint::GreaterThan(low),
        (f64::NEG_INFINITY, high) => Constraint::LessThan(high),
        (0.0, 1.0) => Constraint::UnitInterval,
        (low, high) => Constraint::Interval(low, high),
    }
}
