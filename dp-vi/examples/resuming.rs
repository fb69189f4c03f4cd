//! A long run that is stopped and resumed: a checkpoint, a ledger in a file, progress.
//!
//! `cargo run --release -p dp-vi --example resuming`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, FileLedger, Relation};
use dp_sampler::Poisson;
use dp_vi::guides::AutoNormal;
use dp_vi::{Checkpoint, DpVi, Progress, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::Normal;
use std::ops::ControlFlow;

fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let mean = ctx.sample("mean", Normal::new(0.0, 10.0))?;
    ctx.each_record(|ctx, record| ctx.observe("height", Normal::new(mean, 0.5), record.get("height")?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("dp-vi-resuming-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (checkpoint, spent) = (folder.join("run.checkpoint"), folder.join("spent.ledger"));
    let heights: Vec<f64> = (0..4000).map(|i| 1.7 + 0.1 * (f64::from(i % 7) - 3.0)).collect();
    let records = Sensitive::new(Records::from_columns([("height", heights)])?);
    let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };

    // The same settings for both parts of the run: a checkpoint is resumed by no others.
    let run = |stop_at: u64| -> dp_vi::Result<_> {
        let report = move |progress: Progress| {
            let Progress { done, steps, steps_per_second, time_left, .. } = progress;
            if done % 200 == 0 {
                println!("{done} of {steps} steps, {steps_per_second:.0} a second, {time_left:.1?} left");
            }
            if done < stop_at { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let run =
            DpVi::new(model, AutoNormal::new()).budget(budget).subsample(Poisson::rate(0.1)?).steps(1000);
        Ok(run.checkpoint(&checkpoint, 100).on_progress(report))
    };

    // Today: stopped between two steps. (A process that is killed leaves the checkpoint of its last block of
    // 100 steps.)
    {
        let mut ledger = FileLedger::create(&spent, budget)?;
        let begun = run(430)?.fit_from(&records, &mut ledger)?;
        println!("stopped after {} steps; the ledger has debits for 500\n", begun.privacy().steps_done);
    }
    let stored = Checkpoint::read(&checkpoint)?;
    println!("{} steps done, {} paid for, of this run:\n{}", stored.done(), stored.paid(), stored.settings());

    // Tomorrow, in another process. The steps that were paid for are not paid for again.
    let mut ledger = FileLedger::open(&spent, budget)?;
    let fit = run(u64::MAX)?.resume_from(&records, &mut ledger)?;
    println!("\nmean {:.3}\n{}", fit.posterior().mean("mean")?[[]], fit.privacy());
    assert_eq!(fit.privacy().steps_done, 1000);
    assert!(ledger.ledger().spent()?.upper <= 1.0);
    drop(ledger);
    // Until it was complete the checkpoint was as secret as the records.
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
