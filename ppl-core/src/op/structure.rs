//! Primitives that move elements: axes in another order, parts of an axis, arrays side by side.

use super::shaping::copy;
use super::{Cotangent, Graph, MOST_ARGUMENTS, Misfit, Op, Primitive, Var, Work};
use crate::base::{Error, Shape, Source};
use crate::machine::Scalar;
use std::ops::{Bound, RangeBounds};

/// An operation that moves elements.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Structure {
    /// Axis `a` of the result is axis `order[a]` of the argument.
    Permute(Vec<usize>),
    /// The elements at `start, start + step, …` of an axis, `length` of them.
    Slice {
        /// The axis.
        axis: usize,
        /// Place of the first element.
        start: usize,
        /// Distance from one to the next, at least 1.
        step: usize,
        /// Number of elements.
        length: usize,
    },
    /// The transpose of a slice: the argument's elements at `start, start + step, …` of an axis of `length`,
    /// zeros elsewhere.
    Spread {
        /// The axis.
        axis: usize,
        /// Place of the first element.
        start: usize,
        /// Distance from one to the next, at least 1.
        step: usize,
        /// Length of the axis of the result.
        length: usize,
    },
    /// An axis in reverse order.
    Flip {
        /// The axis.
        axis: usize,
    },
    /// Arrays one after the other along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
}

/// Stands for no element in a table of places.
const NONE: u32 = u32::MAX;

/// An array seen from one of its axes: `outer × length × inner` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Along {
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
}

impl Along {
    /// `None` if there is no such axis.
    pub(crate) fn new(shape: &Shape, axis: usize) -> Option<Self> {
        let dims = shape.dims();
        let &length = dims.get(axis)?;
        Some(Self { outer: dims[..axis].iter().product(), length, inner: dims[axis + 1..].iter().product() })
    }
}

/// Says that an array has no such axis.
pub(crate) fn no_axis(axis: usize) -> Misfit {
    Misfit::Argument(0, format!("an array with an axis {axis} (axes are counted from 0)"))
}

/// The shape with an axis of another length.
fn with_axis(shape: &Shape, axis: usize, length: usize) -> Result<Shape, Misfit> {
    let mut dims = shape.dims().to_vec();
    *dims.get_mut(axis).ok_or_else(|| no_axis(axis))? = length;
    Ok(Shape::from(dims))
}

/// Whether `count` elements from `start` on, `step` apart, lie in an axis of `length`.
fn fits(start: usize, step: usize, count: usize, length: usize) -> bool {
    if step == 0 {
        return false;
    }
    let last =
        count.checked_sub(1).map(|steps| steps.checked_mul(step).and_then(|way| way.checked_add(start)));
    match last {
        None => start <= length,
        Some(last) => last.is_some_and(|last| last < length),
    }
}

impl Primitive for Structure {
    fn name(&self) -> &'static str {
        match self {
            Structure::Permute(_) => "permute",
            Structure::Slice { .. } => "slice",
            Structure::Spread { .. } => "spread",
            Structure::Flip { .. } => "flip",
            Structure::Concat { .. } => "concat",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let x = match (self, args) {
            (Structure::Concat { .. }, [x, ..]) if args.len() <= MOST_ARGUMENTS => x,
            (_, [x]) => x,
            _ => return Err(Misfit::Count),
        };
        match self {
            Structure::Permute(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if !sorted.iter().copied().eq(0..x.rank()) {
                    let told = format!("an array whose axes, each once, are {order:?}");
                    return Err(Misfit::Argument(0, told));
                }
                Ok(Shape::from(order.iter().map(|&axis| x.dims()[axis]).collect::<Vec<_>>()))
            }
            &Structure::Slice { axis, start, step, length } => {
                let along = Along::new(x, axis).ok_or_else(|| no_axis(axis))?;
                if !fits(start, step, length, along.length) {
                    let told =
                        format!("an axis {axis} with {length} elements from {start} on in steps of {step}");
                    return Err(Misfit::Argument(0, told));
                }
                with_axis(x, axis, length)
            }
            &Structure::Spread { axis, start, step, length } => {
                let along = Along::new(x, axis).ok_or_else(|| no_axis(axis))?;
                if !fits(start, step, along.length, length) {
                    let told =
                        format!("an axis {axis} that fits into {length} from {start} on in steps of {step}");
                    return Err(Misfit::Argument(0, told));
                }
                with_axis(x, axis, length)
            }
            &Structure::Flip { axis } => {
                with_axis(x, axis, Along::new(x, axis).map_or(0, |along| along.length))
            }
            &Structure::Concat { axis } => {
                let mut length = 0usize;
                for (which, arg) in args.iter().enumerate() {
                    let along = Along::new(arg, axis);
                    let alike = arg.rank() == x.rank()
                        && (0..x.rank()).all(|a| a == axis || arg.dims()[a] == x.dims()[a]);
                    match along {
                        Some(along) if alike => length = length.saturating_add(along.length),
                        _ => {
                            let told = format!("an array with an axis {axis}, and otherwise of shape {x}");
                            return Err(Misfit::Argument(which, told));
                        }
                    }
                }
                with_axis(x, axis, length)
            }
        }
    }

