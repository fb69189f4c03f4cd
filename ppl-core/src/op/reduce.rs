//! Primitives that reduce an axis, or normalise along it.
//!
//! Sums and means are built from `sum_to`, products from slices multiplied in pairs; both have their
//! derivatives from there.

use super::structure::{Along, no_axis};
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;

/// A reduction of an axis, or a function of all elements along it.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reduce {
    /// The largest element; the axis is gone.
    Max {
        /// The axis.
        axis: usize,
    },
    /// 1 at the first of the largest elements, 0 elsewhere; derivative 0.
    FirstMax {
        /// The axis.
        axis: usize,
    },
    /// `out_k = Σ_{j ≤ k} x_j`, or `Σ_{j ≥ k} x_j` from the end.
    CumulativeSum {
        /// The axis.
        axis: usize,
        /// Whether sums begin at the end.
        from_end: bool,
    },
    /// `√(Σ_k x_k²)`; the axis is gone.
    Norm {
        /// The axis.
        axis: usize,
    },
    /// `ln Σ_k e^{x_k}`; the axis is gone.
    LogSumExp {
        /// The axis.
        axis: usize,
    },
    /// `e^{x_k} / Σ_j e^{x_j}`
    Softmax {
        /// The axis.
        axis: usize,
        /// Whether the result is 0 instead of NaN where all elements are −∞, as the derivative of a
        /// log-sum-exp is.
        zero_of_none: bool,
    },
    /// `x_k − ln Σ_j e^{x_j}`
    LogSoftmax {
        /// The axis.
        axis: usize,
    },
}

impl Reduce {
    fn axis(self) -> usize {
        match self {
            Reduce::Max { axis }
            | Reduce::FirstMax { axis }
            | Reduce::CumulativeSum { axis, .. }
            | Reduce::Norm { axis }
            | Reduce::LogSumExp { axis }
            | Reduce::Softmax { axis, .. }
            | Reduce::LogSoftmax { axis } => axis,
        }
    }
}

impl Primitive for Reduce {
    fn name(&self) -> &'static str {
        match self {
            Reduce::Max { .. } => "max_axis",
            Reduce::FirstMax { .. } => "first_max",
            Reduce::CumulativeSum { .. } => "cumsum",
            Reduce::Norm { .. } => "norm_axis",
            Reduce::LogSumExp { .. } => "log_sum_exp_axis",
            Reduce::Softmax { .. } => "softmax",
            Reduce::LogSoftmax { .. } => "log_softmax",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [x] = args else {
            return Err(Misfit::Count);
        };
        let axis = self.axis();
        let along = Along::new(x, axis).ok_or_else(|| no_axis(axis))?;
        match self {
            Reduce::Max { .. } if along.length == 0 => Err(Misfit::Argument(
                0,
                format!("an axis {axis} with an element: nothing has no largest one"),
            )),
            Reduce::Max { .. } | Reduce::Norm { .. } | Reduce::LogSumExp { .. } => Ok(without(x, axis)),
            _ => Ok(x.clone()),
        }
    }

