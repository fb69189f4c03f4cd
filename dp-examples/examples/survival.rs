//! Survival with censoring: how long patients live with and without a treatment, where a study ends after 3 years.
//!
//! Weibull: ln p(t) of those who died, ln P(T > t) = −(t/scale)^shape of those who lived on. 10,000 made-up
//! patients are
//! protected with ε = 1.
//!
//! `cargo run --release -p dp-examples --example survival`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ppl_distributions::prelude::*;

/// What the made-up patients are made with: shape, level and effect.
const TRUTH: [f64; 3] = [1.5, 0.6, 0.4];

fn model(ctx: &mut Ctx) -> Result<()> {
    let shape = ctx.sample("shape", LogNormal::new(0.0, 0.5))?;
    let level = ctx.sample("level", Normal::new(0.0, 2.0))?;
    let effect = ctx.sample("effect", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| {
        let (years, died) = (record.get("years")?, record.get("died")?);
        let scale = (level + effect * record.get("treated")?).exp();
        let lived_on = -(years / scale).pow(shape);
        ctx.factor("years", died.select(Weibull::new(scale, shape).log_prob(years), lived_on))
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [shape, level, effect] = TRUTH;
    let (mut years, mut died, mut treated) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..10_000 {
        let of = f64::from(i % 2);
        // The quantile at a number that looks uniform.
        let uniform = (f64::from(i) * 0.618_033_988_749 + 0.1).fract();
        let life = (level + effect * of).exp() * (-(-uniform).ln_1p()).powf(1.0 / shape);
        years.push(life.clamp(1e-3, 3.0));
        died.push(f64::from(u8::from(life < 3.0)));
        treated.push(of);
    }
    println!("{:.0} % lived to the end of the study", 100.0 - died.iter().sum::<f64>() / 100.0);
    let patients = Records::from_columns([("years", years), ("died", died), ("treated", treated)])?;
    let patients = Sensitive::new(patients);
    let open = DpVi::new(model, AutoNormal::new()).without_privacy().fit(&patients)?;
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&patients)?;
    let named = ["shape", "level", "effect"].map(str::to_owned).into_iter();
    let truth: Values = named.zip(TRUTH.map(|value| ndarray::arr0(value).into_dyn())).collect();
    println!("{}\n", fit.privacy());
    let open = open.posterior().means()?;
    println!("{}", fit.posterior().beside("truth", &truth).beside("not private", &open));
    assert!((fit.posterior().mean("effect")?[[]] - 0.4).abs() < 0.3);
    Ok(())
}
