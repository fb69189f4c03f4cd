//! A Bayesian network of discrete values: smoking → illness → cough, fever and a shadow on the X-ray.
//!
//! Nobody wrote down who is ill, so the illness is summed out, exactly. 20,000 made-up patients are protected with
//! ε = 1.
//!
//! `cargo run --release -p dp-examples --example bayesian_network`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ppl_distributions::prelude::*;

const SIGNS: [&str; 3] = ["cough", "fever", "shadow"];

fn model(ctx: &mut Ctx) -> Result<()> {
    let smoker = ctx.sample("smoker", Beta::new(1.0, 1.0))?;
    // Of those who do not smoke and of those who do.
    let ill = ctx.sample("ill", Beta::new(2.0, 4.0).iid(2))?;
    let of_the_healthy = ctx.sample("of the healthy", Beta::new(1.0, 4.0).iid(3))?;
    let of_the_ill = ctx.sample("of the ill", Beta::new(4.0, 2.0).iid(3))?;
    let chances = ctx.graph().stack(&[of_the_healthy, of_the_ill], 0);
    ctx.each_record(|ctx, record| {
        let smokes = record.index("smokes")?;
        ctx.observe("smokes", Bernoulli::from_probs(smoker), smokes)?;
        ctx.enumerate("is ill", Bernoulli::from_probs(ill.gather(smokes)), |ctx, is_ill| {
            let chance = chances.gather(is_ill);
            SIGNS.iter().enumerate().try_for_each(|(k, sign)| {
                ctx.observe(sign, Bernoulli::from_probs(chance.element(0, k)), record.get(sign)?)
            })
        })
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let known = [
        ("smoker", ndarray::arr0(0.25).into_dyn()),
        ("ill", ndarray::arr1(&[0.1, 0.5]).into_dyn()),
        ("of the healthy", ndarray::arr1(&[0.2, 0.05, 0.1]).into_dyn()),
        ("of the ill", ndarray::arr1(&[0.8, 0.4, 0.7]).into_dyn()),
    ];
    // Who smokes is known before the rest is drawn, for illness is looked up by it.
    let mut patients =
        Records::from_columns([("smokes", (0..20_000).map(|i| u8::from(i % 4 == 0)).collect::<Vec<_>>())])?;
    for sign in SIGNS {
        patients = patients.with_column(sign, vec![0_u8; 20_000])?;
    }
    let drawn = handlers::seed(handlers::condition(handlers::uncondition(model), known), 1);
    let truth = simulate(&drawn, &patients)?;
    for column in SIGNS {
        patients = patients.with_column(column, truth[column].mapv(|value| value as u8))?;
    }
    let patients = Sensitive::new(patients);
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&patients)?;
    println!("{}\n", fit.privacy());
    println!("{}", fit.posterior().beside("truth", &truth));
    if fit.noise_aware().is_none() {
        println!(
            "\nThese intervals are the guide's: they include neither the noise nor what clipping does to the means,"
        );
        println!("so the truth may lie several standard deviations away.");
    }
    assert!((fit.posterior().mean("of the ill")?[0] - 0.8).abs() < 0.25);
    Ok(())
}
