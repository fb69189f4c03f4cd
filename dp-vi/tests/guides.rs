//! Fits with every guide: against known posteriors, with the correction, from every start.

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::{
    AutoDelta, AutoGuideList, AutoLowRankMultivariateNormal, AutoMultivariateNormal, AutoNormal, Guide,
    HandWritten,
};
use dp_vi::optimiser::Schedule;
use dp_vi::{DpVi, DrawScheme, InitialValues, PrivateStart, Sensitive};
use ndarray::{Array1, Array2, ArrayD, arr0, arr1, arr2};
use ppl_core::{Column, Constraint, Ctx, Distribution, Predictive, Records, Result};
use ppl_distributions::{
    Bernoulli, Beta, Categorical, Combine, Dirichlet, Gamma, ImproperUniform, LogNormal, Normal, Onto,
    OrderedLogistic, Poisson, Uniform,
};
use std::collections::BTreeMap;

use crate::common::fraction;

fn features(count: usize) -> Array2<f64> {
    // The second and third column have most of the first one in them.
    Array2::from_shape_fn((count, 3), |(i, j)| {
        let own = 2.0 * fraction(3 * i + j) - 1.0;
        if j == 0 { own } else { 0.8 * (2.0 * fraction(3 * i) - 1.0) + 0.6 * own }
    })
}

const NOISE: f64 = 0.5;

fn regression(ctx: &mut Ctx) -> Result<()> {
    let a = ctx.sample("a", Normal::new(0.0, 1.0).iid(2))?;
    let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| {
        let x = record.get("x")?;
        let fit = x.slice(0, ..2).dot(a) + x.element(0, 2) * b;
        ctx.observe("y", Normal::new(fit, NOISE), record.get("y")?)
    })
}

