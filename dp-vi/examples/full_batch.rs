//! Every record at every step: for small data nothing is gained by sampling. What the plan says of it, and
//! what a sample of the same steps would cost in noise.
//!
//! `cargo run --release -p dp-vi --example full_batch`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Poisson};
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::{Bernoulli, Normal};

fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
    let y: Array1<f64> = x.rows().into_iter().map(|x| f64::from(u8::from(x[0] > x[1]))).collect();
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?);
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };

    let full = || DpVi::new(model, AutoNormal::new()).budget(budget).subsample(FullBatch).steps(300);
    let plan = full().plan(records.schema())?;
    println!("{}\n", plan.explain());
    let sampled =
        DpVi::new(model, AutoNormal::new()).budget(budget).subsample(Poisson::rate(0.1)?).steps(300);
    let waste = |waste: Option<f64>| waste.unwrap_or(f64::NAN);
    let (one, other) = (waste(plan.waste), waste(sampled.plan(records.schema())?.waste));
    println!(
        "noise of all steps, over that of full batches: {one:.3}; with a tenth of the records at each step {other:.3}"
    );
    assert!(other > one);

    let fit = full().fit(&records)?;
    println!("\nw = {:.2}\n{}", fit.posterior().mean("w")?, fit.privacy());
    assert!(fit.privacy().epsilon.ok_or("a private fit has an epsilon")?.upper <= 1.0);
    Ok(())
}
