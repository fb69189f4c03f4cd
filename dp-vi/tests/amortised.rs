//! Latent values of single records: a known maximum, repeatable runs, and guides that must be refused.

use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use dp_vi::guides::{Amortised, AutoNormal};
use dp_vi::{DpVi, Gradients, PrivacyNoise, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Ctx, Distribution, Model, Records, Result};
use ppl_distributions::{Bernoulli, LogNormal, Normal};

/// Two features of each record, made by one hidden number: `x = w z + 0.5 ε`.
fn model(ctx: &mut Ctx<'_>) -> Result<()> {
    let w = ctx.param("w", Array1::from(vec![1.0, 0.0]), Constraint::Real)?;
    ctx.each_record(|ctx, record| {
        let z = ctx.sample("z", Normal::new(0.0, 1.0))?;
        ctx.observe("x", Normal::new(w * z, 0.5), record.get("x")?)
    })
}

fn guide(ctx: &mut Ctx<'_>) -> Result<()> {
    let slope = ctx.param("slope", Array1::from(vec![0.5, 0.0]), Constraint::Real)?;
    let scale = ctx.param("scale", 1.0, Constraint::Positive)?;
    ctx.each_record(|ctx, record| {
        ctx.sample("z", Normal::new(slope.dot(record.get("x")?), scale)).map(|_| ())
    })
}

/// Records, and the second moments of their features.
fn records() -> (Sensitive<Records>, [f64; 3]) {
    let x = Array2::from_shape_fn((400, 2), |(i, j)| {
        let (a, b) = ((i as f64 * 0.618_034).fract() - 0.5, (i as f64 * 0.414_214).fract() - 0.5);
        if j == 0 { 4.0 * a + b } else { 3.0 * a - 1.5 * b }
    });
    let moment = |j: usize, k: usize| x.column(j).dot(&x.column(k)) / 400.0;
    let moments = [moment(0, 0), moment(0, 1), moment(1, 1)];
    (Sensitive::new(Records::from_columns([("x", x)]).unwrap()), moments)
}

/// With a linear encoder the bound is tight, so its maximum is that of the likelihood, which is known
/// (Tipping, Bishop 1999): with (λ, u) the largest eigenvalue of the second moments and its vector,
/// `w = u √(λ − s²)`, and the encoder `wᵀx/(‖w‖² + s²)` with variance `s²/(‖w‖² + s²)`.
#[test]
fn a_linear_encoder_finds_the_principal_component() {
    let (records, [a, b, c]) = records();
    let fit = DpVi::new(Amortised::new(model, guide), AutoNormal::new())
        .without_privacy()
        .steps(3000)
        .seed(Seed::for_tests(3))
        .fit(&records)
        .unwrap();
    let lambda = 0.5 * (a + c) + (0.25 * (a - c).powi(2) + b * b).sqrt();
    let length = (b * b + (lambda - a).powi(2)).sqrt();
    let norm = (lambda - 0.25).sqrt();
    let w = [b / length * norm, (lambda - a) / length * norm];
    let found = |name: &str| fit.posterior().mean(name).unwrap();
    // The maximum has a mirror image; what is left is the noise of the draws in averages over 1,500
    // steps.
    let side = found("w")[0].signum() * w[0].signum();
    for k in 0..2 {
        let (w, slope) = (side * w[k], side * w[k] / lambda);
        assert!((found("w")[k] - w).abs() < 0.02 * norm, "{} {w}", found("w")[k]);
        assert!((found("slope")[k] - slope).abs() < 0.02 / norm, "{} {slope}", found("slope")[k]);
    }
    let scale = (0.25 / lambda).sqrt();
    assert!((found("scale")[[]] - scale).abs() < 0.02 * scale, "{} {scale}", found("scale")[[]]);
}

