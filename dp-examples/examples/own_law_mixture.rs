//! A mixture with a law of one's own: waves of wind and swell, each with heights after Rayleigh.
//!
//! What a law needs are its parameters, its support, its log density and how it is drawn. 10,000 made-up buoys are
//! protected with ε = 1.
//!
//! `cargo run --release -p dp-examples --example own_law_mixture`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ppl_core::prelude::*;
use ppl_distributions::prelude::*;

/// ln p(x) = ln x − 2 ln s − x²/(2 s²), x > 0
struct Rayleigh<'g>(Var<'g>);

impl<'g> Distribution<'g> for Rayleigh<'g> {
    fn name(&self) -> &'static str {
        "Rayleigh"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scale", value: self.0.into(), domain: Constraint::Positive }]
    }
    fn support(&self) -> Constraint {
        Constraint::Positive
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        x.log() - 2.0 * self.0.log() - 0.5 * (x / self.0).square()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.0 * (-2.0 * u.log()).sqrt())
    }
}

fn model(ctx: &mut Ctx) -> Result<()> {
    let share = ctx.sample("share of swell", Beta::new(2.0, 2.0))?;
    let wind = ctx.sample("wind", LogNormal::new(-1.0, 0.5))?;
    let swell = ctx.sample("swell", LogNormal::new(1.0, 0.5))?;
    let kinds = Categorical::from_probs(ctx.graph().stack(&[1.0 - share, share], 0));
    ctx.each_record(|ctx, record| {
        let law = Mixture::new(kinds).of(Rayleigh(wind)).of(Rayleigh(swell));
        ctx.observe("height", law, record.get("height")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let known = [("share of swell", 0.4), ("wind", 0.5), ("swell", 2.5)];
    let buoys = Records::from_columns([("height", vec![1.0; 10_000])])?;
    let drawn = handlers::seed(handlers::condition(handlers::uncondition(model), known), 1);
    let truth = simulate(&drawn, &buoys)?;
    let buoys = Sensitive::new(buoys.with_column("height", truth["height"].clone())?);
    let open = DpVi::new(model, AutoNormal::new()).without_privacy().fit(&buoys)?;
    let fit = DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-6)).fit(&buoys)?;
    println!("{}\n", fit.privacy());
    let open = open.posterior().means()?;
    println!("{}", fit.posterior().beside("truth", &truth).beside("not private", &open));
    assert!((fit.posterior().mean("swell")?[[]] - 2.5).abs() < 0.5);
    Ok(())
}
