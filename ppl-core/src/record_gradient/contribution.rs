//! What one record adds to the gradient with respect to one shared array, for one use of it, kept in factors.

use crate::graph::Kind;
use crate::op::{Cotangent, Op, Shaping};
use crate::shape::Shape;
use crate::var::Var;

/// An array for each record, multiplied out or not.
#[derive(Clone)]
pub(crate) enum Core<'g> {
    /// The array itself.
    Direct(Var<'g>),
    /// `left × right`: the outer product of two vectors, or a number times an array.
    Product { left: Var<'g>, right: Var<'g> },
}

/// `D ∘ core`, where `D` is shared by all records: the derivative of what lies between a shared array and its use.
#[derive(Clone)]
pub(crate) struct Contribution<'g> {
    pub(crate) core: Core<'g>,
    /// `D`, of the core's shape; all ones if absent. A direct core has none.
    pub(crate) scale: Option<Var<'g>>,
}

impl<'g> From<Cotangent<'g>> for Contribution<'g> {
    fn from(cotangent: Cotangent<'g>) -> Self {
        let core = match cotangent {
            Cotangent::Value(value) => Core::Direct(value),
            Cotangent::Product { left, right } if right.shape().is_scalar() => Core::Direct(left * right),
            Cotangent::Product { left, right } if left.known() == Some(1.0) => Core::Direct(right),
            Cotangent::Product { left, right } => Core::Product { left, right },
        };
        Self { core, scale: None }
    }
}

impl<'g> Contribution<'g> {
    /// Shape of the core, which has as many elements as the array it contributes to.
    pub(crate) fn shape(&self) -> Shape {
        match &self.core {
            Core::Direct(value) => value.shape(),
            Core::Product { left, right } => left.shape().concat(&right.shape()),
        }
    }

    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.core, Core::Direct(_))
    }

    /// The array itself, of this shape.
    pub(crate) fn value(&self, shape: &Shape) -> Var<'g> {
        let value = match self.core {
            Core::Direct(value) => value,
            Core::Product { left, right } => Cotangent::Product { left, right }.value(),
        };
        self.scale.map_or(value, |scale| value * scale).reshape(shape.clone())
    }

    /// `D ∘ self` for an array `D` of as many elements.
    pub(crate) fn scaled(&self, by: Var<'g>) -> Self {
        let uniform = uniform(by, &mut 64);
        if uniform.and_then(Var::known) == Some(1.0) {
            return self.clone();
        }
        match (&self.core, uniform) {
            (Core::Direct(value), Some(number)) => Self { core: Core::Direct(*value * number), scale: None },
            (Core::Direct(value), None) => {
                Self { core: Core::Direct(*value * by.reshape(value.shape())), scale: None }
            }
            // One number goes into the shorter factor.
            (&Core::Product { left, right }, Some(number)) => {
                let core = if left.shape().elements() <= right.shape().elements() {
                    Core::Product { left: left * number, right }
                } else {
                    Core::Product { left, right: right * number }
                };
                Self { core, scale: self.scale }
            }
            (Core::Product { .. }, None) => {
                let by = by.reshape(self.shape());
                let scale = self.scale.map_or(by, |scale| scale * by);
                Self { core: self.core.clone(), scale: Some(scale) }
            }
        }
    }

    /// The sum over the elements that a broadcast from `target` to `shape` repeats, where it needs no multiplying out.
    pub(crate) fn summed_to(&self, shape: &Shape, target: &Shape) -> Option<Self> {
        let Core::Product { left, right } = self.core else {
            return Some(Cotangent::Value(self.value(shape).sum_to(target.clone())).into());
        };
        if self.shape() != *shape {
            return None;
        }
        let dims = target.dims();
        let cotangent = match (left.shape().dims(), right.shape().dims(), self.scale) {
            ([], _, scale) => {
                let right = scale.map_or(right, |scale| scale * right).sum_to(target.clone());
                Cotangent::Product { left, right }
            }
            (&[_], &[d], None) if dims == [d] || dims == [1, d] => {
                Cotangent::Product { left: left.sum(), right: right.reshape(target.clone()) }
            }
            (&[_], &[d], Some(scale)) if dims == [d] || dims == [1, d] => {
                Cotangent::Value((left.vecmat(scale) * right).reshape(target.clone()))
            }
            (&[p], &[_], None) if dims == [p, 1] => {
                Cotangent::Product { left: right.sum(), right: left.reshape(target.clone()) }
            }
            (&[p], &[_], Some(scale)) if dims == [p, 1] => {
                Cotangent::Value((left * scale.matvec(right)).reshape(target.clone()))
            }
            (&[_], &[_], None) if dims.is_empty() => Cotangent::Value(left.sum() * right.sum()),
            (&[_], &[_], Some(scale)) if dims.is_empty() => Cotangent::Value(left.inner(scale.matvec(right))),
            _ => return None,
        };
        Some(cotangent.into())
    }

    /// The sum of the two in the form of one, where they share a factor.
    fn joined(&self, other: &Self) -> Option<Self> {
        let alike = |a: Option<Var<'g>>, b: Option<Var<'g>>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.is(b),
            _ => false,
        };
        match (&self.core, &other.core) {
            (Core::Direct(a), Core::Direct(b)) => {
                Some(Self { core: Core::Direct(*a + b.reshape(a.shape())), scale: None })
            }
            (&Core::Product { left, right }, &Core::Product { left: other_left, right: other_right }) => {
                let one = || left.constant(1.0);
                if left.is(other_left) && right.is(other_right) {
                    if self.scale.is_none() && other.scale.is_none() {
                        return Some(
                            Self { core: self.core.clone(), scale: None }.scaled(left.constant(2.0)),
                        );
                    }
                    let sum = self.scale.unwrap_or_else(one) + other.scale.unwrap_or_else(one);
                    return Some(Self { core: self.core.clone(), scale: Some(sum) });
                }
                if !alike(self.scale, other.scale) {
                    return None;
                }
                if right.is(other_right) && left.shape() == other_left.shape() {
                    let core = Core::Product { left: left + other_left, right };
                    return Some(Self { core, scale: self.scale });
                }
                if left.is(other_left) && right.shape() == other_right.shape() {
                    let core = Core::Product { left, right: right + other_right };
                    return Some(Self { core, scale: self.scale });
                }
                None
            }
            _ => None,
        }
    }
}

