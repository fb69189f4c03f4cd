//! The autoencoders of the d3p paper's table 2: a hidden layer on each side, or three convolutions.

use dp_sampler::Subsampling;
use dp_vi::guides::{Amortised, AutoNormal};
use dp_vi::{Correction, DpVi, DrawScheme, Fit, Posterior, RecordWeights};
use ndarray::{Array1, Array2, ArrayD, ArrayView2, Ix1, Ix2, IxDyn};
use ppl_core::{
    Constraint, Ctx, Distribution, ExecutionPlan, Graph, Model, Program, Result as CoreResult, Var,
};
use ppl_distributions::{Bernoulli, Normal};

use super::stand_in::normals;
use crate::harness::utility::Failure;

/// Widths of the layers. With 784 pixels, 400 and 50 there are 688,884 weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) pixels: usize,
    pub(super) hidden: usize,
    pub(super) latent: usize,
}

/// The paper's.
pub(super) const PAPERS: Widths = Widths { pixels: 784, hidden: 400, latent: 50 };

/// Seed of the weights at the start, which are public and the same in every run.
const START: u64 = 7;

/// Where weights start: normal numbers of variance 2/(inputs + outputs), as Glorot and Bengio 2010 have it.
fn start(stream: u64, shape: &[usize], (from, to): (usize, usize)) -> ArrayD<f64> {
    let scale = (2.0 / (from + to) as f64).sqrt();
    let numbers = normals(START, stream, shape.iter().product());
    // The shape's own number of elements was asked for.
    ArrayD::from_shape_vec(IxDyn(shape), numbers).unwrap_or_else(|_| ArrayD::zeros(IxDyn(shape))) * scale
}

/// A dense layer.
struct Dense<'g>(Var<'g>, Var<'g>);

impl<'g> Dense<'g> {
    fn new(ctx: &mut Ctx<'g>, name: &str, stream: u64, (from, to): (usize, usize)) -> CoreResult<Self> {
        let weights = start(stream, &[to, from], (from, to));
        let weights = ctx.param(&format!("{name}/weights"), weights, Constraint::Real)?;
        Ok(Self(weights, ctx.param(&format!("{name}/bias"), Array1::zeros(to), Constraint::Real)?))
    }

    fn apply(&self, x: Var<'g>) -> Var<'g> {
        self.0.dot(x) + self.1
    }
}

/// ```text
/// z ~ N(0, I)     x ~ Bernoulli(logits = W₂ softplus(W₁ z + b₁) + b₂)
/// ```
fn decoder(widths: Widths, draws: usize) -> impl Model {
    move |ctx: &mut Ctx<'_>| {
        let Widths { pixels, hidden, latent } = widths;
        let first = Dense::new(ctx, "decoder/hidden", 4, (latent, hidden))?;
        let second = Dense::new(ctx, "decoder/pixels", 5, (hidden, pixels))?;
        ctx.each_record(|ctx, image| {
            ctx.scale(1.0 / draws as f64, |ctx| {
                for draw in 0..draws {
                    let z = ctx.sample(&name_of(draw), Normal::new(0.0, 1.0).iid(latent))?;
                    let logits = second.apply(first.apply(z).softplus());
                    let pixels = Bernoulli::from_logits(logits);
                    let name = if draw == 0 { "pixels".to_owned() } else { format!("pixels{draw}") };
                    ctx.observe(&name, pixels, image.get("pixels")?)?;
                }
                Ok(())
            })
        })
    }
}

/// The latent numbers of an image, each time that they are drawn.
fn name_of(draw: usize) -> String {
    if draw == 0 { "z".to_owned() } else { format!("z{draw}") }
}

/// ```text
/// h = softplus(V₁ x + c₁)     z ~ N(V₂ h + c₂, exp(V₃ h + c₃)²)
/// ```
fn encoder(widths: Widths, draws: usize) -> impl Model {
    move |ctx: &mut Ctx<'_>| {
        let Widths { pixels, hidden, latent } = widths;
        let first = Dense::new(ctx, "encoder/hidden", 1, (pixels, hidden))?;
        let loc = Dense::new(ctx, "encoder/loc", 2, (hidden, latent))?;
        let scale = Dense::new(ctx, "encoder/scale", 3, (hidden, latent))?;
        ctx.each_record(|ctx, image| {
            let h = first.apply(image.get("pixels")?).softplus();
            let (loc, scale) = (loc.apply(h), scale.apply(h).exp());
            ctx.scale(1.0 / draws as f64, |ctx| {
                (0..draws)
                    .try_for_each(|draw| ctx.sample(&name_of(draw), Normal::new(loc, scale)).map(|_| ()))
            })
        })
    }
}

/// How the bound of an image is estimated at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// All of it at one draw of its latent numbers.
    AtADraw,
    /// The divergence from the prior in closed form, the mean of the likelihood over so many draws.
    ClosedForm(usize),
}

