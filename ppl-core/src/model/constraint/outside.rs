//! Whether values that programs compute lie in a set.

use super::layout::elements_below_diagonal;
use super::{Constraint, correlation, correlation_cholesky, positive_definite, simplex};
use crate::base::Shape;
use crate::op::{Op, Shaping, Unary, Var};

impl Constraint {
    /// Not 0 where an outcome lies outside the set, else 0: for log densities, which are −∞ there also where
    /// the value was computed, so that nobody has checked it. Of the shape of `value` less the axes of one
    /// outcome. `None` where every number is inside ([`Real`](Constraint::Real)), or nothing is known of the
    /// set ([`Dependent`](Constraint::Dependent)).
    ///
    /// NaN is not found to lie outside a set of real numbers: what is computed of it remains NaN.
    ///
    /// ```
    /// use ppl_core::{Constraint, ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 3)?;
    /// let outside = Constraint::NonNegativeInteger.outside(x).ok_or("a set with numbers outside")?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[outside])?);
    /// plan.set("x", &[2.0, 2.5, -1.0])?;
    /// plan.run();
    /// assert_eq!([0, 1, 2].map(|k| plan.output(0)[k] != 0.0), [false, true, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn outside<'g>(self, value: Var<'g>) -> Option<Var<'g>> {
        if self.is_image(value) {
            return None;
        }
        let infinite = || 1.0 - value.is_finite();
        let broken = || value.floor().less(value) + value.equal(f64::INFINITY);
        let any = |element: Var<'g>, axes: usize| {
            (0..axes).fold(element, |all, _| {
                if all.shape().rank() == 0 { all } else { all.sum_axis(all.shape().rank() - 1) }
            })
        };
        Some(match self {
            Constraint::Real | Constraint::Dependent => return None,
            Constraint::Positive => value.less_equal(0.0),
            Constraint::NonNegative => value.less(0.0),
            Constraint::UnitInterval => value.less_equal(0.0) + value.greater_equal(1.0),
            Constraint::GreaterThan(low) => value.less_equal(low),
            Constraint::AtLeast(low) => value.less(low),
            Constraint::LessThan(high) => value.greater_equal(high),
            Constraint::AtMost(high) => value.greater(high),
            Constraint::Interval(low, high) => value.less(low) + value.greater(high),
            Constraint::Boolean => value.square().not_equal(value),
            Constraint::NonNegativeInteger => value.outside_integers(0.0, f64::INFINITY),
            Constraint::IntegerInterval(low, high) => value.outside_integers(low, high),
            Constraint::DependentInteger => broken() + infinite(),
            Constraint::Simplex => {
                let n = value.shape().dims().last().copied().unwrap_or(0);
                let far = (any(value, 1) - 1.0).abs().greater(simplex::rounding(n));
                any(value.less(0.0), 1) + far
            }
            Constraint::ZeroSum => {
                let n = value.shape().dims().last().copied().unwrap_or(0);
                any(value, 1).abs().greater(simplex::rounding(n) * any(value.abs(), 1))
            }
            Constraint::Ordered => {
                let (axis, n) = (value.shape().rank().checked_sub(1)?, value.shape().dims().last().copied()?);
                let (next, here) = (value.slice(axis, 1.min(n)..), value.slice(axis, ..n.saturating_sub(1)));
                any(next.less_equal(here), 1)
            }
            Constraint::PositiveOrdered => {
                any(value.less_equal(0.0), 1) + Constraint::Ordered.outside(value)?
            }
            Constraint::LowerCholesky => not_lower(value)?,
            Constraint::CorrelationCholesky => {
                let n = value.shape().dims().last().copied().unwrap_or(0);
                let lengths = any(value.square(), 1);
                not_lower(value)? + any((lengths - 1.0).abs().greater(correlation_cholesky::tolerance(n)), 1)
            }
            Constraint::Correlation => {
                let n = value.shape().dims().last().copied().unwrap_or(0);
                let far = (value.diagonal() - 1.0).abs().greater(correlation::tolerance(n));
                any(far, 1) + Constraint::PositiveDefinite.outside(value)?
            }
            Constraint::PositiveDefinite => {
                let n = value.shape().dims().last().copied().unwrap_or(0);
                let roots = value.diagonal().abs().sqrt();
                let (dims, mut across) = (roots.shape(), roots.shape().dims().to_vec());
                across.insert(across.len().saturating_sub(1), 1);
                let down = roots.reshape(dims.concat(&Shape::from(1)));
                let scale = positive_definite::tolerance(n) * (down * roots.reshape(across));
                let crooked = any((value - value.matrix_transposed()).abs().greater(scale), 2);
                let pivots = value.cholesky().diagonal();
                // A matrix that is not positive definite has no factor: NaN.
                crooked + any(1.0 - pivots.greater(0.0), 1)
            }
            Constraint::Counts(total) => {
                any(value.outside_integers(0.0, f64::INFINITY), 1) + any(value, 1).not_equal(total)
            }
        })
    }
}

impl Constraint {
    /// Whether a value is made by the bijection onto the set, so that it lies there.
    fn is_image(self, value: Var<'_>) -> bool {
        if value.at_once().is_some() {
            return false;
        }
        let graph = value.graph();
        let mut node = graph.node(value.id());
        while let (Op::Shaping(Shaping::Reshape(_) | Shaping::Broadcast(_)), [from]) =
            (&node.op, &node.args[..])
        {
            node = graph.node(*from);
        }
        match self {
            Constraint::Positive | Constraint::NonNegative => node.op == Op::Unary(Unary::Exp),
            Constraint::UnitInterval => node.op == Op::Unary(Unary::Sigmoid),
            _ => false,
        }
    }
}

/// Whether a matrix has something above its diagonal, or a diagonal that is not positive.
#[track_caller]
fn not_lower(matrix: Var<'_>) -> Option<Var<'_>> {
    let diagonal = matrix.diagonal();
    let axis = diagonal.shape().rank().checked_sub(1)?;
    let not_positive = diagonal.less_equal(0.0).sum_axis(axis);
    if diagonal.shape().dims()[axis] < 2 {
        return Some(not_positive);
    }
    let above = elements_below_diagonal(matrix.matrix_transposed());
    Some(above.not_equal(0.0).sum_axis(axis) + not_positive)
}
