//! Guides written by hand: what they find, and the errors when they do not fit.

use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::{AutoGuideList, AutoNormal, HandWritten};
use dp_vi::{DpVi, InitialValues, Sensitive};
use ndarray::arr1;
use ppl_core::{Constraint, Ctx, Distribution, Model, Records, Result, handlers};
use ppl_distributions::{
    Bernoulli, Beta, Categorical, Gamma, HalfNormal, LogNormal, Mixture, MultivariateNormal, Normal, Poisson,
    StudentT,
};

fn model(ctx: &mut Ctx) -> Result<()> {
    let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
    let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
    let shift = ctx.param("shift", 0.25, Constraint::Positive)?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(w.sum() + shift, spread), record.get("y")?))
}

fn records() -> Sensitive<Records> {
    Sensitive::new(Records::from_columns([("y", vec![0.5; 12])]).unwrap())
}

fn good(ctx: &mut Ctx) -> Result<()> {
    let concentration = ctx.param("concentration", 2.0, Constraint::Positive)?;
    ctx.sample("spread", Gamma::new(concentration, 2.0))?;
    let loc = ctx.param("loc", arr1(&[0.0, 0.1]), Constraint::Real)?;
    ctx.sample("w", Normal::new(loc, 0.5)).map(|_| ())
}

/// The error that a guide gets, or that there is none.
fn told(guide: impl Model) -> String {
    let vi = DpVi::new(model, HandWritten::new(guide)).without_privacy().subsample(FullBatch).steps(1);
    vi.fit(&records()).map_or_else(|error| error.to_string(), |_| "it goes".to_owned())
}

/// The guide but for one of its latent sites.
fn with(spread: bool, w: bool, rest: impl Fn(&mut Ctx<'_>) -> Result<()>) -> impl Model {
    move |ctx: &mut Ctx<'_>| {
        if spread {
            ctx.sample("spread", Gamma::new(2.0, 2.0))?;
        }
        if w {
            ctx.sample("w", Normal::new(0.0, 0.5).iid(2))?;
        }
        rest(ctx)
    }
}

#[test]
fn every_mistake_has_its_message() {
    assert_eq!(told(good), "it goes");
    let says = |told: String, parts: &[&str]| {
        for part in parts {
            assert!(told.contains(part), "\"{told}\" has no \"{part}\"");
        }
    };
    // Missing, left over, another shape, another support.
    says(
        told(with(true, false, |_| Ok(()))),
        &["no site 'w' of shape [2]", "sample it in the guide", "hand_written.rs"],
    );
    let more = with(true, true, |ctx| ctx.sample("v", Normal::new(0.0, 1.0)).map(|_| ()));
    says(told(more), &["samples 'v'", "no latent site of the model", "[spread, w]"]);
    let long = with(true, false, |ctx| ctx.sample("w", Normal::new(0.0, 1.0).iid(3)).map(|_| ()));
    says(told(long), &["'w' has shape [2] in the model and [3] in the guide"]);
    let real = with(false, true, |ctx| ctx.sample("spread", Normal::new(0.0, 1.0)).map(|_| ()));
    says(told(real), &["'spread' must be", "choose a distribution with the model's support"]);
    // What has no place in a guide.
    let observing = with(true, true, |ctx| {
        ctx.each_record(|ctx, record| ctx.observe("z", Normal::new(0.0, 1.0), record.get("y")?))
    });
    says(told(observing), &["the guide observes 'z'", "move it to the model"]);
    let local = with(true, true, |ctx| {
        ctx.each_record(|ctx, _| ctx.sample("each", Normal::new(0.0, 1.0)).map(|_| ()))
    });
    says(told(local), &["site 'each'", "of each record", "outside each_record"]);
    let summed =
        with(true, true, |ctx| ctx.enumerate("k", Bernoulli::from_probs(0.5), |ctx, k| ctx.factor("f", k)));
    says(told(summed), &["site 'k'", "summed out"]);
    // What cannot be optimised through.
    let discrete = with(false, true, |ctx| ctx.sample("spread", Poisson::new(3.0)).map(|_| ()));
    says(told(discrete), &["site 'spread'", "Poisson is discrete", "use a reparameterised distribution"]);
    let mixture = with(true, false, |ctx| {
        let weights = ctx.graph().array(&arr1(&[0.5, 0.5]).into_dyn());
        let parts = Mixture::new(Categorical::from_probs(weights))
            .of(Normal::new(0.0, 1.0))
            .of(Normal::new(1.0, 1.0));
        ctx.sample("w", parts.iid(2)).map(|_| ())
    });
    says(told(mixture), &["site 'w'", "do not move smoothly"]);
    let bounds = with(false, true, |ctx| {
        let low = ctx.param("low", 0.1, Constraint::Positive)?;
        ctx.sample("spread", ppl_distributions::Uniform::new(low, 5.0)).map(|_| ())
    });
    says(told(bounds), &["site 'spread'", "no unconstrained form"]);
    // Given, masked, scaled, seeded.
    says(told(handlers::substitute(good, [("w", arr1(&[0.0, 1.0]))])), &["site 'w'", "given and not drawn"]);
    says(told(handlers::mask(good, false)), &["site 'spread'", "masked or scaled"]);
    says(told(handlers::scale(good, 2.0)), &["site 'spread'", "masked or scaled"]);
    let hidden = with(true, true, |ctx| {
        ctx.with(handlers::Block::sites(["u"]), |ctx| {
            ctx.with(handlers::Seed::new(1), |ctx| ctx.sample("u", Normal::new(0.0, 1.0)).map(|_| ()))
        })
    });
    says(told(hidden), &["seed of its own", "take the seed away"]);
    // Parameters.
    let shape =
        with(true, true, |ctx| ctx.param("shift", arr1(&[1.0, 2.0]), Constraint::Positive).map(|_| ()));
    says(told(shape), &["'shift' is a parameter of both", "of shape [] in the model and [2]"]);
    let support = with(true, true, |ctx| ctx.param("shift", 0.5, Constraint::UnitInterval).map(|_| ()));
    says(
        told(support),
        &["'shift' is a parameter of both", "which must be positive", "strictly between 0 and 1"],
    );
    let other = with(true, true, |ctx| ctx.deterministic("shift", 1.0).map(|_| ()));
    says(told(other), &["'shift' is a parameter of the model and something else in the guide"]);
    let edge = with(true, true, |ctx| ctx.param("p", 1.0, Constraint::Interval(0.0, 1.0)).map(|_| ()));
    says(told(edge), &["site 'p'", "on the boundary"]);
    let integer = with(true, true, |ctx| ctx.param("n", 1.0, Constraint::NonNegativeInteger).map(|_| ()));
    says(told(integer), &["site 'n'", "cannot be optimised"]);
    // A start of its own.
    let start =
        DpVi::new(model, HandWritten::new(good)).without_privacy().initial_values(InitialValues::PriorMedian);
    says(
        start.fit(&records()).err().unwrap().to_string(),
        &["hand-written", "initial values of its parameters"],
    );
}