    /// For each element of the result its element of the argument, or [`NONE`]; nothing for a concatenation.
    fn table(&self, args: &[Shape], shape: &Shape) -> Vec<u32> {
        let along = |shape: &Shape, axis: usize| {
            Along::new(shape, axis).unwrap_or(Along { outer: 0, length: 0, inner: 0 })
        };
        // The rule for one axis: the place in the argument, for a place in the result.
        let by_axis = |axis: usize, from: &dyn Fn(usize) -> Option<usize>| {
            let (x, out) = (along(&args[0], axis), along(shape, axis));
            let mut table = Vec::with_capacity(shape.elements());
            for outer in 0..out.outer {
                for place in 0..out.length {
                    let from = from(place).map(|place| (outer * x.length + place) * x.inner);
                    table.extend((0..out.inner).map(|inner| from.map_or(NONE, |from| (from + inner) as u32)));
                }
            }
            table
        };
        match self {
            Structure::Permute(order) => permutation(order, &args[0], shape),
            &Structure::Slice { axis, start, step, .. } => by_axis(axis, &|place| Some(start + place * step)),
            &Structure::Spread { axis, start, step, .. } => {
                let filled = along(&args[0], axis).length;
                by_axis(axis, &|place| {
                    let way = place.checked_sub(start)?;
                    (way % step == 0 && way / step < filled).then_some(way / step)
                })
            }
            &Structure::Flip { axis } => {
                let length = along(shape, axis).length;
                by_axis(axis, &|place| Some(length - 1 - place))
            }
            Structure::Concat { .. } => Vec::new(),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, shape, table, .. } = work;
        if lanes == 0 {
            return;
        }
        if let (Structure::Permute(order), 1) = (self, lanes)
            && let Some((rows, columns)) = as_transpose(order, &shapes[0])
        {
            return transpose(out, args[0].numbers(), rows, columns);
        }
        let Structure::Concat { axis } = *self else {
            // Rows of one number are no slices to be found.
            if let (1, Some(x)) = (lanes, args[0].of_one_lane()) {
                for (out, &from) in out.iter_mut().zip(table) {
                    *out = if from == NONE { T::zero() } else { x[from as usize] };
                }
                return;
            }
            for (out, &from) in out.chunks_exact_mut(lanes).zip(table) {
                match from {
                    NONE => out.fill(T::zero()),
                    from => copy(out, args[0].row(from as usize, lanes)),
                }
            }
            return;
        };
        let Some(whole) = Along::new(shape, axis) else {
            return;
        };
        let mut before = 0;
        for (arg, part) in args.iter().zip(shapes) {
            // Elements of this argument that lie together in the result.
            let run = Along::new(part, axis).map_or(0, |part| part.length * part.inner);
            for outer in 0..whole.outer {
                let to = outer * whole.length * whole.inner + before;
                let out = &mut out[to * lanes..(to + run) * lanes];
                for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
                    copy(out, arg.row(outer * run + k, lanes));
                }
            }
            before += run;
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let length = |x: Var<'g>, axis: usize| x.shape().dims().get(axis).copied().unwrap_or(0);
        Some(Cotangent::Value(match self {
            Structure::Permute(order) => {
                let mut inverse = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
                cotangent.permute(inverse)
            }
            &Structure::Slice { axis, start, step, .. } => {
                cotangent.structure(Structure::Spread { axis, start, step, length: length(args[0], axis) })
            }
            &Structure::Spread { axis, start, step, .. } => {
                cotangent.structure(Structure::Slice { axis, start, step, length: length(args[0], axis) })
            }
            &Structure::Flip { axis } => cotangent.flip(axis),
            &Structure::Concat { axis } => {
                let start: usize = args[..which].iter().map(|&arg| length(arg, axis)).sum();
                cotangent.slice(axis, start..start + length(args[which], axis))
            }
        }))
    }
}

