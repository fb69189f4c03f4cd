//! Dawid and Skene's model: four annotators sort 8,000 pictures into three classes. Who errs how, if nobody knows the
//! true classes?
//!
//! A record is a picture with its four labels; its true class is summed out. Pictures are protected with ε = 2, and
//! the annotators' matrices are what is released.
//!
//! `cargo run --release -p dp-examples --example annotators`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ndarray::{Array2, Array3};
use ppl_distributions::prelude::*;

const ANNOTATORS: usize = 4;
const CLASSES: usize = 3;

fn model(ctx: &mut Ctx) -> Result<()> {
    let share = ctx.sample("share", Dirichlet::symmetric(2.0, CLASSES))?;
    // A priori an annotator is right more often than wrong: 4 of 6 times.
    let prior =
        ctx.constant(Array2::from_shape_fn((CLASSES, CLASSES), |(j, k)| if j == k { 4.0 } else { 1.0 }));
    let prior = prior.broadcast_to([ANNOTATORS, CLASSES, CLASSES]);
    let says = ctx.sample("says", Dirichlet::new(prior))?;
    ctx.each_record(|ctx, record| {
        let labels = record.index("labels")?;
        ctx.enumerate("class", Categorical::from_probs(share), |ctx, class| {
            let said = Categorical::from_probs(says.permute([1, 0, 2]).gather(class));
            ctx.observe("labels", said, labels)
        })
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // They are right in 90, 80, 70 and 60 of a hundred cases; the last takes every other error for class 0.
    let right = [0.9, 0.8, 0.7, 0.6];
    let says = Array3::from_shape_fn((ANNOTATORS, CLASSES, CLASSES), |(a, j, k)| match (j == k, a, k, j) {
        (true, ..) => right[a],
        (false, 3, 0, _) => 0.3,
        (false, 3, _, 1 | 2) => 0.1,
        _ => (1.0 - right[a]) / 2.0,
    });
    let pictures = Records::from_columns([("labels", Array2::<u8>::zeros((8_000, ANNOTATORS)))])?;
    let known = [("says", says.into_dyn()), ("share", ndarray::arr1(&[0.5, 0.3, 0.2]).into_dyn())];
    let drawn = handlers::seed(handlers::condition(handlers::uncondition(model), known), 1);
    let truth = simulate(&drawn, &pictures)?;
    let labels = truth["labels"].mapv(|label| label as u8);
    let pictures = Sensitive::new(pictures.with_column("labels", labels)?);
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(2.0, 1e-6)).fit(&pictures)?;
    println!("{}\n", fit.privacy());
    println!("says[annotator, true class, label]\n{}", fit.posterior().beside("truth", &truth));
    if fit.noise_aware().is_none() {
        println!(
            "\nThese intervals are the guide's: they include neither the noise nor what clipping does to the means,"
        );
        println!("so the truth may lie several standard deviations away.");
    }
    let says = fit.posterior().mean("says")?;
    assert!((0..CLASSES).all(|class| says[[0, class, class]] > 0.6));
    Ok(())
}
