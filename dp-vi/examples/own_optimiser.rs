//! An optimiser of one's own: the sign of a running mean, in a chain with a schedule. Here without privacy
//! and with it, beside Adam.
//!
//! `cargo run --release -p dp-vi --example own_optimiser`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::{
    ParameterLayout, SavedState, ScaleBySchedule, Schedule, StepIndex, Transformation, Update,
};
use dp_vi::{DpVi, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::Normal;

/// The sign of each element of a running mean of gradients.
struct SignOfMean {
    decay: f64,
    mean: Vec<f64>,
}

impl Transformation for SignOfMean {
    fn init(&mut self, layout: &ParameterLayout) -> dp_vi::Result<()> {
        self.mean = vec![0.0; layout.elements()];
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_>, _: &[f64], _: StepIndex) {
        for (u, mean) in update.values().iter_mut().zip(&mut self.mean) {
            *mean = self.decay * *mean + (1.0 - self.decay) * *u;
            *u = mean.signum();
        }
    }

    // What is remembered has to go into checkpoints and come back from them.
    fn save(&self, state: &mut Vec<f64>) {
        state.extend(&self.mean);
    }

    fn restore(&mut self, state: &mut SavedState<'_>) -> dp_vi::Result<()> {
        state.copy_to(&mut self.mean)
    }

    // All settings, so that a run is not resumed with others.
    fn describe(&self) -> String {
        format!("sign of a mean with decay {}", self.decay)
    }
}

fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let mean = ctx.sample("mean", Normal::new(0.0, 10.0))?;
    ctx.each_record(|ctx, record| ctx.observe("height", Normal::new(mean, 0.5), record.get("height")?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heights: Vec<f64> = (0..4000).map(|i| 1.7 + 0.1 * (f64::from(i % 7) - 3.0)).collect();
    let records = Sensitive::new(Records::from_columns([("height", heights)])?);
    let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
    let schedule = Schedule::HoldThenCosine(0.02);

    let own = || -> dp_vi::Result<_> {
        Ok(SignOfMean { decay: 0.9, mean: Vec::new() }.then(ScaleBySchedule::new(schedule)?))
    };
    let plain =
        DpVi::new(model, AutoNormal::new()).without_privacy().steps(400).optimiser(own()?).fit(&records)?;
    let private =
        DpVi::new(model, AutoNormal::new()).budget(budget).steps(400).optimiser(own()?).fit(&records)?;
    let adam =
        DpVi::new(model, AutoNormal::new()).budget(budget).steps(400).schedule(schedule).fit(&records)?;
    for (name, fit) in [("without privacy", &plain), ("private", &private), ("private, Adam", &adam)] {
        let mean = fit.posterior().mean("mean")?[[]];
        println!("{name:<16} mean {mean:.3}");
        assert!((mean - 1.7).abs() < 0.2, "{name}: {mean}");
    }
    Ok(())
}