/// Adds one more contribution to a sum of them; those that share a factor become one.
pub(crate) fn add<'g>(sum: &mut Vec<Contribution<'g>>, next: Contribution<'g>) {
    match sum.iter_mut().find_map(|known| known.joined(&next).map(|joined| (known, joined))) {
        Some((known, joined)) => *known = joined,
        None => sum.push(next),
    }
}

/// The sum, multiplied out.
pub(crate) fn total<'g>(sum: &[Contribution<'g>], shape: &Shape) -> Option<Var<'g>> {
    sum.iter().map(|each| each.value(shape)).reduce(|sum, next| sum + next)
}

/// The one number that every element of a shared array is made of, if a look at `budget` operations shows it.
fn uniform<'g>(array: Var<'g>, budget: &mut usize) -> Option<Var<'g>> {
    if array.shape().is_scalar() {
        return Some(array);
    }
    if *budget == 0 || array.kind() == Kind::PerRecord {
        return None;
    }
    *budget -= 1;
    let graph = array.graph();
    let node = graph.node(array.id());
    let arg = |which: usize| graph.var(node.args[which]);
    match &node.op {
        Op::Shaping(Shaping::Broadcast(_) | Shaping::Reshape(_)) => uniform(arg(0), budget),
        Op::Constant(constant) => {
            let mut values = constant.values();
            let first = values.next()?;
            values.all(|value| value.to_bits() == first.to_bits()).then(|| graph.constant(first))
        }
        op if op.is_elementwise() => {
            let args: Option<Vec<Var<'g>>> =
                (0..node.args.len()).map(|which| uniform(arg(which), budget)).collect();
            args.map(|args| graph.apply(op.clone(), &args))
        }
        _ => None,
    }
}
