//! A guide written by hand, beside the one made from the model: a beta distribution for a share, as a person
//! who knows the answer's form would choose, and a regression coefficient that depends on it.
//!
//! `cargo run --release -p dp-vi --example hand_written`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use dp_vi::guides::{AutoNormal, HandWritten};
use dp_vi::{DpVi, Sensitive};
use ppl_core::{Constraint, Ctx, Records, Result};
use ppl_distributions::{Bernoulli, Beta, Normal};

/// A share, and what it comes with.
fn model(ctx: &mut Ctx) -> Result<()> {
    let share = ctx.sample("share", Beta::new(1.0, 1.0))?;
    let level = ctx.sample("level", Normal::new(0.0, 2.0))?;
    ctx.each_record(|ctx, record| {
        let member = record.get("member")?;
        ctx.observe("member", Bernoulli::from_probs(share), member)?;
        ctx.observe("income", Normal::new(level + member, 1.0), record.get("income")?)
    })
}

/// The same names, shapes and supports. What is optimised is a parameter.
fn guide(ctx: &mut Ctx) -> Result<()> {
    let mean = ctx.param("share mean", 0.5, Constraint::UnitInterval)?;
    let weight = ctx.param("share weight", 20.0, Constraint::Positive)?;
    let share = ctx.sample("share", Beta::new(mean * weight, (1.0 - mean) * weight))?;
    let loc = ctx.param("level loc", 0.0, Constraint::Real)?;
    let slope = ctx.param("level slope", 0.0, Constraint::Real)?;
    let scale = ctx.param("level scale", 0.2, Constraint::Positive)?;
    ctx.sample("level", Normal::new(loc + slope * (share - mean), scale)).map(|_| ())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let member: Vec<f64> = (0..4000).map(|i| f64::from(u8::from(i % 10 < 3))).collect();
    let income: Vec<f64> = (0..4000).map(|i| 0.5 + member[i] + (i % 41) as f64 / 20.0 - 1.0).collect();
    let records = Sensitive::new(Records::from_columns([("member", member), ("income", income)])?);
    let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };

    let by_hand = DpVi::new(model, HandWritten::new(guide)).budget(budget).fit(&records)?;
    let automatic = DpVi::new(model, AutoNormal::new()).budget(budget).fit(&records)?;
    for (name, fit) in [("by hand", &by_hand), ("automatic", &automatic)] {
        let (share, level) = (fit.posterior().mean("share")?[[]], fit.posterior().mean("level")?[[]]);
        let (low, high) = fit.posterior().interval("share", 0.9)?;
        println!("{name}: share {share:.3} in [{:.3}, {:.3}], level {level:.2}", low[[]], high[[]]);
        assert!((share - 0.3).abs() < 0.05 && (level - 0.5).abs() < 0.2, "{name}: {share} {level}");
    }
    println!("{}", by_hand.privacy());

    // Draws of both together, as tables and predictions take them.
    let draws = by_hand.posterior().draws(1000, &Seed::from_os()?)?;
    assert_eq!((draws["share"].len(), draws["level"].len()), (1000, 1000));
    Ok(())
}
