//! Convolution in two dimensions. Image, kernel and result meet in one sum of products of three, and each of
//! the three operations is the derivative of that sum with respect to one of them; so the derivatives of each
//! are the other two.

use super::linear::accumulate;
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;
use std::ops::Range;

/// How a window moves over an image: heights first, widths second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    image: [usize; 2],
    size: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Window {
    /// A window of `size` that moves by `stride` over an image with `padding` zeros at each of its edges;
    /// `None` if a size or stride is 0, or the window is larger than the padded image.
    #[must_use]
    pub fn new(image: [usize; 2], size: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Option<Self> {
        let fits = (0..2).all(|axis| {
            let padded = padding[axis].checked_mul(2).and_then(|both| both.checked_add(image[axis]));
            size[axis] > 0 && stride[axis] > 0 && padded.is_some_and(|padded| size[axis] <= padded)
        });
        fits.then_some(Self { image, size, stride, padding })
    }

    /// Number of places of the window: `⌊(image + 2 padding − size)/stride⌋ + 1` for each axis.
    #[must_use]
    pub fn places(&self) -> [usize; 2] {
        [0, 1]
            .map(|axis| (self.image[axis] + 2 * self.padding[axis] - self.size[axis]) / self.stride[axis] + 1)
    }

    /// Height and width of the image.
    #[must_use]
    pub fn image(&self) -> [usize; 2] {
        self.image
    }

    /// Height and width of the window.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Vertical and horizontal step.
    #[must_use]
    pub fn stride(&self) -> [usize; 2] {
        self.stride
    }

    /// Zeros at each edge, vertically and horizontally.
    #[must_use]
    pub fn padding(&self) -> [usize; 2] {
        self.padding
    }

    /// The places, along an axis, for which this offset in the window lies on the image and not in the
    /// padding.
    #[inline(always)]
    fn reach(&self, axis: usize, offset: usize) -> Range<usize> {
        let (padding, stride) = (self.padding[axis], self.stride[axis]);
        let end = (self.image[axis] + padding).saturating_sub(offset).div_ceil(stride);
        let end = end.min(self.places()[axis]);
        padding.saturating_sub(offset).div_ceil(stride).min(end)..end
    }

    /// Calls `f(place, offset, pixel)` with the row-major positions of each place, offset in the window, and
    /// the pixel there; not for offsets that lie in the padding.
    #[inline(always)]
    pub(crate) fn visit(&self, mut f: impl FnMut(usize, usize, usize)) {
        for place in 0..self.places().iter().product() {
            self.visit_place(place, |offset, pixel| f(place, offset, pixel));
        }
    }

    /// Calls `f(offset, pixel)` for the offsets of one place.
    #[inline(always)]
    pub(crate) fn visit_place(&self, place: usize, mut f: impl FnMut(usize, usize)) {
        let across = self.places()[1];
        let corner = [place / across * self.stride[0], place % across * self.stride[1]];
        let inside = |axis: usize, offset: usize| {
            let pixel = (corner[axis] + offset).checked_sub(self.padding[axis]);
            pixel.filter(|&pixel| pixel < self.image[axis])
        };
        for u in 0..self.size[0] {
            let Some(y) = inside(0, u) else {
                continue;
            };
            for v in 0..self.size[1] {
                if let Some(x) = inside(1, v) {
                    f(u * self.size[1] + v, y * self.image[1] + x);
                }
            }
        }
    }
}

/// One of the three arrays of a convolution.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// `x`, of shape `[channels, height, width]`.
    Image,
    /// `k`, of shape `[results, channels, window height, window width]`.
    Kernel,
    /// `y`, of shape `[results, vertical places, horizontal places]`.
    Places,
}

/// The derivative of `Σ y_oij k_ocuv x_c,si+u−p,tj+v−q` with respect to one of `x`, `k` and `y`, from the
/// other two (in this order).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    result: Role,
    window: Window,
}

impl Convolution {
    #[cfg(any(test, feature = "proptest"))]
    pub(crate) fn new(result: Role, window: Window) -> Self {
        Self { result, window }
    }

    /// The array that is computed.
    #[must_use]
    pub fn result(&self) -> Role {
        self.result
    }

    /// How the window moves.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// The arguments' roles, in their order.
    #[must_use]
    pub fn arguments(&self) -> [Role; 2] {
        match self.result {
            Role::Image => [Role::Kernel, Role::Places],
            Role::Kernel => [Role::Image, Role::Places],
            Role::Places => [Role::Image, Role::Kernel],
        }
    }

