//! The horseshoe: 20 features, of which 4 matter. Most weights are shrunk to nothing, a few are left as they are.
//!
//! 10,000 made-up people are protected with ε = 2.
//!
//! `cargo run --release -p dp-examples --example horseshoe`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ndarray::{Array1, Array2, arr1};
use ppl_distributions::prelude::*;

fn model(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let tau = ctx.sample("tau", HalfCauchy::new(0.2))?;
    let lambda = ctx.sample("lambda", HalfCauchy::new(1.0).iid(d))?;
    let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(d))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(2.0))?;
    let w = ctx.deterministic("w", tau * lambda * z)?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Normal::new(record.get("x")?.dot(w), sigma), record.get("y")?)
    })
}

/// Draws of the weights: mean and standard deviation.
fn weights(fit: &Fit) -> Result<(Array1<f64>, Array1<f64>), Box<dyn std::error::Error>> {
    let predictive = fit.posterior().predictive(&model, 2000, &Seed::from_os()?)?.only(["w"]);
    let blank =
        Records::from_columns([("x", Column::from(Array2::<f64>::zeros((1, 20)))), ("y", vec![0.0].into())])?;
    let draws = predictive.run(&blank)?["w"].clone().into_dimensionality::<ndarray::Ix2>()?;
    Ok((draws.mean_axis(ndarray::Axis(0)).ok_or("no draws")?, draws.std_axis(ndarray::Axis(0), 1.0)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut truth = vec![0.0; 20];
    (truth[0], truth[3], truth[7], truth[12]) = (1.0, -0.7, 0.4, -1.2);
    let x =
        Array2::from_shape_fn((10_000, 20), |(i, j)| (((i + 1) * (j + 1)) as f64 * 0.618_034).sin() * 1.4);
    let noise = |i: usize| 0.8 * ((i as f64 * 0.754_877_666).fract() * 12.0 - 6.0) / 3.46;
    let y: Array1<f64> = x.dot(&arr1(&truth)) + Array1::from_shape_fn(10_000, noise);
    let people = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?;
    let people = Sensitive::new(people);
    let open = DpVi::new(model, AutoNormal::new()).without_privacy().steps(1000).fit(&people)?;
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(2.0, 1e-6)).fit(&people)?;
    println!("{}\n\nweight   truth   without privacy         private", fit.privacy());
    let (open, private) = (weights(&open)?, weights(&fit)?);
    for (j, truth) in truth.iter().enumerate() {
        println!(
            "{j:6} {truth:7.2} {:9.3} ± {:.3} {:9.3} ± {:.3}",
            open.0[j], open.1[j], private.0[j], private.1[j]
        );
    }
    assert!((private.0[0] - 1.0).abs() < 0.3 && private.0[1].abs() < 0.2);
    Ok(())
}