/// Inference for the network: gradients by shared weights at an image's own draws, neither weights nor a correction.
pub(super) fn inference<S: Subsampling>(
    widths: Widths,
    bound: Bound,
    batches: S,
) -> DpVi<Amortised<impl Model, impl Model>, AutoNormal, S> {
    let of = |draws| Amortised::new(decoder(widths, draws), encoder(widths, draws));
    let model = match bound {
        Bound::AtADraw => of(1),
        Bound::ClosedForm(draws) => of(draws).closed_form(),
    };
    plain(model, batches)
}

fn plain<M: Model, S: Subsampling>(model: M, batches: S) -> DpVi<M, AutoNormal, S> {
    DpVi::new(model, AutoNormal::new())
        .draw_scheme(DrawScheme::Single)
        .weights(RecordWeights::None)
        .correction(Correction::None)
        .subsample(batches)
}

/// One where the random intensity of a pixel is above a uniform number: images as the paper's programs see them.
pub(super) fn binary(images: ArrayView2<'_, u8>, uniforms: &[f64]) -> Array2<u8> {
    let mut on = images.to_owned();
    on.iter_mut().zip(uniforms).for_each(|(pixel, u)| *pixel = u8::from(*u < f64::from(*pixel) / 255.0));
    on
}

/// The negative bound of an image: `E[−ln p(x|z)] + KL(q(z|x) ‖ N(0, I))`, the expectation by one draw an image.
pub(super) fn loss(posterior: &Posterior, test: &Array2<u8>, seed: u64) -> Result<f64, Failure> {
    let matrix = |name: &str| -> Result<Array2<f64>, Failure> {
        Ok(posterior.mean(&format!("{name}/weights"))?.into_dimensionality::<Ix2>()?)
    };
    let bias = |name: &str| -> Result<Array1<f64>, Failure> {
        Ok(posterior.mean(&format!("{name}/bias"))?.into_dimensionality::<Ix1>()?)
    };
    let layer = |x: &Array2<f64>, name: &str| -> Result<Array2<f64>, Failure> {
        Ok(x.dot(&matrix(name)?.t()) + bias(name)?)
    };
    let x = test.mapv(f64::from);
    let hidden = layer(&x, "encoder/hidden")?.mapv(softplus);
    let (loc, log_scale) = (layer(&hidden, "encoder/loc")?, layer(&hidden, "encoder/scale")?);
    let noise = normals(seed, 90, loc.len());
    let mut z = loc.clone();
    let draws = z.iter_mut().zip(&log_scale).zip(&noise);
    draws.for_each(|((z, log_scale), noise)| *z += log_scale.exp() * noise);
    let logits = layer(&layer(&z, "decoder/hidden")?.mapv(softplus), "decoder/pixels")?;
    let missed: f64 = logits.iter().zip(&x).map(|(l, x)| softplus(*l) - x * l).sum();
    let divergence: f64 =
        loc.iter().zip(&log_scale).map(|(m, s)| 0.5 * (m * m + (2.0 * s).exp() - 1.0) - s).sum();
    Ok((missed + divergence) / test.nrows() as f64)
}

/// The loss of a fit.
pub(super) fn loss_of(fit: &Fit, test: &Array2<u8>, seed: u64) -> Result<f64, Failure> {
    loss(fit.posterior(), test, seed)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// A kernel and a bias for each channel that it makes.
struct Convolution<'g>(Var<'g>, Var<'g>);

/// Side of the kernels, which move by half of it.
const KERNEL: usize = 4;

impl<'g> Convolution<'g> {
    /// A kernel of this shape, with as many biases as channels it makes.
    fn new(ctx: &mut Ctx<'g>, name: &str, stream: u64, [a, b, made]: [usize; 3]) -> CoreResult<Self> {
        let size = KERNEL * KERNEL;
        let kernel = start(stream, &[a, b, KERNEL, KERNEL], (a * size, b * size));
        let kernel = ctx.param(&format!("{name}/kernel"), kernel, Constraint::Real)?;
        let bias =
            ctx.param(&format!("{name}/bias"), ArrayD::zeros(IxDyn(&[made, 1, 1])), Constraint::Real)?;
        Ok(Self(kernel, bias))
    }
}

/// Channels of images and of what three convolutions make of them, the images' side, a multiple of 8, and latent
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layers {
    pub(super) channels: [usize; 4],
    pub(super) side: usize,
    pub(super) latent: usize,
}

/// Those that have 640,423 weights, the paper's number.
pub(super) const CIFAR: Layers = Layers { channels: [3, 32, 64, 128], side: 32, latent: 50 };

impl Layers {
    /// Numbers of an image.
    pub(super) fn pixels(self) -> usize {
        self.channels[0] * self.side * self.side
    }

    /// Shape of what is left after three convolutions.
    fn inner(self) -> [usize; 3] {
        [self.channels[3], self.side / 8, self.side / 8]
    }

    fn dense(self) -> usize {
        self.inner().iter().product()
    }
}

/// What the encoder makes of an image: locations and logarithms of scales of its latent numbers.
fn encoded<'g>(
    network: Layers,
    layers: &[Convolution<'g>],
    both: &Dense<'g>,
    image: Var<'g>,
) -> (Var<'g>, Var<'g>) {
    let mut x = image.reshape([network.channels[0], network.side, network.side]);
    for Convolution(kernel, bias) in layers {
        x = (x.conv2d(*kernel, [2, 2], [1, 1]) + *bias).softplus();
    }
    let both = both.apply(x.reshape([network.dense()]));
    (both.slice(0, ..network.latent), both.slice(0, network.latent..))
}

/// Log-odds of an image's pixels.
fn decoded<'g>(network: Layers, first: &Dense<'g>, layers: &[Convolution<'g>], z: Var<'g>) -> Var<'g> {
    let mut x = first.apply(z).softplus().reshape(network.inner());
    for (layer, Convolution(kernel, bias)) in layers.iter().enumerate() {
        x = x.conv2d_transpose(*kernel, [2, 2], [1, 1], [0, 0]) + *bias;
        if layer + 1 < layers.len() {
            x = x.softplus();
        }
    }
    x.reshape([network.pixels()])
}

