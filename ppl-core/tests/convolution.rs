//! Convolution and pooling: values, derivatives, both kinds of arguments, both number types, and the edges.

use crate::common::{Argument, check, value};
use ppl_core::op::Window;
use ppl_core::{Error, Graph, Shape, Var};
use proptest::prelude::*;

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    channels: usize,
    results: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Sizes {
    fn places(&self) -> [usize; 2] {
        [0, 1].map(|k| (self.image[k] + 2 * self.padding[k] - self.kernel[k]) / self.stride[k] + 1)
    }

    /// Every triple of elements (image, kernel, place) that meet, by walking over an image with its zeros
    /// written out.
    fn triples(&self) -> Vec<(usize, usize, usize)> {
        let ([h, w], [r, c], [down, across]) = (self.image, self.kernel, self.places());
        let [padded_h, padded_w] = [0, 1].map(|k| self.image[k] + 2 * self.padding[k]);
        let mut number = vec![None; padded_h * padded_w];
        for y in 0..h {
            for x in 0..w {
                number[(y + self.padding[0]) * padded_w + x + self.padding[1]] = Some(y * w + x);
            }
        }
        let mut triples = Vec::new();
        for o in 0..self.results {
            for ch in 0..self.channels {
                for place in 0..down * across {
                    for offset in 0..r * c {
                        let y = place / across * self.stride[0] + offset / c;
                        let x = place % across * self.stride[1] + offset % c;
                        if let Some(pixel) = number[y * padded_w + x] {
                            triples.push((
                                ch * h * w + pixel,
                                (o * self.channels + ch) * r * c + offset,
                                o * down * across + place,
                            ));
                        }
                    }
                }
            }
        }
        triples
    }

    fn image_shape(&self) -> Shape {
        Shape::from([self.channels, self.image[0], self.image[1]])
    }

    fn kernel_shape(&self) -> Shape {
        Shape::from([self.results, self.channels, self.kernel[0], self.kernel[1]])
    }

    fn places_shape(&self) -> Shape {
        Shape::from([self.results, self.places()[0], self.places()[1]])
    }

    /// What `conv2d_transpose` has to be told to come to this image.
    fn extra(&self) -> [usize; 2] {
        [0, 1].map(|k| (self.image[k] + 2 * self.padding[k] - self.kernel[k]) % self.stride[k])
    }

    fn check(&self) {
        let name = format!("{self:?}");
        let (image, kernel, places) = (self.image_shape(), self.kernel_shape(), self.places_shape());
        let args = [Argument::arbitrary(image.clone(), 1), Argument::arbitrary(kernel.clone(), 2)];
        check(
            &format!("conv2d {name}"),
            &args,
            |v| {
                let y = v[0].conv2d(v[1], self.stride, self.padding);
                assert_eq!(y.shape(), places);
                y
            },
            |values| {
                let mut y = vec![0.0; places.elements()];
                self.triples().iter().for_each(|&(x, k, to)| y[to] += values[0][x] * values[1][k]);
                y
            },
            2e-5,
        );
        let args = [Argument::arbitrary(places.clone(), 3), Argument::arbitrary(kernel, 4)];
        check(
            &format!("conv2d_transpose {name}"),
            &args,
            |v| v[0].conv2d_transpose(v[1], self.stride, self.padding, self.extra()),
            |values| {
                let mut x = vec![0.0; image.elements()];
                self.triples().iter().for_each(|&(to, k, y)| x[to] += values[0][y] * values[1][k]);
                x
            },
            2e-5,
        );
    }

    fn check_pooling(&self) {
        let name = format!("{self:?}");
        let (image, places) = (self.image_shape(), self.places_shape());
        let one_channel = Sizes { results: 1, channels: 1, ..*self };
        let (pixels, count) = (self.image[0] * self.image[1], self.places()[0] * self.places()[1]);
        let reduce = |values: &[f64], start: f64, f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let mut y = vec![start; self.channels * count];
            for channel in 0..self.channels {
                for &(x, _, to) in &one_channel.triples() {
                    let slot = &mut y[channel * count + to];
                    *slot = f(*slot, values[channel * pixels + x]);
                }
            }
            y
        };
        let args = [Argument::arbitrary(image, 5)];
        let shape = Shape::from([self.channels, places.dims()[1], places.dims()[2]]);
        check(
            &format!("max_pool2d {name}"),
            &args,
            |v| {
                let y = v[0].square().max_pool2d(self.kernel, self.stride, self.padding);
                assert_eq!(y.shape(), shape);
                y
            },
            |values| {
                let squares: Vec<f64> = values[0].iter().map(|x| x * x).collect();
                reduce(&squares, f64::NEG_INFINITY, &f64::max)
            },
            2e-5,
        );
        let size = (self.kernel[0] * self.kernel[1]) as f64;
        check(
            &format!("average_pool2d {name}"),
            &args,
            |v| v[0].average_pool2d(self.kernel, self.stride, self.padding),
            |values| reduce(&values[0], 0.0, &|sum, x| sum + x / size),
            2e-5,
        );
    }
}

const PLAIN: Sizes =
    Sizes { channels: 2, results: 3, image: [4, 3], kernel: [2, 2], stride: [1, 1], padding: [0, 0] };

