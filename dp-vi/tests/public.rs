//! Models of public data: without records, and beside private ones. Posteriors against closed forms and
//! quadrature.

use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use dp_vi::guides::{AutoLaplace, AutoMultivariateNormal, AutoNormal};
use dp_vi::{DpVi, Error, Fit, InitialValues, PrivateStart, Sensitive};
use ndarray::{Array1, Array2, arr0};
use ppl_core::{Column, Ctx, Distribution, Records, Result, Var, log_density};
use ppl_distributions::{Bernoulli, HalfNormal, MultivariateNormal, Normal, Uniform};
use std::collections::BTreeMap;

fn seed(number: u64) -> Seed {
    Seed::for_tests(number)
}

/// Numbers between −1 and 1 without any pattern that matters.
fn made_up(k: usize) -> f64 {
    let x = (k as f64 * 12.9898 + 4.1).sin() * 43758.5453;
    2.0 * (x - x.floor()) - 1.0
}

/// The mean and standard deviation of the density `exp(log_density)` of two numbers on a grid.
fn on_a_grid(
    log_density: impl Fn(f64, f64) -> f64,
    x: (f64, f64),
    y: (f64, f64),
    cells: usize,
) -> [(f64, f64); 2] {
    let at = |(low, high): (f64, f64), k: usize| low + (high - low) * (k as f64 + 0.5) / cells as f64;
    let points: Vec<(f64, f64, f64)> = (0..cells * cells)
        .map(|k| {
            let (x, y) = (at(x, k / cells), at(y, k % cells));
            (x, y, log_density(x, y))
        })
        .collect();
    let largest = points.iter().map(|point| point.2).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = [0.0; 5];
    for (x, y, density) in points {
        let weight = (density - largest).exp();
        for (sum, value) in sums.iter_mut().zip([1.0, x, x * x, y, y * y]) {
            *sum += weight * value;
        }
    }
    let moments = |first: f64, second: f64| {
        let mean = first / sums[0];
        (mean, (second / sums[0] - mean * mean).sqrt())
    };
    [moments(sums[1], sums[2]), moments(sums[3], sums[4])]
}

fn number(fit: &Fit, site: &str) -> (f64, f64) {
    (fit.posterior().mean(site).unwrap()[[]], fit.posterior().sd(site).unwrap()[[]])
}

/// 60 values of `x_t = 0.6 x_{t−1} + 0.5 e_t`, `e_t` uniform with variance 1.
fn series() -> Vec<f64> {
    let mut x = vec![0.3];
    for t in 1..60 {
        x.push(0.6 * x[t - 1] + 0.5 * 3_f64.sqrt() * made_up(t));
    }
    x
}

/// An AR(1) with arrays: each value given the one before it.
fn autoregression(ctx: &mut Ctx<'_>) -> Result<()> {
    let x = series();
    let phi = ctx.sample("phi", Uniform::new(-1.0, 1.0))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
    let (before, now) = (ctx.constant(&x[..59]), ctx.constant(&x[1..]));
    ctx.observe("x", Normal::new(phi * before, sigma), now)
}

/// Against quadrature on 400 × 400 cells. The guide is a normal on the unconstrained values, and the posterior
/// of 59 transitions is nearly one: means within 5 % of a standard deviation, standard deviations within 8 %.
#[test]
fn an_autoregression_has_the_posterior_of_quadrature() {
    let fit = DpVi::new(autoregression, AutoMultivariateNormal::new()).seed(seed(1)).fit_public().unwrap();
    let x = series();
    let joint = |phi: f64, sigma: f64| {
        let misfit: f64 = x.windows(2).map(|pair| (pair[1] - phi * pair[0]).powi(2)).sum();
        -59.0 * sigma.ln() - 0.5 * misfit / (sigma * sigma) - 0.5 * sigma * sigma
    };
    let exact = on_a_grid(joint, (-1.0, 1.0), (0.2, 1.2), 400);
    for (site, (mean, sd)) in ["phi", "sigma"].into_iter().zip(exact) {
        let (got, spread) = number(&fit, site);
        assert!((got - mean).abs() < 0.05 * sd, "{site}: mean {got}, not {mean} ({sd})");
        assert!((spread / sd - 1.0).abs() < 0.08, "{site}: sd {spread}, not {sd}");
    }
}

const PLACES: usize = 12;

fn places() -> Array1<f64> {
    Array1::from_shape_fn(PLACES, |i| i as f64 / 3.0)
}

fn heights() -> Vec<f64> {
    (0..PLACES).map(|i| (i as f64 / 3.0).sin() + 0.2 * made_up(i + 70)).collect()
}