fn regression_records(count: usize) -> Records {
    let x = features(count);
    let y = Array1::from_shape_fn(count, |i| {
        x[[i, 0]] - 0.5 * x[[i, 1]] + 0.3 * x[[i, 2]] + NOISE * (fraction(900 + i) - 0.5) * 3.0
    });
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

/// The inverse of a small matrix, by Gauss and Jordan.
fn inverse(matrix: &Array2<f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let (mut a, mut b) = (matrix.clone(), Array2::<f64>::eye(n));
    for j in 0..n {
        let pivot = a[[j, j]];
        for k in 0..n {
            a[[j, k]] /= pivot;
            b[[j, k]] /= pivot;
        }
        for r in (0..n).filter(|&r| r != j) {
            let factor = a[[r, j]];
            for k in 0..n {
                a[[r, k]] -= factor * a[[j, k]];
                b[[r, k]] -= factor * b[[j, k]];
            }
        }
    }
    b
}

/// The posterior of the regression is normal: its mean and covariance.
fn exact(count: usize) -> (Array1<f64>, Array2<f64>) {
    let x = features(count);
    let records = regression_records(count);
    let y: Array1<f64> = records.column(1).numbers().collect();
    let precision = x.t().dot(&x) / (NOISE * NOISE) + Array2::<f64>::eye(3);
    let covariance = inverse(&precision);
    (covariance.dot(&x.t().dot(&y)) / (NOISE * NOISE), covariance)
}

/// Mirrored draws make the gradient of the location exact here; that of the covariance has noise, which the
/// averaged tail leaves a little of.
#[test]
fn a_correlated_posterior_is_recovered() {
    let count = 80;
    let (mean, covariance) = exact(count);
    let correlation =
        |i: usize, j: usize| covariance[[i, j]] / (covariance[[i, i]] * covariance[[j, j]]).sqrt();
    assert!(correlation(0, 1) < -0.5, "the posterior is correlated: {covariance}");
    let records = regression_records(count);
    let guides: [(Box<dyn Guide>, &str); 2] = [
        (Box::new(AutoMultivariateNormal::new()), "full"),
        (Box::new(AutoLowRankMultivariateNormal::new().rank(3).unwrap()), "low rank"),
    ];
    for (guide, name) in guides {
        let fit = DpVi::new(regression, guide)
            .without_privacy()
            .subsample(FullBatch)
            .steps(4000)
            .schedule(Schedule::HoldThenCosine(0.02))
            .seed(Seed::for_tests(3))
            .fit(&Sensitive::new(records.clone()))
            .unwrap();
        let posterior = fit.posterior();
        let both =
            |of: &dyn Fn(&str) -> ArrayD<f64>| of("a").into_iter().chain(of("b")).collect::<Vec<f64>>();
        let (got, sd) =
            (both(&|site| posterior.mean(site).unwrap()), both(&|site| posterior.sd(site).unwrap()));
        let n = 40_000;
        let draws = posterior.draws(n, &Seed::for_tests(1)).unwrap();
        let element = |k: usize, j: usize| if j < 2 { draws["a"][[k, j]] } else { draws["b"][[k]] };
        for i in 0..3 {
            let truth = covariance[[i, i]].sqrt();
            assert!((got[i] - mean[i]).abs() < 0.03 * truth, "{name}: {got:?} {mean}");
            assert!((sd[i] / truth - 1.0).abs() < 0.03, "{name}: sd {sd:?} {covariance}");
            for j in 0..i {
                let product = |k: usize| (element(k, i) - got[i]) * (element(k, j) - got[j]);
                let found = (0..n).map(product).sum::<f64>() / n as f64 / (sd[i] * sd[j]);
                // A correlation has standard error below √2/200 = 0.0071, 5.2 of which are 0.037; the fit has
                // an error of its own.
                assert!((found - correlation(i, j)).abs() < 0.037 + 0.03, "{name} {i} {j}: {found}");
            }
        }
    }
    // Independent normals have the standard deviations that are left when all others are known.
    let fit = DpVi::new(regression, AutoNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(4000)
        .seed(Seed::for_tests(3))
        .fit(&Sensitive::new(records))
        .unwrap();
    assert!(fit.posterior().sd("b").unwrap()[[]] < 0.8 * covariance[[2, 2]].sqrt());
}

fn logistic(ctx: &mut Ctx) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
    let b = ctx.sample("b", Normal::new(0.0, 2.0))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w) + b;
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

fn by_hand(ctx: &mut Ctx) -> Result<()> {
    let centre = ctx.param("b loc", 0.0, Constraint::Real)?;
    let b = ctx.sample("b", Normal::new(centre, 0.1))?;
    let loc = ctx.param("loc", arr1(&[0.0; 2]), Constraint::Real)?;
    let slope = ctx.param("slope", 0.0, Constraint::Real)?;
    let scale = ctx.param("scale", 0.1, Constraint::Positive)?;
    ctx.sample("w", Normal::new(loc + slope * b, scale)).map(|_| ())
}

fn people(count: usize) -> Records {
    let x = Array2::from_shape_fn((count, 2), |(i, j)| 2.0 * fraction(2 * i + j) - 1.0);
    let y = Array1::from_shape_fn(count, |i| {
        let logit = 1.5 * x[[i, 0]] - x[[i, 1]] + 0.5;
        f64::from(fraction(77_777 + i) < 1.0 / (1.0 + (-logit).exp()))
    });
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

/// Mode and curvature of the log posterior, by Newton's method.
fn laplace(records: &Records) -> (Array1<f64>, Array2<f64>) {
    let numbers = |k: usize| records.column(k).numbers().collect::<Vec<f64>>();
    let (x, y) = (numbers(0), numbers(1));
    let mut w = Array1::<f64>::zeros(3);
    let mut h = Array2::<f64>::eye(3);
    for _ in 0..30 {
        let mut g = -0.25 * &w;
        h = 0.25 * Array2::<f64>::eye(3);
        for (i, y) in y.iter().enumerate() {
            let d = arr1(&[x[2 * i], x[2 * i + 1], 1.0]);
            let p = 1.0 / (1.0 + (-d.dot(&w)).exp());
            g.scaled_add(y - p, &d);
            for j in 0..3 {
                (0..3).for_each(|k| h[[j, k]] += p * (1.0 - p) * d[j] * d[k]);
            }
        }
        w = w + inverse(&h).dot(&g);
    }
    (w, inverse(&h))
}

/// With hardly any noise the corrected posterior is Laplace's approximation, whatever the guide that led
/// there. Guides differ in where gradients and curvature are taken, by a term of order 1/N.
#[test]
fn the_correction_goes_with_every_guide() {
    let records = people(3000);
    let (mode, covariance) = laplace(&records);
    let behind = Sensitive::new(records);
    let guides: [Box<dyn Guide>; 6] = [
        Box::new(AutoNormal::new()),
        Box::new(AutoMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new()),
        Box::new(AutoDelta::unconstrained()),
        Box::new(AutoGuideList::new(AutoDelta::new()).with(["w"], AutoMultivariateNormal::new())),
        Box::new(HandWritten::new(by_hand)),
    ];
    for guide in guides {
        let name = guide.describe();
        let fit = DpVi::new(logistic, guide)
            .budget(Budget { epsilon: 500.0, delta: 1e-5, relation: Relation::AddRemove })
            .seed(Seed::for_tests(6))
            .fit(&behind)
            .unwrap();
        let found = fit.noise_aware().unwrap_or_else(|| panic!("{name}: no correction"));
        assert_eq!(found.sites, ["w", "b"]);
        for i in 0..3 {
            let sd = covariance[[i, i]].sqrt();
            assert!((found.mean[i] - mode[i]).abs() < 0.2 * sd, "{name}: {:?} {mode}", found.mean);
            assert!(
                (found.covariance[4 * i] / covariance[[i, i]] - 1.0).abs() < 0.1,
                "{name}: {:?}",
                found.covariance
            );
        }
        assert_eq!(fit.posterior().mean("b").unwrap()[[]], found.mean[2], "{name}");
        assert_eq!(fit.posterior().draws(3, &Seed::for_tests(0)).unwrap()["w"].shape(), [3, 2]);
        if name.starts_with("points") {
            assert_eq!(fit.uncorrected().sd("w").unwrap(), arr1(&[0.0, 0.0]).into_dyn());
        }
    }
}

fn counts(ctx: &mut Ctx) -> Result<()> {
    let rate = ctx.sample("rate", Gamma::new(2.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("count", Poisson::new(rate), record.get("count")?))
}

/// The posterior is Gamma(2 + 12, 1 + 6): mode 13/7, of the logarithm ln(14/7). The last steps are tiny, so
/// what is left is how far Adam got.
#[test]
fn points_are_the_modes() {
    let records = Records::from_columns([("count", vec![2.0; 6])]).unwrap();
    for (guide, mode) in [(AutoDelta::new(), 13.0 / 7.0), (AutoDelta::unconstrained(), 2.0)] {
        let fit = DpVi::new(counts, guide)
            .without_privacy()
            .subsample(FullBatch)
            .draw_scheme(DrawScheme::Single)
            .steps(2000)
            .average_tail(0.1)
            .fit(&Sensitive::new(records.clone()))
            .unwrap();
        let found = fit.posterior().mean("rate").unwrap()[[]];
        assert!((found - mode).abs() < 1e-4, "{found} and not {mode}");
        let (low, high) = fit.posterior().interval("rate", 0.9).unwrap();
        assert_eq!((low[[]], high[[]]), (found, found));
    }
}

fn votes(ctx: &mut Ctx) -> Result<()> {
    let shares = ctx.sample("shares", Dirichlet::symmetric(1.0, 3))?;
    ctx.each_record(|ctx, record| ctx.observe("vote", Categorical::from_probs(shares), record.get("vote")?))
}

fn votes_guide(ctx: &mut Ctx) -> Result<()> {
    let concentration = ctx.param("concentration", arr1(&[3.0, 3.0, 3.0]), Constraint::Positive)?;
    ctx.sample("shares", Dirichlet::new(concentration)).map(|_| ())
}

/// Votes 20, 30, 10: the posterior is Dirichlet(21, 31, 11), which the guide written by hand can be.
#[test]
fn shares_are_inferred() {
    let vote: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i >= 20) + u8::from(i >= 50))).collect();
    let records = Records::from_columns([("vote", vote)]).unwrap();
    let a = [21.0, 31.0, 11.0];
    let guides: [(Box<dyn Guide>, f64); 3] = [
        // Its draws have the form of the posterior, so at the optimum what is left is the noise of the steps.
        (Box::new(HandWritten::new(votes_guide)), 0.05),
        // Normals of the unconstrained values are close to it: posterior means within a few hundredths of a
        // standard deviation of theirs.
        (Box::new(AutoMultivariateNormal::new()), 0.1),
        (Box::new(AutoNormal::new()), 0.1),
    ];
    for (guide, tolerance) in guides {
        let name = guide.describe();
        let fit = DpVi::new(votes, guide)
            .without_privacy()
            .subsample(FullBatch)
            .steps(3000)
            .seed(Seed::for_tests(2))
            .fit(&Sensitive::new(records.clone()))
            .unwrap();
        let (mean, sd) = (fit.posterior().mean("shares").unwrap(), fit.posterior().sd("shares").unwrap());
        for k in 0..3 {
            let exact = a[k] / 63.0;
            let spread = f64::sqrt(exact * (1.0 - exact) / 64.0);
            assert!((mean[k] - exact).abs() < tolerance * spread, "{name}: {mean}");
            assert!((sd[k] / spread - 1.0).abs() < tolerance, "{name}: {sd}, {k}: {spread}");
        }
        // Draws go where values of the model go.
        let draws = fit.posterior().draws(20, &Seed::for_tests(1)).unwrap();
        let predicted = Predictive::posterior(&votes, draws).unwrap().run(&records).unwrap();
        assert_eq!(predicted["vote"].shape(), [20, 60]);
    }
    // And with privacy.
    let fit = DpVi::new(votes, AutoMultivariateNormal::new())
        .budget(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })
        .seed(Seed::for_tests(2))
        .fit(&Sensitive::new(records))
        .unwrap();
    let mean = fit.posterior().mean("shares").unwrap();
    assert!((mean.sum() - 1.0).abs() < 1e-12 && mean.iter().all(|share| *share > 0.0));
}

