//! Pooling in two dimensions: one number for each place of a window.

use super::convolution::Window;
use super::shaping::add;
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;

/// A reduction over the pixels of a window, channel by channel, or the transpose of one. Images are
/// `[channels, h, w]`.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// Of two images: the second's pixel where the first is largest in the window, the first such pixel at
    /// ties (a NaN counts as largest). With one image twice it is max-pooling.
    Pick(Window),
    /// The transpose of [`Pooling::Pick`] in its second argument: of an image and an array over the places,
    /// each number of the array goes to the pixel where the image is largest.
    Route(Window),
    /// `1/(window's size) Σ` over the window, where pixels of the padding are zeros.
    Average(Window),
    /// The transpose of [`Pooling::Average`].
    Spread(Window),
}

impl Pooling {
    fn window(&self) -> Window {
        match self {
            Pooling::Pick(window)
            | Pooling::Route(window)
            | Pooling::Average(window)
            | Pooling::Spread(window) => *window,
        }
    }
}

impl Primitive for Pooling {
    fn name(&self) -> &'static str {
        match self {
            Pooling::Pick(_) => "max_pool2d",
            Pooling::Route(_) => "max_pool2d_transpose",
            Pooling::Average(_) => "average_pool2d",
            Pooling::Spread(_) => "average_pool2d_transpose",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let window = self.window();
        let [height, width] = window.image();
        let [down, across] = window.places();
        let channels = |which: usize, [h, w]: [usize; 2]| match args[which].dims() {
            &[channels, rows, columns] if [rows, columns] == [h, w] => Ok(channels),
            _ => Err(Misfit::Argument(which, format!("an array [channels, {h}, {w}]"))),
        };
        let expected = if matches!(self, Pooling::Pick(_) | Pooling::Route(_)) { 2 } else { 1 };
        if args.len() != expected {
            return Err(Misfit::Count);
        }
        let (depth, other) = match self {
            Pooling::Pick(_) => (channels(0, window.image())?, channels(1, window.image())?),
            Pooling::Route(_) => (channels(0, window.image())?, channels(1, window.places())?),
            Pooling::Average(_) => (channels(0, window.image())?, channels(0, window.image())?),
            Pooling::Spread(_) => (channels(0, window.places())?, channels(0, window.places())?),
        };
        if depth != other {
            return Err(Misfit::Pair);
        }
        Ok(match self {
            Pooling::Pick(_) | Pooling::Average(_) => Shape::from([depth, down, across]),
            Pooling::Route(_) | Pooling::Spread(_) => Shape::from([depth, height, width]),
        })
    }