const NOISE: f64 = 0.3;

/// A squared exponential kernel between places, with the latent function itself: `f ~ N(0, K)`, `y ~ N(f, s²)`.
fn gaussian_process(ctx: &mut Ctx<'_>) -> Result<()> {
    let x = places();
    let distances = Array2::from_shape_fn((PLACES, PLACES), |(i, j)| (x[i] - x[j]).powi(2));
    let jitter = Array2::from_diag_elem(PLACES, 1e-6);
    let kernel = (ctx.constant(distances) * -0.5).exp() + ctx.constant(jitter);
    let mean = ctx.constant(vec![0.0; PLACES]);
    let f = ctx.sample("f", MultivariateNormal::from_cholesky(mean, kernel.cholesky()))?;
    ctx.observe("y", Normal::new(f, NOISE), ctx.constant(heights()))
}

/// The closed form, `K (K + s² I)⁻¹ y` and `K − K (K + s² I)⁻¹ K`, by elimination in this test.
fn closed_form() -> (Vec<f64>, Vec<f64>) {
    let x = places();
    let k = Array2::from_shape_fn((PLACES, PLACES), |(i, j)| {
        (-0.5 * (x[i] - x[j]).powi(2)).exp() + if i == j { 1e-6 } else { 0.0 }
    });
    // Columns: the data, then those of the kernel.
    let mut rows: Vec<Vec<f64>> = (0..PLACES)
        .map(|i| {
            let left = (0..PLACES).map(|j| k[[i, j]] + if i == j { NOISE * NOISE } else { 0.0 });
            left.chain([heights()[i]]).chain((0..PLACES).map(|j| k[[i, j]])).collect()
        })
        .collect();
    for pivot in 0..PLACES {
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|value| *value /= scale);
        let row = rows[pivot].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = other[pivot];
            other.iter_mut().zip(&row).for_each(|(value, of_row)| *value -= factor * of_row);
        }
    }
    let product =
        |i: usize, column: usize| (0..PLACES).map(|j| k[[i, j]] * rows[j][PLACES + column]).sum::<f64>();
    let mean = (0..PLACES).map(|i| product(i, 0)).collect();
    let sd = (0..PLACES).map(|i| (k[[i, i]] - product(i, 1 + i)).sqrt()).collect();
    (mean, sd)
}

/// Laplace's approximation of a normal posterior is that posterior, and its mode is found by Newton's method. The
/// kernel has a condition number of about 10⁷ (its smallest eigenvalue is the 10⁻⁶ on the diagonal), which takes
/// 7 of 16 digits; 10⁻⁶ of a standard deviation leaves a factor of a thousand.
#[test]
fn a_gaussian_process_has_its_closed_form() {
    let (mean, sd) = closed_form();
    let start = InitialValues::values([("f", Array1::from(heights()).into_dyn())]);
    let vi = DpVi::new(gaussian_process, AutoLaplace::new()).seed(seed(2)).initial_values(start);
    let fit = vi.fit_public().unwrap();
    assert!(fit.convergence().unwrap().converged);
    let (got, spread) = (fit.posterior().mean("f").unwrap(), fit.posterior().sd("f").unwrap());
    for i in 0..PLACES {
        assert!((got[i] - mean[i]).abs() < 1e-6 * sd[i], "{i}: {} not {} ({})", got[i], mean[i], sd[i]);
        assert!((spread[i] / sd[i] - 1.0).abs() < 1e-6, "{i}: {} not {}", spread[i], sd[i]);
    }
}