/// A parameter has no prior: it ends at the most likely value.
#[test]
fn parameters_in_sets_of_vectors_are_optimised() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let shares = ctx.param("shares", arr1(&[0.6, 0.3, 0.1]), Constraint::Simplex)?;
        ctx.each_record(|ctx, record| {
            ctx.observe("vote", Categorical::from_probs(shares), record.get("vote")?)
        })
    }
    let vote: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i >= 20) + u8::from(i >= 50))).collect();
    let records = Sensitive::new(Records::from_columns([("vote", vote)]).unwrap());
    let vi = || DpVi::new(model, AutoNormal::new()).without_privacy().subsample(FullBatch);
    let fit = vi().steps(2000).average_tail(0.1).fit(&records).unwrap();
    let (found, sd) = (fit.posterior().mean("shares").unwrap(), fit.posterior().sd("shares").unwrap());
    for (k, share) in [20.0, 30.0, 10.0].iter().enumerate() {
        assert!((found[k] - share / 60.0).abs() < 1e-4 && sd[k] < 1e-12, "{found} {sd}");
    }
    // It starts where the model says.
    let start = vi().steps(1).schedule(Schedule::Constant(1e-12)).fit(&records).unwrap();
    let start = start.posterior().mean("shares").unwrap();
    assert!(start.iter().zip([0.6, 0.3, 0.1]).all(|(got, said)| (got - said).abs() < 1e-9), "{start}");
}

