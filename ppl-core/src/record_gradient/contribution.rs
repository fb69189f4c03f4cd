//! What one record adds to the gradient with respect to one shared array, for one use of it, kept in factors.

use crate::base::Shape;
use crate::op::{Cotangent, Einsum, Kind, MatrixProduct, Op, Shaping, Var};

/// An array for each record, multiplied out or not.
#[derive(Clone)]
pub(crate) enum Core<'g> {
    /// The array itself.
    Direct(Var<'g>),
    /// `left × right`: the outer product of two vectors, or a number times an array.
    Product { left: Var<'g>, right: Var<'g> },
    /// `Σ_t left_t ⊗ right_t` over the positions at which a matrix was used.
    Positions { left: Factor<'g>, right: Factor<'g> },
    /// Rows `[places, width]` of a table `[count, width]`, added up at the places that an index `[places]`
    /// says. A bad index has made its record's rows NaN.
    Scatter { rows: Var<'g>, index: Var<'g>, count: usize },
}

/// A vector for each position.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'g> {
    /// `[positions, length]`, or `[length, positions]`.
    pub(crate) value: Var<'g>,
    /// Whether the positions are the last axis.
    pub(crate) positions_last: bool,
}

impl<'g> Factor<'g> {
    /// `[positions, length]`
    pub(crate) fn sizes(&self) -> [usize; 2] {
        match (self.value.shape().dims(), self.positions_last) {
            (&[length, positions], true) => [positions, length],
            (&[positions, length], false) => [positions, length],
            _ => [0, 0],
        }
    }

    /// Subscripts with the position `t` and the element `k`, in the order of the axes.
    pub(crate) fn subscripts(&self, t: char, k: char) -> String {
        if self.positions_last { [k, t].iter().collect() } else { [t, k].iter().collect() }
    }
}

/// `D ∘ core`, where `D` is shared by all records: the derivative of what lies between a shared array and its
/// use.
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
            Cotangent::Scatter { rows, index, count } => scatter(rows, index, count),
            Cotangent::Contraction { ref op, left, right } => {
                positions(op, left, right).unwrap_or_else(|| Core::Direct(cotangent.value()))
            }
        };
        Self { core, scale: None }
    }
}

/// Rows of a table; those of a bad index are made NaN, whatever the table holds, so that no norm misses them.
fn scatter<'g>(rows: Var<'g>, index: Var<'g>, count: usize) -> Core<'g> {
    let places = index.shape().elements();
    if places == 0 {
        return Core::Direct(rows.scatter_add(index, count));
    }
    let width = rows.shape().elements() / places;
    let index = index.reshape([places]);
    let nothing = index.constant(0.0).broadcast_to([count, 1]).gather(index);
    let rows = rows.reshape([places, width]) + nothing.broadcast_to([places, width]);
    Core::Scatter { rows, index, count }
}

/// A contraction that is one product of matrices, as a sum over positions.
fn positions<'g>(op: &Einsum, left: Var<'g>, right: Var<'g>) -> Option<Core<'g>> {
    let product = op.matrix_product(&[left.shape(), right.shape()])?;
    let MatrixProduct { batch: 1, rows, columns, inner, left_transposed, right_transposed, out_transposed } =
        product
    else {
        return None;
    };
    if inner == 1 {
        let (left, right) = (left.reshape([rows]), right.reshape([columns]));
        let (left, right) = if out_transposed { (right, left) } else { (left, right) };
        return Some(Core::Product { left, right });
    }
    let factor = |value: Var<'g>, length: usize, positions_last: bool| {
        let shape = if positions_last { [length, inner] } else { [inner, length] };
        Factor { value: value.reshape(shape), positions_last }
    };
    let left = factor(left, rows, !left_transposed);
    let right = factor(right, columns, right_transposed);
    let (left, right) = if out_transposed { (right, left) } else { (left, right) };
    Some(Core::Positions { left, right })
}

impl<'g> Contribution<'g> {
    /// Shape of the core, which has as many elements as the array it contributes to.
    pub(crate) fn shape(&self) -> Shape {
        match &self.core {
            Core::Direct(value) => value.shape(),
            Core::Product { left, right } => left.shape().concat(&right.shape()),
            Core::Positions { left, right } => Shape::from([left.sizes()[1], right.sizes()[1]]),
            Core::Scatter { rows, count, .. } => Shape::from([*count, rows.shape().dims()[1]]),
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
            Core::Positions { left, right } => {
                let subscripts = format!("{},{}->jk", left.subscripts('t', 'j'), right.subscripts('t', 'k'));
                left.value.einsum(&subscripts, right.value)
            }
            Core::Scatter { rows, index, count } => rows.scatter_add(index, count),
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
            (&Core::Scatter { rows, index, count }, uniform) => {
                let by = uniform.unwrap_or_else(|| by.reshape(self.shape()).gather(index));
                Self { core: Core::Scatter { rows: rows * by, index, count }, scale: None }
            }
            (&Core::Positions { left, right }, Some(number)) => {
                let left = Factor { value: left.value * number, ..left };
                Self { core: Core::Positions { left, right }, scale: self.scale }
            }
            (Core::Product { .. } | Core::Positions { .. }, None) => {
                let by = by.reshape(self.shape());
                let scale = self.scale.map_or(by, |scale| scale * by);
                Self { core: self.core.clone(), scale: Some(scale) }
            }
        }
    }

    /// The sum over the elements that a broadcast from `target` to `shape` repeats, where it needs no
    /// multiplying out.
    pub(crate) fn summed_to(&self, shape: &Shape, target: &Shape) -> Option<Self> {
        if let (Core::Scatter { rows, .. }, true) = (&self.core, target.is_scalar()) {
            return Some(Cotangent::Value(rows.sum()).into());
        }
        let Core::Product { left, right } = self.core else {
            return self
                .is_direct()
                .then(|| Cotangent::Value(self.value(shape).sum_to(target.clone())).into());
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
            (
                &Core::Scatter { rows, index, count },
                &Core::Scatter { rows: other_rows, index: other_index, .. },
            ) if index.is(other_index) && rows.shape() == other_rows.shape() => {
                Some(Self { core: Core::Scatter { rows: rows + other_rows, index, count }, scale: None })
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