/// The same with the latent function integrated out, and length scale and noise inferred: against quadrature on
/// 120 × 120 cells of the logarithms, where the density is that of `log_density`'s own formula written down by
/// elimination.
#[test]
fn a_gaussian_process_of_unknown_scales_has_the_posterior_of_quadrature() {
    let x = places();
    let distances = Array2::from_shape_fn((PLACES, PLACES), |(i, j)| (x[i] - x[j]).powi(2));
    let (of_model, data) = (distances.clone(), heights());
    let model = move |ctx: &mut Ctx<'_>| {
        // Logarithms, on which the grid is.
        let length = ctx.sample("length", Normal::new(0.0, 0.5))?.exp();
        let noise = ctx.sample("noise", Normal::new(-1.0, 0.5))?.exp();
        let unit = ctx.constant(Array2::from_diag_elem(PLACES, 1.0));
        let kernel =
            (ctx.constant(of_model.clone()) * (-0.5 / length.square())).exp() + unit * noise.square();
        let mean = ctx.constant(vec![0.0; PLACES]);
        let law = MultivariateNormal::from_cholesky(mean, kernel.cholesky());
        ctx.observe("y", law, ctx.constant(heights()))
    };
    let fit = DpVi::new(model, AutoMultivariateNormal::new()).seed(seed(3)).fit_public().unwrap();
    let joint = |length: f64, noise: f64| {
        let (l, s) = (length.exp(), noise.exp());
        // Cholesky by rows, with the right side as a further one: ln det and the whitened data at once.
        let mut lower = vec![vec![0.0; PLACES]; PLACES + 1];
        let mut density = -0.5 * (length / 0.5).powi(2) - 0.5 * ((noise + 1.0) / 0.5).powi(2);
        for i in 0..=PLACES {
            for j in 0..PLACES.min(i + 1) {
                let element = match i {
                    PLACES => data[j],
                    i => (-0.5 * distances[[i, j]] / (l * l)).exp() + if i == j { s * s } else { 0.0 },
                };
                let left = element - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
                lower[i][j] = if i == j { left.sqrt() } else { left / lower[j][j] };
                if i == j {
                    density -= lower[i][i].ln();
                }
            }
        }
        density - 0.5 * lower[PLACES].iter().map(|z| z * z).sum::<f64>()
    };
    let exact = on_a_grid(joint, (-2.0, 2.0), (-3.0, 1.0), 120);
    for (site, (mean, sd)) in ["length", "noise"].into_iter().zip(exact) {
        let (got, spread) = number(&fit, site);
        // Twelve heights leave some skewness, which a normal does not have.
        assert!((got - mean).abs() < 0.12 * sd, "{site}: mean {got}, not {mean} ({sd})");
        assert!((spread / sd - 1.0).abs() < 0.12, "{site}: sd {spread}, not {sd}");
    }
}

const HMM_STEPS: usize = 50;

/// A chain that stays with probability 0.9, seen with noise of 0.6 around −1 or 1.
fn seen() -> Vec<f64> {
    let mut state = 0;
    (0..HMM_STEPS)
        .map(|t| {
            if made_up(t + 200) > 0.8 {
                state = 1 - state;
            }
            [-1.0, 1.0][state] + 0.6 * 3_f64.sqrt() * made_up(t + 400)
        })
        .collect()
}

/// Two states with ordered levels `low` and `low + gap`; the forward algorithm, step by step.
fn hidden_markov(ctx: &mut Ctx<'_>) -> Result<()> {
    let low = ctx.sample("low", Normal::new(0.0, 2.0))?;
    let gap = ctx.sample("gap", HalfNormal::new(3.0))?;
    let levels = low + gap * ctx.constant(vec![0.0, 1.0]);
    // [from, to]
    let moves = ctx.constant(Array2::from_shape_fn((2, 2), |(i, j)| if i == j { 0.9_f64 } else { 0.1 }.ln()));
    let emission = |y: f64| Normal::new(levels, 0.6).log_prob(ctx.constant(vec![y, y]));
    let ys = seen();
    let mut forward: Var<'_> = emission(ys[0]) + 0.5_f64.ln();
    for &y in &ys[1..] {
        forward = (forward.reshape([2, 1]) + moves).log_sum_exp_axis(0) + emission(y);
    }
    ctx.factor("series", forward.log_sum_exp())
}

/// Against quadrature on 200 × 200 cells, where the sum over all chains is a product of 2 × 2 matrices of
/// probabilities rather than of logarithms. Means within 6 % of a standard deviation, those within 8 %.
#[test]
fn a_hidden_markov_model_has_the_posterior_of_quadrature() {
    let fit = DpVi::new(hidden_markov, AutoMultivariateNormal::new()).seed(seed(4)).fit_public().unwrap();
    let ys = seen();
    let joint = |low: f64, gap: f64| {
        let emission = |y: f64, level: f64| (-0.5 * ((y - level) / 0.6).powi(2)).exp() / 0.6;
        let (mut chances, mut density) = ([0.5, 0.5], -low * low / 8.0 - gap * gap / 18.0);
        for (t, &y) in ys.iter().enumerate() {
            if t > 0 {
                chances = [0.9 * chances[0] + 0.1 * chances[1], 0.1 * chances[0] + 0.9 * chances[1]];
            }
            chances = [chances[0] * emission(y, low), chances[1] * emission(y, low + gap)];
            let total = chances[0] + chances[1];
            density += total.ln();
            chances = chances.map(|chance| chance / total);
        }
        density
    };
    let exact = on_a_grid(joint, (-3.0, 1.0), (0.0, 5.0), 200);
    for (site, (mean, sd)) in ["low", "gap"].into_iter().zip(exact) {
        let (got, spread) = number(&fit, site);
        assert!((got - mean).abs() < 0.06 * sd, "{site}: mean {got}, not {mean} ({sd})");
        assert!((spread / sd - 1.0).abs() < 0.08, "{site}: sd {spread}, not {sd}");
    }
}