    /// Channels and results, if the axes of the array suit its role.
    fn depths(&self, role: Role, shape: &Shape) -> Result<(Option<usize>, Option<usize>), String> {
        let ([height, width], [rows, columns], [down, across]) =
            (self.window.image, self.window.size, self.window.places());
        match (role, shape.dims()) {
            (Role::Image, &[channels, h, w]) if [h, w] == [height, width] => Ok((Some(channels), None)),
            (Role::Kernel, &[results, channels, h, w]) if [h, w] == [rows, columns] => {
                Ok((Some(channels), Some(results)))
            }
            (Role::Places, &[results, h, w]) if [h, w] == [down, across] => Ok((None, Some(results))),
            (Role::Image, _) => Err(format!("an image [channels, {height}, {width}]")),
            (Role::Kernel, _) => Err(format!("a kernel [results, channels, {rows}, {columns}]")),
            (Role::Places, _) => Err(format!("an array [results, {down}, {across}]")),
        }
    }
}

impl Primitive for Convolution {
    fn name(&self) -> &'static str {
        match self.result {
            Role::Image => "conv2d_transpose",
            Role::Kernel => "conv2d_kernel",
            Role::Places => "conv2d",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [a, b] = args else {
            return Err(Misfit::Count);
        };
        let [first, second] = self.arguments();
        let (channels, results) = self.depths(first, a).map_err(|told| Misfit::Argument(0, told))?;
        let (more_channels, more_results) =
            self.depths(second, b).map_err(|told| Misfit::Argument(1, told))?;
        // Both tell the depth that they have in common, and it must be one.
        let agree = |a: Option<usize>, b: Option<usize>| a.is_none() || b.is_none() || a == b;
        if !agree(channels, more_channels) || !agree(results, more_results) {
            return Err(Misfit::Pair);
        }
        let channels = channels.or(more_channels).unwrap_or(0);
        let results = results.or(more_results).unwrap_or(0);
        let ([height, width], [rows, columns], [down, across]) =
            (self.window.image, self.window.size, self.window.places());
        Ok(match self.result {
            Role::Image => Shape::from([channels, height, width]),
            Role::Kernel => Shape::from([results, channels, rows, columns]),
            Role::Places => Shape::from([results, down, across]),
        })
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, shape, .. } = work;
        if lanes == 0 {
            return;
        }
        out.fill(T::zero());
        // The kernel tells both depths, wherever it is.
        let kernel = match self.result {
            Role::Image => &shapes[0],
            Role::Kernel => shape,
            Role::Places => &shapes[1],
        };
        let &[results, channels, ..] = kernel.dims() else {
            return;
        };
        let ([height, width], [rows, columns], [down, across]) =
            (self.window.image, self.window.size, self.window.places());
        let [stride, step] = self.window.stride;
        for kernel in 0..results * channels * rows * columns {
            let (offset, depth) = (kernel % (rows * columns), kernel / (rows * columns));
            let (u, v) = (offset / columns, offset % columns);
            let across_places = self.window.reach(1, v);
            let count = across_places.len();
            for i in if count == 0 { 0..0 } else { self.window.reach(0, u) } {
                // The first of the places in a row that meet this element of the kernel, and its pixel.
                let place = (depth / channels * down + i) * across + across_places.start;
                let y = depth % channels * height + i * stride + u - self.window.padding[0];
                let pixel = y * width + across_places.start * step + v - self.window.padding[1];
                match self.result {
                    Role::Kernel => {
                        let out = &mut out[kernel * lanes..(kernel + 1) * lanes];
                        for k in 0..count {
                            accumulate(
                                out,
                                args[0].row(pixel + k * step, lanes),
                                args[1].row(place + k, lanes),
                            );
                        }
                    }
                    Role::Places => {
                        let factor = args[1].row(kernel, lanes);
                        add_rows(out, (place, 1), args[0], (pixel, step), factor, count, lanes);
                    }
                    Role::Image => {
                        let factor = args[0].row(kernel, lanes);
                        add_rows(out, (pixel, step), args[1], (place, 1), factor, count, lanes);
                    }
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let roles = self.arguments();
        let op = Convolution { result: roles[which], window: self.window };
        let take = |role: Role| if role == self.result { cotangent } else { args[1 - which] };
        let value = cotangent.graph().apply(Op::Convolution(op), &op.arguments().map(take));
        Some(Cotangent::Value(value))
    }
}

/// `out_to+k·step += factor · from_from+k·step` for `count` rows, each side with a first row and a step of
/// its own.
#[inline(always)]
fn add_rows<T: Scalar>(
    out: &mut [T],
    (to, to_step): (usize, usize),
    from: Operand<'_, T>,
    (first, step): (usize, usize),
    factor: Row<'_, T>,
    count: usize,
    lanes: usize,
) {
    match (from, factor) {
        // Rows that lie side by side are one long row.
        (Operand::Rows(data), Row::One(_)) if to_step == 1 && step == 1 => {
            let data = Row::Lanes(&data[first * lanes..(first + count) * lanes]);
            accumulate(&mut out[to * lanes..(to + count) * lanes], data, factor);
        }
        _ => {
            for k in 0..count {
                let to = (to + k * to_step) * lanes;
                accumulate(&mut out[to..to + lanes], from.row(first + k * step, lanes), factor);
            }
        }
    }
}

/// Convolutions; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// Convolution in two dimensions, as networks have it (a cross-correlation: the kernel is not turned
    /// round).
    ///
    /// ```text
    /// y_oij = Σ_cuv k_ocuv x_c, si+u−p, tj+v−q        (x is 0 beyond its edges)
    /// ```
    ///
    /// Shapes: image `[channels, h, w]`, kernel `[results, channels, r, c]`, result
    /// `[results, ⌊(h + 2p − r)/s⌋ + 1, ⌊(w + 2q − c)/t⌋ + 1]` for a stride `[s, t]` and a padding `[p, q]`.
    /// Source: Dumoulin and Visin, arXiv:1603.07285.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, Shape};
    /// let graph = Graph::new();
    /// let (image, kernel) = (graph.input("image", [1, 3, 3])?, graph.input("kernel", [1, 1, 2, 2])?);
    /// let program = Program::new(&graph, &[image.conv2d(kernel, [1, 1], [0, 0])])?;
    /// let mut plan = ExecutionPlan::<f64>::new(&program);
    /// plan.set("image", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])?;
    /// plan.set("kernel", &[1.0, 0.0, 0.0, 10.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [51.0, 62.0, 84.0, 95.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv2d(self, kernel: Var<'g>, stride: [usize; 2], padding: [usize; 2]) -> Var<'g> {
        let (image, shape) = (self.shape(), kernel.shape());
        let &[_, height, width] = image.dims() else {
            return self.unexpected("conv2d", "an image [channels, height, width]".to_owned());
        };
        let &[_, _, rows, columns] = shape.dims() else {
            return kernel.unexpected("conv2d", "a kernel [results, channels, height, width]".to_owned());
        };
        match Window::new([height, width], [rows, columns], stride, padding) {
            Some(window) => {
                let op = Convolution { result: Role::Places, window };
                self.graph().apply(Op::Convolution(op), &[self, kernel])
            }
            None => {
                let told = format!(
                    "a kernel (and stride) of at least 1 that fits in a {height} × {width} image with padding {padding:?}, stride {stride:?}"
                );
                kernel.unexpected("conv2d", told)
            }
        }
    }