    fn scratch_rows(&self, _args: &[Shape], _shape: &Shape) -> usize {
        match self {
            Reduce::Max { .. } | Reduce::CumulativeSum { .. } => 0,
            Reduce::Norm { .. } => 1,
            Reduce::FirstMax { .. }
            | Reduce::LogSumExp { .. }
            | Reduce::Softmax { .. }
            | Reduce::LogSoftmax { .. } => 2,
        }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, scratch, .. } = work;
        let Some(along) = Along::new(&shapes[0], self.axis()) else {
            return;
        };
        if lanes == 0 {
            return;
        }
        let Along { outer, length, inner } = along;
        for outer in 0..outer {
            for inner_place in 0..inner {
                // Element `k` along the axis, in the argument and in a result of the same shape.
                let place = |k: usize| (outer * length + k) * inner + inner_place;
                let line = AxisLine { x: args[0], first: place(0), stride: inner, length, lanes };
                let reduced = (outer * inner + inner_place) * lanes;
                match *self {
                    Reduce::Max { .. } => line.largest(&mut out[reduced..reduced + lanes]),
                    Reduce::Norm { .. } => line.norm(&mut out[reduced..reduced + lanes], scratch),
                    Reduce::LogSumExp { .. } => {
                        let out = &mut out[reduced..reduced + lanes];
                        let (largest, sum) = line.sum_of_exponentials(scratch);
                        for ((out, &largest), &sum) in out.iter_mut().zip(largest).zip(&*sum) {
                            // At an infinity the sum is NaN or 0, and the largest element is the result.
                            let finite = largest + sum.logarithm();
                            *out = if largest.is_infinite() { largest } else { finite };
                        }
                    }
                    Reduce::FirstMax { .. } => {
                        let (largest, found) = scratch.split_at_mut(lanes);
                        line.largest(largest);
                        found[..lanes].fill(T::zero());
                        for k in 0..length {
                            let to = place(k) * lanes;
                            let lane = out[to..to + lanes].iter_mut().zip(&*largest).zip(&mut *found);
                            with_row(lane, line.at(k), |((out, &largest), found), x| {
                                let is = x == largest || (x.is_nan() && largest.is_nan());
                                *out = if is && *found == T::zero() { T::one() } else { T::zero() };
                                *found += *out;
                            });
                        }
                    }
                    Reduce::CumulativeSum { from_end, .. } => {
                        for step in 0..length {
                            let k = if from_end { length - 1 - step } else { step };
                            let to = place(k) * lanes;
                            let before = if from_end { k + 1 } else { k.wrapping_sub(1) };
                            with_row(&mut out[to..to + lanes], line.at(k), |out, x| *out = x);
                            if step > 0 {
                                let from = place(before) * lanes;
                                let (sum, out) = two_rows(out, from, to, lanes);
                                out.iter_mut().zip(sum).for_each(|(out, &sum)| *out = sum + *out);
                            }
                        }
                    }
                    Reduce::Softmax { zero_of_none, .. } => {
                        let (largest, sum) = line.largest_and_zeros(scratch);
                        for k in 0..length {
                            let to = place(k) * lanes;
                            line.exponential(k, largest, &mut out[to..to + lanes], sum);
                        }
                        for k in 0..length {
                            let to = place(k) * lanes;
                            let out = &mut out[to..to + lanes];
                            for ((out, &sum), &largest) in out.iter_mut().zip(&*sum).zip(largest) {
                                let none = zero_of_none && largest == T::neg_infinity();
                                *out = if none { T::zero() } else { *out / sum };
                            }
                        }
                    }
                    Reduce::LogSoftmax { .. } => {
                        let (largest, sum) = line.sum_of_exponentials(scratch);
                        sum.iter_mut().for_each(|sum| *sum = sum.logarithm());
                        for k in 0..length {
                            let to = place(k) * lanes;
                            let lane = out[to..to + lanes].iter_mut().zip(largest).zip(&*sum);
                            with_row(lane, line.at(k), |((out, &largest), &log_sum), x| {
                                *out = (x - largest) - log_sum;
                            });
                        }
                    }
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        y: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let x = args[0];
        let axis = self.axis();
        let spread = |reduced: Var<'g>| reduced.repeat_along(axis, &x.shape());
        Some(Cotangent::Value(match *self {
            Reduce::Max { .. } => {
                let first = x.reduce(Reduce::FirstMax { axis });
                first.select(spread(cotangent), 0.0)
            }
            Reduce::FirstMax { .. } => return None,
            Reduce::CumulativeSum { from_end, .. } => {
                cotangent.reduce(Reduce::CumulativeSum { axis, from_end: !from_end })
            }
            Reduce::Norm { .. } => {
                // At the origin, where there is no derivative, 0: the least of the subgradients.
                let norm = y.equal(0.0).select(1.0, y);
                spread(cotangent) * (x / spread(norm))
            }
            Reduce::LogSumExp { .. } => {
                spread(cotangent) * x.reduce(Reduce::Softmax { axis, zero_of_none: true })
            }
            Reduce::Softmax { .. } => {
                let weighed = cotangent * y;
                weighed - y * spread(weighed.sum_axis(axis))
            }
            Reduce::LogSoftmax { .. } => cotangent - x.softmax(axis) * spread(cotangent.sum_axis(axis)),
        }))
    }
}

/// The shape without an axis.
fn without(shape: &Shape, axis: usize) -> Shape {
    let mut dims = shape.dims().to_vec();
    if axis < dims.len() {
        dims.remove(axis);
    }
    Shape::from(dims)
}

/// The elements along an axis, each with a number for each lane.
struct AxisLine<'a, T> {
    x: Operand<'a, T>,
    /// The row of the first element, and the distance to the next.
    first: usize,
    stride: usize,
    length: usize,
    lanes: usize,
}

impl<'a, T: Scalar> AxisLine<'a, T> {
    #[inline(always)]
    fn at(&self, k: usize) -> Row<'a, T> {
        self.x.row(self.first + k * self.stride, self.lanes)
    }

