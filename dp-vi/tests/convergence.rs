//! Runs without privacy go on until they have arrived.

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Poisson, Seed};
use dp_vi::guides::{AutoLaplace, AutoMultivariateNormal, AutoNormal};
use dp_vi::{DpVi, Fit, Sensitive};
use ppl_core::{Constraint, Ctx, Records, Result};
use ppl_distributions::{ImproperUniform, Normal};

const RECORDS: usize = 200;

/// Between −1 and 1, in no order.
fn made_up(i: usize) -> f64 {
    ((i * 7_919 + 13) % 2_003) as f64 / 1_001.5 - 1.0
}

/// `y = 87 + 4 x + 20 e` in these units of `x`, far from 0 and not of size 1.
fn columns(unit: f64) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..RECORDS).map(|i| 10.0 + 3.0 * made_up(i)).collect();
    let y = x.iter().enumerate().map(|(i, x)| 87.0 + 4.0 * x + 20.0 * made_up(i + 700)).collect();
    (x.iter().map(|x| unit * x).collect(), y)
}

fn regression(ctx: &mut Ctx<'_>) -> Result<()> {
    let a = ctx.sample("a", ImproperUniform::new(Constraint::Real, ()))?;
    let b = ctx.sample("b", ImproperUniform::new(Constraint::Real, ()))?;
    let sigma = ctx.sample("sigma", ImproperUniform::new(Constraint::Positive, ()))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Normal::new(a + b * record.get("x")?, sigma), record.get("y")?)
    })
}

fn fit(unit: f64) -> Fit {
    let (x, y) = columns(unit);
    let records = Sensitive::new(Records::from_columns([("x", x), ("y", y)]).unwrap());
    let vi = DpVi::new(regression, AutoMultivariateNormal::new()).without_privacy().seed(Seed::for_tests(4));
    vi.fit(&records).unwrap()
}

/// Against least squares: with flat priors `b` has the mean `Sxy/Sxx` and, from a Student-t, the standard
/// deviation `√(RSS/((n − 4) Sxx))`; 2 % beside Monte Carlo errors of 0.015 standard deviations are for the
/// normal in the place of the Student-t. Without a step count, a rate or a scale, in any unit of `x`.
#[test]
fn units_do_not_matter() {
    for unit in [1e-3, 1.0, 1e3] {
        let (x, y) = columns(unit);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / RECORDS as f64;
        let (mx, my) = (mean(&x), mean(&y));
        let sxx: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
        let sxy: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
        let slope = sxy / sxx;
        let rss: f64 = x.iter().zip(&y).map(|(x, y)| (y - my - slope * (x - mx)).powi(2)).sum();
        let sd = (rss / ((RECORDS - 4) as f64 * sxx)).sqrt();
        let fit = fit(unit);
        let convergence = fit.convergence().unwrap();
        assert!(convergence.converged && convergence.effective_share > 0.9, "{convergence}");
        assert!(convergence.to_string().starts_with("Converged"));
        let (b, b_sd) = (fit.posterior().mean("b").unwrap()[[]], fit.posterior().sd("b").unwrap()[[]]);
        assert!((b - slope).abs() < 0.075 * sd, "{unit}: {b} {slope} {sd}");
        assert!((b_sd / sd - 1.0).abs() < 0.03, "{unit}: {b_sd} {sd}");
    }
}

#[test]
fn independent_normals_arrive_too_and_say_how_well_they_fit() {
    let (x, y) = columns(1.0);
    let records = Sensitive::new(Records::from_columns([("x", x), ("y", y)]).unwrap());
    let vi = || DpVi::new(regression, AutoNormal::new()).without_privacy().seed(Seed::for_tests(4));
    let fit = vi().fit(&records).unwrap();
    let convergence = fit.convergence().unwrap();
    // Intercept and slope are correlated by −0.98: a fit of its family, and far from the posterior.
    assert!(convergence.converged && convergence.effective_share < 0.5, "{convergence}");
    let joint = self::fit(1.0);
    let (mean, sd) = (joint.posterior().mean("b").unwrap()[[]], joint.posterior().sd("b").unwrap()[[]]);
    assert!((fit.posterior().mean("b").unwrap()[[]] - mean).abs() < 0.15 * sd);
    assert!(fit.posterior().sd("b").unwrap()[[]] < 0.3 * sd);
    assert!(convergence.elbo < joint.convergence().unwrap().elbo - 1.0);
    // The statement still says what it is.
    assert!(fit.privacy().to_string().starts_with("NOT PRIVATE"));
}

/// What was said about how to go is kept to: steps, batches, and a budget.
#[test]
fn named_steps_samples_and_budgets_are_kept_to() {
    let (x, y) = columns(1.0);
    let records = Sensitive::new(Records::from_columns([("x", x), ("y", y)]).unwrap());
    let vi = || DpVi::new(regression, AutoNormal::new());
    let open = vi().without_privacy();
    let plan = open.plan(records.schema()).unwrap();
    assert!(plan.until_converged);
    let text = plan.explain();
    assert!(text.contains("until means and standard deviations have converged"), "{text}");
    assert!(!text.contains("clip norm") && !text.contains("C ="), "{text}");
    let named = vi().without_privacy().steps(20);
    assert!(!named.plan(records.schema()).unwrap().until_converged);
    let fit = named.fit(&records).unwrap();
    assert!(fit.convergence().is_none() && fit.privacy().steps_done == 20);
    let samples = vi().without_privacy().subsample(Poisson::rate(0.5).unwrap());
    assert!(!samples.plan(records.schema()).unwrap().until_converged);
    let whole = vi().without_privacy().subsample(FullBatch);
    assert!(whole.plan(records.schema()).unwrap().until_converged);
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let private = vi().budget(budget);
    assert!(!private.plan(records.schema()).unwrap().until_converged);
}

/// The mode of the regression is least squares, with the mean square of the residuals in the place of the
/// variance up to the logarithm's Jacobian, `σ̂² = RSS/(n − 1)`; the curvature there gives `sd = σ̂/√Sxx`.
#[test]
fn laplace_finds_the_mode_in_any_unit() {
    for unit in [1e-4, 1.0, 1e4] {
        let (x, y) = columns(unit);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / RECORDS as f64;
        let (mx, my) = (mean(&x), mean(&y));
        let sxx: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
        let slope = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / sxx;
        let rss: f64 = x.iter().zip(&y).map(|(x, y)| (y - my - slope * (x - mx)).powi(2)).sum();
        // Flat in sigma is e^u in its logarithm u.
        let sd = (rss / ((RECORDS - 1) as f64 * sxx)).sqrt();
        let records = Sensitive::new(Records::from_columns([("x", x), ("y", y)]).unwrap());
        let vi = DpVi::new(regression, AutoLaplace::new()).without_privacy().seed(Seed::for_tests(1));
        let fit = vi.fit(&records).unwrap();
        let convergence = fit.convergence().unwrap();
        assert!(convergence.converged && convergence.remaining < 1e-3, "{convergence}");
        let (b, b_sd) = (fit.posterior().mean("b").unwrap()[[]], fit.posterior().sd("b").unwrap()[[]]);
        assert!((b - slope).abs() < 1e-3 * sd, "{unit}: {b} {slope}");
        assert!((b_sd / sd - 1.0).abs() < 1e-3, "{unit}: {b_sd} {sd}");
    }
}
