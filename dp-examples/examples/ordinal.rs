//! Ordinal regression: five answers from "very bad" to "very good", given income and age.
//!
//! 10,000 made-up answers are protected with ε = 1.
//!
//! `cargo run --release -p dp-examples --example ordinal`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ndarray::{Array2, arr0, arr1};
use ppl_distributions::prelude::*;

fn model(ctx: &mut Ctx) -> Result<()> {
    let slope = ctx.sample("slope", Normal::new(0.0, 1.0).iid(2))?;
    let first = ctx.sample("first cut", Normal::new(0.0, 3.0))?;
    let gaps = ctx.sample("gaps", HalfNormal::new(2.0).iid(3))?;
    let cuts = ctx.graph().concat(&[first.reshape(1), first + gaps.cumsum(0)], 0);
    ctx.each_record(|ctx, record| {
        ctx.observe("answer", OrderedLogistic::new(record.get("x")?.dot(slope), cuts), record.get("answer")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let known = [
        ("slope", arr1(&[0.9, -0.5]).into_dyn()),
        ("first cut", arr0(-2.0).into_dyn()),
        ("gaps", arr1(&[1.3, 1.2, 1.3]).into_dyn()),
    ];
    let x = Array2::from_shape_fn((10_000, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
    let people = Records::from_columns([("x", Column::from(x)), ("answer", vec![0_u8; 10_000].into())])?;
    let drawn = handlers::seed(handlers::condition(handlers::uncondition(model), known), 1);
    let truth = simulate(&drawn, &people)?;
    let answers = truth["answer"].mapv(|answer| answer as u8);
    let people = Sensitive::new(people.with_column("answer", answers)?);
    let open = DpVi::new(model, AutoNormal::new()).without_privacy().fit(&people)?;
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&people)?;
    println!("{}\n", fit.privacy());
    let open = open.posterior().means()?;
    println!("{}", fit.posterior().beside("truth", &truth).beside("not private", &open));
    assert!((fit.posterior().mean("slope")?[0] - 0.9).abs() < 0.3);
    Ok(())
}
