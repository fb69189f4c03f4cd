//! Hierarchical logistic regression: do pupils of 12 schools pass an exam, given hours of study?
//!
//! Schools differ by an unknown spread. 20,000 made-up pupils are protected with ε = 1.
//!
//! `cargo run --release -p dp-examples --example hierarchical_logistic`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ppl_distributions::prelude::*;

fn model(ctx: &mut Ctx) -> Result<()> {
    let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
    let slope = ctx.sample("slope", Normal::new(0.0, 2.0))?;
    let school = ctx.plate("schools", 12, |ctx| ctx.sample("school", Normal::new(0.0, spread)))?;
    ctx.each_record(|ctx, record| {
        let logit = school.gather(record.index("school")?) + slope * record.get("hours")?;
        ctx.observe("pass", Bernoulli::from_logits(logit), record.get("pass")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pupils = Records::from_columns([("school", (0..20_000).map(|i| i % 12).collect::<Vec<i64>>())])?
        .with_column("hours", (0..20_000).map(|i| f64::from(i % 21) / 10.0 - 1.0).collect::<Vec<f64>>())?
        .with_column("pass", vec![0.0; 20_000])?;
    let truth = simulate(&handlers::seed(handlers::uncondition(model), 3), &pupils)?;
    let pupils = Sensitive::new(pupils.with_column("pass", truth["pass"].clone())?);
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&pupils)?;
    println!("{}\n\n{}", fit.privacy(), fit.posterior().beside("truth", &truth));
    assert!((fit.posterior().mean("slope")?[[]] - truth["slope"][[]]).abs() < 0.5);
    Ok(())
}
