//! Exponential families: what a distribution's log density is linear in.

use crate::base::Shape;
use crate::op::{Graph, Var};

/// A function of an outcome that a log density is linear in.
///
/// Shapes are for an outcome `x` of shape `S`, independent copies included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Statistic {
    /// `x`, of shape `S`.
    Value,
    /// `x²` element by element, of shape `S`.
    Square,
    /// `x xᵀ` along the last axis, of shape `S` and once more its last axis.
    Outer,
    /// `ln x` element by element, of shape `S`.
    Log,
    /// `ln(1 − x)` element by element, of shape `S`.
    LogComplement,
    /// `ln |x|` of the matrices along the last two axes, of shape `S` without these.
    LogDeterminant,
    /// For each of this many categories whether `x` is it, of shape `S` and a last axis of categories.
    Indicators(usize),
}

impl Statistic {
    /// The shape of this statistic of an outcome of the given shape.
    ///
    /// ```
    /// use ppl_core::{Shape, model::Statistic};
    /// assert_eq!(Statistic::Outer.shape(&Shape::from([4, 3])), Shape::from([4, 3, 3]));
    /// ```
    #[must_use]
    pub fn shape(self, outcome: &Shape) -> Shape {
        let dims = outcome.dims();
        match self {
            Self::Value | Self::Square | Self::Log | Self::LogComplement => outcome.clone(),
            Self::Outer => outcome.concat(&Shape::from(dims.last().copied().unwrap_or(1))),
            Self::LogDeterminant => Shape::from(&dims[..dims.len().saturating_sub(2)]),
            Self::Indicators(categories) => outcome.concat(&Shape::from(categories)),
        }
    }

    /// The statistic of an outcome.
    #[must_use]
    #[track_caller]
    pub fn of<'g>(self, outcome: Var<'g>) -> Var<'g> {
        let shape = outcome.shape();
        match self {
            Self::Value => outcome,
            Self::Square => outcome.square(),
            Self::Outer => {
                let dims = shape.dims();
                let (leading, last) = dims.split_at(dims.len().saturating_sub(1));
                let n = last.first().copied().unwrap_or(1);
                let column = outcome.reshape(Shape::from(leading).concat(&Shape::from([n, 1])));
                let row = outcome.reshape(Shape::from(leading).concat(&Shape::from([1, n])));
                let whole = self.shape(&shape);
                column.broadcast_to(whole.clone()) * row.broadcast_to(whole)
            }
            Self::Log => outcome.log(),
            Self::LogComplement => (-outcome).log1p(),
            Self::LogDeterminant => outcome.log_determinant(),
            Self::Indicators(categories) => {
                let whole = self.shape(&shape);
                let numbers = ndarray::Array1::from_iter((0..categories).map(|k| k as f64)).into_dyn();
                let numbers = outcome.graph().array(&numbers).broadcast_to(whole.clone());
                outcome.reshape(shape.concat(&Shape::from(1))).broadcast_to(whole).equal(numbers)
            }
        }
    }

    /// Its name in formulas, for an outcome of this name: `ln x`.
    #[must_use]
    pub fn name_of(self, outcome: &str) -> String {
        match self {
            Self::Value => outcome.to_owned(),
            Self::Square => format!("{outcome}²"),
            Self::Outer => format!("{outcome} {outcome}ᵀ"),
            Self::Log => format!("ln {outcome}"),
            Self::LogComplement => format!("ln(1 − {outcome})"),
            Self::LogDeterminant => format!("ln |{outcome}|"),
            Self::Indicators(_) => format!("indicators of {outcome}"),
        }
    }
}

/// A distribution as a member of an exponential family.
///
/// ```text
/// ln p(x) = Σ_k ⟨η_k, T_k(x)⟩ − A(η) + ln h(x)          E[T_k(x)] = ∂A/∂η_k
/// ```
///
/// `T` are the [statistics](Self::statistics), `η` the [natural parameters](Self::natural), `A` the
/// [log-partition function](Self::log_partition) and `h` the base measure. Arrays hold independent copies along
/// leading axes, and `A` and `ln h` are summed over them, so one implementation serves
/// [`Distribution::iid`](crate::Distribution::iid), [`expand`](crate::Distribution::expand) and plates.
///
/// A distribution says with [`Distribution::family`](crate::Distribution::family) that it is one.
pub trait ExponentialFamily<'g> {
    /// The family's name.
    fn name(&self) -> &'static str;

    /// The shape of one outcome, without copies.
    fn outcome(&self) -> Shape {
        Shape::scalar()
    }

    /// `T`, in the order of the natural parameters.
    fn statistics(&self) -> Vec<Statistic>;

    /// `η`. Each broadcasts to the shape of its statistic.
    #[track_caller]
    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>>;

    /// `A(η)`, one number: the sum over all copies that the natural parameters hold, each of which has the shape
    /// of its statistic.
    #[track_caller]
    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g>;

    /// `A` at the distribution's own parameters, written in these and not in natural ones: what is not linear in the
    /// one may be linear in the other. An array of which each element stands for as many copies as it stretches to.
    #[track_caller]
    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g>;

    /// `ln h(x)`, one number: the sum over all copies.
    #[track_caller]
    fn log_base(&self, outcome: Var<'g>) -> Var<'g>;
}
