//! Is a survey of 400 ponds enough, at ε = 1 or ε = 10? Intervals are rehearsed on made-up ponds before any is looked at.
//!
//! Each pond is visited five times, and a newt that lives there is seen at some of the visits. Two numbers are wanted: how
//! many ponds have newts, and how often a visit finds one. Ponds without a finding have none, or were unlucky five times.
//!
//! `cargo run --release -p dp-examples --example rehearsal`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use dp_vi::rehearse;
use ndarray::Array1;
use ppl_distributions::prelude::*;

/// Visits to a pond.
const VISITS: f64 = 5.0;

/// Rehearsals of each budget.
const RUNS: usize = 8;

fn model(ctx: &mut Ctx) -> Result<()> {
    let inhabited = ctx.sample("inhabited", Beta::new(2.0, 2.0))?;
    let found = ctx.sample("found", Beta::new(2.0, 2.0))?;
    let shares = ctx.graph().stack(&[inhabited, 1.0 - inhabited], 0);
    ctx.each_record(|ctx, pond| {
        let (newts, none) = (Binomial::from_probs(VISITS, found), Binomial::from_probs(VISITS, 0.0));
        let findings = Mixture::new(Categorical::from_probs(shares)).of(newts).of(none);
        ctx.observe("findings", findings, pond.get("findings")?)
    })
}

fn fit(ponds: &Sensitive<Records>, epsilon: f64) -> dp_vi::Result<Fit> {
    DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(epsilon, 1e-5)).fit(ponds)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Nothing but their number is public. What stands in the column does not matter: it is drawn anew.
    let ponds = Records::from_columns([("findings", vec![0_u8; 400])])?;
    let truths = Predictive::prior(&model, RUNS).key(1).only(["inhabited", "found"]).run(&ponds)?;
    for epsilon in [1.0, 10.0] {
        let rehearsal = rehearse(&model, &truths, &ponds, 2, |ponds| fit(ponds, epsilon))?;
        println!("epsilon = {epsilon}. {rehearsal}\n");
        assert!(rehearsal.held() > 0.4);
    }
    // The survey itself: 60 of 100 ponds are inhabited, and there every second visit finds a newt.
    let findings =
        Array1::from_shape_fn(400, |pond| if pond % 5 < 3 { [1, 2, 2, 3, 3, 4][pond % 6] } else { 0_u8 });
    let survey = Sensitive::new(ponds.with_column("findings", findings)?);
    let found = fit(&survey, 10.0)?;
    println!("{}\n\n{}", found.privacy(), found.posterior());
    // And whether its intervals can be trusted where it says that the truth is.
    let truths = found.posterior().draws(RUNS, &Seed::for_tests(3))?;
    let inputs = Records::from_columns([("findings", vec![0_u8; 400])])?;
    println!("\n{}", rehearse(&model, &truths, &inputs, 4, |ponds| fit(ponds, 10.0))?);
    Ok(())
}
