//! Looking at what an expression is made of.

use crate::base::Shape;
use crate::op::{Binary, Constant, Graph, Op, Shaping, Unary, Var};
use std::collections::HashSet;

/// A view of a graph through which some values cannot be looked into.
pub(crate) struct Pattern<'g, 'o> {
    pub(crate) graph: &'g Graph,
    pub(crate) opaque: &'o HashSet<u32>,
}

impl<'g> Pattern<'g, '_> {
    fn look<R>(&self, x: Var<'g>, found: impl FnOnce(&Op, &[u32]) -> Option<R>) -> Option<R> {
        if self.opaque.contains(&x.id()) {
            return None;
        }
        self.graph.with_node(x.id(), |node| found(&node.op, &node.args))
    }

    fn first(&self, x: Var<'g>, is: impl FnOnce(&Op) -> bool) -> Option<Var<'g>> {
        self.look(x, |op, args| is(op).then(|| args.first().copied()).flatten()).map(|id| self.graph.var(id))
    }

    /// What `is` finds in the operation that makes `x`, and that operation's first argument.
    pub(crate) fn node<R>(&self, x: Var<'g>, is: impl FnOnce(&Op) -> Option<R>) -> Option<(R, Var<'g>)> {
        let found = self.look(x, |op, args| Some((is(op)?, args.first().copied()?)));
        found.map(|(found, id)| (found, self.graph.var(id)))
    }

    /// `y`, if `x = f(y)`.
    pub(crate) fn unary(&self, x: Var<'g>, f: Unary) -> Option<Var<'g>> {
        self.first(x, |op| *op == Op::Unary(f))
    }

    /// `(a, b)`, if `x = f(a, b)`.
    pub(crate) fn binary(&self, x: Var<'g>, f: Binary) -> Option<(Var<'g>, Var<'g>)> {
        let found = self.look(x, |op, args| match (op, args) {
            (Op::Binary(other), &[a, b]) if *other == f => Some((a, b)),
            _ => None,
        });
        found.map(|(a, b)| (self.graph.var(a), self.graph.var(b)))
    }

    /// `y`, if `x` is `y` repeated.
    pub(crate) fn broadcast(&self, x: Var<'g>) -> Option<Var<'g>> {
        self.first(x, |op| matches!(op, Op::Shaping(Shaping::Broadcast(_))))
    }

    /// `y`, if `x` is `y` under another shape.
    pub(crate) fn reshape(&self, x: Var<'g>) -> Option<Var<'g>> {
        self.first(x, |op| matches!(op, Op::Shaping(Shaping::Reshape(_))))
    }

    /// The number that every element of `x` is known to be.
    pub(crate) fn number(&self, x: Var<'g>) -> Option<f64> {
        let repeated = self.broadcast(x).unwrap_or(x);
        self.look(repeated, |op, _| match op {
            Op::Constant(constant) => same_everywhere(constant),
            _ => None,
        })
    }

    /// Whether every element of `x` is known to be `number`, bit for bit.
    pub(crate) fn is(&self, x: Var<'g>, number: f64) -> bool {
        self.number(x).is_some_and(|known| known.to_bits() == number.to_bits())
    }

    /// `y`, if `x` is `1 + y` or `y + 1`.
    pub(crate) fn one_plus(&self, x: Var<'g>) -> Option<Var<'g>> {
        let (a, b) = self.binary(x, Binary::Add)?;
        let y = if self.is(a, 1.0) {
            b
        } else if self.is(b, 1.0) {
            a
        } else {
            return None;
        };
        // With an array of ones the sum may be larger than `y`.
        Some(y.broadcast_to(x.shape()))
    }

    /// `y`, if `x` is `1 − y`.
    pub(crate) fn one_minus(&self, x: Var<'g>) -> Option<Var<'g>> {
        let (a, b) = self.binary(x, Binary::Sub)?;
        self.is(a, 1.0).then(|| b.broadcast_to(x.shape()))
    }

    /// `f(y)`
    pub(crate) fn make(&self, f: Unary, y: Var<'g>) -> Var<'g> {
        self.graph.apply(Op::Unary(f), &[y])
    }

    /// `f(a, b)`
    pub(crate) fn make_binary(&self, f: Binary, a: Var<'g>, b: Var<'g>) -> Var<'g> {
        self.graph.apply(Op::Binary(f), &[a, b])
    }

    /// `−y`; for a `y` that is itself a negation, what it negates.
    pub(crate) fn negated(&self, y: Var<'g>) -> Var<'g> {
        self.unary(y, Unary::Neg).unwrap_or_else(|| self.make(Unary::Neg, y))
    }
}

fn same_everywhere(constant: &Constant) -> Option<f64> {
    let mut values = constant.values();
    let first = values.next()?;
    values.all(|value| value.to_bits() == first.to_bits()).then_some(first)
}

/// The shape that scalar or equal shapes have together.
pub(crate) fn largest<'s>(shapes: impl Iterator<Item = &'s Shape>) -> Shape {
    shapes.filter(|shape| !shape.is_scalar()).last().cloned().unwrap_or_default()
}
