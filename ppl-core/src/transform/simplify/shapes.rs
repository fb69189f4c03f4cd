//! Chains of reshapes, of broadcasts and of permuted axes become one, and elementwise work is done before a
//! broadcast instead of after.
//!
//! Every element is computed from the same numbers by the same operation as before, so results are the same
//! bit for bit. Sums are left alone: adding up in two steps rounds differently from adding up in one, and the
//! sum of a single −0 is 0.

use super::pattern::{Pattern, largest};
use crate::base::Shape;
use crate::op::{Op, Shaping, Structure, Var};

/// See [`Rule`](super::Rule).
pub(super) fn rule<'g>(see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    match (op, args) {
        (Op::Shaping(Shaping::Broadcast(to) | Shaping::Reshape(to)), &[x]) if x.shape() == *to => Some(x),
        (Op::Shaping(Shaping::Reshape(to)), &[x]) => reshape(see, to, x),
        (Op::Shaping(Shaping::Broadcast(to)), &[x]) => broadcast(see, to, x),
        (Op::Structure(structure), &[x]) => structural(see, structure, x),
        (op, args) if op.is_elementwise() => elementwise(see, op, args),
        _ => None,
    }
}

fn reshape<'g>(see: &Pattern<'g, '_>, to: &Shape, x: Var<'g>) -> Option<Var<'g>> {
    // A number repeated is the same under every shape.
    let repeated = see.broadcast(x).filter(|y| y.shape().is_scalar());
    repeated.map(|y| y.broadcast_to(to.clone())).or_else(|| see.reshape(x).map(|y| y.reshape(to.clone())))
}

fn broadcast<'g>(see: &Pattern<'g, '_>, to: &Shape, x: Var<'g>) -> Option<Var<'g>> {
    if let Some(y) = see.broadcast(x) {
        return Some(y.broadcast_to(to.clone()));
    }
    // Nothing is repeated: there are only more axes of length 1. A reshape costs nothing.
    let same = !x.shape().is_scalar() && x.shape().elements() == to.elements();
    same.then(|| x.reshape(to.clone()))
}

/// Axes permuted twice are permuted once, an axis turned round twice is as it was, and a slice of everything
/// is everything.
fn structural<'g>(see: &Pattern<'g, '_>, structure: &Structure, x: Var<'g>) -> Option<Var<'g>> {
    match structure {
        Structure::Permute(order) => {
            if order.iter().enumerate().all(|(to, &from)| to == from) {
                return Some(x);
            }
            let (inner, y) = see.node(x, |op| match op {
                Op::Structure(Structure::Permute(inner)) => Some(inner.clone()),
                _ => None,
            })?;
            let both: Vec<usize> = order.iter().map(|&axis| inner[axis]).collect();
            Some(y.permute(both))
        }
        Structure::Flip { axis } => {
            let ((), y) =
                see.node(x, |op| (*op == Op::Structure(Structure::Flip { axis: *axis })).then_some(()))?;
            Some(y)
        }
        Structure::Slice { axis, start: 0, step: 1, length }
        | Structure::Spread { axis, start: 0, step: 1, length }
            if x.shape().dims().get(*axis) == Some(length) =>
        {
            Some(x)
        }
        Structure::Concat { .. } => Some(x),
        _ => None,
    }
}

/// `f(broadcast a, broadcast b) = broadcast f(a, b)`, and an array of one number repeated next to another
/// array is that number.
fn elementwise<'g>(see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    let inside: Vec<Option<Var<'g>>> = args.iter().map(|&arg| see.broadcast(arg)).collect();
    if inside.iter().all(Option::is_none) {
        return None;
    }
    let shape = largest(args.iter().map(|arg| arg.shape()).collect::<Vec<_>>().iter());
    // What each argument is before it is repeated, where all of those suit each other.
    let before: Vec<Var<'g>> =
        args.iter().zip(&inside).map(|(&arg, &inside)| inside.unwrap_or(arg)).collect();
    let common = largest(before.iter().map(|arg| arg.shape()).collect::<Vec<_>>().iter());
    let suit = before.iter().all(|arg| arg.shape().is_scalar() || arg.shape() == common);
    if suit && common.elements() < shape.elements() {
        return Some(see.graph.apply(op.clone(), &before).broadcast_to(shape));
    }
    // Repeated numbers next to an array of the full shape.
    let full = args.iter().zip(&inside).any(|(arg, inside)| {
        arg.shape() == shape && !inside.is_some_and(|inside| inside.shape().is_scalar())
    });
    let scalars = inside.iter().flatten().any(|inside| inside.shape().is_scalar());
    (full && scalars).then(|| {
        let args: Vec<Var<'g>> = args
            .iter()
            .zip(&inside)
            .map(|(&arg, inside)| inside.filter(|inside| inside.shape().is_scalar()).unwrap_or(arg))
            .collect();
        see.graph.apply(op.clone(), &args)
    })
}