#[test]
fn convolutions_of_every_form() {
    for sizes in [
        PLAIN,
        Sizes { padding: [1, 2], ..PLAIN },
        Sizes { stride: [2, 3], ..PLAIN },
        Sizes { stride: [3, 2], padding: [1, 1], kernel: [3, 2], ..PLAIN },
        Sizes { kernel: [4, 3], ..PLAIN },
        Sizes { kernel: [1, 1], channels: 1, results: 1, ..PLAIN },
        Sizes { image: [1, 1], kernel: [1, 1], ..PLAIN },
        Sizes { image: [1, 1], kernel: [3, 3], padding: [1, 1], ..PLAIN },
        Sizes { image: [0, 2], kernel: [1, 1], padding: [1, 0], ..PLAIN }, // nothing but padding
        Sizes { channels: 0, ..PLAIN },
        Sizes { results: 0, ..PLAIN },
    ] {
        sizes.check();
    }
}

#[test]
fn pooling_of_every_form() {
    for sizes in [
        PLAIN,
        Sizes { stride: [2, 2], padding: [1, 1], ..PLAIN },
        Sizes { kernel: [3, 3], stride: [1, 2], padding: [2, 1], ..PLAIN },
        Sizes { kernel: [4, 3], ..PLAIN },
        Sizes { kernel: [1, 1], stride: [2, 2], ..PLAIN },
        Sizes { image: [1, 1], kernel: [1, 1], ..PLAIN },
        Sizes { channels: 0, ..PLAIN },
    ] {
        sizes.check_pooling();
    }
}

prop_compose! {
    fn sizes()(
        channels in 1..3_usize, results in 1..3_usize,
        image in [1..5_usize, 1..5_usize], kernel in [1..4_usize, 1..4_usize],
        stride in [1..4_usize, 1..4_usize], padding in [0..3_usize, 0..3_usize],
    ) -> Sizes {
        let padding = [0, 1].map(|k| padding[k].min(kernel[k] - 1));
        let kernel = [0, 1].map(|k| kernel[k].min(image[k] + 2 * padding[k]));
        let padding = [0, 1].map(|k| padding[k].min(kernel[k] - 1));
        let kernel = [0, 1].map(|k| kernel[k].min(image[k] + 2 * padding[k]));
        Sizes { channels, results, image, kernel, stride, padding }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_windows(sizes in sizes()) {
        prop_assume!((0..2).all(|k| sizes.padding[k] < sizes.kernel[k]));
        sizes.check();
        sizes.check_pooling();
    }
}

#[test]
fn the_largest_pixel_at_ties_and_among_nan() {
    let slope = |values: [f64; 4]| -> Vec<f64> {
        let args = [Argument::new([1, 2, 2], |_, k| values[k])];
        value::<f64>(&args, |v| {
            let pooled = v[0].max_pool2d([2, 2], [1, 1], [0, 0]);
            ppl_core::gradient(pooled.sum(), v).unwrap()[0]
        })
    };
    assert_eq!(slope([1.0, 3.0, 3.0, 2.0]), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(slope([-0.0, 0.0, 0.0, -0.0]), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(slope([f64::NEG_INFINITY; 4]), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(slope([1.0, f64::INFINITY, 3.0, 2.0]), [0.0, 1.0, 0.0, 0.0]);
    let args = [Argument::new([1, 2, 2], |_, k| [1.0, f64::NAN, f64::INFINITY, 2.0][k])];
    assert!(value::<f64>(&args, |v| v[0].max_pool2d([2, 2], [1, 1], [0, 0]))[0].is_nan());
    let tiny = [Argument::new([1, 1, 2], |_, k| [f64::from_bits(1), -f64::from_bits(1)][k])];
    assert_eq!(value::<f64>(&tiny, |v| v[0].max_pool2d([1, 2], [1, 1], [0, 0])), [f64::from_bits(1)]);
}

#[test]
fn windows_that_do_not_fit_are_told() {
    type Try = dyn for<'g> Fn(Var<'g>, Var<'g>) -> Var<'g>;
    let told = |f: &Try| {
        let graph = Graph::new();
        let _ = f(graph.input("x", [2, 4, 4]).unwrap(), graph.input("k", [3, 2, 3, 3]).unwrap());
        graph.check().unwrap_err()
    };
    let wrong: [&Try; 9] = [
        &|x, k| x.conv2d(k, [0, 1], [0, 0]),
        &|x, k| x.conv2d(k, [1, 1], [usize::MAX, 0]),
        &|x, k| x.reshape([1, 8, 4]).conv2d(k.reshape([3, 2, 9, 1]), [1, 1], [0, 0]),
        &|x, k| k.conv2d(x, [1, 1], [0, 0]),
        &|x, _| x.conv2d(x, [1, 1], [0, 0]),
        &|x, k| x.conv2d_transpose(k.reshape([2, 3, 3, 3]), [2, 2], [1, 1], [2, 0]),
        &|x, k| x.conv2d_transpose(k.reshape([2, 3, 3, 3]), [usize::MAX, 2], [1, 1], [0, 0]),
        &|x, _| x.max_pool2d([2, 2], [2, 2], [2, 0]),
        &|x, _| x.average_pool2d([5, 5], [1, 1], [0, 0]),
    ];
    for f in wrong {
        assert!(matches!(told(f), Error::UnexpectedShape { .. }));
    }
    // Another number of channels.
    assert!(matches!(
        told(&|x, k| x.conv2d(k.reshape([2, 3, 3, 3]), [1, 1], [0, 0])),
        Error::ShapeMismatch { .. }
    ));
    assert!(matches!(
        told(&|x, k| x.conv2d_transpose(k, [1, 1], [0, 0], [0, 0])),
        Error::ShapeMismatch { .. }
    ));
    assert!(Window::new([4, 4], [5, 1], [1, 1], [0, 0]).is_none());
    assert!(Window::new([4, 4], [0, 1], [1, 1], [0, 0]).is_none());
}
