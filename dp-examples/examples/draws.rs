//! Draws of a private posterior, and predictions made with them, as tables that ArviZ and pandas read:
//! `draws.py` beside this file reads them.
//!
//! ```sh
//! cargo run --release -p dp-examples --example draws -- FOLDER
//! python draws.py FOLDER          # with arviz and pandas
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Sensitive};
use ndarray::{Array1, Array2, array};
use ppl_core::draws::export;
use ppl_core::{Column, Ctx, Distribution, Predictive, Records, Values};
use ppl_distributions::{Bernoulli, Normal};
use std::path::{Path, PathBuf};

/// Draws that are written.
pub(crate) const DRAWS: usize = 1000;

fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let intercept = ctx.sample("intercept", Normal::new(0.0, 4.0))?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
    ctx.each_record(|ctx, record| {
        let logit = intercept + record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

/// Fits the model privately to made-up people, and writes `draws.csv` and `predictions.csv` into a folder.
pub(crate) fn export(folder: &Path) -> Result<(Values, Values), Box<dyn std::error::Error>> {
    for name in ["draws.csv", "predictions.csv"] {
        dp_examples::output::check_writable(&folder.join(name))?;
    }
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
    let positive = |(i, x): (usize, ndarray::ArrayView1<'_, f64>)| x[0] - x[1] > (i % 5) as f64 / 4.0 - 0.5;
    let y: Array1<f64> =
        x.rows().into_iter().enumerate().map(|row| f64::from(u8::from(positive(row)))).collect();
    let people = Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?);
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let fit = DpVi::new(model, AutoNormal::new()).budget(budget).steps(300).fit(&people)?;

    // The posterior is normal, element by element; what is drawn from it was paid for when it was released.
    let (posterior, nobody) = (fit.posterior(), Records::from_columns([("none", vec![0.0])])?);
    let arrays = |site| Ok::<_, dp_vi::Error>((posterior.mean(site)?, posterior.sd(site)?));
    let (intercept, w) = (arrays("intercept")?, arrays("w")?);
    let guide = |ctx: &mut Ctx<'_>| -> ppl_core::Result<()> {
        for (site, (mean, sd)) in [("intercept", &intercept), ("w", &w)] {
            let (mean, sd) = (ctx.graph().array(mean), ctx.graph().array(sd));
            ctx.sample(site, Normal::new(mean, sd))?;
        }
        Ok(())
    };
    let draws = Predictive::prior(&guide, DRAWS).key(1).run(&nobody)?;

    // Predictions for people who were not in the data, and whose features are no secret.
    let others = Records::from_columns([
        ("x", Column::from(array![[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]])),
        ("y", Column::from(vec![0.0; 3])),
    ])?;
    let predictive = Predictive::posterior(&model, draws.clone())?.key(2).only(["y"]);
    let predictions = predictive.run(&others)?;

    export::save_csv(&draws, folder.join("draws.csv"))?;
    export::save_csv(&predictions, folder.join("predictions.csv"))?;
    Ok((draws, predictions))
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let (draws, _) = export(&folder)?;
    println!("{}", ppl_core::draws::summary::summarise(&draws, 0.9)?);
    println!("draws.csv and predictions.csv were written to {}", folder.display());
    Ok(())
}