/// A parameter of the model is a point, declared by the guide or not, and starts where the model says.
#[test]
fn parameters_of_the_model_are_points() {
    let declared = with(true, true, |ctx| ctx.param("shift", 3.0, Constraint::Positive).map(|_| ()));
    let fits = |guide: Box<dyn dp_vi::guides::Guide>| {
        let vi = DpVi::new(model, guide)
            .without_privacy()
            .subsample(FullBatch)
            .steps(400)
            .seed(Seed::for_tests(1));
        let fit = vi.fit(&records()).unwrap();
        let shift = fit.posterior().mean("shift").unwrap()[[]];
        assert_eq!(fit.posterior().sd("shift").unwrap()[[]], 0.0);
        assert_eq!(fit.posterior().sites().collect::<Vec<_>>(), ["spread", "w", "shift"]);
        shift
    };
    let (one, other) = (
        fits(Box::new(HandWritten::new(declared))),
        fits(Box::new(HandWritten::new(with(true, true, |_| Ok(()))))),
    );
    assert_eq!(one, other);
    assert!((one - 0.25).abs() > 1e-3, "it is optimised: {one}");
}

/// Three families that can be the posterior: each with its own kind of noise.
#[test]
fn exact_families_find_the_exact_posterior() {
    // Beta(3 + 14, 2 + 6)
    fn coin(ctx: &mut Ctx) -> Result<()> {
        let p = ctx.sample("p", Beta::new(3.0, 2.0))?;
        ctx.each_record(|ctx, record| ctx.observe("y", Bernoulli::from_probs(p), record.get("y")?))
    }
    fn beta(ctx: &mut Ctx) -> Result<()> {
        let a = ctx.param("a", 5.0, Constraint::Positive)?;
        let b = ctx.param("b", 5.0, Constraint::Positive)?;
        ctx.sample("p", Beta::new(a, b)).map(|_| ())
    }
    let y: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i < 14))).collect();
    let records = Sensitive::new(Records::from_columns([("y", y)]).unwrap());
    let fit = DpVi::new(coin, HandWritten::new(beta))
        .without_privacy()
        .subsample(FullBatch)
        .steps(3000)
        .seed(Seed::for_tests(3))
        .fit(&records)
        .unwrap();
    let (mean, sd) = (17.0_f64 / 25.0, (17.0 * 8.0 / (25.0_f64.powi(2) * 26.0)).sqrt());
    // At the exact posterior `−ln q + ln p` is constant, so the gradient has no noise but the score's.
    assert!((fit.posterior().mean("p").unwrap()[[]] - mean).abs() < 0.1 * sd);
    assert!((fit.posterior().sd("p").unwrap()[[]] / sd - 1.0).abs() < 0.1);

    // Correlated weights of a linear model with a known spread: normal with precision XᵀX + I.
    fn line(ctx: &mut Ctx) -> Result<()> {
        let a = ctx.sample("a", Normal::new(0.0, 1.0))?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| {
            let x = record.get("x")?;
            ctx.observe("y", Normal::new(a + b * x, 1.0), record.get("y")?)
        })
    }
    // `b` given `a`: the correlation is a parameter of its own.
    fn chain(ctx: &mut Ctx) -> Result<()> {
        let loc = ctx.param("loc", arr1(&[0.0, 0.0]), Constraint::Real)?;
        let scale = ctx.param("scale", arr1(&[0.3, 0.3]), Constraint::Positive)?;
        let slope = ctx.param("slope", 0.0, Constraint::Real)?;
        let a = ctx.sample("a", Normal::new(loc.element(0, 0), scale.element(0, 0)))?;
        let centre = loc.element(0, 1) + slope * (a - loc.element(0, 0));
        ctx.sample("b", Normal::new(centre, scale.element(0, 1))).map(|_| ())
    }
    let x: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 5) / 4.0).collect();
    let y: Vec<f64> = x.iter().map(|x| 0.5 * x - 0.2).collect();
    let sum = |f: &dyn Fn(usize) -> f64| (0..20).map(f).sum::<f64>();
    let (one, two) = (sum(&|i| x[i]), sum(&|i| x[i] * x[i]));
    // Precision [[21, Σx], [Σx, Σx² + 1]].
    let determinant = 21.0 * (two + 1.0) - one * one;
    let (sd_a, sd_b) = (((two + 1.0) / determinant).sqrt(), (21.0 / determinant).sqrt());
    let (y_one, y_two) = (sum(&|i| y[i]), sum(&|i| x[i] * y[i]));
    let (mean_a, mean_b) =
        (((two + 1.0) * y_one - one * y_two) / determinant, (21.0 * y_two - one * y_one) / determinant);
    let records = Sensitive::new(Records::from_columns([("x", x.clone()), ("y", y.clone())]).unwrap());
    let fit = DpVi::new(line, HandWritten::new(chain))
        .without_privacy()
        .subsample(FullBatch)
        .steps(4000)
        .seed(Seed::for_tests(3))
        .fit(&records)
        .unwrap();
    // A mean found from 10,000 draws has a standard error of sd/100 of its own.
    for (site, mean, sd) in [("a", mean_a, sd_a), ("b", mean_b, sd_b)] {
        let (got, spread) = (fit.posterior().mean(site).unwrap()[[]], fit.posterior().sd(site).unwrap()[[]]);
        assert!(
            (got - mean).abs() < 0.1 * sd && (spread / sd - 1.0).abs() < 0.1,
            "{site}: {got} {spread}, {mean} {sd}"
        );
    }
    let draws = fit.posterior().draws(40_000, &Seed::for_tests(1)).unwrap();
    let (a, b) = (&draws["a"], &draws["b"]);
    let product = (0..40_000).map(|k| (a[[k]] - mean_a) * (b[[k]] - mean_b)).sum::<f64>() / 40_000.0;
    let correlation = -one / (21.0 * (two + 1.0)).sqrt();
    // Standard error of a correlation below √2/200; the fit's own error of up to a tenth.
    assert!((product / (sd_a * sd_b) - correlation).abs() < 0.037 + 0.1, "{product} {correlation}");
}