/// Where records say nothing of z, the bound is minus the divergence from the prior. In closed form its gradient has no
/// noise, so that steps arrive at the prior exactly; at draws it has, and they do not. With the likelihood of the test
/// above both have the same maximum.
#[test]
fn a_divergence_in_closed_form_has_no_noise_and_the_same_maximum() {
    let prior = |ctx: &mut Ctx<'_>| {
        let unused = ctx.param("unused", 0.0, Constraint::Real)?;
        ctx.each_record(|ctx, record| {
            ctx.sample("z", Normal::new(0.3, 0.8).iid([2]))?;
            ctx.observe("x", Normal::new(unused, 1.0).iid(2), record.get("x")?)
        })
    };
    let normal = |ctx: &mut Ctx<'_>| {
        let loc = ctx.param("loc", Array1::from(vec![1.0, -1.0]), Constraint::Real)?;
        let scale = ctx.param("scale", 2.0, Constraint::Positive)?;
        ctx.each_record(|ctx, _| ctx.sample("z", Normal::new(loc, scale)).map(|_| ()))
    };
    let away = |amortised| {
        let (records, _) = records();
        let vi = DpVi::new(amortised, AutoNormal::new()).without_privacy().steps(1500).average_tail(0.0);
        let fit = vi.seed(Seed::for_tests(3)).fit(&records).unwrap();
        let loc = fit.posterior().mean("loc").unwrap();
        let scale = fit.posterior().mean("scale").unwrap()[[]];
        (loc[0] - 0.3).abs().max((loc[1] - 0.3).abs()).max((scale - 0.8).abs())
    };
    assert!(away(Amortised::new(prior, normal).closed_form()) < 1e-6);
    assert!(away(Amortised::new(prior, normal)) > 1e-5);
    // A tight bound: the same principal component as at draws.
    let (records, [a, b, c]) = records();
    let vi = DpVi::new(Amortised::new(model, guide).closed_form(), AutoNormal::new()).without_privacy();
    let fit = vi.steps(3000).seed(Seed::for_tests(3)).fit(&records).unwrap();
    let lambda = 0.5 * (a + c) + (0.25 * (a - c).powi(2) + b * b).sqrt();
    let found = |name: &str| fit.posterior().mean(name).unwrap();
    let norm = found("w").iter().map(|w| w * w).sum::<f64>().sqrt();
    assert!((norm / (lambda - 0.25).sqrt() - 1.0).abs() < 0.02, "{norm}");
    assert!((found("scale")[[]] / (0.25 / lambda).sqrt() - 1.0).abs() < 0.02);
}

#[test]
fn a_private_run_repeats_with_its_seed_and_differs_without() {
    let (records, _) = records();
    let budget = Budget { epsilon: 2.0, delta: 1e-4, relation: Relation::AddRemove };
    for (noise, gradients) in [
        (PrivacyNoise::Continuous, Gradients::Aligned),
        (PrivacyNoise::Exact, Gradients::Aligned),
        (PrivacyNoise::Continuous, Gradients::Vanilla),
    ] {
        let fit = |seed| {
            let vi = DpVi::new(Amortised::new(model, guide), AutoNormal::new()).budget(budget).steps(50);
            let vi = vi.noise(noise).gradients(gradients).seed(Seed::for_tests(seed));
            let fit = vi.fit(&records).unwrap();
            assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 2.0);
            fit.posterior().mean("w").unwrap()
        };
        assert_eq!(fit(1), fit(1));
        assert_ne!(fit(1), fit(2));
    }
}

fn told(model: impl Model, guide: impl Model) -> String {
    let records = Records::from_columns([
        ("x", Column::from(Array2::<f64>::zeros((3, 2)))),
        ("y", Column::from(vec![0.0; 3])),
    ]);
    let vi = DpVi::new(Amortised::new(model, guide), AutoNormal::new()).without_privacy();
    vi.fit(&Sensitive::new(records.unwrap())).unwrap_err().to_string()
}

#[test]
fn guides_that_do_not_go_with_the_model_are_told_so() {
    let nothing = |_: &mut Ctx<'_>| Ok(());
    let message = told(model, nothing);
    assert!(
        message.contains("no latent value 'z' of shape []") && message.contains("each_record"),
        "{message}"
    );

    let two = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, _| ctx.sample("z", Normal::new(0.0, 1.0).iid(2)).map(|_| ()))
    };
    let message = told(model, two);
    assert!(message.contains("'z' is of shape []") && message.contains("of shape [2]"), "{message}");

    let positive =
        |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, _| ctx.sample("z", LogNormal::new(0.0, 1.0)).map(|_| ()));
    let message = told(model, positive);
    assert!(message.contains("must be finite") && message.contains("positive"), "{message}");

    let other = |ctx: &mut Ctx<'_>| {
        guide(ctx)?;
        ctx.each_record(|ctx, _| ctx.sample("t", Normal::new(0.0, 1.0)).map(|_| ()))
    };
    let message = told(model, other);
    assert!(message.contains("'t'") && message.contains("no latent value inside each_record"), "{message}");

    let shared = |ctx: &mut Ctx<'_>| ctx.sample("s", Normal::new(0.0, 1.0)).map(|_| ());
    let message = told(model, shared);
    assert!(message.contains("'s'") && message.contains("shared by all records"), "{message}");

    let observes = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(0.0, 1.0), record.get("y")?))
    };
    let message = told(model, observes);
    assert!(message.contains("move this statement to the model"), "{message}");

    let discrete = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, _| ctx.sample("z", Bernoulli::from_logits(0.0)).map(|_| ()))
    };
    let message = told(model, discrete);
    assert!(message.contains("no derivative") && message.contains("enumerate"), "{message}");

    let message = told(model, ppl_core::handlers::seed(guide, 1));
    assert!(message.contains("seed"), "{message}");
}
