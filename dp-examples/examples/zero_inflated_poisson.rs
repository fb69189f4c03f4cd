//! Zero-inflated Poisson: visits to a doctor. Some people never go; others go more often the older they are.
//!
//! 10,000 made-up people are protected with ε = 1.
//!
//! `cargo run --release -p dp-examples --example zero_inflated_poisson`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ppl_distributions::prelude::*;

fn model(ctx: &mut Ctx) -> Result<()> {
    let never = ctx.sample("never", Beta::new(1.0, 1.0))?;
    let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
    let slope = ctx.sample("slope", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| {
        let rate = (level + slope * record.get("age")?).exp();
        ctx.observe("visits", ZeroInflated::from_probs(Poisson::new(rate), never), record.get("visits")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let age: Vec<f64> = (0..10_000).map(|i| f64::from(i % 61) / 30.0 - 1.0).collect();
    let people = Records::from_columns([("age", age), ("visits", vec![0.0; 10_000])])?;
    let known = [("never", 0.3), ("level", 0.8), ("slope", 0.5)];
    let drawn = handlers::seed(handlers::condition(handlers::uncondition(model), known), 2);
    let truth = simulate(&drawn, &people)?;
    let people = Sensitive::new(people.with_column("visits", truth["visits"].clone())?);
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&people)?;
    println!("{}\n\n{}", fit.privacy(), fit.posterior().beside("truth", &truth));
    assert!((fit.posterior().mean("slope")?[[]] - 0.5).abs() < 0.3);
    Ok(())
}