/// Cut points of an ordinal outcome: an ordered latent vector.
#[test]
fn cut_points_are_inferred() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let cuts = ctx.sample("cuts", ImproperUniform::new(Constraint::Ordered, 2))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("grade", OrderedLogistic::new(0.0, cuts), record.get("grade")?)
        })
    }
    let grade: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i >= 100) + u8::from(i >= 300))).collect();
    let fit = DpVi::new(model, AutoMultivariateNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(1500)
        .seed(Seed::for_tests(2))
        .fit(&Sensitive::new(Records::from_columns([("grade", grade)]).unwrap()))
        .unwrap();
    // Shares ¼, ½, ¼ are cut at ∓ln 3; the likelihood's standard deviation there is 1/√(400 · 3/16) = 0.115.
    let cuts = fit.posterior().mean("cuts").unwrap();
    let sd = fit.posterior().sd("cuts").unwrap();
    for (k, cut) in [-(3.0_f64.ln()), 3.0_f64.ln()].into_iter().enumerate() {
        assert!((cuts[k] - cut).abs() < 0.3 * 0.115 && (sd[k] / 0.115 - 1.0).abs() < 0.15, "{cuts} {sd}");
    }
}

fn bounded(ctx: &mut Ctx) -> Result<()> {
    let a = ctx.sample("a", Uniform::new(1.0, 3.0))?;
    let b = ctx.sample("b", Uniform::new(0.0, a))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("x", Normal::new(a, 1.0), record.get("x")?)?;
        ctx.observe("y", Normal::new(b, 1.0), record.get("y")?)
    })
}