/// Families without a closed entropy, or with their own kinds of noise, run; a part of the sites by hand, the
/// rest made from the model.
#[test]
fn many_families_serve_as_guides() {
    fn wide(ctx: &mut Ctx) -> Result<()> {
        let scale = ctx.param("scale", 0.5, Constraint::Positive)?;
        ctx.sample("spread", LogNormal::new(0.0, scale))?;
        ctx.sample("w", StudentT::new(5.0, 0.0, scale).iid(2)).map(|_| ())
    }
    fn only_w(ctx: &mut Ctx) -> Result<()> {
        let tril = ctx.param("tril", ndarray::arr2(&[[0.5, 0.0], [0.0, 0.5]]), Constraint::LowerCholesky)?;
        ctx.sample("w", MultivariateNormal::from_cholesky(0.0, tril)).map(|_| ())
    }
    let fit = |guide: Box<dyn dp_vi::guides::Guide>| {
        let vi = DpVi::new(model, guide)
            .without_privacy()
            .subsample(FullBatch)
            .steps(200)
            .seed(Seed::for_tests(1));
        vi.fit(&records()).unwrap()
    };
    let wide = fit(Box::new(HandWritten::new(wide)));
    assert!(wide.posterior().sd("w").unwrap().iter().all(|sd| sd.is_finite() && *sd > 0.0));
    let parts = AutoGuideList::new(AutoNormal::new()).with(["w"], HandWritten::new(only_w));
    let parts = fit(Box::new(parts));
    assert!(parts.posterior().sd("w").unwrap().iter().all(|sd| sd.is_finite() && *sd > 0.0));
    // Which sites a part by hand may sample is what it was named for.
    let wrong = AutoGuideList::new(AutoNormal::new()).with(["spread"], HandWritten::new(only_w));
    let vi = DpVi::new(model, wrong).without_privacy().subsample(FullBatch).steps(1);
    let told = vi.fit(&records()).err().unwrap().to_string();
    assert!(told.contains("no site 'spread'"), "{told}");
}
