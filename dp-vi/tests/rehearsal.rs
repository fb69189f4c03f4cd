//! Rehearsals against what is known of intervals that are right, and of some that are wrong.

use dp_accountant::{Budget, Ledger};
use dp_vi::guides::{AutoDelta, AutoLaplace, AutoNormal};
use dp_vi::{DpVi, Error, Rehearsal, rehearse};
use ndarray::{Array1, ArrayD, Axis};
use ppl_core::{Constraint, Ctx, Distribution, Predictive, Records, Values};
use ppl_distributions::{Bernoulli, Normal};

/// Eight means with the prior of the truths, and a stated residual deviation that is the true one or another.
fn means(stated: f64) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> {
    move |ctx| {
        let means = ctx.sample("means", Normal::new(0.0, 3.0).iid(8))?;
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(means, stated), record.get("y")?))
    }
}

fn of_means(stated: f64) -> Rehearsal {
    const RUNS: usize = 100;
    let inputs = Records::from_columns([("y", ndarray::Array2::<f64>::zeros((20, 8)))]).unwrap();
    let (truth, model) = (means(1.0), means(stated));
    let truths = Predictive::prior(&truth, RUNS).key(1).only(["means"]).run(&inputs).unwrap();
    rehearse(&truth, &truths, &inputs, 2, |records| {
        DpVi::new(&model, AutoLaplace::new()).without_privacy().fit(records)
    })
    .unwrap()
}

/// Of exact posteriors intervals hold draws of the prior .9 of the time, in 100 runs of eight independent values to
/// within .0106 · 4.9 at α = 1e-6; of posteriors of half the deviation 2Φ(1.645/2) − 1 = .589, to within .0174 · 4.9.
#[test]
fn intervals_are_counted_as_they_hold_the_truth() {
    let right = of_means(1.0);
    assert!((right.held() - 0.9).abs() < 0.052, "{right}");
    assert!((right.error() - 1.0).abs() < 0.125, "{right}");
    assert!(right.standard_error() > 0.005 && right.standard_error() < 0.02);
    let short = of_means(0.5);
    assert!((short.held() - 0.589).abs() < 0.085, "{short}");
    assert!((short.error() - 2.0).abs() < 0.25, "{short}");
    assert_eq!(short.sites[0].held.shape(), [8]);
    let least = short.sites[0].held.iter().copied().fold(1.0, f64::min);
    let all = format!("held {:.2} of 8 values, {least:.2} of the least; error", short.held());
    assert!(short.to_string().contains(&all), "{short}");
}

/// Values without an interval are left out: parameters, and those whose truth is not known. Points have one without
/// length.
#[test]
fn only_intervals_are_counted() {
    let model = |ctx: &mut Ctx<'_>| {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        let other = ctx.sample("other", Normal::new(0.0, 1.0))?;
        let slope = ctx.param("slope", 1.0, Constraint::Real)?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(mean + slope * other, 1.0), record.get("y")?)
        })
    };
    let inputs = Records::from_columns([("y", vec![0.0; 30])]).unwrap();
    let truths = Values::from([
        ("mean".to_owned(), Array1::from(vec![0.1, 0.2]).into_dyn()),
        ("slope".to_owned(), Array1::from(vec![1.0, 1.0]).into_dyn()),
    ]);
    let fit = |records: &_| DpVi::new(model, AutoNormal::new()).without_privacy().steps(20).fit(records);
    let found = rehearse(&model, &truths, &inputs, 0, fit).unwrap();
    assert_eq!(found.sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["mean"]);
    let points = |records: &_| DpVi::new(model, AutoDelta::new()).without_privacy().steps(20).fit(records);
    let found = rehearse(&model, &truths, &inputs, 0, points).unwrap();
    assert!(found.sites.is_empty() && found.held().is_nan());
}

/// A rehearsal of a private fit is made of private fits, none of them paid from the real ledger, and what refuses a fit
/// refuses it.
#[test]
fn private_fits_are_rehearsed_as_they_are() {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
        })
    };
    let x = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| ((i * (3 + 2 * j)) % 11) as f64 / 5.0 - 1.0);
    let inputs =
        Records::from_columns([("x", x.into()), ("y", ppl_core::Column::from(vec![0_u8; 400]))]).unwrap();
    let draws: ArrayD<f64> = ndarray::arr2(&[[0.5, -1.0], [1.0, 0.3], [-0.2, 0.8]]).into_dyn();
    let truths = Values::from([("w".to_owned(), draws)]);
    let budget = Budget::add_remove(1.0, 1e-5);
    let mut spent = Vec::new();
    let found = rehearse(&model, &truths, &inputs, 0, |records| {
        let mut ledger = Ledger::new(budget)?;
        let fit =
            DpVi::new(model, AutoLaplace::new()).budget(budget).steps(20).fit_from(records, &mut ledger);
        spent.push(ledger.spent()?.upper);
        fit
    })
    .unwrap();
    assert!(spent.len() == 3 && spent.iter().all(|spent| *spent > 0.9 && *spent <= 1.0));
    assert_eq!(found.runs, 3);
    let told =
        rehearse(&model, &truths, &inputs, 0, |records| DpVi::new(model, AutoLaplace::new()).fit(records));
    assert!(matches!(told, Err(Error::Missing { .. })), "{told:?}");
    // No draw, and draws of what is not the model's.
    let none =
        truths.iter().map(|(name, all)| (name.clone(), all.slice_axis(Axis(0), (0..0).into()).to_owned()));
    let private = |records: &_| DpVi::new(model, AutoLaplace::new()).budget(budget).fit(records);
    assert!(rehearse(&model, &none.collect(), &inputs, 0, private).is_err());
    let other = Values::from([("v".to_owned(), truths["w"].clone())]);
    assert!(rehearse(&model, &other, &inputs, 0, private).is_err());
}
