//! Sums of exponentials, over all elements or along one axis.

use super::pattern::Pattern;
use crate::base::Shape;
use crate::op::{Binary, Op, Reduce, Shaping, Unary, Var};

/// `Σ exp y` over everything or over one axis.
struct SumOfExp<'g> {
    y: Var<'g>,
    /// The axis summed over; of `y` as a vector, if it is everything.
    axis: usize,
    everything: bool,
}

impl<'g> SumOfExp<'g> {
    /// `ln Σ exp y`, without the axis summed over.
    fn log(&self) -> Var<'g> {
        self.along().log_sum_exp_axis(self.axis)
    }

    /// `y`, or all of it as a vector.
    fn along(&self) -> Var<'g> {
        if self.everything { self.y.reshape(self.y.shape().elements()) } else { self.y }
    }
}

/// The sum of exponentials that `x` is.
fn sum_of_exp<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<SumOfExp<'g>> {
    let (summed, to) = see.sum_to(x)?;
    let y = see.unary(summed, Unary::Exp)?;
    let (from, axis) = (y.shape(), summed_axis(&y.shape(), &to));
    let everything = to.elements() == 1 && axis.is_none() && from.elements() > 0;
    Some(SumOfExp { y, axis: axis.or(everything.then_some(0))?, everything })
}

/// The one axis that a sum from one shape to another adds up.
fn summed_axis(from: &Shape, to: &Shape) -> Option<usize> {
    let dims = from.dims();
    match dims.len() - to.rank() {
        // The axis stays, with length 1.
        0 => {
            let mut differing = (0..dims.len()).filter(|&axis| dims[axis] != to.dims()[axis]);
            differing.next().filter(|_| differing.next().is_none())
        }
        1 => (dims[1..] == *to.dims()).then_some(0),
        _ => None,
    }
}

/// `log x`, if `x` is a sum of exponentials, its mean, or one of the two under another shape.
pub(super) fn log_sum_exp<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    let shape = x.shape();
    let inner = see.reshape(x).unwrap_or(x);
    if let Some(sum) = sum_of_exp(see, inner) {
        return Some(sum.log().reshape(shape));
    }
    // A mean: divided by a count, or multiplied with its reciprocal.
    let positive = |x: Var<'g>| see.number(x).filter(|&number| number > 0.0 && number.is_finite());
    let (sum, log_factor) = match (see.binary(x, Binary::Div), see.binary(x, Binary::Mul)) {
        (Some((sum, count)), _) => (sum, -positive(count)?.ln()),
        (None, Some((a, b))) => match (positive(a), positive(b)) {
            (_, Some(factor)) => (a, factor.ln()),
            (Some(factor), None) => (b, factor.ln()),
            (None, None) => return None,
        },
        (None, None) => return None,
    };
    let log = log_sum_exp(see, sum)?;
    Some((log + log_factor).reshape(shape))
}

/// `exp y / below`, if `below` is the sum of all `exp y`, or that along an axis stretched along it again.
pub(super) fn softmax<'g>(see: &Pattern<'g, '_>, y: Var<'g>, below: Var<'g>) -> Option<Var<'g>> {
    let before = see.broadcast(below).unwrap_or(below);
    let kept = before.shape();
    let sum = sum_of_exp(see, before).or_else(|| sum_of_exp(see, see.reshape(before)?))?;
    if !sum.y.is(y) {
        return None;
    }
    let shape = y.shape();
    let mut expected = shape.dims().to_vec();
    if !sum.everything {
        expected[sum.axis] = 1;
    }
    // A sum without its axis is stretched along the first one, whichever it was the sum of.
    let aligned = sum.everything && kept.elements() == 1
        || kept.dims() == expected
        || (sum.axis == 0 && kept.dims() == &shape.dims()[1..]);
    aligned.then(|| sum.along().softmax(sum.axis).reshape(shape))
}

/// `log x`, if `x` is a softmax (perhaps under another shape).
pub(super) fn log_softmax<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    let inner = see.reshape(x).unwrap_or(x);
    let found = see.node(inner, |op| match op {
        Op::Reduce(Reduce::Softmax { axis, zero_of_none: false }) => Some(*axis),
        _ => None,
    });
    if let Some((axis, y)) = found {
        return Some(y.log_softmax(axis).reshape(x.shape()));
    }
    let (above, below) = see.binary(x, Binary::Div)?;
    let softmax = softmax(see, see.unary(above, Unary::Exp)?, below)?;
    log_softmax(see, softmax)
}

impl<'g> Pattern<'g, '_> {
    /// `(y, to)`, if `x` is `y` summed to the shape `to`.
    fn sum_to(&self, x: Var<'g>) -> Option<(Var<'g>, Shape)> {
        let (to, y) = self.node(x, |op| match op {
            Op::Shaping(Shaping::SumTo(to)) => Some(to.clone()),
            _ => None,
        })?;
        Some((y, to))
    }
}