fn logistic_records() -> Sensitive<Records> {
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| 1.5 * made_up(2 * i + j + 900));
    let y = Array1::from_shape_fn(2000, |i| {
        let eta: f64 = x[[i, 0]] - 0.5 * x[[i, 1]];
        f64::from(0.5 + 0.5 * made_up(i + 9000) < 1.0 / (1.0 + (-eta).exp()))
    });
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

fn outcomes<'g>(ctx: &mut Ctx<'g>, w: Var<'g>) -> Result<()> {
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

/// What an earlier study found of each weight, and how well it knew.
const EARLIER: ([f64; 2], f64) = ([0.4, 0.8], 0.2);

fn with_public_study(ctx: &mut Ctx<'_>) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
    ctx.observe("earlier", Normal::new(w, EARLIER.1), ctx.constant(EARLIER.0.to_vec()))?;
    outcomes(ctx, w)
}

/// The same density: two normals multiplied by hand.
fn with_study_as_prior(ctx: &mut Ctx<'_>) -> Result<()> {
    let precision = 1.0 + EARLIER.1.powi(-2);
    let means: Vec<f64> = EARLIER.0.iter().map(|m| m * EARLIER.1.powi(-2) / precision).collect();
    let w = ctx.sample("w", Normal::new(ctx.constant(means), precision.sqrt().recip()))?;
    outcomes(ctx, w)
}

/// Public observations enter exactly like the prior: with the same seed, so the same privacy noise, the fit is
/// that of the model which has them in its prior, to rounding. They are neither clipped nor get noise, and what
/// is spent is the same. That holds for the guide's posterior and for the one that knows of the noise, with a
/// released curvature and with one read off the run, whose prior gradient and curvature include them.
#[test]
fn public_observations_beside_private_records_are_a_part_of_the_prior() {
    let records = logistic_records();
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    for correction in [dp_vi::Correction::Full, dp_vi::Correction::TraceRegression] {
        let fit = |model: fn(&mut Ctx<'_>) -> Result<()>| {
            DpVi::new(model, AutoNormal::new())
                .budget(budget)
                .correction(correction)
                .seed(seed(5))
                .fit(&records)
                .unwrap()
        };
        let (public, prior) = (fit(with_public_study), fit(with_study_as_prior));
        assert_eq!(
            public.privacy().epsilon.as_ref().unwrap().upper,
            prior.privacy().epsilon.as_ref().unwrap().upper
        );
        assert!(public.privacy().has_records);
        for (one, other) in [
            (public.uncorrected().mean("w"), prior.uncorrected().mean("w")),
            (public.uncorrected().sd("w"), prior.uncorrected().sd("w")),
            (public.posterior().mean("w"), prior.posterior().mean("w")),
            (public.posterior().sd("w"), prior.posterior().sd("w")),
        ] {
            for (one, other) in one.unwrap().iter().zip(other.unwrap().iter()) {
                assert!((one - other).abs() < 1e-6 * (1.0 + other.abs()), "{correction:?}: {one} {other}");
            }
        }
        assert!(public.noise_aware().is_some() || correction != dp_vi::Correction::Full);
    }
    // And they inform: the study's precision of 25 holds the second weight away from what the records say.
    let alone = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
        outcomes(ctx, w)
    };
    let weight = |fit: Fit| fit.posterior().mean("w").unwrap()[1];
    let without =
        weight(DpVi::new(alone, AutoNormal::new()).budget(budget).seed(seed(5)).fit(&records).unwrap());
    let with = weight(
        DpVi::new(with_public_study, AutoNormal::new()).budget(budget).seed(seed(5)).fit(&records).unwrap(),
    );
    assert!(with > without + 0.05, "{with} {without}");
}

/// A record's value is not a public constant, wherever it is observed.
#[test]
fn a_records_value_outside_each_record_stays_refused() {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
        let mut kept = None;
        ctx.each_record(|ctx, record| {
            kept = Some(record.get("y")?);
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
        })?;
        match kept {
            Some(y) => ctx.observe("again", Normal::new(w.sum(), 1.0), y),
            None => Ok(()),
        }
    };
    let vi = DpVi::new(model, AutoNormal::new()).without_privacy();
    let refused = vi.fit(&logistic_records()).unwrap_err().to_string();
    assert!(refused.contains("again") && refused.contains("record"), "{refused}");
}