/// Rows and columns of the matrix that a permutation transposes, if it only brings the last axes to the front.
fn as_transpose(order: &[usize], x: &Shape) -> Option<(usize, usize)> {
    let (&first, rank) = (order.first()?, order.len());
    let turned = (0..rank).all(|axis| order[axis] == (first + axis) % rank);
    turned.then(|| (x.dims()[..first].iter().product(), x.dims()[first..].iter().product()))
}

/// `out[j, i] = x[i, j]` for `x` of so many rows and columns, in squares that stay in the first-level cache.
#[inline(always)]
fn transpose<T: Scalar>(out: &mut [T], x: &[T], rows: usize, columns: usize) {
    const SIDE: usize = 64;
    for top in (0..rows).step_by(SIDE) {
        let bottom = rows.min(top + SIDE);
        for left in (0..columns).step_by(SIDE) {
            let right = columns.min(left + SIDE);
            if bottom - top >= right - left {
                for j in left..right {
                    let out = &mut out[j * rows + top..j * rows + bottom];
                    let from = &x[top * columns + j..];
                    out.iter_mut().zip(from.iter().step_by(columns)).for_each(|(out, &x)| *out = x);
                }
            } else {
                for i in top..bottom {
                    let to = &mut out[left * rows + i..];
                    let x = &x[i * columns + left..i * columns + right];
                    to.iter_mut().step_by(rows).zip(x).for_each(|(out, &x)| *out = x);
                }
            }
        }
    }
}

/// For each element of the result its element of the argument.
fn permutation(order: &[usize], x: &Shape, shape: &Shape) -> Vec<u32> {
    let mut strides = vec![1; x.rank()];
    for axis in (0..x.rank().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * x.dims()[axis + 1];
    }
    let strides: Vec<usize> = order.iter().map(|&axis| strides[axis]).collect();
    let mut index = vec![0; order.len()];
    (0..shape.elements())
        .map(|_| {
            let from: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape.dims()[axis] {
                    break;
                }
                index[axis] = 0;
            }
            from as u32
        })
        .collect()
}

/// Moving elements; each fails softly, as [`Graph`] says.
impl<'g> Var<'g> {
    #[track_caller]
    fn structure(self, op: Structure) -> Var<'g> {
        self.graph().apply(Op::Structure(op), &[self])
    }

    /// The axes in another order: axis `a` of the result is axis `order[a]` of this array.
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let x = graph.input("x", [2, 3, 4])?;
    /// assert_eq!(x.permute([2, 0, 1]).shape(), Shape::from([4, 2, 3]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn permute(self, order: impl Into<Vec<usize>>) -> Var<'g> {
        let order = order.into();
        if order.iter().copied().eq(0..self.shape().rank()) {
            return self;
        }
        self.structure(Structure::Permute(order))
    }

    /// The axes in reverse order: the transpose of a matrix, `out[j, i] = x[i, j]`.
    #[must_use]
    #[track_caller]
    pub fn transpose(self) -> Var<'g> {
        self.permute((0..self.shape().rank()).rev().collect::<Vec<_>>())
    }

    /// The last two axes exchanged: each matrix transposed, for each position of the leading axes.
    #[track_caller]
    pub(crate) fn matrix_transposed(self) -> Var<'g> {
        let mut order: Vec<usize> = (0..self.shape().rank()).collect();
        if let [.., row, column] = &mut order[..] {
            std::mem::swap(row, column);
        }
        self.permute(order)
    }

    /// A part of an axis: `out[…, k, …] = x[…, start + k, …]`.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.array(&ndarray::array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into_dyn());
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.slice(1, 1..)])?);
    /// plan.run();
    /// assert_eq!(plan.output(0), [2.0, 3.0, 5.0, 6.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice(self, axis: usize, range: impl RangeBounds<usize>) -> Var<'g> {
        self.slice_by(axis, range, 1)
    }

    /// Every `step`-th element of a part of an axis: `out[…, k, …] = x[…, start + k · step, …]`.
    #[must_use]
    #[track_caller]
    pub fn slice_by(self, axis: usize, range: impl RangeBounds<usize>, step: usize) -> Var<'g> {
        let whole = self.shape().dims().get(axis).copied().unwrap_or(0);
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => whole.max(start),
        };
        if end > whole || start > end || step == 0 {
            let told =
                format!("an axis {axis} with the elements {start}..{end} in steps of {step} (at least 1)");
            return self.unexpected("slice", told);
        }
        if (start, end, step) == (0, whole, 1) && axis < self.shape().rank() {
            return self;
        }
        self.structure(Structure::Slice { axis, start, step, length: (end - start).div_ceil(step) })
    }

    /// One element of an axis, which is then gone: `out[…, …] = x[…, place, …]`.
    #[must_use]
    #[track_caller]
    pub fn element(self, axis: usize, place: usize) -> Var<'g> {
        let mut dims = self.shape().dims().to_vec();
        let part = self.slice(axis, place..place.saturating_add(1));
        if axis >= dims.len() || place >= dims[axis] {
            return part;
        }
        dims.remove(axis);
        part.reshape(dims)
    }

    /// Zeros before and after the elements of an axis: the transpose of [`Var::slice`].
    #[must_use]
    #[track_caller]
    pub fn pad(self, axis: usize, before: usize, after: usize) -> Var<'g> {
        let Some(along) = Along::new(&self.shape(), axis) else {
            return self.structure(Structure::Spread { axis, start: before, step: 1, length: 0 });
        };
        if before == 0 && after == 0 {
            return self;
        }
        let length = before.saturating_add(along.length).saturating_add(after);
        self.structure(Structure::Spread { axis, start: before, step: 1, length })
    }

    /// An axis in reverse order: `out[…, k, …] = x[…, n − 1 − k, …]`.
    #[must_use]
    #[track_caller]
    pub fn flip(self, axis: usize) -> Var<'g> {
        match self.shape().dims().get(axis) {
            Some(0 | 1) => self,
            _ => self.structure(Structure::Flip { axis }),
        }
    }

    /// An axis in parts of these lengths, one after the other.
    #[must_use]
    #[track_caller]
    pub fn split(self, axis: usize, lengths: &[usize]) -> Vec<Var<'g>> {
        let whole = lengths.iter().fold(0usize, |sum, &length| sum.saturating_add(length));
        if self.shape().dims().get(axis) != Some(&whole) {
            let failed =
                self.unexpected("split", format!("an axis {axis} of {whole} elements, those of {lengths:?}"));
            return vec![failed; lengths.len()];
        }
        let mut start = 0;
        lengths
            .iter()
            .map(|&length| {
                let part = self.slice(axis, start..start + length);
                start += length;
                part
            })
            .collect()
    }
}