/// The guide's site is the one with fixed bounds.
fn bounded_by_hand(ctx: &mut Ctx) -> Result<()> {
    for (name, set) in [("a", Constraint::Interval(1.0, 3.0)), ("b_base", Constraint::UnitInterval)] {
        let loc = ctx.param(&format!("{name} loc"), 0.0, Constraint::Real)?;
        let scale = ctx.param(&format!("{name} scale"), 0.1, Constraint::Positive)?;
        ctx.sample(name, Normal::new(loc, scale).transformed(Onto(set)))?;
    }
    Ok(())
}

/// A latent value whose upper bound is another one, by guides at latent values and at parameters, and in coordinates
/// from a fit to made-up records. The likelihood alone is normal around 2 and 1 with standard deviations 1/20; the
/// density of `b` given `a` moves `a` by a fortieth of one.
#[test]
fn bounds_may_be_values_of_the_model() {
    let around = |middle: f64| -> Vec<f64> { (0..400).map(|i| middle + [1.0, -1.0][i % 2]).collect() };
    let records = Records::from_columns([("x", around(2.0)), ("y", around(1.0))]).unwrap();
    let behind = Sensitive::new(records.clone());
    let of_b = |fit: &dp_vi::Fit| {
        let draws = fit.posterior().draws(4000, &Seed::for_tests(9)).unwrap();
        assert_eq!(draws.keys().collect::<Vec<_>>(), ["a", "b_base"]);
        let found = Predictive::posterior(&bounded, draws).unwrap().only(["b"]).run(&records).unwrap();
        let mean = found["b"].mean().unwrap();
        (mean, found["b"].mapv(|b| (b - mean).powi(2)).mean().unwrap().sqrt())
    };
    let guides: [Box<dyn Guide>; 2] =
        [Box::new(AutoMultivariateNormal::new()), Box::new(HandWritten::new(bounded_by_hand))];
    for (guide, correlated) in guides.into_iter().zip([true, false]) {
        let vi = DpVi::new(bounded, guide).without_privacy().subsample(FullBatch).steps(1500);
        let (mean, sd) = of_b(&vi.seed(Seed::for_tests(4)).fit(&behind).unwrap());
        assert!((mean - 1.0).abs() < 0.4 / 20.0, "{correlated}: {mean}");
        // Without the correlation of a and b/a the guide is narrower.
        assert!(!correlated || (20.0 * sd - 1.0).abs() < 0.15, "{sd}");
    }
    let private = DpVi::new(bounded, AutoMultivariateNormal::new())
        .budget(Budget { epsilon: 500.0, delta: 1e-5, relation: Relation::AddRemove })
        .seed(Seed::for_tests(4))
        .rough_fit(true);
    let (mean, _) = of_b(&private.fit(&behind).unwrap());
    assert!((mean - 1.0).abs() < 1.5 / 20.0, "{mean}");
}

fn starts(ctx: &mut Ctx) -> Result<()> {
    let scale = ctx.sample("scale", LogNormal::new(1.0, 0.5))?;
    let share = ctx.sample("share", Beta::new(2.0, 2.0))?;
    let mixture = ctx.sample("mixture", Dirichlet::symmetric(3.0, 3))?;
    let slope = ctx.param("slope", 0.5, Constraint::Real)?;
    ctx.each_record(|ctx, record| {
        let mean = slope + share + mixture.max_all();
        ctx.observe("x", Normal::new(mean, scale), record.get("x")?)
    })
}