#[test]
fn what_has_no_meaning_without_records_is_refused() {
    let simple = |ctx: &mut Ctx<'_>| {
        let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
        ctx.observe("y", Normal::new(level, 1.0), 0.5)
    };
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let told = |result: dp_vi::Result<Fit>| result.unwrap_err().to_string();
    let vi = || DpVi::new(simple, AutoNormal::new());
    assert!(told(vi().budget(budget).fit_public()).contains("no records to protect"));
    assert!(told(vi().checkpoint("never-written", 10).fit_public()).contains("checkpoint"));
    let start = PrivateStart { candidates: vec![BTreeMap::new()], range: (-1.0, 0.0), share: 0.2 };
    assert!(told(vi().private_start(start).fit_public()).contains("initial_values"));
    assert!(told(vi().steps(0).fit_public()).contains("between 1 and 10^9"));
    let prior = |ctx: &mut Ctx<'_>| ctx.sample("w", Normal::new(0.0, 1.0)).map(|_| ());
    assert!(told(DpVi::new(prior, AutoNormal::new()).fit_public()).contains("Predictive::prior"));
    let nothing = |ctx: &mut Ctx<'_>| ctx.observe("y", Normal::new(0.0, 1.0), 0.5);
    assert!(told(DpVi::new(nothing, AutoNormal::new()).fit_public()).contains("no latent value"));
    assert!(told(DpVi::new(with_public_study, AutoNormal::new()).fit_public()).contains(".fit(&records)"));
    let counts = |ctx: &mut Ctx<'_>| {
        let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, _| ctx.factor("same", -level.square()))
    };
    assert!(told(DpVi::new(counts, AutoNormal::new()).fit_public()).contains(".fit(&records)"));
    // And the other way round.
    let records = Sensitive::new(Records::from_columns([("x", vec![1.0])]).unwrap());
    assert!(told(vi().without_privacy().fit(&records)).contains("fit_public"));
}

#[test]
fn a_density_without_a_slope_is_an_error() {
    let model = |ctx: &mut Ctx<'_>| {
        let level = ctx.sample("level", Normal::new(0.0, 1.0))?;
        // No covariance at any value: its second eigenvalue is negative.
        let kernel = ctx.constant(ndarray::arr2(&[[1.0, 2.0], [2.0, 1.0]])) * level.exp();
        ctx.observe(
            "y",
            MultivariateNormal::from_cholesky(ctx.constant(vec![0.0; 2]), kernel.cholesky()),
            ctx.constant(vec![1.0, 2.0]),
        )
    };
    match DpVi::new(model, AutoNormal::new()).steps(40).fit_public() {
        Err(Error::NotFinite { steps: 40, of: 40 }) => {}
        other => panic!("{:?}", other.map(|fit| fit.privacy().to_string())),
    }
}

/// The report, the plan and predictions of a fit without records.
#[test]
fn the_report_says_that_there_is_nothing_to_protect() {
    let vi = DpVi::new(autoregression, AutoNormal::new()).seed(seed(6)).steps(50);
    let plan = vi.plan_public().unwrap();
    assert_eq!((plan.steps, plan.latent_elements, plan.observed_elements), (50, 2, 59));
    assert!(plan.explain().contains("nothing is protected"), "{}", plan.explain());
    let fit = vi.fit_public().unwrap();
    let report = fit.privacy();
    assert!(
        !report.is_private() && !report.has_records && report.epsilon.is_none() && report.scheme.is_none()
    );
    assert_eq!((report.steps, report.steps_done), (50, 50));
    let text = report.to_string();
    assert!(
        text.starts_with("NO RECORDS.") && !text.contains("epsilon") && !text.contains("differential"),
        "{text}"
    );
    let predicted = fit.posterior().predictive(&autoregression, 20, &seed(7)).unwrap();
    let predicted = predicted.run(&Records::none()).unwrap();
    assert_eq!(predicted["x"].shape(), [20, 59]);
    let at = BTreeMap::from([
        ("phi".to_owned(), arr0(0.5).into_dyn()),
        ("sigma".to_owned(), arr0(0.5).into_dyn()),
    ]);
    let density = log_density(&autoregression, &Records::none(), &at).unwrap();
    assert!(density.likelihood.is_empty() && density.prior.is_finite());
}