impl Graph {
    /// Arrays one after the other along an axis; all other axes must agree. Fails softly.
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let (a, b) = (graph.input("a", [2, 3])?, graph.input("b", [4, 3])?);
    /// assert_eq!(graph.concat(&[a, b], 0).shape(), Shape::from([6, 3]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn concat<'g>(&'g self, parts: &[Var<'g>], axis: usize) -> Var<'g> {
        match parts {
            [] => self.fail(Error::UnexpectedShape {
                operation: "concat",
                expected: "at least one array".to_owned(),
                got: Shape::from(0),
                source_line: Source::caller(),
            }),
            parts if parts.len() <= MOST_ARGUMENTS => {
                self.apply(Op::Structure(Structure::Concat { axis }), parts)
            }
            parts => {
                // A tree, so that no element is moved more often than the tree is high.
                let mut joined = Vec::with_capacity(parts.len().div_ceil(MOST_ARGUMENTS));
                for parts in parts.chunks(MOST_ARGUMENTS) {
                    joined.push(self.concat(parts, axis));
                }
                self.concat(&joined, axis)
            }
        }
    }

    /// Arrays of one shape side by side along a new axis: `out[…, k, …] = parts[k][…, …]`. Fails softly.
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let (a, b) = (graph.input("a", 3)?, graph.input("b", 3)?);
    /// assert_eq!(graph.stack(&[a, b], 0).shape(), Shape::from([2, 3]));
    /// assert_eq!(graph.stack(&[a, b], 1).shape(), Shape::from([3, 2]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stack<'g>(&'g self, parts: &[Var<'g>], axis: usize) -> Var<'g> {
        let Some(first) = parts.first() else {
            return self.concat(parts, axis);
        };
        if let Some(error) = parts.iter().find_map(|part| part.require_on(self, "stack").err()) {
            return self.fail(error);
        }
        let shape = first.shape();
        let odd = parts.iter().find(|part| part.shape() != shape);
        if axis > shape.rank() || odd.is_some() {
            let expected =
                format!("arrays of shape {shape} for a new axis {axis} of at most {}", shape.rank());
            return odd.unwrap_or(first).unexpected("stack", expected);
        }
        let mut dims = shape.dims().to_vec();
        dims.insert(axis, 1);
        let mut parts: Vec<Var<'g>> = parts.to_vec();
        for part in &mut parts {
            *part = part.reshape(dims.clone());
        }
        self.concat(&parts, axis)
    }
}