    /// For the largest of a window: its value, and the pixel where it is.
    fn scratch_rows(&self, _args: &[Shape], _shape: &Shape) -> usize {
        if matches!(self, Pooling::Pick(_) | Pooling::Route(_)) { 2 } else { 0 }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shape, scratch, .. } = work;
        let &[channels, ..] = shape.dims() else {
            return;
        };
        if lanes == 0 || out.is_empty() {
            return;
        }
        let window = self.window();
        let (pixels, places) =
            (window.image().iter().product::<usize>(), window.places().iter().product::<usize>());
        let share = T::one() / T::of(window.size().iter().product::<usize>() as f64);
        if !matches!(self, Pooling::Pick(_)) {
            out.fill(T::zero());
        }
        for channel in 0..channels {
            let (first_pixel, first_place) = (channel * pixels, channel * places);
            let row = |index: usize| index * lanes..(index + 1) * lanes;
            match self {
                Pooling::Average(_) => window.visit(|place, _, pixel| {
                    scaled(
                        &mut out[row(first_place + place)],
                        share,
                        args[0].row(first_pixel + pixel, lanes),
                    );
                }),
                Pooling::Spread(_) => window.visit(|place, _, pixel| {
                    scaled(
                        &mut out[row(first_pixel + pixel)],
                        share,
                        args[0].row(first_place + place, lanes),
                    );
                }),
                Pooling::Pick(_) | Pooling::Route(_) => {
                    let (largest, at) = scratch.split_at_mut(lanes);
                    let at = &mut at[..lanes];
                    for place in 0..places {
                        find_largest(window, place, args[0], first_pixel, largest, at);
                        let (pick, value) = match self {
                            Pooling::Pick(_) => (true, None),
                            _ => (false, Some(args[1].row(first_place + place, lanes))),
                        };
                        window.visit_place(place, |_, pixel| {
                            let here = T::of(pixel as f64);
                            let (to, from) = match value {
                                Some(value) if !pick => (first_pixel + pixel, value),
                                _ => (first_place + place, args[1].row(first_pixel + pixel, lanes)),
                            };
                            let to = &mut out[row(to)];
                            for (lane, (to, &at)) in to.iter_mut().zip(&*at).enumerate() {
                                let from = match from {
                                    Row::Lanes(values) => values[lane],
                                    Row::One(value) => value,
                                };
                                if at == here {
                                    *to = if pick { from } else { *to + from };
                                }
                            }
                        });
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
        let apply = |op: Pooling, args: &[Var<'g>]| cotangent.graph().apply(Op::Pooling(op), args);
        Some(Cotangent::Value(match (*self, which) {
            (Pooling::Average(window), _) => apply(Pooling::Spread(window), &[cotangent]),
            (Pooling::Spread(window), _) => apply(Pooling::Average(window), &[cotangent]),
            // Where the largest is does not change in a neighbourhood.
            (Pooling::Pick(_) | Pooling::Route(_), 0) => return None,
            (Pooling::Pick(window), _) => apply(Pooling::Route(window), &[args[0], cotangent]),
            (Pooling::Route(window), _) => apply(Pooling::Pick(window), &[args[0], cotangent]),
        }))
    }
}

/// `out += factor · row`
#[inline(always)]
fn scaled<T: Scalar>(out: &mut [T], factor: T, row: Row<'_, T>) {
    match row {
        Row::Lanes(values) => out.iter_mut().zip(values).for_each(|(out, &value)| *out += factor * value),
        Row::One(value) => add(out, Row::One(factor * value)),
    }
}

/// For each lane, the largest pixel of a place and where it is.
#[inline(always)]
fn find_largest<T: Scalar>(
    window: Window,
    place: usize,
    image: Operand<'_, T>,
    first_pixel: usize,
    largest: &mut [T],
    at: &mut [T],
) {
    let lanes = largest.len();
    let mut first = true;
    window.visit_place(place, |_, pixel| {
        let (row, here) = (image.row(first_pixel + pixel, lanes), T::of(pixel as f64));
        for (lane, (largest, at)) in largest.iter_mut().zip(&mut *at).enumerate() {
            let value = match row {
                Row::Lanes(values) => values[lane],
                Row::One(value) => value,
            };
            if first || value > *largest || (value.is_nan() && !largest.is_nan()) {
                (*largest, *at) = (value, here);
            }
        }
        first = false;
    });
}

/// Pooling; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// The largest pixel of each place of a window, channel by channel; padding never is the largest.
    ///
    /// Shapes: `[channels, h, w] → [channels, ⌊(h + 2p − r)/s⌋ + 1, ⌊(w + 2q − c)/t⌋ + 1]` for a window
    /// `[r, c]`, a stride `[s, t]` and a padding `[p, q]`, which is less than the window. The derivative goes
    /// to the first of several largest pixels.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let image = graph.input("image", [1, 2, 4])?;
    /// let pooled = [image.max_pool2d([2, 2], [2, 2], [0, 0]), image.average_pool2d([2, 2], [2, 2], [0, 0])];
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &pooled)?);
    /// plan.set("image", &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0, -6.0, -1.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [5.0, 4.0]);
    /// assert_eq!(plan.output(1), [2.0, 0.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_pool2d(self, size: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Var<'g> {
        match self.pooling_window(size, stride, padding) {
            Ok(window) => self.graph().apply(Op::Pooling(Pooling::Pick(window)), &[self, self]),
            Err(told) => self.unexpected("max_pool2d", told),
        }
    }

    /// The mean over each place of a window, channel by channel, where padding counts as zeros; shapes as at
    /// [`Var::max_pool2d`].
    #[must_use]
    #[track_caller]
    pub fn average_pool2d(self, size: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Var<'g> {
        match self.pooling_window(size, stride, padding) {
            Ok(window) => self.graph().apply(Op::Pooling(Pooling::Average(window)), &[self]),
            Err(told) => self.unexpected("average_pool2d", told),
        }
    }

    fn pooling_window(
        self,
        size: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
    ) -> Result<Window, String> {
        let shape = self.shape();
        // In f32 a pixel's number must be exact.
        let window = match shape.dims() {
            &[_, height, width] if height.saturating_mul(width) <= 1 << 24 => {
                Window::new([height, width], size, stride, padding)
            }
            _ => None,
        };
        let window = window.filter(|_| (0..2).all(|axis| padding[axis] < size[axis]));
        window.ok_or_else(|| {
            format!(
                "[channels, height, width] of at most 2^24 pixels for a window {size:?}, stride {stride:?}, padding {padding:?} (less than the window)"
            )
        })
    }
}
