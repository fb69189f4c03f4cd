//! What variational inference loses: its posterior beside that of the No-U-Turn sampler, on made-up records.
//! The sampler is for public data only; with a budget, the fit's intervals would hold the noise as well.
//!
//! `cargo run --release -p dp-vi --example nuts --features nuts`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::{AutoMultivariateNormal, AutoNormal, Guide};
use dp_vi::{DpVi, Posterior, Sensitive};
use ndarray::{Array1, Array2, ArrayD};
use ppl_core::draws::nuts::Nuts;
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::{HalfNormal, Normal};

/// A regression whose two features say nearly the same, so that their weights are known together only.
fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
    let noise = ctx.sample("noise", HalfNormal::new(1.0))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Normal::new(record.get("x")?.dot(w), noise), record.get("y")?)
    })
}

/// Features of correlation 0.9 and what follows from them, by a fixed rule that looks random.
fn made_up(count: usize) -> ppl_core::Result<Records> {
    let number = |k: usize| 2.0 * ((k as f64 * 78.233 + 1.7).sin() * 43_758.545_3).fract().abs() - 1.0;
    let x = Array2::from_shape_fn((count, 2), |(i, j)| number(3 * i) + 0.33 * number(3 * i + j + 1));
    let y: Array1<f64> =
        x.rows().into_iter().enumerate().map(|(i, x)| x[0] - 0.5 * x[1] + number(900_000 + i)).collect();
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])
}

fn fit(guide: impl Guide + 'static, records: &Records) -> dp_vi::Result<Posterior> {
    let vi = DpVi::new(model, guide).without_privacy().subsample(FullBatch).steps(2000);
    let fit = vi.seed(Seed::for_tests(1)).fit(&Sensitive::new(records.clone()))?;
    Ok(fit.posterior().clone())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = made_up(200)?;
    let chains = Nuts::new(&model).tune(500).draws(1000).key(1).run(&records)?;
    println!("{chains}\n");
    let mean_field = fit(AutoNormal::new(), &records)?;
    let together = fit(AutoMultivariateNormal::new(), &records)?;

    println!("{:<10}{:>18}{:>20}{:>22}", "", "sampler", "mean field", "all correlations");
    println!("{:<10}{:>10}{:>8}{:>12}{:>8}{:>14}{:>8}", "", "mean", "sd", "mean", "sd", "mean", "sd");
    for site in ["w", "noise"] {
        let (exact_mean, exact_sd) = (chains.mean(site)?, chains.sd(site)?);
        let (narrow_mean, narrow_sd) = (mean_field.mean(site)?, mean_field.sd(site)?);
        let (full_mean, full_sd) = (together.mean(site)?, together.sd(site)?);
        for (place, mean) in exact_mean.indexed_iter() {
            let at = |of: &ArrayD<f64>| of[&place];
            let [a, b, c] = [&exact_sd, &narrow_sd, &full_sd].map(at);
            let [narrow, full] = [&narrow_mean, &full_mean].map(at);
            println!("{site:<10}{mean:>10.3}{a:>8.3}{narrow:>12.3}{b:>8.3}{full:>14.3}{c:>8.3}");
        }
    }
    // Independent normals are as narrow as the posterior is with the other weight known; a full covariance is
    // right.
    let (exact, narrow, full) = (chains.sd("w")?[0], mean_field.sd("w")?[0], together.sd("w")?[0]);
    assert!(chains.r_hat("w")?.iter().all(|r_hat| *r_hat < 1.02));
    assert!(narrow < 0.7 * exact && (full / exact - 1.0).abs() < 0.15);
    Ok(())
}
