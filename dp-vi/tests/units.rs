//! Fits in the units that records come in.

use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use dp_vi::guides::{AutoMultivariateNormal, AutoNormal};
use dp_vi::{DpVi, Fit, Sensitive};
use ndarray::{Array1, Array2, s};
use ppl_core::{Column, Ctx, Distribution, Records, Result};
use ppl_distributions::{HalfNormal, Normal};
use std::ops::ControlFlow;

use crate::common::{Folder, Written};
use crate::defaults::normals;

/// Priors that say nothing, as of somebody who has not thought of units.
fn regression(ctx: &mut Ctx) -> Result<()> {
    let intercept = ctx.sample("intercept", Normal::new(0.0, 1e4))?;
    let slopes = ctx.sample("slopes", Normal::new(0.0, 1e4).iid(2))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(1e4))?;
    ctx.each_record(|ctx, record| {
        let mean = intercept + record.get("x")?.dot(slopes);
        ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
    })
}

/// Scores around 90 that grow with a test result around 100 and with a length around 0.002.
fn scores(seed: u64) -> Sensitive<Records> {
    let values = normals(3_000, 3, seed);
    let mut x = Array2::zeros((3_000, 2));
    x.slice_mut(s![.., 0]).assign(&(100.0 + 15.0 * &values.slice(s![.., 0])));
    x.slice_mut(s![.., 1]).assign(&(0.002 + 0.0003 * &values.slice(s![.., 1])));
    let y: Array1<f64> =
        values.rows().into_iter().map(|z| 90.0 + 9.0 * z[0] + 6.0 * z[1] + 15.0 * z[2]).collect();
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// 90 + 0.6 (x₁ − 100) + 20,000 (x₂ − 0.002)
const TRUTH: [f64; 4] = [-10.0, 0.6, 20_000.0, 15.0];

fn vi<G: dp_vi::guides::Guide>(guide: G, seed: u64) -> DpVi<Written, G, dp_sampler::Poisson> {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    DpVi::new(regression as Written, guide).budget(budget).seed(Seed::for_tests(seed))
}

fn values(fit: &Fit) -> [[f64; 2]; 4] {
    let of = |site: &str, j: usize| {
        let at = |array: ndarray::ArrayD<f64>| array.iter().nth(j).copied().unwrap();
        [at(fit.posterior().mean(site).unwrap()), at(fit.posterior().sd(site).unwrap())]
    };
    [of("intercept", 0), of("slopes", 0), of("slopes", 1), of("sigma", 0)]
}

/// With nothing named but the budget, and columns whose numbers are a hundred and a five-hundredth.
#[test]
fn regressions_in_raw_units_are_found() {
    // What the same records leave open without privacy: deviations 1.82, 0.0183, 913 and 0.194.
    let open = [2.7, 0.0183, 913.0, 0.194];
    // Of 24 seeds the mean square of the z is 1.05 and the largest z 4.1. Of 20 z of deviation 1 it is below 3.3 at
    // α = 1e-6.
    let mut squares = 0.0;
    let fits: Vec<Fit> = (0..5).map(|seed| vi(AutoNormal::new(), seed).fit(&scores(seed)).unwrap()).collect();
    for fit in &fits {
        assert!(fit.noise_aware().is_some());
        for (([mean, sd], truth), open) in values(fit).into_iter().zip(TRUTH).zip(open) {
            let z = (mean - truth) / sd;
            assert!(z.abs() < 5.0 && sd < 12.0 * open, "{mean} ± {sd} for {truth}");
            squares += z * z / 20.0;
        }
        let released: Vec<&str> = fit.privacy().releases.iter().map(|release| release.what).collect();
        assert!(released.contains(&"octaves of the columns"), "{released:?}");
    }
    assert!(squares < 3.3, "{squares}");
    // In the units of the columns the same fit finds next to nothing.
    let plain = vi(AutoNormal::new(), 0).rough_fit(false).fit(&scores(0)).unwrap();
    let [_, [slope, _], ..] = values(&plain);
    let [_, [found, _], ..] = values(&fits[0]);
    assert!((found - 0.6).abs() < 0.1 * (slope - 0.6).abs().max(1.0), "{found} {slope}");
}

/// The guide's draws, the corrected posterior's and its formulas agree, whatever coordinates they were found in.
#[test]
fn draws_are_in_the_models_units() {
    let fit = vi(AutoMultivariateNormal::new(), 1).fit(&scores(1)).unwrap();
    for posterior in [fit.posterior(), fit.uncorrected()] {
        let draws = posterior.draws(20_000, &Seed::for_tests(2)).unwrap();
        for (site, j) in [("intercept", 0), ("slopes", 0), ("slopes", 1)] {
            let all = &draws[site];
            let all: Vec<f64> = all.iter().skip(j).step_by(all.len() / 20_000).copied().collect();
            let mean = all.iter().sum::<f64>() / 20_000.0;
            let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0).sqrt();
            let told = |array: ndarray::ArrayD<f64>| array.iter().nth(j).copied().unwrap();
            let (known, spread) = (told(posterior.mean(site).unwrap()), told(posterior.sd(site).unwrap()));
            // 20,000 draws: a mean is off by 0.007 deviations, and by 0.012 against one of 10,000.
            assert!(
                (mean - known).abs() < 0.08 * spread && (sd / spread - 1.0).abs() < 0.06,
                "{site}: {known} {spread} {mean} {sd}"
            );
        }
    }
}

