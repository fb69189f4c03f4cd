//! Preprocessing and two fits that are paid for from one ledger, and a third one that it refuses.
//!
//! `cargo run --release -p dp-vi --example shared_ledger`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Ledger, Relation, rounded_up};
use dp_sampler::Seed;
use dp_vi::guides::AutoNormal;
use dp_vi::summaries::{Range, Summaries};
use dp_vi::{DpVi, Fit, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::Normal;

/// A normal model of one column, which has been made about standard.
fn model(column: &'static str) -> impl Fn(&mut Ctx) -> ppl_core::Result<()> {
    move |ctx| {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("value", Normal::new(mean, 1.0), record.get(column)?))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ages: Vec<f64> = (0..5000).map(|i| 20.0 + f64::from(i % 60)).collect();
    let hours: Vec<f64> = (0..5000).map(|i| 30.0 + f64::from(i % 20)).collect();
    let records = Sensitive::new(Records::from_columns([("age", ages.clone()), ("hours", hours.clone())])?);

    // One budget for everything that is ever done with these records.
    let delta = 1e-6;
    let mut ledger = Ledger::new(Budget { epsilon: 1.7, delta, relation: Relation::AddRemove })?;

    // How many people there are, and where the middle half of each column lies: a release each. Ranges are
    // public knowledge.
    let mut summaries = Summaries::new(&records, Seed::from_os()?)?;
    let people = summaries.count(40.0, &mut ledger)?;
    println!("about {people:.0} people");
    let mut standard = Vec::new();
    for (name, values) in [("age", ages), ("hours", hours)] {
        let range = Range::new(0.0, 128.0, 8)?;
        let mut quartile = |p| summaries.quantile(name, p, range, 40.0, &mut ledger);
        let (low, high) = (quartile(0.25)?.value, quartile(0.75)?.value);
        println!("{name}: half of them between {low} and {high}");
        // Quartiles of a standard normal variable are 1.35 apart.
        let (middle, scale) = (0.5 * (low + high), (high - low).max(range.width()) / 1.35);
        standard.push((name, values.iter().map(|x| (x - middle) / scale).collect::<Vec<f64>>()));
    }
    println!("spent on that: epsilon {}", rounded_up(ledger.spent()?.upper));
    let records = Sensitive::new(Records::from_columns(standard)?);

    // Two fits. Each has a budget of its own, which shapes its noise; together they cost less than the sum.
    let mut fit = |column| -> dp_vi::Result<Fit> {
        DpVi::new(model(column), AutoNormal::new())
            .budget(Budget { epsilon: 1.0, delta, relation: Relation::AddRemove })
            .steps(200)
            .fit_from(&records, &mut ledger)
    };
    let (age, hours) = (fit("age")?, fit("hours")?);
    for (name, fit) in [("age", &age), ("hours", &hours)] {
        let mean = fit.posterior().mean("mean")?[[]];
        println!("{name}: mean {mean:.3} in standard units");
        assert!(mean.abs() < 0.5);
    }
    let refused = fit("age").err().map(|error| error.to_string()).unwrap_or_default();
    println!("a third fit: {refused}");
    assert!(refused.contains("budget exceeded"));
    let spent = ledger.spent()?;
    println!("spent in all: epsilon {} of 1.7\n\n{}", rounded_up(spent.upper), hours.privacy());
    assert!(spent.upper <= 1.7);
    Ok(())
}