/// Where a run is before its first step, as good as.
fn start_of(start: InitialValues) -> dp_vi::Result<BTreeMap<String, ArrayD<f64>>> {
    let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    let fit = DpVi::new(starts, AutoDelta::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(1)
        .schedule(Schedule::Constant(1e-13))
        .initial_values(start)
        .fit(&records)?;
    ["scale", "share", "mixture", "slope"]
        .into_iter()
        .map(|site| Ok((site.to_owned(), fit.posterior().mean(site)?)))
        .collect()
}

#[test]
fn runs_start_where_they_are_told() {
    let near = |got: &ArrayD<f64>, wanted: &[f64], tolerance: f64| {
        assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < tolerance), "{got} {wanted:?}");
    };
    let zero = start_of(InitialValues::Feasible).unwrap();
    near(&zero["scale"], &[1.0], 1e-12);
    near(&zero["share"], &[0.5], 1e-12);
    near(&zero["mixture"], &[1.0 / 3.0; 3], 1e-12);
    near(&zero["slope"], &[0.5], 1e-12);
    let median = start_of(InitialValues::PriorMedian).unwrap();
    // The median of 201 has standard error 1/(2 √201 density): of ln scale √(π/2)/√201 · ½ = 0.044; of the
    // share 1/(2 √201 · 1.5) = 0.024; 5.2 of each. Medians of a mixture's unconstrained elements are those of
    // logarithms of ratios, symmetric between the last two.
    assert!((median["scale"][[]].ln() - 1.0).abs() < 5.2 * 0.044, "{median:?}");
    near(&median["share"], &[0.5], 5.2 * 0.024);
    assert!((median["mixture"].sum() - 1.0).abs() < 1e-12);
    assert_eq!(median["slope"], zero["slope"]);
    assert_eq!(median, start_of(InitialValues::PriorMedian).unwrap());
    let said = [
        ("scale", arr0(7.0).into_dyn()),
        ("mixture", arr1(&[0.5, 0.4, 0.1]).into_dyn()),
        ("slope", arr0(-3.0).into_dyn()),
    ];
    let told = start_of(InitialValues::values(said)).unwrap();
    near(&told["scale"], &[7.0], 1e-10);
    near(&told["mixture"], &[0.5, 0.4, 0.1], 1e-10);
    near(&told["slope"], &[-3.0], 1e-10);
    near(&told["share"], &[0.5], 1e-12);
}

#[test]
fn starts_that_cannot_be_are_errors() {
    let told = |name: &str, value: ArrayD<f64>| {
        start_of(InitialValues::values([(name, value)])).err().unwrap().to_string()
    };
    let unknown = told("size", arr0(1.0).into_dyn());
    assert!(unknown.contains("'size'") && unknown.contains("[scale, share, mixture, slope]"), "{unknown}");
    let shape = told("mixture", arr1(&[0.5, 0.5]).into_dyn());
    assert!(
        shape.contains("site 'mixture'") && shape.contains("shape [2]") && shape.contains("[3]"),
        "{shape}"
    );
    let outside = told("scale", arr0(-1.0).into_dyn());
    assert!(
        outside.contains("site 'scale'") && outside.contains("-1") && outside.contains("positive"),
        "{outside}"
    );
    let vector = told("mixture", arr1(&[0.5, 0.4, 0.3]).into_dyn());
    assert!(vector.contains("site 'mixture'") && vector.contains("sum to 1"), "{vector}");
    let edge = told("mixture", arr1(&[0.5, 0.5, 0.0]).into_dyn());
    assert!(edge.contains("on the boundary"), "{edge}");
    // A prior without draws has no median.
    fn flat(ctx: &mut Ctx) -> Result<()> {
        let mean = ctx.sample("mean", ImproperUniform::new(Constraint::Real, ()))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    }
    let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])]).unwrap());
    let flat = DpVi::new(flat, AutoNormal::new())
        .without_privacy()
        .initial_values(InitialValues::PriorMedian)
        .fit(&records);
    assert!(flat.err().unwrap().to_string().contains("site 'mean'"));
}

/// Before anything is paid, candidates of a private start are looked at.
#[test]
fn a_private_start_that_cannot_be_costs_nothing() {
    let records = Sensitive::new(people(50));
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let candidate = |name: &str| BTreeMap::from([(name.to_owned(), arr0(0.0).into_dyn())]);
    let start = |name: &str| PrivateStart {
        candidates: vec![candidate("b"), candidate(name)],
        range: (-5.0, 0.0),
        share: 0.2,
    };
    let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
    let vi = || DpVi::new(logistic, AutoNormal::new()).budget(budget).steps(5);
    let refused = vi().private_start(start("c")).fit_from(&records, &mut ledger).err().unwrap().to_string();
    assert!(refused.contains("'c'"), "{refused}");
    let by_hand = DpVi::new(logistic, HandWritten::new(by_hand)).budget(budget).steps(5);
    let refused =
        by_hand.private_start(start("b")).fit_from(&records, &mut ledger).err().unwrap().to_string();
    assert!(refused.contains("hand-written"), "{refused}");
    assert!(ledger.debits().is_empty());
    vi().private_start(start("b"))
        .initial_values(InitialValues::PriorMedian)
        .fit_from(&records, &mut ledger)
        .unwrap();
    assert!(!ledger.debits().is_empty());
}

