//! The bijections of constraints.

use super::{Bijection, Direction};
use ppl_core::{Constraint, Result, Shape, Var};

/// The bijection of a [`Constraint`]: from unconstrained numbers onto a set of numbers, vectors or matrices.
///
/// ```
/// use ppl_core::{Distribution, Graph, Shape};
/// use ppl_distributions::{Combine, Normal, Onto};
/// use ppl_core::Constraint;
/// let graph = Graph::new();
/// let logits = graph.input("logits", 2)?;
/// let logistic_normal = Normal::new(logits, 1.0).transformed(Onto(Constraint::Simplex));
/// assert_eq!((logistic_normal.batch_shape()?, logistic_normal.event_shape()), (Shape::scalar(), Shape::from(3)));
/// assert_eq!(logistic_normal.support(), Constraint::Simplex);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Onto(pub Constraint);

impl<'g> Bijection<'g> for Onto {
    fn name(&self) -> &'static str {
        "Onto"
    }

    fn domain_rank(&self) -> usize {
        self.0.event_rank().min(1)
    }

    fn image_rank(&self) -> usize {
        self.0.event_rank()
    }

    #[track_caller]
    fn forward_shape(&self, shape: &Shape) -> Result<Shape> {
        self.0.constrained_shape(shape)
    }

    #[track_caller]
    fn inverse_shape(&self, shape: &Shape) -> Result<Shape> {
        self.0.unconstrained_shape(shape)
    }

    #[track_caller]
    fn forward(&self, x: Var<'g>) -> Var<'g> {
        self.0.constrain(x)
    }

    #[track_caller]
    fn inverse(&self, y: Var<'g>) -> Var<'g> {
        self.0.unconstrain_var(y)
    }

    #[track_caller]
    fn log_jacobian(&self, x: Var<'g>) -> Option<Var<'g>> {
        self.0.log_jacobians(x)
    }

    /// Of all unconstrained numbers, the set itself; of fewer, nothing is known.
    fn image(&self, domain: Constraint) -> Constraint {
        if domain == Constraint::Real { self.0 } else { Constraint::Dependent }
    }

    fn direction(&self) -> Option<Direction> {
        match self.0 {
            Constraint::LessThan(_) | Constraint::AtMost(_) => Some(Direction::Decreasing),
            set if set.event_rank() == 0 && set.has_bijection() => Some(Direction::Increasing),
            _ => None,
        }
    }
}