/// A run that is interrupted goes on in the coordinates of its checkpoint, bit for bit.
#[test]
fn an_interrupted_run_keeps_its_coordinates() {
    let folder = Folder::new();
    let path = folder.file("run.checkpoint");
    let records = scores(3);
    let vi = || {
        let guide = AutoNormal::new();
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        DpVi::new(regression, guide).budget(budget)
    };
    let whole = vi().seed(Seed::for_tests(3)).fit(&records).unwrap();
    let stopped = vi()
        .seed(Seed::for_tests(3))
        .checkpoint(&path, 50)
        .on_progress(
            |progress| if progress.done < 300 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) },
        )
        .fit(&records);
    assert!(stopped.unwrap().privacy().steps_done < whole.privacy().steps);
    let resumed = vi().checkpoint(&path, 50).resume(&records).unwrap();
    let concluded = vi().checkpoint(&path, 50).conclude(&records).unwrap();
    for other in [&resumed, &concluded] {
        assert_eq!(values(other), values(&whole));
        assert_eq!(other.noise_aware(), whole.noise_aware());
    }
}

/// A deviation of 0.8 beside ten coefficients, among them an intercept and indicators, of 1,000 records.
fn with_indicators(seed: u64) -> Sensitive<Records> {
    let z = normals(1_000, 11, seed);
    let mut x = Array2::ones((1_000, 10));
    for j in 1..10 {
        let column = z.slice(s![.., j]).mapv(|z| if j % 2 == 1 { f64::from(u8::from(z > 0.84)) } else { z });
        x.slice_mut(s![.., j]).assign(&column);
    }
    let weights = ndarray::arr1(&[0.5, -0.2, 0.8, -0.3, 0.8, -0.3, 0.8, -0.4, 0.9, -0.4]);
    let y = x.dot(&weights) + 0.8 * &z.slice(s![.., 0]);
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// With ε = 1 coefficients are known so badly that residuals are longer than they should be, probes read a curvature
/// of the deviation that is several times its own, and a part of the gradients is clipped: what the model expects of
/// all is taken into account.
///
/// Of 30 sets of another generator the z against the posterior without privacy had the mean .77 and the root mean
/// square 1.14. The mean of five z of deviation 1 is within 4.9/√5 = 2.19, and their root mean square below
/// √(35.9/5) = 2.68, at α = 1e-6.
#[test]
fn a_deviation_beside_coefficients_that_are_hardly_known_is_found() {
    let model = |ctx: &mut Ctx<'_>| -> Result<()> {
        let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(10))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(5.0))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(record.get("x")?.dot(b), sigma), record.get("y")?)
        })
    };
    let z: Vec<f64> = (0..5)
        .map(|seed| {
            let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
            let vi = DpVi::new(model, AutoNormal::new()).budget(budget).seed(Seed::for_tests(seed));
            let fit = vi.fit(&with_indicators(seed)).unwrap();
            let (mean, sd) =
                (fit.posterior().mean("sigma").unwrap()[[]], fit.posterior().sd("sigma").unwrap()[[]]);
            assert!(sd < 0.6, "{sd}");
            (mean - 0.8) / sd
        })
        .collect();
    let mean = z.iter().sum::<f64>() / 5.0;
    let square = z.iter().map(|z| z * z).sum::<f64>() / 5.0;
    assert!(mean.abs() < 2.19 && square.sqrt() < 2.68, "{z:?}");
}
