//! A distribution of one's own: Rayleigh's, which wave heights follow, as likelihood and as guide.
//!
//! What is needed are its parameters, where its values lie, its log density, and how it is made from standard
//! noise. Everything else (gradients, clipping, noise, draws, checks of parameters and observations) follows.
//!
//! `cargo run --release -p dp-vi --example own_distribution`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use dp_vi::guides::HandWritten;
use dp_vi::{DpVi, Sensitive};
use ppl_core::{
    Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Predictive, Records, Result, Shape, Value,
    Var,
};
use ppl_distributions::LogNormal;

/// ln p(x) = ln x − 2 ln s − x²/(2 s²), x > 0
struct Rayleigh<'g> {
    scale: Value<'g>,
}

impl<'g> Distribution<'g> for Rayleigh<'g> {
    fn name(&self) -> &'static str {
        "Rayleigh"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scale", value: self.scale, domain: Constraint::Positive }]
    }

    fn support(&self) -> Constraint {
        Constraint::Positive
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let scale = self.scale.on(x.graph());
        x.log() - 2.0 * scale.log() - 0.5 * (x / scale).square()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.scale.on(noise.graph()) * (-2.0 * u.log()).sqrt())
    }
}

/// As likelihood.
fn model(ctx: &mut Ctx) -> Result<()> {
    let scale = ctx.sample("scale", LogNormal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("height", Rayleigh { scale: scale.into() }, record.get("height")?)
    })
}

/// As guide, for the sake of the example: its draws move with the parameter, so it can be optimised.
fn guide(ctx: &mut Ctx) -> Result<()> {
    let scale = ctx.param("guide scale", 1.0, Constraint::Positive)?;
    ctx.sample("scale", Rayleigh { scale: scale.into() }).map(|_| ())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // Heights at the quantiles of a Rayleigh distribution of scale 2.
    let heights: Vec<f64> =
        (0..3000).map(|i| 2.0 * (-2.0 * ((f64::from(i) + 0.5) / 3000.0).ln()).sqrt()).collect();
    let open = Records::from_columns([("height", heights)])?;
    let records = Sensitive::new(open.clone());

    let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
    let fit =
        DpVi::new(model, dp_vi::guides::AutoNormal::new()).budget(budget).clip_norm(3.0).fit(&records)?;
    let scale = fit.posterior().mean("scale")?[[]];
    println!("scale {scale:.2}, in truth 2");
    assert!((scale - 2.0).abs() < 0.3);

    // Predictions are drawn from it too: the mean height is s √(π/2).
    let draws = fit.posterior().draws(200, &Seed::from_os()?)?;
    let predicted = Predictive::posterior(&model, draws)?.run(&open)?;
    let mean = predicted["height"].mean().unwrap_or(f64::NAN);
    println!("mean height predicted: {mean:.2}, in truth {:.2}", 2.0 * (0.5 * std::f64::consts::PI).sqrt());
    assert!((mean - 2.507).abs() < 0.4);

    // The guide alone has as many parameters as its author gave it. A Rayleigh distribution is far too wide
    // for this posterior, which the correction for the noise does not take from the guide.
    let wide = DpVi::new(model, HandWritten::new(guide)).budget(budget).clip_norm(3.0).fit(&records)?;
    assert!(wide.uncorrected().sd("scale")?[[]] > fit.uncorrected().sd("scale")?[[]]);
    Ok(())
}
