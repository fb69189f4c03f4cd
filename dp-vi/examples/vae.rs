//! A variational autoencoder, trained privately: every image has hidden numbers of its own, drawn by an
//! encoder that sees the image. What is released is the decoder, and with it as many synthetic images as one
//! likes.
//!
//! `cargo run --release -p dp-vi --example vae`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_sampler::Poisson;
use dp_vi::guides::{Amortised, AutoNormal};
use dp_vi::optimiser::Schedule;
use dp_vi::{DpVi, DrawScheme, Sensitive};
use ndarray::{Array1, Array2, ArrayD, ArrayView1, Axis};
use ppl_core::handlers::{seed, uncondition};
use ppl_core::{Column, Constraint, Ctx, Distribution, Predictive, Records, Var};
use ppl_distributions::{Bernoulli, Normal};
use std::collections::BTreeMap;

const SIDE: usize = 6;
const PIXELS: usize = SIDE * SIDE;
const HIDDEN: usize = 16;
const LATENT: usize = 2;

/// Weights and biases of a layer, which start from small numbers that depend on nothing.
struct Layer<'g>(Var<'g>, Var<'g>);

impl<'g> Layer<'g> {
    fn new(ctx: &mut Ctx<'g>, name: &str, from: usize, to: usize) -> ppl_core::Result<Self> {
        let start = |(j, k)| (1.7 * (j * from + k) as f64 + name.len() as f64).sin() / (from as f64).sqrt();
        let weights = ctx.param(
            &format!("{name}/weights"),
            Array2::from_shape_fn((to, from), start),
            Constraint::Real,
        )?;
        Ok(Self(weights, ctx.param(&format!("{name}/bias"), Array1::zeros(to), Constraint::Real)?))
    }

    fn apply(&self, x: Var<'g>) -> Var<'g> {
        self.0.dot(x) + self.1
    }
}

/// Pixels given two hidden numbers.
fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let hidden = Layer::new(ctx, "decoder/hidden", LATENT, HIDDEN)?;
    let out = Layer::new(ctx, "decoder/out", HIDDEN, PIXELS)?;
    ctx.each_record(|ctx, record| {
        let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(LATENT))?;
        let logits = out.apply(hidden.apply(z).tanh());
        ctx.observe("image", Bernoulli::from_logits(logits), record.get("image")?)
    })
}

/// The hidden numbers given the pixels.
fn encoder(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let hidden = Layer::new(ctx, "encoder/hidden", PIXELS, HIDDEN)?;
    let loc = Layer::new(ctx, "encoder/loc", HIDDEN, LATENT)?;
    let scale = Layer::new(ctx, "encoder/scale", HIDDEN, LATENT)?;
    ctx.each_record(|ctx, record| {
        let h = hidden.apply(record.get("image")? - 0.5).tanh();
        ctx.sample("z", Normal::new(loc.apply(h), scale.apply(h).exp()))?;
        Ok(())
    })
}

/// Four kinds of pictures: one half is black, but for one pixel in twenty.
fn prototype(kind: usize, pixel: usize) -> bool {
    let (row, column) = (pixel / SIDE, pixel % SIDE);
    [row < SIDE / 2, row >= SIDE / 2, column < SIDE / 2, column >= SIDE / 2][kind]
}

fn images(number: usize) -> Array2<f64> {
    Array2::from_shape_fn((number, PIXELS), |(i, pixel)| {
        let flipped = ((i * PIXELS + pixel) as f64 * 0.754_877_666).fract() < 0.05;
        f64::from(u8::from(prototype(i % 4, pixel) != flipped))
    })
}

/// Pixels in which an image differs from the nearest kind.
fn distance(image: ArrayView1<'_, f64>) -> usize {
    let differing =
        |kind| image.iter().enumerate().filter(|&(pixel, &on)| prototype(kind, pixel) != (on > 0.5)).count();
    (0..4).map(differing).min().unwrap_or(PIXELS)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = Sensitive::new(Records::from_columns([("image", Column::from(images(4000)))])?);
    let budget = Budget { epsilon: 3.0, delta: 1e-5, relation: Relation::AddRemove };
    let fit = DpVi::new(Amortised::new(model, encoder), AutoNormal::new())
        .budget(budget)
        .subsample(Poisson::rate(0.05)?)
        .steps(600)
        .clip_norm(1.0)
        .draw_scheme(DrawScheme::Single)
        .schedule(Schedule::HoldThenCosine(0.02))
        .fit(&records)?;

    // The decoder is released: images made with it are nobody's.
    let posterior = fit.posterior();
    let decoder: Vec<&str> = posterior.sites().filter(|name| name.starts_with("decoder/")).collect();
    let one_draw = |name: &&str| Ok((name.to_string(), posterior.mean(name)?.insert_axis(Axis(0))));
    let decoder =
        decoder.iter().map(one_draw).collect::<Result<BTreeMap<String, ArrayD<f64>>, dp_vi::Error>>()?;
    let synthesiser = seed(uncondition(model), 1);
    let blank = Records::from_columns([("image", Column::from(Array2::<f64>::zeros((200, PIXELS))))])?;
    let synthetic = Predictive::posterior(&synthesiser, decoder)?.run(&blank)?;
    let synthetic =
        synthetic["image"].index_axis(Axis(0), 0).into_owned().into_dimensionality::<ndarray::Ix2>()?;

    for row in 0..SIDE {
        let line = |image: usize| {
            let on = |column: usize| if synthetic[[image, row * SIDE + column]] > 0.5 { "##" } else { " ." };
            (0..SIDE).map(on).collect::<String>()
        };
        println!("{}", (0..5).map(line).collect::<Vec<_>>().join("    "));
    }
    let mean = |images: &Array2<f64>| {
        images.rows().into_iter().map(distance).sum::<usize>() as f64 / images.nrows() as f64
    };
    let (true_distance, found) = (mean(&images(200)), mean(&synthetic));
    println!(
        "\npixels that differ from the nearest kind of picture: {true_distance:.1} in the data, {found:.1} in synthetic ones"
    );
    println!("\n{}", fit.privacy());
    // Fair coins would differ in about 14 pixels.
    assert!(found < 9.0, "the decoder has learnt nothing");
    Ok(())
}