/// A latent value that is given has nothing to be inferred, and is no site of the posterior.
#[test]
fn given_values_are_left_out() {
    let records = Sensitive::new(people(50));
    let given = ppl_core::handlers::substitute(logistic, [("b", 0.5)]);
    let fit = DpVi::new(given, AutoMultivariateNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(20)
        .fit(&records)
        .unwrap();
    assert_eq!(fit.posterior().sites().collect::<Vec<_>>(), ["w"]);
}

/// A matrix with a set of its own, shared by all records.
#[test]
fn covariance_factors_are_inferred() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let factor = ctx.param("factor", arr2(&[[1.0, 0.0], [0.0, 1.0]]), Constraint::LowerCholesky)?;
        ctx.each_record(|ctx, record| {
            ctx.observe(
                "x",
                ppl_distributions::MultivariateNormal::from_cholesky(0.0, factor),
                record.get("x")?,
            )
        })
    }
    let x = Array2::from_shape_fn((200, 2), |(i, j)| {
        let own = 3.0 * (fraction(2 * i + j) - 0.5);
        if j == 0 { own } else { own + 1.5 * (fraction(2 * i) - 0.5) }
    });
    let moments = x.t().dot(&x) / 200.0;
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap());
    let fit = DpVi::new(model, AutoNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(3000)
        .average_tail(0.1)
        .fit(&records)
        .unwrap();
    let factor = fit.posterior().mean("factor").unwrap();
    let factor = Array2::from_shape_fn((2, 2), |(i, j)| factor[[i, j]]);
    let found = factor.dot(&factor.t());
    assert!(found.iter().zip(&moments).all(|(a, b)| (a - b).abs() < 1e-3), "{found} {moments}");
}

/// A vector of one share and a correlation matrix of one row have nothing to infer: no unconstrained element.
#[test]
fn sites_without_a_free_element_are_served() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let whole = ctx.sample("whole", Dirichlet::symmetric(1.0, 1))?;
        let one = ctx.sample("one", ppl_distributions::LKJCholesky::new(1, 1.0))?;
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("x", Normal::new(mean * whole.sum() * one.sum(), 1.0), record.get("x")?)
        })
    }
    let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 9])]).unwrap());
    let guides: [Box<dyn Guide>; 4] = [
        Box::new(AutoNormal::new()),
        Box::new(AutoMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new()),
        Box::new(AutoDelta::new()),
    ];
    for guide in guides {
        let name = guide.describe();
        let fit =
            DpVi::new(model, guide).without_privacy().subsample(FullBatch).steps(500).fit(&records).unwrap();
        assert_eq!(fit.posterior().mean("whole").unwrap(), arr1(&[1.0]).into_dyn(), "{name}");
        assert_eq!(fit.posterior().mean("one").unwrap(), arr2(&[[1.0]]).into_dyn(), "{name}");
        assert!((fit.posterior().mean("mean").unwrap()[[]] - 0.45).abs() < 0.05, "{name}");
        assert_eq!(fit.posterior().draws(7, &Seed::for_tests(1)).unwrap()["one"].shape(), [7, 1, 1]);
    }
}

/// Stopped and resumed, a run with any guide is the run that was never interrupted.
#[test]
fn runs_with_every_guide_can_be_resumed() {
    let records = Sensitive::new(people(200));
    let guides = || -> [Box<dyn Guide>; 3] {
        [
            Box::new(AutoMultivariateNormal::new()),
            Box::new(AutoLowRankMultivariateNormal::new()),
            Box::new(HandWritten::new(by_hand)),
        ]
    };
    for (number, guide) in guides().into_iter().enumerate() {
        let path = std::env::temp_dir().join(format!("dp-vi-guides-{}-{number}", std::process::id()));
        let vi = |guide: Box<dyn Guide>| {
            DpVi::new(logistic, guide)
                .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
                .steps(40)
        };
        let other = || guides().into_iter().nth(number).unwrap();
        let whole = vi(guide).seed(Seed::for_tests(1)).fit(&records).unwrap();
        let stop = |progress: dp_vi::Progress| match progress.done < 20 {
            true => std::ops::ControlFlow::Continue(()),
            false => std::ops::ControlFlow::Break(()),
        };
        vi(other()).seed(Seed::for_tests(1)).checkpoint(&path, 10).on_progress(stop).fit(&records).unwrap();
        let resumed = vi(other()).checkpoint(&path, 10).resume(&records).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(whole.parameters().eq(resumed.parameters()));
        assert_eq!(whole.posterior().mean("w").unwrap(), resumed.posterior().mean("w").unwrap());
    }
}