/// The loss of a fit of [`convolutions`]: the mean over images of what [`loss`] says of one.
pub(super) fn loss_of_convolutions(
    fit: &Fit,
    network: Layers,
    test: &Array2<u8>,
    seed: u64,
) -> Result<f64, Failure> {
    let graph = Graph::new();
    let mut values: Vec<(String, ArrayD<f64>)> = Vec::new();
    let mut weights = |name: &str| -> Result<Var<'_>, Failure> {
        let value = fit.posterior().mean(name)?;
        let input = graph.input(name, value.shape().to_vec())?;
        values.push((name.to_owned(), value));
        Ok(input)
    };
    let mut dense = |name: &str| -> Result<Dense<'_>, Failure> {
        Ok(Dense(weights(&format!("{name}/weights"))?, weights(&format!("{name}/bias"))?))
    };
    let (both, first) = (dense("encoder/dense")?, dense("decoder/dense")?);
    let mut three = |side: &str| -> Result<Vec<Convolution<'_>>, Failure> {
        let layer = |layer: usize| -> Result<Convolution<'_>, Failure> {
            let name = format!("{side}/{layer}");
            Ok(Convolution(weights(&format!("{name}/kernel"))?, weights(&format!("{name}/bias"))?))
        };
        (0..3).map(layer).collect()
    };
    let (encoder, decoder) = (three("encoder")?, three("decoder")?);
    let image = graph.input("image", [network.pixels()])?;
    let noise = graph.input("noise", [network.latent])?;
    let (loc, log_scale) = encoded(network, &encoder, &both, image);
    let logits = decoded(network, &first, &decoder, loc + log_scale.exp() * noise);
    let missed = (logits.softplus() - image * logits).sum();
    let divergence = (0.5 * (loc.square() + (2.0 * log_scale).exp() - 1.0) - log_scale).sum();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[missed + divergence])?);
    for (name, value) in &values {
        plan.set(name, &value.iter().copied().collect::<Vec<f64>>())?;
    }
    let noise = normals(seed, 90, test.nrows() * network.latent);
    let mut sum = 0.0;
    for (pixels, noise) in test.rows().into_iter().zip(noise.chunks(network.latent)) {
        plan.set("image", &pixels.iter().copied().map(f64::from).collect::<Vec<f64>>())?;
        plan.set("noise", noise)?;
        plan.run();
        sum += plan.output(0)[0];
    }
    Ok(sum / test.nrows() as f64)
}

/// Three convolutions and a dense layer on each side, for pixels that are on or off.
pub(super) fn convolutions<S: Subsampling>(
    network: Layers,
    batches: S,
) -> DpVi<Amortised<impl Model, impl Model>, AutoNormal, S> {
    let Layers { channels, latent, .. } = network;
    let decoder = move |ctx: &mut Ctx<'_>| {
        let first = Dense::new(ctx, "decoder/dense", 24, (latent, network.dense()))?;
        let mut layers = Vec::new();
        for layer in 0..3 {
            let (from, to) = (channels[3 - layer], channels[2 - layer]);
            layers.push(Convolution::new(
                ctx,
                &format!("decoder/{layer}"),
                25 + layer as u64,
                [from, to, to],
            )?);
        }
        ctx.each_record(|ctx, image| {
            let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(latent))?;
            let logits = decoded(network, &first, &layers, z);
            ctx.observe("pixels", Bernoulli::from_logits(logits), image.get("pixels")?)
        })
    };
    let encoder = move |ctx: &mut Ctx<'_>| {
        let mut layers = Vec::new();
        for layer in 0..3 {
            let (from, to) = (channels[layer], channels[layer + 1]);
            layers.push(Convolution::new(
                ctx,
                &format!("encoder/{layer}"),
                20 + layer as u64,
                [to, from, to],
            )?);
        }
        let both = Dense::new(ctx, "encoder/dense", 23, (network.dense(), 2 * latent))?;
        ctx.each_record(|ctx, image| {
            let (loc, log_scale) = encoded(network, &layers, &both, image.get("pixels")?);
            ctx.sample("z", Normal::new(loc, log_scale.exp()))?;
            Ok(())
        })
    };
    plain(Amortised::new(decoder, encoder), batches)
}
