//! Abalone: Gaussian regression of the rings, by defaults.

use std::path::Path;

use dp_sampler::Seed;
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records, Result as CoreResult};
use ppl_distributions::{HalfNormal, Normal};

use super::{Failure, Outcome, Protocol, RunOutcome, abalone};
use crate::table::Table;

/// Rings in tens, from ten.
const RINGS: f64 = 10.0;

/// `w ~ N(0, 4² I)`, `σ ~ HalfNormal(1)`, `y ~ N(x·w, σ²)`.
fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Normal::new(record.get("x")?.dot(w), sigma), record.get("y")?)
    })
}

fn records(x: Array2<f64>, y: Array1<f64>) -> Result<Sensitive<Records>, Failure> {
    Ok(Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?))
}

/// The private σ over that of a fit without privacy, on splits of the file.
///
/// # Errors
///
/// What is wrong with the file, or a fit that fails.
pub fn measure(train: &Path, protocol: &Protocol) -> Result<Outcome, Failure> {
    let table = Table::read(train)?;
    let (x, _) = abalone::design(&table)?;
    let rings = table.cells("rings")?.map(|cell| cell.number()).collect::<crate::Result<Array1<f64>>>()?;
    let y = rings.mapv(|rings| rings / RINGS - 1.0);
    protocol.measure("sigma ratio", |seed| {
        let seed = Seed::for_tests(seed);
        let [(train_x, train_y), (test_x, test_y)] = abalone::parts(&x, &y, &seed)?;
        let train = records(train_x, train_y)?;
        let public = DpVi::new(model, AutoNormal::new()).without_privacy().steps(3_000).fit(&train)?;
        let fit = DpVi::new(model, AutoNormal::new())
            .budget(protocol.budget())
            .gradients(protocol.gradients)
            .seed(seed)
            .fit(&train)?;
        let sigma = |fit: &dp_vi::Fit| -> dp_vi::Result<f64> { Ok(fit.posterior().mean("sigma")?.sum()) };
        let error = |fit: &dp_vi::Fit| -> dp_vi::Result<f64> {
            let w: Array1<f64> = fit.posterior().mean("w")?.into_iter().collect();
            let squares = (&test_x.dot(&w) - &test_y).mapv(|residual| residual * residual);
            Ok(squares.mean().unwrap_or(f64::NAN).sqrt())
        };
        let mut outcome = RunOutcome::new(sigma(&fit)? / sigma(&public)?, fit.privacy())?;
        outcome.more.insert("held-back error", error(&fit)?);
        outcome.more.insert("not private", error(&public)?);
        Ok(outcome)
    })
}