    /// The transpose of [`Var::conv2d`]: what a convolution with the same kernel, stride and padding pulls
    /// back to its image.
    ///
    /// ```text
    /// x_cyx = Σ k_ocuv y_oij   over all o, i, j, u, v with si + u − p = y and tj + v − q = x
    /// ```
    ///
    /// Shapes: `[results, h, w]`, kernel `[results, channels, r, c]` (as for the convolution it transposes),
    /// result `[channels, (h − 1)s + r − 2p + e, (w − 1)t + c − 2q + f]`, where the extra rows and columns
    /// `[e, f]`, less than the stride, choose among the image sizes that a convolution brings to `h × w`.
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let (y, kernel) = (graph.input("y", [8, 7, 7])?, graph.input("kernel", [8, 3, 3, 3])?);
    /// let x = y.conv2d_transpose(kernel, [2, 2], [1, 1], [1, 1]);
    /// assert_eq!(x.shape(), Shape::from([3, 14, 14]));
    /// assert_eq!(x.conv2d(kernel, [2, 2], [1, 1]).shape(), y.shape());
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv2d_transpose(
        self,
        kernel: Var<'g>,
        stride: [usize; 2],
        padding: [usize; 2],
        extra: [usize; 2],
    ) -> Var<'g> {
        let (places, shape) = (self.shape(), kernel.shape());
        let &[_, down, across] = places.dims() else {
            return self.unexpected("conv2d_transpose", "an array [results, height, width]".to_owned());
        };
        let &[_, _, rows, columns] = shape.dims() else {
            let told = "a kernel [results, channels, height, width]".to_owned();
            return kernel.unexpected("conv2d_transpose", told);
        };
        let length = |axis: usize, places: usize, size: usize| {
            let reach = places.checked_sub(1)?.checked_mul(stride[axis])?.checked_add(size)?;
            reach.checked_add(extra[axis])?.checked_sub(padding[axis].checked_mul(2)?)
        };
        let window = length(0, down, rows).zip(length(1, across, columns)).and_then(|(height, width)| {
            Window::new([height, width], [rows, columns], stride, padding)
                .filter(|window| window.places() == [down, across])
        });
        match window {
            Some(window) => {
                let op = Convolution { result: Role::Image, window };
                self.graph().apply(Op::Convolution(op), &[kernel, self])
            }
            None => {
                let told = format!(
                    "places of a window {rows} × {columns} with stride {stride:?}, padding {padding:?} and {extra:?} extra"
                );
                self.unexpected("conv2d_transpose", told)
            }
        }
    }
}