    /// `out = e^{x_k − m}`, and `sum += out`.
    #[inline(always)]
    fn exponential(&self, k: usize, largest: &[T], out: &mut [T], sum: &mut [T]) {
        with_row(out.iter_mut().zip(sum).zip(largest), self.at(k), |((out, sum), &largest), x| {
            *out = (x - largest).exponential();
            *sum += *out;
        });
    }

    /// The largest element, NaN if one is NaN, −∞ of nothing.
    #[inline(always)]
    fn largest(&self, out: &mut [T]) {
        out.fill(T::neg_infinity());
        for k in 0..self.length {
            with_row(&mut *out, self.at(k), |out, x| *out = if x > *out || x.is_nan() { x } else { *out });
        }
    }

    /// The Euclidean norm. Where squares would leave the range of the type, elements are divided by the
    /// largest first.
    #[inline(always)]
    fn norm(&self, out: &mut [T], largest: &mut [T]) {
        out.fill(T::zero());
        for k in 0..self.length {
            with_row(&mut *out, self.at(k), |out, x| *out += x * x);
        }
        // Above this, what squares lose to underflow is below the rounding error of the sum.
        let least = T::min_positive_value() / (T::epsilon() * T::epsilon());
        if out.iter().all(|&sum| sum >= least && sum.is_finite()) {
            out.iter_mut().for_each(|out| *out = out.sqrt());
            return;
        }
        let largest = &mut largest[..self.lanes];
        largest.fill(T::zero());
        for k in 0..self.length {
            with_row(&mut *largest, self.at(k), |largest, x| {
                *largest = if x.abs() > *largest || x.is_nan() { x.abs() } else { *largest };
            });
        }
        for (lane, (out, &largest)) in out.iter_mut().zip(&*largest).enumerate() {
            *out = if *out >= least && out.is_finite() {
                out.sqrt()
            } else if largest == T::zero() || !largest.is_finite() {
                largest
            } else {
                let part = |k: usize| at(self.at(k), lane) / largest;
                largest * (0..self.length).map(|k| part(k) * part(k)).sum::<T>().sqrt()
            };
        }
    }

    /// For each lane the largest element, and a sum to begin with.
    #[inline(always)]
    fn largest_and_zeros<'s>(&self, scratch: &'s mut [T]) -> (&'s [T], &'s mut [T]) {
        let (largest, sum) = scratch.split_at_mut(self.lanes);
        let sum = &mut sum[..self.lanes];
        self.largest(largest);
        sum.fill(T::zero());
        (largest, sum)
    }

    /// For each lane the largest element `m` (−∞ of nothing) and `Σ_k e^{x_k − m}`.
    #[inline(always)]
    fn sum_of_exponentials<'s>(&self, scratch: &'s mut [T]) -> (&'s [T], &'s mut [T]) {
        let (largest, sum) = self.largest_and_zeros(scratch);
        for k in 0..self.length {
            with_row(sum.iter_mut().zip(largest), self.at(k), |(sum, &largest), x| {
                *sum += (x - largest).exponential();
            });
        }
        (largest, sum)
    }
}

/// Hands each item of a row of lanes, with its number of `row`, to `f`.
#[inline(always)]
fn with_row<T: Copy, I: IntoIterator>(lanes: I, row: Row<'_, T>, mut f: impl FnMut(I::Item, T)) {
    match row {
        Row::Lanes(values) => lanes.into_iter().zip(values).for_each(|(item, &x)| f(item, x)),
        Row::One(value) => lanes.into_iter().for_each(|item| f(item, value)),
    }
}

/// The number of one lane.
#[inline]
fn at<T: Copy>(row: Row<'_, T>, lane: usize) -> T {
    match row {
        Row::Lanes(values) => values[lane],
        Row::One(value) => value,
    }
}

/// Two different rows of lanes that begin at `from` and at `to`.
fn two_rows<T>(out: &mut [T], from: usize, to: usize, lanes: usize) -> (&[T], &mut [T]) {
    if from < to {
        let (before, after) = out.split_at_mut(to);
        (&before[from..from + lanes], &mut after[..lanes])
    } else {
        let (before, after) = out.split_at_mut(from);
        (&after[..lanes], &mut before[to..to + lanes])
    }
}

/// Reductions; each fails softly, as [`Graph`](crate::Graph) says. With `_axis` they reduce one axis, which
/// is then gone; without, all elements. They reduce the elements of one record; nothing reduces over records
/// but the engine.
impl<'g> Var<'g> {
    #[track_caller]
    fn reduce(self, op: Reduce) -> Var<'g> {
        self.graph().apply(Op::Reduce(op), &[self])
    }

    /// All elements along one axis.
    #[track_caller]
    fn flat(self) -> Var<'g> {
        self.reshape(self.shape().elements())
    }

    /// A reduced array, repeated along the axis that is gone.
    #[track_caller]
    fn repeat_along(self, axis: usize, shape: &Shape) -> Var<'g> {
        let mut dims = self.shape().dims().to_vec();
        dims.insert(axis.min(dims.len()), 1);
        self.reshape(dims).broadcast_to(shape.clone())
    }

    /// Fails softly where there is no such axis.
    #[track_caller]
    fn length_of(self, axis: usize, operation: &'static str) -> Result<usize, Var<'g>> {
        match self.shape().dims().get(axis) {
            Some(&length) => Ok(length),
            None => {
                Err(self
                    .unexpected(operation, format!("an array with an axis {axis} (axes are counted from 0)")))
            }
        }
    }

    /// `Σ_k x_k` along an axis; 0 of nothing.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.array(&ndarray::array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into_dyn());
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.sum_axis(0), x.max_axis(1)])?);
    /// plan.run();
    /// assert_eq!(plan.output(0), [5.0, 7.0, 9.0]);
    /// assert_eq!(plan.output(1), [3.0, 6.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sum_axis(self, axis: usize) -> Var<'g> {
        if let Err(failed) = self.length_of(axis, "sum_axis") {
            return failed;
        }
        let shape = self.shape();
        let mut kept = shape.dims().to_vec();
        kept[axis] = 1;
        self.sum_to(kept).reshape(without(&shape, axis))
    }

    /// `(1/n) Σ_k x_k` along an axis of length `n`; NaN of nothing.
    #[must_use]
    #[track_caller]
    pub fn mean_axis(self, axis: usize) -> Var<'g> {
        match self.length_of(axis, "mean_axis") {
            Ok(length) => self.sum_axis(axis) / length as f64,
            Err(failed) => failed,
        }
    }

    /// `max_k x_k` along an axis, NaN if an element is NaN. The derivative goes to the first of the largest
    /// elements. Of nothing there is none: an empty axis is a mistake.
    #[must_use]
    #[track_caller]
    pub fn max_axis(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::Max { axis })
    }

    /// `min_k x_k` along an axis; otherwise as [`Var::max_axis`].
    #[must_use]
    #[track_caller]
    pub fn min_axis(self, axis: usize) -> Var<'g> {
        -(-self).max_axis(axis)
    }

    /// The largest of all elements; otherwise as [`Var::max_axis`].
    #[must_use]
    #[track_caller]
    pub fn max_all(self) -> Var<'g> {
        self.flat().max_axis(0)
    }

    /// The smallest of all elements; otherwise as [`Var::max_axis`].
    #[must_use]
    #[track_caller]
    pub fn min_all(self) -> Var<'g> {
        self.flat().min_axis(0)
    }

    /// `Π_k x_k` along an axis; 1 of nothing.
    ///
    /// Elements are multiplied in pairs, pairs of pairs and so on, and so are their derivatives: nothing is
    /// divided by `x_k`, and the derivative is right where elements are zero.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 3)?;
    /// let slopes = gradient(x.prod(), &[x])?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &slopes)?);
    /// plan.set("x", &[2.0, 0.0, 5.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [0.0, 10.0, 0.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn prod_axis(self, axis: usize) -> Var<'g> {
        let mut length = match self.length_of(axis, "prod_axis") {
            Ok(length) => length,
            Err(failed) => return failed,
        };
        let shape = without(&self.shape(), axis);
        if length == 0 {
            return self.constant(1.0).broadcast_to(shape);
        }
        let (mut product, mut odd) = (self, None);
        while length > 1 {
            if length % 2 == 1 {
                let last = product.slice(axis, length - 1..);
                odd = Some(odd.map_or(last, |odd: Var<'g>| odd * last));
            }
            length /= 2;
            product = product.slice(axis, ..length) * product.slice(axis, length..2 * length);
        }
        let product = odd.map_or(product, |odd| product * odd);
        product.reshape(shape)
    }

    /// `Π_k x_k` over all elements; otherwise as [`Var::prod_axis`].
    #[must_use]
    #[track_caller]
    pub fn prod(self) -> Var<'g> {
        self.flat().prod_axis(0)
    }

    /// `out_k = Σ_{j ≤ k} x_j` along an axis.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.array(&ndarray::array![1.0, 2.0, 4.0].into_dyn());
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.cumsum(0)])?);
    /// plan.run();
    /// assert_eq!(plan.output(0), [1.0, 3.0, 7.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cumsum(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::CumulativeSum { axis, from_end: false })
    }

    /// `√(Σ_k x_k²)` along an axis, without overflow or underflow in between; 0 of nothing. Where it is 0,
    /// its derivative is taken to be 0.
    #[must_use]
    #[track_caller]
    pub fn norm_axis(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::Norm { axis })
    }

    /// `√(Σ_k x_k²)` over all elements; otherwise as [`Var::norm_axis`].
    #[must_use]
    #[track_caller]
    pub fn norm(self) -> Var<'g> {
        self.flat().norm_axis(0)
    }

    /// `ln Σ_k e^{x_k} = m + ln Σ_k e^{x_k − m}` with `m = max_k x_k`, along an axis: never an overflow.
    ///
    /// Elements of −∞ (terms of probability zero) add nothing and get a derivative of 0. If all are −∞, or
    /// there are none, the result is −∞; its derivative `e^{x_k} / Σ_j e^{x_j}` is then 0/0 and taken to be
    /// 0, so that a branch of probability zero does not make the whole of a nested sum NaN.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.array(&ndarray::array![1000.0, 1000.0, f64::NEG_INFINITY].into_dyn());
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.log_sum_exp()])?);
    /// plan.run();
    /// assert_eq!(plan.output(0), [1000.0 + 2.0_f64.ln()]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn log_sum_exp_axis(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::LogSumExp { axis })
    }

    /// `ln Σ_k e^{x_k}` over all elements; otherwise as [`Var::log_sum_exp_axis`].
    #[must_use]
    #[track_caller]
    pub fn log_sum_exp(self) -> Var<'g> {
        self.flat().log_sum_exp_axis(0)
    }

    /// `e^{x_k} / Σ_j e^{x_j}` along an axis, which stays; NaN where all elements are −∞.
    #[must_use]
    #[track_caller]
    pub fn softmax(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::Softmax { axis, zero_of_none: false })
    }

    /// `x_k − ln Σ_j e^{x_j}` along an axis, which stays: the log of [`Var::softmax`], without its underflow
    /// to `ln 0`; NaN where all elements are −∞.
    #[must_use]
    #[track_caller]
    pub fn log_softmax(self, axis: usize) -> Var<'g> {
        self.reduce(Reduce::LogSoftmax { axis })
    }
}
